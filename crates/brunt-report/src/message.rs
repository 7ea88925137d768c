//! Events that are a message: which lines they give, and where those go.

use brunt_event::{AnchorSize, EndScope, Event, HookDestination, NoticeLevel};

use crate::context::Context;
use crate::engines;
use crate::number::{commas, fixed, size};
use crate::own_error;
use crate::runs::description;

/// Where a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct To {
    pub console: bool,
    pub log: bool,
    pub summary: bool,
}

/// Console and log.
pub(crate) const CONSOLE: To = To { console: true, log: true, summary: false };
/// Console, log and summary.
pub(crate) const ALL: To = To { console: true, log: true, summary: true };
/// Log only.
pub(crate) const LOG: To = To { console: false, log: true, summary: false };
/// Summary and log.
pub(crate) const SUMMARY: To = To { console: false, log: true, summary: true };

/// The message of an event that is one; `None` for the others.
pub(crate) fn of(event: &Event, context: &Context) -> Option<(To, Vec<String>)> {
    let (to, line) = match event {
        Event::Argument { text } => (CONSOLE, format!("input argument scanned: '{text}'")),
        Event::Simulated { run } => (ALL, format!("Simulating {}", description(context.run(*run)?))),
        Event::AnchorSizes { anchors } => return Some((CONSOLE, anchor_sizes(anchors))),
        Event::SimulationTotal { runs, seconds } => (CONSOLE, simulation_total(*runs, *seconds)),
        Event::WorkerStarting { command, .. } => (CONSOLE, format!("Starting slave: {command}")),
        Event::WorkerConnected { worker, pid, master_pid } => (LOG, connected(context, *worker, *pid, *master_pid)),
        Event::WorkersConnected => (CONSOLE, "All slaves are now connected".to_owned()),
        Event::QueryCompleted { sd_sizes } => return Some((LOG, sizes(context, sd_sizes))),
        Event::OwnError { host, error } => (LOG, own_error::line(context.host(*host), error)),
        Event::FormatNeeded { lun, host, .. } => {
            (CONSOLE, format!("lun={lun} does not exist or is too small. host={}", context.host(*host)))
        }
        Event::Engines { choices } => return Some((CONSOLE, engines::lines(&context.planned, choices))),
        Event::LoopStarted { pass } => (ALL, format!("Starting loop {pass}")),
        Event::SequentialDone => return Some((CONSOLE, SEQUENTIAL_DONE.map(str::to_owned).to_vec())),
        Event::Draining { outstanding, seconds } => {
            (CONSOLE, format!("Waiting for {outstanding} outstanding i/o; {seconds} seconds since the end of the run"))
        }
        Event::Pausing { seconds } => (ALL, format!("Waiting {seconds} seconds; requested by 'pause' parameter")),
        Event::MonitorWatched { file } => (ALL, format!("User requesting monitoring of this run using file '{file}'.")),
        Event::EarlyEnd { scope } => (ALL, early_end(*scope).to_owned()),
        Event::Hook { command, place, status, lines, to } => {
            return Some((destination(*to), hook(command, place, *status, lines)));
        }
        Event::Notice { level, text, .. } => (ALL, format!("{}: {text}", level_name(*level))),
        Event::TakenOver { pid, .. } => {
            (ALL, format!("note: the master was killed; process {pid} goes on with what it began"))
        }
        Event::WorkerLost { worker, text } => return Some((ALL, worker_lost(context.worker(*worker), text))),
        _ => return None,
    };
    Some((to, vec![line]))
}

/// What is said when `maxdata=` is reached.
pub(crate) fn max_data(run: &str, limit: u64) -> String {
    format!("Reached maxdata={}. rd={run} shutting down after next interval. ", size(limit))
}

/// What is said before the first lun that must be made.
pub(crate) const FORMAT_FIRST: &str =
    "Vdbench will attempt to expand a disk file if it is missing or smaller than its 'size='";

const SEQUENTIAL_DONE: [&str; 2] = [
    "All sequential workloads on all slaves are done.",
    "This triggers end of run inspite of possibly some non-sequential workloads that are still running.",
];

/// The state and message of an early end.
pub(crate) fn early_end(scope: EndScope) -> &'static str {
    match scope {
        EndScope::Run => "User requested early shutdown of this run.",
        EndScope::Execution => "User requested early Vdbench termination.",
    }
}

/// `Slave localhost-0 (pid  15299) connected to master 15211`.
pub(crate) fn connected(context: &Context, worker: u32, pid: u32, master_pid: u32) -> String {
    format!("Slave {} (pid {pid:>6}) connected to master {master_pid}", context.worker(worker))
}

