//! What the loops of a run change in file systems and workloads (`docs/vdbench/filesystem.md` §3.2).

use brunt_parm::Diag;
use brunt_parm::ast::{FileSizes, LoopKind, Operation, Rd};

use super::super::log::Log;
use crate::plan::LoopValue;
use crate::plan::fs::Fsd;
use crate::tree::Structure;
use crate::work::Xfer;

/// The value of a loop, when the run has it.
fn value(values: &[LoopValue], kind: LoopKind) -> Option<f64> {
    values.iter().find(|v| v.kind == kind).map(|v| v.value)
}

/// `threads=`.
pub(super) fn threads(values: &[LoopValue]) -> Option<u32> {
    value(values, LoopKind::Threads).map(|n| n.max(1.0) as u32)
}

/// `xfersize=`.
pub(super) fn xfer(values: &[LoopValue]) -> Option<Xfer> {
    value(values, LoopKind::Xfersize).map(|n| Xfer::Fixed(n.max(1.0) as u64))
}

/// `rdpct=`.
pub(super) fn rdpct(values: &[LoopValue]) -> Option<f64> {
    value(values, LoopKind::Rdpct)
}

/// `foroperations=`.
pub(super) fn operation(values: &[LoopValue]) -> Option<Operation> {
    values.iter().find(|v| v.kind == LoopKind::Operation)?.word.as_deref().and_then(Operation::from_word)
}

/// The structure of a file system in a run. `None` after an error.
pub(super) fn structure(rd: &Rd, fsd: &Fsd, values: &[LoopValue], log: &mut Log) -> Option<Structure> {
    let mut structure = fsd.structure.clone();
    for value in values {
        let n = value.value;
        match value.kind {
            LoopKind::Depth => structure.depth = n as u32,
            LoopKind::Width => structure.width = n as u32,
            LoopKind::Files => structure.files = n as u32,
            LoopKind::Sizes => structure.sizes = FileSizes::Fixed(n as u64),
            LoopKind::Wss => structure.working_set = Some(n as u64).filter(|n| *n > 0),
            LoopKind::Totalsize if value.percent => {
                let Some(total) = fsd.structure.total_size else {
                    log.push(no_total(rd, fsd));
                    return None;
                };
                structure.total_size = Some((total as f64 * n / 100.0) as u64).filter(|n| *n > 0);
            }
            LoopKind::Totalsize if n > 0.0 => structure.total_size = Some(n as u64),
            _ => {}
        }
    }
    Some(structure)
}

fn no_total(rd: &Rd, fsd: &Fsd) -> Diag {
    let span = rd.loops.iter().find(|l| l.kind == LoopKind::Totalsize).map(|l| l.span).or(fsd.span);
    let message = format!("`fortotalsize=` in percent: fsd `{}` has no `totalsize=`", fsd.name);
    let diag = Diag::new(brunt_parm::Severity::Error, "percent-of-nothing", message, span).label("percent of what?");
    match fsd.span {
        Some(fsd) => diag.related(fsd, "give it a `totalsize=`"),
        None => diag,
    }
}
