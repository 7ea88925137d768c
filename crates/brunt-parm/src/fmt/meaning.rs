//! What a file means, for comparison: its definitions without their places.

use std::fmt::Write;

use crate::diag::{Diag, Severity};
use crate::source::{ReadError, Reader, SourceMap};
use crate::{Input, ParmFile, Parsed, parse};

/// What a file means, and what is wrong with it. Places do not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meaning {
    definitions: String,
    errors: Vec<&'static str>,
}

/// Reads a text as the file `name`; includes come from the reader. Variables stay as they are.
pub fn meaning(name: &str, text: &str, reader: &dyn Reader) -> Meaning {
    let parsed = parsed(name, text, reader);
    let mut errors: Vec<&str> = errors_of(&parsed).map(|d| d.code).collect();
    errors.sort_unstable();
    Meaning { definitions: without_places(&parsed.file), errors }
}

/// The errors of a text, and the texts they are in.
pub(super) fn errors(name: &str, text: &str, reader: &dyn Reader) -> (Vec<Diag>, SourceMap) {
    let parsed = parsed(name, text, reader);
    (errors_of(&parsed).cloned().collect(), parsed.sources)
}

fn errors_of(parsed: &Parsed) -> impl Iterator<Item = &Diag> {
    parsed.diags.iter().filter(|d| d.severity == Severity::Error)
}

fn parsed(name: &str, text: &str, reader: &dyn Reader) -> Parsed {
    let input = Input { files: vec![name.to_owned()], lax_substitution: true, ..Input::default() };
    parse(&input, &Instead { name, text, reader })
}

/// A reader with another text in place of one file.
struct Instead<'a> {
    name: &'a str,
    text: &'a str,
    reader: &'a dyn Reader,
}

impl Reader for Instead<'_> {
    fn read(&self, path: &str) -> Result<String, ReadError> {
        if path == self.name { Ok(self.text.to_owned()) } else { self.reader.read(path) }
    }

    fn absolute(&self, path: &str) -> String {
        self.reader.absolute(path)
    }
}

/// The definitions as text, every span taken out.
fn without_places(file: &ParmFile) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write!(text, "{file:?}");
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find("Span { file: FileId(") {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.find('}').map_or(rest.len(), |n| n + 1);
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}
