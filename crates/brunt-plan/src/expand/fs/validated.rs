//! What data validation asks of sizes: every block that is written has whole key blocks, the smallest transfers of its
//! anchor (`docs/vdbench/filesystem.md` §6). Vdbench finds it when the runs start.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use brunt_parm::ast::FileSizes;

use super::super::fsds::Fsds;
use super::super::log::Log;
use crate::plan::Run;
use crate::work::Xfer;

/// Refuses runs whose transfer or file sizes are no multiples of the key block of an anchor.
pub(crate) fn check(runs: &[Run], fsds: &Fsds, log: &mut Log) {
    let mut by_anchor: BTreeMap<&str, (BTreeSet<u64>, BTreeSet<usize>)> = BTreeMap::new();
    let mut seen = HashSet::new();
    for files in runs.iter().filter_map(|r| r.files.as_ref()).filter(|f| seen.insert(f.workloads.as_ptr())) {
        for workload in files.workloads.iter() {
            for fsd in workload.fsds.iter() {
                let (sizes, users) = by_anchor.entry(&fsds.list[*fsd].anchor).or_default();
                sizes.extend(transfers(&workload.xfer));
                users.insert(*fsd);
            }
        }
    }
    for (anchor, (sizes, users)) in by_anchor {
        let Some(key) = sizes.first().copied().filter(|key| *key > 0) else { continue };
        if let Some(odd) = sizes.iter().find(|size| *size % key != 0) {
            let span = users.first().and_then(|at| fsds.list[*at].span);
            log.unsupported(
                span,
                format!(
                    "anchor {anchor}: with data validation transfers of {odd} bytes are no multiple of the smallest, \
                     {key}; a format writes 128k unless fwd=format,xfersize= says something else"
                ),
            );
        }
        for fsd in users.iter().map(|at| &fsds.list[*at]) {
            if let Some(odd) = file_sizes(&fsd.structure.sizes).into_iter().find(|size| size % key != 0) {
                log.unsupported(
                    fsd.span,
                    format!(
                        "fsd {}: with data validation files of {odd} bytes are no multiple of the smallest transfer, {key}",
                        fsd.name
                    ),
                );
            }
        }
    }
}

fn transfers(xfer: &Xfer) -> Vec<u64> {
    match xfer {
        Xfer::Fixed(size) => vec![*size],
        Xfer::Weighted(sizes) => sizes.iter().map(|(size, _)| *size).collect(),
        Xfer::Range { min, max, .. } => vec![*min, *max],
    }
}

/// Sizes that are known; random ones are whole KiB.
fn file_sizes(sizes: &FileSizes) -> Vec<u64> {
    match sizes {
        FileSizes::Fixed(size) => vec![*size],
        FileSizes::Weighted(sizes) => sizes.iter().map(|(size, _)| *size).collect(),
        FileSizes::Average(_) => vec![1024],
    }
}
