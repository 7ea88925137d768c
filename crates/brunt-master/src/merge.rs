//! Merging the workers' interval samples into one interval over everything.
//!
//! An interval is complete when every worker that has work has sent its sample of it, or is done, or is lost. Samples
//! drive this, never a clock, so that workers on a virtual clock may be far ahead. Everything is added as integers:
//! the order of arrival never shows.

use std::collections::BTreeMap;

use brunt_event::{HostInterval, Interval};
use brunt_stats::{Cell, CpuTicks, IntervalSample, PairSample, PairTimes, Times, TimesSum};

/// What the samples of a run may name.
#[derive(Debug, Clone, Default)]
pub struct Shape {
    /// Number of hosts.
    pub hosts: usize,
    /// The host of each worker.
    pub worker_hosts: Vec<usize>,
    /// Whether each worker has work in this run.
    pub active: Vec<bool>,
    /// SDs of the run, in the order of the plan: number in the plan and in the reports.
    pub sds: Vec<(u32, u32)>,
    /// Number of workloads.
    pub workloads: usize,
    /// Sums by host and SD are wanted.
    pub host_detail: bool,
    /// Sums by worker and SD are wanted.
    pub worker_detail: bool,
    /// Somebody asks who works on which SD (`timeout=`).
    pub watched: bool,
}

impl Shape {
    /// The place of an SD of the plan among those of the run.
    pub fn place(&self, sd: u32) -> Option<usize> {
        self.sds.binary_search_by_key(&sd, |(plan, _)| *plan).ok()
    }
}

/// Times by SD and by workload, out of the [`PairTimes`] of samples.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PairSums {
    /// By SD of the run.
    pub sds: Vec<TimesSum>,
    /// By workload; empty where there is only one, which has the sum of all SDs.
    wds: Vec<TimesSum>,
}

impl PairSums {
    fn new(shape: &Shape) -> Self {
        let wds = if shape.workloads > 1 { shape.workloads } else { 0 };
        Self { sds: vec![TimesSum::default(); shape.sds.len()], wds: vec![TimesSum::default(); wds] }
    }

    fn add(&mut self, pairs: &[PairTimes], shape: &Shape) {
        for pair in pairs.iter().filter(|pair| (pair.workload as usize) < shape.workloads) {
            if let Some(sd) = shape.place(pair.sd).and_then(|sd| self.sds.get_mut(sd)) {
                sd.add(&pair.times);
                if let Some(wd) = self.wds.get_mut(pair.workload as usize) {
                    wd.add(&pair.times);
                }
            }
        }
    }

    /// Number of I/Os.
    pub fn count(&self) -> u64 {
        self.sds.iter().map(TimesSum::count).sum()
    }

    /// Times by workload.
    pub fn workloads(&self) -> Vec<TimesSum> {
        if !self.wds.is_empty() {
            return self.wds.clone();
        }
        let mut only = TimesSum::default();
        self.sds.iter().for_each(|sd| only.merge(sd));
        vec![only]
    }

    /// Adds another's.
    pub fn merge(&mut self, other: &Self) {
        merge_sums(&mut self.sds, &other.sds);
        merge_sums(&mut self.wds, &other.wds);
    }
}

/// Adds sums place by place.
pub fn merge_sums(sums: &mut Vec<TimesSum>, more: &[TimesSum]) {
    sums.resize(sums.len().max(more.len()), TimesSum::default());
    sums.iter_mut().zip(more).for_each(|(a, b)| a.merge(b));
}

