//! What threads measure, and how it is taken from them at the end of an interval.
//!
//! Each thread that does I/O writes to one of two sets of counters and histograms, chosen by the lowest bit of a
//! common epoch. A flip raises the epoch; whatever is recorded later goes to the other set, and the old one belongs
//! to the collector. So a writer neither locks nor waits, and one that is stuck in the kernel holds nobody up: it
//! holds no set. It writes only in a *phase*, which begins with `state = RECORDING` and ends with `IDLE`, a matter
//! of nanoseconds: one I/O of a blocking lane, one batch of a reactor. Only for that the collector waits, and not for
//! long: the system may put a thread aside in the middle of a phase.
//!
//! Both sides write their own word before they read the other's, sequentially consistent: the writer `state`, then
//! it reads the epoch; the collector the epoch, then it reads `state`. Hence either the collector sees `RECORDING`
//! and waits, or the writer sees the new epoch and keeps off the old set. That is one `xchg` a phase, some 8 ns. In
//! its first phase of an epoch the writer publishes that epoch in `seen`, before it records anything; a collector that
//! reads it there need not wait for the end of that phase. Either way an acquiring load shows it all that was written
//! to the old set.
//!
//! The time integral of outstanding I/Os is exact also for those that cross the boundary. Response times of finished
//! I/Os are summed; to them comes the age of what is in flight at the end, less the age of what was in flight at the
//! start. For it the writer keeps, for each generator, how many I/Os are in flight and the sum of their times of issue,
//! and changes these *live* numbers only within a phase. In its first phase of an epoch it copies them, before `seen`.
//! So there are two cases. The collector reads the new epoch in `seen`: the copy is of the boundary. Or it does not:
//! then it has seen the writer idle after the epoch rose, and the live numbers are those of the boundary until a new
//! phase changes them. Between `seen` and the first change stands a releasing fence, between the collector's look at
//! the numbers and its second look at `seen` an acquiring one: had it read a changed number, it would find the new
//! epoch there, and takes the copy.
//!
//! An I/O issued after the collector read the clock and before it raised the epoch has a negative age. It is carried
//! with its sign, so that the integrals of all intervals add up to the response times of all I/Os.

mod log;

use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64, fence};
use std::time::{Duration, Instant};

pub use log::{Arrival, Done, Kinds, Set, Taken};

const IDLE: u32 = 0;
const RECORDING: u32 = 1;

/// Looks at threads that are in a phase before the collector sleeps between two looks.
const SPINS: u32 = 128;
/// So long it sleeps then.
const NAP: Duration = Duration::from_micros(50);

/// What is in flight of one generator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InFlight {
    /// How many I/Os.
    pub count: u64,
    /// Sum of their times of issue, modulo 2⁶⁴.
    pub issued_sum: u64,
}

impl InFlight {
    /// The sum of their ages at a time, ns.
    pub fn age_ns(self, now_ns: u64) -> i64 {
        self.count.wrapping_mul(now_ns).wrapping_sub(self.issued_sum).cast_signed()
    }
}

/// The same, now and when the epoch began. One writer.
#[derive(Debug, Default)]
struct Flight {
    count: AtomicU64,
    issued_sum: AtomicU64,
    old_count: AtomicU64,
    old_issued_sum: AtomicU64,
}

impl Flight {
    #[inline]
    fn begin(&self, issued_ns: u64) {
        self.count.store(self.count.load(Relaxed).wrapping_add(1), Relaxed);
        self.issued_sum.store(self.issued_sum.load(Relaxed).wrapping_add(issued_ns), Relaxed);
    }

    #[inline]
    fn end(&self, issued_ns: u64) {
        self.count.store(self.count.load(Relaxed).wrapping_sub(1), Relaxed);
        self.issued_sum.store(self.issued_sum.load(Relaxed).wrapping_sub(issued_ns), Relaxed);
    }

    fn live(&self) -> InFlight {
        InFlight { count: self.count.load(Relaxed), issued_sum: self.issued_sum.load(Relaxed) }
    }

