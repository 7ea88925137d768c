//! I/Os that the kernel would not take.

use super::Completion;

/// Completions that were made here, not by the kernel. At most one for each lane, so that nothing is allocated.
#[derive(Debug)]
pub struct Refused(Vec<Completion>);

impl Refused {
    /// For so many lanes.
    pub fn new(lanes: u32) -> Self {
        Self(Vec::with_capacity(lanes as usize))
    }

    /// Notes one with its error number.
    pub fn add(&mut self, lane: u32, errno: i32) {
        self.0.push(Completion { lane, result: Err(errno) });
    }

    /// Gives one back.
    #[inline]
    pub fn take(&mut self) -> Option<Completion> {
        self.0.pop()
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
