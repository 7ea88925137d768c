//! What a run measured over its counted intervals.

use brunt_event::HistPair;
use brunt_stats::Cell;

use crate::merge::Merged;

/// Sums over the counted intervals of a run. Where none counts (a run that was over within its warm-up), the last
/// interval stands for it, as in `avg_2-1` of a short format run (`docs/vdbench/raw.md` §8.9 and decisions.md).
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Totals {
    counted: u32,
    length_ns: u64,
    cell: Cell,
    wds: Vec<Cell>,
    sd_hists: Vec<HistPair>,
    wd_hists: Vec<HistPair>,
    worker_hists: Vec<HistPair>,
}

impl Totals {
    /// Takes an interval in. A warm-up interval only stays until the next one comes.
    pub(crate) fn add(&mut self, interval: &Merged, warmup: bool) {
        if self.counted == 0 {
            *self = Self::default();
        }
        self.counted += u32::from(!warmup);
        self.length_ns += interval.length_ns();
        self.cell.merge(&interval.total);
        add_cells(&mut self.wds, &interval.wds);
        add_hists(&mut self.sd_hists, &interval.sd_hists);
        add_hists(&mut self.wd_hists, &interval.wd_hists);
        add_hists(&mut self.worker_hists, &interval.worker_hists);
    }

    /// Whether no interval counts.
    pub(crate) fn is_short(&self) -> bool {
        self.counted == 0
    }

    /// I/Os per second.
    pub(crate) fn rate(&self) -> f64 {
        if self.length_ns == 0 { 0.0 } else { self.cell.both().ops as f64 * 1e9 / self.length_ns as f64 }
    }

    /// Mean response time in ms; `None` without I/Os.
    pub(crate) fn response_ms(&self) -> Option<f64> {
        let both = self.cell.both();
        (both.ops > 0).then(|| both.sum_ns as f64 / both.ops as f64 / 1e6)
    }

    /// Share of each workload in percent of all I/Os; `None` without I/Os.
    pub(crate) fn mix(&self) -> Option<Vec<f64>> {
        let all = self.cell.both().ops;
        (all > 0).then(|| self.wds.iter().map(|w| w.both().ops as f64 * 100.0 / all as f64).collect())
    }

    /// Bytes after warm-up.
    pub(crate) fn counted_bytes(&self) -> (u64, u64) {
        if self.counted == 0 { (0, 0) } else { (self.cell.read.bytes, self.cell.write.bytes) }
    }

    /// Histograms by SD, by workload and by worker.
    pub(crate) fn into_hists(self) -> (Vec<HistPair>, Vec<HistPair>, Vec<HistPair>) {
        (self.sd_hists, self.wd_hists, self.worker_hists)
    }
}

fn add_cells(sums: &mut Vec<Cell>, more: &[Cell]) {
    sums.resize(sums.len().max(more.len()), Cell::default());
    sums.iter_mut().zip(more).for_each(|(a, b)| a.merge(b));
}

fn add_hists(sums: &mut Vec<HistPair>, more: &[HistPair]) {
    sums.resize(sums.len().max(more.len()), HistPair::default());
    for (a, b) in sums.iter_mut().zip(more) {
        a.read.merge(&b.read);
        a.write.merge(&b.write);
    }
}
