//! What the lun of one SD is: raw or file, how large, and whether it must be formatted.

use super::usage::SdUse;
use super::{FormatNeed, SetupNotice, SetupProblem, Sighting};
use crate::plan::{Plan, Sd};
use crate::sim;
use crate::work::{LunKind, SimSpec};

/// What an SD's lun is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Nature {
    /// A regular file.
    File,
    /// A block or character device.
    Raw {
        /// Whether direct I/O is meant for it.
        block: bool,
    },
    /// A simulated device, by host.
    Sim(Vec<Option<SimSpec>>),
}

/// A lun with everything that runs need to know.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lun {
    pub(crate) nature: Nature,
    /// Usable bytes.
    pub(crate) size: u64,
    /// Largest transfer size of the whole execution, bytes.
    pub(crate) largest: u64,
    /// Whether a workload writes.
    pub(crate) written: bool,
    /// Whether a workload reads.
    pub(crate) read: bool,
    /// Where its format starts, when it is formatted.
    pub(crate) format_from: Option<u64>,
    /// What direct I/O needs sizes and addresses to be multiples of, bytes; 1 when it is not known.
    pub(crate) block: u64,
}

impl Lun {
    /// Whether its first bytes are left alone (`docs/vdbench/raw.md` §8.2).
    pub(crate) fn is_raw(&self) -> bool {
        match &self.nature {
            Nature::File => false,
            Nature::Raw { .. } => true,
            Nature::Sim(specs) => specs.iter().flatten().all(|s| s.raw),
        }
    }
}

/// Smallest block of direct I/O.
const SECTOR: u64 = 512;
/// An interrupted format goes on at a multiple of this.
const FORMAT_STEP: u64 = 1 << 20;

/// Looks at all that is known about an SD.
///
/// # Errors
/// Everything that makes it unusable.
pub(crate) fn of_sd(
    plan: &Plan,
    at: usize,
    usage: SdUse,
    sightings: &[Sighting],
    notices: &mut Vec<SetupNotice>,
) -> Result<(Lun, Vec<FormatNeed>), Vec<SetupProblem>> {
    let sd = &plan.sds[at];
    if sd.lun.iter().flatten().any(|lun| sim::name_of(lun).is_some()) {
        return simulated(plan, sd, usage).map(|lun| (lun, Vec::new())).map_err(|p| vec![p]);
    }
    let mut problems: Vec<SetupProblem> = sightings.iter().filter_map(|s| unusable(plan, sd, s)).collect();
    let Some(first) = sightings.first().filter(|_| problems.is_empty()) else { return Err(problems) };
    let raw = |s: &Sighting| matches!(s.facts.kind, LunKind::Block | LunKind::Character);
    if let Some(other) = sightings.iter().find(|s| raw(s) != raw(first)) {
        problems.push(differing(plan, sd, first, other, "one is a device, the other is not"));
        return Err(problems);
    }
    let nature = if raw(first) { Nature::Raw { block: first.facts.kind == LunKind::Block } } else { Nature::File };
    let mut lun = Lun {
        nature,
        size: usable_size(plan, sd, sightings).map_err(|p| vec![p])?,
        largest: usage.largest,
        written: usage.written,
        read: usage.read,
        format_from: None,
        block: sightings.iter().filter_map(|s| s.facts.block_size).max().unwrap_or(1).max(1).into(),
    };
    let needs = match lun.nature {
        Nature::File => format_of_file(plan, at, &mut lun, sightings, notices).map_err(|p| vec![p])?,
        _ => {
            lun.format_from = (plan.settings.format_sds == Some(true)).then_some(0);
            warn_if_small(plan, sd, lun.size, sightings, notices);
            Vec::new()
        }
    };
    Ok((lun, needs))
}

/// A simulated device, the smallest size of all hosts.
///
/// # Errors
/// Its keys are wrong, or some host has a real lun.
pub(crate) fn simulated(plan: &Plan, sd: &Sd, usage: SdUse) -> Result<Lun, SetupProblem> {
    let mut specs = Vec::with_capacity(sd.lun.len());
    for lun in &sd.lun {
        specs.push(match lun {
            None => None,
            Some(lun) => {
                let Some(name) = sim::name_of(lun) else {
                    let text = format!("sd={}: {lun} is no simulated device as it is on other hosts", sd.name);
                    return Err(SetupProblem::setup(text, sd.span));
                };
                let spec = sim::spec(name, &plan.settings.misc, sd.size, sd.hit_area);
                Some(spec.map_err(|why| SetupProblem::setup(format!("sd={}: {why}", sd.name), sd.span))?)
            }
        });
    }
    let smallest = specs.iter().flatten().map(|s| s.size).min().unwrap_or(0);
    let size = sd.size.map_or(smallest, |asked| asked.min(smallest));
    Ok(Lun {
        nature: Nature::Sim(specs),
        size,
        largest: usage.largest,
        written: usage.written,
        read: usage.read,
        format_from: (plan.settings.format_sds == Some(true)).then_some(0),
        block: 1,
    })
}

