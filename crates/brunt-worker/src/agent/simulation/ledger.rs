//! What was really done, written down where it was done.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;

use brunt_stats::OpStats;
use tokio::time::Instant;

/// What is known of an agent from outside.
#[derive(Debug)]
pub struct Agent {
    pub host: usize,
    /// When it was called last.
    heard: Mutex<Instant>,
    /// The lease of the run that was prepared last.
    pub lease: Mutex<Duration>,
    /// Open connections.
    open: Mutex<BTreeSet<u64>>,
    /// When the last connection ended.
    alone_since: Mutex<Instant>,
    /// When all its work had ended.
    pub ended_at: Mutex<Option<Instant>>,
}

impl Agent {
    pub fn new(host: usize, now: Instant) -> Self {
        Self {
            host,
            heard: Mutex::new(now),
            lease: Mutex::new(Duration::ZERO),
            open: Mutex::default(),
            alone_since: Mutex::new(now),
            ended_at: Mutex::default(),
        }
    }

    pub fn hear(&self, now: Instant) {
        *self.heard.lock().unwrap() = now;
    }

    pub fn connected(&self, number: u64) {
        self.open.lock().unwrap().insert(number);
    }

    pub fn disconnected(&self, number: u64, now: Instant) {
        let mut open = self.open.lock().unwrap();
        if open.remove(&number) && open.is_empty() {
            *self.alone_since.lock().unwrap() = now;
        }
    }

    /// When it must have stopped at the latest, as its lease says; `None`: it has a connection, and no lease.
    pub fn must_stop(&self, lease: Duration) -> Option<Instant> {
        if !lease.is_zero() {
            return Some(*self.heard.lock().unwrap() + lease);
        }
        let alone = self.open.lock().unwrap().is_empty();
        alone.then(|| *self.alone_since.lock().unwrap())
    }
}

/// What a worker did in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Done {
    pub reads: u64,
    pub writes: u64,
}

impl Done {
    pub fn add(&mut self, other: Done) {
        self.reads += other.reads;
        self.writes += other.writes;
    }
}

/// The books.
#[derive(Debug, Default)]
pub struct Ledger {
    /// By run, host and interval.
    pub done: BTreeMap<(u32, usize, u32), Done>,
    /// By host: when it did something last.
    pub last: BTreeMap<usize, Instant>,
    /// Run and host of all starts.
    pub started: BTreeSet<(u32, usize)>,
    /// Run and host of all that have drained of themselves.
    pub drained: BTreeSet<(u32, usize)>,
    /// Hosts that have answered the inspection.
    pub inspected: BTreeSet<usize>,
    /// What must not be.
    pub wrong: Vec<String>,
}

impl Ledger {
    /// All that was done in a run on a host.
    pub fn total(&self, run: u32, host: usize) -> Done {
        let mut total = Done::default();
        self.done.range((run, host, 0)..=(run, host, u32::MAX)).for_each(|(_, done)| total.add(*done));
        total
    }
}

/// I/Os of 4 KiB that took a millisecond each.
pub fn ops(count: u64) -> OpStats {
    let ns = 1_000_000;
    let (min_ns, max_ns) = if count > 0 { (ns, ns) } else { (0, 0) };
    OpStats {
        ops: count,
        bytes: count * 4096,
        errors: 0,
        sum_ns: count * ns,
        sum_sq_ns: u128::from(count) * u128::from(ns * ns),
        min_ns,
        max_ns,
    }
}
