//! What a run measured over its counted intervals.

use brunt_event::Interval;
use brunt_stats::{Cell, Times, TimesSum};

use crate::merge::{Merged, PairSums, merge_sums};

/// Sums over the counted intervals of a run. Where none counts (a run that was over within its warm-up), the last
/// interval stands for it, as in `avg_2-1` of a short format run (`docs/vdbench/raw.md` §8.9 and decisions.md).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Totals {
    counted: u32,
    length_ns: u64,
    cell: Cell,
    wds: Vec<Cell>,
    host_times: Vec<TimesSum>,
    worker_times: Vec<TimesSum>,
    pairs: PairSums,
}

/// The times of the counted intervals.
#[derive(Debug, Default)]
pub struct RunTimes {
    /// Everything.
    pub all: Times,
    /// By host.
    pub hosts: Vec<Times>,
    /// By SD of the run.
    pub sds: Vec<Times>,
    /// By workload.
    pub wds: Vec<Times>,
    /// By worker, where somebody asks for it.
    pub workers: Vec<Times>,
}

impl Totals {
    /// Takes an interval in. A warm-up interval only stays until the next one comes.
    pub fn add(&mut self, interval: &Merged, warmup: bool) {
        self.add_sums(interval.length_ns(), &interval.total, &interval.wds, warmup);
        merge_sums(&mut self.host_times, &interval.host_times);
        merge_sums(&mut self.worker_times, &interval.worker_times);
        self.pairs.merge(&interval.pairs);
    }

    /// Takes in an interval that was told: its sums, not its times.
    pub(crate) fn add_past(&mut self, told: &Interval) {
        self.add_sums(told.length_ns, &told.total, &told.wds, told.warmup);
    }

    fn add_sums(&mut self, length_ns: u64, total: &Cell, wds: &[Cell], warmup: bool) {
        if self.counted == 0 {
            *self = Self::default();
        }
        self.counted += u32::from(!warmup);
        self.length_ns += length_ns;
        self.cell.merge(total);
        add_cells(&mut self.wds, wds);
    }

    /// Whether no interval counts.
    pub fn is_short(&self) -> bool {
        self.counted == 0
    }

    /// I/Os per second.
    pub fn rate(&self) -> f64 {
        if self.length_ns == 0 { 0.0 } else { self.cell.both().ops as f64 * 1e9 / self.length_ns as f64 }
    }

    /// Mean response time in ms; `None` without I/Os.
    pub fn response_ms(&self) -> Option<f64> {
        let both = self.cell.both();
        (both.ops > 0).then(|| both.sum_ns as f64 / both.ops as f64 / 1e6)
    }

    /// Share of each workload in percent of all I/Os; `None` without I/Os.
    pub fn mix(&self) -> Option<Vec<f64>> {
        let all = self.cell.both().ops;
        (all > 0).then(|| self.wds.iter().map(|w| w.both().ops as f64 * 100.0 / all as f64).collect())
    }

    /// Bytes after warm-up.
    pub fn counted_bytes(&self) -> (u64, u64) {
        if self.counted == 0 { (0, 0) } else { (self.cell.read.bytes, self.cell.write.bytes) }
    }

    /// All times. `late` came behind the last interval; it counts where workers still owed times of intervals
    /// before, since they send both together: then it holds some I/Os of the interval that was cut, too.
    pub fn times(&self, late: &PairSums) -> RunTimes {
        let total = |sums: &[TimesSum]| sums.iter().map(TimesSum::total).collect::<Vec<_>>();
        let mut all = TimesSum::default();
        self.host_times.iter().for_each(|host| all.merge(host));
        let mut pairs = self.pairs.clone();
        if pairs.count() < self.cell.both().ops {
            pairs.merge(late);
        }
        RunTimes {
            all: all.total(),
            hosts: total(&self.host_times),
            sds: total(&pairs.sds),
            wds: total(&pairs.workloads()),
            workers: total(&self.worker_times),
        }
    }
}

fn add_cells(sums: &mut Vec<Cell>, more: &[Cell]) {
    sums.resize(sums.len().max(more.len()), Cell::default());
    sums.iter_mut().zip(more).for_each(|(a, b)| a.merge(b));
}
