//! Turns events into text, and puts the text where it belongs.

use brunt_event::Record;
use brunt_report::{Chunk, Directory, Reporter};

use crate::console::{Console, Stream};

/// The end of the way from an event to the console and the files.
pub struct Scribe {
    reporter: Reporter,
    directory: Directory,
    chunks: Vec<Chunk>,
    console: Console,
    /// The first write to the output directory that failed; later writes are still tried.
    error: Option<String>,
}

impl Scribe {
    /// Writes into an open directory.
    pub fn new(directory: Directory, console: Console) -> Self {
        Self { reporter: Reporter::new(), directory, chunks: Vec::new(), console, error: None }
    }

    /// Goes on with reports that are written up to here.
    pub fn going_on(directory: Directory, reporter: Reporter, console: Console) -> Self {
        Self { reporter, ..Self::new(directory, console) }
    }

    /// Takes one event. The console has its lines first: people wait there.
    pub fn write(&mut self, record: &Record) {
        self.chunks.clear();
        self.reporter.feed(record, &mut self.chunks);
        for chunk in &self.chunks {
            match chunk {
                Chunk::Console(text) => self.console.write(Stream::Out, text),
                Chunk::Stderr(text) => self.console.write(Stream::Error, text),
                Chunk::File { .. } | Chunk::Replace { .. } => {}
            }
        }
        if let Err(error) = self.directory.write(&self.chunks) {
            self.note(&error.to_string());
        }
    }

    /// The first failure to write a report, if there was one.
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// The console, which may still have lines to show.
    pub fn into_console(self) -> Console {
        self.console
    }

    fn note(&mut self, error: &str) {
        if self.error.is_none() {
            let text = format!("error: {error}; the run goes on, the console still shows its results\n");
            self.console.write(Stream::Error, &text);
            self.error = Some(error.to_owned());
        }
    }
}
