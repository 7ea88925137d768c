//! `brunt build`: which build this is. With `--verify SHA256` whether it is that one, which a host asks of a copy.

use std::ffi::OsString;
use std::io::{self, Write};

use brunt_master::launch::payload;

use crate::exit;

/// Prints version, machine and SHA-256 of this executable, or compares the latter.
pub fn run(words: &[OsString]) -> i32 {
    let own = match payload::own_sha256() {
        Ok(own) => own,
        Err(error) => return complain(&format!("this executable cannot be read: {error}"), exit::SETUP),
    };
    match words {
        [] => {
            let (version, machine) = (env!("CARGO_PKG_VERSION"), std::env::consts::ARCH);
            // A reader that went away has seen what it wanted.
            let _ = writeln!(io::stdout(), "brunt {version} {machine}-linux sha256 {own}");
            exit::DONE
        }
        [verify, wanted] if verify == "--verify" && wanted == own.as_str() => exit::DONE,
        [verify, wanted] if verify == "--verify" => {
            complain(&format!("this executable is {own}, not {}", wanted.to_string_lossy()), exit::SETUP)
        }
        _ => complain("usage: brunt build [--verify SHA256]", exit::USAGE),
    }
}

fn complain(text: &str, status: i32) -> i32 {
    let _ = writeln!(io::stderr(), "error: {text}");
    status
}
