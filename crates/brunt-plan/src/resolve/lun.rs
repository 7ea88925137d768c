//! What the lun of one SD is: raw or file, how large, and whether it must be formatted.

use super::usage::SdUse;
use super::{FormatNeed, SetupNotice, SetupProblem, Sighting};
use crate::identity;
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
    /// Where it is that small, when the hosts differ: `lun=… on host=…`.
    pub(crate) smallest: Option<String>,
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

/// What is found out about an SD.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// As far as it is known: also beside problems, so that more of them are found.
    pub(crate) lun: Option<Lun>,
    /// Files that must be made or extended.
    pub(crate) needs: Vec<FormatNeed>,
    /// Everything that makes it unusable.
    pub(crate) problems: Vec<SetupProblem>,
}

impl Found {
    /// Of an SD that is looked at in one piece.
    pub(crate) fn whole(found: Result<Lun, SetupProblem>) -> Self {
        match found {
            Ok(lun) => Self { lun: Some(lun), ..Self::default() },
            Err(problem) => Self { problems: vec![problem], ..Self::default() },
        }
    }
}

/// Looks at all that is known about an SD.
pub(crate) fn of_sd(
    plan: &Plan,
    at: usize,
    usage: SdUse,
    sightings: &[Sighting],
    notices: &mut Vec<SetupNotice>,
) -> Found {
    let sd = &plan.sds[at];
    if sd.lun.iter().flatten().any(|lun| sim::name_of(lun).is_some()) {
        return Found::whole(simulated(plan, sd, usage));
    }
    let mut found = Found::default();
    let (usable, wrong): (Vec<_>, Vec<_>) =
        sightings.iter().map(|s| (s, unusable(plan, sd, s))).partition(|(_, p)| p.is_none());
    found.problems.extend(wrong.into_iter().filter_map(|(_, problem)| problem));
    let is_raw = |s: &Sighting| matches!(s.facts.kind, LunKind::Block | LunKind::Character);
    let Some(first) = usable.first().map(|(seen, _)| *seen) else { return found };
    let (alike, other): (Vec<&Sighting>, Vec<&Sighting>) =
        usable.into_iter().map(|(seen, _)| seen).partition(|seen| is_raw(seen) == is_raw(first));
    let mixed = |other| differing(plan, sd, first, other, "one is a device, the other is not");
    found.problems.extend(other.into_iter().map(mixed));
    let nature = if is_raw(first) { Nature::Raw { block: first.facts.kind == LunKind::Block } } else { Nature::File };
    let Some((size, smallest)) = usable_size(plan, sd, &alike, &mut found.problems) else { return found };
    let mut lun = Lun {
        nature,
        size,
        smallest,
        largest: usage.largest,
        written: usage.written,
        read: usage.read,
        format_from: None,
        block: alike.iter().filter_map(|s| s.facts.block_size).max().unwrap_or(1).max(1).into(),
    };
    match lun.nature {
        Nature::File => found.needs = format_of_file(plan, at, &mut lun, &alike, &mut found.problems, notices),
        _ => {
            lun.format_from = (plan.settings.format_sds == Some(true)).then_some(0);
            warn_if_small(plan, sd, lun.size, &alike, notices);
        }
    }
    found.lun = Some(lun);
    found
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
        smallest: None,
        largest: usage.largest,
        written: usage.written,
        read: usage.read,
        format_from: (plan.settings.format_sds == Some(true)).then_some(0),
        block: 1,
    })
}

