//! `brunt plan`: what would be done, and where, before anything runs. Nothing is written and nothing is started.

mod deals;
mod files;
mod known;
mod outline;
mod table;
mod text;

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::io::{self, Write};

use brunt_event::Event;
use brunt_parm::Severity;
use brunt_plan::work::HostTraits;
use brunt_worker::inspect::{self, HostAnswer, Roots};

use crate::arguments::{self, Arguments};
use crate::diagnostics::{self, Shower};
use crate::exit;
use crate::files::Files;
use crate::invocation::Invocation;
use crate::prepare::{self, Prepared};

use self::known::Known;
use self::outline::Outline;

/// Shows the plan of the call. Problems of devices are warnings: the files may be meant for other machines.
pub fn run(invocation: &Invocation, words: &[OsString]) -> i32 {
    let json = words.iter().any(|w| w == "--json");
    let words = words.iter().filter(|w| *w != "--json").cloned();
    let arguments = match arguments::read(words) {
        Ok(arguments) => arguments,
        Err(error) => return complain(&error.to_string(), exit::USAGE),
    };
    if arguments.files.is_empty() && arguments.demo.is_none() {
        return complain("no parameter file was named; usage: brunt plan -f FILE… [--json] [options]", exit::USAGE);
    }
    match prepared(invocation, &arguments) {
        Ok(prepared) => show(&arguments, prepared, json),
        Err(status) => status,
    }
}

fn prepared(invocation: &Invocation, arguments: &Arguments) -> Result<Prepared, i32> {
    let files = prepare::files(arguments, invocation).map_err(|e| complain(&e.text, exit::USAGE))?;
    let seed = arguments.seed.unwrap_or_default();
    prepare::plan(files, &Files, arguments, invocation.as_vdbench, seed, &mut to_stderr).map_err(|_| exit::PARAMETERS)
}

fn show(arguments: &Arguments, Prepared { plan, sources }: Prepared, json: bool) -> i32 {
    let here: Vec<bool> = plan.hosts.iter().map(|h| brunt_master::is_this_machine(&h.system)).collect();
    let answers = here
        .iter()
        .enumerate()
        .map(|(host, here)| here.then(|| inspect::host(&Roots::default(), &plan.lun_queries(host))));
    let answers: Vec<Option<HostAnswer>> = answers.collect();
    let traits = |answer: &HostAnswer| HostTraits {
        engines: answer.engines.clone(),
        machine: answer.machine.clone(),
        ..HostTraits::default()
    };
    let hosts: Vec<HostTraits> = answers.iter().map(|a| a.as_ref().map(traits).unwrap_or_default()).collect();
    let facts = answers.into_iter().map(|a| a.map(|a| a.luns));
    let known = Known::new(&plan, facts.collect(), &hosts);
    let outline = Outline::new(&plan, &known, &here);
    let mut problems = diagnostics::of_setup(&known.problems);
    problems.extend(diagnostics::of_setup(&brunt_master::refusals(&plan)));
    problems.extend(diagnostics::of_setup(&outline.problems));
    let mut status = exit::DONE;
    for problem in &mut problems {
        if arguments.strict {
            status = exit::SETUP;
        } else {
            problem.severity = Severity::Warning;
        }
    }
    let text = if json { outline.json() } else { text::of(&outline) };
    // A reader that went away has seen what it wanted.
    let _ = io::stdout().write_all(text.as_bytes());
    Shower::new(arguments.message_format).show(&problems, &sources, &mut to_stderr);
    status
}

/// What is noticed about the files; the rest of the event stream belongs to an execution.
pub fn to_stderr(event: Event) {
    if let Event::Diagnostic { text, .. } = event {
        let _ = writeln!(io::stderr(), "{text}");
    }
}

fn complain(text: &str, status: i32) -> i32 {
    let _ = writeln!(io::stderr(), "error: {text}");
    status
}
