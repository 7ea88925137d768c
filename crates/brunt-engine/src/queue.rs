//! The queue of a target in paced runs: what is due and not yet issued.
//!
//! One producer, the dispatcher; any lane of the target takes the oldest arrival of the highest
//! priority. Claiming is one compare-and-swap; an idle lane sleeps on a futex.
//!
//! Waking a lane costs several times what a short I/O does, and takes longer. So no more lanes are woken than are needed:
//! of a device that answers faster than a lane wakes up, one awake lane does several arrivals before the next lane is
//! there. A lane that takes an arrival and leaves others behind wakes another one, unless one is on its way; so no
//! arrival waits while lanes sleep, whatever the response times do. `measure rates` with 8 lanes on a file in tmpfs, two
//! busy cores, medians of 6 interleaved rounds: 100,000 I/Os per second cost 4.8 µs of CPU each instead of 7.1 with a
//! wake-up for each arrival; the median lateness is 58 µs instead of 48, most of it the timer's.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64};

use crate::address::Access;
use crate::feed::Order;
use crate::futex;
use crate::shared::{Bell, Shared};

/// Arrivals that may wait, for each target and priority (`docs/vdbench/raw.md` §8.1).
pub const CAPACITY: usize = 2000;
/// A full queue holds the dispatcher back until it has fallen to this.
pub const LOW: usize = CAPACITY * 3 / 10;
/// What a lane needs to wake up, about.
const WAKE_UP_NS: u64 = 10_000;
/// Response time until one is known: long, so that each arrival gets a lane of its own.
const UNKNOWN_NS: u64 = 100 * WAKE_UP_NS;

/// An order in words, so that a lane may read a slot that is being overwritten: its claim then fails
/// and it throws away what it read.
#[derive(Debug, Default)]
struct Slot {
    due: AtomicU64,
    ready: AtomicU64,
    late: AtomicU64,
    lba: AtomicU64,
    len: AtomicU64,
    meta: AtomicU64,
}

impl Slot {
    fn put(&self, order: &Order) {
        let flags = u64::from(order.awaited) << 2 | u64::from(order.access.hit) << 1 | u64::from(order.access.read);
        let meta = u64::from(order.local) << 3 | flags;
        self.due.store(order.due_ns, Relaxed);
        self.ready.store(order.ready_ns, Relaxed);
        self.late.store(order.late_ns, Relaxed);
        self.lba.store(order.access.lba, Relaxed);
        self.len.store(order.access.len, Relaxed);
        self.meta.store(meta, Relaxed);
    }

    fn get(&self) -> Order {
        let meta = self.meta.load(Relaxed);
        let access = Access {
            read: meta & 1 == 1,
            hit: meta & 2 == 2,
            lba: self.lba.load(Relaxed),
            len: self.len.load(Relaxed),
        };
        Order {
            local: (meta >> 3) as u32,
            access,
            due_ns: self.due.load(Relaxed),
            ready_ns: self.ready.load(Relaxed),
            late_ns: self.late.load(Relaxed),
            awaited: meta & 4 == 4,
        }
    }
}

#[derive(Debug)]
#[repr(align(128))]
struct Ring {
    head: AtomicU64,
    tail: AtomicU64,
    /// The dispatcher waits for this ring.
    blocked: AtomicBool,
    slots: Box<[Slot]>,
}

impl Ring {
    fn new() -> Self {
        let slots = (0..CAPACITY).map(|_| Slot::default()).collect();
        Self { head: AtomicU64::new(0), tail: AtomicU64::new(0), blocked: AtomicBool::new(false), slots }
    }

    fn len(&self) -> usize {
        let head = self.head.load(SeqCst);
        self.tail.load(SeqCst).saturating_sub(head) as usize
    }

    fn slot(&self, n: u64) -> Option<&Slot> {
        self.slots.get((n % CAPACITY as u64) as usize)
    }

    fn claim(&self) -> Option<Order> {
        loop {
            let head = self.head.load(Acquire);
            if head == self.tail.load(SeqCst) {
                return None;
            }
            let order = self.slot(head)?.get();
            if self.head.compare_exchange_weak(head, head + 1, SeqCst, Relaxed).is_ok() {
                return Some(order);
            }
        }
    }
}

