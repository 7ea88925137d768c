//! No device: every I/O is done at once. What is measured with it is the engine itself.

use std::collections::VecDeque;

use super::{Completion, Port, Request};
use crate::clock::sleep_until;

/// Answers at once.
#[derive(Debug)]
pub struct NullPort {
    done: VecDeque<Completion>,
}

impl NullPort {
    /// For so many lanes.
    pub fn new(lanes: u32) -> Self {
        Self { done: VecDeque::with_capacity(lanes as usize) }
    }
}

impl Port for NullPort {
    #[inline]
    unsafe fn push(&mut self, request: &Request) {
        self.done.push_back(Completion { lane: request.lane, result: Ok(request.access.len) });
    }

    #[inline]
    fn submit(&mut self) {}

    #[inline]
    fn wait(&mut self, deadline_ns: u64) {
        if self.done.is_empty() {
            sleep_until(deadline_ns);
        }
    }

    #[inline]
    fn poll(&mut self) {}

    #[inline]
    fn reap(&mut self) -> Option<Completion> {
        self.done.pop_front()
    }
}
