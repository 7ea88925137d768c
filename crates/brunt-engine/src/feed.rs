//! Where the lanes of a target get their I/Os from in uncontrolled runs.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use crate::address::{Access, AddressStream, BATCH};
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
/// short lock and outside the measured time: what is sequential must reach the device in order.
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

#[derive(Debug, Clone)]
struct FreeMember {
    stream: AddressStream,
    /// I/Os left of the batch.
    left: u64,
    /// The next batch that no lane has taken.
    next_batch: Arc<AtomicU64>,
}

/// One lane's view of the generators of a target whose I/Os need no order. Each lane has a copy of
/// them and takes whole batches by number: no lock, and still each I/O is done once.
#[derive(Debug, Clone)]
pub struct FreeFeed {
    members: Vec<FreeMember>,
    turn: usize,
}

impl FreeFeed {
    /// The view of the first lane; the others get clones. `None` when some generator needs its order.
    pub fn new(streams: Vec<AddressStream>) -> Option<Self> {
        let member = |stream| FreeMember { stream, left: 0, next_batch: Arc::default() };
        let free = streams.iter().all(AddressStream::is_unordered);
        free.then(|| Self { members: streams.into_iter().map(member).collect(), turn: 0 })
    }

    /// The next I/O, of the generators in turn.
    #[inline]
    pub fn next(&mut self) -> Option<Order> {
        let local = self.turn;
        self.turn = if local + 1 < self.members.len() { local + 1 } else { 0 };
        let member = self.members.get_mut(local)?;
        if member.left == 0 {
            member.stream.go_to_batch(member.next_batch.fetch_add(1, Relaxed));
            member.left = BATCH;
        }
        member.left -= 1;
        let access = member.stream.next_for(0)?;
        Some(Order { local: local as u32, access, due_ns: None })
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

    fn feed(generators: &[Generator]) -> Feed {
        let shared = Arc::new(Shared::new(Tally::new(generators)));
        let member = |(generator, g)| Member { generator, stream: AddressStream::new(g, 1) };
        Feed::new(generators.iter().enumerate().map(member).collect(), shared)
    }

    #[test]
    fn the_sequence_is_that_of_the_generator_whichever_lanes_take_it() {
        let g = generator(5, Seek::Percent(50.0));
        let feed = feed(std::slice::from_ref(&g));
        let lanes = [0, 3, 1, 1, 7, 2, 0, 5];
        let got = (0..200).filter_map(|n| feed.next(lanes[n % lanes.len()]).map(|o| o.access));
        assert!(got.eq(AddressStream::new(&g, 1).take(200)));
    }

    #[test]
    fn free_lanes_do_each_io_of_the_generators_once() {
        let generators = [generator(5, Seek::Percent(100.0)), generator(6, Seek::Poisson { mid: 3.0 })];
        let streams: Vec<_> = generators.iter().map(|g| AddressStream::new(g, 1)).collect();
        let first = FreeFeed::new(streams.clone()).map(|f| vec![f.clone(), f.clone(), f]);
        let mut lanes = first.unwrap_or_default();
        // Batches of 16 and two generators: each lane takes whole batches of both.
        let got: Vec<Order> =
            (0..96).flat_map(|_| lanes.iter_mut().filter_map(FreeFeed::next).collect::<Vec<_>>()).collect();
        for (stream, local) in streams.into_iter().zip(0..) {
            let sorted = |mut all: Vec<Access>| {
                all.sort_by_key(|a| (a.lba, a.read));
                all
            };
            let mine = got.iter().filter(|o| o.local == local).map(|o| o.access).collect();
            assert_eq!(sorted(mine), sorted(stream.take(144).collect()));
        }
        assert!(FreeFeed::new(vec![AddressStream::new(&generator(5, Seek::Percent(99.0)), 1)]).is_none());
    }

    #[test]
    fn members_take_turns_and_the_rest_goes_on_without_those_that_ended() {
        let feed = feed(&[generator(1, Seek::Eof), generator(2, Seek::Percent(100.0))]);
        let got: Vec<u32> = (0..600).filter_map(|lane| feed.next(lane).map(|o| o.local)).collect();
        assert!(got[..512].chunks(2).all(|pair| pair == [0, 1]));
        assert!(got.len() == 600 && got[512..].iter().all(|local| *local == 1));
    }
}
