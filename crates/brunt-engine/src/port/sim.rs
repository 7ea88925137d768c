//! The simulated devices in real time: the answers are those of the virtual clock, given when they are due.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::{Completion, Port, Request};
use crate::clock::{now_ns, sleep_until};
use crate::device::sim::SimDevice;

/// So long before an answer it watches the clock: sleeping is not that exact.
const WATCH_NS: u64 = 60_000;

/// Answers to come.
#[derive(Debug)]
pub struct SimPort {
    devices: Vec<Arc<SimDevice>>,
    /// When, order of issue, lane.
    answers: BinaryHeap<Reverse<(u64, u64, u32)>>,
    results: Vec<Result<u64, i32>>,
    issued: u64,
    now_ns: u64,
}

impl SimPort {
    /// For devices, which requests name by their index, and so many lanes.
    pub fn new(devices: Vec<Arc<SimDevice>>, lanes: u32) -> Self {
        let answers = BinaryHeap::with_capacity(lanes as usize);
        Self { devices, answers, results: vec![Ok(0); lanes as usize], issued: 0, now_ns: 0 }
    }

    fn next_ns(&self) -> u64 {
        self.answers.peek().map_or(u64::MAX, |Reverse((at, ..))| *at)
    }
}

impl Port for SimPort {
    unsafe fn push(&mut self, request: &Request) {
        let Some(device) = self.devices.get(request.file as usize) else { return };
        let answer = device.answer_at(&request.access, now_ns());
        if let Some(result) = self.results.get_mut(request.lane as usize) {
            *result = answer.result;
        }
        self.issued += 1;
        self.answers.push(Reverse((answer.at_ns, self.issued, request.lane)));
    }

    fn submit(&mut self) {
        self.now_ns = now_ns();
    }

    fn wait(&mut self, deadline_ns: u64) {
        let next_ns = self.next_ns();
        // A sleep ends late; the clock is watched for an answer only.
        let sleep_ns = next_ns.saturating_sub(WATCH_NS).min(deadline_ns);
        if sleep_ns > now_ns() {
            sleep_until(sleep_ns);
        }
        self.now_ns = now_ns();
        while self.now_ns < next_ns.min(deadline_ns) {
            std::thread::yield_now();
            self.now_ns = now_ns();
        }
    }

    fn poll(&mut self) {
        self.now_ns = now_ns();
    }

    fn reap(&mut self) -> Option<Completion> {
        if self.next_ns() > self.now_ns {
            return None;
        }
        let Reverse((_, _, lane)) = self.answers.pop()?;
        Some(Completion { lane, result: self.results.get(lane as usize).copied().unwrap_or(Ok(0)) })
    }
}
