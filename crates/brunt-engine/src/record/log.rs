//! What one thread writes down of the I/Os of its generators, in plain memory.
//!
//! All histograms of a set lie in one allocation, so that the kernel gives pages only where something was
//! counted: there may be thousands of generators with eight histograms of 16 KiB each.

use brunt_stats::histogram::{BUCKETS, bucket_of};
use brunt_stats::{OpStats, OpTimes, SparseHistogram, Times, Timing};

/// Times from here on are beyond the range of the histogram, and counted as such.
const LIMIT_NS: u64 = 1 << 40;

/// Service, due, queue, lateness.
const KINDS: usize = 4;

/// When an I/O of a paced run was wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When it was due.
    pub due_ns: u64,
    /// When it was due and a lane was free.
    pub idle_ns: u64,
}

/// One finished I/O.
#[derive(Debug, Clone, Copy)]
pub struct Done {
    /// Number of the generator within its thread.
    pub pair: u32,
    /// Whether it read.
    pub read: bool,
    /// Bytes asked for.
    pub bytes: u64,
    /// In paced runs.
    pub arrival: Option<Arrival>,
    /// When it was issued.
    pub issued_ns: u64,
    /// When it was done.
    pub done_ns: u64,
    /// Whether it failed.
    pub failed: bool,
}

/// Which histograms a generator needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kinds {
    /// It reads.
    pub read: bool,
    /// It writes.
    pub write: bool,
    /// Its I/Os have due times.
    pub due: bool,
}

/// Sum and range of one kind of time.
#[derive(Debug, Clone, Copy)]
struct Extent {
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
    over: u64,
}

const NOTHING: Extent = Extent { sum_ns: 0, min_ns: u64::MAX, max_ns: 0, over: 0 };

impl Extent {
    #[inline]
    fn record(&mut self, ns: u64) {
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        if ns >= LIMIT_NS {
            self.over += 1;
        }
    }

    /// Takes it out, with its counts.
    fn take(&mut self, counts: &mut [u32]) -> Timing {
        if self.min_ns > self.max_ns {
            return Timing::default();
        }
        let taken = std::mem::replace(self, NOTHING);
        let first = bucket_of(taken.min_ns);
        // Outside of the range nothing was counted; memory never used is never touched.
        let used = counts.get_mut(first..=bucket_of(taken.max_ns)).unwrap_or_default();
        let mut buckets = Vec::with_capacity(used.iter().filter(|n| **n > 0).count());
        for (count, bucket) in used.iter_mut().zip(first..).filter(|(n, _)| **n > 0) {
            buckets.push((bucket as u16, u64::from(std::mem::take(count))));
        }
        let hist = SparseHistogram { buckets, over: taken.over };
        Timing { sum_ns: taken.sum_ns, min_ns: taken.min_ns, max_ns: taken.max_ns, hist }
    }
}

/// Reads or writes of one generator.
#[derive(Debug)]
struct OpLog {
    ops: u64,
    bytes: u64,
    errors: u64,
    sum_sq_ns: u128,
    service: Extent,
    due: Extent,
    queue: Extent,
    lateness: Extent,
    /// Where its histograms begin among the counts of the set; nowhere when it has none.
    at: usize,
}

impl OpLog {
    fn new(at: usize) -> Self {
        let (ops, bytes, errors, sum_sq_ns) = (0, 0, 0, 0);
        let [service, due, queue, lateness] = [NOTHING; KINDS];
        Self { ops, bytes, errors, sum_sq_ns, service, due, queue, lateness, at }
    }

    #[inline]
    fn record(&mut self, counts: &mut [u32], done: &Done) {
        let ns = done.done_ns.saturating_sub(done.issued_ns);
        self.ops += 1;
        self.bytes += done.bytes;
        self.errors += u64::from(done.failed);
        self.sum_sq_ns += u128::from(ns) * u128::from(ns);
        self.service.record(ns);
        count(counts, self.at, ns);
        if let Some(Arrival { due_ns, idle_ns }) = done.arrival {
            let due = done.done_ns.saturating_sub(due_ns);
            self.due.record(due);
            count(counts, self.at.saturating_add(BUCKETS), due);
            let queue = idle_ns.saturating_sub(due_ns);
            self.queue.record(queue);
            count(counts, self.at.saturating_add(2 * BUCKETS), queue);
            let lateness = done.issued_ns.saturating_sub(idle_ns);
            self.lateness.record(lateness);
            count(counts, self.at.saturating_add(3 * BUCKETS), lateness);
        }
    }