/// Why a lun cannot be used on a host, whatever is asked of it.
fn unusable(plan: &Plan, sd: &Sd, seen: &Sighting) -> Option<SetupProblem> {
    let host = &plan.hosts[seen.host].label;
    let text = match seen.facts.kind {
        LunKind::Directory => {
            format!("sd={}: lun={} is a directory on host={host}; name a file in it", sd.name, seen.lun)
        }
        LunKind::Other => {
            format!("sd={}: lun={} is neither a file nor a device on host={host}", sd.name, seen.lun)
        }
        LunKind::Missing if is_device_path(seen.lun) => {
            format!("sd={}: lun={} does not exist on host={host}; devices are never created", sd.name, seen.lun)
        }
        LunKind::Missing if sd.size.is_none() => format!(
            "sd={}: lun={} does not exist on host={host} and has no size=; add size= to have it created",
            sd.name, seen.lun
        ),
        _ => return None,
    };
    Some(SetupProblem::setup(text, sd.span))
}

/// Whether a path that does not exist would have been a device.
pub(crate) fn is_device_path(lun: &str) -> bool {
    lun.starts_with("/dev/") && !lun.starts_with("/dev/shm/")
}

fn differing(plan: &Plan, sd: &Sd, a: &Sighting, b: &Sighting, how: &str) -> SetupProblem {
    SetupProblem::setup(
        format!(
            "sd={}: its luns must be equal on all hosts, but lun={} on host={} and lun={} on host={} are not: {how}",
            sd.name, a.lun, plan.hosts[a.host].label, b.lun, plan.hosts[b.host].label
        ),
        sd.span,
    )
}

/// `size=`, or the real size, which must then be the same on all hosts.
fn usable_size(plan: &Plan, sd: &Sd, sightings: &[Sighting]) -> Result<u64, SetupProblem> {
    if let Some(asked) = sd.size {
        return Ok(asked);
    }
    let Some(first) = sightings.first() else { return Ok(0) };
    if let Some(other) = sightings.iter().find(|s| s.facts.size != first.facts.size) {
        let how = format!("one has {} bytes, the other {}", first.facts.size, other.facts.size);
        return Err(differing(plan, sd, first, other, &how));
    }
    if first.facts.size == 0 {
        let text = format!("sd={}: lun={} has no size; add size=", sd.name, first.lun);
        return Err(SetupProblem::setup(text, sd.span));
    }
    Ok(first.facts.size)
}

/// Whether a file must be made or extended (`docs/vdbench/raw.md` §5.1).
fn format_of_file(
    plan: &Plan,
    at: usize,
    lun: &mut Lun,
    sightings: &[Sighting],
    notices: &mut Vec<SetupNotice>,
) -> Result<Vec<FormatNeed>, SetupProblem> {
    let sd = &plan.sds[at];
    if sd.openflags.iter().any(|f| f.is_direct()) {
        // The odd end of a file cannot be written with direct I/O.
        lun.block = lun.block.max(SECTOR);
        lun.size -= lun.size % lun.block;
    }
    let small: Vec<&Sighting> = sightings.iter().filter(|s| s.facts.size < lun.size).collect();
    if plan.settings.format_sds == Some(true) {
        lun.format_from = Some(0);
    }
    if plan.settings.format_sds == Some(false) {
        if let Some(missing) = small.iter().find(|s| s.facts.kind == LunKind::Missing).filter(|_| !lun.written) {
            let text =
                format!("sd={}: lun={} does not exist and formatsds=no forbids to create it", sd.name, missing.lun);
            return Err(SetupProblem::setup(text, sd.span));
        }
        warn_if_small(plan, sd, lun.size, sightings, notices);
        return Ok(Vec::new());
    }
    if let (Some(small), Some(fine)) = (small.first(), sightings.iter().find(|s| s.facts.size >= lun.size)) {
        let how = if small.facts.kind == LunKind::Missing { "one does not exist" } else { "one is smaller than size=" };
        return Err(differing(plan, sd, small, fine, how));
    }
    if !small.is_empty() && lun.format_from.is_none() {
        let current = small.iter().map(|s| s.facts.size).min().unwrap_or(0);
        lun.format_from = Some(current - current % FORMAT_STEP);
    }
    Ok(small.iter().map(|s| FormatNeed { sd: at, lun: s.lun.to_owned(), host: s.host }).collect())
}

fn warn_if_small(plan: &Plan, sd: &Sd, size: u64, sightings: &[Sighting], notices: &mut Vec<SetupNotice>) {
    for seen in sightings.iter().filter(|s| s.facts.size < size && s.facts.size > 0) {
        notices.push(SetupNotice {
            warning: true,
            code: "insufficient-size",
            text: format!(
                "sd={}: size={size} is more than lun={} has on host={} ({} bytes); I/O beyond its end will fail",
                sd.name, seen.lun, plan.hosts[seen.host].label, seen.facts.size
            ),
        });
    }
}
