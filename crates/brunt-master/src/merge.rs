//! Merging the workers' interval samples into one interval over everything.
//!
//! An interval is complete when every worker that has work has sent its sample of it, or is done, or is lost. Samples
//! drive this, never a clock, so that workers on a virtual clock may be far ahead. Everything is added as integers:
//! the order of arrival never shows.

use std::collections::BTreeMap;

use brunt_event::{HistPair, HostInterval, Interval};
use brunt_stats::{Cell, IntervalSample, PairSample, SparseHistogram};

/// What the samples of a run may name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shape {
    /// Number of hosts.
    pub(crate) hosts: usize,
    /// The host of each worker.
    pub(crate) worker_hosts: Vec<usize>,
    /// Whether each worker has work in this run.
    pub(crate) active: Vec<bool>,
    /// SDs of the run, in the order of the plan: number in the plan and in the reports.
    pub(crate) sds: Vec<(u32, u32)>,
    /// Number of workloads.
    pub(crate) workloads: usize,
    /// Sums by host and SD are wanted.
    pub(crate) host_detail: bool,
    /// Sums by worker and SD are wanted.
    pub(crate) worker_detail: bool,
}

impl Shape {
    /// The place of an SD of the plan among those of the run.
    fn place(&self, sd: u32) -> Option<usize> {
        self.sds.binary_search_by_key(&sd, |(plan, _)| *plan).ok()
    }
}

/// One interval over everything, or as much of it as has come.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Merged {
    /// Its number.
    pub(crate) number: u32,
    length_sum_ns: u64,
    samples: u32,
    pub(crate) total: Cell,
    due_hist: SparseHistogram,
    hosts: Vec<HostInterval>,
    /// The worker whose CPU ticks stand for each host: the lowest that sent any.
    cpu_from: Vec<usize>,
    workers: Vec<Cell>,
    sds: Vec<Cell>,
    pub(crate) wds: Vec<Cell>,
    host_sds: BTreeMap<(u32, u32), Cell>,
    /// Always kept: who works on which SD decides about `timeout=`.
    pub(crate) worker_sds: BTreeMap<(u32, u32), Cell>,
    pub(crate) sd_hists: Vec<HistPair>,
    pub(crate) wd_hists: Vec<HistPair>,
    pub(crate) worker_hists: Vec<HistPair>,
}

impl Merged {
    fn new(number: u32, shape: &Shape) -> Self {
        let workers = shape.worker_hosts.len();
        // The older layout has histograms of the workers of a host that has several.
        let by_worker = shape.worker_detail || workers > shape.hosts;
        Self {
            number,
            length_sum_ns: 0,
            samples: 0,
            total: Cell::default(),
            due_hist: SparseHistogram::default(),
            hosts: vec![HostInterval::default(); shape.hosts],
            cpu_from: vec![usize::MAX; shape.hosts],
            workers: vec![Cell::default(); workers],
            sds: vec![Cell::default(); shape.sds.len()],
            wds: vec![Cell::default(); shape.workloads],
            host_sds: BTreeMap::new(),
            worker_sds: BTreeMap::new(),
            sd_hists: vec![HistPair::default(); shape.sds.len()],
            wd_hists: vec![HistPair::default(); shape.workloads],
            worker_hists: vec![HistPair::default(); if by_worker { workers } else { 0 }],
        }
    }

    /// The mean of the measured lengths: workers measure each for itself and differ by microseconds.
    pub(crate) fn length_ns(&self) -> u64 {
        self.length_sum_ns / u64::from(self.samples.max(1))
    }

    /// I/Os that failed.
    pub(crate) fn errors(&self) -> u64 {
        self.total.read.errors + self.total.write.errors
    }

    fn add(&mut self, worker: usize, sample: &IntervalSample, shape: &Shape) {
        self.length_sum_ns += sample.end_ns.saturating_sub(sample.start_ns);
        self.samples += 1;
        let Some(&host) = shape.worker_hosts.get(worker) else { return };
        if let (Some(cpu), Some(from)) = (sample.cpu, self.cpu_from.get_mut(host))
            && worker < *from
        {
            *from = worker;
            self.hosts[host].cpu = Some(cpu);
        }
        self.due_hist.merge(&sample.times.read.due.hist);
        self.due_hist.merge(&sample.times.write.due.hist);
        self.hosts[host].read_hist.merge(&sample.times.read.service.hist);
        self.hosts[host].write_hist.merge(&sample.times.write.service.hist);
        for pair in &sample.pair_times {
            let (Some(sd), wd) = (shape.place(pair.sd), pair.workload as usize) else { continue };
            let by_worker = self.worker_hists.get_mut(worker);
            let by_wd = self.wd_hists.get_mut(wd);
            for hists in [&mut self.sd_hists[sd]].into_iter().chain(by_wd).chain(by_worker) {
                hists.read.merge(&pair.times.read.service.hist);
                hists.write.merge(&pair.times.write.service.hist);
            }
        }
        for pair in &sample.pairs {
            match shape.place(pair.sd) {
                Some(sd) if (pair.workload as usize) < self.wds.len() => self.add_pair(worker, host, sd, pair, shape),
                _ => tracing::warn!(worker, sd = pair.sd, workload = pair.workload, "sample of nothing in this run"),
            }
        }
    }

