//! From what threads recorded to the samples of intervals.

use std::sync::Arc;
use std::time::Duration;

use brunt_plan::work::{Generator, SdTotals, Target};
use brunt_stats::{Cell, IntervalSample, OpStats, PairSample, PairTimes, Times, TimesSum, Timing};

use crate::record::{Kinds, Part, Recording, Taken, ThreadLog};

/// Bytes that the times of single pairs may take in one message, about. With 64 pairs of 1,000 I/Os an interval a
/// message stays below 20 KiB.
const BUDGET: usize = 8 * 1024;
/// So long the end of an interval waits for threads that the system put aside while they were recording.
pub const PATIENCE: Duration = Duration::from_millis(5);
/// What a kind of time takes in a message beside its buckets, about.
const TIMING_BYTES: usize = 24;

/// One (workload × SD) of the share.
#[derive(Debug, Default)]
struct Pair {
    workload: u32,
    sd: u32,
    read: OpStats,
    write: OpStats,
    /// Times that were not sent yet.
    owed: TimesSum,
    /// Age of what is in flight, which the intervals before have counted.
    carried_ns: i128,
    /// Age of what is in flight now.
    in_flight_ns: i128,
    /// Since the start of the run.
    total: SdTotals,
}

/// The histograms that a generator needs.
pub fn kinds(generator: &Generator, paced: bool) -> Kinds {
    Kinds { read: generator.read_pct > 0.0, write: generator.read_pct < 100.0, due: paced }
}

/// Takes samples.
#[derive(Debug)]
pub struct Collector {
    recording: Recording,
    /// Of each thread, the pairs of its generators.
    thread_pairs: Vec<Vec<usize>>,
    pairs: Vec<Pair>,
    /// Of all pairs.
    times: TimesSum,
    /// The pair whose times are sent next.
    turn: usize,
    /// Up to this interval nothing stays owed.
    warmup: u32,
    start_ns: u64,
    from_ns: u64,
    count: u32,
}

impl Collector {
    /// For the generators of a share. `thread_pairs` holds for each thread its generators.
    pub fn new(
        recording: Recording,
        thread_pairs: Vec<Vec<usize>>,
        generators: &[Generator],
        targets: &[Target],
        warmup: u32,
    ) -> Self {
        let pair = |g: &Generator| {
            let sd = targets.get(g.target as usize).map_or(0, |t| t.sd);
            Pair { workload: g.workload, sd, total: SdTotals { sd, ..SdTotals::default() }, ..Pair::default() }
        };
        let pairs = generators.iter().map(pair).collect();
        let times = TimesSum::default();
        Self { recording, thread_pairs, pairs, times, turn: 0, warmup, start_ns: 0, from_ns: 0, count: 0 }
    }

    /// The run starts now.
    pub fn start(&mut self, start_ns: u64) {
        (self.start_ns, self.from_ns) = (start_ns, start_ns);
    }

    /// All threads.
    pub fn threads(&self) -> &[Arc<ThreadLog>] {
        self.recording.threads()
    }

    /// How many samples were taken.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// When the current interval began.
    pub fn began_ns(&self) -> u64 {
        self.from_ns
    }

    /// Takes from the threads what they have, without ending the interval. See [`Recording::flip`] for the patience.
    pub fn gather(&mut self, now_ns: u64, patience: Option<Duration>) {
        let Self { recording, thread_pairs, pairs, times, .. } = self;
        pairs.iter_mut().for_each(|p| p.in_flight_ns = 0);
        recording.flip(patience, |thread, part| {
            let numbers = thread_pairs.get(thread).map_or(&[][..], Vec::as_slice);
            match part {
                Part::Records(set) => {
                    for (taken, number) in set.take().zip(numbers) {
                        times.add(&taken.times);
                        if let Some(pair) = pairs.get_mut(*number) {
                            pair.add(&taken);
                        }
                    }
                }
                Part::InFlight(all) => {
                    for (flying, number) in all.iter().zip(numbers) {
                        if let Some(pair) = pairs.get_mut(*number) {
                            pair.in_flight_ns += i128::from(flying.age_ns(now_ns));
                        }
                    }
                }
            }
        });
    }

