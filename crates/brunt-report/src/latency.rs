//! `latency.html`: percentiles of the times of I/Os and, in paced runs, of their parts. Not a file of Vdbench's.

use brunt_event::RunEnded;
use brunt_stats::{OpTimes, QUANTILES, Summary, Times, Timing};

use crate::context::Context;
use crate::number::{commas, fixed};
use crate::run::Run;
use crate::tally::Scope;

/// Name of the file.
pub(crate) const FILE: &str = "latency.html";

/// The lines before the first run.
pub(crate) const INTRO: &[&str] = &[
    "Latency report",
    "",
    "Times in milliseconds, over the counted intervals of each run. 'issued to done' is the response time of the other",
    "reports. A paced run also has 'due to done', from the moment at which the I/O was wanted, and its other parts:",
    "'queue' until a thread of the SD was free, 'lateness' from there until it was issued. A percentile is never below",
    "the true one, and above it by 8 ns at most under 1 us, 0.4% under 1 ms, 1.6% over that, but never above the largest.",
    "",
];

/// The tables of a run; empty when nothing was done.
pub(crate) fn lines(context: &Context, run: &Run, ended: &RunEnded) -> Vec<String> {
    if ended.times.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![title(&format!("{:<35}", if ended.complete { "" } else { "This run was ended early." }))];
    for (name, scope) in subjects(context, run) {
        if let Some(times) = run.times(scope, ended).filter(|times| !times.is_empty()) {
            lines.push(name);
            lines.extend(rows(&times));
        }
    }
    lines.push(String::new());
    lines
}

/// What has rows: everything, then hosts, SDs and workloads where there is more than one.
fn subjects(context: &Context, run: &Run) -> Vec<(String, Scope)> {
    let (planned, started) = (&context.planned, &run.started);
    let hosts = planned.hosts.iter().enumerate().map(|(h, name)| (format!("host={name}"), Scope::Host(h)));
    let sds = started.sds.iter().filter_map(|sd| {
        let name = &planned.sds.get(*sd as usize)?.name;
        Some((format!("sd={name}"), Scope::Sd(*sd as usize)))
    });
    let wds = started.workloads.iter().enumerate().map(|(n, wd)| (format!("wd={}", wd.name), Scope::Wd(n)));
    let lists: [Vec<_>; 3] = [hosts.collect(), sds.collect(), wds.collect()];
    let several = lists.into_iter().filter(|list| list.len() > 1).flatten();
    std::iter::once(("all".to_owned(), Scope::Total)).chain(several).collect()
}

/// By operation where there are both, and together.
fn rows(times: &Times) -> Vec<String> {
    let both = times.both();
    let all = [("reads and writes", &both), ("reads", &times.read), ("writes", &times.write)];
    let shown = match (times.read.is_empty(), times.write.is_empty()) {
        (false, false) => &all[..],
        (false, true) => &all[1..2],
        (true, _) => &all[2..],
    };
    let of_operation = |(operation, times): &(&str, &OpTimes)| {
        let first = std::iter::once(*operation).chain(std::iter::repeat(""));
        let parts = parts(times).into_iter().zip(first);
        parts
            .map(|((name, summary), operation)| row(&format!("  {operation:<16} {name:<16}"), &summary))
            .collect::<Vec<_>>()
    };
    shown.iter().flat_map(of_operation).collect()
}

/// Due to done and its parts, or what there is of them.
fn parts(times: &OpTimes) -> Vec<(&'static str, Summary)> {
    let service = if times.due.is_empty() { "issued to done" } else { "  issued to done" };
    let all = [
        ("due to done", &times.due),
        ("  queue", &times.queue),
        ("  lateness", &times.lateness),
        (service, &times.service),
    ];
    all.into_iter().filter_map(|(name, timing)| Some((name, timing.summary()?))).collect()
}

/// The title of rows whose names have a width.
fn title(name: &str) -> String {
    let quantiles: String = QUANTILES.iter().map(|(name, _)| format!(" {name:>10}")).collect();
    format!("{name} {:>13} {:>10}{quantiles} {:>10}", "count", "mean", "max")
}

fn row(name: &str, summary: &Summary) -> String {
    let ms = |ns: f64| format!(" {:>10}", fixed(ns / 1e6, 4));
    let quantiles: String = summary.quantiles_ns.iter().map(|ns| ms(*ns as f64)).collect();
    let over = match summary.over {
        0 => String::new(),
        over => format!("  {} beyond 18 minutes", commas(over)),
    };
    let (count, mean, max) = (commas(summary.count), ms(summary.mean_ns), ms(summary.max_ns as f64));
    format!("{name} {count:>13}{mean}{quantiles}{max}{over}")
}

/// The table at the end of a paced run; empty for others.
pub(crate) fn block(ended: &RunEnded) -> Vec<String> {
    let times = ended.times.both();
    if times.due.is_empty() {
        return Vec::new();
    }
    let rows = parts(&times);
    let rows = rows.iter().map(|(name, summary)| row(&format!("{name:<16}"), summary));
    std::iter::once(title(&format!("{:<16}", "Latency in ms"))).chain(rows).collect()
}

/// Said where times are beyond the range of the histograms.
pub(crate) fn beyond(ended: &RunEnded) -> Option<String> {
    let beyond = |timing: &Timing| timing.hist.over;
    let times = ended.times.both();
    let (service, due) = (beyond(&times.service), beyond(&times.due));
    let most = service.max(due);
    (most > 0).then(|| {
        let (count, max) = (commas(most), fixed(times.service.max_ns.max(times.due.max_ns) as f64 / 1e9, 0));
        format!("{count} I/Os took longer than 18 minutes, the longest {max} seconds; percentiles among them show the longest.")
    })
}
