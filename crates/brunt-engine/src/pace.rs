//! How the dispatchers of a worker keep step.
//!
//! Each reactor releases the arrivals of its own targets, and the pacer those of blocking lanes. When the queue of one
//! target is full, all workloads of the same priority must wait, so that the skew stays what was asked
//! (`docs/vdbench/raw.md` §8.1), whichever thread they belong to. So each dispatcher publishes how far in the course of
//! due times it has come, and none goes further ahead of the others than a number of arrivals of the whole worker. A
//! full queue holds its dispatcher at one due time, and with it the others. The lead is bounded once and for all: it
//! does not add up.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};

use crate::pacing::NEVER;

/// Arrivals of the worker that one dispatcher may be ahead of the others: less than a queue holds, and so many that at
/// usual rates a thread which wakes up late keeps nobody waiting.
const LEAD: f64 = 500.0;
/// The lead in due time is never shorter.
const SHORTEST_NS: u64 = 50_000;

#[derive(Debug)]
#[repr(align(128))]
struct Frontier(AtomicU64);

/// Due times up to which the dispatchers of a worker have released everything, by priority.
#[derive(Debug)]
pub struct Pace {
    classes: Vec<Vec<Frontier>>,
    lead_ns: u64,
}

impl Pace {
    /// For so many priorities and dispatchers, and a rate of all together.
    pub fn new(classes: usize, dispatchers: usize, rate: f64) -> Self {
        // A cast of what is too large, or of no rate at all, ends at the largest number.
        let lead_ns = ((LEAD * 1e9 / rate) as u64).max(SHORTEST_NS);
        let frontiers = || (0..dispatchers).map(|_| Frontier(AtomicU64::new(0))).collect();
        Self { classes: (0..classes).map(|_| frontiers()).collect(), lead_ns }
    }

    /// A dispatcher has released everything of a priority that is due before `due_ns`.
    pub fn reached(&self, class: usize, dispatcher: usize, due_ns: u64) {
        if let Some(frontier) = self.classes.get(class).and_then(|c| c.get(dispatcher)) {
            frontier.0.store(due_ns, Release);
        }
    }

    /// The due time up to which a dispatcher may go for now.
    pub fn limit(&self, class: usize, dispatcher: usize) -> u64 {
        let all = self.classes.get(class).into_iter().flatten().enumerate();
        let others = all.filter(|(n, _)| *n != dispatcher).map(|(_, f)| f.0.load(Acquire));
        others.min().unwrap_or(NEVER).saturating_add(self.lead_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_ahead_of_the_others_by_more_than_the_lead() {
        // 500 arrivals at 1,000,000 a second.
        let pace = Pace::new(2, 3, 1e6);
        pace.reached(0, 0, 900_000);
        assert_eq!([0, 1].map(|me| pace.limit(0, me)), [500_000; 2]);
        pace.reached(0, 1, 700_000);
        pace.reached(0, 2, NEVER);
        assert_eq!([0, 1, 2].map(|me| pace.limit(0, me)), [1_200_000, 1_400_000, 1_200_000]);
        // Other priorities go their own way.
        assert_eq!(pace.limit(1, 2), 500_000);
        // As fast as it goes, and alone.
        assert_eq!(Pace::new(1, 2, 1e7).limit(0, 0), SHORTEST_NS);
        assert_eq!(Pace::new(1, 1, 0.0).limit(0, 0), NEVER);
    }
}
