//! The queue of a target in paced runs: what is due and not yet issued.
//!
//! One producer, the dispatcher; any lane of the target takes the oldest arrival of the highest
//! priority. Claiming is one compare-and-swap; an idle lane sleeps on a futex.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use crate::address::Access;
use crate::feed::Order;
use crate::futex;
use crate::shared::{Bell, Shared};

/// Arrivals that may wait, for each target and priority (`docs/vdbench/raw.md` §8.1).
pub const CAPACITY: usize = 2000;
/// A full queue holds the dispatcher back until it has fallen to this.
pub const LOW: usize = CAPACITY * 3 / 10;

/// An order in words, so that a lane may read a slot that is being overwritten: its claim then fails
/// and it throws away what it read.
#[derive(Debug, Default)]
struct Slot {
    due: AtomicU64,
    lba: AtomicU64,
    len: AtomicU64,
    meta: AtomicU64,
}

impl Slot {
    fn put(&self, order: &Order) {
        let meta = u64::from(order.local) << 2 | u64::from(order.access.hit) << 1 | u64::from(order.access.read);
        self.due.store(order.due_ns.unwrap_or(u64::MAX), Relaxed);
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
        Order { local: (meta >> 2) as u32, access, due_ns: Some(self.due.load(Relaxed)).filter(|d| *d != u64::MAX) }
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
    dispatcher: Arc<Bell>,
    gone: Arc<AtomicBool>,
}

impl TargetQueue {
    /// A queue for so many priorities. `dispatcher` rings when a full ring has room again. When the target is
    /// `gone` nothing comes out any more.
    pub fn new(classes: usize, dispatcher: Arc<Bell>, gone: Arc<AtomicBool>) -> Self {
        let rings = (0..classes.max(1)).map(|_| Ring::new()).collect();
        Self { rings, bell: AtomicU32::new(0), sleepers: AtomicU32::new(0), dispatcher, gone }
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

    /// Puts an arrival in, by the dispatcher only. False when there is no room.
    pub fn push(&self, class: usize, order: &Order) -> bool {
        let Some(ring) = self.rings.get(class) else { return false };
        let tail = ring.tail.load(Relaxed);
        if tail.saturating_sub(ring.head.load(Acquire)) >= CAPACITY as u64 {
            return false;
        }
        if let Some(slot) = ring.slot(tail) {
            slot.put(order);
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

    /// Wakes a lane for each new arrival, as far as lanes sleep.
    pub fn wake(&self, arrivals: usize) {
        self.bell.fetch_add(1, SeqCst);
        let sleepers = self.sleepers.load(SeqCst);
        if sleepers > 0 {
            futex::wake(&self.bell, sleepers.min(arrivals as u32));
        }
    }

    /// Wakes all lanes, to see that the run is over.
    pub fn wake_all(&self) {
        self.bell.fetch_add(1, SeqCst);
        futex::wake(&self.bell, u32::MAX);
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

    /// Waits for an arrival. `None` when the run is over.
    #[inline]
    pub fn next(&self, shared: &Shared) -> Option<Order> {
        loop {
            if shared.stopping() || self.is_gone() {
                return None;
            }
            if let Some(order) = self.try_next() {
                return Some(order);
            }
            let seen = self.bell.load(SeqCst);
            self.sleepers.fetch_add(1, SeqCst);
            let order = self.try_next();
            if order.is_none() && !shared.stopping() && !self.is_gone() {
                futex::wait_until(&self.bell, seen, None);
            }
            self.sleepers.fetch_sub(1, SeqCst);
            if order.is_some() {
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
        Order { local: n as u32, access, due_ns: Some(n) }
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
            let lane = s.spawn(|| q.next(&shared));
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
                while let Some(o) = q.next(&shared) {
                    mine.push(o.access.lba);
                }
                mine
            };
            let lanes: Vec<_> = (0..3).map(|_| s.spawn(lane)).collect();
            for n in 0..total {
                while !q.push(0, &order(n)) {
                    std::thread::yield_now();
                }
                q.wake(1);
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
