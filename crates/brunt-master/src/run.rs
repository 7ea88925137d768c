//! One run, from its first sample to its end.
//!
//! The samples of the workers drive it. The only clock is that of the drain: I/O that does not return sends no sample.

pub(crate) mod drain;
mod findings;
mod finish;
mod interval;
mod laggard;
mod loss;
mod orders;
pub(crate) mod start;
pub(crate) mod taken;

use std::collections::BTreeMap;

use brunt_event::{AbortCause, Event, Interval, IoFailed, RunEnd};
use brunt_parm::ast::MaxDataKind;
use brunt_plan::work::{IoErrorKind, IoFailure, SdTotals, WorkerEvent};

use crate::errors::{ErrorCount, Verdict};
use crate::fleet::Control;
use crate::idle::{IdleWatch, LongestIdle};
use crate::link::{HostLink, LinkEvent};
use crate::merge::Merger;
use crate::monitor::Monitor;
use crate::run::drain::{Drain, Outstanding};
use crate::run::findings::Findings;
pub(crate) use crate::run::finish::RunReport;
use crate::run::laggard::Laggards;
use crate::run::orders::Orders;
use crate::session::{Halt, Heard, Loss, Session};
use crate::totals::Totals;
use crate::under_way::Order;

/// A run that is going on.
pub(crate) struct Run<'r, 's, L> {
    session: &'r mut Session<'s, L>,
    monitor: &'r Monitor,
    longest_idle: &'r mut LongestIdle,
    /// Its number in this execution.
    number: u32,
    name: String,
    /// Names of its SDs, by their numbers in the reports.
    sd_names: Vec<(u32, String)>,
    /// Hosts with work.
    hosts: Vec<usize>,
    /// Seconds of an interval.
    interval: u32,
    warmup_intervals: u32,
    merger: Merger,
    totals: Totals,
    /// By worker: all that it did on its SDs, told at its end.
    done: BTreeMap<usize, Vec<SdTotals>>,
    findings: Findings,
    errors: ErrorCount,
    idle: Option<IdleWatch>,
    /// Limits in bytes; emptied when one is reached.
    max_data: Vec<(MaxDataKind, u64)>,
    workers: Vec<WorkerState>,
    /// Measured time of the run so far.
    elapsed_ns: u64,
    drain: Drain,
    /// Why it ends, once that is known; `None` at the end: its time was over.
    end: Option<RunEnd>,
    /// What the end means for the execution.
    halt: Option<Halt>,
    /// The command of `data_errors=`, due when all is quiet.
    error_command: Option<String>,
    workload_done: bool,
    /// Hosts that failed to start, and why.
    not_started: Vec<(usize, String)>,
    /// Each interval but the first waits for our leave.
    lockstep: bool,
    /// What was asked of the workers so far, for hosts that were away then.
    orders: Orders,
    /// Workers that have work in the plan and were lost before the run.
    absent: u32,
    /// The last interval that lacks nobody's part.
    last_whole: u32,
    laggards: Laggards,
    /// By host: how far off its start may be, nanoseconds.
    start_skew_ns: Vec<Option<u64>>,
    /// Another master began it.
    taken_up: bool,
    /// What that one told of it and what has not come again.
    past: BTreeMap<u32, Interval>,
    /// Some of it was counted without its times.
    lacks_times: bool,
}

/// What is known of a worker in this run.
#[derive(Debug, Default)]
struct WorkerState {
    /// Paths of its targets.
    luns: Vec<String>,
    /// Whether it has work that ends with its data, and the interval in which that was.
    end_of_data: Option<EndOfData>,
    /// Whether it has work that goes on where it was.
    sequential: bool,
    /// What it said last about I/O that keeps the run from ending.
    outstanding: Option<Outstanding>,
    /// It was lost with work ahead: intervals that lack it lack something.
    cut_off: bool,
}

/// Work that ends with its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndOfData {
    Ahead,
    Reached(u32),
}

