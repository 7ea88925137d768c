//! What lanes measure, and how it is taken from them at the end of an interval.
//!
//! Each lane writes to one of two sets of counters and histograms, chosen by the lowest bit of a
//! common epoch. A flip raises the epoch; whatever is recorded later goes to the other set, and the
//! old one belongs to the collector. So a lane neither locks nor waits, and one that is stuck in the
//! kernel holds nobody up: it holds no set. A lane tells by its `state` that it is recording right now,
//! a matter of nanoseconds; only then does the collector wait for it.
//!
//! Both sides write their own word before they read the other's, sequentially consistent. Hence
//! either the collector sees `RECORDING` and waits, or the lane sees the new epoch and keeps off the
//! old set. That is one `xchg` an I/O, some 8 ns.
//!
//! The time integral of outstanding I/Os is exact also for those that cross the boundary. Response
//! times of finished I/Os are summed; to them comes the age of what is in flight at the end, less the
//! age of what was in flight at the start. An I/O that crosses the boundary and ends before the
//! collector looks leaves its time of issue behind in `crossed`.

use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64, fence};

use brunt_stats::{Histogram, OpStats, SparseHistogram};

const IDLE: u32 = 0;
const RECORDING: u32 = 1;

/// One finished I/O.
#[derive(Debug, Clone, Copy)]
pub struct Done {
    /// Number of the generator within its target.
    pub local: u32,
    /// Whether it read.
    pub read: bool,
    /// Bytes asked for.
    pub bytes: u64,
    /// When it was due, in paced runs.
    pub due_ns: Option<u64>,
    /// When it was issued.
    pub issued_ns: u64,
    /// When it was done.
    pub done_ns: u64,
    /// Whether it failed.
    pub failed: bool,
}

/// Which histograms a generator needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kinds {
    /// It reads.
    pub read: bool,
    /// It writes.
    pub write: bool,
    /// Its I/Os have due times.
    pub due: bool,
}

/// What is recorded about the I/Os of one generator. Only the histograms it needs are there: each has
/// 31 KiB, and there may be thousands of lanes.
#[derive(Debug)]
pub struct PairLog {
    /// Reads.
    pub read: OpStats,
    /// Writes.
    pub write: OpStats,
    read_hist: Option<Histogram>,
    write_hist: Option<Histogram>,
    due_hist: Option<Histogram>,
    due_min_ns: u64,
    due_max_ns: u64,
}

impl PairLog {
    /// With the histograms that are needed.
    pub fn new(kinds: Kinds) -> Self {
        let hist = |needed: bool| needed.then(Histogram::default);
        Self {
            read: OpStats::default(),
            write: OpStats::default(),
            read_hist: hist(kinds.read),
            write_hist: hist(kinds.write),
            due_hist: hist(kinds.due),
            due_min_ns: u64::MAX,
            due_max_ns: 0,
        }
    }

    #[inline]
    fn record(&mut self, done: &Done) {
        let ns = done.done_ns.saturating_sub(done.issued_ns);
        let (sums, hist) = match done.read {
            true => (&mut self.read, &mut self.read_hist),
            false => (&mut self.write, &mut self.write_hist),
        };
        sums.record(done.bytes, ns, done.failed);
        if let Some(hist) = hist {
            hist.record(ns);
        }
        if let (Some(due_ns), Some(hist)) = (done.due_ns, &mut self.due_hist) {
            let ns = done.done_ns.saturating_sub(due_ns);
            self.due_min_ns = self.due_min_ns.min(ns);
            self.due_max_ns = self.due_max_ns.max(ns);
            hist.record(ns);
        }
    }

    /// Moves everything to another of the same kinds and leaves zeros.
    pub fn drain_into(&mut self, other: &mut PairLog) {
        let drain = |from: &mut Option<Histogram>, into: &mut Option<Histogram>, min_ns, max_ns| {
            if let (Some(from), Some(into)) = (from, into) {
                from.drain_into(into, min_ns, max_ns);
            }
        };
        if self.read.ops > 0 {
            drain(&mut self.read_hist, &mut other.read_hist, self.read.min_ns, self.read.max_ns);
            other.read.merge(&std::mem::take(&mut self.read));
        }
        if self.write.ops > 0 {
            drain(&mut self.write_hist, &mut other.write_hist, self.write.min_ns, self.write.max_ns);
            other.write.merge(&std::mem::take(&mut self.write));
        }
        if self.due_min_ns <= self.due_max_ns {
            drain(&mut self.due_hist, &mut other.due_hist, self.due_min_ns, self.due_max_ns);
            (self.due_min_ns, self.due_max_ns) = (u64::MAX, 0);
        }
    }

