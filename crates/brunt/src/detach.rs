//! `--detach`: the execution goes on in the background, in a session of its own, while its caller sees the set-up and
//! leaves.
//!
//! The caller starts this program again (`brunt detached …`). The child says on its standard output which directory it
//! writes to, and lets go of all its standard streams; the caller shows what is written there until the first run starts.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use brunt_report::CONSOLE;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, dup2_stderr, dup2_stdout, setsid};
use tokio::signal::unix::{SignalKind, signal};

use crate::completions::quoted;
use crate::exit;
use crate::follow::{Follower, LOOK};
use crate::invocation::Invocation;

/// The word before the options of the child.
pub const CHILD: &str = "detached";

/// Starts the child and shows its set-up. 0 once a run has started, else the status that the execution ended with.
pub fn start(invocation: &Invocation) -> i32 {
    let mut command = Command::new(&invocation.program);
    let command =
        command.arg0(&invocation.name).arg(CHILD).args(&invocation.words).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return complain(&format!("{} cannot be started: {error}", invocation.program.display())),
    };
    match directory(&mut child) {
        Some(directory) => show(&mut child, &directory),
        // It has said why on our standard error.
        None => child.wait().map_or(exit::SETUP, status_of),
    }
}

/// Where the child writes; `None`: it has ended before.
pub fn directory(child: &mut Child) -> Option<PathBuf> {
    let mut said = Vec::new();
    child.stdout.take()?.read_to_end(&mut said).ok()?;
    (said.pop() == Some(b'\n')).then(|| PathBuf::from(OsString::from_vec(said)))
}

fn show(child: &mut Child, directory: &Path) -> i32 {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return complain(&format!("cannot show the set-up: {error}; {}", how_to_look(child, directory))),
    };
    match runtime.block_on(set_up(child, directory)) {
        Ok(status) => status,
        Err(error) => complain(&format!("{error}; {}", how_to_look(child, directory))),
    }
}

/// Until a run has started or the execution is over. Ctrl-C goes to the child, whose end is shown then.
async fn set_up(child: &mut Child, directory: &Path) -> Result<i32, String> {
    let mut interrupts = signal(SignalKind::interrupt()).map_err(|error| error.to_string())?;
    let mut until_run = true;
    let mut follower: Option<Follower> = None;
    loop {
        let ended = child.try_wait().map_err(|error| error.to_string())?;
        if follower.is_none() {
            match Follower::open(directory) {
                Ok(opened) => follower = Some(opened),
                Err(error) if ended.is_some() => return Err(error.to_string()),
                // The first event may not be there yet.
                Err(_) => {}
            }
        }
        if let Some(follower) = &mut follower {
            follower.read_on(until_run).map_err(|error| error.to_string())?;
        }
        if let Some(status) = follower.as_ref().and_then(Follower::status) {
            return Ok(status);
        }
        if until_run && follower.as_ref().is_some_and(Follower::is_running) {
            let _ = writeln!(io::stdout(), "{}", how_to_look(child, directory));
            return Ok(exit::DONE);
        }
        if let Some(ended) = ended {
            let _ = writeln!(io::stderr(), "error: the execution has ended without a word ({ended})");
            return Ok(Some(status_of(ended)).filter(|status| *status != 0).unwrap_or(exit::SETUP));
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            _ = interrupts.recv() => {
                until_run = false;
                // It is our child, and its status is still to be taken: the number is its own.
                let _ = kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT);
            }
        }
    }
}

fn how_to_look(child: &Child, directory: &Path) -> String {
    let (pid, directory) = (child.id(), as_word(directory));
    format!(
        "The execution goes on in the background as process {pid}. `brunt attach {directory}` shows it, `brunt attach \
         {directory} --stop` ends it as Ctrl-C does."
    )
}

/// A folder as it can be pasted into a shell.
pub fn as_word(directory: &Path) -> String {
    let text = directory.display().to_string();
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+,:=@%".contains(letter);
    if text.chars().all(plain) { text } else { quoted(&text) }
}

fn status_of(ended: ExitStatus) -> i32 {
    ended.code().unwrap_or_else(|| exit::of_signal(ended.signal().unwrap_or(0)))
}

fn complain(text: &str) -> i32 {
    let _ = writeln!(io::stderr(), "error: {text}");
    exit::SETUP
}

/// The child's first step: a session of its own, so that no terminal takes it along.
pub fn leave_session() {
    // It fails only for the leader of a group, which a child of ours is not: whoever calls it so has a session already.
    let _ = setsid();
}

/// The child's second step: it says where it writes, and what it would show from now on goes there too.
///
/// # Errors
/// The file cannot be made.
pub fn settle(directory: &Path) -> io::Result<()> {
    let console = OpenOptions::new().append(true).create(true).open(directory.join(CONSOLE))?;
    let mut out = io::stdout();
    out.write_all(directory.as_os_str().as_bytes()).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush())?;
    dup2_stderr(&console)?;
    dup2_stdout(&console)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_can_be_pasted() {
        assert_eq!(as_word(Path::new("/tmp/out-1.d")), "/tmp/out-1.d");
        assert_eq!(as_word(Path::new("/tmp/my out")), "'/tmp/my out'");
        assert_eq!(as_word(Path::new("/tmp/it's")), r"'/tmp/it'\''s'");
    }
}
