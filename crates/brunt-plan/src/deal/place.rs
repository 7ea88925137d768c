//! Which worker does what: threads and generators dealt over hosts and workers.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::threads::{Dealer, requested};
use super::workers::Workers;
use crate::plan::{Plan, Run, Workload};

/// One (workload × SD) on one worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Instance {
    /// Index of the workload in the run.
    pub(crate) workload: usize,
    /// Index of the SD in the plan.
    pub(crate) sd: usize,
    /// Number of the worker.
    pub(crate) worker: usize,
    /// Which of the SD's streams it has, for `streams=`.
    pub(crate) streams: Vec<u32>,
}

/// A run dealt out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Placement {
    /// Threads by SD and worker; only workers that have some.
    pub(crate) threads: BTreeMap<usize, BTreeMap<usize, u32>>,
    /// By workload, SD and worker in turn.
    pub(crate) instances: Vec<Instance>,
}

/// Why a run cannot be dealt out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// A workload has no instance left.
    NotUsed {
        /// Index of the workload in the run.
        workload: usize,
    },
    /// The threads of an SD are no multiple of the streams.
    Streams {
        /// Index of the SD in the plan.
        sd: usize,
        /// Threads asked for.
        threads: u32,
        /// Streams asked for.
        streams: u32,
    },
    /// An SD has more threads than can be.
    TooMany {
        /// Index of the SD in the plan.
        sd: usize,
        /// Threads asked for.
        threads: u32,
    },
}

/// More threads per SD than any host could have.
const MOST_THREADS: u32 = 1 << 20;

/// Deals a run out (`docs/vdbench/raw.md` §8.5, §8.8, §8.12; `docs/vdbench/decisions.md` for sequential work).
///
/// # Errors
/// What does not fit.
pub(crate) fn place(plan: &Plan, workers: &Workers, run: &Run) -> Result<Placement, Vec<Misfit>> {
    let sds: BTreeSet<usize> = run.workloads.iter().flat_map(|w| w.sds.iter().copied()).collect();
    let too_many: Vec<Misfit> = sds
        .iter()
        .map(|sd| (*sd, requested(plan, run, *sd)))
        .filter(|(_, threads)| *threads > MOST_THREADS)
        .map(|(sd, threads)| Misfit::TooMany { sd, threads })
        .collect();
    if !too_many.is_empty() {
        return Err(too_many);
    }
    match run.workloads.iter().position(|w| w.streams.is_some()) {
        Some(at) => place_streams(plan, workers, run, at),
        None => place_all(plan, workers, run, &sds),
    }
}

fn place_all(plan: &Plan, workers: &Workers, run: &Run, sds: &BTreeSet<usize>) -> Result<Placement, Vec<Misfit>> {
    let mut homes = Homes::new(plan, workers, run);
    let users = users(plan, workers, run, sds, &mut homes);
    let mut dealer = Dealer::new(workers, run.workloads.iter().any(|w| w.skew_given));
    let threads = users.iter().map(|(sd, users)| (*sd, dealer.deal(users, requested(plan, run, *sd)))).collect();
    let mut placement = Placement { threads, instances: Vec::new() };
    let mut misfits = Vec::new();
    for (at, workload) in run.workloads.iter().enumerate() {
        let before = placement.instances.len();
        let mut allowed = vec![false; plan.hosts.len()];
        workload.hosts.iter().for_each(|host| allowed[*host] = true);
        for sd in &*workload.sds {
            let Some(threads) = placement.threads.get(sd) else { continue };
            let seen = |worker: &usize| {
                let host = workers.host_of(*worker);
                allowed[host] && plan.sds[*sd].lun[host].is_some()
            };
            let instance = |worker| Instance { workload: at, sd: *sd, worker, streams: Vec::new() };
            let able = threads.keys().copied().filter(seen);
            if workload.seek.is_sequential() {
                placement.instances.extend(homes.of(at, *sd, &able.collect::<Vec<_>>()).map(instance));
            } else {
                placement.instances.extend(able.map(instance));
            }
        }
        if placement.instances.len() == before {
            misfits.push(Misfit::NotUsed { workload: at });
        }
    }
    if misfits.is_empty() { Ok(placement) } else { Err(misfits) }
}

