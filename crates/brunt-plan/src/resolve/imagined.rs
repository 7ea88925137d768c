//! `engine=null`: what an SD would be. No device is needed, and none is touched.

use super::lun::{self, Lun, Nature};
use super::usage::SdUse;
use super::{SetupProblem, Sighting};
use crate::plan::Plan;
use crate::sim;
use crate::work::LunKind;

/// An SD without its device: as large as `size=` says, else as what is there.
///
/// # Errors
/// Neither tells.
pub(crate) fn of_sd(plan: &Plan, at: usize, usage: SdUse, sightings: &[Sighting]) -> Result<Lun, SetupProblem> {
    let sd = &plan.sds[at];
    if sd.lun.iter().flatten().any(|lun| sim::name_of(lun).is_some()) {
        return lun::simulated(plan, sd, usage).map(|lun| Lun { format_from: None, ..lun });
    }
    let nature = match sightings.first().map_or(LunKind::Missing, |seen| seen.facts.kind) {
        LunKind::Block => Nature::Raw { block: true },
        LunKind::Character => Nature::Raw { block: false },
        LunKind::Missing if sd.lun.iter().flatten().any(|lun| lun::is_device_path(lun)) => Nature::Raw { block: true },
        _ => Nature::File,
    };
    let there = sightings.iter().map(|seen| seen.facts.size).min().unwrap_or(0);
    let Some(size) = sd.size.or(Some(there).filter(|size| *size > 0)) else {
        let place = sightings.iter().find(|seen| seen.facts.size == 0);
        let place = place.map_or_else(String::new, |seen| {
            format!(" lun={} on host={} has no size:", seen.lun, plan.hosts[seen.host].label)
        });
        let text = format!("sd={}:{place} engine=null needs size= where there is no device to take it from", sd.name);
        return Err(SetupProblem::setup(text, sd.span));
    };
    Ok(Lun {
        nature,
        size,
        smallest: None,
        largest: usage.largest,
        written: usage.written,
        read: usage.read,
        format_from: None,
        block: 1,
    })
}
