//! What all threads of a run share.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Mutex, PoisonError};

use brunt_plan::work::IoFailure;

use crate::clock::now_ns;
use crate::futex;
use crate::tally::Tally;

/// At most so many failures of a run are reported one by one.
pub const FAILURE_LIMIT: usize = 10_000;

/// A bell that one thread waits for. To ring it costs no system call while nobody does.
#[derive(Debug, Default)]
pub struct Bell {
    rings: AtomicU32,
    waiting: AtomicU32,
}

impl Bell {
    /// To be taken before looking for news, and given to [`Bell::wait`] when there were none.
    pub fn now(&self) -> u32 {
        self.rings.load(SeqCst)
    }

    /// Wakes whoever waits.
    pub fn ring(&self) {
        self.rings.fetch_add(1, SeqCst);
        // Whoever is not seen here says so after the ring, and the kernel then finds that it has rung.
        if self.waiting.load(SeqCst) > 0 {
            futex::wake(&self.rings, u32::MAX);
        }
    }

    /// Waits until it rings after `seen` was taken, or until the deadline.
    pub fn wait(&self, seen: u32, deadline_ns: Option<u64>) {
        self.waiting.fetch_add(1, SeqCst);
        futex::wait_until(&self.rings, seen, deadline_ns);
        self.waiting.fetch_sub(1, SeqCst);
    }
}

/// Holds threads back until the start is known.
#[derive(Debug, Default)]
pub struct Gate {
    state: AtomicU32,
    start_ns: AtomicU64,
}

impl Gate {
    const GO: u32 = 1;
    const CANCELLED: u32 = 2;

    const CLOSED: u32 = 0;
    const OVER: u32 = 3;

    /// Lets everyone go, at a time.
    pub fn open(&self, start_ns: u64) {
        self.start_ns.store(start_ns, Relaxed);
        self.leave(Self::GO);
    }

    /// Sends everyone home who still waits.
    pub fn cancel(&self) {
        self.leave(Self::CANCELLED);
    }

    /// The first wish holds.
    fn leave(&self, state: u32) {
        if self.state.compare_exchange(Self::CLOSED, state, AcqRel, Acquire).is_ok() {
            futex::wake(&self.state, u32::MAX);
        }
    }

    /// Whoever still waits for the time of the start need not.
    fn over(&self) {
        self.state.store(Self::OVER, Release);
        futex::wake(&self.state, u32::MAX);
    }

    /// Waits for the start to be known, and then for its time. False when the run is over before.
    pub fn wait_for_start(&self) -> bool {
        let Some(start_ns) = self.wait() else { return false };
        while self.state.load(Acquire) == Self::GO {
            if now_ns() >= start_ns {
                return true;
            }
            futex::wait_until(&self.state, Self::GO, Some(start_ns));
        }
        false
    }

    /// Waits for the start to be known. `None`: there is none.
    pub fn wait(&self) -> Option<u64> {
        loop {
            match self.state.load(Acquire) {
                Self::CLOSED => {
                    futex::wait_until(&self.state, Self::CLOSED, None);
                }
                Self::GO | Self::OVER => return Some(self.start_ns.load(Relaxed)),
                _ => return None,
            }
        }
    }
}

#[derive(Debug, Default)]
struct Failures {
    list: Vec<IoFailure>,
    listed: usize,
    more: u64,
}

/// What all threads of a run share.
#[derive(Debug)]
pub struct Shared {
    /// Where lanes wait before the start.
    pub gate: Gate,
    /// What the collector waits for besides the end of the interval.
    pub news: Bell,
    /// Ends of data.
    pub tally: Tally,
    stop: AtomicBool,
    granted: AtomicU32,
    stop_after: AtomicU64,
    failures: Mutex<Failures>,
}

impl Shared {
    /// For a run.
    pub fn new(tally: Tally) -> Self {
        Self {
            gate: Gate::default(),
            news: Bell::default(),
            tally,
            stop: AtomicBool::new(false),
            granted: AtomicU32::new(1),
            stop_after: AtomicU64::new(u64::MAX),
            failures: Mutex::new(Failures::default()),
        }
    }

    /// Whether lanes shall issue nothing more.
    #[inline]
    pub fn stopping(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Lanes shall issue nothing more.
    pub fn stop_lanes(&self) {
        self.stop.store(true, SeqCst);
        self.gate.over();
    }

    /// The run shall end after an interval, or at once. The earliest wish holds.
    pub fn ask_stop(&self, after_interval: Option<u32>) {
        self.stop_after.fetch_min(after_interval.map_or(0, u64::from), SeqCst);
        self.news.ring();
    }

    /// The last interval that is wished, 0 for at once.
    pub fn stop_after(&self) -> Option<u64> {
        Some(self.stop_after.load(SeqCst)).filter(|n| *n != u64::MAX)
    }

    /// Intervals up to this one may begin, where they wait for it.
    pub fn grant(&self, interval: u32) {
        self.granted.fetch_max(interval, SeqCst);
        self.news.ring();
    }

    /// The last interval that may begin.
    pub fn granted(&self) -> u32 {
        self.granted.load(SeqCst)
    }

    /// Notes a failed I/O. The only lock on a lane's way, taken only when something failed.
    #[cold]
    pub fn failed(&self, failure: IoFailure) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.listed >= FAILURE_LIMIT {
            failures.more += 1;
            return;
        }
        failures.listed += 1;
        failures.list.push(failure);
        let first = failures.list.len() == 1;
        drop(failures);
        if first {
            self.news.ring();
        }
    }

    /// The failures since the last call.
    pub fn take_failures(&self) -> Vec<IoFailure> {
        std::mem::take(&mut self.failures.lock().unwrap_or_else(PoisonError::into_inner).list)
    }

    /// How many failures were only counted.
    pub fn unlisted_failures(&self) -> u64 {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).more
    }
}
