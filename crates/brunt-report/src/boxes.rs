//! Framed messages (`docs/vdbench/reports.md` §3, boxes).

use crate::context::Context;
use crate::number::{commas, fixed};
use crate::run::Run;
use crate::tally::Scope;

/// Percent of processor time above which a host may be the bottleneck.
const BUSY_CPU: f64 = 80.0;
/// Percentage points of skew that are worth a message.
const SKEW_LIMIT: f64 = 1.0;

/// Puts lines into a frame.
pub(crate) fn framed(lines: &[String]) -> Vec<String> {
    let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    let edge = "*".repeat(width + 4);
    let body = lines.iter().map(|line| format!("* {line:<width$} *"));
    let frame = |line: &str| std::iter::once(line.to_owned());
    frame("*").chain(frame(&edge)).chain(body).chain(frame(&edge)).chain(frame("*")).collect()
}

/// Hosts whose processors were busy, in one box.
pub(crate) fn busy_hosts(context: &Context, run: &Run) -> Option<Vec<String>> {
    let mut lines = Vec::new();
    for (host, name) in context.planned.hosts.iter().enumerate() {
        let figures = run.average_figures(context, Scope::Host(host))?;
        let used = figures.cpu.map_or(0.0, |cpu| cpu.used()); // NaN is not busy
        if used > BUSY_CPU {
            if !lines.is_empty() {
                lines.push(String::new());
            }
            lines.push(format!("Warning for host={name}: average processor utilization {}% ", fixed(used, 1)));
            lines.push("Over 80% the host itself may be what limits the rate: its response".to_owned());
            lines.push("times may hold waiting for a processor, and more may be possible.".to_owned());
        }
    }
    (!lines.is_empty()).then_some(lines)
}

/// More I/Os a second per worker than is good.
pub(crate) fn busy_workers(context: &Context, run: &Run) -> Option<Vec<String>> {
    let total = run.average_figures(context, Scope::Total)?;
    let workers = run.started.workers.len().max(1);
    let (per_worker, limit) = (total.rate / workers as f64, context.planned.ios_per_worker?);
    if limit <= 0.0 || per_worker <= limit {
        return None;
    }
    let (per_worker, limit) = (commas(per_worker.round() as u64), commas(limit.round() as u64));
    Some(vec![
        format!("Warning: total amount of i/o per second per slave ({per_worker}) greater than {limit}."),
        "More worker processes ('jvms=' in an HD, or -m) may give a higher rate.".to_owned(),
        String::new(),
        format!("rd={} actively used {workers} slaves. ", run.started.plan.name),
    ])
}

/// The workload that is farthest from its requested skew.
pub(crate) fn missed_skew(run: &Run) -> Option<Vec<String>> {
    let started = &run.started;
    if started.uncontrolled || started.workloads.len() < 2 {
        return None;
    }
    let deltas = started.workloads.iter().enumerate().filter_map(|(place, workload)| {
        let observed = observed_skew(run, place)?;
        Some((workload.name.as_str(), (workload.skew? - observed).abs()))
    });
    let (name, delta) = deltas.reduce(|worst, next| if next.1 > worst.1 { next } else { worst })?;
    (delta > SKEW_LIMIT).then(|| {
        let delta = fixed(delta, 2);
        vec![format!("Observed Workload skew for wd={name} delta greater than 1% ({delta}). See skew.html for details")]
    })
}

/// Why skew may be missed; for console and log.
pub(crate) fn skew_reasons() -> Vec<String> {
    [
        "What may bring the workload skew out of step:",
        "",
        "- The run is too short. Let every SD do some thousand I/Os; a longer 'warmup=' may help.",
        "- A sequential stream is the work of a single worker, while random workloads run on many.",
        "- Too few threads to let every workload run at its share.",
        "",
        "With 'abort_failed_skew=nn' the execution ends when skew is missed by more than nn.",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// Observed share of a workload in percent; `None` when nothing was done at all.
pub(crate) fn observed_skew(run: &Run, place: usize) -> Option<f64> {
    let ops = |scope| run.average(scope).map(|sums| sums.cell.both().ops);
    let (part, all) = (ops(Scope::Wd(place))?, ops(Scope::Total)?);
    (all > 0).then(|| 100.0 * part as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_fit_the_longest_line() {
        insta::assert_snapshot!(framed(&["short".into(), "a longer line ".into()]).join("\n"), @r"
        *
        ******************
        * short          *
        * a longer line  *
        ******************
        *
        ");
    }
}
