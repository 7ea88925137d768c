//! `brunt calibrate`: what this host and this build add to a measurement (`docs/calibrate.md`).

mod against;
mod call;
mod device;
mod own;

use std::ffi::OsString;
use std::io::{self, Write};

use brunt_worker::calibrate::lun::{self, Lun};

use crate::exit;
use crate::invocation::Invocation;
use call::Call;

/// Measures and prints. Nothing is ever written to a LUN.
pub fn run(invocation: &Invocation, words: &[OsString]) -> i32 {
    let call = match call::read(words) {
        Ok(call) => call,
        Err(text) => {
            complain(&text);
            return exit::USAGE;
        }
    };
    let done = look(&call).and_then(|lun| {
        if call.device {
            return device::text();
        }
        match &lun {
            Some(lun) if !call.against.is_empty() => against::text(invocation, &call, lun),
            _ => Ok(own::page(lun.as_ref()).text()),
        }
    });
    match done {
        Ok(text) => {
            // A reader that went away has seen what it wanted.
            let _ = io::stdout().write_all(text.as_bytes());
            exit::DONE
        }
        Err(text) => {
            complain(&text);
            exit::SETUP
        }
    }
}

fn look(call: &Call) -> Result<Option<Lun>, String> {
    let look = |path: &String| lun::look(path, call.size).map_err(|error| format!("cannot read {path}: {error}"));
    call.lun.as_ref().map(look).transpose()
}

fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "error: {text}");
}

/// What is going on, for somebody who waits.
fn progress(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
