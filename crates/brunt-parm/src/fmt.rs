//! The canonical form of a parameter file: one definition a line, keywords in full, comments kept.
//!
//! Nothing that counts is changed but its spelling: the order of definitions and parameters, values, variables
//! and includes stay as they are. What cannot be rewritten for sure (a variable that may stand for anything at the
//! beginning of a line) stays as it was written. [`checked`] makes sure of it by reading both texts.

mod layout;
mod meaning;
mod split;

use crate::diag::{Diag, Severity};
use crate::source::{Reader, Source, SourceMap, Span};

pub use meaning::{Meaning, meaning};

/// Why a file has no canonical form: it cannot be told apart into parameters.
#[derive(Debug, Clone)]
pub struct Unreadable {
    /// The errors.
    pub diags: Vec<Diag>,
    /// The text they are in.
    pub sources: SourceMap,
}

/// A text in canonical form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Formatted {
    /// The text.
    pub text: String,
    /// Lines (from 1) of runs that stood on several lines and now stand on one, so that from now on what `+` adds on the
    /// command line comes behind all they say (`docs/vdbench/raw.md` §1.7).
    pub joined_runs: Vec<usize>,
}

/// Formats the text of a file that is called `name` in messages.
///
/// # Errors
/// What cannot be told apart into parameters, such as a parenthesis that is never closed.
pub fn format(name: &str, text: &str) -> Result<Formatted, Unreadable> {
    let mut sources = SourceMap::default();
    let file = sources.add(Source { name: name.to_owned(), text: text.to_owned(), included_from: None });
    if u32::try_from(text.len()).is_err() {
        let start = Span { file, start: 0, end: 0 };
        return Err(Unreadable { diags: vec![Diag::error("too-large", "larger than 4 GiB", start)], sources });
    }
    let (items, diags) = split::split(text, file);
    let diags: Vec<Diag> = diags.into_iter().filter(|d| d.severity == Severity::Error).collect();
    if !diags.is_empty() {
        return Err(Unreadable { diags, sources });
    }
    let joined_runs = items.iter().filter_map(split::Item::joined_run).collect();
    Ok(Formatted { text: layout::lay_out(items), joined_runs })
}

/// Formats a file and makes sure that it still means the same: both texts are read, with their includes.
///
/// # Errors
/// As [`format`]; or the meaning would change, which happens in files that have errors and where a comma joins definitions
/// with `$host`; or the canonical form would not be its own (`not-stable`), which would be a fault of ours.
pub fn checked(name: &str, text: &str, reader: &dyn Reader) -> Result<Formatted, Unreadable> {
    let formatted = format(name, text)?;
    let (code, message) = if meaning(name, text, reader) != meaning(name, &formatted.text, reader) {
        ("not-formatted", format!("`{name}` would mean something else in canonical form"))
    } else if format(name, &formatted.text).is_ok_and(|again| again.text == formatted.text) {
        return Ok(formatted);
    } else {
        ("not-stable", format!("the canonical form of `{name}` has another canonical form"))
    };
    let (diags, sources) = meaning::errors(name, text, reader);
    if !diags.is_empty() && code == "not-formatted" {
        return Err(Unreadable { diags, sources });
    }
    let diag = Diag::new(Severity::Error, code, message, None)
        .help("it stays as it is; is there a comma at the end of a definition, or a parenthesis or quote too many?");
    Err(Unreadable { diags: vec![diag], sources })
}

#[cfg(test)]
mod tests;
