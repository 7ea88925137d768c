//! The agent's and the worker's side of the program, started by a master or an agent, never by hand.

use std::ffi::OsString;
use std::io::{self, Write};

use brunt_worker::agent::{self, AgentOptions};
use brunt_worker::control;

use crate::exit;

/// `brunt agent …` and `brunt worker …`: serves one client over standard input and output.
pub fn serve(words: &[OsString]) -> i32 {
    let words = words.iter().map(|w| w.to_string_lossy().into_owned());
    let options = match AgentOptions::from_args(words) {
        Ok(options) => options,
        Err(error) => return complain(&format!("{error}; agents are started by a master"), exit::USAGE),
    };
    let runtime = match control::runtime() {
        Ok(runtime) => runtime,
        Err(error) => return complain(&format!("cannot start threads: {error}"), exit::SETUP),
    };
    control::come_first();
    let status = match runtime.block_on(agent::serve_stdio(options)) {
        Ok(()) => exit::DONE,
        Err(error) => complain(&error.to_string(), exit::WORKER_LOST),
    };
    // An I/O that never returns holds its thread: waiting for it would keep the process for ever.
    runtime.shutdown_background();
    status
}

fn complain(text: &str, status: i32) -> i32 {
    let _ = writeln!(io::stderr(), "error: {text}");
    status
}
