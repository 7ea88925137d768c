//! An execution from the command line to the exit status.

use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write};

use brunt_event::{AbortCause, Compat, Event, NoticeLevel, Opened, SCHEMA};
use brunt_master::launch::way::{self, Way};
use brunt_master::launch::{self, Here};
use brunt_master::tether::{Crew, Terms};
use brunt_master::{Fleet, FleetHost, GrpcLink, LinkEvent, Outcome};
use brunt_plan::plan::Plan;
use brunt_report::Directory;
use brunt_worker::control;
use tokio::sync::mpsc;

use crate::arguments::{Arguments, Layout};
use crate::detach;
use crate::diagnostics::{self, Shower};
use crate::exit;
use crate::invocation::Invocation;
use crate::prepare::{self, Prepared, Unplannable};
use crate::process;
use crate::session::{Session, now_ms};
use crate::signals::{self, Interrupted};

/// Events of agents that may wait for the master before they wait themselves.
const EVENTS: usize = 4096;
/// Runs what the command line asks for and gives the exit status.
///
/// `background`: from the moment that the output directory is known there is nobody to show anything to.
pub fn run(invocation: &Invocation, arguments: &Arguments, background: bool) -> i32 {
    let asked = arguments.output.as_deref().unwrap_or("output");
    let directory = match Directory::open(asked, now_ms(), &invocation.zone) {
        Ok(directory) => directory,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            return exit::of_abort(AbortCause::Output, invocation.as_vdbench);
        }
    };
    if background && let Err(error) = detach::settle(directory.path()) {
        let _ = writeln!(
            io::stderr(),
            "error: cannot write what the console shows to '{}': {error}",
            directory.path().display()
        );
        return exit::of_abort(AbortCause::Output, invocation.as_vdbench);
    }
    let seed = arguments.seed.unwrap_or_else(draw_seed);
    let opened = opened(invocation, arguments, &directory, seed);
    let mut session = match Session::new(directory) {
        Ok(session) => session,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: cannot start the threads that write reports: {error}");
            return exit::of_abort(AbortCause::Output, invocation.as_vdbench);
        }
    };
    session.emit(Event::Opened(opened));
    for word in scanned(arguments, invocation) {
        session.emit(Event::Argument { text: word });
    }
    let mut interrupted = Interrupted::default();
    let (mut status, mut complete) = match plan(invocation, arguments, seed, &mut session) {
        Ok(prepared) if arguments.simulate => {
            brunt_master::simulate(&prepared.plan, in_vdbench_words(invocation, arguments), &mut |e| session.emit(e));
            (exit::DONE, true)
        }
        Ok(mut prepared) => {
            prepared.plan.settings.unsupported.extend(not_yet(arguments).map(|text| (None, text)));
            execute(invocation, arguments, prepared, &mut session, &mut interrupted)
        }
        Err(Unplannable { text, .. }) => {
            session.emit(Event::Aborted { cause: AbortCause::Parameters, text, io_errors: 0 });
            (exit::of_abort(AbortCause::Parameters, invocation.as_vdbench), false)
        }
    };
    if let Some(error) = session.output_error().filter(|_| complete) {
        let text = format!("the reports are not complete: {error}");
        session.emit(Event::Aborted { cause: AbortCause::Output, text, io_errors: 0 });
        (status, complete) = (exit::of_abort(AbortCause::Output, invocation.as_vdbench), false);
    }
    session.emit(Event::Closed { status, complete });
    session.close(&interrupted);
    status
}

fn plan(
    invocation: &Invocation,
    arguments: &Arguments,
    seed: u64,
    session: &mut Session,
) -> Result<Prepared, Unplannable> {
    let emit = &mut |event| session.emit(event);
    let planned = prepare::files(arguments, invocation)
        .and_then(|files| prepare::plan(files, arguments, invocation.as_vdbench, seed, emit));
    if planned.as_ref().is_err_and(|e| e.usage) {
        emit(Event::Usage);
    }
    planned
}

/// Whether `-s` shows rates as Vdbench does (`docs/vdbench/decisions.md`, command line).
fn in_vdbench_words(invocation: &Invocation, arguments: &Arguments) -> bool {
    invocation.as_vdbench || arguments.compat.is_some()
}

