//! Sums of many times, for those who merge.
//!
//! A [`SparseHistogram`] is small and cheap to send, but adding to one moves what lies behind. Here a bucket has its
//! place: buckets come in blocks of 64 that are made when they are first used. Latencies use a few of the 62 blocks,
//! so that the sums of a thousand SDs take megabytes and not a hundred.

use crate::histogram::{BUCKETS, SparseHistogram};
use crate::timing::{OpTimes, Times, Timing};

const BLOCK: usize = 64;
const BLOCKS: usize = BUCKETS / BLOCK;
const _: () = assert!(BLOCKS * BLOCK == BUCKETS);

/// A histogram to add to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Blocks {
    /// Empty before the first addition.
    blocks: Vec<Option<Box<[u64; BLOCK]>>>,
    over: u64,
}

impl Blocks {
    fn block(&mut self, number: usize) -> Option<&mut [u64; BLOCK]> {
        if self.blocks.is_empty() {
            self.blocks.resize(BLOCKS, None);
        }
        Some(self.blocks.get_mut(number)?.get_or_insert_with(|| Box::new([0; BLOCK])))
    }

    fn add(&mut self, other: &SparseHistogram) {
        self.over += other.over;
        let mut rest = other.buckets.as_slice();
        while let Some((first, _)) = rest.first() {
            let number = usize::from(*first) / BLOCK;
            let end = rest.iter().position(|(b, _)| usize::from(*b) / BLOCK != number).unwrap_or(rest.len());
            let (of_block, others) = rest.split_at(end);
            if let Some(block) = self.block(number) {
                of_block.iter().for_each(|(b, n)| block[usize::from(*b) % BLOCK] += n);
            }
            rest = others;
        }
    }

    fn merge(&mut self, other: &Self) {
        self.over += other.over;
        for (number, theirs) in other.blocks.iter().enumerate() {
            if let (Some(theirs), Some(ours)) = (theirs, theirs.as_ref().and_then(|_| self.block(number))) {
                ours.iter_mut().zip(theirs.iter()).for_each(|(a, b)| *a += b);
            }
        }
    }

    fn count(&self) -> u64 {
        self.blocks.iter().flatten().flat_map(|block| block.iter()).sum()
    }

    fn to_sparse(&self) -> SparseHistogram {
        let used = self.blocks.iter().enumerate().filter_map(|(number, block)| Some((number, block.as_ref()?)));
        let buckets = used.flat_map(|(number, block)| {
            let counts = block.iter().enumerate().filter(|(_, n)| **n > 0);
            counts.map(move |(place, n)| ((number * BLOCK + place) as u16, *n))
        });
        SparseHistogram { buckets: buckets.collect(), over: self.over }
    }
}

/// Sums of [`Timing`]s.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TimingSum {
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
    hist: Blocks,
}

impl Default for TimingSum {
    fn default() -> Self {
        Self { sum_ns: 0, min_ns: u64::MAX, max_ns: 0, hist: Blocks::default() }
    }
}

impl TimingSum {
    fn spread(&mut self, sum_ns: u64, min_ns: u64, max_ns: u64) {
        self.sum_ns = self.sum_ns.saturating_add(sum_ns);
        self.min_ns = self.min_ns.min(min_ns);
        self.max_ns = self.max_ns.max(max_ns);
    }

    fn add(&mut self, other: &Timing) {
        if !other.is_empty() {
            self.spread(other.sum_ns, other.min_ns, other.max_ns);
            self.hist.add(&other.hist);
        }
    }

    fn merge(&mut self, other: &Self) {
        self.spread(other.sum_ns, other.min_ns, other.max_ns);
        self.hist.merge(&other.hist);
    }

    fn total(&self) -> Timing {
        match self.min_ns > self.max_ns {
            true => Timing::default(),
            false => {
                Timing { sum_ns: self.sum_ns, min_ns: self.min_ns, max_ns: self.max_ns, hist: self.hist.to_sparse() }
            }
        }
    }
}

/// Sums of [`OpTimes`]: service, due, queue, lateness.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct OpSum([TimingSum; 4]);

impl OpSum {
    fn add(&mut self, other: &OpTimes) {
        let OpSum([service, due, queue, lateness]) = self;
        service.add(&other.service);
        due.add(&other.due);
        queue.add(&other.queue);
        lateness.add(&other.lateness);
    }

    fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| a.merge(b));
    }

    fn total(&self) -> OpTimes {
        let [service, due, queue, lateness] = self.0.each_ref().map(TimingSum::total);
        OpTimes { service, due, queue, lateness }
    }
}

/// Sums of [`Times`]. The order in which they are added never shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TimesSum {
    read: OpSum,
    write: OpSum,
}

impl TimesSum {
    /// Adds times.
    pub fn add(&mut self, other: &Times) {
        self.read.add(&other.read);
        self.write.add(&other.write);
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &Self) {
        self.read.merge(&other.read);
        self.write.merge(&other.write);
    }

    /// Number of I/Os.
    pub fn count(&self) -> u64 {
        [&self.read, &self.write].into_iter().map(|op| op.0[0].hist.count()).sum()
    }

    /// What was added.
    pub fn total(&self) -> Times {
        Times { read: self.read.total(), write: self.write.total() }
    }
}