/// Whether a run that ends so has done what it should.
pub(crate) fn is_complete(end: RunEnd) -> bool {
    matches!(end, RunEnd::Elapsed | RunEnd::EndOfData | RunEnd::MaxData | RunEnd::Monitor)
}

impl<L: HostLink> Run<'_, '_, L> {
    /// Leads the run to its end.
    pub(crate) async fn lead(mut self) -> RunReport {
        for (host, text) in std::mem::take(&mut self.not_started) {
            for w in self.session.layout.of_host(host) {
                self.lose(w, &text).await;
            }
        }
        // Some may have been lost since the work was dealt.
        let gone: Vec<usize> = self.merger.unfinished().filter(|w| self.session.lost[*w]).collect();
        for w in gone {
            self.lose(w, "it was lost before the start").await;
        }
        while !self.merger.all_finished() {
            match self.session.hear(self.drain.next_tick()).await {
                Heard::Control(control) => {
                    if self.control(control).await {
                        break;
                    }
                }
                Heard::Link(host, event) => self.link_event(host, event).await,
                Heard::Presence => self.say_who_is_waited_for(),
                Heard::Tick => {
                    if self.drain_tick() {
                        break;
                    }
                }
            }
            self.tell_returned().await;
            self.advance().await;
        }
        match self.halt {
            None => self.session.settle().await,
            // Nothing comes behind it that could be mistaken.
            Some(_) => self.session.under_way.forget(),
        }
        self.finish()
    }

    /// Whether the run ends by now, and not as planned.
    fn is_cut_short(&self) -> bool {
        self.end.is_some_and(|end| !is_complete(end))
    }

    /// Says whether to leave at once.
    async fn control(&mut self, control: Control) -> bool {
        if self.is_cut_short() {
            self.session.hurry = true;
            return true;
        }
        let end = if matches!(control, Control::Interrupt(_)) { RunEnd::Signal } else { RunEnd::Errors };
        self.cut(end, control.into()).await;
        false
    }

    async fn link_event(&mut self, host: usize, event: LinkEvent) {
        let event = match event {
            LinkEvent::Worker { worker, run, event } => match self.session.layout.worker(host, worker) {
                Some(w) => match self.worker_event(w, run, event).await {
                    Some(event) => LinkEvent::Worker { worker, run, event },
                    None => return,
                },
                None => return,
            },
            LinkEvent::Devices { run, devices } if self.is_here(run) => return self.findings.devices(host, devices),
            other => other,
        };
        if let Some(Loss { workers, text }) = self.session.passive(host, event) {
            for w in workers {
                self.lose(w, &text).await;
            }
        }
    }

    /// Whether something of that run belongs to this one.
    fn is_here(&self, run: Option<u32>) -> bool {
        run.is_none_or(|run| run == self.number)
    }

    /// Takes what belongs to a run, gives back the rest. What belongs to another, or comes of a worker that has ended,
    /// is lost or has no work, is dropped.
    async fn worker_event(&mut self, worker: usize, run: Option<u32>, event: WorkerEvent) -> Option<WorkerEvent> {
        if matches!(event, WorkerEvent::Log(_) | WorkerEvent::Warning(_) | WorkerEvent::Fatal(_)) {
            return Some(event);
        }
        if !self.is_here(run) || self.merger.is_finished(worker) {
            tracing::debug!(worker, run, here = self.number, "dropped what is not of this run");
            return None;
        }
        match event {
            WorkerEvent::Interval(sample) => {
                let counted = sample.interval > self.warmup_intervals;
                self.findings.sample(&self.session.layout, worker, &sample, counted);
                self.merger.add(worker, &sample);
                self.note_pace(worker, sample.interval);
            }
            WorkerEvent::Failure(failure) => self.failure(worker, &failure).await,
            WorkerEvent::SequentialDone => self.sequential_done(worker).await,
            WorkerEvent::Outstanding { count, oldest_ns, lun } => {
                if let Some(state) = self.workers.get_mut(worker) {
                    state.outstanding = Some(Outstanding { seconds: self.drain.seconds, count, oldest_ns, lun });
                }
            }
            WorkerEvent::Totals(sds) => {
                self.done.insert(worker, sds);
            }
            WorkerEvent::Drained => self.merger.finish(worker),
            WorkerEvent::Log(_) | WorkerEvent::Warning(_) | WorkerEvent::Fatal(_) => {}
        }
        None
    }