/// One interval over everything, or as much of it as has come.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged {
    /// Its number.
    pub number: u32,
    length_sum_ns: u64,
    samples: u32,
    /// By worker: whether its sample is in it.
    holds: Vec<bool>,
    /// Everything.
    pub total: Cell,
    hosts: Vec<Cell>,
    cpus: Vec<Option<CpuTicks>>,
    /// By host.
    pub host_times: Vec<TimesSum>,
    /// The worker whose CPU ticks stand for each host: the lowest that sent any.
    cpu_from: Vec<usize>,
    workers: Vec<Cell>,
    pub(crate) sds: Vec<Cell>,
    /// By workload.
    pub wds: Vec<Cell>,
    host_sds: BTreeMap<(u32, u32), Cell>,
    /// Where somebody asks.
    pub worker_sds: BTreeMap<(u32, u32), Cell>,
    /// What came with this interval, which may reach back over intervals before.
    pub pairs: PairSums,
    /// Empty where nobody asks for it.
    pub worker_times: Vec<TimesSum>,
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
            holds: vec![false; workers],
            total: Cell::default(),
            hosts: vec![Cell::default(); shape.hosts],
            cpus: vec![None; shape.hosts],
            host_times: vec![TimesSum::default(); shape.hosts],
            cpu_from: vec![usize::MAX; shape.hosts],
            workers: vec![Cell::default(); workers],
            sds: vec![Cell::default(); shape.sds.len()],
            wds: vec![Cell::default(); shape.workloads],
            host_sds: BTreeMap::new(),
            worker_sds: BTreeMap::new(),
            pairs: PairSums::new(shape),
            worker_times: vec![TimesSum::default(); if by_worker { workers } else { 0 }],
        }
    }

    /// An interval that was told and of which nothing else is there.
    pub(crate) fn of(told: &Interval, shape: &Shape) -> Self {
        let mut merged = Self::new(told.interval, shape);
        merged.adopt(told, shape);
        merged
    }

    /// Takes over what was told of it; times, of which the event has fewer, only where those that are here are not of all
    /// its I/Os.
    pub(crate) fn adopt(&mut self, told: &Interval, shape: &Shape) {
        (self.length_sum_ns, self.samples) = (told.length_ns, 1);
        if told.missing_workers == 0 {
            self.holds.clone_from(&shape.active);
        }
        self.total = told.total;
        let hosts = self.hosts.iter_mut().zip(&mut self.cpus).zip(&mut self.host_times).zip(&told.hosts);
        for (((cell, cpu), times), host) in hosts {
            (*cell, *cpu) = (host.cell, host.cpu);
            if times.count() != host.cell.both().ops {
                *times = TimesSum::default();
                times.add(if shape.hosts > 1 { &host.times } else { &told.times });
            }
        }
        replace(&mut self.workers, &told.workers);
        replace(&mut self.sds, &told.sds);
        replace(&mut self.wds, &told.wds);
    }

    /// The mean of the measured lengths: workers measure each for itself and differ by microseconds.
    pub fn length_ns(&self) -> u64 {
        self.length_sum_ns / u64::from(self.samples.max(1))
    }

    /// I/Os that failed.
    pub fn errors(&self) -> u64 {
        self.total.read.errors + self.total.write.errors
    }

    /// Whether a worker's sample is in it.
    pub fn holds(&self, worker: usize) -> bool {
        self.holds.get(worker).is_some_and(|holds| *holds)
    }

    /// Takes a sample, once: what comes twice counts once.
    fn add(&mut self, worker: usize, sample: &IntervalSample, shape: &Shape) {
        let Some(holds) = self.holds.get_mut(worker) else { return };
        if std::mem::replace(holds, true) {
            return;
        }
        self.length_sum_ns += sample.end_ns.saturating_sub(sample.start_ns);
        self.samples += 1;
        let Some(&host) = shape.worker_hosts.get(worker) else { return };
        if let (Some(cpu), Some(from)) = (sample.cpu, self.cpu_from.get_mut(host))
            && worker < *from
        {
            *from = worker;
            self.cpus[host] = Some(cpu);
        }
        self.host_times[host].add(&sample.times);
        if let Some(times) = self.worker_times.get_mut(worker) {
            times.add(&sample.times);
        }
        self.pairs.add(&sample.pair_times, shape);
        for pair in &sample.pairs {
            match shape.place(pair.sd) {
                Some(sd) if (pair.workload as usize) < self.wds.len() => self.add_pair(worker, host, sd, pair, shape),
                _ => tracing::warn!(worker, sd = pair.sd, workload = pair.workload, "sample of nothing in this run"),
            }
        }
    }

    fn add_pair(&mut self, worker: usize, host: usize, sd: usize, pair: &PairSample, shape: &Shape) {
        let wd = pair.workload as usize;
        for cell in
            [&mut self.total, &mut self.hosts[host], &mut self.workers[worker], &mut self.sds[sd], &mut self.wds[wd]]
        {
            cell.merge(&pair.cell);
        }
        if shape.worker_detail || shape.watched {
            self.worker_sds.entry((worker as u32, shape.sds[sd].1)).or_default().merge(&pair.cell);
        }
        if shape.host_detail {
            self.host_sds.entry((host as u32, shape.sds[sd].1)).or_default().merge(&pair.cell);
        }
    }

    /// The event of it.
    pub fn event(&self, run: u32, warmup: bool, missing_workers: u32, shape: &Shape) -> Interval {
        let flat = |m: &BTreeMap<(u32, u32), Cell>, wanted: bool| {
            if wanted { m.iter().map(|((a, b), c)| (*a, *b, *c)).collect() } else { Vec::new() }
        };
        let mut times = TimesSum::default();
        self.host_times.iter().for_each(|host| times.merge(host));
        let hosts = self.hosts.iter().zip(&self.cpus).zip(&self.host_times);
        // Every byte here comes once an interval.
        let of_host = |times: &TimesSum| if shape.hosts > 1 { times.service() } else { Times::default() };
        Interval {
            run,
            interval: self.number,
            length_ns: self.length_ns(),
            warmup,
            missing_workers,
            total: self.total,
            times: times.total(),
            hosts: hosts
                .map(|((cell, cpu), times)| HostInterval { cell: *cell, cpu: *cpu, times: of_host(times) })
                .collect(),
            workers: self.workers.clone(),
            sds: self.sds.clone(),
            wds: self.wds.clone(),
            host_sds: flat(&self.host_sds, shape.host_detail),
            worker_sds: flat(&self.worker_sds, shape.worker_detail),
        }
    }
}

