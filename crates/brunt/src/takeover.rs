//! Going on with an execution whose master was killed: `brunt attach` starts a process in the background that leads it
//! from there on (`brunt detached attach DIR`), and shows it as any other.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use brunt_event::Event;
use brunt_master::Past;
use brunt_report::{Directory, OutputError};

use crate::arguments;
use crate::detach::{self, CHILD};
use crate::exit;
use crate::invocation::Invocation;
use crate::lead::{self, Leading};
use crate::open_files;
use crate::partial;
use crate::prepare::{self, Prepared};
use crate::process;
use crate::run;
use crate::session::Session;
use crate::signals::Interrupted;
use crate::testament::Testament;

/// Starts the process that goes on with the execution of a directory.
///
/// # Errors
/// Why it does not, in a sentence.
pub fn start(directory: &Path) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| format!("this program is not found: {error}"))?;
    let mut command = Command::new(program);
    let command = command.args([CHILD, "attach"]).arg(directory).stdin(Stdio::null());
    let started = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = started.map_err(|error| format!("this program cannot be started: {error}"))?;
    if detach::directory(&mut child).is_some() {
        return Ok(());
    }
    let mut said = String::new();
    if let Some(mut errors) = child.stderr.take() {
        // What it said is all there is.
        let _ = errors.read_to_string(&mut said);
    }
    let ended = child.wait().map_err(|error| error.to_string())?;
    // Somebody else goes on with it.
    if ended.success() { Ok(()) } else { Err(said.trim_end().to_owned()) }
}

/// The process that goes on.
pub fn lead(directory: Option<&OsString>) -> i32 {
    let Some(path) = directory else { return exit::USAGE };
    match go_on(Path::new(path)) {
        Ok(status) => status,
        Err(text) => {
            let _ = writeln!(io::stderr(), "{text}");
            exit::SETUP
        }
    }
}

fn go_on(path: &Path) -> Result<i32, String> {
    open_files::make_room()?;
    let mut directory = match Directory::reopen(path) {
        Ok(directory) => directory,
        Err(OutputError::InUse { .. }) => return Ok(exit::DONE),
        Err(error) => return Err(error.to_string()),
    };
    let left = Testament::read(directory.path())?;
    let garbled = || "what it left is garbled".to_owned();
    let kept = left.sessions().ok_or_else(garbled)?;
    let facts = kept.iter().map(|kept| kept.facts()).collect::<Option<Vec<_>>>().ok_or_else(garbled)?;
    std::env::set_current_dir(&left.directory)
        .map_err(|error| format!("'{}' is not there any more: {error}", left.directory.display()))?;
    let words: Vec<OsString> = left.words.iter().map(OsString::from).collect();
    let arguments = arguments::read(words.clone()).map_err(|error| error.to_string())?;
    let invocation = Invocation { words, ..Invocation::of(left.name.as_os_str()) };
    let mut past = Past::default();
    let (reporter, _) = partial::rebuild(&mut directory, &mut |record| past.take(record))?;
    if let Some(why) = past.refusal() {
        return Err(why.to_owned());
    }
    let as_vdbench = invocation.as_vdbench;
    let planned = prepare::plan(left.files.clone(), &left.reader(), &arguments, as_vdbench, left.seed, &mut |_| {});
    let Prepared { mut plan, .. } = planned.map_err(|error| error.text)?;
    plan.settings.unsupported.extend(run::not_yet(&arguments).map(|text| (None, text)));
    if plan.hosts.len() != kept.len() {
        return Err(garbled());
    }
    let cannot = |error: io::Error| format!("the reports cannot be gone on with: {error}");
    detach::settle(directory.path()).map_err(cannot)?;
    let mut session = Session::going_on(directory, reporter).map_err(cannot)?;
    let pid = std::process::id();
    session.emit(Event::TakenOver { pid, birth: process::birth(pid) });
    let mut interrupted = Interrupted::default();
    let (invocation, arguments) = (&invocation, &arguments);
    let leading = Leading { invocation, arguments, session: &mut session, interrupted: &mut interrupted };
    let end = leading.go_on(plan, past, facts, &kept);
    Ok(lead::close(session, &interrupted, end, as_vdbench))
}
