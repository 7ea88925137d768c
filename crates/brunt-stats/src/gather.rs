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
        let mut buckets = other.buckets.iter().peekable();
        while let Some((first, _)) = buckets.peek() {
            let number = usize::from(*first) / BLOCK;
            let Some(block) = self.block(number) else { return };
            while let Some((b, n)) = buckets.next_if(|(b, _)| usize::from(*b) / BLOCK == number) {
                block[usize::from(*b) % BLOCK] += n;
            }
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

    /// What was added, issued to done only.
    pub fn service(&self) -> Times {
        let of = |op: &OpSum| OpTimes { service: op.0[0].total(), ..OpTimes::default() };
        Times { read: of(&self.read), write: of(&self.write) }
    }

    /// What was added.
    pub fn total(&self) -> Times {
        Times { read: self.read.total(), write: self.write.total() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::Histogram;
    use crate::sample::OpStats;
    use crate::timing::QUANTILES;
    use proptest::prelude::*;

    /// What one recorder makes of times.
    fn recorded(ns: &[u64]) -> (OpStats, Timing) {
        let (mut stats, mut hist) = (OpStats::default(), Histogram::default());
        for ns in ns {
            stats.record(512, *ns, ns % 7 == 0);
            hist.record(*ns);
        }
        let timing =
            Timing { sum_ns: stats.sum_ns, min_ns: stats.min_ns, max_ns: stats.max_ns, hist: hist.to_sparse() };
        (stats, timing)
    }

    fn of(service: Timing) -> Times {
        Times { read: OpTimes { service, ..OpTimes::default() }, write: OpTimes::default() }
    }

    /// Times of all sizes, some beyond the range.
    fn times() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec(prop_oneof![0u64..2_000, 0u64..1 << 22, 0u64..1 << 42], 0..60)
    }

    /// Workers with their times, in some order.
    fn workers() -> impl Strategy<Value = Vec<Vec<u64>>> {
        prop::collection::vec(times(), 1..8).prop_shuffle()
    }

    proptest! {
        #[test]
        fn many_merged_are_one_recorder(workers in workers()) {
            let (stats, timing) = recorded(&workers.concat());
            let (mut sums, mut merged, mut gathered) = (OpStats::default(), Timing::default(), TimesSum::default());
            let mut halves = [TimesSum::default(), TimesSum::default()];
            for (n, (stats, timing)) in workers.iter().map(|ns| recorded(ns)).enumerate() {
                sums.merge(&stats);
                merged.merge(&timing);
                gathered.add(&of(timing.clone()));
                halves[n % 2].add(&of(timing));
            }
            prop_assert_eq!(sums, stats, "count, bytes, errors, sum, squares, min, max");
            prop_assert_eq!(&merged, &timing, "and what is beyond the range");
            let [mut half, other] = halves;
            half.merge(&other);
            prop_assert_eq!(half.count(), stats.ops);
            prop_assert_eq!(half.total(), gathered.total());
            prop_assert_eq!(gathered.total(), of(timing));
        }

        /// B23: a percentile above the largest makes all numbers doubtful.
        #[test]
        fn from_the_smallest_to_the_largest(workers in workers()) {
            let mut gathered = TimesSum::default();
            workers.iter().for_each(|ns| gathered.add(&of(recorded(ns).1)));
            let all = workers.concat();
            let total = gathered.total().read.service;
            prop_assert_eq!(total.summary().is_some(), !all.is_empty());
            if let Some(summary) = total.summary() {
                let rising: Vec<u64> = std::iter::once(summary.min_ns)
                    .chain(summary.quantiles_ns)
                    .chain(total.quantile(0.999_999))
                    .chain([summary.max_ns])
                    .collect();
                prop_assert!(rising.is_sorted(), "{:?}", rising);
                prop_assert_eq!((Some(&summary.min_ns), Some(&summary.max_ns)), (all.iter().min(), all.iter().max()));
                prop_assert_eq!(summary.over, all.iter().filter(|ns| **ns >= 1 << 40).count() as u64);
                prop_assert!((summary.min_ns as f64..=summary.max_ns as f64).contains(&summary.mean_ns));
            }
        }

        /// B29: percentiles of a fleet come from what all did; each lies at most a bucket above the true one.
        #[test]
        fn percentiles_are_those_of_all_times_together(workers in workers()) {
            let mut gathered = TimesSum::default();
            workers.iter().for_each(|ns| gathered.add(&of(recorded(ns).1)));
            let mut all = workers.concat();
            all.sort_unstable();
            let total = gathered.total().read.service;
            for (name, quantile) in QUANTILES {
                let Some(shown) = total.quantile(quantile) else { continue };
                let rank = (quantile * all.len() as f64).ceil() as usize;
                let exact = all[rank.max(1) - 1];
                let beyond = exact >= 1 << 40;
                let allowed = if beyond { total.max_ns } else { exact + (exact / 64).max(8) };
                prop_assert!((exact..=allowed).contains(&shown), "{}: {} for {}", name, shown, exact);
            }
        }
    }
}