    fn add_pair(&mut self, worker: usize, host: usize, sd: usize, pair: &PairSample, shape: &Shape) {
        let wd = pair.workload as usize;
        for cell in [
            &mut self.total,
            &mut self.hosts[host].cell,
            &mut self.workers[worker],
            &mut self.sds[sd],
            &mut self.wds[wd],
            self.worker_sds.entry((worker as u32, shape.sds[sd].1)).or_default(),
        ] {
            cell.merge(&pair.cell);
        }
        if shape.host_detail {
            self.host_sds.entry((host as u32, shape.sds[sd].1)).or_default().merge(&pair.cell);
        }
    }

    /// The event of it.
    pub(crate) fn event(&self, run: u32, warmup: bool, missing_workers: u32, shape: &Shape) -> Interval {
        let flat = |m: &BTreeMap<(u32, u32), Cell>, wanted: bool| {
            if wanted { m.iter().map(|((a, b), c)| (*a, *b, *c)).collect() } else { Vec::new() }
        };
        let mut all = HistPair::default();
        for host in &self.hosts {
            all.read.merge(&host.read_hist);
            all.write.merge(&host.write_hist);
        }
        Interval {
            run,
            interval: self.number,
            length_ns: self.length_ns(),
            warmup,
            missing_workers,
            total: self.total,
            read_hist: all.read,
            write_hist: all.write,
            due_hist: self.due_hist.clone(),
            hosts: self.hosts.clone(),
            workers: self.workers.clone(),
            sds: self.sds.clone(),
            wds: self.wds.clone(),
            host_sds: flat(&self.host_sds, shape.host_detail),
            worker_sds: flat(&self.worker_sds, shape.worker_detail),
        }
    }
}

/// Collects samples until intervals are complete.
#[derive(Debug)]
pub(crate) struct Merger {
    shape: Shape,
    open: BTreeMap<u32, Merged>,
    /// The next interval to complete.
    next: u32,
    /// Intervals reported by each worker.
    reported: Vec<u32>,
    /// Workers of which nothing more comes.
    finished: Vec<bool>,
    /// Intervals beyond this one are not counted.
    last: Option<u32>,
}

impl Merger {
    /// For a run of that shape and, if known, that many intervals.
    pub(crate) fn new(shape: Shape, last: Option<u32>) -> Self {
        let workers = shape.worker_hosts.len();
        let finished = shape.active.iter().map(|a| !a).collect();
        Self { shape, open: BTreeMap::new(), next: 1, reported: vec![0; workers], finished, last }
    }

    /// What may be named.
    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The last interval that counts, as far as it is known.
    pub(crate) fn last(&self) -> Option<u32> {
        self.last
    }

    /// The last interval that was complete; 0 before the first.
    pub(crate) fn completed(&self) -> u32 {
        self.next - 1
    }

    /// Intervals that a worker has reported.
    pub(crate) fn reported(&self, worker: usize) -> u32 {
        self.reported.get(worker).copied().unwrap_or(0)
    }

    /// Brings the end nearer; it is never put off.
    pub(crate) fn end_at(&mut self, last: u32) {
        let last = self.last.map_or(last, |l| l.min(last)).max(self.completed());
        self.last = Some(last);
        self.open.retain(|n, _| *n <= last);
    }

    /// Takes a sample.
    pub(crate) fn add(&mut self, worker: usize, sample: &IntervalSample) {
        if let Some(reported) = self.reported.get_mut(worker) {
            *reported = (*reported).max(sample.interval);
        }
        let n = sample.interval;
        if n < self.next || self.last.is_some_and(|last| n > last) {
            return;
        }
        self.open.entry(n).or_insert_with(|| Merged::new(n, &self.shape)).add(worker, sample, &self.shape);
    }

    /// Nothing more comes from that worker.
    pub(crate) fn finish(&mut self, worker: usize) {
        if let Some(finished) = self.finished.get_mut(worker) {
            *finished = true;
        }
    }

    /// Whether nothing more comes from anybody.
    pub(crate) fn all_finished(&self) -> bool {
        self.finished.iter().all(|f| *f)
    }

    /// Workers with work of which more may come.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = usize> + '_ {
        self.finished.iter().enumerate().filter(|(_, f)| !**f).map(|(w, _)| w)
    }

    /// The next interval, when it is complete. An interval of which nobody reported anything does not exist.
    pub(crate) fn next_complete(&mut self) -> Option<Merged> {
        let n = self.next;
        let complete = |(w, reported): (usize, &u32)| *reported >= n || self.finished[w];
        if !self.reported.iter().enumerate().all(complete) {
            return None;
        }
        let merged = self.open.remove(&n)?;
        self.next += 1;
        Some(merged)
    }
}

#[cfg(test)]
#[allow(clippy::expect_used)]
#[path = "merge_tests.rs"]
mod tests;
