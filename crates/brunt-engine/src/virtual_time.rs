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
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use brunt_plan::work::WorkerShare;

use crate::assembly::Assembly;
use crate::device::sim::SimDevice;
use crate::dispatch::Dispatcher;
use crate::feed::Order;
use crate::reporter::{Events, Reporter};
use crate::seat::{Seat, Source};
use crate::shared::Shared;

/// The clock at the start of the run; 0 would mean "nothing in flight".
const START_NS: u64 = 1_000_000_000;
/// Events between two looks at whether the run was stopped.
const LOOK: u32 = 1024;

/// A lane that waits for its answer.
#[derive(Debug)]
struct Busy {
    order: Order,
    issued_ns: u64,
    result: Result<u64, i32>,
}

#[derive(Debug)]
struct Place {
    seat: Seat,
    busy: Option<Busy>,
}

/// A run on the virtual clock.
pub struct VirtualRun {
    places: Vec<Place>,
    /// Lanes with nothing to do, the longest idle first, by target.
    idle: Vec<VecDeque<usize>>,
    devices: Vec<Arc<SimDevice>>,
    dispatcher: Option<Dispatcher>,
    /// Answers to come: time, order of issue, lane.
    answers: BinaryHeap<Reverse<(u64, u64, usize)>>,
    issued: u64,
    shared: Arc<Shared>,
    reporter: Reporter,
    lockstep: bool,
}

impl VirtualRun {
    /// Of a share whose targets are all simulated.
    pub fn new(share: &WorkerShare, assembly: Assembly, devices: Vec<Arc<SimDevice>>, events: Events) -> Self {
        let Assembly { shared, seats, collector, dispatcher, .. } = assembly;
        let reporter = Reporter::new(collector, Arc::clone(&shared), events, share.intervals, share.interval_ns);
        let mut idle = vec![VecDeque::new(); share.targets.len()];
        for (n, seat) in seats.iter().enumerate() {
            idle[seat.target].push_back(n);
        }
        let places = seats.into_iter().map(|seat| Place { seat, busy: None }).collect();
        let (answers, lockstep) = (BinaryHeap::new(), share.lockstep);
        Self { places, idle, devices, dispatcher, answers, issued: 0, shared, reporter, lockstep }
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
        self.reporter.finish(&[], &[]);
    }

    /// Until the run is over.
    fn run_events(&mut self) {
        let mut now = START_NS;
        self.release(now);
        (0..self.idle.len()).for_each(|target| self.employ(target, now));
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
                self.reporter.sample(now);
                if self.reporter.is_last() || !self.may_go_on() {
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
        self.dispatcher.as_ref().and_then(Dispatcher::next_due).unwrap_or(u64::MAX)
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
        let Some(Reverse((now, _, lane))) = self.answers.pop() else { return };
        let Some(place) = self.places.get_mut(lane) else { return };
        if let Some(Busy { order, issued_ns, result }) = place.busy.take() {
            place.seat.finish(&order, issued_ns, now, result);
        }
        let target = place.seat.target;
        self.idle[target].push_back(lane);
        self.employ(target, now);
        // Room in a queue that was full lets more in at once.
        self.release(now);
    }

    /// Puts what is due into the queues, and idle lanes to work.
    fn release(&mut self, now: u64) {
        loop {
            let Some(dispatcher) = &mut self.dispatcher else { return };
            dispatcher.pump(now, usize::MAX);
            let mut targets = Vec::new();
            dispatcher.arrivals(|target| targets.push(target));
            if targets.is_empty() {
                return;
            }
            targets.into_iter().for_each(|target| self.employ(target, now));
        }
    }

    /// Gives orders to the idle lanes of a target while there are any.
    fn employ(&mut self, target: usize, now: u64) {
        for _ in 0..self.idle[target].len() {
            let Some(lane) = self.idle[target].pop_front() else { return };
            let (Some(place), Some(device)) = (self.places.get_mut(lane), self.devices.get(target)) else { return };
            let Some(order) = place.seat.try_next() else {
                // An empty queue is empty for all; a feed may have streams for other lanes.
                match place.seat.source {
                    Source::Queue(_) => return self.idle[target].push_front(lane),
                    Source::Feed(_) | Source::Free(_) => self.idle[target].push_back(lane),
                }
                continue;
            };
            let answer = device.answer(&order.access, now - START_NS);
            place.seat.writer.issue(order.local, now);
            place.busy = Some(Busy { order, issued_ns: now, result: answer.result });
            self.issued += 1;
            self.answers.push(Reverse((START_NS + answer.at_ns, self.issued, lane)));
        }
    }

    /// Lets what is in flight come back.
    fn drain(&mut self) {
        while let Some(Reverse((at, _, lane))) = self.answers.pop() {
            if let Some(place) = self.places.get_mut(lane)
                && let Some(Busy { order, issued_ns, result }) = place.busy.take()
            {
                place.seat.finish(&order, issued_ns, at, result);
            }
        }
    }
}
