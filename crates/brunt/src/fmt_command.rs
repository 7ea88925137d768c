//! `brunt fmt`: parameter files in canonical form (`docs/fmt.md`).

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};

use brunt_parm::fmt::{self, Formatted, Unreadable};

use crate::diagnostics::{MessageFormat, Shower};
use crate::exit;
use crate::files::Files;

/// What to do with the canonical form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Deed {
    /// Print it.
    #[default]
    Print,
    /// Write it over the file when it differs.
    Write,
    /// Say which files differ.
    Check,
}

#[derive(Debug, Default)]
struct Call {
    deed: Deed,
    format: MessageFormat,
    files: Vec<String>,
}

const USAGE: &str = "usage: brunt fmt FILE… [--check | --write]; - is standard input";

/// Formats the files of the call. A file that cannot be formatted does not stop the others.
pub fn run(words: &[OsString]) -> i32 {
    let call = match read(words) {
        Ok(call) => call,
        Err(text) => {
            complain(&text);
            return exit::USAGE;
        }
    };
    let mut status = exit::DONE;
    for name in &call.files {
        status = status.max(file(name, &call));
    }
    status
}

fn read(words: &[OsString]) -> Result<Call, String> {
    let mut call = Call::default();
    let mut words = words.iter().map(|w| w.to_string_lossy().into_owned());
    while let Some(word) = words.next() {
        match word.as_str() {
            "--check" => call.deed = Deed::Check,
            "--write" | "-w" => call.deed = Deed::Write,
            "--message-format" => call.format = format(&words.next().unwrap_or_default())?,
            _ => match word.strip_prefix("--message-format=") {
                Some(value) => call.format = format(value)?,
                None if word.starts_with('-') && word != "-" => {
                    return Err(format!("unknown option `{word}`; {USAGE}"));
                }
                None => call.files.push(word),
            },
        }
    }
    if call.files.is_empty() {
        return Err(format!("which file? {USAGE}"));
    }
    if call.deed == Deed::Write && call.files.iter().any(|f| f == "-") {
        return Err("standard input cannot be written to".to_owned());
    }
    Ok(call)
}

fn format(value: &str) -> Result<MessageFormat, String> {
    MessageFormat::named(value).ok_or_else(|| format!("`{value}` is not human or json"))
}

/// Formats one file.
fn file(name: &str, call: &Call) -> i32 {
    let text = match text_of(name) {
        Ok(text) => text,
        Err(error) => {
            complain(&format!("cannot format `{name}`: {error}"));
            return exit::PARAMETERS;
        }
    };
    match fmt::checked(name, &text, &Files) {
        Ok(formatted) => done(name, &text, &formatted, call.deed),
        Err(Unreadable { diags, sources }) => {
            let shower = Shower::new(call.format);
            shower.show(&diags, &sources, &mut crate::plan_command::to_stderr);
            exit::PARAMETERS
        }
    }
}

/// A file is changed only when every byte of it is understood: other encodings would be changed by reading them.
fn text_of(name: &str) -> Result<String, String> {
    let bytes = match name {
        "-" => {
            let mut bytes = Vec::new();
            io::stdin().read_to_end(&mut bytes).map(|_| bytes)
        }
        _ => fs::read(name),
    };
    String::from_utf8(bytes.map_err(|e| e.to_string())?)
        .map_err(|e| format!("byte {} is not UTF-8; convert it with iconv first", e.utf8_error().valid_up_to()))
}

fn done(name: &str, text: &str, formatted: &Formatted, deed: Deed) -> i32 {
    match deed {
        Deed::Print => {
            // A reader that went away has seen what it wanted.
            let _ = io::stdout().write_all(formatted.text.as_bytes());
        }
        Deed::Check if text != formatted.text => {
            let _ = writeln!(io::stdout(), "{name}");
            return exit::DIFFERS;
        }
        Deed::Write if text != formatted.text => {
            if let Err(error) = replace(name, &formatted.text) {
                complain(&format!("cannot write `{name}`: {error}"));
                return exit::SETUP;
            }
        }
        Deed::Check | Deed::Write => return exit::DONE,
    }
    if let Some(first) = formatted.joined_runs.first() {
        let n = formatted.joined_runs.len();
        let runs = if n == 1 { "a run".to_owned() } else { format!("{n} runs") };
        let _ = writeln!(
            io::stderr(),
            "note: {name}:{first}: {runs} of several lines became one each: what `+` adds on the command line now comes last"
        );
    }
    exit::DONE
}

/// Writes a text over a file, which is either the old one or the new one at any time. A link stays a link.
fn replace(name: &str, text: &str) -> io::Result<()> {
    let target = fs::canonicalize(name)?;
    let permissions = fs::metadata(&target)?.permissions();
    let mut beside = target.clone().into_os_string();
    beside.push(".brunt-fmt");
    let written = fs::write(&beside, text)
        .and_then(|()| fs::set_permissions(&beside, permissions))
        .and_then(|()| fs::rename(&beside, &target));
    if written.is_err() {
        // What is left of it is of no use; that it cannot be removed changes nothing.
        let _ = fs::remove_file(&beside);
    }
    written
}

fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "error: {text}");
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn call(line: &str) -> Result<Call, String> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        read(&words)
    }

    #[test]
    fn options_stand_anywhere() {
        let call = call("a --check b --message-format json").unwrap();
        assert_eq!(
            (call.files, call.deed, call.format),
            (vec!["a".into(), "b".into()], Deed::Check, MessageFormat::Json)
        );
    }

    #[test]
    fn mistakes_say_what_to_do() {
        assert!(call("").unwrap_err().starts_with("which file? usage: brunt fmt FILE…"));
        assert!(call("--chek a").unwrap_err().starts_with("unknown option `--chek`"));
        assert_eq!(call("a --message-format xml").unwrap_err(), "`xml` is not human or json");
        assert_eq!(call("- -w").unwrap_err(), "standard input cannot be written to");
    }
}
