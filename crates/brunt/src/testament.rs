//! What another master needs to go on with an execution: a file in its output directory, for its user alone, as long as
//! the execution goes on. It holds the sessions' tokens: whoever can read it can take the agents over.

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use brunt_master::tether::Kept;
use brunt_parm::Reader;
use brunt_parm::source::ReadError;
use brunt_report::TAKEOVER;
use nix::fcntl::OFlag;
use nix::unistd::geteuid;
use serde::{Deserialize, Serialize};

use crate::files::Files;
use crate::invocation::Invocation;

/// A text that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Text {
    path: String,
    /// `None`: there was no such file.
    text: Option<String>,
}

/// The session of one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Session {
    token: String,
    /// What it said of itself, in hexadecimal digits.
    facts: String,
}

/// The file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Testament {
    /// Of Brunt: another one may plan otherwise.
    version: String,
    /// The name that the program was called by.
    pub name: PathBuf,
    /// The words behind it.
    pub words: Vec<String>,
    /// The current directory.
    pub directory: PathBuf,
    /// Parameter files.
    pub files: Vec<String>,
    texts: Vec<Text>,
    /// Seed of all random choices.
    pub seed: u64,
    sessions: Vec<Session>,
}

/// How an execution was called and what was read for it.
#[derive(Debug)]
pub struct Call {
    /// The name that the program was called by.
    pub name: PathBuf,
    /// The words behind it.
    pub words: Vec<String>,
    /// The current directory.
    pub directory: PathBuf,
    /// Seed of all random choices.
    pub seed: u64,
}

impl Call {
    /// That of an execution.
    pub fn of(invocation: &Invocation, seed: u64) -> Self {
        // Words that are no Unicode are refused before anything is done.
        let words = invocation.words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        Self { name: invocation.name.clone(), words, directory: invocation.directory.clone(), seed }
    }
}

impl Testament {
    /// What goes on with these sessions.
    pub fn new(call: Call, files: Vec<String>, read: &Recorder, sessions: &[Kept]) -> Self {
        let Call { name, words, directory, seed } = call;
        let sessions = sessions.iter().map(|kept| Session { token: kept.token.clone(), facts: hex(&kept.facts) });
        let (version, texts) = (env!("CARGO_PKG_VERSION").to_owned(), read.0.borrow().clone());
        Self { version, name, words, directory, files, texts, seed, sessions: sessions.collect() }
    }

    /// Writes it: nobody else can read it at any time, nor lead it to another place.
    ///
    /// # Errors
    /// Those of the system.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        let new = directory.join(format!("{TAKEOVER}.new"));
        let _ = fs::remove_file(&new);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        let text = serde_json::to_vec(self)?;
        let written = file.write_all(&text).and_then(|()| fs::rename(&new, directory.join(TAKEOVER)));
        if written.is_err() {
            // No part of it stays. Where it cannot be removed it is for our user alone.
            let _ = fs::remove_file(&new);
        }
        written
    }

    /// Reads it, if it is ours: the output directory is open to everybody.
    ///
    /// # Errors
    /// Why there is none, in a sentence.
    pub fn read(directory: &Path) -> Result<Self, String> {
        let path = directory.join(TAKEOVER);
        let at = path.display();
        let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NOFOLLOW.bits()).open(&path);
        let file = match file {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err("it left nothing to go on with: no run had started, or it has no lease".to_owned());
            }
            Err(error) => return Err(format!("{at} cannot be read: {error}")),
        };
        private(&file).map_err(|why| format!("{at} {why}, so that it is not trusted"))?;
        let read: Self = serde_json::from_reader(io::BufReader::new(file)).map_err(|error| format!("{at}: {error}"))?;
        match read.version == env!("CARGO_PKG_VERSION") {
            true => Ok(read),
            false => Err(format!("it was begun by brunt {}; attach with that version", read.version)),
        }
    }

    /// The sessions; `None`: one is garbled.
    pub fn sessions(&self) -> Option<Vec<Kept>> {
        let kept = |session: &Session| Some(Kept { token: session.token.clone(), facts: unhex(&session.facts)? });
        self.sessions.iter().map(kept).collect()
    }

    /// The texts as they were.
    pub fn reader(&self) -> Replay<'_> {
        Replay(&self.texts)
    }
}

