//! `brunt attach DIR`: shows an execution from its output directory, while it goes on or later, and ends it when asked.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use brunt_event::Birth;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::signal::unix::{Signal as Arrivals, SignalKind, signal};

use crate::detach::as_word;
use crate::exit;
use crate::follow::{Follower, LOOK, Master};
use crate::partial;
use crate::process;
use crate::takeover;

const USAGE: &str = "usage: brunt attach DIR [--stop]";

/// A call.
#[derive(Debug, PartialEq, Eq)]
struct Call {
    directory: PathBuf,
    stop: bool,
}

/// Shows the execution and gives its status.
pub fn run(words: &[OsString]) -> i32 {
    let call = match read(words) {
        Ok(call) => call,
        Err(text) => {
            let _ = writeln!(io::stderr(), "error: {text}; {USAGE}");
            return exit::USAGE;
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let shown = runtime.map_err(|error| format!("cannot wait for events: {error}"));
    match shown.and_then(|runtime| runtime.block_on(attach(&call))) {
        Ok(status) => status,
        Err(text) => {
            let _ = writeln!(io::stderr(), "error: {text}");
            exit::SETUP
        }
    }
}

fn read(words: &[OsString]) -> Result<Call, String> {
    let (mut directory, mut stop) = (None, false);
    for word in words {
        match word.to_str() {
            Some("--stop") => stop = true,
            Some(option) if option.starts_with('-') => return Err(format!("`{option}` is not known")),
            _ if directory.is_some() => return Err(format!("`{}` is one directory too many", word.to_string_lossy())),
            _ => directory = Some(PathBuf::from(word)),
        }
    }
    let directory = directory.ok_or("which execution? Name its output directory")?;
    Ok(Call { directory, stop })
}

async fn attach(call: &Call) -> Result<i32, String> {
    let mut interrupts = signal(SignalKind::interrupt()).map_err(|error| error.to_string())?;
    let directory = std::path::absolute(&call.directory).unwrap_or_else(|_| call.directory.clone());
    let mut follower = Follower::open(&directory).map_err(|error| error.to_string())?;
    follower.read_on(false).map_err(|error| error.to_string())?;
    if call.stop && follower.status().is_none() && follower.master() != Master::Gone {
        stop(follower.leader())?;
    }
    follow(&mut follower, &directory, &mut interrupts).await
}

/// Until the execution is over, or the caller leaves.
async fn follow(follower: &mut Follower, directory: &Path, interrupts: &mut Arrivals) -> Result<i32, String> {
    // A master that ends without getting anywhere is not put in the place of another for ever.
    let (mut doubted, mut tried_at) = (false, None);
    loop {
        let master = follower.master();
        follower.read_on(false).map_err(|error| error.to_string())?;
        if let Some(status) = follower.status() {
            return Ok(status);
        }
        if follower.is_deaf() {
            return Ok(exit::DONE);
        }
        match master {
            Master::There => {}
            Master::Gone if tried_at < Some(follower.intervals()) => {
                tried_at = Some(follower.intervals());
                if let Err(why) = takeover::start(directory) {
                    let _ = writeln!(io::stderr(), "note: nobody can go on with this execution: {why}");
                }
                continue;
            }
            Master::Gone => {
                partial::complete(directory)?;
                continue;
            }
            Master::Unknown if !doubted => {
                doubted = true;
                let text = "note: its master is on another machine; if it has ended there, nothing more will come here";
                let _ = writeln!(io::stderr(), "{text}");
            }
            Master::Unknown => {}
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            _ = interrupts.recv() => {
                let shown = as_word(directory);
                let _ = writeln!(
                    io::stderr(),
                    "The execution goes on; `brunt attach {shown}` shows it again, `brunt attach {shown} --stop` ends it."
                );
                return Ok(exit::of_signal(Signal::SIGINT as i32));
            }
        }
    }
}

/// Asks the master to end as one Ctrl-C does, if its process is surely that one.
fn stop((pid, known): (u32, Option<&Birth>)) -> Result<(), String> {
    let birth = process::birth(pid);
    if birth.is_none() || birth.as_ref() != known {
        return Err(format!(
            "the execution goes on, but its master (process {pid}) is not a process of this machine that can be seen from \
             here; use --stop where it was started"
        ));
    }
    let pid = Pid::from_raw(pid.cast_signed());
    kill(pid, Signal::SIGINT).map_err(|error| format!("process {pid} cannot be told to stop: {}", error.desc()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_call() {
        let of = |words: &[&str]| read(&words.iter().map(OsString::from).collect::<Vec<_>>());
        let call = |stop| Ok(Call { directory: PathBuf::from("out"), stop });
        assert_eq!([of(&["out"]), of(&["--stop", "out"])], [call(false), call(true)]);
        assert_eq!(of(&["out", "-x"]), Err("`-x` is not known".to_owned()));
        assert_eq!(of(&["out", "b"]), Err("`b` is one directory too many".to_owned()));
        assert_eq!(of(&["--stop"]), Err("which execution? Name its output directory".to_owned()));
    }
}
