//! `brunt`: reads Vdbench parameter files and drives storage with them. This crate wires the others together.

mod arguments;
mod attach_command;
mod build_command;
mod calibrate_command;
mod certs_command;
mod completions;
mod console;
mod demo;
mod detach;
mod diagnostics;
mod exit;
mod explain;
mod files;
mod fmt_command;
mod follow;
mod invocation;
mod lead;
mod luns_command;
mod open_files;
mod options;
mod partial;
mod plan_command;
mod prepare;
mod process;
mod run;
mod scribe;
mod serve;
mod session;
mod signals;
mod stream;
mod takeover;
mod testament;

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::process::ExitCode;

use invocation::Invocation;

fn main() -> ExitCode {
    let mut words = env::args_os();
    let program = words.next().unwrap_or_else(|| OsString::from("brunt"));
    let mut words: Vec<OsString> = words.collect();
    let status = match words.first().and_then(|w| w.to_str()) {
        Some("agent" | "worker") => serve::serve(&words[1..]),
        Some("build") => build_command::run(&words[1..]),
        Some("plan") => plan_command::run(&Invocation::of(&program), &words[1..]),
        Some("fmt") => fmt_command::run(&words[1..]),
        Some("explain") => explain::run(&words[1..]),
        Some("calibrate") => calibrate_command::run(&Invocation::of(&program), &words[1..]),
        Some("certs") => certs_command::run(&words[1..]),
        Some("luns") => luns_command::run(&Invocation::of(&program), &words[1..]),
        Some("completions") => completions::run(&words[1..]),
        Some("attach") => attach_command::run(&words[1..]),
        Some(detach::CHILD) => {
            detach::leave_session();
            match words.get(1).and_then(|w| w.to_str()) {
                Some("attach") => takeover::lead(words.get(2)),
                _ => command(&program, words.split_off(1), true),
            }
        }
        _ => command(&program, words, false),
    };
    // Statuses are 0 to 255 by their table.
    ExitCode::from(u8::try_from(status).unwrap_or(1))
}

/// An execution; `background`: whether this is the child that was made for it.
fn command(name: &OsStr, words: Vec<OsString>, background: bool) -> i32 {
    let invocation = Invocation { words, ..Invocation::of(name) };
    let words = &invocation.words;
    let read = if words.is_empty() { Ok(None) } else { arguments::read(words.iter().cloned()).map(Some) };
    match read {
        Ok(Some(arguments)) if arguments.help => print(&options::help()),
        Ok(Some(arguments)) if arguments.version => print(&format!("brunt {}\n", env!("CARGO_PKG_VERSION"))),
        Ok(Some(arguments)) if arguments.detach && !background => detach::start(&invocation),
        Ok(Some(arguments)) => run::run(&invocation, &arguments, background),
        Ok(None) => usage_error(&invocation, "no parameter file was named: -f FILE"),
        Err(error) => usage_error(&invocation, &error.to_string()),
    }
}

fn print(text: &str) -> i32 {
    // A reader that went away (`brunt --help | head -1`) has seen what it wanted.
    let _ = io::stdout().write_all(text.as_bytes());
    exit::DONE
}

fn usage_error(invocation: &Invocation, message: &str) -> i32 {
    let mut stderr = io::stderr();
    let _ = writeln!(stderr, "error: {message}\n\nusage: brunt -f FILE… [-o DIR] [options]; brunt --help lists them");
    if invocation.as_vdbench {
        let _ = writeln!(stderr, "RuntimeException: {message}");
        return exit::VDBENCH_FAILURE;
    }
    exit::USAGE
}
