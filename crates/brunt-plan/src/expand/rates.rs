//! The rates of an RD: one run for each.

use brunt_parm::ast::{IoRate, Num, Rd};
use brunt_parm::{Diag, Severity, Spanned};

use super::log::Log;
use super::timing::Timing;
use crate::plan::{Rate, RateStep};

/// One rate of an RD.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlannedRate {
    /// What a curve point adds to the run's name.
    pub(crate) suffix: String,
    /// The rate. A curve point's run is counted from the curve's first one and becomes an index later.
    pub(crate) rate: Rate,
    /// How many runs before this one the maximum run of its curve is.
    pub(crate) behind_max: usize,
    /// Whether it is shown as a loop.
    pub(crate) is_loop: bool,
}

impl PlannedRate {
    fn new(rate: Rate, is_loop: bool) -> Self {
        Self { suffix: String::new(), rate, behind_max: 0, is_loop }
    }
}

/// Points of a curve that names none, percent (`docs/vdbench/raw.md` §7).
const DEFAULT_CURVE: [f64; 6] = [10.0, 50.0, 70.0, 80.0, 90.0, 100.0];

/// The rates in order, curves with their points. `None` after an error.
pub(crate) fn of_rd(rd: &Rd, timing: Timing, log: &mut Log) -> Option<Vec<PlannedRate>> {
    if rd.distribution.as_ref().is_some_and(|d| d.value.variable || d.value.spike) {
        let steps = steps(rd, timing, log)?;
        return Some(vec![PlannedRate::new(Rate::Steps(steps), false)]);
    }
    if rd.replay.is_some() && rd.iorate.is_none() {
        // As fast as it was recorded.
        return Some(vec![PlannedRate::new(Rate::Max, false)]);
    }
    let Some(list) = rd.iorate.as_ref().filter(|l| !l.value.is_empty()) else {
        log.push(missing(rd));
        return None;
    };
    let is_loop = rd.iorate_is_list;
    let mut rates = Vec::with_capacity(list.value.len());
    for item in &list.value {
        match item.value {
            IoRate::Max => rates.push(PlannedRate::new(Rate::Max, is_loop)),
            IoRate::Curve => push_curve(rd, &mut rates, log)?,
            IoRate::Percent(percent) if percent > 0.0 => {
                rates.push(PlannedRate::new(Rate::PercentOfPrevious(percent), is_loop));
            }
            IoRate::Fixed(n) if n > 0.0 && n.is_finite() => rates.push(PlannedRate::new(Rate::Fixed(n), is_loop)),
            // A negative number is a percentage (`docs/vdbench/raw.md` §1.4).
            IoRate::Fixed(n) if n < 0.0 && n.is_finite() => {
                rates.push(PlannedRate::new(Rate::PercentOfPrevious(-n), is_loop));
            }
            IoRate::Fixed(_) | IoRate::Percent(_) => {
                log.push(
                    Diag::error("iorate", "iorate= must be more than 0", item.span).help("use a rate, max or curve"),
                );
                return None;
            }
        }
    }
    Some(rates)
}

/// The rates of a run of file systems. Those of a list are a loop, whose values take the place of the one here.
/// `None` after an error.
pub(crate) fn of_files(rd: &Rd, log: &mut Log) -> Option<Vec<PlannedRate>> {
    if let Some(iorate) = &rd.iorate {
        log.push(
            Diag::error("iorate-of-files", "iorate= is for runs of SDs, and this is one of file systems", iorate.span)
                .vdbench("Specifying 'iorate=' for a File System workload. Use 'fwdrate=' instead.")
                .help("write fwdrate= in its place"),
        );
        return None;
    }
    let Some(list) = rd.fwdrate.as_ref().filter(|l| !l.value.is_empty()) else {
        log.push(no_fwdrate(rd));
        return None;
    };
    let mut rates = Vec::new();
    for item in &list.value {
        match item.value {
            IoRate::Max => rates.push(PlannedRate::new(Rate::Max, false)),
            IoRate::Curve => push_curve(rd, &mut rates, log)?,
            IoRate::Percent(n) if n > 0.0 => rates.push(PlannedRate::new(Rate::PercentOfPrevious(n), false)),
            IoRate::Fixed(n) if n > 0.0 && n.is_finite() => rates.push(PlannedRate::new(Rate::Fixed(n), false)),
            IoRate::Fixed(_) | IoRate::Percent(_) => {
                log.push(
                    Diag::error("fwdrate", "fwdrate= must be more than 0", item.span).help("use a rate, max or curve"),
                );
                return None;
            }
        }
    }
    if list.value.len() > 1 {
        rates.truncate(1);
    }
    Some(rates)
}

