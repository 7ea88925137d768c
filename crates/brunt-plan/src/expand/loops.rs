//! For-loops of an RD: every combination in nesting order, and what a value changes.

use brunt_parm::Diag;
use brunt_parm::ast::{Loop, LoopKind, LoopValues, Rd};

use super::log::Log;
use crate::plan::{LoopValue, Workload};
use crate::work::{Seek, Xfer};

/// Runs that one RD may have. More is a slip of the pen and would fill the memory.
const MOST_RUNS: usize = 1_000_000;

/// Whether an RD has too many runs, after an error.
pub(crate) fn too_many(rd: &Rd, counts: &[usize], log: &mut Log) -> bool {
    let runs = counts.iter().try_fold(1usize, |n, count| n.checked_mul(*count));
    let too_many = runs.is_none_or(|n| n > MOST_RUNS);
    if too_many {
        let span = rd.name.as_ref().map(|n| n.span);
        log.error("too-many-runs", format!("the loops of this run make more than {MOST_RUNS} runs"), span);
    }
    too_many
}

/// The combinations of all loops, the last one fastest (`docs/vdbench/raw.md` §7.1). `None` after an error.
pub(crate) fn combinations(rd: &Rd, of_files: bool, log: &mut Log) -> Option<Vec<Vec<LoopValue>>> {
    let mut lists = Vec::with_capacity(rd.loops.len());
    for of_rd in &rd.loops {
        lists.push(values(of_rd, of_files, log)?);
    }
    if too_many(rd, &lists.iter().map(Vec::len).collect::<Vec<_>>(), log) {
        return None;
    }
    let mut all = vec![Vec::new()];
    for list in &lists {
        all = all
            .iter()
            .flat_map(|outer: &Vec<LoopValue>| {
                list.iter().map(move |value| outer.iter().cloned().chain([value.clone()]).collect())
            })
            .collect();
    }
    Some(all)
}

fn values(of_rd: &Loop, of_files: bool, log: &mut Log) -> Option<Vec<LoopValue>> {
    let kind = of_rd.kind;
    let values = match &of_rd.values {
        LoopValues::Words(words) => words
            .iter()
            .map(|w| LoopValue { kind, value: f64::NAN, percent: false, word: Some(w.value.clone()) })
            .collect(),
        LoopValues::Numbers(numbers) => {
            let mut values = Vec::with_capacity(numbers.len());
            for number in numbers {
                let value = checked(kind, number.value.value, number.span, of_files, log)?;
                values.push(LoopValue { kind, value, percent: number.value.percent, word: None });
            }
            values
        }
    };
    if values.is_empty() {
        log.push(Diag::error("empty-loop", "this list has no values", of_rd.span));
        return None;
    }
    Some(values)
}

/// A loop value that can be used, or an error.
fn checked(kind: LoopKind, value: f64, span: brunt_parm::Span, of_files: bool, log: &mut Log) -> Option<f64> {
    match kind {
        LoopKind::Xfersize if !of_files && (value < 512.0 || value % 512.0 != 0.0) => {
            log.push(
                Diag::error("xfersize", format!("transfer size {value} is not a multiple of 512"), span)
                    .help("in a run xfersize= is a list of sizes; a distribution belongs in the WD"),
            );
            None
        }
        LoopKind::Threads if value < 1.0 => {
            log.note_once("threads", format!("threads={value} is taken as 1"), span);
            Some(1.0)
        }
        _ if !value.is_finite() => {
            log.push(Diag::error("number", "this is not a finite number", span));
            None
        }
        _ => Some(value),
    }
}

/// A value as its consumers read it: to who does not know percentages they are negative numbers
/// (`docs/vdbench/raw.md` §1.4).
fn plain(value: &LoopValue) -> f64 {
    if value.percent { -value.value } else { value.value }
}

/// The threads per SD, when a loop has them.
pub(crate) fn threads(values: &[LoopValue]) -> Option<u32> {
    values.iter().find(|v| v.kind == LoopKind::Threads).map(|v| plain(v).max(1.0) as u32)
}

/// Values that change workloads of SDs, as a key: what, and the bits of the number.
pub(crate) type Changes = Vec<(LoopKind, u64)>;

/// The values that change workloads of SDs.
pub(crate) fn changes(values: &[LoopValue]) -> Changes {
    const KINDS: [LoopKind; 6] =
        [LoopKind::Xfersize, LoopKind::Rdpct, LoopKind::Rhpct, LoopKind::Whpct, LoopKind::Seekpct, LoopKind::Hitarea];
    values.iter().filter(|v| KINDS.contains(&v.kind)).map(|v| (v.kind, plain(v).to_bits())).collect()
}

/// Puts loop values into the workloads of a run.
pub(crate) fn apply(values: &[LoopValue], workloads: &mut [Workload]) {
    for value in values {
        for workload in &mut *workloads {
            apply_one(value.kind, plain(value), workload);
        }
    }
}

fn apply_one(kind: LoopKind, n: f64, workload: &mut Workload) {
    match kind {
        LoopKind::Xfersize => workload.xfer = Xfer::Fixed(n as u64),
        LoopKind::Rdpct => workload.read_pct = n,
        LoopKind::Rhpct => workload.read_hit_pct = n,
        LoopKind::Whpct => workload.write_hit_pct = n,
        LoopKind::Seekpct if n < 0.0 => workload.seek = Seek::Eof,
        LoopKind::Seekpct => workload.seek = Seek::Percent(n),
        LoopKind::Hitarea => workload.hit_area = Some(n.max(0.0) as u64),
        LoopKind::Threads
        | LoopKind::Compratio
        | LoopKind::Depth
        | LoopKind::Width
        | LoopKind::Files
        | LoopKind::Sizes
        | LoopKind::Totalsize
        | LoopKind::Wss
        | LoopKind::Operation
        | LoopKind::Fwdrate => {}
    }
}
