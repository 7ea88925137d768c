//! What is worth knowing before the first run.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::machines::Machines;
use super::{Nature, Resolved, SetupNotice};
use crate::deal::{area, shares};
use crate::engine::Asked;
use crate::plan::{Plan, Run, RunKind, Workload};
use crate::work::{OpenFlag, Seek};

/// What is found about SDs while all runs are looked at.
#[derive(Default)]
struct Found {
    cached: BTreeSet<usize>,
    direct: BTreeSet<usize>,
    /// By number of bytes.
    heads: BTreeMap<u64, BTreeSet<usize>>,
}

/// Adds notices about page caches, direct I/O and heads of raw devices (`docs/vdbench/decisions.md`).
pub(crate) fn add(resolved: &mut Resolved, machines: &Machines) {
    if resolved.plan.settings.engine == Asked::Null {
        let text = "engine=null: no device is touched; every number of this execution is what the engine itself takes";
        resolved.notices.push(SetupNotice { warning: true, code: "engine-null", text: text.to_owned() });
        return;
    }
    let mut found = Found::default();
    let mut known = HashSet::new();
    for run in &resolved.plan.runs {
        for workload in run.workloads.iter() {
            let fills = workload.seek == Seek::Eof && workload.read_pct < 100.0;
            let flags = run.openflags.as_ref().or(workload.openflags.as_ref());
            let flags: Option<Vec<i64>> = flags.map(|f| f.iter().copied().map(number).collect());
            let low = workload.range.map(|(lo, _)| lo.to_bits());
            if known.insert((workload.sds.as_ptr(), flags, fills, low, run.kind == RunKind::Format)) {
                look(resolved, run, workload, fills, &mut found);
            }
        }
    }
    let notices = words(resolved, machines, &found);
    resolved.notices.extend(notices);
}

fn look(resolved: &Resolved, run: &Run, workload: &Workload, fills: bool, found: &mut Found) {
    for at in &*workload.sds {
        let sd = &resolved.plan.sds[*at];
        let Some(lun) = &resolved.luns[*at] else { continue };
        let flags = shares::flags(run, workload, sd, lun);
        match lun.nature {
            Nature::File if run.kind == RunKind::Normal && !flags.iter().any(|f| f.is_direct()) => {
                found.cached.insert(*at);
            }
            Nature::Raw { block: true }
                if run.openflags.as_ref().or(workload.openflags.as_ref()).unwrap_or(&sd.openflags).is_empty() =>
            {
                found.direct.insert(*at);
            }
            _ => {}
        }
        if let Some(bytes) = area::head(run, workload, lun, sd.range).filter(|_| fills) {
            found.heads.entry(bytes).or_default().insert(*at);
        }
    }
}

/// A number for a flag, to compare sets of them.
fn number(flag: OpenFlag) -> i64 {
    match flag {
        OpenFlag::Direct => -1,
        OpenFlag::Sync => -2,
        OpenFlag::Fsync => -3,
        OpenFlag::Raw(bits) => i64::from(bits as u32),
    }
}

fn words(resolved: &Resolved, machines: &Machines, found: &Found) -> Vec<SetupNotice> {
    let mut notices = Vec::new();
    if !found.cached.is_empty() {
        notices.push(SetupNotice {
            warning: true,
            code: "page-cache",
            text: format!(
                "{}: without openflags=o_direct the page cache of the host is measured, not the storage",
                names(&resolved.plan, &found.cached)
            ),
        });
    }
    if !found.direct.is_empty() {
        notices.push(SetupNotice {
            warning: false,
            code: "direct-added",
            text: format!(
                "{}: a block device without openflags= is opened with o_direct",
                names(&resolved.plan, &found.direct)
            ),
        });
    }
    notices.extend(formats_on_one_host(resolved, machines));
    for (bytes, sds) in &found.heads {
        notices.push(SetupNotice {
            warning: false,
            code: "head-unwritten",
            text: format!(
                "{}: the first {bytes} bytes of a raw device stay unwritten, the largest transfer size of this \
                 execution; a later run with smaller transfers reads them",
                names(&resolved.plan, sds)
            ),
        });
    }
    notices
}

/// A file that several machines miss is made on one of them only, since an SD is one storage that all its hosts see.
fn formats_on_one_host(resolved: &Resolved, machines: &Machines) -> Option<SetupNotice> {
    let mut first: BTreeMap<usize, usize> = BTreeMap::new();
    let mut several = BTreeSet::new();
    for need in &resolved.formats {
        let machine = machines.of(need.host);
        if *first.entry(need.sd).or_insert(machine) != machine {
            several.insert(need.sd);
        }
    }
    (!several.is_empty()).then(|| SetupNotice {
        warning: true,
        code: "format-on-one-host",
        text: format!(
            "{}: the file is made on one host and must be the same one on all; give each host an SD of its own if it is not",
            names(&resolved.plan, &several)
        ),
    })
}

pub(crate) fn names(plan: &Plan, sds: &BTreeSet<usize>) -> String {
    const SHOWN: usize = 3;
    let shown: Vec<&str> = sds.iter().take(SHOWN).map(|sd| plan.sds[*sd].name.as_str()).collect();
    match sds.len() - shown.len() {
        0 => format!("sd={}", shown.join(",")),
        more => format!("sd={} and {more} more", shown.join(",")),
    }
}
