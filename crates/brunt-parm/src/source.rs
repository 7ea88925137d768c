//! Source files, places in them, and the one door through which text comes in.

use serde::{Deserialize, Serialize};

/// Number of a source in its [`SourceMap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FileId(pub u32);

/// A half-open range of bytes in the *original* text of one source, before any substitution.
///
/// A value that came out of a variable has the span of the variable's use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Span {
    /// The source.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// A value and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Its place.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// Joins a value and its place.
    pub fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }

    /// The same place with another value.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Spanned<U> {
        Spanned { value: f(self.value), span: self.span }
    }
}

/// One text that was read: a parameter file, an include, or the command line.
#[derive(Debug, Clone)]
pub struct Source {
    /// The name shown in messages: the path as the user wrote it, or `command line`.
    pub name: String,
    /// The text as read.
    pub text: String,
    /// For an include: the place of its `include=` line.
    pub included_from: Option<Span>,
}

/// All texts of one parse.
#[derive(Debug, Clone, Default)]
pub struct SourceMap {
    files: Vec<Source>,
}

/// One-based line and column (in characters) of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineColumn {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl SourceMap {
    /// Adds a text and gives its number.
    pub fn add(&mut self, source: Source) -> FileId {
        self.files.push(source);
        FileId((self.files.len() - 1) as u32)
    }

    /// The source of a number given out by [`SourceMap::add`].
    pub fn get(&self, id: FileId) -> Option<&Source> {
        self.files.get(id.0 as usize)
    }

    /// The end of the last text that was added.
    pub fn end_of_last(&self) -> Option<Span> {
        let (index, last) = self.files.iter().enumerate().next_back()?;
        let end = last.text.len() as u32;
        Some(Span { file: FileId(index as u32), start: end, end })
    }

    /// Line and column of the start of a span. Bytes past the end count as the end.
    pub fn line_column(&self, span: Span) -> LineColumn {
        let text = self.get(span.file).map_or("", |s| s.text.as_str());
        let mut at = (span.start as usize).min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let before = &text[..at];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        LineColumn {
            line: before.matches('\n').count() as u32 + 1,
            column: before[line_start..].chars().count() as u32 + 1,
        }
    }
}

/// Where texts come from. The binary reads files; tests read a map.
pub trait Reader {
    /// The text of `path` (relative to the current directory unless absolute).
    ///
    /// # Errors
    /// A sentence fragment for the message, such as `no such file`.
    fn read(&self, path: &str) -> Result<String, ReadError>;

    /// The absolute form of `path`, for `parmfile.html`; no file needs to exist.
    fn absolute(&self, path: &str) -> String;
}

/// Why a text could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// There is no such file.
    #[error("no such file")]
    NotFound,
    /// The file is there but cannot be read: the system's reason.
    #[error("{0}")]
    Other(String),
}