/// The queue of one target, a ring for each priority.
#[derive(Debug)]
pub struct TargetQueue {
    rings: Vec<Ring>,
    bell: AtomicU32,
    sleepers: AtomicU32,
    /// Since when some lane sleeps.
    idle_since: AtomicU64,
    /// Lanes that were woken and are not there yet.
    coming: AtomicI32,
    /// Running mean of response times.
    response_ns: AtomicU64,
    dispatcher: Arc<Bell>,
    gone: Arc<AtomicBool>,
}

/// How many lanes shall be awake for so many arrivals: as many as it takes to do them in the time in which one more lane
/// wakes up.
fn lanes_for(arrivals: u64, response_ns: u64) -> u64 {
    arrivals.saturating_mul(response_ns).div_ceil(response_ns.saturating_add(WAKE_UP_NS)).max(1)
}

impl TargetQueue {
    /// A queue for so many priorities. `dispatcher` rings when a full ring has room again. When the target is
    /// `gone` nothing comes out any more.
    pub fn new(classes: usize, dispatcher: Arc<Bell>, gone: Arc<AtomicBool>) -> Self {
        let rings = (0..classes.max(1)).map(|_| Ring::new()).collect();
        let response_ns = AtomicU64::new(UNKNOWN_NS);
        let (bell, sleepers, coming) = (AtomicU32::new(0), AtomicU32::new(0), AtomicI32::new(0));
        Self { rings, bell, sleepers, idle_since: AtomicU64::new(0), coming, response_ns, dispatcher, gone }
    }

    /// Whether the target is out of the run: what arrives for it is thrown away.
    #[inline]
    pub fn is_gone(&self) -> bool {
        self.gone.load(SeqCst)
    }

    /// The target is gone: sends its lanes home, and no longer holds the dispatcher back.
    pub fn left(&self) {
        self.dispatcher.ring();
        self.wake_all();
    }

    /// Puts an arrival in, by the dispatcher only. False when there is no room. Notes whether a lane sleeps for it that is
    /// not needed for what has arrived before.
    pub fn push(&self, class: usize, order: &Order) -> bool {
        let Some(ring) = self.rings.get(class) else { return false };
        let tail = ring.tail.load(Relaxed);
        if tail.saturating_sub(ring.head.load(Acquire)) >= CAPACITY as u64 {
            return false;
        }
        let sleepers = self.sleepers.load(Relaxed) as usize;
        let awaited = sleepers > 0 && sleepers > self.rings.iter().map(Ring::len).sum();
        if let Some(slot) = ring.slot(tail) {
            slot.put(&Order { awaited, ..*order });
        }
        ring.tail.store(tail + 1, SeqCst);
        true
    }

    /// Whether an arrival of that priority has no room.
    pub fn is_full(&self, class: usize) -> bool {
        self.rings.get(class).is_none_or(|r| r.len() >= CAPACITY)
    }

    /// Asks for a ring of the dispatcher's bell when there is room again. False when there is already.
    pub fn block(&self, class: usize) -> bool {
        let Some(ring) = self.rings.get(class) else { return false };
        ring.blocked.store(true, SeqCst);
        ring.len() > LOW || !ring.blocked.swap(false, SeqCst)
    }

    /// Whether the dispatcher shall still wait for room.
    pub fn is_blocked(&self, class: usize) -> bool {
        self.rings.get(class).is_some_and(|r| r.blocked.load(SeqCst)) && !self.is_gone()
    }

    /// Wakes lanes for what has arrived, as many as are needed and as far as lanes sleep.
    pub fn wake(&self) {
        self.bell.fetch_add(1, SeqCst);
        let sleepers = self.sleepers.load(SeqCst);
        if sleepers > 0 {
            let waiting = self.rings.iter().map(Ring::len).sum::<usize>().min(sleepers as usize) as u64;
            let wanted = lanes_for(waiting, self.response_ns.load(Relaxed)) as u32;
            self.call(wanted.saturating_sub(self.coming.load(SeqCst).max(0).unsigned_abs()));
        }
    }

    fn call(&self, lanes: u32) {
        if lanes > 0 {
            let woken = futex::wake(&self.bell, lanes);
            self.coming.fetch_add(woken.min(i32::MAX as u32) as i32, SeqCst);
        }
    }

