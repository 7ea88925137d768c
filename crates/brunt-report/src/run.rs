//! The run in progress.

use brunt_event::{HistPair, Interval, RunEnded, RunStarted};

use crate::context::Context;
use crate::figures::Figures;
use crate::tally::{Parts, RunTally, RunTimes, Scope, Tally, Times};

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
    /// Response times of the counted intervals; of the last one while none is counted.
    times: RunTimes,
    parts: Parts,
}

impl Run {
    pub(crate) fn new(started: &RunStarted) -> Self {
        Self {
            started: started.clone(),
            last: 0,
            latest: RunTally::default(),
            counted: RunTally::default(),
            times: RunTimes::default(),
            parts: Parts::of(started),
        }
    }

    /// Takes in an interval.
    pub(crate) fn add(&mut self, interval: &Interval) {
        self.latest = RunTally::of(interval);
        self.last = interval.interval;
        if self.counted.intervals == 0 {
            self.times = RunTimes::default();
        }
        if !interval.warmup {
            self.counted.add(interval);
        }
        if !interval.warmup || self.counted.intervals == 0 {
            self.times.add(interval);
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

    /// Response times of the counted intervals; `ended` has those of SDs, workloads and workers. `None` where they were
    /// not recorded.
    pub(crate) fn times(&self, scope: Scope, ended: &RunEnded) -> Option<Times> {
        let pair = |list: &[HistPair], place: usize| {
            list.get(place).map(|pair| Times { read: pair.read.clone(), write: pair.write.clone() })
        };
        match scope {
            Scope::Total => Some(self.times.total.clone()),
            Scope::Host(host) => Some(self.times.hosts.get(host).cloned().unwrap_or_default()),
            Scope::Worker(worker, _) => pair(&ended.worker_hists, worker),
            Scope::Wd(place) => pair(&ended.wd_hists, place),
            Scope::Sd(sd) => match self.parts.sd(sd) {
                Some(place) => pair(&ended.sd_hists, place),
                None => Some(Times::default()),
            },
            Scope::HostSd(..) | Scope::WorkerSd(..) => None,
        }
    }
}
