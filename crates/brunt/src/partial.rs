//! What is left of an execution whose master was killed: its reports, made again from its events and brought to an end.

use std::path::Path;

use brunt_event::{AbortCause, Event, Opened, Record};
use brunt_report::{Chunk, Directory, EVENTS, OutputError, Reporter};

use crate::exit;
use crate::session::now_ms;
use crate::stream::EventStream;
use crate::testament;

/// Chunks that are written at once.
const CHUNKS: usize = 4096;

/// How far an execution came.
#[derive(Debug, Default, PartialEq, Eq)]
struct Progress {
    /// Runs that have ended.
    ended: u32,
    /// The run that goes on, and its last interval.
    run: Option<(String, u32)>,
    io_errors: u64,
    closed: bool,
}

impl Progress {
    fn take(&mut self, event: &Event) {
        match event {
            Event::RunStarted(started) => self.run = Some((started.plan.name.clone(), 0)),
            Event::Interval(interval) => {
                if let Some((_, last)) = &mut self.run {
                    *last = interval.interval;
                }
            }
            Event::RunEnded(_) => (self.ended, self.run) = (self.ended + 1, None),
            Event::IoFailed(_) => self.io_errors += 1,
            Event::Closed { .. } => self.closed = true,
            _ => {}
        }
    }

    fn text(&self, opened: &Opened) -> String {
        let runs = match self.ended {
            0 => "no run is complete".to_owned(),
            1 => "one run is complete".to_owned(),
            n => format!("{n} runs are complete"),
        };
        let last = match &self.run {
            None => String::new(),
            Some((name, 0)) => format!(", rd={name} has no complete interval"),
            Some((name, last)) => format!(", rd={name} is partial: its last complete interval is {last}"),
        };
        format!("the master (process {}) has ended without a word; {runs}{last}", opened.pid)
    }
}

/// Completes the reports of a directory, unless somebody else does.
///
/// # Errors
/// They cannot be read or written, in a sentence.
pub fn complete(path: &Path) -> Result<(), String> {
    let mut directory = match Directory::reopen(path) {
        Ok(directory) => directory,
        Err(OutputError::InUse { .. }) => return Ok(()),
        Err(error) => return Err(error.to_string()),
    };
    let mut progress = Progress::default();
    let (mut reporter, opened) = rebuild(&mut directory, &mut |record| progress.take(&record.event))?;
    let mut chunks = Vec::new();
    if !progress.closed {
        let cause = AbortCause::MasterLost;
        let text = progress.text(&opened);
        let aborted = Event::Aborted { cause, text, io_errors: progress.io_errors };
        let closed = Event::Closed { status: exit::of_abort(cause, opened.as_vdbench), complete: false };
        for event in [aborted, closed] {
            reporter.feed(&Record { at_ms: now_ms(), event }, &mut chunks);
        }
    }
    directory.write(&chunks).map_err(|error| error.to_string())?;
    testament::burn(path);
    Ok(())
}

/// Writes all reports again from the events, each of which is shown to `see`. Gives the reporter behind the last of them.
///
/// # Errors
/// They cannot be read or written, in a sentence.
pub fn rebuild(directory: &mut Directory, see: &mut dyn FnMut(&Record)) -> Result<(Reporter, Opened), String> {
    let (mut stream, head, opened) = EventStream::open(directory.path()).map_err(|error| error.to_string())?;
    let (mut reporter, mut chunks) = (Reporter::new(), Vec::new());
    let mut next = Some(head);
    while let Some(record) = next {
        see(&record);
        reporter.feed(&record, &mut chunks);
        // The event is there.
        chunks.retain(|chunk| !matches!(chunk, Chunk::File { name, .. } if name == EVENTS));
        if chunks.len() >= CHUNKS {
            directory.write(&chunks).map_err(|error| error.to_string())?;
            chunks.clear();
        }
        next = stream.next().map_err(|error| error.to_string())?;
    }
    directory.write(&chunks).map_err(|error| error.to_string())?;
    Ok((reporter, opened))
}
