//! Who gets how much of a run's rate.

use crate::plan::{Rate, Run};
use crate::rate::rate_of_percent;
use crate::work::Control;

/// What `iorate=max` counts as when it is paced, I/Os per second.
pub(crate) const MAX: f64 = 9_999_988.0;
/// What the maximum run of a curve counts as.
pub(crate) const CURVE_MAX: f64 = 9_999_977.0;

/// The rates of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rates {
    /// How I/Os are released.
    pub(crate) control: Control,
    /// The rate asked for, for reports.
    pub(crate) requested: f64,
    /// Share of each workload in percent.
    pub(crate) skews: Vec<Option<f64>>,
    /// Rate of each workload, or its fraction of each step.
    pub(crate) by_workload: Vec<f64>,
}

/// Shares a rate out (`docs/vdbench/raw.md` §8.11). `rate` is that of the run, or what the run before achieved when
/// steps are percentages; `mix` are observed shares, used for points of a curve when no workload has a skew.
pub(crate) fn share(run: &Run, rate: f64, mix: Option<&[f64]>) -> Rates {
    let skews = skews(run, mix);
    let steps = match &run.rate {
        Rate::Steps(steps) => Some(
            steps
                .iter()
                .map(|s| (if s.percent { rate_of_percent(rate, s.rate) } else { s.rate }, s.seconds))
                .collect::<Vec<_>>(),
        ),
        _ => None,
    };
    let requested = match (&run.rate, &steps) {
        (Rate::Max, _) => MAX,
        (Rate::CurveMax, _) => CURVE_MAX,
        (_, Some(steps)) => mean(steps),
        _ => rate,
    };
    let own: f64 = run.workloads.iter().filter_map(|w| w.iorate).sum();
    let rest = (requested - own).max(0.0);
    let by_workload = run
        .workloads
        .iter()
        .zip(&skews)
        .map(|(workload, skew)| {
            let fraction = skew.unwrap_or(0.0).max(0.0) / 100.0;
            match (workload.iorate, &steps) {
                // A rate of its own among steps: the same part of each step as it is of their mean.
                (Some(own), Some(_)) => (own / requested).min(1.0),
                (Some(own), None) => own,
                (None, Some(_)) => fraction * rest / requested,
                (None, None) => fraction * rest,
            }
        })
        .collect();
    let control = match steps {
        Some(steps) => Control::Stepped { steps, spike: run.spike },
        None if matches!(run.rate, Rate::Max | Rate::CurveMax) && !run.controlled() => Control::Uncontrolled,
        None => Control::Paced,
    };
    Rates { control, requested, skews, by_workload }
}

fn mean(steps: &[(f64, u32)]) -> f64 {
    let seconds: f64 = steps.iter().map(|(_, s)| f64::from(*s)).sum();
    let ios: f64 = steps.iter().map(|(rate, s)| rate * f64::from(*s)).sum();
    if seconds > 0.0 && ios > 0.0 { ios / seconds } else { 1.0 }
}

/// The shares as planned, or as observed in the maximum run of the curve.
fn skews(run: &Run, mix: Option<&[f64]>) -> Vec<Option<f64>> {
    let planned = || run.workloads.iter().map(|w| w.skew).collect();
    let Some(mix) = mix.filter(|m| m.len() == run.workloads.len()) else { return planned() };
    let uses_mix = matches!(run.rate, Rate::CurvePoint { .. }) && !run.workloads.iter().any(|w| w.skew_given);
    let sharing = || run.workloads.iter().zip(mix).filter(|(w, _)| w.iorate.is_none());
    let total: f64 = sharing().map(|(_, share)| share.max(0.0)).sum();
    if !uses_mix || total <= 0.0 || !total.is_finite() {
        return planned();
    }
    run.workloads
        .iter()
        .zip(mix)
        .map(|(w, share)| w.iorate.is_none().then_some(share.max(0.0) / total * 100.0))
        .collect()
}
