//! The rate of a run, as far as it hangs on what other runs achieved (`docs/vdbench/raw.md` §7.2).

use std::collections::HashMap;

use brunt_plan::plan::{Rate, Run};
use brunt_plan::rate_of_percent;

use crate::totals::Totals;

/// Points of a curve below this rate are not run (`docs/vdbench/reports.md` §5), I/Os per second.
const LEAST_POINT: f64 = 10.0;

/// What finished runs achieved.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    by_run: HashMap<usize, RunObserved>,
    previous: Option<f64>,
    /// Maximum runs whose curve has ended (`stopcurve=`).
    stopped: Vec<usize>,
}

#[derive(Debug)]
struct RunObserved {
    rate: f64,
    /// Share of each workload, when it shall become the skew of the points.
    mix: Option<Vec<f64>>,
}

/// How fast a run shall go.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Speed {
    /// I/Os per second (for steps, that of the run before; without a meaning for maximum runs), and the skew that was
    /// observed.
    Go { rate: f64, mix: Option<Vec<f64>> },
    /// Not at all: a point below 10 I/Os per second.
    TooSlow,
    /// Not at all: its curve has ended.
    Stopped,
}

impl Observed {
    /// The speed of a run.
    pub(crate) fn speed(&self, run: &Run) -> Speed {
        match &run.rate {
            Rate::Fixed(rate) => Speed::Go { rate: *rate, mix: None },
            Rate::Max | Rate::CurveMax => Speed::Go { rate: 0.0, mix: None },
            Rate::Steps(_) => Speed::Go { rate: self.previous.unwrap_or(0.0), mix: None },
            Rate::PercentOfPrevious(percent) => {
                Speed::Go { rate: rate_of_percent(self.previous.unwrap_or(0.0), *percent), mix: None }
            }
            Rate::CurvePoint { of_run, .. } if self.stopped.contains(of_run) => Speed::Stopped,
            Rate::CurvePoint { percent, of_run } => {
                let max = self.by_run.get(of_run);
                let (rate, mix) = max.map_or((0.0, None), |m| (m.rate, m.mix.clone()));
                if rate >= 1.0 && rate * percent / 100.0 < LEAST_POINT {
                    return Speed::TooSlow;
                }
                Speed::Go { rate: rate_of_percent(rate, *percent), mix }
            }
        }
    }

    /// A run has ended.
    pub(crate) fn ended(&mut self, index: usize, run: &Run, uncontrolled: bool, totals: &Totals) {
        self.previous = Some(totals.rate());
        if run.rate == Rate::CurveMax {
            let skewless = uncontrolled && run.workloads.iter().all(|w| !w.skew_given);
            let mix = if skewless { totals.mix() } else { None };
            self.by_run.insert(index, RunObserved { rate: totals.rate(), mix });
        }
    }

    /// Ends a curve at this point when it answered too slowly; says the mean response time in ms then.
    pub(crate) fn stop_curve(&mut self, run: &Run, totals: &Totals) -> Option<f64> {
        let Rate::CurvePoint { of_run, .. } = run.rate else { return None };
        let response = totals.response_ms().filter(|ms| run.stop_curve_ms.is_some_and(|limit| *ms > limit))?;
        self.stopped.push(of_run);
        Some(response)
    }

    /// Another pass: curves are run anew.
    pub(crate) fn next_pass(&mut self) {
        self.by_run.clear();
        self.stopped.clear();
    }
}
