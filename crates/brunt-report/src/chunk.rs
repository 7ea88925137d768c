//! What the reporter produces: pieces of text and where they go.

use crate::plain;

/// A piece of output. Pieces are in order; each holds whole lines, line end included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chunk {
    /// For standard output.
    Console(String),
    /// For standard error.
    Stderr(String),
    /// For the end of a file of the output directory. The first one makes the file.
    File {
        /// Name in the output directory.
        name: String,
        /// Text.
        text: String,
    },
    /// The whole new content of a file of the output directory.
    Replace {
        /// Name in the output directory.
        name: String,
        /// Text.
        text: String,
    },
}

/// Collects chunks; consecutive pieces for one place are joined.
pub(crate) struct Sink<'a> {
    out: &'a mut Vec<Chunk>,
}

impl<'a> Sink<'a> {
    pub(crate) fn new(out: &'a mut Vec<Chunk>) -> Self {
        Self { out }
    }

    /// Adds a line to the console.
    pub(crate) fn console(&mut self, line: &str) {
        let line = &plain::plain(line);
        match self.out.last_mut() {
            Some(Chunk::Console(text)) => push_line(text, line),
            _ => self.out.push(Chunk::Console(format!("{line}\n"))),
        }
    }

    /// Adds a line to standard error.
    pub(crate) fn stderr(&mut self, line: &str) {
        match self.out.last_mut() {
            Some(Chunk::Stderr(text)) => push_line(text, line),
            _ => self.out.push(Chunk::Stderr(format!("{line}\n"))),
        }
    }

    /// Adds a line of text to a page.
    pub(crate) fn text(&mut self, file: &str, line: &str) {
        self.line(file, &plain::page(line));
    }

    /// Adds a line to a file, with links where it has some.
    pub(crate) fn line(&mut self, file: &str, line: &str) {
        match self.out.last_mut() {
            Some(Chunk::File { name, text }) if name == file => push_line(text, line),
            _ => self.out.push(Chunk::File { name: file.to_owned(), text: format!("{line}\n") }),
        }
    }

    /// Gives a file a new content.
    pub(crate) fn replace(&mut self, file: &str, text: String) {
        self.out.push(Chunk::Replace { name: file.to_owned(), text });
    }
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}
