//! One execution's output: events are stamped, turned into text, and written.

use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use brunt_event::{Event, Record};
use brunt_report::{Chunk, Directory, Reporter};

/// The way from an event to the console and the files.
pub struct Session {
    reporter: Reporter,
    directory: Directory,
    chunks: Vec<Chunk>,
    console_gone: bool,
    /// The first write to the output directory that failed; later writes are still tried.
    output_error: Option<String>,
}

impl Session {
    /// A session that writes into an open directory.
    pub fn new(directory: Directory) -> Self {
        Self { reporter: Reporter::new(), directory, chunks: Vec::new(), console_gone: false, output_error: None }
    }

    /// Takes one event.
    pub fn emit(&mut self, event: Event) {
        let record = Record { at_ms: now_ms(), event };
        self.chunks.clear();
        self.reporter.feed(&record, &mut self.chunks);
        for chunk in &self.chunks {
            match chunk {
                Chunk::Console(text) if !self.console_gone => {
                    // The run outlives its console: `brunt … | head` must not lose results.
                    self.console_gone = write_all(&mut io::stdout().lock(), text).is_err();
                }
                Chunk::Stderr(text) => {
                    let _ = write_all(&mut io::stderr().lock(), text);
                }
                _ => {}
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

    fn note_output_error(&mut self, error: &str) {
        if self.output_error.is_none() {
            let _ = writeln!(io::stderr(), "error: {error}; the run goes on, the console still shows its results");
            self.output_error = Some(error.to_owned());
        }
    }
}

fn write_all(to: &mut impl Write, text: &str) -> io::Result<()> {
    to.write_all(text.as_bytes())?;
    to.flush()
}

/// Unix time in milliseconds.
pub fn now_ms() -> i64 {
    // A clock before 1970 is only a wrong label.
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX))
}