/// The workers that use each SD: one for each sequential stream, all that see it for random work.
fn users(
    plan: &Plan,
    workers: &Workers,
    run: &Run,
    sds: &BTreeSet<usize>,
    homes: &mut Homes,
) -> BTreeMap<usize, BTreeSet<usize>> {
    let mut users: BTreeMap<usize, BTreeSet<usize>> = sds.iter().map(|sd| (*sd, BTreeSet::new())).collect();
    let mut known = HashSet::new();
    for (at, workload) in run.workloads.iter().enumerate() {
        let sequential = workload.seek.is_sequential();
        // Random workloads that share their sets have the same users.
        if !sequential && !known.insert((workload.sds.as_ptr(), workload.hosts.as_ptr())) {
            continue;
        }
        for sd in &*workload.sds {
            let Some(users) = users.get_mut(sd) else { continue };
            if sequential {
                users.extend(homes.settle(at, workload, *sd));
            } else {
                users.extend(seeing(plan, workload, *sd).flat_map(|host| workers.on(host)));
            }
        }
    }
    users
}

/// The hosts on which a workload sees an SD.
fn seeing<'a>(plan: &'a Plan, workload: &'a Workload, sd: usize) -> impl Iterator<Item = usize> + 'a {
    workload.hosts.iter().copied().filter(move |host| plan.sds[sd].lun[*host].is_some())
}

/// Where sequential work lives: each (workload, SD) on one worker, the one with the fewest on the host with the fewest.
struct Homes<'a> {
    plan: &'a Plan,
    run: &'a Run,
    workers: &'a Workers,
    by_worker: Vec<u32>,
    by_host: Vec<u32>,
    /// Worker of each (workload, SD).
    settled: BTreeMap<(usize, usize), usize>,
    /// Workers that have sequential work on an SD.
    of_sd: BTreeMap<usize, BTreeSet<usize>>,
}

impl<'a> Homes<'a> {
    fn new(plan: &'a Plan, workers: &'a Workers, run: &'a Run) -> Self {
        Self {
            plan,
            run,
            workers,
            by_worker: vec![0; workers.total()],
            by_host: vec![0; plan.hosts.len()],
            settled: BTreeMap::new(),
            of_sd: BTreeMap::new(),
        }
    }

    /// Finds a worker. An SD is spread over no more workers than it has threads, or one would have nothing to
    /// work with.
    fn settle(&mut self, at: usize, workload: &Workload, sd: usize) -> Option<usize> {
        let used = self.of_sd.get(&sd).map_or(0, BTreeSet::len);
        let full = used >= requested(self.plan, self.run, sd) as usize;
        let shared = self
            .of_sd
            .get(&sd)
            .into_iter()
            .flatten()
            .copied()
            .filter(|w| full && workload.hosts.contains(&self.workers.host_of(*w)))
            .min_by_key(|w| self.by_worker[*w]);
        let worker = match shared {
            Some(worker) => worker,
            None => {
                let host = seeing(self.plan, workload, sd).min_by_key(|h| self.by_host[*h])?;
                self.workers.on(host).min_by_key(|w| self.by_worker[*w])?
            }
        };
        self.by_worker[worker] += 1;
        self.by_host[self.workers.host_of(worker)] += 1;
        self.of_sd.entry(sd).or_default().insert(worker);
        self.settled.insert((at, sd), worker);
        Some(worker)
    }

    /// The worker of a (workload, SD) among those that got threads. One that got none hands over to the one with the
    /// least sequential work.
    fn of(&mut self, at: usize, sd: usize, able: &[usize]) -> Option<usize> {
        let worker = *self.settled.get(&(at, sd))?;
        if able.contains(&worker) {
            return Some(worker);
        }
        let other = able.iter().copied().min_by_key(|w| self.by_worker[*w])?;
        self.by_worker[worker] -= 1;
        self.by_worker[other] += 1;
        self.settled.insert((at, sd), other);
        Some(other)
    }
}

/// `streams=n`: the parts of each SD in turn to the workers that see it, each with its share of the threads.
fn place_streams(plan: &Plan, workers: &Workers, run: &Run, at: usize) -> Result<Placement, Vec<Misfit>> {
    let workload = &run.workloads[at];
    let streams = workload.streams.unwrap_or(1).max(1);
    let mut placement = Placement::default();
    let mut misfits = Vec::new();
    for sd in &*workload.sds {
        let threads = requested(plan, run, *sd);
        if !threads.is_multiple_of(streams) {
            misfits.push(Misfit::Streams { sd: *sd, threads, streams });
            continue;
        }
        let users: Vec<usize> = seeing(plan, workload, *sd).flat_map(|host| workers.on(host)).collect();
        for (n, worker) in users.iter().enumerate().take(streams as usize) {
            let parts: Vec<u32> = (n as u32..streams).step_by(users.len()).collect();
            placement.threads.entry(*sd).or_default().insert(*worker, parts.len() as u32 * (threads / streams));
            placement.instances.push(Instance { workload: at, sd: *sd, worker: *worker, streams: parts });
        }
    }
    if misfits.is_empty() { Ok(placement) } else { Err(misfits) }
}
