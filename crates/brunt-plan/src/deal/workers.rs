//! All workers of a plan in one row: host by host.

use std::ops::Range;

use crate::plan::Plan;

/// Numbers of workers over all hosts.
#[derive(Debug, Clone)]
pub(crate) struct Workers {
    /// First worker of each host, and the number of all at the end.
    starts: Vec<usize>,
}

impl Workers {
    /// Counts them.
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut starts = vec![0];
        let mut total = 0;
        for host in &plan.hosts {
            total += host.workers.max(1) as usize;
            starts.push(total);
        }
        Self { starts }
    }

    /// How many there are.
    pub(crate) fn total(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// The workers of a host.
    pub(crate) fn on(&self, host: usize) -> Range<usize> {
        self.starts[host]..self.starts[host + 1]
    }

    /// The host of a worker.
    pub(crate) fn host_of(&self, worker: usize) -> usize {
        self.starts.partition_point(|start| *start <= worker) - 1
    }
}
