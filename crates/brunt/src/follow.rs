//! An execution seen from its output directory: the console text of its events, as it says it itself.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use brunt_event::{Birth, Event, Opened};
use brunt_report::{Chunk, Reporter, is_held};

use crate::process::{self, Place};
use crate::stream::{EventStream, StreamError};

/// From one look at the events to the next: seldom enough to cost nothing, soon enough for people. Network file systems
/// tell nobody that a file has grown, so that it is looked at.
pub const LOOK: Duration = Duration::from_millis(100);

/// What becomes of the one who leads an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Master {
    /// It is there.
    There,
    /// It has gone.
    Gone,
    /// It is on another machine, or the file system does not tell.
    Unknown,
}

/// Follows one execution.
pub struct Follower {
    path: PathBuf,
    opened: Opened,
    stream: EventStream,
    reporter: Reporter,
    chunks: Vec<Chunk>,
    /// Its exit status, once it is over.
    status: Option<i32>,
    /// Whether a run has started.
    running: bool,
    /// Intervals so far.
    intervals: u64,
    /// Standard output takes nothing any more.
    deaf: bool,
}

impl Follower {
    /// Follows the execution of a directory from its beginning.
    ///
    /// # Errors
    /// There is none.
    pub fn open(path: &Path) -> Result<Self, StreamError> {
        let (stream, head, opened) = EventStream::open(path)?;
        let mut follower = Self {
            path: path.to_owned(),
            opened,
            stream,
            reporter: Reporter::new(),
            chunks: Vec::new(),
            status: None,
            running: false,
            intervals: 0,
            deaf: false,
        };
        follower.show(&head);
        Ok(follower)
    }

    /// The process that leads it: the one that began it, or the last that took it over.
    pub fn leader(&self) -> (u32, Option<&Birth>) {
        (self.opened.pid, self.opened.birth.as_ref())
    }

    /// Its exit status, once all its events were shown.
    pub fn status(&self) -> Option<i32> {
        self.status
    }

    /// Whether a run was shown.
    pub fn is_running(&self) -> bool {
        self.running
    }

    /// How many intervals were shown.
    pub fn intervals(&self) -> u64 {
        self.intervals
    }

    /// Whether nobody reads what is shown.
    pub fn is_deaf(&self) -> bool {
        self.deaf
    }

    /// Shows what is there; with `until_run` nothing behind the start of the first run.
    ///
    /// # Errors
    /// The events cannot be read any more.
    pub fn read_on(&mut self, until_run: bool) -> Result<(), StreamError> {
        while !(until_run && self.running)
            && let Some(record) = self.stream.next()?
        {
            self.show(&record);
        }
        Ok(())
    }

    fn show(&mut self, record: &brunt_event::Record) {
        self.chunks.clear();
        self.reporter.feed(record, &mut self.chunks);
        for chunk in &self.chunks {
            let done = match chunk {
                Chunk::Console(text) => put(io::stdout(), text),
                Chunk::Stderr(text) => put(io::stderr(), text),
                Chunk::File { .. } | Chunk::Replace { .. } => Ok(()),
            };
            self.deaf |= done.is_err() && matches!(chunk, Chunk::Console(_));
        }
        match &record.event {
            Event::RunStarted(_) => self.running = true,
            Event::Interval(_) => self.intervals += 1,
            Event::TakenOver { pid, birth } => (self.opened.pid, self.opened.birth) = (*pid, birth.clone()),
            Event::Closed { status, .. } => self.status = Some(*status),
            _ => {}
        }
    }

    /// Whether its master is there. To be asked before the events are read a last time: what it wrote is there then.
    pub fn master(&self) -> Master {
        let place = self.opened.birth.as_ref().map_or(Place::Elsewhere, process::place);
        match (is_held(&self.path), place) {
            (Ok(Some(true)), _) => Master::There,
            // A network file system may show locks to none but the machine that took them.
            (_, Place::Elsewhere) => Master::Unknown,
            (_, Place::Before) | (Ok(Some(false)), Place::Here) => Master::Gone,
            // No locks there: its process.
            (_, Place::Here) if process::birth(self.opened.pid) == self.opened.birth => Master::There,
            (_, Place::Here) => Master::Gone,
        }
    }
}

fn put(mut to: impl Write, text: &str) -> io::Result<()> {
    to.write_all(text.as_bytes())?;
    to.flush()
}
