//! Sums over intervals, by what they belong to.

use std::collections::{BTreeMap, HashMap, HashSet};

use brunt_event::{Interval, RunStarted};
use brunt_stats::{Cell, CpuTicks};

/// What a row of numbers is about. Numbers are indices in the lists of [`brunt_event::Planned`], but a workload's is its
/// place in the list of its [`RunStarted`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// Everything.
    Total,
    /// A host.
    Host(usize),
    /// A worker, and its host.
    Worker(usize, usize),
    /// An SD over all hosts.
    Sd(usize),
    /// A workload over all hosts.
    Wd(usize),
    /// An SD on a host.
    HostSd(usize, usize),
    /// An SD of a worker, and its host.
    WorkerSd(usize, usize, usize),
}

impl Scope {
    /// The host whose processors its rows show; `None`: all hosts.
    fn host(self) -> Option<usize> {
        match self {
            Self::Total | Self::Sd(_) | Self::Wd(_) => None,
            Self::Host(host) | Self::Worker(_, host) | Self::HostSd(host, _) | Self::WorkerSd(_, host, _) => Some(host),
        }
    }
}

/// What takes part in a run.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    /// Place of each SD in the run's list.
    sds: HashMap<usize, usize>,
    workers: HashSet<usize>,
    workloads: usize,
}

impl Parts {
    pub(crate) fn of(run: &RunStarted) -> Self {
        Self {
            sds: run.sds.iter().zip(0..).map(|(sd, place)| (*sd as usize, place)).collect(),
            workers: run.workers.iter().map(|worker| *worker as usize).collect(),
            workloads: run.workloads.len(),
        }
    }

    /// Place of an SD in the run's list.
    pub(crate) fn sd(&self, sd: usize) -> Option<usize> {
        self.sds.get(&sd).copied()
    }

    fn has(&self, scope: Scope) -> bool {
        match scope {
            Scope::Total | Scope::Host(_) => true,
            Scope::Worker(worker, _) => self.workers.contains(&worker),
            Scope::Sd(sd) | Scope::HostSd(_, sd) => self.sds.contains_key(&sd),
            Scope::WorkerSd(worker, _, sd) => self.workers.contains(&worker) && self.sds.contains_key(&sd),
            Scope::Wd(place) => place < self.workloads,
        }
    }
}

/// Sums over some measured time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Tally {
    /// I/Os.
    pub cell: Cell,
    /// Measured time.
    pub length_ns: u64,
    /// Processors of the host, or of all hosts.
    pub cpu: Option<CpuTicks>,
}

/// Sums of everything that has rows, over no, one or many intervals of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunTally {
    /// Number of intervals.
    pub intervals: u32,
    length_ns: u64,
    total: Cell,
    hosts: Vec<(Cell, Option<CpuTicks>)>,
    workers: Vec<Cell>,
    sds: Vec<Cell>,
    wds: Vec<Cell>,
    host_sds: BTreeMap<(usize, usize), Cell>,
    worker_sds: BTreeMap<(usize, usize), Cell>,
}

impl RunTally {
    /// Adds an interval.
    pub(crate) fn add(&mut self, interval: &Interval) {
        self.intervals += 1;
        self.length_ns += interval.length_ns;
        self.total.merge(&interval.total);
        grow(&mut self.hosts, interval.hosts.len());
        for ((cell, cpu), host) in self.hosts.iter_mut().zip(&interval.hosts) {
            cell.merge(&host.cell);
            merge_cpu(cpu, host.cpu);
        }
        merge_cells(&mut self.workers, &interval.workers);
        merge_cells(&mut self.sds, &interval.sds);
        merge_cells(&mut self.wds, &interval.wds);
        merge_pairs(&mut self.host_sds, &interval.host_sds);
        merge_pairs(&mut self.worker_sds, &interval.worker_sds);
    }

    /// The sums of one interval.
    pub(crate) fn of(interval: &Interval) -> Self {
        let mut tally = Self::default();
        tally.add(interval);
        tally
    }

    /// The sums of `scope`; zeros where nothing was done, `None` where the run has no such thing.
    pub(crate) fn get(&self, scope: Scope, parts: &Parts) -> Option<Tally> {
        let cell = parts.has(scope).then(|| self.cell(scope, parts).unwrap_or_default())?;
        Some(Tally { cell, length_ns: self.length_ns, cpu: self.cpu(scope.host()) })
    }

    fn cell(&self, scope: Scope, parts: &Parts) -> Option<Cell> {
        match scope {
            Scope::Total => Some(self.total),
            Scope::Host(host) => self.hosts.get(host).map(|(cell, _)| *cell),
            Scope::Worker(worker, _) => self.workers.get(worker).copied(),
            Scope::Sd(sd) => self.sds.get(parts.sd(sd)?).copied(),
            Scope::Wd(place) => self.wds.get(place).copied(),
            Scope::HostSd(host, sd) => self.host_sds.get(&(host, sd)).copied(),
            Scope::WorkerSd(worker, _, sd) => self.worker_sds.get(&(worker, sd)).copied(),
        }
    }

    fn cpu(&self, host: Option<usize>) -> Option<CpuTicks> {
        match host {
            Some(host) => self.hosts.get(host).and_then(|(_, cpu)| *cpu),
            None => self.hosts.iter().filter_map(|(_, cpu)| *cpu).reduce(|mut sum, cpu| {
                sum.merge(&cpu);
                sum
            }),
        }
    }
}

fn merge_cpu(sum: &mut Option<CpuTicks>, cpu: Option<CpuTicks>) {
    if let Some(cpu) = cpu {
        sum.get_or_insert_default().merge(&cpu);
    }
}

fn merge_cells(sums: &mut Vec<Cell>, cells: &[Cell]) {
    grow(sums, cells.len());
    for (sum, cell) in sums.iter_mut().zip(cells) {
        sum.merge(cell);
    }
}

fn merge_pairs(sums: &mut BTreeMap<(usize, usize), Cell>, cells: &[(u32, u32, Cell)]) {
    for (a, b, cell) in cells {
        sums.entry((*a as usize, *b as usize)).or_default().merge(cell);
    }
}

fn grow<T: Default>(list: &mut Vec<T>, length: usize) {
    if list.len() < length {
        list.resize_with(length, T::default);
    }
}
