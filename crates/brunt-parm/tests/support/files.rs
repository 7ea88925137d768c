//! Texts in memory in place of files.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::collections::BTreeMap;

use brunt_parm::render::render;
use brunt_parm::source::{ReadError, Reader};
use brunt_parm::{Input, Parsed, parse};

/// Files by path.
pub struct Files(BTreeMap<String, String>);

impl Files {
    /// Files by path.
    pub fn new(files: &[(&str, &str)]) -> Self {
        Self(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect())
    }
}

/// A path without `x/..`.
fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|p| *p != ".") {
        match part {
            ".." if parts.last().is_some_and(|p| *p != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

impl Reader for Files {
    fn read(&self, path: &str) -> Result<String, ReadError> {
        self.0.get(&plain(path)).cloned().ok_or(ReadError::NotFound)
    }

    fn absolute(&self, path: &str) -> String {
        format!("/work/{}", plain(path))
    }
}

/// Parses files in memory; arguments are `-f` files, `key=value` and `+extra`, as typed.
pub fn parse_with(arguments: &str, files: &[(&str, &str)]) -> Parsed {
    let mut input = Input::default();
    for argument in arguments.split(' ') {
        match argument.split_once('=') {
            _ if argument.starts_with('+') => input.rd_extra = Some(argument[1..].to_owned()),
            Some((key, value)) => input.substitutions.push((key.to_owned(), value.to_owned())),
            None => input.files.push(argument.to_owned()),
        }
    }
    parse(&input, &Files::new(files))
}

/// Parses one file.
pub fn parse_text(text: &str) -> Parsed {
    parse_with("parmfile", &[("parmfile", text)])
}

/// All messages as they are printed.
pub fn messages(parsed: &Parsed) -> String {
    let texts: Vec<String> = parsed
        .diags
        .iter()
        .map(|diag| {
            let mut text = render(diag, &parsed.sources, false);
            if let Some(words) = &diag.vdbench {
                text.push_str(&format!("\n(vdbench: {words})"));
            }
            text
        })
        .collect();
    texts.join("\n\n")
}
