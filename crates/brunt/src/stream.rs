//! The events of an execution, read from its output directory while it goes on or later.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use brunt_event::{Event, Opened, Record, SCHEMA};
use brunt_report::EVENTS;

/// Bytes that are read at once.
const BLOCK: usize = 1 << 16;

/// Why events cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// There are none.
    #[error("'{}' is not the output directory of an execution: it has no {EVENTS}", .0.display())]
    None(PathBuf),
    /// Something else has that name.
    #[error("'{}' does not begin as the events of an execution do; name the output directory of one", .0.display())]
    Foreign(PathBuf),
    /// A later version wrote them.
    #[error("'{}' was written by brunt {version}, whose events this version cannot read; use that one", path.display())]
    Later {
        /// The file.
        path: PathBuf,
        /// Who wrote it.
        version: String,
    },
    /// Another execution has begun there.
    #[error("another execution has begun in '{}'; call again to see that one", .0.display())]
    Replaced(PathBuf),
    /// A line is none of ours.
    #[error("'{}': line {line} is no event", path.display())]
    Garbled {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: u64,
    },
    /// The system's reason.
    #[error("cannot read '{}': {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The events of one output directory, up to the last whole line that is there.
#[derive(Debug)]
pub struct EventStream {
    path: PathBuf,
    file: File,
    /// What was read and not yet given, from `at` on.
    bytes: Vec<u8>,
    at: usize,
    lines: u64,
}

impl EventStream {
    /// Opens the events of an execution, and gives its head.
    ///
    /// # Errors
    /// There are none, or none of ours.
    pub fn open(directory: &Path) -> Result<(Self, Record, Opened), StreamError> {
        let path = directory.join(EVENTS);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Err(StreamError::None(directory.to_owned()));
            }
            Err(source) => return Err(StreamError::Read { path, source }),
        };
        let mut stream = Self { path, file, bytes: Vec::new(), at: 0, lines: 0 };
        let foreign = || StreamError::Foreign(directory.join(EVENTS));
        let head = match stream.next() {
            Ok(head) => head.ok_or_else(foreign)?,
            Err(StreamError::Garbled { .. }) => return Err(foreign()),
            Err(error) => return Err(error),
        };
        let Event::Opened(opened) = &head.event else { return Err(foreign()) };
        if opened.schema > SCHEMA {
            return Err(StreamError::Later { path: stream.path, version: opened.version.clone() });
        }
        let opened = opened.clone();
        Ok((stream, head, opened))
    }

    /// The next event; `None`: there is no other by now.
    ///
    /// # Errors
    /// The file cannot be read, or is not what it was.
    pub fn next(&mut self) -> Result<Option<Record>, StreamError> {
        while let Some(line) = self.line()? {
            self.lines += 1;
            match serde_json::from_slice::<Record>(&line) {
                Ok(record) => return Ok(Some(record)),
                // A kind that a later version of the same schema has: ignored, as the schema asks.
                Err(_) if serde_json::from_slice::<serde_json::Value>(&line).is_ok() && self.lines > 1 => {}
                Err(_) => return Err(StreamError::Garbled { path: self.path.clone(), line: self.lines }),
            }
        }
        Ok(None)
    }

    fn line(&mut self) -> Result<Option<Vec<u8>>, StreamError> {
        let mut searched = self.at;
        loop {
            if let Some(end) = self.bytes.iter().skip(searched).position(|byte| *byte == b'\n') {
                let end = searched + end;
                let line = self.bytes.get(self.at..end).unwrap_or_default().to_vec();
                self.at = end + 1;
                return Ok(Some(line));
            }
            self.bytes.drain(..self.at);
            self.at = 0;
            searched = self.bytes.len();
            let failed = |source| StreamError::Read { path: self.path.clone(), source };
            let got = (&self.file).take(BLOCK as u64).read_to_end(&mut self.bytes).map_err(failed)?;
            if got == 0 {
                return self.same().map(|()| None);
            }
        }
    }

    /// Whether the file is still the one that has this name.
    fn same(&self) -> Result<(), StreamError> {
        let failed = |source| StreamError::Read { path: self.path.clone(), source };
        let ours = self.file.metadata().map_err(failed)?;
        match fs::metadata(&self.path) {
            Ok(now) if now.ino() == ours.ino() && now.dev() == ours.dev() => Ok(()),
            _ => Err(StreamError::Replaced(self.path.parent().unwrap_or(&self.path).to_owned())),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_is_no_execution_is_told_from_one() {
        let temp = tempfile::tempdir().unwrap();
        let told = |path: &Path| EventStream::open(path).map(drop).unwrap_err().to_string();
        assert!(told(temp.path()).ends_with("is not the output directory of an execution: it has no events.ndjson"));
        assert!(told(&temp.path().join("no")).contains("is not the output directory"));
        for text in ["", "x\n", "{\"at_ms\":1,\"event\":{\"kind\":\"usage\"}}\n", "{\"at_ms\":1}\n"] {
            fs::write(temp.path().join(EVENTS), text).unwrap();
            assert!(told(temp.path()).contains("does not begin as the events of an execution do"), "{text}");
        }
    }

    #[test]
    fn half_a_line_waits_for_its_rest_and_unknown_kinds_are_passed_over() {
        let temp = tempfile::tempdir().unwrap();
        let mut file = File::create(temp.path().join(EVENTS)).unwrap();
        let mut stream = EventStream {
            path: temp.path().join(EVENTS),
            file: File::open(temp.path().join(EVENTS)).unwrap(),
            bytes: Vec::new(),
            at: 0,
            lines: 1,
        };
        file.write_all(b"{\"at_ms\":1,\"event\":{\"kind\":\"later\"}}\n{\"at_ms\":2,\"event\":{\"ki").unwrap();
        assert_eq!(stream.next().unwrap(), None);
        file.write_all(b"nd\":\"usage\"}}\n{\"at_ms\"").unwrap();
        assert_eq!(stream.next().unwrap(), Some(Record { at_ms: 2, event: Event::Usage }));
        assert_eq!(stream.next().unwrap(), None);
        file.write_all(b"\n").unwrap();
        assert!(matches!(stream.next(), Err(StreamError::Garbled { line: 4, .. })));
    }
}