fn replace(cells: &mut [Cell], told: &[Cell]) {
    cells.iter_mut().zip(told).for_each(|(cell, told)| *cell = *told);
}

/// Collects samples until intervals are complete.
#[derive(Debug)]
pub struct Merger {
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
    /// Times of pairs from beyond the last one: a worker that was ended early sends with them what it owes.
    late: PairSums,
}

impl Merger {
    /// For a run of that shape and, if known, that many intervals.
    pub fn new(shape: Shape, last: Option<u32>) -> Self {
        let workers = shape.worker_hosts.len();
        let finished = shape.active.iter().map(|a| !a).collect();
        let late = PairSums::default();
        Self { shape, open: BTreeMap::new(), next: 1, reported: vec![0; workers], finished, last, late }
    }

    /// What may be named.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The last interval that counts, as far as it is known.
    pub fn last(&self) -> Option<u32> {
        self.last
    }

    /// The last interval that was complete; 0 before the first.
    pub fn completed(&self) -> u32 {
        self.next - 1
    }

    /// Intervals that a worker has reported.
    pub fn reported(&self, worker: usize) -> u32 {
        self.reported.get(worker).copied().unwrap_or(0)
    }

    /// Brings the end nearer; it is never put off.
    pub fn end_at(&mut self, last: u32) {
        let last = self.last.map_or(last, |l| l.min(last)).max(self.completed());
        self.last = Some(last);
        for beyond in self.open.split_off(&last.saturating_add(1)).values() {
            self.late.merge(&beyond.pairs);
        }
    }

    /// Times of pairs that came behind the last interval.
    pub fn late(&self) -> &PairSums {
        &self.late
    }

    /// Takes a sample.
    pub fn add(&mut self, worker: usize, sample: &IntervalSample) {
        if let Some(reported) = self.reported.get_mut(worker) {
            *reported = (*reported).max(sample.interval);
        }
        let n = sample.interval;
        if self.last.is_some_and(|last| n > last) {
            if self.late == PairSums::default() {
                self.late = PairSums::new(&self.shape);
            }
            return self.late.add(&sample.pair_times, &self.shape);
        }
        if n < self.next {
            return;
        }
        self.open.entry(n).or_insert_with(|| Merged::new(n, &self.shape)).add(worker, sample, &self.shape);
    }

    /// Intervals up to this one are counted elsewhere.
    pub(crate) fn pass_over(&mut self, last: u32) {
        self.next = self.next.max(last.saturating_add(1));
        self.open = self.open.split_off(&self.next);
    }

    /// Nothing more comes from that worker.
    pub fn finish(&mut self, worker: usize) {
        if let Some(finished) = self.finished.get_mut(worker) {
            *finished = true;
        }
    }

    /// Whether nothing more comes from anybody.
    pub fn all_finished(&self) -> bool {
        self.finished.iter().all(|f| *f)
    }

    /// Workers with work of which more may come.
    pub fn unfinished(&self) -> impl Iterator<Item = usize> + '_ {
        self.finished.iter().enumerate().filter(|(_, f)| !**f).map(|(w, _)| w)
    }

    /// The next interval, when it is complete. An interval of which nobody reported anything does not exist; where later
    /// ones do, its samples were lost on their way.
    pub fn next_complete(&mut self) -> Option<Merged> {
        loop {
            let n = self.next;
            let complete = |(w, reported): (usize, &u32)| *reported >= n || self.finished[w];
            if !self.reported.iter().enumerate().all(complete) {
                return None;
            }
            if let Some(merged) = self.open.remove(&n) {
                self.next += 1;
                return Some(merged);
            }
            self.next = *self.open.keys().next()?;
        }
    }
}

#[cfg(test)]
#[allow(clippy::expect_used)]
#[path = "merge_tests.rs"]
mod tests;
