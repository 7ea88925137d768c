//! How the threads of an SD are dealt over hosts and workers.

use std::collections::{BTreeMap, BTreeSet};

use super::workers::Workers;
use crate::plan::{Plan, Run};

/// The threads that a run asks of an SD: its loop value, else those of the SD.
pub(crate) fn requested(plan: &Plan, run: &Run, sd: usize) -> u32 {
    run.threads.unwrap_or(plan.sds[sd].threads).max(1)
}

/// Deals the threads of one SD after the other (`docs/vdbench/raw.md` §8.12).
pub(crate) struct Dealer<'a> {
    workers: &'a Workers,
    /// Whether a workload of the run has a skew.
    skewed: bool,
    /// Threads of each worker so far, all SDs together.
    load: Vec<u32>,
    /// The host that is next in turn; goes on from SD to SD.
    next_host: usize,
}

impl<'a> Dealer<'a> {
    /// Begins with idle workers.
    pub(crate) fn new(workers: &'a Workers, skewed: bool) -> Self {
        Self { workers, skewed, load: vec![0; workers.total()], next_host: 0 }
    }

    /// Deals the threads of an SD over the workers that use it; those left without any are not in the answer.
    pub(crate) fn deal(&mut self, users: &BTreeSet<usize>, threads: u32) -> BTreeMap<usize, u32> {
        let mut dealt = BTreeMap::new();
        if self.skewed && (threads as usize) < users.len() {
            for worker in users.iter().take(threads as usize) {
                self.load[*worker] += 1;
                dealt.insert(*worker, 1);
            }
            return dealt;
        }
        let users: Vec<usize> = users.iter().copied().collect();
        // The users of each host, hosts in order.
        let by_host: Vec<&[usize]> =
            users.chunk_by(|a, b| self.workers.host_of(*a) == self.workers.host_of(*b)).collect();
        let hosts: Vec<usize> = by_host.iter().map(|on_host| self.workers.host_of(on_host[0])).collect();
        if hosts.is_empty() {
            return dealt;
        }
        for _ in 0..threads {
            let at = hosts.partition_point(|host| *host < self.next_host) % hosts.len();
            self.next_host = hosts[at] + 1;
            if let Some(worker) = by_host[at].iter().copied().min_by_key(|w| self.load[*w]) {
                self.load[worker] = self.load[worker].saturating_add(1);
                *dealt.entry(worker).or_insert(0) += 1;
            }
        }
        dealt
    }
}
