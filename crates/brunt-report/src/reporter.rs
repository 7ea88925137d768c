//! From events to text: a pure function with memory.

use brunt_event::{Event, Record};

use crate::chunk::{Chunk, Sink};
use crate::execution::Execution;

/// Name of the machine readable stream.
pub const EVENTS: &str = "events.ndjson";
/// Name of the file by which another master can go on with an execution.
pub const TAKEOVER: &str = "takeover.json";
/// Name of the file with what an execution in the background says.
pub const CONSOLE: &str = "console.txt";

/// Makes every report from the event stream. It has no clock, reads no file and no environment: the same records give
/// the same chunks, while an execution goes on or years later.
#[derive(Debug, Default)]
pub struct Reporter {
    execution: Option<Box<Execution>>,
}

impl Reporter {
    /// A reporter at the head of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in the next record and adds to `out` what it makes. Records before [`Event::Opened`] go to
    /// `events.ndjson` only.
    pub fn feed(&mut self, record: &Record, out: &mut Vec<Chunk>) {
        let mut sink = Sink::new(out);
        // The only way to fail is a map whose keys are not text, and a record has none.
        if let Ok(line) = serde_json::to_string(record) {
            sink.line(EVENTS, &line);
        }
        match (&record.event, &mut self.execution) {
            (Event::Opened(opened), execution) => {
                *execution = Some(Box::new(Execution::open(opened, record.at_ms, &mut sink)));
            }
            (_, Some(execution)) => execution.feed(record, &mut sink),
            (_, None) => {}
        }
    }
}
