//! A run on the virtual clock: a loop over events in one thread, where time passes only from event
//! to event and every result is exact.
//!
//! The parts are those of real time: generators, due times, dispatcher, queues, records, samples. Only
//! the lanes have no threads and the devices answer at once, saying when.
//!
//! Order of events at the same time: answers, the end of the interval, arrivals. An I/O that is done
//! exactly at the end of an interval belongs to it.
//!
//! Nothing keeps such a run from being far ahead of the master, whose answers come in real time. So where the master has
//! a say the clock stands still: when all data was gone through, a worker that is alone waits for the stop that follows,
//! and its last interval ends there; one of several, which go in lockstep, ends its interval and waits for leave to begin
//! the next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use brunt_plan::work::{Target, WorkerShare};

use crate::crew::Crew;
use crate::device::sim::SimDevice;
use crate::dispatch::Dispatcher;
use crate::record::ThreadWriter;
use crate::reporter::Reporter;
use crate::shared::Shared;

/// The clock at the start of the run; 0 would mean "nothing in flight".
const START_NS: u64 = 1_000_000_000;
/// Events between two looks at whether the run was stopped.
const LOOK: u32 = 1024;

/// A run on the virtual clock.
pub struct VirtualRun {
    crew: Crew,
    writer: ThreadWriter,
    devices: Vec<Arc<SimDevice>>,
    targets: Vec<Target>,
    dispatcher: Option<Dispatcher>,
    /// Answers to come: time, order of issue, lane.
    answers: BinaryHeap<Reverse<(u64, u64, u32)>>,
    /// What they are, by lane.
    results: Vec<Result<u64, i32>>,
    issued: u64,
    shared: Arc<Shared>,
    reporter: Reporter,
    lockstep: bool,
}

impl VirtualRun {
    /// Of a share whose targets are all simulated.
    pub fn new(
        share: &WorkerShare,
        (crew, writer, dispatcher): (Crew, ThreadWriter, Option<Dispatcher>),
        devices: Vec<Arc<SimDevice>>,
        shared: Arc<Shared>,
        reporter: Reporter,
    ) -> Self {
        let (answers, results) = (BinaryHeap::new(), vec![Ok(0); crew.lanes().len()]);
        let (targets, lockstep, issued) = (share.targets.clone(), share.lockstep, 0);
        Self { crew, writer, devices, targets, dispatcher, answers, results, issued, shared, reporter, lockstep }
    }

    /// Waits for the start, which is now, and runs.
    pub fn run(&mut self) {
        if self.shared.gate.wait().is_none() {
            return;
        }
        self.reporter.start(START_NS);
        if let Some(dispatcher) = &mut self.dispatcher {
            dispatcher.start(START_NS);
        }
        self.run_events();
        self.drain();
        self.reporter.finish(&[], &self.targets);
    }

    /// Until the run is over.
    fn run_events(&mut self) {
        let mut now = START_NS;
        self.release(now);
        let mut count = 0u32;
        loop {
            count = count.wrapping_add(1);
            if self.must_end(count) {
                return self.reporter.cut(now);
            }
            let boundary = self.reporter.boundary_ns();
            let (answer, due) = (self.next_answer(), self.next_due());
            if answer <= boundary && answer <= due {
                now = answer;
                self.answered();
            } else if boundary <= due {
                now = boundary;
                if self.reporter.sample(now) || !self.may_go_on() {
                    return;
                }
            } else {
                now = due;
                self.release(now);
            }
        }
    }

    fn next_answer(&self) -> u64 {
        self.answers.peek().map_or(u64::MAX, |Reverse((at, ..))| *at)
    }

    fn next_due(&self) -> u64 {
        self.dispatcher.as_ref().and_then(|d| d.next_due(0)).unwrap_or(u64::MAX)
    }

    /// Whether the run shall end before the next event. Holds the clock where that is not yet known.
    fn must_end(&mut self, count: u32) -> bool {
        let sequential_news = self.reporter.sequential_news();
        if sequential_news {
            self.reporter.news();
        }
        let nothing_comes = self.next_answer() == u64::MAX && self.next_due() == u64::MAX;
        if !self.lockstep && (sequential_news || nothing_comes && !self.reporter.has_end()) {
            self.reporter.news();
            self.stand_still(|| self.shared.stop_after().is_some());
            return self.reporter.stop_now();
        }
        count.is_multiple_of(LOOK) && self.reporter.stop_now()
    }

    /// An interval is over. False when the run is, too.
    fn may_go_on(&self) -> bool {
        if !self.lockstep {
            return true;
        }
        let next = self.reporter.count() + 1;
        self.stand_still(|| self.shared.granted() >= next);
        !self.reporter.stop_now()
    }

    /// Waits in real time until the run may go on, or a stop is asked for that holds by now.
    fn stand_still(&self, may_go_on: impl Fn() -> bool) {
        loop {
            let seen = self.shared.news.now();
            if may_go_on() || self.reporter.stop_now() {
                return;
            }
            self.shared.news.wait(seen, None);
        }
    }

    /// The first answer comes; its lane goes on.
    fn answered(&mut self) {
        if let Some(now) = self.finish_first() {
            self.employ(now);
            // Room in a queue that was full lets more in at once.
            self.release(now);
        }
    }

    fn finish_first(&mut self) -> Option<u64> {
        let Reverse((now, _, lane)) = self.answers.pop()?;
        let result = self.results.get(lane as usize).copied().unwrap_or(Ok(0));
        self.crew.finish(&mut self.writer.enter(), lane, now, result);
        Some(now)
    }

    /// Puts what is due into the queues, and idle lanes to work.
    fn release(&mut self, now: u64) {
        while let Some(dispatcher) = &mut self.dispatcher {
            dispatcher.pump(now, usize::MAX, |_, _| None);
            dispatcher.arrivals(|target| self.crew.wake(target));
            if !self.crew.has_work() {
                return;
            }
            self.employ(now);
        }
        self.employ(now);
    }

    /// Gives orders to idle lanes while there are any.
    fn employ(&mut self, now: u64) {
        while let Some((lane, task)) = self.crew.next() {
            let Some(device) = self.devices.get(task.post as usize) else { return };
            let answer = device.answer(&task.order.access, now - START_NS);
            if let Some(result) = self.results.get_mut(lane as usize) {
                *result = answer.result;
            }
            self.crew.issue(&mut self.writer.enter(), lane, now);
            self.issued += 1;
            self.answers.push(Reverse((START_NS + answer.at_ns, self.issued, lane)));
        }
    }

    /// Lets what is in flight come back.
    fn drain(&mut self) {
        while self.finish_first().is_some() {}
    }
}
