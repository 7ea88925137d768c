//! `--against`: Brunt and other tools on one LUN, in turn, reads only.
//!
//! Every tool runs as a user would run it, as a process of its own; so does Brunt. Response times are what the tools
//! themselves report. CPU time is that of all processes of the tool between two moments within its steady part,
//! divided by the reads of that time, so start and end are not in it.

mod brunt;
mod fio;
mod folder;
mod rows;
mod tree;
mod vdbench;

use std::path::Path;

use brunt_report::calibration::{Measure, Tool, Versus};
use brunt_worker::calibrate::host::{self, Roots};
use brunt_worker::calibrate::lun::Lun;

use super::call::{Call, Rival};
use super::progress;
use crate::invocation::Invocation;
use folder::Folder;

/// One round of one tool.
struct Job<'a> {
    lun: &'a Lun,
    threads: u32,
    /// Seconds that count; a second of warm-up comes before.
    seconds: u32,
    /// An empty folder for its files.
    folder: &'a Path,
}

/// A tool that can be run.
enum Runner<'a> {
    Brunt(&'a Path),
    Vdbench(&'a Path),
    Fio(&'a str),
}

impl Runner<'_> {
    fn name(&self) -> String {
        match self {
            Runner::Brunt(_) => "brunt".to_owned(),
            Runner::Vdbench(_) => "vdbench".to_owned(),
            Runner::Fio(engine) => format!("fio {engine}"),
        }
    }

    fn run(&self, job: &Job) -> Result<Measure, String> {
        match self {
            Runner::Brunt(program) => brunt::run(program, job),
            Runner::Vdbench(dir) => vdbench::run(dir, job),
            Runner::Fio(engine) => fio::run(engine, job),
        }
    }

    /// What its numbers mean.
    fn means(&self) -> &'static str {
        match self {
            Runner::Brunt(_) => {
                "brunt: nanoseconds from just before the system call (or the submit) to just after it (or the reap)."
            }
            Runner::Vdbench(_) => {
                "vdbench: whole microseconds around its native call, printed in ms with three decimals: ± 0.5 µs. No \
                 percentiles."
            }
            Runner::Fio("psync") => "fio psync: lat, around the system call; percentiles in buckets of about 1 %.",
            Runner::Fio(_) => {
                "fio (asynchronous): lat = slat + clat. clat alone leaves the submit out, and where an I/O completes \
                 inside the submit nearly all of it is slat."
            }
        }
    }
}

/// Runs all rounds and gives the page.
///
/// # Errors
/// Brunt itself cannot be run, or the temporary folder cannot be made.
pub fn text(invocation: &Invocation, call: &Call, lun: &Lun) -> Result<String, String> {
    let folder = Folder::new(&invocation.temporary)?;
    // Before the load is ours.
    let (host, before) = (host::read(&Roots::default()), host::ticks(&Roots::default()));
    let mut out = format!(
        "Brunt {} and others on {}: random reads of {} bytes, {}\n{} rounds of {} s in turn after a second of warm-up; \
         medians [smallest..largest]\n",
        env!("CARGO_PKG_VERSION"),
        lun.path,
        lun.block,
        if lun.direct { "with O_DIRECT" } else { "through the page cache" },
        call.rounds,
        call.seconds,
    );
    let threads = match &call.threads[..] {
        [] => vec![1, if lun.raw { 32 } else { 8 }],
        given => given.to_vec(),
    };
    let mut notes = Vec::new();
    for threads in threads {
        out.push_str(&one(invocation, call, lun, threads, &folder, &mut notes)?);
    }
    out.push_str("\nWhat the numbers mean\n");
    notes.iter().for_each(|note| out.push_str(&format!("  {note}\n")));
    let stolen = before.zip(host::ticks(&Roots::default())).and_then(|(before, after)| host::stolen(before, after));
    let doubts = host::doubts(&host, None, None, stolen);
    if !doubts.is_empty() {
        out.push_str("\nDoubts\n");
        doubts.iter().for_each(|doubt| out.push_str(&format!("  {doubt}\n")));
    }
    Ok(out)
}

/// All rounds with so many outstanding reads.
fn one(
    invocation: &Invocation,
    call: &Call,
    lun: &Lun,
    threads: u32,
    folder: &Folder,
    notes: &mut Vec<String>,
) -> Result<String, String> {
    let mut runners = vec![(Runner::Brunt(&invocation.program), Tool::default())];
    for rival in &call.against {
        let runner = match rival {
            Rival::Vdbench(dir) => Runner::Vdbench(dir),
            Rival::Fio(Some(engine)) => Runner::Fio(engine),
            // As Brunt would choose.
            Rival::Fio(None) => Runner::Fio(if lun.raw && threads > 1 { "io_uring" } else { "psync" }),
        };
        runners.push((runner, Tool::default()));
    }
    let mut failed = Vec::new();
    for round in 1..=call.rounds {
        let mut fit = Vec::with_capacity(runners.len());
        for (runner, mut tool) in runners {
            tool.name = runner.name();
            progress(&format!("threads={threads}, round {round} of {}: {}", call.rounds, tool.name));
            let place = folder.fresh()?;
            match runner.run(&Job { lun, threads, seconds: call.seconds, folder: &place }) {
                Ok(measure) => {
                    tool.rounds.push(measure);
                    fit.push((runner, tool));
                }
                Err(reason) if matches!(runner, Runner::Brunt(_)) => return Err(format!("brunt: {reason}")),
                // Without it from here on, and without its rounds: pairs must stay pairs.
                Err(reason) => failed.push(format!("threads={threads}: {} is left out: {reason}", tool.name)),
            }
        }
        runners = fit;
    }
    for note in runners.iter().map(|(runner, _)| runner.means().to_owned()).chain(failed) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    let tools = runners.into_iter().map(|(_, tool)| tool).collect();
    Ok(Versus { title: format!("threads={threads}"), tools }.text())
}
