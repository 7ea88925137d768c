//! Where the lanes of a target get their I/Os from in uncontrolled runs.
//!
//! A reactor owns its generators and just asks them: [`Members`]. Blocking lanes are threads, and come to terms in one
//! of two ways. Where the n-th I/O of each generator is known by its number (those at random addresses, and plain
//! sequential ones of one size and one operation) a lane claims numbers: [`FreeFeed`]. What remains (sequential with
//! `streams=`, `stride=`, mixed sizes or operations, or a seek now and then) is under a lock: [`Feed`].

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use crate::address::{Access, AddressStream, BATCH, Blocks};
use crate::record::Arrival;
use crate::shared::Shared;

/// The due time of I/Os of uncontrolled runs.
pub const UNPACED: u64 = u64::MAX;

/// An I/O handed to a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// Number of the generator within its target.
    pub local: u32,
    /// What to do.
    pub access: Access,
    /// When it was due; [`UNPACED`] where nothing is.
    pub due_ns: u64,
    /// When it could be issued as far as other targets and the generator go: when it was due, or when a full queue somewhere
    /// no longer held it back, or when the generator was there again.
    pub ready_ns: u64,
    /// How much of that is the generator's doing: it was not there while a lane was idle.
    pub late_ns: u64,
    /// Whether a blocking lane slept for it when it arrived.
    pub awaited: bool,
}

impl Order {
    /// Of an uncontrolled run.
    #[inline]
    fn free(local: usize, access: Access) -> Self {
        Self { local: local as u32, access, due_ns: UNPACED, ready_ns: 0, late_ns: 0, awaited: false }
    }

    /// When it was wanted, taken by a lane that is free since `free_ns`. What arrived while a lane slept that nobody else
    /// was coming for was not kept waiting by the device.
    #[inline]
    pub fn arrival(&self, free_ns: u64) -> Option<Arrival> {
        (self.due_ns != UNPACED).then(|| {
            let from_ns = if self.awaited { self.ready_ns } else { self.ready_ns.max(free_ns) };
            Arrival { due_ns: self.due_ns, idle_ns: from_ns.saturating_sub(self.late_ns) }
        })
    }
}

/// One generator of a target.
#[derive(Debug)]
pub struct Member {
    /// Index in the share.
    pub generator: usize,
    /// Its I/Os.
    pub stream: AddressStream,
}

/// The generators of one target. Lanes take from them in turn (`docs/vdbench/raw.md` §8.1).
#[derive(Debug)]
pub struct Members {
    all: Vec<Member>,
    turn: usize,
    shared: Arc<Shared>,
}

impl Members {
    /// Of a target.
    pub fn new(all: Vec<Member>, shared: Arc<Shared>) -> Self {
        Self { all, turn: 0, shared }
    }

    /// The next I/O for a lane, counted within the target. `None`: nothing will come for it any more.
    #[inline]
    pub fn next(&mut self, lane: usize) -> Option<Order> {
        let mut order = Order::free(0, Access { read: true, hit: false, lba: 0, len: 0 });
        self.next_into(&mut order, lane).then_some(order)
    }

    /// The same into a place, which stays as it is when nothing comes: an order is long to copy.
    #[inline]
    pub fn next_into(&mut self, order: &mut Order, lane: usize) -> bool {
        if let [member] = self.all.as_mut_slice() {
            return member.next(order, 0, lane, &self.shared);
        }
        for _ in 0..self.all.len() {
            let local = self.turn;
            self.turn = if local + 1 < self.all.len() { local + 1 } else { 0 };
            if self.all.get_mut(local).is_some_and(|m| m.next(order, local, lane, &self.shared)) {
                return true;
            }
        }
        false
    }
}

impl Member {
    /// Always inline: a call is a tenth of what it does.
    #[inline(always)]
    fn next(&mut self, order: &mut Order, local: usize, lane: usize, shared: &Shared) -> bool {
        let had_ended = self.stream.ended();
        if let Some(access) = self.stream.next_for(lane) {
            if self.stream.is_eof() {
                shared.tally.issued(self.generator);
            }
            (order.local, order.access) = (local as u32, access);
            return true;
        }
        if !had_ended && self.stream.ended() && shared.tally.ended(self.generator) {
            shared.news.ring();
        }
        false
    }
}

/// The generators of one target whose order only a lock keeps. It is short, and outside of the measured time.
#[derive(Debug)]
pub struct Feed(Mutex<Members>);

impl Feed {
    /// A feed.
    pub fn new(members: Members) -> Self {
        Self(Mutex::new(members))
    }

    /// The next I/O for a lane, counted within the target. `None`: nothing will come for it any more.
    #[inline]
    pub fn next(&self, lane: usize) -> Option<Order> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).next(lane)
    }
}

#[derive(Debug, Clone)]
enum FreeMember {
    /// In any order.
    Random {
        stream: Box<AddressStream>,
        /// I/Os left of the batch.
        left: u64,
        /// The next batch that no lane has taken.
        next_batch: Arc<AtomicU64>,
    },
    /// One block after the other.
    Sequential { blocks: Blocks, next: Arc<AtomicU64> },
}

