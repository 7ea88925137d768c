//! What an I/O costs that takes no time: `null` through the whole engine.

use brunt_plan::work::Backend;
use brunt_stats::Spread;

use super::trial::{Outcome, Trial, TrialError};

/// What it costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EmptyIo {
    /// Reported as its response time.
    pub response: Spread,
    /// Wall time from one to the next, a mean for each interval.
    pub wall: Spread,
}

/// So many intervals of that length, with so many lanes.
///
/// # Errors
/// See [`TrialError`].
pub fn run(threads: u32, intervals: u32, interval_ns: u64) -> Result<EmptyIo, TrialError> {
    let trial = trial(threads, intervals, interval_ns);
    let outcome = trial.run()?;
    let nothing = || TrialError::Nothing(trial.lun.clone());
    Ok(EmptyIo {
        response: Spread::of_timing(&outcome.response).ok_or_else(nothing)?,
        wall: Spread::of(each(&outcome)).ok_or_else(nothing)?,
    })
}

/// CPU time of one, a mean for each of so many runs. Everything else in the process must be still.
///
/// # Errors
/// See [`TrialError`].
pub fn cpu(threads: u32, runs: u32, run_ns: u64) -> Result<Spread, TrialError> {
    let trial = trial(threads, 1, run_ns / 2);
    let run = |_| trial.run().map(|outcome| outcome.cpu_ns as f64 / outcome.ops.max(1) as f64);
    let all = (0..runs).map(run).collect::<Result<Vec<_>, _>>()?;
    Spread::of(all).ok_or(TrialError::Nothing(trial.lun))
}

fn trial(threads: u32, intervals: u32, interval_ns: u64) -> Trial {
    Trial {
        lun: "null".into(),
        size: 1 << 30,
        raw: false,
        direct: false,
        block: 8192,
        threads,
        rate: None,
        backend: Backend::Null,
        interval_ns,
        intervals,
    }
}

/// Wall time of an I/O, for each interval that had one.
fn each(outcome: &Outcome) -> impl Iterator<Item = f64> {
    outcome.intervals.iter().filter(|(ops, _)| *ops > 0).map(|(ops, ns)| *ns as f64 / *ops as f64)
}