    async fn failure(&mut self, worker: usize, failure: &IoFailure) {
        let shown = !self.errors.aborted();
        let verdict = self.errors.failed(failure, self.elapsed_ns);
        if shown {
            self.session.emit(Event::IoFailed(io_failed(worker, failure)));
        }
        self.judge(verdict).await;
    }

    async fn judge(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::GoOn => {}
            Verdict::DropSd(sd) => self.drop_sd(sd).await,
            Verdict::Abort => self.error_limit(None).await,
            Verdict::AbortWith(command) => self.error_limit(Some(command)).await,
        }
    }

    async fn error_limit(&mut self, command: Option<String>) {
        self.error_command = command;
        let halt = Halt::abort(AbortCause::IoErrorLimit, self.errors.text(&self.name));
        self.cut(RunEnd::Errors, halt).await;
    }

    /// Takes an SD out of the run on all hosts: it is the same storage everywhere.
    async fn drop_sd(&mut self, sd: u32) {
        let number = self.session.numbers.sds.get(sd as usize).copied().flatten();
        let named = self.sd_names.iter().find(|(n, _)| Some(*n) == number);
        let text = format!(
            "data_errors=remove_device: sd={} gets no more I/O, the other SDs go on",
            named.map_or("?", |(_, name)| name)
        );
        self.session.notice(true, "remove-device", text);
        self.findings.lacks_some();
        if let (Some(watch), Some(number)) = (&mut self.idle, number) {
            watch.forget(number);
        }
        self.orders.dropped.push(sd);
        let hosts = self.reachable(&self.hosts);
        self.session.tell(Order::Drop(sd), &hosts).await;
    }

    /// Ends the run when all work that ends with its data has ended (`docs/vdbench/raw.md` §8.9). The interval in
    /// which the last of it ended is the last.
    async fn sequential_done(&mut self, worker: usize) {
        let interval = self.merger.reported(worker) + 1;
        if let Some(WorkerState { end_of_data: Some(state @ EndOfData::Ahead), .. }) = self.workers.get_mut(worker) {
            *state = EndOfData::Reached(interval);
        }
        self.check_end_of_data().await;
    }

    async fn check_end_of_data(&mut self) {
        let mut last = None;
        for state in self.workers.iter().filter_map(|w| w.end_of_data) {
            match state {
                EndOfData::Reached(interval) => last = last.max(Some(interval)),
                EndOfData::Ahead => return,
            }
        }
        if let (None, Some(last)) = (self.end, last) {
            self.session.emit(Event::SequentialDone);
            self.merger.end_at(last);
            // In lockstep all go through the whole interval, so that the result does not depend on who hears it first.
            self.stop(RunEnd::EndOfData, self.lockstep.then_some(last)).await;
        }
    }

    /// Ends the run at once, not as planned. What is complete by now counts.
    async fn cut(&mut self, end: RunEnd, halt: Halt) {
        if self.is_cut_short() {
            return;
        }
        self.halt = Some(halt);
        self.recall_all();
        self.merger.end_at(self.merger.completed());
        self.stop(end, None).await;
    }
}

fn io_failed(worker: usize, failure: &IoFailure) -> IoFailed {
    let (errno, got) = match failure.error {
        IoErrorKind::Errno(errno) => (Some(errno), None),
        IoErrorKind::Short { got } => (None, Some(got)),
    };
    IoFailed {
        worker: worker as u32,
        worker_ms: failure.at_ms,
        read: failure.read,
        lun: failure.lun.clone(),
        lba: failure.lba,
        xfer: failure.xfer,
        errno,
        got,
    }
}