impl FreeMember {
    fn new(stream: AddressStream) -> Option<Self> {
        if let Some(blocks) = stream.blocks() {
            return Some(Self::Sequential { blocks, next: Arc::default() });
        }
        stream.is_unordered().then(|| Self::Random { stream: Box::new(stream), left: 0, next_batch: Arc::default() })
    }

    #[inline]
    fn next(&mut self) -> Option<Access> {
        match self {
            Self::Random { stream, left, next_batch } => {
                if *left == 0 {
                    stream.go_to_batch(next_batch.fetch_add(1, Relaxed));
                    *left = BATCH;
                }
                *left -= 1;
                stream.next_for(0)
            }
            Self::Sequential { blocks, next } => blocks.get(next.fetch_add(1, Relaxed)),
        }
    }
}

/// One lane's view of the generators of a target whose I/Os are known by their numbers. Each lane has a copy of them
/// and claims numbers: no lock, and still each I/O is done once.
#[derive(Debug, Clone)]
pub struct FreeFeed {
    members: Vec<FreeMember>,
    turn: usize,
}

impl FreeFeed {
    /// The view of the first lane; the others get clones. `None` when some generator needs a lock. How many I/Os those
    /// that end will have is known from the start, and noted.
    pub fn new(members: &[Member], shared: &Shared) -> Option<Self> {
        let free: Vec<_> = members.iter().map(|m| FreeMember::new(m.stream.clone())).collect::<Option<_>>()?;
        for (member, free) in members.iter().zip(&free) {
            if let FreeMember::Sequential { blocks, .. } = free
                && let Some(count) = blocks.limit()
            {
                shared.tally.expect(member.generator, count);
            }
        }
        Some(Self { members: free, turn: 0 })
    }

    /// The next I/O, of the generators in turn. `None`: nothing will come any more.
    #[inline]
    pub fn next(&mut self) -> Option<Order> {
        for _ in 0..self.members.len() {
            let local = self.turn;
            self.turn = if local + 1 < self.members.len() { local + 1 } else { 0 };
            if let Some(access) = self.members.get_mut(local).and_then(FreeMember::next) {
                return Some(Order::free(local, access));
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

    fn members(generators: &[Generator]) -> Vec<Member> {
        let member = |(generator, g)| Member { generator, stream: AddressStream::new(g, 1) };
        generators.iter().enumerate().map(member).collect()
    }

    fn feed(generators: &[Generator]) -> Feed {
        Feed::new(Members::new(members(generators), Arc::new(Shared::new(Tally::new(generators)))))
    }

    fn free(generators: &[Generator]) -> Option<FreeFeed> {
        FreeFeed::new(&members(generators), &Shared::new(Tally::new(generators)))
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
        let first = free(&generators).map(|f| vec![f.clone(), f.clone(), f]);
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
        assert!(free(&[generator(5, Seek::Percent(99.0))]).is_none());
    }

    #[test]
    fn sequential_blocks_are_claimed_by_number_each_once_in_order() {
        let reads =
            |seek, high| Generator { read_pct: 100.0, miss: Area { low: 512, high, wrap: None }, ..generator(1, seek) };
        // The last block is short; the second generator begins anew.
        let generators = [reads(Seek::Eof, 40_000), reads(Seek::Percent(0.0), 9_000)];
        {
            let shared = Shared::new(Tally::new(&generators));
            let first = FreeFeed::new(&members(&generators), &shared);
            let mut lanes = first.map(|f| vec![f.clone(), f.clone(), f]).unwrap_or_default();
            let got: Vec<Order> = (0..90).filter_map(|n| lanes.get_mut(n % 3).and_then(FreeFeed::next)).collect();
            assert_eq!(got.len(), 90);
            for (g, local) in generators.iter().zip(0..) {
                let mine = got.iter().filter(|o| o.local == local).map(|o| o.access);
                assert!(mine.eq(AddressStream::new(g, 1).take(90).take(if local == 0 { 10 } else { 80 })));
            }
            assert!(!shared.tally.sequential_done());
            assert_eq!((0..10).filter(|_| shared.tally.completed(0)).count(), 1);
            assert!(shared.tally.sequential_done());
        }
        let mixed = Generator { read_pct: 50.0, ..reads(Seek::Eof, 40_000) };
        let strided = Generator { stride: Some((0, 4096)), ..reads(Seek::Percent(0.0), 40_000) };
        assert!([mixed, strided].into_iter().all(|g| free(&[g]).is_none()));
    }

    #[test]
    fn members_take_turns_and_the_rest_goes_on_without_those_that_ended() {
        let feed = feed(&[generator(1, Seek::Eof), generator(2, Seek::Percent(100.0))]);
        let got: Vec<u32> = (0..600).filter_map(|lane| feed.next(lane).map(|o| o.local)).collect();
        assert!(got[..512].chunks(2).all(|pair| pair == [0, 1]));
        assert!(got.len() == 600 && got[512..].iter().all(|local| *local == 1));
    }
}
