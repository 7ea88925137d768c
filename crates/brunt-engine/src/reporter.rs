//! Tells the worker what happens: samples at the ends of intervals, failures, ends of data.

use std::sync::Arc;

use brunt_plan::work::{IoErrorKind, IoFailure, Target, WorkerEvent};

use crate::clock::{now_ns, wall_ms};
use crate::collect::{Collector, PATIENCE};
use crate::device::Device;
use crate::shared::Shared;

/// Threads are emptied at least so often, so that none of their counts, which have 32 bits, runs over.
const GATHER_NS: u64 = 60_000_000_000;

/// Receives the events of a run, in order, from one thread.
pub type Events = Box<dyn Fn(WorkerEvent) + Send + Sync>;

/// Makes the events of a run.
pub struct Reporter {
    collector: Collector,
    shared: Arc<Shared>,
    events: Events,
    intervals: Option<u32>,
    interval_ns: u64,
    start_ns: u64,
    sequential_told: bool,
    /// Whether nothing was left to do when the current interval began.
    idle: bool,
}

impl Reporter {
    /// For a run of so many intervals.
    pub fn new(
        collector: Collector,
        shared: Arc<Shared>,
        events: Events,
        intervals: Option<u32>,
        interval_ns: u64,
    ) -> Self {
        let (start_ns, sequential_told, idle) = (0, false, false);
        Self { collector, shared, events, intervals, interval_ns, start_ns, sequential_told, idle }
    }

    /// The run starts at `start_ns`.
    pub fn start(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        self.collector.start(start_ns);
    }

    /// When the current interval shall end: a whole number of intervals after the start. Behind a stall (a machine
    /// that slept, a process that was stopped) intervals have half their length until they are on time again:
    /// those that were missed would last microseconds, and no rate over microseconds says anything.
    pub fn boundary_ns(&self) -> u64 {
        let intervals = u64::from(self.collector.count()) + 1;
        let planned = self.start_ns.saturating_add(self.interval_ns.saturating_mul(intervals));
        planned.max(self.collector.began_ns().saturating_add(self.interval_ns / 2))
    }

    /// Intervals so far.
    pub fn count(&self) -> u32 {
        self.collector.count()
    }

    /// Whether the run shall end without waiting for the end of the interval.
    pub fn stop_now(&self) -> bool {
        self.shared.stop_after().is_some_and(|n| n <= u64::from(self.collector.count()))
    }

    /// Whether the sample to be taken is the last, as far as is known.
    fn comes_last(&self) -> bool {
        let next = self.collector.count().saturating_add(1);
        self.shared.stop_after().is_some_and(|n| n <= u64::from(next)) || self.intervals.is_some_and(|n| next >= n)
    }

    /// Whether the end of the run is known: a number of intervals, or a stop that was asked for.
    pub fn has_end(&self) -> bool {
        self.intervals.is_some() || self.shared.stop_after().is_some()
    }

    /// Ends the interval and sends its sample. After the last one lanes issue nothing more, however long
    /// the receiver takes. True when it was that.
    pub fn sample(&mut self, now_ns: u64) -> bool {
        self.news();
        let last = self.comes_last();
        if last {
            // Before the sample: where lanes crowd a core, it waits for those that record.
            self.shared.stop_lanes();
        }
        let sample = self.collector.sample(now_ns, self.idle, last);
        self.idle = self.shared.tally.all_done();
        (self.events)(WorkerEvent::Interval(Box::new(sample)));
        last
    }

    /// Ends a run that was stopped at once: the last sample is shorter.
    pub fn cut(&mut self, now_ns: u64) {
        if now_ns > self.collector.began_ns() && self.start_ns > 0 {
            self.sample(now_ns);
        }
    }

    /// Whether all data was just gone through, and nobody told yet.
    pub fn sequential_news(&self) -> bool {
        !self.sequential_told && self.shared.tally.sequential_done()
    }

    /// Sends failures, and that all data was gone through, once.
    pub fn news(&mut self) {
        for failure in self.shared.take_failures() {
            (self.events)(WorkerEvent::Failure(failure));
        }
        if self.sequential_news() {
            self.sequential_told = true;
            (self.events)(WorkerEvent::SequentialDone);
        }
    }

    /// Real time: samples until the end of the run.
    pub fn run(&mut self) {
        loop {
            if !self.wait_for_boundary() {
                self.cut(now_ns());
                return;
            }
            if self.sample(now_ns()) {
                return;
            }
        }
    }

    /// False when the run shall end before.
    fn wait_for_boundary(&mut self) -> bool {
        let boundary = self.boundary_ns();
        let mut gather = self.collector.began_ns().saturating_add(GATHER_NS);
        loop {
            let seen = self.shared.news.now();
            self.news();
            if self.stop_now() {
                return false;
            }
            let now = now_ns();
            if now >= boundary {
                return true;
            }
            if now >= gather {
                self.collector.gather(now, Some(PATIENCE));
                gather = now.saturating_add(GATHER_NS);
            }
            self.shared.news.wait(seen, Some(boundary.min(gather)));
        }
    }

    /// All lanes are idle: closes the targets and says goodbye.
    pub fn finish(&mut self, devices: &[Device], targets: &[Target]) {
        for (device, target) in devices.iter().zip(targets) {
            if let Err(errno) = device.finish() {
                self.shared.failed(IoFailure {
                    sd: target.sd,
                    lun: target.lun.clone(),
                    read: false,
                    lba: 0,
                    xfer: 0,
                    error: IoErrorKind::Errno(errno),
                    at_ms: wall_ms(),
                });
            }
        }
        self.news();
        let more = self.shared.unlisted_failures();
        if more > 0 {
            self.log(format!("{more} more I/Os failed; they are counted but not listed"));
        }
        let totals = self.collector.totals(targets, now_ns());
        (self.events)(WorkerEvent::Totals(totals));
        (self.events)(WorkerEvent::Drained);
    }

    /// A line for the log.
    pub fn log(&self, text: String) {
        (self.events)(WorkerEvent::Log(text));
    }

    /// The worker cannot go on.
    pub fn fatal(&self, text: String) {
        (self.events)(WorkerEvent::Fatal(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Recording;
    use crate::tally::Tally;

    const INTERVAL: u64 = 1_000;

    fn reporter(start_ns: u64) -> Reporter {
        let collector = Collector::new(Recording::default(), Vec::new(), &[], &[], 0);
        let shared = Arc::new(Shared::new(Tally::new(&[])));
        let mut reporter = Reporter::new(collector, shared, Box::new(|_| {}), Some(30), INTERVAL);
        reporter.start(start_ns);
        reporter
    }

    /// Ends of the next intervals, each sampled so late.
    fn ends(reporter: &mut Reporter, late: &[u64]) -> Vec<u64> {
        let mut end = |late: &u64| {
            let boundary = reporter.boundary_ns();
            reporter.sample(boundary + late);
            boundary
        };
        late.iter().map(&mut end).collect()
    }

    #[test]
    fn intervals_end_on_whole_multiples_however_late_the_sample_is() {
        assert_eq!(ends(&mut reporter(70), &[0, 3, 0, 400, 0]), [1070, 2070, 3070, 4070, 5070]);
    }

    #[test]
    fn behind_a_stall_intervals_are_short_but_none_is_empty_and_the_plan_is_met_again() {
        let mut reporter = reporter(0);
        let ends = ends(&mut reporter, &[0, 2_700, 0, 0, 0, 0, 0, 0, 0]);
        // The second interval ends at 4700 in place of 2000.
        assert_eq!(ends, [1000, 2000, 5200, 5700, 6200, 6700, 7200, 8000, 9000]);
    }
}