    /// Ends the current interval. With the `last` sample nothing stays owed.
    pub fn sample(&mut self, now_ns: u64, idle: bool, last: bool) -> IntervalSample {
        match last {
            // Both sets of all threads.
            true => (0..2).for_each(|_| self.gather(now_ns, None)),
            false => self.gather(now_ns, Some(PATIENCE)),
        }
        self.count += 1;
        let all = last || self.count <= self.warmup;
        let sample = IntervalSample {
            interval: self.count,
            start_ns: self.from_ns.saturating_sub(self.start_ns),
            end_ns: now_ns.saturating_sub(self.start_ns),
            pairs: self.pairs.iter_mut().filter_map(Pair::take).collect(),
            times: std::mem::take(&mut self.times).total(),
            pair_times: self.pair_times(if all { usize::MAX } else { BUDGET }),
            cpu: None,
            io_cpu: None,
            idle,
        };
        self.from_ns = now_ns;
        sample
    }

    /// Times of pairs in turn, as far as they have room; at least of one.
    fn pair_times(&mut self, budget: usize) -> Vec<PairTimes> {
        let (mut out, mut used) = (Vec::new(), 0usize);
        for _ in 0..self.pairs.len() {
            let Some(pair) = self.pairs.get_mut(self.turn) else { break };
            if pair.owed.count() > 0 {
                let times = pair.owed.total();
                used = used.saturating_add(size(&times));
                if used > budget && !out.is_empty() {
                    break;
                }
                pair.owed = TimesSum::default();
                out.push(PairTimes { workload: pair.workload, sd: pair.sd, times });
            }
            self.turn = (self.turn + 1) % self.pairs.len();
        }
        out
    }

    /// All that was done on each SD until now, also after the last sample.
    pub fn totals(&mut self, targets: &[Target], now_ns: u64) -> Vec<SdTotals> {
        (0..2).for_each(|_| self.gather(now_ns, None));
        let mut all: Vec<_> = targets.iter().map(|t| SdTotals { sd: t.sd, ..SdTotals::default() }).collect();
        for pair in &self.pairs {
            if let Some(sd) = all.iter_mut().find(|t| t.sd == pair.sd) {
                sd.reads += pair.total.reads;
                sd.read_bytes += pair.total.read_bytes;
                sd.writes += pair.total.writes;
                sd.write_bytes += pair.total.write_bytes;
            }
        }
        all
    }
}

/// Bytes of a message, about.
fn size(times: &Times) -> usize {
    let of = |t: &Timing| if t.is_empty() { 0 } else { TIMING_BYTES + t.hist.packed_len() };
    [&times.read, &times.write].iter().flat_map(|t| [&t.service, &t.due, &t.queue, &t.lateness]).map(of).sum()
}

impl Pair {
    fn add(&mut self, taken: &Taken) {
        self.read.merge(&taken.read);
        self.write.merge(&taken.write);
        self.owed.add(&taken.times);
        self.total.reads += taken.read.ops;
        self.total.read_bytes += taken.read.bytes;
        self.total.writes += taken.write.ops;
        self.total.write_bytes += taken.write.bytes;
    }

    fn take(&mut self) -> Option<PairSample> {
        let (read, write) = (std::mem::take(&mut self.read), std::mem::take(&mut self.write));
        let sum = i128::from(read.sum_ns) + i128::from(write.sum_ns);
        let busy = sum + self.in_flight_ns - self.carried_ns;
        // I/Os issued just after the end have a negative age; where nothing else makes up for it, it waits.
        let busy_ns = u64::try_from(busy.max(0)).unwrap_or(u64::MAX);
        self.carried_ns = self.in_flight_ns + i128::from(busy_ns) - busy;
        if read.ops + write.ops + busy_ns == 0 {
            return None;
        }
        Some(PairSample { workload: self.workload, sd: self.sd, cell: Cell { read, write, busy_ns } })
    }
}
