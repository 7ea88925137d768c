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

/// So many I/Os a lane takes at once where their order is of no account.
pub const BATCH: usize = 16;

/// The generators of one target. Lanes take from them in turn (`docs/vdbench/raw.md` §8.1), each under a
/// short lock and outside the measured time: the n-th I/O of a generator must be the same whichever
/// lane takes it. Random ones are taken in batches, so that hundreds of lanes do not meet at the
/// lock; sequential ones one by one, so that they reach the device in order.
#[derive(Debug)]
pub struct Feed {
    members: Mutex<Members>,
    batch: usize,
    shared: Arc<Shared>,
}

impl Feed {
    /// A feed.
    pub fn new(all: Vec<Member>, shared: Arc<Shared>) -> Self {
        let batch = if all.iter().all(|m| m.stream.is_unordered()) { BATCH } else { 1 };
        Self { members: Mutex::new(Members { all, turn: 0 }), batch, shared }
    }

    /// Puts the next I/Os for a lane, counted within the target, into its empty stash, the first at
    /// the end. None: nothing will come for it any more. The stash has room for [`BATCH`].
    pub fn take(&self, lane: usize, stash: &mut Vec<Order>) {
        let mut members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        stash.extend((0..self.batch).map_while(|_| self.next(&mut members, lane)));
        drop(members);
        stash.reverse();
    }

    #[inline]
    fn next(&self, members: &mut Members, lane: usize) -> Option<Order> {
        let Members { all, turn } = members;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::Tally;
    use brunt_plan::work::{Area, Generator, Seek, Xfer};

    fn generator(stream: u64, seek: Seek) -> Generator {
        Generator {
            workload: 0,
            target: 0,
            stream,
            rate: 0.0,
            priority: None,
            read_pct: 70.0,
            read_hit_pct: 0.0,
            write_hit_pct: 0.0,
            xfer: Xfer::Fixed(4096),
            seek,
            miss: Area { low: 0, high: 1 << 20, wrap: None },
            hit: None,
            align: None,
            stride: None,
            hotband: None,
            streams: Vec::new(),
        }
    }

    fn take(feed: &Feed, lane: usize) -> Vec<Order> {
        let mut stash = Vec::new();
        feed.take(lane, &mut stash);
        stash.reverse();
        stash
    }

    fn feed(generators: &[Generator]) -> Feed {
        let shared = Arc::new(Shared::new(Tally::new(generators)));
        let member = |(generator, g)| Member { generator, stream: AddressStream::new(g, 1) };
        Feed::new(generators.iter().enumerate().map(member).collect(), shared)
    }

    #[test]
    fn the_sequence_is_that_of_the_generator_whichever_lanes_take_it() {
        for (seek, batch) in [(50.0, 1), (100.0, BATCH)] {
            let g = generator(5, Seek::Percent(seek));
            let feed = feed(std::slice::from_ref(&g));
            let lanes = [0, 3, 1, 1, 7, 2, 0, 5];
            let got: Vec<_> = lanes.iter().flat_map(|lane| take(&feed, *lane)).map(|o| o.access).collect();
            assert_eq!(got.len(), lanes.len() * batch);
            assert!(got.into_iter().eq(AddressStream::new(&g, 1).take(lanes.len() * batch)));
        }
    }

    #[test]
    fn members_take_turns_and_the_rest_goes_on_without_those_that_ended() {
        let feed = feed(&[generator(1, Seek::Eof), generator(2, Seek::Percent(100.0))]);
        let got: Vec<u32> = (0..600).flat_map(|lane| take(&feed, lane)).map(|o| o.local).collect();
        assert!(got[..512].chunks(2).all(|pair| pair == [0, 1]));
        assert!(got.len() == 600 && got[512..].iter().all(|local| *local == 1));
    }
}