fn no_fwdrate(rd: &Rd) -> Diag {
    let name = rd.name.as_ref();
    let message = format!("run `{}` has no fwdrate=", name.map_or("", |n| n.value.as_str()));
    Diag::new(Severity::Error, "fwdrate-missing", message, name.map(|n| n.span))
        .vdbench("No fwdrate= specified")
        .help("add fwdrate= with a rate, max or curve")
}

fn missing(rd: &Rd) -> Diag {
    Diag::new(
        Severity::Error,
        "iorate-missing",
        format!("run `{}` has no iorate=", rd.name.as_ref().map_or("", |n| n.value.as_str())),
        rd.name.as_ref().map(|n| n.span),
    )
    .vdbench("iorate parameter is missing")
    .help("add iorate= with a rate, max or curve")
}

fn push_curve(rd: &Rd, rates: &mut Vec<PlannedRate>, log: &mut Log) -> Option<()> {
    rates.push(PlannedRate::new(Rate::CurveMax, false));
    let points: Vec<f64> = match &rd.curve {
        None => DEFAULT_CURVE.to_vec(),
        Some(curve) => {
            if let Some(bad) = curve.value.iter().find(|p| p.value == 0.0 || !p.value.is_finite()) {
                log.push(Diag::error("curve", "a point of curve= must be more than 0 percent", bad.span));
                return None;
            }
            curve.value.iter().map(|p| p.value.abs()).collect()
        }
    };
    for (n, percent) in points.into_iter().enumerate() {
        rates.push(PlannedRate {
            suffix: format!("_({percent}%)"),
            rate: Rate::CurvePoint { percent, of_run: 0 },
            behind_max: n + 1,
            is_loop: false,
        });
    }
    Some(())
}

/// The steps of `distribution=variable`: pairs of rate and seconds (`docs/vdbench/raw.md` §7.3).
fn steps(rd: &Rd, timing: Timing, log: &mut Log) -> Option<Vec<RateStep>> {
    const LONGEST: u64 = 3600;
    let Some(list) = rd.bursts.as_ref().filter(|l| !l.value.is_empty()) else {
        log.push(missing(rd).help("distribution=variable needs iorate=(rate,seconds,…)"));
        return None;
    };
    if list.value.len() % 2 != 0 {
        log.push(
            Diag::error("bursts", "iorate= of distribution=variable needs pairs of rate and seconds", list.span)
                .label(format!("{} values", list.value.len())),
        );
        return None;
    }
    let steps: Option<Vec<RateStep>> =
        list.value.chunks_exact(2).map(|pair| step(&pair[0], &pair[1], timing, log)).collect();
    let steps = steps?;
    let total: u64 = steps.iter().map(|s| u64::from(s.seconds)).sum();
    if total > LONGEST {
        log.push(Diag::error("bursts", format!("the steps last {total} s; at most {LONGEST} are possible"), list.span));
        return None;
    }
    if total > u64::from(timing.elapsed) {
        // Vdbench finds it when the run starts, so that a simulation accepts it.
        log.unsupported(
            Some(list.span),
            format!("the steps of iorate= last {total} s, which is longer than elapsed={}", timing.elapsed),
        );
    }
    Some(steps)
}

fn step(rate: &Spanned<Num>, seconds: &Spanned<Num>, timing: Timing, log: &mut Log) -> Option<RateStep> {
    let (percent, value) = (rate.value.percent || rate.value.value < 0.0, rate.value.value.abs());
    let of_elapsed = seconds.value.percent || seconds.value.value < 0.0;
    let length =
        if of_elapsed { f64::from(timing.elapsed) * seconds.value.value.abs() / 100.0 } else { seconds.value.value };
    if !(1.0..=f64::from(u32::MAX)).contains(&length) {
        log.push(Diag::error("bursts", "a step must last at least a second", seconds.span));
        return None;
    }
    if !value.is_finite() {
        log.push(Diag::error("bursts", "the rate of a step must be a number", rate.span));
        return None;
    }
    Some(RateStep { rate: value, percent, seconds: length as u32 })
}
