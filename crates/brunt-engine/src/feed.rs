//! Where the lanes of a target get their I/Os from in uncontrolled runs.

use std::sync::{Arc, Mutex, PoisonError};

use crate::address::{Access, AddressStream};
use crate::shared::Shared;

/// An I/O handed to a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// Number of the generator within its target.
    pub local: u32,
    /// What to do.
    pub access: Access,
    /// When it was due, in paced runs.
    pub due_ns: Option<u64>,
}

/// One generator of a target.
#[derive(Debug)]
pub struct Member {
    /// Index in the share.
    pub generator: usize,
    /// Its I/Os.
    pub stream: AddressStream,
}

#[derive(Debug)]
struct Members {
    all: Vec<Member>,
    turn: usize,
}

/// The generators of one target. Lanes take from them in turn (`docs/vdbench/raw.md` §8.1), each under a
/// short lock and outside the measured time: the n-th I/O of a generator must be the same whichever
/// lane takes it.
#[derive(Debug)]
pub struct Feed {
    members: Mutex<Members>,
    shared: Arc<Shared>,
}

impl Feed {
    /// A feed.
    pub fn new(all: Vec<Member>, shared: Arc<Shared>) -> Self {
        Self { members: Mutex::new(Members { all, turn: 0 }), shared }
    }

    /// The next I/O for a lane, counted within the target. `None`: nothing will come for it any more.
    #[inline]
    pub fn next(&self, lane: usize) -> Option<Order> {
        let mut members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        let Members { all, turn } = &mut *members;
        for _ in 0..all.len() {
            let local = *turn;
            *turn = if local + 1 < all.len() { local + 1 } else { 0 };
            let Some(member) = all.get_mut(local) else { continue };
            let had_ended = member.stream.ended();
            if let Some(access) = member.stream.next_for(lane) {
                self.shared.tally.issued(member.generator);
                return Some(Order { local: local as u32, access, due_ns: None });
            }
            if !had_ended && member.stream.ended() && self.shared.tally.ended(member.generator) {
                self.shared.news.ring();
            }
        }
        None
    }
}