/// A line for each anchor, and one for all when there are several (`docs/vdbench/filesystem.md` §1.4).
fn anchor_sizes(anchors: &[AnchorSize]) -> Vec<String> {
    let line = |a: &AnchorSize| {
        format!(
            "Anchor size: anchor={}: dirs: {:>12}; files: {:>12}; bytes: {:>10} ({})",
            a.anchor,
            commas(a.directories),
            commas(a.files),
            whole_size(a.bytes),
            commas(a.bytes)
        )
    };
    let mut lines: Vec<String> = anchors.iter().map(line).collect();
    if anchors.len() > 1 {
        let sum = |field: fn(&AnchorSize) -> u64| anchors.iter().map(field).fold(0, u64::saturating_add);
        lines.push(format!(
            "Estimated totals for all {} anchors: dirs: {}; files: {}; bytes: {} ",
            anchors.len(),
            commas(sum(|a| a.directories)),
            commas(sum(|a| a.files)),
            whole_size(sum(|a| a.bytes))
        ));
    }
    lines
}

/// Bytes as they are below 100,000, else with three decimals and a unit.
fn whole_size(bytes: u64) -> String {
    const LEAST: u64 = 100_000;
    const UNITS: [(u64, char); 5] = [(1 << 50, 'p'), (1 << 40, 't'), (1 << 30, 'g'), (1 << 20, 'm'), (1 << 10, 'k')];
    let unit = UNITS.iter().find(|(unit, _)| bytes >= *unit);
    match unit {
        Some((unit, letter)) if bytes >= LEAST => format!("{}{letter}", fixed(bytes as f64 / *unit as f64, 3)),
        _ => bytes.to_string(),
    }
}

fn simulation_total(runs: u32, seconds: u64) -> String {
    let hours = fixed(seconds as f64 / 3_600.0, 4);
    format!(
        "Total amount of Run Definitions: {runs}; total elapsed time {seconds} seconds, or {hours} hours, \
         plus a format if requested."
    )
}

/// Sizes of the SDs, and of all when there are several.
fn sizes(context: &Context, sd_sizes: &[Option<u64>]) -> Vec<String> {
    let sds = context.planned.sds.iter().zip(sd_sizes);
    let known: Vec<_> = sds.filter_map(|(sd, bytes)| Some((sd, (*bytes)?))).collect();
    let lun = |luns: &[Option<String>]| luns.iter().flatten().next().cloned().unwrap_or_default();
    let line = |(sd, bytes): &(&brunt_event::PlannedSd, u64)| {
        format!("sd={},lun={} lun size: {}", sd.name, lun(&sd.luns), in_bytes(*bytes))
    };
    let mut lines: Vec<String> = known.iter().map(line).collect();
    if known.len() > 1 {
        lines.push(String::new());
        lines.push(format!("Total SD size: {}", in_bytes(known.iter().map(|(_, bytes)| bytes).sum())));
    }
    lines
}

fn in_bytes(bytes: u64) -> String {
    let gb = |unit: f64| fixed(bytes as f64 / unit, 4);
    let (binary, decimal) = (gb((1u64 << 30) as f64), gb(1e9));
    format!("{} bytes; {binary} GB (1024**3); {decimal} GB (1000**3)", commas(bytes))
}

fn destination(to: HookDestination) -> To {
    match to {
        HookDestination::Console => CONSOLE,
        HookDestination::Summary => SUMMARY,
        HookDestination::Log => LOG,
    }
}

fn hook(command: &str, place: &str, status: Option<i32>, lines: &[String]) -> Vec<String> {
    let end = match status {
        Some(0) => None,
        Some(status) => Some(format!("{place}: command '{command}' ended with exit status {status}")),
        None => Some(format!("{place}: command '{command}' did not end by itself")),
    };
    let start = format!("{place}: command '{command}'");
    std::iter::once(start).chain(lines.iter().map(|line| format!("{place}: {line}"))).chain(end).collect()
}

fn level_name(level: NoticeLevel) -> &'static str {
    match level {
        NoticeLevel::Note => "note",
        NoticeLevel::Warning => "warning",
    }
}

fn worker_lost(label: &str, text: &str) -> Vec<String> {
    let mut lines = crate::boxes::framed(&[format!("Slave {label} aborting: {text}")]);
    lines.push(format!("Slave {label} prematurely terminated. "));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_are_listed_as_in_the_golden_cases() {
        let tree = |n: u64, bytes| AnchorSize { anchor: format!("./tree{n}"), directories: 1, files: 8, bytes };
        assert_eq!(
            anchor_sizes(&[tree(0, 131_072)]),
            ["Anchor size: anchor=./tree0: dirs:            1; files:            8; bytes:   128.000k (131,072)"]
        );
        assert_eq!(
            anchor_sizes(&[tree(1, 65_536), tree(2, 65_536)])[1..],
            [
                "Anchor size: anchor=./tree2: dirs:            1; files:            8; bytes:      65536 (65,536)",
                "Estimated totals for all 2 anchors: dirs: 2; files: 16; bytes: 128.000k "
            ]
        );
    }
}