    fn old(&self) -> InFlight {
        InFlight { count: self.old_count.load(Relaxed), issued_sum: self.old_issued_sum.load(Relaxed) }
    }

    fn keep(&self) {
        let InFlight { count, issued_sum } = self.live();
        self.old_count.store(count, Relaxed);
        self.old_issued_sum.store(issued_sum, Relaxed);
    }
}

/// The shared side of one thread. Aligned so that no two share a cache line.
#[derive(Debug)]
#[repr(align(128))]
pub struct ThreadLog {
    state: AtomicU32,
    /// The last epoch that the writer knows of.
    seen: AtomicU64,
    sets: [UnsafeCell<Set>; 2],
    flights: Box<[Flight]>,
    /// When the I/O in flight of each lane was issued; 0: nothing is. Clocks never show 0 during a run.
    lanes: Box<[AtomicU64]>,
    /// The target of each lane.
    targets: Box<[u32]>,
}

// SAFETY: everything but `sets` is atomic or never changes. Set `epoch & 1` is touched only by the one `ThreadWriter`
// within a `Phase`, the other one only by `Recording::flip`, as the module documentation proves.
unsafe impl Sync for ThreadLog {}

// What that rests on besides: the sets pass from the writer's thread to the collector's and back.
const _: () = {
    const fn passes_between_threads<T: Send>() {}
    passes_between_threads::<Set>();
};

impl ThreadLog {
    /// The I/Os in flight: when they were issued, and their targets.
    pub fn issued(&self) -> impl Iterator<Item = (u64, u32)> {
        let all = self.lanes.iter().map(|l| l.load(Acquire)).zip(self.targets.iter().copied());
        all.filter(|(issued_ns, _)| *issued_ns > 0)
    }

    /// Whether the writer keeps off the set of the epoch before.
    fn keeps_off(&self, epoch: u64) -> bool {
        self.state.load(SeqCst) != RECORDING || self.seen.load(Acquire) == epoch
    }

    /// What was in flight when `epoch` began. The writer keeps off the set of the epoch before.
    fn in_flight_at(&self, epoch: u64, found: &mut Vec<InFlight>) {
        found.clear();
        found.extend(self.flights.iter().map(Flight::live));
        fence(Acquire);
        if self.seen.load(Acquire) == epoch {
            found.clear();
            found.extend(self.flights.iter().map(Flight::old));
        }
    }
}

/// The writing side of one thread.
#[derive(Debug)]
pub struct ThreadWriter {
    log: Arc<ThreadLog>,
    epoch: Arc<AtomicU64>,
    last_epoch: u64,
}

impl ThreadWriter {
    /// Begins a phase. It ends when it is dropped, which shall be soon.
    #[inline]
    pub fn enter(&mut self) -> Phase<'_> {
        let log = &*self.log;
        log.state.swap(RECORDING, SeqCst);
        let epoch = self.epoch.load(SeqCst);
        if epoch != self.last_epoch {
            self.last_epoch = epoch;
            log.flights.iter().for_each(Flight::keep);
            log.seen.store(epoch, Release);
            fence(Release);
        }
        // SAFETY: there is one writer per log (`Recording::thread` makes both) and one phase per writer, since it
        // borrows it mutably. It is RECORDING, and it read `epoch` after saying so; `flip` touches this set only when
        // a later epoch has begun and this thread was seen to keep off it after that.
        let set = unsafe { &mut *log.sets[(epoch & 1) as usize].get() };
        Phase { log, set }
    }
}

/// A thread while it records.
#[derive(Debug)]
pub struct Phase<'a> {
    log: &'a ThreadLog,
    set: &'a mut Set,
}

impl Phase<'_> {
    /// An I/O of a generator is about to be issued by a lane, both numbered within the thread.
    #[inline]
    pub fn issue(&mut self, lane: u32, pair: u32, now_ns: u64) {
        if let Some(flight) = self.log.flights.get(pair as usize) {
            flight.begin(now_ns);
        }
        if let Some(issued) = self.log.lanes.get(lane as usize) {
            issued.store(now_ns, Relaxed);
        }
    }

    /// That I/O is done.
    #[inline]
    pub fn done(&mut self, lane: u32, done: &Done) {
        if let Some(flight) = self.log.flights.get(done.pair as usize) {
            flight.end(done.issued_ns);
        }
        if let Some(issued) = self.log.lanes.get(lane as usize) {
            issued.store(0, Relaxed);
        }
        self.set.record(done);
    }
}

