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

use brunt_stats::{Histogram, OpStats, OpTimes, Times, Timing};

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

/// One kind of time, while it is recorded.
#[derive(Debug)]
struct Timer {
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
    hist: Histogram,
}

impl Default for Timer {
    fn default() -> Self {
        Self { sum_ns: 0, min_ns: u64::MAX, max_ns: 0, hist: Histogram::default() }
    }
}

impl Timer {
    #[inline]
    fn record(&mut self, ns: u64) {
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        self.hist.record(ns);
    }

    fn drain_into(&mut self, other: &mut Timer) {
        if self.min_ns > self.max_ns {
            return;
        }
        self.hist.drain_into(&mut other.hist, self.min_ns, self.max_ns);
        other.sum_ns = other.sum_ns.saturating_add(self.sum_ns);
        other.min_ns = other.min_ns.min(self.min_ns);
        other.max_ns = other.max_ns.max(self.max_ns);
        (self.sum_ns, self.min_ns, self.max_ns) = (0, u64::MAX, 0);
    }

    fn take(&mut self) -> Timing {
        if self.min_ns > self.max_ns {
            return Timing::default();
        }
        let taken = (self.sum_ns, self.min_ns, self.max_ns);
        (self.sum_ns, self.min_ns, self.max_ns) = (0, u64::MAX, 0);
        Timing { sum_ns: taken.0, min_ns: taken.1, max_ns: taken.2, hist: self.hist.take_sparse() }
    }
}

/// The times of reads or of writes.
#[derive(Debug, Default)]
struct OpTimers {
    service: Timer,
    due: Option<Box<Timer>>,
}

impl OpTimers {
    fn drain_into(&mut self, other: &mut OpTimers) {
        self.service.drain_into(&mut other.service);
        if let (Some(from), Some(into)) = (&mut self.due, &mut other.due) {
            from.drain_into(into);
        }
    }

    fn take(&mut self) -> OpTimes {
        OpTimes {
            service: self.service.take(),
            due: self.due.as_mut().map(|d| d.take()).unwrap_or_default(),
            ..OpTimes::default()
        }
    }
}

/// What is recorded about the I/Os of one generator. Only the histograms it needs are there: each has
/// 31 KiB, and there may be thousands of lanes.
#[derive(Debug)]
pub struct PairLog {
    /// Reads.
    pub read: OpStats,
    /// Writes.
    pub write: OpStats,
    read_times: Option<OpTimers>,
    write_times: Option<OpTimers>,
}

impl PairLog {
    /// With the histograms that are needed.
    pub fn new(kinds: Kinds) -> Self {
        let timers = || OpTimers { service: Timer::default(), due: kinds.due.then(Box::default) };
        Self {
            read: OpStats::default(),
            write: OpStats::default(),
            read_times: kinds.read.then(timers),
            write_times: kinds.write.then(timers),
        }
    }

    #[inline]
    fn record(&mut self, done: &Done) {
        let ns = done.done_ns.saturating_sub(done.issued_ns);
        let (sums, times) = match done.read {
            true => (&mut self.read, &mut self.read_times),
            false => (&mut self.write, &mut self.write_times),
        };
        sums.record(done.bytes, ns, done.failed);
        let Some(times) = times else { return };
        times.service.record(ns);
        if let (Some(due_ns), Some(due)) = (done.due_ns, &mut times.due) {
            due.record(done.done_ns.saturating_sub(due_ns));
        }
    }

    /// Moves everything to another of the same kinds and leaves zeros.
    pub fn drain_into(&mut self, other: &mut PairLog) {
        if self.read.ops > 0 {
            other.read.merge(&std::mem::take(&mut self.read));
        }
        if self.write.ops > 0 {
            other.write.merge(&std::mem::take(&mut self.write));
        }
        let pairs = [(&mut self.read_times, &mut other.read_times), (&mut self.write_times, &mut other.write_times)];
        for (from, into) in pairs {
            if let (Some(from), Some(into)) = (from, into) {
                from.drain_into(into);
            }
        }
    }

    /// Takes the times out and leaves none.
    pub fn take_times(&mut self) -> Times {
        let take = |times: &mut Option<OpTimers>| times.as_mut().map(OpTimers::take).unwrap_or_default();
        Times { read: take(&mut self.read_times), write: take(&mut self.write_times) }
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