/// The execution is over, and nobody will go on with it.
pub fn burn(directory: &Path) {
    // Where it cannot be removed its tokens open nothing any more.
    let _ = fs::remove_file(directory.join(TAKEOVER));
}

fn private(file: &File) -> Result<(), &'static str> {
    let meta = file.metadata().map_err(|_| "says nothing of itself")?;
    match (meta.is_file(), meta.uid() == geteuid().as_raw(), meta.mode() & 0o077) {
        (false, ..) => Err("is no file"),
        (_, false, _) => Err("belongs to another user"),
        (_, _, 0) => Ok(()),
        _ => Err("can be used by others"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16).map(|d| d as u8)).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    Some(digits.chunks(2).map(|pair| pair.iter().fold(0, |sum, digit| sum << 4 | digit)).collect())
}

/// Reads files and remembers what was in them.
#[derive(Debug, Default)]
pub struct Recorder(RefCell<Vec<Text>>);

impl Reader for Recorder {
    fn read(&self, path: &str) -> Result<String, ReadError> {
        let read = Files.read(path);
        // A file that cannot be read is an error, behind which nothing is run.
        self.0.borrow_mut().push(Text { path: path.to_owned(), text: read.as_ref().ok().cloned() });
        read
    }

    fn absolute(&self, path: &str) -> String {
        Files.absolute(path)
    }
}

/// Gives what was read in the same order.
#[derive(Debug)]
pub struct Replay<'t>(&'t [Text]);

impl Reader for Replay<'_> {
    fn read(&self, path: &str) -> Result<String, ReadError> {
        let text = self.0.iter().find(|text| text.path == path).and_then(|text| text.text.clone());
        text.ok_or(ReadError::NotFound)
    }

    fn absolute(&self, path: &str) -> String {
        Files.absolute(path)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    fn testament(folder: &Path) -> Testament {
        fs::write(folder.join("p"), "rd=x").unwrap();
        let read = Recorder::default();
        let path = folder.join("p").display().to_string();
        assert_eq!((read.read(&path), read.read("no")), (Ok("rd=x".into()), Err(ReadError::NotFound)));
        let call = Call { name: "brunt".into(), words: vec!["-f".into(), "p".into()], directory: "/".into(), seed: 7 };
        let kept = Kept { token: "secret".into(), facts: vec![0, 1, 254] };
        Testament::new(call, vec![path], &read, &[kept])
    }

    #[test]
    fn what_is_written_is_for_its_user_alone_and_is_read_again() {
        let temp = tempfile::tempdir().unwrap();
        let written = testament(temp.path());
        written.write(temp.path()).unwrap();
        let path = temp.path().join(TAKEOVER);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let read = Testament::read(temp.path()).unwrap();
        assert_eq!(read, written);
        assert_eq!(read.sessions().unwrap()[0], Kept { token: "secret".into(), facts: vec![0, 1, 254] });
        fs::write(temp.path().join("p"), "rd=other").unwrap();
        assert_eq!(read.reader().read(&read.files[0]), Ok("rd=x".into()));
        assert_eq!(read.reader().read("no"), Err(ReadError::NotFound));
        burn(temp.path());
        assert!(Testament::read(temp.path()).unwrap_err().starts_with("it left nothing to go on with"));
    }

    #[test]
    fn nothing_stays_of_what_cannot_be_written() {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir(temp.path().join(TAKEOVER)).unwrap();
        testament(temp.path()).write(temp.path()).unwrap_err();
        let mut left: Vec<_> = fs::read_dir(temp.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["p", TAKEOVER]);
    }

    #[test]
    fn what_others_may_have_touched_is_not_trusted() {
        let temp = tempfile::tempdir().unwrap();
        testament(temp.path()).write(temp.path()).unwrap();
        let path = temp.path().join(TAKEOVER);
        fs::set_permissions(&path, Permissions::from_mode(0o622)).unwrap();
        assert!(Testament::read(temp.path()).unwrap_err().contains("can be used by others, so that it is not trusted"));
        let own = temp.path().join("own");
        fs::rename(&path, &own).unwrap();
        fs::set_permissions(&own, Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(&own, &path).unwrap();
        assert!(Testament::read(temp.path()).unwrap_err().contains("cannot be read"));
    }
}