/// Why a lun cannot be used on a host, whatever is asked of it.
pub(crate) fn unusable(plan: &Plan, sd: &Sd, seen: &Sighting) -> Option<SetupProblem> {
    let host = &plan.hosts[seen.host].label;
    if let Some(trouble) = &seen.facts.trouble {
        let text = format!("sd={}: lun={} on host={host}: {trouble}", sd.name, seen.lun);
        return Some(SetupProblem::setup(text, sd.span));
    }
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

/// Whether a lun that does not exist would have been a device.
pub(crate) fn is_device_path(lun: &str) -> bool {
    (lun.starts_with("/dev/") && !lun.starts_with("/dev/shm/")) || identity::is_asked_for(lun)
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

/// `size=`, or the real size, which must then be the same on all hosts. Where it is not, each host is told that differs
/// from most, and the smallest counts: with where it is.
fn usable_size(
    plan: &Plan,
    sd: &Sd,
    sightings: &[&Sighting],
    problems: &mut Vec<SetupProblem>,
) -> Option<(u64, Option<String>)> {
    if let Some(asked) = sd.size {
        return Some((asked, None));
    }
    for none in sightings.iter().filter(|s| s.facts.size == 0) {
        let host = &plan.hosts[none.host].label;
        let text = format!("sd={}: lun={} on host={host} has no size; add size=", sd.name, none.lun);
        problems.push(SetupProblem::setup(text, sd.span));
    }
    let sized = || sightings.iter().filter(|s| s.facts.size > 0);
    let count = |size: u64| sized().filter(|s| s.facts.size == size).count();
    let usual = sized().rev().max_by_key(|s| count(s.facts.size))?;
    for odd in sized().filter(|s| s.facts.size != usual.facts.size) {
        let how = format!(
            "one has {} bytes, the other {}; with size= all use as much as that says",
            usual.facts.size, odd.facts.size
        );
        problems.push(differing(plan, sd, usual, odd, &how));
    }
    let smallest = sized().min_by_key(|s| s.facts.size)?;
    let place = || format!("lun={} on host={}", smallest.lun, plan.hosts[smallest.host].label);
    let differ = sized().any(|s| s.facts.size != smallest.facts.size);
    Some((smallest.facts.size, differ.then(place)))
}

/// Whether a file must be made or extended (`docs/vdbench/raw.md` §5.1).
fn format_of_file(
    plan: &Plan,
    at: usize,
    lun: &mut Lun,
    sightings: &[&Sighting],
    problems: &mut Vec<SetupProblem>,
    notices: &mut Vec<SetupNotice>,
) -> Vec<FormatNeed> {
    let sd = &plan.sds[at];
    if sd.openflags.iter().any(|f| f.is_direct()) {
        // The odd end of a file cannot be written with direct I/O.
        lun.block = lun.block.max(SECTOR);
        lun.size -= lun.size % lun.block;
    }
    // Sizes that differ are told by now.
    let whole = lun.size;
    let small: Vec<&Sighting> = sightings.iter().copied().filter(|s| s.facts.size < whole).collect();
    if plan.settings.format_sds == Some(true) {
        lun.format_from = Some(0);
    }
    if plan.settings.format_sds == Some(false) {
        for missing in small.iter().filter(|s| s.facts.kind == LunKind::Missing && !lun.written) {
            let host = &plan.hosts[missing.host].label;
            let text = format!(
                "sd={}: lun={} does not exist on host={host} and formatsds=no forbids to create it",
                sd.name, missing.lun
            );
            problems.push(SetupProblem::setup(text, sd.span));
        }
        warn_if_small(plan, sd, lun.size, sightings, notices);
        return Vec::new();
    }
    if let Some(fine) = sightings.iter().find(|s| s.facts.size >= whole) {
        for small in &small {
            let how =
                if small.facts.kind == LunKind::Missing { "one does not exist" } else { "one is smaller than size=" };
            problems.push(differing(plan, sd, small, fine, how));
        }
    }
    if !small.is_empty() && lun.format_from.is_none() {
        let current = small.iter().map(|s| s.facts.size).min().unwrap_or(0);
        lun.format_from = Some(current - current % FORMAT_STEP);
    }
    small.iter().map(|s| FormatNeed { sd: at, lun: s.lun.to_owned(), host: s.host }).collect()
}

fn warn_if_small(plan: &Plan, sd: &Sd, size: u64, sightings: &[&Sighting], notices: &mut Vec<SetupNotice>) {
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