    fn take(&mut self, counts: &mut [u32]) -> (OpStats, OpTimes) {
        if self.ops == 0 {
            return (OpStats::default(), OpTimes::default());
        }
        let mut kind = |extent: &mut Extent, n: usize| {
            let counts = self.at.checked_add(n * BUCKETS).and_then(|from| counts.get_mut(from..));
            extent.take(counts.unwrap_or_default())
        };
        let service = kind(&mut self.service, 0);
        let times = OpTimes {
            due: kind(&mut self.due, 1),
            queue: kind(&mut self.queue, 2),
            lateness: kind(&mut self.lateness, 3),
            service,
        };
        let Timing { sum_ns, min_ns, max_ns, .. } = times.service;
        let take = |n: &mut u64| std::mem::take(n);
        let (ops, bytes, errors) = (take(&mut self.ops), take(&mut self.bytes), take(&mut self.errors));
        let sum_sq_ns = std::mem::take(&mut self.sum_sq_ns);
        (OpStats { ops, bytes, errors, sum_ns, sum_sq_ns, min_ns, max_ns }, times)
    }
}

#[inline]
fn count(counts: &mut [u32], at: usize, ns: u64) {
    // The collector empties the counts long before 2³² I/Os could be in one: `Reporter::run`.
    if let Some(n) = counts.get_mut(at.saturating_add(bucket_of(ns))) {
        *n = n.wrapping_add(1);
    }
}

/// What was taken out of a set about one generator.
#[derive(Debug, Default)]
pub struct Taken {
    /// Sums of reads.
    pub read: OpStats,
    /// Sums of writes.
    pub write: OpStats,
    /// Times.
    pub times: Times,
}

/// The generators of one thread.
#[derive(Debug)]
pub struct Set {
    pairs: Box<[[OpLog; 2]]>,
    counts: Box<[u32]>,
}

impl Set {
    /// With the histograms that are needed.
    pub fn new(kinds: &[Kinds]) -> Self {
        let mut length = 0;
        let mut place = |needed: bool, due: bool| {
            if !needed {
                return OpLog::new(usize::MAX);
            }
            let at = length;
            length += if due { KINDS * BUCKETS } else { BUCKETS };
            OpLog::new(at)
        };
        let pairs = kinds.iter().map(|k| [place(k.read, k.due), place(k.write, k.due)]).collect();
        Self { pairs, counts: vec![0; length].into_boxed_slice() }
    }

    /// Writes an I/O down.
    #[inline]
    pub fn record(&mut self, done: &Done) {
        if let Some([read, write]) = self.pairs.get_mut(done.pair as usize) {
            let op = if done.read { read } else { write };
            op.record(&mut self.counts, done);
        }
    }

    /// Takes out what is there of each generator, in order.
    pub fn take(&mut self) -> impl Iterator<Item = Taken> {
        let counts = &mut self.counts;
        self.pairs.iter_mut().map(|[read, write]| {
            let (read, read_times) = read.take(counts);
            let (write, write_times) = write.take(counts);
            Taken { read, write, times: Times { read: read_times, write: write_times } }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_stats::histogram::bucket_low;

    #[test]
    fn the_limit_is_that_of_the_histogram() {
        assert_eq!(bucket_low(BUCKETS), LIMIT_NS);
    }

    #[test]
    fn parts_add_up_and_leave_nothing_behind() {
        let mut set =
            Set::new(&[Kinds { read: false, write: true, due: true }, Kinds { read: true, write: false, due: false }]);
        let arrival = Some(Arrival { due_ns: 100, idle_ns: 130 });
        let done = Done { pair: 0, read: false, bytes: 512, arrival, issued_ns: 150, done_ns: 5_150, failed: true };
        set.record(&done);
        set.record(&Done { pair: 1, read: true, arrival: None, done_ns: 150 + LIMIT_NS, failed: false, ..done });
        let [first, second] = <[Taken; 2]>::try_from(set.take().collect::<Vec<_>>()).unwrap_or_default();
        let parts = &first.times.write;
        let sums = [&parts.due, &parts.queue, &parts.lateness, &parts.service].map(|t| (t.sum_ns, t.count()));
        assert_eq!(sums, [(5_050, 1), (30, 1), (20, 1), (5_000, 1)]);
        assert_eq!((first.write.ops, first.write.errors, first.read.ops), (1, 1, 0));
        assert_eq!((second.read.max_ns, second.times.read.service.hist.over), (LIMIT_NS, 1));
        assert!(second.times.read.due.is_empty());
        assert!(set.take().all(|t| t.read.ops + t.write.ops == 0 && t.times.is_empty()));
        assert!(set.counts.iter().all(|n| *n == 0));
    }
}
