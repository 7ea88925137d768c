//! Workers that have measured something: what they would send for an interval.
//!
//! Response times are log-normal around 100 µs, and one in 200 takes 20 times as long. As in the engine, the times of
//! all I/Os and the sums of every pair come with each sample, and the times of single pairs in turn, as many as fit
//! a budget of bytes; a pair's times grow until it is its turn.

use brunt_plan::work::WorkerEvent;
use brunt_proto::v1;
use brunt_stats::{Cell, Histogram, IntervalSample, OpStats, OpTimes, PairSample, PairTimes, Times, Timing};

/// Bytes of a message for the times of single pairs.
const BUDGET: usize = 8 << 10;
const MEDIAN_NS: f64 = 100_000.0;
const SIGMA: f64 = 0.5;
const OUTLIERS_IN: u64 = 200;
const OUTLIER_FACTOR: f64 = 20.0;

/// One worker with one workload on some SDs.
pub struct Worker {
    random: u64,
    paced: bool,
    owed: Vec<Parts>,
    turn: usize,
}

/// Of one pair: service and, when paced, due, queue and lateness.
#[derive(Default)]
struct Parts([Part; 4]);

#[derive(Default)]
struct Part(OpStats, Option<Histogram>);

impl Part {
    fn record(&mut self, ns: u64) {
        self.0.record(0, ns, false);
        self.1.get_or_insert_default().record(ns);
    }

    fn timing(&self) -> Timing {
        let hist = self.1.as_ref().map(Histogram::to_sparse).unwrap_or_default();
        Timing { sum_ns: self.0.sum_ns, min_ns: self.0.min_ns, max_ns: self.0.max_ns, hist }
    }
}

impl Parts {
    fn times(&self) -> Times {
        let [service, due, queue, lateness] = self.0.each_ref().map(Part::timing);
        Times { read: OpTimes { service, due, queue, lateness }, write: OpTimes::default() }
    }
}

impl Worker {
    /// With its own random numbers.
    pub fn new(seed: u64, sds: usize, paced: bool) -> Self {
        let random = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self { random, paced, owed: (0..sds).map(|_| Parts::default()).collect(), turn: 0 }
    }

    /// Does so many I/Os on each SD and tells of them.
    pub fn interval(&mut self, interval: u32, ios: u64) -> v1::WorkerMessage {
        let (mut all, mut pairs) = (Parts::default(), Vec::new());
        for sd in 0..self.owed.len() {
            let mut read = OpStats::default();
            for _ in 0..ios {
                let parts = self.parts();
                read.record(8192, parts[0], false);
                let kinds = if self.paced { 4 } else { 1 };
                for (kind, ns) in parts.into_iter().enumerate().take(kinds) {
                    all.0[kind].record(ns);
                    self.owed[sd].0[kind].record(ns);
                }
            }
            let cell = Cell { read, busy_ns: read.sum_ns, ..Cell::default() };
            pairs.push(PairSample { workload: 0, sd: sd as u32, cell });
        }
        let sample = IntervalSample {
            interval,
            start_ns: u64::from(interval) * 1_000_000_000,
            end_ns: u64::from(interval + 1) * 1_000_000_000,
            pairs,
            times: all.times(),
            pair_times: self.in_turn(),
            ..IntervalSample::default()
        };
        v1::WorkerMessage {
            worker: 0,
            seq: 0,
            run_id: None,
            event: Some(WorkerEvent::Interval(Box::new(sample)).into()),
        }
    }

    fn in_turn(&mut self) -> Vec<PairTimes> {
        let (mut told, mut room) = (Vec::new(), BUDGET);
        while told.len() < self.owed.len() {
            let times = self.owed[self.turn].times();
            let bytes: usize = [&times.read.service, &times.read.due, &times.read.queue, &times.read.lateness]
                .map(|timing| timing.hist.packed_len() + 24)
                .iter()
                .sum();
            let Some(left) = room.checked_sub(bytes) else { break };
            room = left;
            self.owed[self.turn] = Parts::default();
            told.push(PairTimes { workload: 0, sd: self.turn as u32, times });
            self.turn = (self.turn + 1) % self.owed.len();
        }
        told
    }

    /// Service, due, queue and lateness of an I/O.
    fn parts(&mut self) -> [u64; 4] {
        let factor = if self.next().is_multiple_of(OUTLIERS_IN) { OUTLIER_FACTOR } else { 1.0 };
        let service = MEDIAN_NS * (SIGMA * self.normal()).exp() * factor;
        let queue = if self.next().is_multiple_of(4) { MEDIAN_NS * self.uniform() } else { 0.0 };
        let lateness = 2_000.0 * (SIGMA * self.normal()).exp();
        [service, service + queue + lateness, queue, lateness].map(|ns| ns as u64)
    }

    fn normal(&mut self) -> f64 {
        let (a, b) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }

    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Xorshift64*.
    fn next(&mut self) -> u64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 3
    }
}
