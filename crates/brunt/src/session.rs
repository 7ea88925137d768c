//! One execution's output: events are stamped, turned into text, and written.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use brunt_event::{Event, Record};
use brunt_report::{Chunk, Directory, Reporter};

use crate::console::{Console, Stream};
use crate::signals::Interrupted;

/// How long a console that takes nothing is waited for after a signal.
const PATIENCE: Duration = Duration::from_secs(1);

/// The way from an event to the console and the files.
pub struct Session {
    reporter: Reporter,
    directory: Directory,
    chunks: Vec<Chunk>,
    console: Console,
    /// The first write to the output directory that failed; later writes are still tried.
    output_error: Option<String>,
}

impl Session {
    /// A session that writes into an open directory.
    pub fn new(directory: Directory) -> Self {
        Self { reporter: Reporter::new(), directory, chunks: Vec::new(), console: Console::new(), output_error: None }
    }

    /// Takes one event.
    pub fn emit(&mut self, event: Event) {
        let record = Record { at_ms: now_ms(), event };
        self.chunks.clear();
        self.reporter.feed(&record, &mut self.chunks);
        for chunk in &self.chunks {
            match chunk {
                Chunk::Console(text) => self.console.write(Stream::Out, text),
                Chunk::Stderr(text) => self.console.write(Stream::Error, text),
                Chunk::File { .. } | Chunk::Replace { .. } => {}
            }
        }
        if let Err(error) = self.directory.write(&self.chunks) {
            self.note_output_error(&error.to_string());
        }
    }

    /// The output directory, absolute.
    pub fn directory(&self) -> std::path::PathBuf {
        self.directory.path().to_owned()
    }

    /// The first failure to write a report, if there was one.
    pub fn output_error(&self) -> Option<&str> {
        self.output_error.as_deref()
    }

    /// Waits for the console, but not for long once a signal has asked for the end.
    pub fn close(mut self, interrupted: &Interrupted) {
        let mut since: Option<Instant> = None;
        self.console.close(|| interrupted.is_set() && since.get_or_insert_with(Instant::now).elapsed() >= PATIENCE);
    }

    fn note_output_error(&mut self, error: &str) {
        if self.output_error.is_none() {
            let text = format!("error: {error}; the run goes on, the console still shows its results\n");
            self.console.write(Stream::Error, &text);
            self.output_error = Some(error.to_owned());
        }
    }
}

/// Unix time in milliseconds.
pub fn now_ms() -> i64 {
    // A clock before 1970 is only a wrong label.
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX))
}
