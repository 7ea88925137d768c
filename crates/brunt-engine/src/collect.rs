//! From what lanes recorded to the samples of intervals.

use std::sync::Arc;

use brunt_plan::work::{Generator, Target};
use brunt_stats::{Cell, IntervalSample, PairSample, PairTimes, Times};

use crate::record::{Kinds, LaneLog, PairLog, Recording};

/// One (workload × SD) of the share.
#[derive(Debug)]
struct Pair {
    workload: u32,
    sd: u32,
    total: PairLog,
    /// Age of what is in flight now, which the intervals before have counted.
    carried_ns: u64,
    carry_next_ns: u64,
}

/// The histograms that a generator needs.
pub fn kinds(generator: &Generator, paced: bool) -> Kinds {
    Kinds { read: generator.read_pct > 0.0, write: generator.read_pct < 100.0, due: paced }
}

/// Takes samples.
#[derive(Debug)]
pub struct Collector {
    recording: Recording,
    /// Of each lane, the pairs of its target's generators.
    lane_pairs: Vec<Vec<usize>>,
    pairs: Vec<Pair>,
    start_ns: u64,
    from_ns: u64,
    count: u32,
}

impl Collector {
    /// For the generators of a share. `lane_pairs` holds for each lane the generators of its target.
    pub fn new(
        recording: Recording,
        lane_pairs: Vec<Vec<usize>>,
        generators: &[Generator],
        targets: &[Target],
        paced: bool,
    ) -> Self {
        let pair = |g: &Generator| Pair {
            workload: g.workload,
            sd: targets.get(g.target as usize).map_or(0, |t| t.sd),
            total: PairLog::new(kinds(g, paced)),
            carried_ns: 0,
            carry_next_ns: 0,
        };
        Self { recording, lane_pairs, pairs: generators.iter().map(pair).collect(), start_ns: 0, from_ns: 0, count: 0 }
    }

    /// The run starts now.
    pub fn start(&mut self, start_ns: u64) {
        (self.start_ns, self.from_ns) = (start_ns, start_ns);
    }

    /// All lanes.
    pub fn lanes(&self) -> &[Arc<LaneLog>] {
        self.recording.lanes()
    }

    /// How many samples were taken.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// When the current interval began.
    pub fn began_ns(&self) -> u64 {
        self.from_ns
    }

    /// Ends the current interval.
    pub fn sample(&mut self, now_ns: u64, idle: bool) -> IntervalSample {
        let Self { recording, lane_pairs, pairs, .. } = self;
        recording.flip(now_ns, |lane, set, in_flight| {
            let Some(numbers) = lane_pairs.get(lane) else { return };
            for (log, number) in set.iter_mut().zip(numbers) {
                if let Some(pair) = pairs.get_mut(*number) {
                    log.drain_into(&mut pair.total);
                }
            }
            if let Some(f) = in_flight
                && let Some(pair) = numbers.get(f.local as usize).and_then(|n| pairs.get_mut(*n))
            {
                pair.carry_next_ns += now_ns - f.issued_ns;
            }
        });
        self.count += 1;
        let taken: Vec<_> = self.pairs.iter_mut().filter_map(Pair::take).collect();
        let mut times = Times::default();
        taken.iter().for_each(|(_, pair)| times.merge(&pair.times));
        let (pairs, pair_times) = taken.into_iter().unzip();
        let sample = IntervalSample {
            interval: self.count,
            start_ns: self.from_ns.saturating_sub(self.start_ns),
            end_ns: now_ns.saturating_sub(self.start_ns),
            pairs,
            times,
            pair_times,
            cpu: None,
            io_cpu: None,
            idle,
        };
        self.from_ns = now_ns;
        sample
    }
}

impl Pair {
    fn take(&mut self) -> Option<(PairSample, PairTimes)> {
        let next = std::mem::take(&mut self.carry_next_ns);
        let carried = std::mem::replace(&mut self.carried_ns, next);
        let read = std::mem::take(&mut self.total.read);
        let write = std::mem::take(&mut self.total.write);
        let busy_ns = (read.sum_ns + write.sum_ns + next).saturating_sub(carried);
        if read.ops + write.ops + busy_ns == 0 {
            return None;
        }
        let (workload, sd) = (self.workload, self.sd);
        let cell = Cell { read, write, busy_ns };
        Some((PairSample { workload, sd, cell }, PairTimes { workload, sd, times: self.total.take_times() }))
    }
}