fn execute(
    invocation: &Invocation,
    arguments: &Arguments,
    Prepared { plan, sources }: Prepared,
    session: &mut Session,
    interrupted: &mut Interrupted,
) -> (i32, bool) {
    let runtime = match control::runtime() {
        Ok(runtime) => runtime,
        Err(error) => return (give_up(&format!("cannot start threads: {error}"), invocation, session), false),
    };
    let mut held = Vec::new();
    control::come_first();
    let done = runtime.block_on(async {
        let (events, from_agents) = mpsc::channel(EVENTS);
        let fleet = launch(invocation, arguments, &plan, session, events)?;
        let options = brunt_master::Options::new(invocation.as_vdbench, session.directory());
        let (control, asked) = mpsc::channel(4);
        *interrupted = signals::watch(control);
        let sink = &mut |event| match held.is_empty() && !ends_set_up(&event) {
            true => session.emit(event),
            false => held.push(event),
        };
        Ok::<_, String>(brunt_master::execute(plan, fleet, options, from_agents, asked, sink).await)
    });
    if let Ok(outcome) = &done {
        let shower = Shower::new(arguments.message_format);
        shower.show(&diagnostics::of_setup(&outcome.problems), &sources, &mut |event| session.emit(event));
    }
    held.into_iter().for_each(|event| session.emit(event));
    match done {
        Ok(outcome) => (status(&outcome, invocation.as_vdbench), outcome.complete),
        Err(text) => (give_up(&text, invocation, session), false),
    }
}

/// Whether an event says that the set-up failed: from there on events wait until its problems are shown, which the
/// outcome holds.
fn ends_set_up(event: &Event) -> bool {
    matches!(event, Event::Aborted { cause: AbortCause::Setup | AbortCause::Safety, .. })
}

fn give_up(text: &str, invocation: &Invocation, session: &mut Session) -> i32 {
    session.emit(Event::Aborted { cause: AbortCause::Setup, text: text.to_owned(), io_errors: 0 });
    exit::of_abort(AbortCause::Setup, invocation.as_vdbench)
}

/// The ways to the agents of all hosts, unless the plan is not for this version, which the master then says. Nothing is
/// started before the master greets them, all at once.
fn launch(
    invocation: &Invocation,
    arguments: &Arguments,
    plan: &Plan,
    session: &mut Session,
    events: mpsc::Sender<(usize, LinkEvent)>,
) -> Result<Fleet<GrpcLink>, String> {
    let mut hosts = Vec::new();
    if !brunt_master::refusals(plan).is_empty() {
        return Ok(Fleet { hosts });
    }
    let program = &invocation.program;
    let (mut here, terms) = (Here::of(program, plan)?, Terms::of(&plan.settings));
    here.port = arguments.port.unwrap_or(here.port);
    for (code, text) in way::notes(plan, &here.payload) {
        session.emit(Event::Notice { level: NoticeLevel::Note, code: code.to_owned(), text });
    }
    for (n, host) in plan.hosts.iter().enumerate() {
        let crew = Crew { label: host.label.clone(), workers: host.workers, cores: here.cores.clone() };
        let dial = launch::dial(host, &here)?;
        let called = match Way::of(host)? {
            Way::Local => program.display().to_string(),
            Way::Ssh | Way::Listen => format!("{} brunt", dial.name()),
        };
        let words = |w| format!("{called} SlaveJvm -m localhost -l {}", host.worker_label(w));
        let commands = (0..host.workers).map(words).collect();
        hosts.push(FleetHost { link: GrpcLink::over(n, crew, dial, terms, events.clone()), commands });
    }
    Ok(Fleet { hosts })
}

fn status(outcome: &Outcome, as_vdbench: bool) -> i32 {
    match (outcome.interrupted, outcome.abort) {
        (Some(signal), _) => exit::of_signal(signal),
        (None, Some(cause)) => exit::of_abort(cause, as_vdbench),
        (None, None) => exit::DONE,
    }
}

fn opened(invocation: &Invocation, arguments: &Arguments, directory: &Directory, seed: u64) -> Opened {
    Opened {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        compat: match arguments.compat {
            Some(Layout::Old) => Compat::V50406,
            Some(Layout::Current) | None => Compat::V50407,
        },
        as_vdbench: invocation.as_vdbench,
        created: directory.created(),
        directory: directory.path().display().to_string(),
        program: invocation.program.display().to_string(),
        working_directory: invocation.directory.display().to_string(),
        decimal_mb: arguments.decimal_mb,
        simulate: arguments.simulate,
        zone: invocation.zone.clone(),
        seed,
        pid: std::process::id(),
        birth: process::birth(std::process::id()),
    }
}

/// The arguments as the console shows them. `-t` shows the file that it stands for.
fn scanned(arguments: &Arguments, invocation: &Invocation) -> Vec<String> {
    let demo = invocation.temporary.join("parmfile");
    let shown = |word: &String| match word.strip_prefix("-t") {
        Some(_) if arguments.demo.is_some() => format!("-f{}", demo.display()),
        _ => word.clone(),
    };
    arguments.scanned.iter().map(shown).collect()
}

/// Options that change what is done and that this version cannot follow: refused rather than overlooked.
fn not_yet(arguments: &Arguments) -> impl Iterator<Item = String> {
    let validate = arguments.validate.as_ref().map(|_| "data validation (-v)");
    let journal = arguments.journal.as_ref().map(|_| "data validation with a journal (-j)");
    [validate, journal].into_iter().flatten().map(|what| format!("{what} is not in this version; leave the option out"))
}

/// A seed that differs from execution to execution.
fn draw_seed() -> u64 {
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}
