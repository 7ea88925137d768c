//! The agent's and the worker's side of the program, started by a master or an agent; by hand only to listen.

use std::ffi::OsString;
use std::io::{self, Write};

use brunt_worker::agent::{self, AgentCommand, AgentError};

use crate::exit;

/// `brunt agent …` and `brunt worker …`: serves one client over standard input and output, is a bridge to an agent that
/// does, or listens.
pub fn serve(words: &[OsString]) -> i32 {
    let words = words.iter().map(|w| w.to_string_lossy().into_owned());
    let command = match AgentCommand::from_args(words) {
        Ok(command) => command,
        Err(error) => {
            let usage = "agents are started by a master; by hand: brunt agent --listen ADDRESS:PORT --cert FILE --key FILE \
                         --ca FILE [--cores LIST]";
            return complain(&format!("{error}; {usage}"), exit::USAGE);
        }
    };
    match agent::run(command) {
        Ok(()) => exit::DONE,
        Err(error) => complain(&error.to_string(), status_of(&error)),
    }
}

fn status_of(error: &AgentError) -> i32 {
    match error {
        AgentError::Connection(_) | AgentError::Lost | AgentError::Missing(_) => exit::WORKER_LOST,
        AgentError::Terminated => exit::of_signal(nix::sys::signal::Signal::SIGTERM as i32),
        AgentError::Stdio(_) | AgentError::Start(_) | AgentError::Listen(_) => exit::SETUP,
    }
}

fn complain(text: &str, status: i32) -> i32 {
    let _ = writeln!(io::stderr(), "error: {text}");
    status
}