    /// Takes the histograms out (reads, writes, due to done) and leaves empty ones.
    pub fn take_histograms(&mut self) -> [SparseHistogram; 3] {
        [&mut self.read_hist, &mut self.write_hist, &mut self.due_hist]
            .map(|h| h.as_mut().map(Histogram::take_sparse).unwrap_or_default())
    }
}

/// An I/O in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InFlight {
    /// Number of the generator within its target.
    pub local: u32,
    /// When it was issued.
    pub issued_ns: u64,
}

/// The shared side of one lane. Aligned so that two lanes never share a cache line.
#[derive(Debug)]
#[repr(align(128))]
pub struct LaneLog {
    state: AtomicU32,
    local: AtomicU32,
    /// 0: nothing in flight. Clocks never show 0 during a run.
    issued: AtomicU64,
    crossed_epoch: AtomicU64,
    crossed_local: AtomicU32,
    crossed_issued: AtomicU64,
    sets: [UnsafeCell<Vec<PairLog>>; 2],
}

// SAFETY: everything but `sets` is atomic. Set `epoch & 1` is touched only by the one `LaneWriter`
// while it is RECORDING, the other one only by `Recording::flip`, as the module documentation proves.
unsafe impl Sync for LaneLog {}

impl LaneLog {
    /// When the I/O in flight was issued.
    pub fn issued_ns(&self) -> Option<u64> {
        Some(self.issued.load(Acquire)).filter(|t| *t > 0)
    }

    /// The I/O that was in flight when `epoch` began at `now_ns`. The lane does not record to the set
    /// of the epoch before.
    fn in_flight_at(&self, epoch: u64, now_ns: u64) -> Option<InFlight> {
        loop {
            let issued_ns = self.issued.load(Acquire);
            let local = self.local.load(Relaxed);
            fence(Acquire);
            let found = if self.crossed_epoch.load(Acquire) == epoch {
                InFlight { local: self.crossed_local.load(Relaxed), issued_ns: self.crossed_issued.load(Relaxed) }
            } else if self.issued.load(Acquire) == issued_ns {
                InFlight { local, issued_ns }
            } else {
                // The next look finds it crossed.
                continue;
            };
            return Some(found).filter(|f| f.issued_ns > 0 && f.issued_ns < now_ns);
        }
    }

    fn wait_until_idle(&self) {
        let mut tries = 0u32;
        while self.state.load(SeqCst) == RECORDING {
            tries += 1;
            if tries.is_multiple_of(128) {
                std::thread::yield_now();
            } else {
                spin_loop();
            }
        }
    }
}

/// The writing side of one lane.
#[derive(Debug)]
pub struct LaneWriter {
    log: Arc<LaneLog>,
    epoch: Arc<AtomicU64>,
    last_epoch: u64,
}

impl LaneWriter {
    /// An I/O is about to be issued.
    #[inline]
    pub fn issue(&mut self, local: u32, now_ns: u64) {
        self.log.local.store(local, Relaxed);
        self.log.issued.store(now_ns, Release);
    }

    /// That I/O is done.
    #[inline]
    pub fn done(&mut self, done: &Done) {
        let log = &*self.log;
        log.state.swap(RECORDING, SeqCst);
        let epoch = self.epoch.load(SeqCst);
        if epoch != self.last_epoch {
            self.last_epoch = epoch;
            log.crossed_local.store(done.local, Relaxed);
            log.crossed_issued.store(done.issued_ns, Relaxed);
            log.crossed_epoch.store(epoch, Release);
        }
        // SAFETY: there is one writer per log (`Recording::lane` makes both), it is RECORDING, and it
        // read `epoch` after saying so; `flip` touches this set only when a later epoch has begun and
        // this lane was seen idle after that.
        let set = unsafe { &mut *log.sets[(epoch & 1) as usize].get() };
        if let Some(pair) = set.get_mut(done.local as usize) {
            pair.record(done);
        }
        log.issued.store(0, Release);
        log.state.store(IDLE, Release);
    }
}

/// The reading side of all lanes.
#[derive(Debug, Default)]
pub struct Recording {
    epoch: Arc<AtomicU64>,
    lanes: Vec<Arc<LaneLog>>,
}

