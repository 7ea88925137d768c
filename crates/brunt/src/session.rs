//! One execution's output: events are stamped here, and turned into text and files on a thread of their own, so that no
//! interval waits for a disk.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use brunt_event::{Event, Record};
use brunt_report::{Directory, Reporter};
use brunt_worker::control::come_first;

use crate::console::Console;
use crate::scribe::Scribe;
use crate::signals::Interrupted;

/// How long a console that takes nothing is waited for after a signal, and a disk between runs.
const PATIENCE: Duration = Duration::from_secs(1);
/// So many events may wait for the files. A slow disk holds up no run; one that hangs does at last, before memory is full.
const WAITING: usize = 1024;

/// What the thread is told.
enum Message {
    Record(Box<Record>),
    /// Answers when everything before it was written, with the first failure.
    Flush(SyncSender<Option<String>>),
}

/// The way from an event to the console and the files.
pub struct Session {
    directory: PathBuf,
    messages: SyncSender<Message>,
    /// Gives the console back at its end.
    thread: JoinHandle<Console>,
}

impl Session {
    /// A session that writes into an open directory.
    ///
    /// # Errors
    /// A thread cannot be made.
    pub fn new(directory: Directory) -> io::Result<Self> {
        Self::going_on(directory, Reporter::new())
    }

    /// A session that goes on with reports that are written up to here.
    ///
    /// # Errors
    /// A thread cannot be made.
    pub fn going_on(directory: Directory, reporter: Reporter) -> io::Result<Self> {
        let path = directory.path().to_owned();
        let (messages, waiting) = sync_channel(WAITING);
        let scribe = Scribe::going_on(directory, reporter, Console::new()?);
        let thread = thread::Builder::new().name("reports".to_owned()).spawn(move || write_all(scribe, &waiting))?;
        Ok(Self { directory: path, messages, thread })
    }

    /// Takes one event.
    pub fn emit(&mut self, event: Event) {
        let record = Record { at_ms: now_ms(), event };
        // The thread ends only when this side does; should it panic, `output_error` says so.
        let _ = self.messages.send(Message::Record(Box::new(record)));
    }

    /// The output directory, absolute.
    pub fn directory(&self) -> PathBuf {
        self.directory.clone()
    }

    /// Waits until all events so far are with the system. The first failure to write a report, if there was one.
    pub fn output_error(&self) -> Option<String> {
        let (answer, answered) = sync_channel(1);
        let _ = self.messages.send(Message::Flush(answer));
        let gone = |_| Some("the thread that writes them ended; this is a defect of the program".to_owned());
        answered.recv().unwrap_or_else(gone)
    }

    /// Waits until all events so far are with the system, but not for ever: for a disk that hangs nobody waits.
    pub fn settle(&self) {
        let (answer, answered) = sync_channel(1);
        let _ = self.messages.send(Message::Flush(answer));
        let _ = answered.recv_timeout(PATIENCE);
    }

    /// Waits for the files, and for the console, but not for long once a signal has asked for the end.
    pub fn close(self, interrupted: &Interrupted) {
        drop(self.messages);
        let Ok(mut console) = self.thread.join() else { return };
        let mut since: Option<Instant> = None;
        console.close(|| interrupted.is_set() && since.get_or_insert_with(Instant::now).elapsed() >= PATIENCE);
    }
}

/// The thread: with 1,000 busy lanes on two cores its rows would come seconds late if it did not come first.
fn write_all(mut scribe: Scribe, messages: &Receiver<Message>) -> Console {
    come_first();
    for message in messages {
        match message {
            Message::Record(record) => scribe.write(&record),
            Message::Flush(answer) => drop(answer.send(scribe.error().map(str::to_owned))),
        }
    }
    scribe.into_console()
}

/// Unix time in milliseconds.
pub fn now_ms() -> i64 {
    // A clock before 1970 is only a wrong label.
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::Command;

    use super::*;

    /// `events.ndjson` is a pipe that nobody reads: to open it blocks, as a disk that hangs does.
    #[test]
    fn files_that_cannot_be_written_now_hold_up_nobody_and_get_all() {
        let temp = tempfile::tempdir().unwrap();
        let directory = Directory::open(temp.path().to_str().unwrap(), 0, "").unwrap();
        let pipe = temp.path().join("events.ndjson");
        std::fs::remove_file(&pipe).unwrap();
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let mut session = Session::new(directory).unwrap();
        for text in ["1", "2", "3"] {
            session.emit(Event::Argument { text: text.to_owned() });
        }
        let reader = thread::spawn(move || BufReader::new(std::fs::File::open(pipe).unwrap()).lines().count());
        assert_eq!(session.output_error(), None);
        session.close(&Interrupted::default());
        assert_eq!(reader.join().unwrap(), 3);
    }
}