    /// A lane has taken an arrival: wakes another lane when others wait and nobody comes for them.
    #[inline]
    fn pass_on(&self) {
        if self.sleepers.load(SeqCst) > 0 && self.coming.load(SeqCst) <= 0 && self.rings.iter().any(|r| r.len() > 0) {
            self.call(1);
        }
    }

    /// An I/O took so long.
    #[inline]
    pub fn answered(&self, response_ns: u64) {
        let before = self.response_ns.load(Relaxed);
        let after = before - before / 8 + response_ns / 8;
        // Lanes may lose each other's news: it is a mean. What hardly changes it is not worth a write to a line of memory
        // that all lanes read.
        if after.abs_diff(before) > before / 16 {
            self.response_ns.store(after, Relaxed);
        }
    }

    /// Wakes all lanes, to see that the run is over.
    pub fn wake_all(&self) {
        self.bell.fetch_add(1, SeqCst);
        self.call(u32::MAX);
    }

    /// The oldest arrival of the highest priority.
    #[inline]
    pub fn try_next(&self) -> Option<Order> {
        for ring in &self.rings {
            if let Some(order) = ring.claim() {
                if ring.blocked.load(SeqCst) && ring.len() <= LOW && ring.blocked.swap(false, SeqCst) {
                    self.dispatcher.ring();
                }
                return Some(order);
            }
        }
        None
    }

    /// As [`TargetQueue::try_next`], for a lane whose fellows may sleep.
    #[inline]
    pub fn take(&self) -> Option<Order> {
        let order = self.try_next();
        if order.is_some() {
            self.pass_on();
        }
        order
    }

    /// Since when a blocking lane sleeps. `None`: none does.
    #[inline]
    pub fn idle_since(&self) -> Option<u64> {
        (self.sleepers.load(SeqCst) > 0).then(|| self.idle_since.load(Relaxed))
    }

