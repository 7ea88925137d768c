//! Transfer sizes that direct I/O cannot do.

use std::collections::HashSet;

use super::{Resolved, SetupProblem};
use crate::deal::shares;
use crate::plan::Workload;
use crate::work::{OpenFlag, Xfer};

/// Finds workloads whose transfer sizes are no multiples of the block size of an SD that is opened with direct I/O:
/// the system would refuse each of their I/Os.
pub(crate) fn check(resolved: &Resolved) -> Vec<SetupProblem> {
    let mut problems = Vec::new();
    let mut known = HashSet::new();
    for run in &resolved.plan.runs {
        for workload in run.workloads.iter() {
            let said = run.openflags.as_ref().or(workload.openflags.as_ref());
            let sizes = sizes(workload);
            let direct = said.map(|flags| flags.iter().copied().any(OpenFlag::is_direct));
            if !known.insert((workload.sds.as_ptr(), sizes.clone(), direct)) {
                continue;
            }
            for at in &*workload.sds {
                let sd = &resolved.plan.sds[*at];
                let Some(lun) = &resolved.luns[*at] else { continue };
                let odd = sizes.iter().find(|size| **size % lun.block != 0);
                if let Some(size) = odd
                    && shares::flags(run, workload, sd, lun).iter().any(|f| f.is_direct())
                {
                    let why = format!(
                        "a transfer size of {size} is no multiple of its block size {}, which o_direct needs",
                        lun.block
                    );
                    problems.push(shares::no_room(&run.name, sd, &why));
                }
            }
        }
    }
    problems
}

/// The numbers of which all sizes of a workload are multiples.
fn sizes(workload: &Workload) -> Vec<u64> {
    match &workload.xfer {
        Xfer::Fixed(size) => vec![*size],
        Xfer::Weighted(sizes) => sizes.iter().map(|(size, _)| *size).collect(),
        Xfer::Range { min, align, .. } => vec![*min, *align],
    }
}
