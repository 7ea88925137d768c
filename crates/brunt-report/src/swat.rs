//! `swat_mon.txt` and `swat_mon_total.txt`: rows for another product (`docs/vdbench/reports.md` §13).

use brunt_stats::Cell;

use crate::context::Context;
use crate::run::Run;
use crate::tally::{Scope, Tally};

/// A block per interval.
pub(crate) const FILE: &str = "swat_mon.txt";
/// A block per run.
pub(crate) const TOTAL_FILE: &str = "swat_mon_total.txt";

/// Bytes of a sector.
const SECTOR: u64 = 512;

/// The head of both files.
pub(crate) fn head(context: &Context, start_ms: i64) -> Vec<String> {
    let sds = context.planned.sds.iter().enumerate().map(|(n, sd)| format!("{n} {n} 0 0 sd_{}", sd.name));
    [format!(":date {}", context.clock.swat(start_ms)), ":fixed_data".to_owned()].into_iter().chain(sds).collect()
}

/// The block of the last interval.
pub(crate) fn interval(context: &Context, run: &Run) -> Vec<String> {
    block(context, run, run.last.saturating_sub(1), |scope| run.interval(scope))
}

/// The block of an average.
pub(crate) fn average(context: &Context, run: &Run) -> Vec<String> {
    block(context, run, run.started.warmup_intervals.max(1), |scope| run.average(scope))
}

/// A block from the end of interval `from` (0: the start of the run) to the end of the last one.
fn block(context: &Context, run: &Run, from: u32, of: impl Fn(Scope) -> Option<Tally>) -> Vec<String> {
    let started = &run.started;
    let at = |interval: u32| {
        let offset_ms = i64::from(interval) * i64::from(started.plan.interval) * 1_000;
        context.clock.swat(started.start_ms.saturating_add(offset_ms))
    };
    let mut lines = vec![":".to_owned(), ":vdbench503_vdbench_data_for_swat303".to_owned()];
    lines.push(format!(":date {} {}", at(from), at(run.last.max(from))));
    lines.extend(started.sds.iter().map(|sd| row(*sd, &of(Scope::Sd(*sd as usize)).unwrap_or_default().cell)));
    lines
}

fn row(sd: u32, cell: &Cell) -> String {
    let (read, write, us) = (&cell.read, &cell.write, |ns: u64| ns / 1_000);
    format!(
        "{sd} 0 {} {} {} 0 {} {} {} {} {} 0 0 0",
        read.ops,
        write.ops,
        us(read.sum_ns + write.sum_ns),
        read.bytes / SECTOR,
        write.bytes / SECTOR,
        us(read.max_ns.max(write.max_ns)),
        us(read.max_ns),
        us(write.max_ns)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_stats::OpStats;

    #[test]
    fn rows_are_those_of_the_reference() {
        // 5.04.07 case 01, interval 1
        let read = OpStats { ops: 56, bytes: 56 * 4096, sum_ns: 401_000, max_ns: 23_000, ..OpStats::default() };
        assert_eq!(row(0, &Cell { read, ..Cell::default() }), "0 0 56 0 401 0 448 0 23 23 0 0 0 0");
    }
}
