//! The run in progress.

use brunt_event::{Interval, RunStarted};

use crate::context::Context;
use crate::figures::Figures;
use crate::tally::{RunTally, RunTimes, Scope, Tally, Times};

/// What is known of the run in progress.
#[derive(Debug)]
pub(crate) struct Run {
    pub started: RunStarted,
    /// Sums of the counted intervals.
    pub counted: RunTally,
    /// Sums of the last interval.
    pub latest: RunTally,
    /// Response times of the counted intervals.
    pub times: RunTimes,
    /// Number of the last interval; 0 before the first.
    pub last: u32,
}

impl Run {
    pub(crate) fn new(started: &RunStarted) -> Self {
        Self {
            started: started.clone(),
            counted: RunTally::default(),
            latest: RunTally::default(),
            times: RunTimes::default(),
            last: 0,
        }
    }

    /// Takes in an interval.
    pub(crate) fn add(&mut self, interval: &Interval) {
        self.latest = RunTally::of(interval);
        self.last = interval.interval;
        if !interval.warmup {
            self.counted.add(interval);
            self.times.add(interval);
        }
    }

    /// `avg_A-B`: first counted and last interval (`docs/vdbench/reports.md` §4.3).
    pub(crate) fn average_label(&self) -> String {
        format!("avg_{}-{}", self.started.warmup_intervals.max(1) + 1, self.last)
    }

    /// The sums an average is made of. Where no interval was counted the older layout shows the last one, and 5.04.07
    /// nothing (`docs/vdbench/reports.md` §14).
    pub(crate) fn total(&self, context: &Context) -> &RunTally {
        if self.counted.intervals == 0 && context.layout.is_old() { &self.latest } else { &self.counted }
    }

    /// The numbers of the last interval.
    pub(crate) fn interval_figures(&self, context: &Context, scope: Scope) -> Option<Figures> {
        let sums = self.latest.get(scope, &self.started)?;
        Some(Figures::of(&sums, context.opened.decimal_mb))
    }

    /// The numbers of the average.
    pub(crate) fn average_figures(&self, context: &Context, scope: Scope) -> Option<Figures> {
        let total = self.total(context);
        let sums: Tally = total.get(scope, &self.started)?;
        if total.intervals > 0 {
            return Some(Figures::of(&sums, context.opened.decimal_mb));
        }
        let latest = self.latest.get(scope, &self.started)?;
        Some(Figures::nothing(latest.cpu.is_some()))
    }

    /// Response times of the counted intervals; `ended` has those of SDs, workloads and workers.
    pub(crate) fn times(&self, scope: Scope, ended: &brunt_event::RunEnded) -> Times {
        let pair = |list: &[brunt_event::HistPair], place: usize| {
            list.get(place).map(|p| Times { read: p.read.clone(), write: p.write.clone() }).unwrap_or_default()
        };
        match scope {
            Scope::Total => self.times.total.clone(),
            Scope::Host(host) => self.times.hosts.get(host).cloned().unwrap_or_default(),
            Scope::Worker(worker, _) => pair(&ended.worker_hists, worker),
            Scope::Wd(place) => pair(&ended.wd_hists, place),
            Scope::Sd(sd) => {
                let place = self.started.sds.iter().position(|used| *used as usize == sd);
                place.map(|place| pair(&ended.sd_hists, place)).unwrap_or_default()
            }
            Scope::HostSd(..) | Scope::WorkerSd(..) => Times::default(),
        }
    }
}
