//! What the loops of a run change in file systems and workloads (`docs/vdbench/filesystem.md` §3.2).

use brunt_parm::Diag;
use brunt_parm::ast::{LoopKind, Operation, Rd};

use super::super::log::Log;
use crate::plan::LoopValue;
use crate::plan::fs::{Changes, Fsd, TotalSize};
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

/// What the loops change in structures.
pub(super) fn changes(values: &[LoopValue]) -> Changes {
    let mut changes = Changes::default();
    for value in values {
        let n = value.value;
        match value.kind {
            LoopKind::Depth => changes.depth = Some(n as u32),
            LoopKind::Width => changes.width = Some(n as u32),
            LoopKind::Files => changes.files = Some(n as u32),
            LoopKind::Sizes => changes.size = Some(n as u64),
            LoopKind::Wss => changes.working_set = Some(n as u64),
            LoopKind::Totalsize if value.percent => changes.total_size = Some(TotalSize::Percent(n)),
            LoopKind::Totalsize if n > 0.0 => changes.total_size = Some(TotalSize::Bytes(n as u64)),
            _ => {}
        }
    }
    changes
}

/// Values that change structures, as a key: what, the bits of the number, whether it is a percentage.
pub(super) type Structural = Vec<(LoopKind, u64, bool)>;

/// The values that change structures.
pub(super) fn structural(values: &[LoopValue]) -> Structural {
    const KINDS: [LoopKind; 6] =
        [LoopKind::Depth, LoopKind::Width, LoopKind::Files, LoopKind::Sizes, LoopKind::Totalsize, LoopKind::Wss];
    values.iter().filter(|v| KINDS.contains(&v.kind)).map(|v| (v.kind, v.value.to_bits(), v.percent)).collect()
}

/// The values that change workloads, as a key.
pub(super) fn key(values: &[LoopValue]) -> Vec<(LoopKind, u64, Option<Operation>)> {
    const KINDS: [LoopKind; 4] = [LoopKind::Xfersize, LoopKind::Threads, LoopKind::Rdpct, LoopKind::Operation];
    let of = |v: &LoopValue| (v.kind, v.value.to_bits(), v.word.as_deref().and_then(Operation::from_word));
    values.iter().filter(|v| KINDS.contains(&v.kind)).map(of).collect()
}

/// A percentage of `totalsize=` needs one.
pub(super) fn check_percent(rd: &Rd, fsd: &Fsd, changes: &Changes, log: &mut Log) -> Option<()> {
    if matches!(changes.total_size, Some(TotalSize::Percent(_))) && fsd.structure.total_size.is_none() {
        log.push(no_total(rd, fsd));
        return None;
    }
    Some(())
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
