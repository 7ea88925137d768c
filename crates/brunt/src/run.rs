//! An execution from the command line to the exit status.

use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write};

use brunt_event::{AbortCause, Compat, Event, Opened, SCHEMA};
use brunt_master::tether::Kept;
use brunt_report::Directory;

use crate::arguments::{Arguments, Layout};
use crate::detach;
use crate::exit;
use crate::invocation::Invocation;
use crate::lead::{self, Leading};
use crate::open_files;
use crate::prepare::{self, Prepared, Unplannable};
use crate::process;
use crate::session::{Session, now_ms};
use crate::signals::Interrupted;
use crate::testament::{Call, Recorder, Testament};

/// Runs what the command line asks for and gives the exit status.
///
/// `background`: from the moment that the output directory is known there is nobody to show anything to.
pub fn run(invocation: &Invocation, arguments: &Arguments, background: bool) -> i32 {
    if let Err(error) = open_files::make_room() {
        let _ = writeln!(io::stderr(), "error: {error}");
        return exit::of_abort(AbortCause::Setup, invocation.as_vdbench);
    }
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
    let (read, mut files) = (Recorder::default(), Vec::new());
    let (status, complete) = match plan(invocation, arguments, seed, (&read, &mut files), &mut session) {
        Ok(prepared) if arguments.simulate => {
            brunt_master::simulate(&prepared.plan, in_vdbench_words(invocation, arguments), &mut |e| session.emit(e));
            (exit::DONE, true)
        }
        Ok(mut prepared) => {
            prepared.plan.settings.unsupported.extend(not_yet(arguments).map(|text| (None, text)));
            let call = Call::of(invocation, seed);
            let leave = |kept: &[Kept]| Testament::new(call, files, &read, kept);
            let leading = Leading { invocation, arguments, session: &mut session, interrupted: &mut interrupted };
            leading.execute(prepared, leave)
        }
        Err(Unplannable { text, .. }) => {
            session.emit(Event::Aborted { cause: AbortCause::Parameters, text, io_errors: 0 });
            (exit::of_abort(AbortCause::Parameters, invocation.as_vdbench), false)
        }
    };
    lead::close(session, &interrupted, (status, complete), invocation.as_vdbench)
}

fn plan(
    invocation: &Invocation,
    arguments: &Arguments,
    seed: u64,
    (read, files): (&Recorder, &mut Vec<String>),
    session: &mut Session,
) -> Result<Prepared, Unplannable> {
    let emit = &mut |event| session.emit(event);
    let planned = prepare::files(arguments, invocation).and_then(|named| {
        files.clone_from(&named);
        prepare::plan(named, read, arguments, invocation.as_vdbench, seed, emit)
    });
    if planned.as_ref().is_err_and(|e| e.usage) {
        emit(Event::Usage);
    }
    planned
}

/// Whether `-s` shows rates as Vdbench does (`docs/vdbench/decisions.md`, command line).
fn in_vdbench_words(invocation: &Invocation, arguments: &Arguments) -> bool {
    invocation.as_vdbench || arguments.compat.is_some()
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
pub fn not_yet(arguments: &Arguments) -> impl Iterator<Item = String> {
    let validate = arguments.validate.as_ref().map(|_| "data validation (-v)");
    let journal = arguments.journal.as_ref().map(|_| "data validation with a journal (-j)");
    [validate, journal].into_iter().flatten().map(|what| format!("{what} is not in this version; leave the option out"))
}

/// A seed that differs from execution to execution.
fn draw_seed() -> u64 {
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}
