//! `status.html`: what is going on, for programs (`docs/vdbench/reports.md` §9.2).

use brunt_event::PlannedRun;

use crate::context::Context;
use crate::runs::loops;

/// Name of the file.
pub(crate) const FILE: &str = "status.html";

/// The lines before the first state.
pub(crate) const INTRO: &[&str] = &[
    "* Vdbench status",
    "",
    "* What the execution is doing, in lines that programs can read.",
    "* Whatever watches an execution may rely on them.",
    "* A line is in the file as soon as the state is reached.",
    "* Its parts are separated by tabs: time, state, run, loops.",
    "",
];

/// A line for a state, of a run or of the whole.
pub(crate) fn line(context: &Context, at_ms: i64, state: &str, run: Option<&PlannedRun>) -> String {
    let stamp = context.clock.stamp(at_ms);
    match run {
        Some(run) => format!("{stamp} \t{state}\trd={}\tFor loops: {}", run.name, loops(run)),
        None => format!("{stamp} \t{state}"),
    }
}