impl Recording {
    /// Adds a lane whose target has generators of these kinds.
    pub fn lane(&mut self, generators: &[Kinds]) -> LaneWriter {
        let set = || UnsafeCell::new(generators.iter().copied().map(PairLog::new).collect());
        let log = Arc::new(LaneLog {
            state: AtomicU32::new(IDLE),
            local: AtomicU32::new(0),
            issued: AtomicU64::new(0),
            crossed_epoch: AtomicU64::new(0),
            crossed_local: AtomicU32::new(0),
            crossed_issued: AtomicU64::new(0),
            sets: [set(), set()],
        });
        self.lanes.push(Arc::clone(&log));
        LaneWriter { log, epoch: Arc::clone(&self.epoch), last_epoch: self.epoch.load(SeqCst) }
    }

    /// The lanes in the order they were added.
    pub fn lanes(&self) -> &[Arc<LaneLog>] {
        &self.lanes
    }

    /// Ends an interval at `now_ns`: gives each lane's number, its records of that interval (to be
    /// drained) and what it has in flight.
    pub fn flip(&mut self, now_ns: u64, mut visit: impl FnMut(usize, &mut [PairLog], Option<InFlight>)) {
        let old = self.epoch.fetch_add(1, SeqCst);
        for (n, log) in self.lanes.iter().enumerate() {
            log.wait_until_idle();
            let in_flight = log.in_flight_at(old + 1, now_ns);
            // SAFETY: the lane was idle after the epoch rose, so it writes to the other set until the
            // next flip, which needs `&mut self`. The acquiring load of `state` shows all it wrote.
            let set = unsafe { &mut *log.sets[(old & 1) as usize].get() };
            visit(n, set, in_flight);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    const KINDS: Kinds = Kinds { read: true, write: false, due: false };

    fn done(issued_ns: u64, done_ns: u64) -> Done {
        Done { local: 0, read: true, bytes: 1, due_ns: None, issued_ns, done_ns, failed: false }
    }

    fn take(r: &mut Recording, now: u64) -> (u64, Option<u64>) {
        let mut out = (0, None);
        r.flip(now, |_, set, in_flight| {
            let mut all = PairLog::new(KINDS);
            set.iter_mut().for_each(|p| p.drain_into(&mut all));
            out = (all.read.ops, in_flight.map(|f| f.issued_ns));
        });
        out
    }

    #[test]
    fn an_io_in_flight_is_seen_and_counted_later() {
        let mut r = Recording::default();
        let mut w = r.lane(&[KINDS]);
        w.issue(0, 10);
        w.done(&done(10, 20));
        w.issue(0, 30);
        assert_eq!(take(&mut r, 40), (1, Some(30)));
        assert_eq!(take(&mut r, 50), (0, Some(30)));
        w.done(&done(30, 60));
        assert_eq!(take(&mut r, 70), (1, None));
        assert_eq!(take(&mut r, 80), (0, None));
    }

    #[test]
    fn an_io_issued_after_the_boundary_is_not_in_flight_at_it() {
        let mut r = Recording::default();
        let mut w = r.lane(&[KINDS]);
        w.issue(0, 100);
        assert_eq!(take(&mut r, 100), (0, None));
    }

    #[test]
    fn nothing_is_lost_or_counted_twice_while_lanes_run() {
        let mut r = Recording::default();
        let stop = AtomicBool::new(false);
        let writers: Vec<LaneWriter> = (0..3).map(|_| r.lane(&[KINDS])).collect();
        let (mut seen, mut flips) = (0, 0u32);
        let wrote: u64 = std::thread::scope(|s| {
            let threads: Vec<_> = writers
                .into_iter()
                .map(|mut w| {
                    let stop = &stop;
                    s.spawn(move || {
                        let mut n = 0;
                        while !stop.load(Relaxed) || n < 1000 {
                            w.issue(0, n + 1);
                            w.done(&done(n + 1, n + 2));
                            n += 1;
                        }
                        n
                    })
                })
                .collect();
            while flips < 200 {
                r.flip(u64::MAX, |_, set, _| seen += std::mem::take(&mut set[0].read).ops);
                flips += 1;
            }
            stop.store(true, Relaxed);
            threads.into_iter().map(|t| t.join().map_or(0, |n| n)).sum()
        });
        for _ in 0..2 {
            r.flip(u64::MAX, |_, set, _| seen += std::mem::take(&mut set[0].read).ops);
        }
        assert_eq!(seen, wrote);
    }
}
