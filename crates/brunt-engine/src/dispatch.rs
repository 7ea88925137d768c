//! Releases the I/Os of a paced run when they are due.
//!
//! One dispatcher merges the due times of all generators of a worker and puts arrivals into the queues of
//! their targets. When one queue is full it stops, so that all workloads slow down together and keep
//! their skew (`docs/vdbench/raw.md` §8.1). With priorities that holds within each priority: a full
//! queue of a lower one never holds back a higher one, and the other way round.
//!
//! It knows no clock: threads and the virtual time drive the same code.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use crate::address::AddressStream;
use crate::feed::Order;
use crate::pacing::{DueTimes, NEVER};
use crate::queue::TargetQueue;
use crate::shared::Shared;

/// A generator with its due times.
#[derive(Debug)]
pub struct Paced {
    /// Index in the share.
    pub generator: usize,
    /// Index of its target.
    pub target: usize,
    /// Number within its target.
    pub local: u32,
    /// Place of its priority, 0 is the highest.
    pub class: usize,
    /// Its I/Os.
    pub stream: AddressStream,
    /// Its due times.
    pub due: DueTimes,
}

/// The generators of one priority.
#[derive(Debug, Default)]
struct Class {
    /// Next due time and generator.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    /// The target whose full queue holds all of them back.
    blocked_on: Option<usize>,
}

/// Releases I/Os.
#[derive(Debug)]
pub struct Dispatcher {
    classes: Vec<Class>,
    paced: Vec<Paced>,
    queues: Vec<Arc<TargetQueue>>,
    arrived: Vec<usize>,
    shared: Arc<Shared>,
    start_ns: u64,
}

impl Dispatcher {
    /// For the generators of a share and the queues of its targets.
    pub fn new(paced: Vec<Paced>, queues: Vec<Arc<TargetQueue>>, shared: Arc<Shared>) -> Self {
        let count = paced.iter().map(|p| p.class + 1).max().unwrap_or(0);
        let classes = (0..count).map(|_| Class::default()).collect();
        let arrived = vec![0; queues.len()];
        Self { classes, paced, queues, arrived, shared, start_ns: 0 }
    }

    /// The run starts at `start_ns`.
    pub fn start(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        for n in 0..self.paced.len() {
            self.schedule(n);
        }
    }

    fn schedule(&mut self, n: usize) {
        let Some(paced) = self.paced.get_mut(n) else { return };
        let due = paced.due.next_ns();
        if due != NEVER
            && let Some(class) = self.classes.get_mut(paced.class)
        {
            class.next.push(Reverse((self.start_ns.saturating_add(due), n)));
        }
    }

    /// Releases what is due at `now_ns`, at most `budget` of each priority. True when more is due and
    /// has room.
    pub fn pump(&mut self, now_ns: u64, budget: usize) -> bool {
        let mut more = false;
        for class in 0..self.classes.len() {
            more |= self.pump_class(class, now_ns, budget);
        }
        more
    }

    fn pump_class(&mut self, number: usize, now_ns: u64, budget: usize) -> bool {
        let mut left = budget;
        while let Some(class) = self.classes.get_mut(number) {
            if let Some(target) = class.blocked_on {
                if self.queues.get(target).is_some_and(|q| q.is_blocked(number)) {
                    return false;
                }
                class.blocked_on = None;
            }
            let Some(Reverse((due, n))) = class.next.peek().copied().filter(|Reverse((due, _))| *due <= now_ns) else {
                return false;
            };
            if left == 0 {
                return true;
            }
            left -= 1;
            let Some(paced) = self.paced.get(n) else { return false };
            let Some(queue) = self.queues.get(paced.target) else { return false };
            if queue.is_gone() {
                class.next.pop();
                continue;
            }
            if queue.is_full(number) && queue.block(number) {
                class.blocked_on = Some(paced.target);
                return false;
            }
            class.next.pop();
            self.release(n, due);
        }
        false
    }

    fn release(&mut self, n: usize, due: u64) {
        let Some(paced) = self.paced.get_mut(n) else { return };
        let Some(access) = paced.stream.next() else {
            if self.shared.tally.ended(paced.generator) {
                self.shared.news.ring();
            }
            return;
        };
        self.shared.tally.issued(paced.generator);
        let order = Order { local: paced.local, access, due_ns: Some(due) };
        // There is room: this is the only producer, and the ring was not full.
        if self.queues.get(paced.target).is_some_and(|q| q.push(paced.class, &order))
            && let Some(arrived) = self.arrived.get_mut(paced.target)
        {
            *arrived += 1;
        }
        self.schedule(n);
    }

    /// Gives each target with new arrivals, once.
    pub fn arrivals(&mut self, mut tell: impl FnMut(usize)) {
        for (target, n) in self.arrived.iter_mut().enumerate().filter(|(_, n)| **n > 0) {
            *n = 0;
            tell(target);
        }
    }

    /// Wakes sleeping lanes of the targets with new arrivals, once.
    pub fn wake_lanes(&mut self) {
        for (queue, n) in self.queues.iter().zip(self.arrived.iter_mut()).filter(|(_, n)| **n > 0) {
            *n = 0;
            queue.wake();
        }
    }

    /// When the next I/O is due that no full queue holds back.
    pub fn next_due(&self) -> Option<u64> {
        let free = self.classes.iter().filter(|c| c.blocked_on.is_none());
        free.filter_map(|c| c.next.peek().map(|Reverse((due, _))| *due)).min()
    }
}
