//! The parameter language: lexer, parser, keyword table and diagnostics.
//!
//! [`parse`] turns parameter files into a typed [`ParmFile`] in which every value keeps its place in
//! the text, together with every problem found. It never stops at the first problem, never panics,
//! and does no I/O but through the [`Reader`] it is given.

pub mod ast;
pub mod diag;
pub mod source;

pub use ast::ParmFile;
pub use diag::{Diag, Severity};
pub use source::{FileId, Reader, SourceMap, Span, Spanned};

/// What to parse.
#[derive(Debug, Clone, Default)]
pub struct Input {
    /// Parameter files in order (`-f`).
    pub files: Vec<String>,
    /// `key=value` arguments in order (`docs/vdbench/raw.md` §1.7).
    pub substitutions: Vec<(String, String)>,
    /// The text after `+`, appended to every RD.
    pub rd_extra: Option<String>,
    /// Whether debug option 98 turns off the checks of substitutions.
    pub lax_substitution: bool,
}

/// What came out of it. The parse never fails: it says what it understood and what it did not.
#[derive(Debug, Default)]
pub struct Parsed {
    /// The definitions that could be read.
    pub file: ParmFile,
    /// All problems, in the order of the text.
    pub diags: Vec<Diag>,
    /// Every text that was read.
    pub sources: SourceMap,
    /// The lines of `parmfile.html`.
    pub echo: Vec<String>,
    /// The lines of `parmscan.html`, without their times.
    pub scan: Vec<String>,
}
