//! Releases the I/Os of a paced run when they are due.
//!
//! One dispatcher merges the due times of all generators of a thread and puts arrivals into the queues of
//! their targets. When one queue is full it stops, and with it the other dispatchers of the worker ([`Pace`]), so that
//! all workloads slow down together and keep their skew (`docs/vdbench/raw.md` §8.1). With priorities that holds within
//! each priority: a full queue of a lower one never holds back a higher one, and the other way round.
//!
//! It knows no clock: threads and the virtual time drive the same code.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use crate::absence::Absence;
use crate::address::AddressStream;
use crate::feed::Order;
use crate::pace::Pace;
use crate::pacing::{DueTimes, NEVER};
use crate::queue::TargetQueue;
use crate::shared::Shared;

/// How long a dispatcher that is held back by others waits before it looks again: they have no bell for it.
const HELD_NS: u64 = 250_000;

/// A generator with its due times.
#[derive(Debug)]
pub struct Paced {
    /// Index in the share.
    pub generator: usize,
    /// Number of its target within the dispatcher.
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
    /// Due time up to which the other dispatchers let it go.
    limit_ns: u64,
    /// Whether it is there.
    held: bool,
    /// When it was last held back, by a full queue here or elsewhere.
    held_ns: u64,
}

/// Releases I/Os.
#[derive(Debug)]
pub struct Dispatcher {
    classes: Vec<Class>,
    paced: Vec<Paced>,
    queues: Vec<Arc<TargetQueue>>,
    absences: Vec<Absence>,
    /// Which targets have new arrivals, and the same as a list.
    arrived: Vec<bool>,
    arrivals: Vec<usize>,
    shared: Arc<Shared>,
    pace: Arc<Pace>,
    number: usize,
    start_ns: u64,
}

impl Dispatcher {
    /// For generators of so many priorities and the queues of their targets; the `number`-th of its worker.
    pub fn new(
        paced: Vec<Paced>,
        classes: usize,
        queues: Vec<Arc<TargetQueue>>,
        shared: Arc<Shared>,
        (pace, number): (Arc<Pace>, usize),
    ) -> Self {
        let class = |n| Class {
            next: BinaryHeap::with_capacity(paced.iter().filter(|p| p.class == n).count()),
            ..Class::default()
        };
        let classes = (0..classes).map(class).collect();
        let (arrived, arrivals) = (vec![false; queues.len()], Vec::with_capacity(queues.len()));
        let absences = vec![Absence::default(); queues.len()];
        Self { classes, paced, queues, absences, arrived, arrivals, shared, pace, number, start_ns: 0 }
    }

    /// The run starts at `start_ns`.
    pub fn start(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        for n in 0..self.paced.len() {
            self.schedule(n);
        }
        (0..self.classes.len()).for_each(|class| self.tell_pace(class));
    }

    /// Lets the other dispatchers know how far this one is.
    fn tell_pace(&self, number: usize) {
        if let Some(class) = self.classes.get(number) {
            let next = class.next.peek().map_or(NEVER, |Reverse((due, _))| *due);
            self.pace.reached(number, self.number, next);
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
    /// has room. `idle_since` tells of a target since when it has a lane idle, if it has.
    pub fn pump(
        &mut self,
        now_ns: u64,
        budget: usize,
        idle_since: impl Fn(usize, &TargetQueue) -> Option<u64>,
    ) -> bool {
        let mut more = false;
        for class in 0..self.classes.len() {
            let due = |c: &Class| c.next.peek().is_some_and(|Reverse((due, _))| *due <= now_ns);
            if self.classes.get(class).is_some_and(due) {
                more |= self.pump_class(class, now_ns, budget, &idle_since);
                self.tell_pace(class);
            }
        }
        more
    }

    fn pump_class(
        &mut self,
        number: usize,
        now_ns: u64,
        budget: usize,
        idle_since: &impl Fn(usize, &TargetQueue) -> Option<u64>,
    ) -> bool {
        let mut left = budget;
        while let Some(class) = self.classes.get_mut(number) {
            if let Some(target) = class.blocked_on {
                if self.queues.get(target).is_some_and(|q| q.is_blocked(number)) {
                    return false;
                }
                class.blocked_on = None;
                class.held_ns = now_ns;
            }
            if std::mem::replace(&mut class.held, false) {
                class.held_ns = now_ns;
            }
            let Some(Reverse((due, n))) = class.next.peek().copied().filter(|Reverse((due, _))| *due <= now_ns) else {
                return false;
            };
            if left == 0 {
                return true;
            }
            left -= 1;
            if due > class.limit_ns {
                class.limit_ns = self.pace.limit(number, self.number);
                if due > class.limit_ns {
                    class.held = true;
                    return false;
                }
            }
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
            let ready_ns = due.max(class.held_ns);
            if let Some(absence) = self.absences.get_mut(paced.target)
                && ready_ns < now_ns
                && let Some(idle_ns) = idle_since(paced.target, queue)
            {
                absence.note(ready_ns, idle_ns, now_ns);
            }
            self.release(n, due, ready_ns);
        }
        false
    }

    fn release(&mut self, n: usize, due: u64, ready_ns: u64) {
        let Some(paced) = self.paced.get_mut(n) else { return };
        let Some(access) = paced.stream.next() else {
            if self.shared.tally.ended(paced.generator) {
                self.shared.news.ring();
            }
            return;
        };
        self.shared.tally.issued(paced.generator);
        let (late_ns, there_ns) = self.absences.get(paced.target).map_or((0, 0), |absence| absence.seen_by(due));
        let ready_ns = if late_ns > 0 { ready_ns.max(there_ns) } else { ready_ns };
        let order = Order { local: paced.local, access, due_ns: due, ready_ns, late_ns, awaited: false };
        // There is room: this is the only producer, and the ring was not full.
        if self.queues.get(paced.target).is_some_and(|q| q.push(paced.class, &order))
            && let Some(arrived) = self.arrived.get_mut(paced.target)
            && !std::mem::replace(arrived, true)
        {
            self.arrivals.push(paced.target);
        }
        self.schedule(n);
    }

    /// Gives each target with new arrivals, once.
    pub fn arrivals(&mut self, mut tell: impl FnMut(usize)) {
        for target in self.arrivals.drain(..) {
            if let Some(arrived) = self.arrived.get_mut(target) {
                *arrived = false;
            }
            tell(target);
        }
    }

    /// Wakes sleeping lanes of the targets with new arrivals, once.
    pub fn wake_lanes(&mut self) {
        for target in self.arrivals.drain(..) {
            if let Some(arrived) = self.arrived.get_mut(target) {
                *arrived = false;
            }
            if let Some(queue) = self.queues.get(target) {
                queue.wake();
            }
        }
    }

    /// When to pump again, as far as it depends on time: when the next I/O is due that no full queue holds back.
    pub fn next_due(&self, now_ns: u64) -> Option<u64> {
        let due = |(number, class): (usize, &Class)| {
            let Reverse((due, _)) = class.next.peek()?;
            let full = class.blocked_on.and_then(|target| self.queues.get(target));
            match full.is_some_and(|q| q.is_blocked(number)) {
                true => None,
                false if class.held => Some(now_ns.saturating_add(HELD_NS)),
                false => Some(*due),
            }
        };
        self.classes.iter().enumerate().filter_map(due).min()
    }
}
