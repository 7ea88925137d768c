//! What was measured in one interval.

use serde::{Deserialize, Serialize};

use crate::timing::Times;

/// Sums over the I/Os of one kind (reads or writes). Failed I/Os count too, as in Vdbench
/// (`docs/vdbench/raw.md` §8.13).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpStats {
    /// Completed I/Os.
    pub ops: u64,
    /// Bytes asked for.
    pub bytes: u64,
    /// Those that failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub errors: u64,
    /// Sum of response times (issued to done).
    pub sum_ns: u64,
    /// Sum of their squares; decimal text when serialized.
    #[serde(with = "crate::wide")]
    pub sum_sq_ns: u128,
    /// Smallest; 0 without I/Os.
    pub min_ns: u64,
    /// Largest.
    pub max_ns: u64,
}

/// Reads, writes and outstanding I/Os of one thing (a worker, an SD…) over some time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Reads.
    #[serde(default, skip_serializing_if = "OpStats::is_empty")]
    pub read: OpStats,
    /// Writes.
    #[serde(default, skip_serializing_if = "OpStats::is_empty")]
    pub write: OpStats,
    /// Time integral of outstanding I/Os: divided by the length it is the queue depth.
    pub busy_ns: u64,
}

/// One (workload × SD) of a worker in one interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PairSample {
    /// Index of the workload in the run.
    pub workload: u32,
    /// Index of the SD in the plan.
    pub sd: u32,
    /// Sums.
    pub cell: Cell,
}

/// The times of one (workload × SD) of a worker since they were sent the last time.
///
/// A message has room for the times of some pairs only, so they take turns; sums come with every sample. Nothing is
/// owed over the end of a warm-up interval, nor over the end of the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PairTimes {
    /// Index of the workload in the run.
    pub workload: u32,
    /// Index of the SD in the plan.
    pub sd: u32,
    /// Times.
    pub times: Times,
}

/// CPU ticks of a host from `/proc/stat`, differences over one interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTicks {
    /// User.
    pub user: u64,
    /// Nice.
    pub nice: u64,
    /// System, with interrupts and soft interrupts.
    pub system: u64,
    /// Idle.
    pub idle: u64,
    /// Waiting for I/O.
    pub iowait: u64,
    /// Stolen by the hypervisor.
    pub steal: u64,
}

/// What one worker measured in one interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct IntervalSample {
    /// Number of the interval, from 1.
    pub interval: u32,
    /// Measured start, from the start of the run.
    pub start_ns: u64,
    /// Measured end.
    pub end_ns: u64,
    /// Only (workload × SD) pairs that did something.
    pub pairs: Vec<PairSample>,
    /// Times of all pairs together, in this interval.
    pub times: Times,
    /// Times of some pairs, which may reach back over intervals before.
    pub pair_times: Vec<PairTimes>,
    /// CPU of the host, from the first worker of each host only.
    pub cpu: Option<CpuTicks>,
    /// CPU of the cores that the I/O threads of this worker may use.
    pub io_cpu: Option<CpuTicks>,
    /// Whether the worker had already finished (end of data) when the interval began.
    pub idle: bool,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl OpStats {
    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.ops == 0
    }

    /// Counts one I/O.
    pub fn record(&mut self, bytes: u64, ns: u64, failed: bool) {
        self.min_ns = if self.ops == 0 { ns } else { self.min_ns.min(ns) };
        self.max_ns = self.max_ns.max(ns);
        self.ops += 1;
        self.bytes += bytes;
        self.errors += u64::from(failed);
        self.sum_ns += ns;
        self.sum_sq_ns += u128::from(ns) * u128::from(ns);
    }

    /// Adds another's sums.
    pub fn merge(&mut self, other: &OpStats) {
        if other.ops == 0 {
            return;
        }
        self.min_ns = if self.ops == 0 { other.min_ns } else { self.min_ns.min(other.min_ns) };
        self.max_ns = self.max_ns.max(other.max_ns);
        self.ops += other.ops;
        self.bytes += other.bytes;
        self.errors += other.errors;
        self.sum_ns += other.sum_ns;
        self.sum_sq_ns += other.sum_sq_ns;
    }
}

impl Cell {
    /// Adds another's sums.
    pub fn merge(&mut self, other: &Cell) {
        self.read.merge(&other.read);
        self.write.merge(&other.write);
        self.busy_ns += other.busy_ns;
    }

    /// Reads and writes together.
    pub fn both(&self) -> OpStats {
        let mut all = self.read;
        all.merge(&self.write);
        all
    }
}

impl CpuTicks {
    /// Adds another's ticks.
    pub fn merge(&mut self, other: &CpuTicks) {
        self.user += other.user;
        self.nice += other.nice;
        self.system += other.system;
        self.idle += other.idle;
        self.iowait += other.iowait;
        self.steal += other.steal;
    }
}
