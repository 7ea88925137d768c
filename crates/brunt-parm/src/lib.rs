//! The parameter language: lexer, parser, keyword table and diagnostics.
//!
//! [`parse`] turns parameter files into a typed [`ParmFile`] in which every value keeps its place in
//! the text, together with every problem found. It never stops at the first problem, never panics,
//! and does no I/O but through the [`Reader`] it is given.

pub mod ast;
mod command_line;
pub mod diag;
pub mod explain;
pub mod fmt;
pub mod json;
pub mod keywords;
mod lexer;
mod lines;
mod lists;
pub mod misc;
mod number;
mod parser;
mod problems;
mod reading;
pub mod render;
mod replication;
pub mod source;
mod suggest;
mod text;
mod values;
mod variables;

use command_line::CommandLine;
use keywords::Section;
use parser::Parser;
use reading::Reading;
use variables::Variables;

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
    /// Every text that was read; the first is the command line (`-f` files, variables, `+`).
    pub sources: SourceMap,
    /// The lines of `parmfile.html`, from the blank line behind its title on.
    pub echo: Vec<String>,
    /// The lines of `parmscan.html`, without their times; they end with the parameter of the first error.
    pub scan: Vec<String>,
}

/// Reads the files and says what they mean and what is wrong with them.
///
/// With an error among the problems the definitions are those that could be read; a field whose value was
/// refused is empty.
pub fn parse(input: &Input, reader: &dyn Reader) -> Parsed {
    let mut sources = SourceMap::default();
    let command_line = CommandLine::new(input, &mut sources);
    let variables = Variables::new(command_line.variables, input.lax_substitution);
    let mut reading = Reading::new(reader, sources, variables, command_line.extra);
    for (name, span) in command_line.files {
        reading.file(&name, span);
    }
    let (lines, mut read) = reading.finish();
    read.problems.extend(command_line.problems);

    let mut parser = Parser::new(read.problems);
    let end = read.sources.end_of_last();
    let split = lines.iter().position(|l| lines::leading_section(l.as_str()).is_some_and(|s| s > Section::Hd));
    let mut head = lines;
    let tail = head.split_off(split.unwrap_or(head.len()));
    for line in &head {
        parser.line(line);
    }
    let hosts = parser.host_labels();
    for line in &replication::replicate(tail, &hosts) {
        parser.line(line);
    }
    let outcome = parser.finish(read.incomplete, end);
    Parsed {
        file: outcome.file,
        diags: outcome.problems.finish(),
        sources: read.sources,
        echo: read.echo,
        scan: outcome.scan,
    }
}
