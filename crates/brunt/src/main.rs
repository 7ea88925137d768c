//! `brunt`: reads Vdbench parameter files and drives storage with them. This crate wires the others together.

mod arguments;
mod build_command;
mod calibrate_command;
mod certs_command;
mod completions;
mod console;
mod demo;
mod diagnostics;
mod exit;
mod explain;
mod files;
mod fmt_command;
mod invocation;
mod luns_command;
mod options;
mod plan_command;
mod prepare;
mod run;
mod scribe;
mod serve;
mod session;
mod signals;

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use invocation::Invocation;

fn main() -> ExitCode {
    let mut words = env::args_os();
    let program = words.next().unwrap_or_else(|| OsString::from("brunt"));
    let words: Vec<OsString> = words.collect();
    let status = match words.first().and_then(|w| w.to_str()) {
        Some("agent" | "worker") => serve::serve(&words[1..]),
        Some("build") => build_command::run(&words[1..]),
        Some("plan") => plan_command::run(&Invocation::of(&program), &words[1..]),
        Some("fmt") => fmt_command::run(&words[1..]),
        Some("explain") => explain::run(&words[1..]),
        Some("calibrate") => calibrate_command::run(&Invocation::of(&program), &words[1..]),
        Some("certs") => certs_command::run(&words[1..]),
        Some("luns") => luns_command::run(&words[1..]),
        Some("completions") => completions::run(&words[1..]),
        _ => command(Invocation::of(&program), words),
    };
    // Statuses are 0 to 255 by their table.
    ExitCode::from(u8::try_from(status).unwrap_or(1))
}

fn command(invocation: Invocation, words: Vec<OsString>) -> i32 {
    let read = if words.is_empty() { Ok(None) } else { arguments::read(words).map(Some) };
    match read {
        Ok(Some(arguments)) if arguments.help => print(&options::help()),
        Ok(Some(arguments)) if arguments.version => print(&format!("brunt {}\n", env!("CARGO_PKG_VERSION"))),
        Ok(Some(arguments)) => run::run(&invocation, &arguments),
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