impl Drop for Phase<'_> {
    #[inline]
    fn drop(&mut self) {
        self.log.state.store(IDLE, Release);
    }
}

/// What a flip gives of a thread.
#[derive(Debug)]
pub enum Part<'a> {
    /// Its records, to be taken.
    Records(&'a mut Set),
    /// What it has in flight of each of its generators.
    InFlight(&'a [InFlight]),
}

/// The reading side of all threads.
#[derive(Debug, Default)]
pub struct Recording {
    epoch: Arc<AtomicU64>,
    threads: Vec<Arc<ThreadLog>>,
    /// Of each thread, what it had in flight when it was looked at the last time.
    in_flight: Vec<Vec<InFlight>>,
    /// Threads that are waited for.
    late: Vec<usize>,
}

impl Recording {
    /// Adds a thread with generators of these kinds and lanes of these targets.
    pub fn thread(&mut self, generators: &[Kinds], targets: &[u32]) -> ThreadWriter {
        let set = || UnsafeCell::new(Set::new(generators));
        let log = Arc::new(ThreadLog {
            state: AtomicU32::new(IDLE),
            seen: AtomicU64::new(0),
            sets: [set(), set()],
            flights: generators.iter().map(|_| Flight::default()).collect(),
            lanes: targets.iter().map(|_| AtomicU64::new(0)).collect(),
            targets: targets.into(),
        });
        self.threads.push(Arc::clone(&log));
        self.in_flight.push(vec![InFlight::default(); generators.len()]);
        ThreadWriter { log, epoch: Arc::clone(&self.epoch), last_epoch: self.epoch.load(SeqCst) }
    }

    /// The threads in the order they were added.
    pub fn threads(&self) -> &[Arc<ThreadLog>] {
        &self.threads
    }

    /// Ends an interval: gives each thread's records of it and what it has in flight.
    ///
    /// Where hundreds of lanes share a core some were put aside by the system in the middle of a phase, and come back
    /// when all others had their turn. They are waited for `patience` in all; `None`: until the last is there. Of whoever
    /// is later nothing is touched: its records come with one of the two next flips at which it is there, for the set of
    /// an even or odd epoch holds what was not taken from it before. Until then its I/Os count as in flight.
    pub fn flip(&mut self, patience: Option<Duration>, mut visit: impl FnMut(usize, Part<'_>)) {
        let epoch = self.epoch.fetch_add(1, SeqCst) + 1;
        let mut late = std::mem::take(&mut self.late);
        late.clear();
        late.extend(0..self.threads.len());
        self.wait_for(&mut late, epoch, patience, |log, n, in_flight| {
            log.in_flight_at(epoch, in_flight);
            // SAFETY: the thread keeps off it.
            visit(n, Part::Records(unsafe { old_set(log, epoch) }));
            visit(n, Part::InFlight(in_flight));
        });
        for n in &late {
            visit(*n, Part::InFlight(self.in_flight.get(*n).map_or(&[], Vec::as_slice)));
        }
        self.late = late;
    }

    /// Gives each of these threads that keeps off the set of the epoch before, and leaves those that do not in time.
    fn wait_for(
        &mut self,
        late: &mut Vec<usize>,
        epoch: u64,
        patience: Option<Duration>,
        mut ready: impl FnMut(&ThreadLog, usize, &mut Vec<InFlight>),
    ) {
        let until = patience.and_then(|p| Instant::now().checked_add(p));
        let mut tries = 0u32;
        loop {
            late.retain(|n| {
                let (Some(log), Some(in_flight)) = (self.threads.get(*n), self.in_flight.get_mut(*n)) else {
                    return false;
                };
                let there = log.keeps_off(epoch);
                if there {
                    ready(log, *n, in_flight);
                }
                !there
            });
            if late.is_empty() || until.is_some_and(|until| Instant::now() >= until) {
                return;
            }
            tries += 1;
            match tries < SPINS {
                true => spin_loop(),
                // A phase takes nanoseconds: this one was interrupted, and needs the core.
                false => std::thread::sleep(NAP),
            }
        }
    }
}

/// The set of the epoch before `epoch`, which is the present one.
///
/// # Safety
/// The thread keeps off it: it was idle, or knew of `epoch`, after that rose. Then it writes to the other set until the
/// epoch rises again, which only the caller does, and the acquiring loads of [`ThreadLog::keeps_off`] show all it wrote.
/// The caller holds no other reference to it.
#[allow(clippy::mut_from_ref)]
unsafe fn old_set(log: &ThreadLog, epoch: u64) -> &mut Set {
    // SAFETY: as the caller says.
    unsafe { &mut *log.sets[((epoch + 1) & 1) as usize].get() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    const KINDS: Kinds = Kinds { read: true, write: false, due: false };

    fn done(pair: u32, issued_ns: u64, done_ns: u64) -> Done {
        Done { pair, read: true, bytes: 1, arrival: None, issued_ns, done_ns, failed: false }
    }

    fn take(r: &mut Recording, now: u64) -> (u64, i64) {
        let mut out = (0, 0);
        r.flip(Some(Duration::ZERO), |_, part| match part {
            Part::Records(set) => out.0 += set.take().map(|t| t.read.ops).sum::<u64>(),
            Part::InFlight(all) => out.1 += all.iter().map(|f| f.age_ns(now)).sum::<i64>(),
        });
        out
    }

    #[test]
    fn an_io_in_flight_is_seen_and_counted_later() {
        let mut r = Recording::default();
        let mut w = r.thread(&[KINDS], &[7]);
        let mut phase = w.enter();
        phase.issue(0, 0, 10);
        phase.done(0, &done(0, 10, 20));
        phase.issue(0, 0, 30);
        drop(phase);
        assert_eq!(r.threads()[0].issued().collect::<Vec<_>>(), [(30, 7)]);
        assert_eq!(take(&mut r, 40), (1, 10));
        assert_eq!(take(&mut r, 50), (0, 20));
        w.enter().done(0, &done(0, 30, 60));
        assert_eq!(take(&mut r, 70), (1, 0));
        assert_eq!(take(&mut r, 80), (0, 0));
        assert_eq!(r.threads()[0].issued().count(), 0);
    }

    #[test]
    fn an_io_issued_after_the_clock_was_read_has_a_negative_age() {
        let mut r = Recording::default();
        let mut w = r.thread(&[KINDS], &[0]);
        w.enter().issue(0, 0, 105);
        assert_eq!(take(&mut r, 100), (0, -5));
    }

    /// One thread with two generators and three lanes, some of which are always in flight. Its n-th I/O is issued at n,
    /// and moves n bytes.
    fn write(mut w: ThreadWriter, stop: &AtomicBool) -> u64 {
        let (mut issued, mut turn) = (0u64, 0u64);
        let mut out: [Option<(u32, u64)>; 3] = [None; 3];
        while !stop.load(Relaxed) || issued < 1000 {
            let mut phase = w.enter();
            turn += 1;
            for (lane, busy) in (0..).zip(&mut out) {
                match *busy {
                    Some((pair, at)) if turn % 4 != u64::from(lane) => {
                        phase.done(lane, &Done { bytes: at, ..done(pair, at, at + 1) });
                        *busy = None;
                    }
                    Some(_) => {}
                    None => {
                        issued += 1;
                        let pair = (issued % 2) as u32;
                        phase.issue(lane, pair, issued);
                        *busy = Some((pair, issued));
                    }
                }
            }
        }
        issued
    }

    #[test]
    fn every_boundary_is_a_clean_cut_while_threads_run() {
        let mut r = Recording::default();
        let stop = AtomicBool::new(false);
        let writers: Vec<_> = (0..3).map(|_| r.thread(&[KINDS; 2], &[0; 3])).collect();
        let mut seen = [(0, 0); 3];
        let mut flip = |r: &mut Recording| {
            let mut all = [0; 3];
            r.flip(None, |n, part| match part {
                Part::Records(set) => {
                    let (ops, bytes) = &mut seen[n];
                    set.take().for_each(|t| (*ops, *bytes) = (*ops + t.read.ops, *bytes + t.read.bytes));
                }
                Part::InFlight(in_flight) => {
                    let (ops, bytes) = seen[n];
                    let flying: u64 = in_flight.iter().map(|f| f.count).sum();
                    let issued = ops + flying;
                    assert!(flying <= 3, "{flying} in flight of three lanes");
                    // What is done and what is in flight at the cut are all I/Os up to one of them.
                    let stamps = in_flight.iter().map(|f| f.issued_sum).fold(bytes, u64::wrapping_add);
                    assert_eq!(stamps, issued * (issued + 1) / 2);
                    all[n] = issued;
                }
            });
            all
        };
        let issued: Vec<u64> = std::thread::scope(|s| {
            let stop = &stop;
            let threads: Vec<_> = writers.into_iter().map(|w| s.spawn(move || write(w, stop))).collect();
            for _ in 0..if cfg!(miri) { 5 } else { 500 } {
                flip(&mut r);
            }
            stop.store(true, Relaxed);
            threads.into_iter().map(|t| t.join().unwrap_or_default()).collect()
        });
        flip(&mut r);
        assert_eq!(flip(&mut r).as_slice(), issued);
    }

    #[test]
    fn records_of_a_thread_put_aside_in_a_phase_come_later() {
        let mut r = Recording::default();
        let mut w = r.thread(&[KINDS], &[0]);
        w.enter().issue(0, 0, 10);
        let mut aside = w.enter();
        // Nobody knows yet that it is done: it counts as in flight.
        aside.done(0, &done(0, 10, 20));
        assert_eq!(take(&mut r, 30), (0, 0), "never looked at before");
        aside.issue(0, 0, 40);
        drop(aside);
        assert_eq!(take(&mut r, 50), (0, 10), "they are in the set of the other epochs");
        assert_eq!(take(&mut r, 60), (1, 20));
        let mut aside = w.enter();
        aside.done(0, &done(0, 40, 60));
        // However many intervals it is away.
        assert_eq!([take(&mut r, 70), take(&mut r, 80), take(&mut r, 90)], [(0, 30), (0, 40), (0, 50)]);
        drop(aside);
        let (first, second) = (take(&mut r, 100), take(&mut r, 110));
        assert_eq!((first.0 + second.0, second.1), (1, 0));
        assert_eq!(take(&mut r, 120), (0, 0));
    }

    #[test]
    fn without_patience_nothing_is_lost_or_counted_twice() {
        let mut r = Recording::default();
        let stop = AtomicBool::new(false);
        let writers: Vec<_> = (0..3).map(|_| r.thread(&[KINDS; 2], &[0; 3])).collect();
        let (mut ops, mut flying) = (0, 0);
        let mut flip = |r: &mut Recording| {
            flying = 0;
            r.flip(Some(Duration::ZERO), |_, part| match part {
                Part::Records(set) => ops += set.take().map(|t| t.read.ops).sum::<u64>(),
                Part::InFlight(all) => flying += all.iter().map(|f| f.count).sum::<u64>(),
            });
            ops + flying
        };
        let issued: u64 = std::thread::scope(|s| {
            let stop = &stop;
            let threads: Vec<_> = writers.into_iter().map(|w| s.spawn(move || write(w, stop))).collect();
            for _ in 0..if cfg!(miri) { 5 } else { 2000 } {
                flip(&mut r);
            }
            stop.store(true, Relaxed);
            threads.into_iter().map(|t| t.join().unwrap_or_default()).sum()
        });
        // Both sets.
        flip(&mut r);
        assert_eq!(flip(&mut r), issued);
    }
}
