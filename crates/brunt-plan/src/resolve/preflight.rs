//! What would stop a later run, found before the first.

use std::collections::HashSet;

use super::{Resolved, SetupProblem};
use crate::deal::area::Claim;
use crate::deal::place::place;
use crate::deal::workers::Workers;
use crate::deal::{misfits, shares};
use crate::plan::{Run, Workload};

/// Checks the areas and the dealing of every run. Runs that differ in nothing that matters are checked once.
pub(crate) fn check(resolved: &Resolved) -> Vec<SetupProblem> {
    let plan = &resolved.plan;
    let workers = Workers::of(plan);
    let mut problems: Vec<SetupProblem> = Vec::new();
    let mut known = HashSet::new();
    let mut placed = HashSet::new();
    for run in &plan.runs {
        for workload in run.workloads.iter() {
            // Without the SDs' own values, which are the same for the same set of SDs.
            let claim = Claim::of(workload, 0, None);
            let key = (
                workload.sds.as_ptr(),
                claim.range.0.to_bits(),
                claim.range.1.to_bits(),
                (workload.hit_area, workload.range.is_some(), workload.streams, run.kind as u8),
                (claim.hits, claim.eof, workload.hotband.is_some()),
            );
            if !known.insert(key) {
                continue;
            }
            for at in &*workload.sds {
                let sd = &plan.sds[*at];
                if let Some(lun) = &resolved.luns[*at]
                    && let Err(why) = shares::reach(run, workload, sd, lun)
                {
                    let place = lun.smallest.as_ref().map_or_else(String::new, |place| format!(" ({place})"));
                    problems.push(shares::no_room(&run.name, sd, &format!("{why}{place}")));
                }
            }
        }
        if may_not_fit(resolved, run, &workers)
            && placed.insert(PlacementKey::of(run))
            && let Err(found) = place(plan, &workers, run)
        {
            problems.extend(misfits(plan, run, &found));
        }
    }
    problems
}

/// What the dealing of a run depends on: runs that differ only in rates, sizes or shares are dealt alike.
#[derive(PartialEq, Eq, Hash)]
struct PlacementKey {
    threads: Option<u32>,
    workloads: Vec<WorkloadKey>,
}

/// What the dealing of a workload depends on, its sets by where they are kept.
#[derive(PartialEq, Eq, Hash)]
struct WorkloadKey {
    sds: *const usize,
    hosts: *const usize,
    sequential: bool,
    skewed: bool,
    streams: Option<u32>,
}

impl PlacementKey {
    fn of(run: &Run) -> Self {
        let of_workload = |w: &Workload| WorkloadKey {
            sds: w.sds.as_ptr(),
            hosts: w.hosts.as_ptr(),
            sequential: w.seek.is_sequential(),
            skewed: w.skew_given,
            streams: w.streams,
        };
        Self { threads: run.threads, workloads: run.workloads.iter().map(of_workload).collect() }
    }
}

/// Whether dealing can fail: with streams, or absurdly many threads, or with fewer threads than workers when workloads
/// run on different hosts.
fn may_not_fit(resolved: &Resolved, run: &Run, workers: &Workers) -> bool {
    if run.workloads.iter().any(|w| w.streams.is_some()) {
        return true;
    }
    let same_hosts = run.workloads.windows(2).all(|pair| pair[0].hosts == pair[1].hosts);
    let critical =
        |threads: u32| threads > u32::from(u16::MAX) || (!same_hosts && (threads as usize) < workers.total());
    match run.threads {
        Some(threads) => critical(threads),
        None => run.workloads.iter().flat_map(|w| w.sds.iter()).any(|sd| critical(resolved.plan.sds[*sd].threads)),
    }
}