    /// Waits for an arrival, for a lane that is free since `free_ns`. `None` when the run is over.
    #[inline]
    pub fn next(&self, shared: &Shared, free_ns: u64) -> Option<Order> {
        loop {
            if shared.stopping() || self.is_gone() {
                return None;
            }
            if let Some(order) = self.take() {
                return Some(order);
            }
            let seen = self.bell.load(SeqCst);
            if self.sleepers.fetch_add(1, SeqCst) == 0 {
                self.idle_since.store(free_ns, Relaxed);
            }
            let order = self.try_next();
            if order.is_none() && !shared.stopping() && !self.is_gone() {
                let woken = futex::wait_until(&self.bell, seen, None);
                self.sleepers.fetch_sub(1, SeqCst);
                if woken {
                    self.coming.fetch_sub(1, SeqCst);
                }
                continue;
            }
            self.sleepers.fetch_sub(1, SeqCst);
            if order.is_some() {
                self.pass_on();
                return order;
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::tally::Tally;

    fn order(n: u64) -> Order {
        let access = Access { read: n.is_multiple_of(2), hit: n.is_multiple_of(3), lba: n, len: 512 };
        Order { local: n as u32, access, due_ns: n, ready_ns: n, late_ns: n / 2, awaited: false }
    }

    #[test]
    fn orders_come_out_as_they_went_in() {
        let q = TargetQueue::new(1, Arc::default(), Arc::default());
        (0..10).for_each(|n| assert!(q.push(0, &order(n))));
        assert!((0..10).all(|n| q.try_next() == Some(order(n))));
        assert_eq!(q.try_next(), None);
    }

    #[test]
    fn the_higher_priority_goes_first() {
        let q = TargetQueue::new(2, Arc::default(), Arc::default());
        assert!(q.push(1, &order(1)) && q.push(0, &order(2)));
        assert_eq!((q.try_next(), q.try_next()), (Some(order(2)), Some(order(1))));
    }

    #[test]
    fn so_many_lanes_are_woken_as_are_needed() {
        // A memory answers in 2 µs: one lane does five and a bit while another wakes up. A disk takes long.
        let needed = |response_ns| [1, 6, 7, 64].map(|arrivals| lanes_for(arrivals, response_ns));
        assert_eq!(needed(2_000), [1, 1, 2, 11]);
        assert_eq!(needed(39_000), [1, 5, 6, 51]);
        assert_eq!(needed(5_000_000), [1, 6, 7, 64]);
        assert_eq!(needed(0), [1, 1, 1, 1]);
    }

    #[test]
    fn the_mean_of_responses_follows_the_device() {
        let q = TargetQueue::new(1, Arc::default(), Arc::default());
        (0..200).for_each(|_| q.answered(2_000));
        assert!((2_000..=4_000).contains(&q.response_ns.load(Relaxed)));
        (0..200).for_each(|_| q.answered(500_000));
        assert!((300_000..=500_000).contains(&q.response_ns.load(Relaxed)));
    }

    #[test]
    fn a_lane_that_leaves_arrivals_behind_wakes_another() {
        let q = TargetQueue::new(1, Arc::default(), Arc::default());
        let shared = Shared::new(Tally::new(&[]));
        // So quick that one lane is woken for all, which then is stuck in its first I/O.
        q.response_ns.store(0, Relaxed);
        let taken = AtomicU32::new(0);
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    if q.next(&shared, 0).is_some() {
                        taken.fetch_add(1, SeqCst);
                    }
                });
            }
            while q.sleepers.load(SeqCst) < 4 {
                std::thread::yield_now();
            }
            assert!((0..4).all(|n| q.push(0, &order(n))));
            q.wake();
            while taken.load(SeqCst) < 4 {
                std::thread::yield_now();
            }
        });
    }

    #[test]
    fn a_full_ring_frees_the_dispatcher_at_30_percent() {
        let bell = Arc::new(Bell::default());
        let q = TargetQueue::new(1, Arc::clone(&bell), Arc::default());
        assert!((0..CAPACITY as u64).all(|n| q.push(0, &order(n))));
        assert!(q.is_full(0) && !q.push(0, &order(0)) && q.block(0));
        let before = bell.now();
        for _ in LOW + 1..CAPACITY {
            q.try_next().unwrap();
        }
        assert!(q.is_blocked(0) && bell.now() == before);
        q.try_next().unwrap();
        assert!(!q.is_blocked(0) && bell.now() != before);
        assert!(!q.block(0) && !q.is_blocked(0));
    }

    #[test]
    fn when_the_target_is_gone_sleeping_lanes_go_home_and_nobody_waits_for_room() {
        let (bell, gone) = (Arc::new(Bell::default()), Arc::new(AtomicBool::new(false)));
        let q = TargetQueue::new(1, Arc::clone(&bell), Arc::clone(&gone));
        let shared = Shared::new(Tally::new(&[]));
        std::thread::scope(|s| {
            let lane = s.spawn(|| q.next(&shared, 0));
            while q.sleepers.load(SeqCst) == 0 {
                std::thread::yield_now();
            }
            let before = bell.now();
            gone.store(true, SeqCst);
            q.left();
            assert_eq!(lane.join().unwrap(), None);
            assert_ne!(bell.now(), before);
        });
        assert!((0..CAPACITY as u64).all(|n| q.push(0, &order(n))));
        q.block(0);
        assert!(!q.is_blocked(0));
    }

    #[test]
    fn every_arrival_reaches_exactly_one_lane() {
        let q = TargetQueue::new(1, Arc::default(), Arc::default());
        let shared = Shared::new(Tally::new(&[]));
        let total = 50_000;
        let mut got: Vec<u64> = std::thread::scope(|s| {
            let lane = || {
                let mut mine = Vec::new();
                while let Some(o) = q.next(&shared, 0) {
                    mine.push(o.access.lba);
                }
                mine
            };
            let lanes: Vec<_> = (0..3).map(|_| s.spawn(lane)).collect();
            for n in 0..total {
                while !q.push(0, &order(n)) {
                    std::thread::yield_now();
                }
                q.wake();
            }
            while q.rings[0].len() > 0 {
                std::thread::yield_now();
            }
            shared.stop_lanes();
            q.wake_all();
            lanes.into_iter().flat_map(|l| l.join().unwrap()).collect()
        });
        got.sort_unstable();
        assert!(got.into_iter().eq(0..total));
    }
}
