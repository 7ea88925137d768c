//! The run in progress.

use std::borrow::Cow;

use brunt_event::{Interval, RunEnded, RunStarted};
use brunt_stats::Times;

use crate::context::Context;
use crate::figures::Figures;
use crate::tally::{Parts, RunTally, Scope, Tally};

/// What is known of the run in progress.
#[derive(Debug)]
pub(crate) struct Run {
    pub started: RunStarted,
    /// Number of the last interval; 0 before the first.
    pub last: u32,
    /// Sums of the last interval.
    latest: RunTally,
    /// Sums of the counted intervals.
    counted: RunTally,
    parts: Parts,
}

impl Run {
    pub(crate) fn new(started: &RunStarted) -> Self {
        Self {
            started: started.clone(),
            last: 0,
            latest: RunTally::default(),
            counted: RunTally::default(),
            parts: Parts::of(started),
        }
    }

    /// Takes in an interval.
    pub(crate) fn add(&mut self, interval: &Interval) {
        self.latest = RunTally::of(interval);
        self.last = interval.interval;
        if !interval.warmup {
            self.counted.add(interval);
        }
    }

    /// `avg_A-B`: first counted and last interval (`docs/vdbench/reports.md` §4.3).
    pub(crate) fn average_label(&self) -> String {
        format!("avg_{}-{}", self.started.warmup_intervals.max(1) + 1, self.last)
    }

    /// The sums of the last interval.
    pub(crate) fn interval(&self, scope: Scope) -> Option<Tally> {
        self.latest.get(scope, &self.parts)
    }

    /// The sums an average is made of. Where no interval was counted (a format, a short run to the end of the data), the
    /// last one stands for it: `docs/vdbench/decisions.md`, totals.
    pub(crate) fn average(&self, scope: Scope) -> Option<Tally> {
        let sums = if self.counted.intervals == 0 { &self.latest } else { &self.counted };
        sums.get(scope, &self.parts)
    }

    /// The numbers of the last interval.
    pub(crate) fn interval_figures(&self, context: &Context, scope: Scope) -> Option<Figures> {
        Some(Figures::of(&self.interval(scope)?, context.opened.decimal_mb))
    }

    /// The numbers of the average.
    pub(crate) fn average_figures(&self, context: &Context, scope: Scope) -> Option<Figures> {
        Some(Figures::of(&self.average(scope)?, context.opened.decimal_mb))
    }

    /// Times of the counted intervals; `None` where they were not recorded.
    pub(crate) fn times<'e>(&self, scope: Scope, ended: &'e RunEnded) -> Option<Cow<'e, Times>> {
        let none = || Some(Cow::Owned(Times::default()));
        let place = |list: &'e [Times], place: usize| list.get(place).map(Cow::Borrowed);
        match scope {
            Scope::Total => Some(Cow::Borrowed(&ended.times)),
            Scope::Host(host) => place(&ended.host_times, host).or_else(none),
            Scope::Worker(worker, _) => place(&ended.worker_times, worker),
            Scope::Wd(wd) => place(&ended.wd_times, wd),
            Scope::Sd(sd) => match self.parts.sd(sd) {
                Some(sd) => place(&ended.sd_times, sd),
                None => none(),
            },
            Scope::HostSd(..) | Scope::WorkerSd(..) => None,
        }
    }
}
