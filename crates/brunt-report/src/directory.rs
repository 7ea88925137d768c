//! The output directory (`docs/vdbench/reports.md` §2).

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::chunk::Chunk;
use crate::clock::Clock;
use crate::reporter::{CONSOLE, EVENTS, TAKEOVER};

mod hold;

pub use hold::{Hold, is_held};

/// So many files are kept open; others are opened for each piece of text.
const OPEN_FILES: usize = 128;
/// Bytes that are looked through at a time for a line end.
const BLOCK: u64 = 1 << 16;
/// The last number of `dir+`.
const LAST_NUMBER: u32 = 998;

/// What can go wrong with the output directory.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The directory cannot be made or read.
    #[error("cannot use output directory '{}': {source}", path.display())]
    Directory {
        /// Its path.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// An execution writes into it.
    #[error(
        "output directory '{}' is that of an execution that still goes on; give another one, or look there with \
         `brunt attach`", path.display()
    )]
    InUse {
        /// Its path.
        path: PathBuf,
    },
    /// All numbers of `dir+` are taken.
    #[error("no free output directory: '{}001' to '{}998' exist; remove some, or give another name", path.display(), path.display())]
    NoneFree {
        /// The path before the number.
        path: PathBuf,
    },
    /// A file of an earlier execution cannot be removed.
    #[error("cannot remove '{}' of an earlier execution: {source}", path.display())]
    Remove {
        /// Its path.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file cannot be written. The other files have their lines all the same.
    #[error("cannot write '{}': {source}", path.display())]
    Write {
        /// Its path.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

/// An open output directory.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    created: bool,
    /// Files made by this execution.
    made: HashSet<String>,
    open: HashMap<String, File>,
    /// Tells others that an execution writes here, as long as this lives.
    _hold: Hold,
}

impl Directory {
    /// Opens the directory that `asked` means: `dir+` is the first free one of `dir001` to `dir998`, `dir.tod` has date
    /// and time in place of `tod` (`dir.tod+` both), anything else is itself. It is made if it is missing; reports of an
    /// earlier execution in it are removed, other files kept. Everybody may write to what we make, as Vdbench has it;
    /// what was there before keeps its permissions, since it may be somebody's home.
    ///
    /// `at_ms` and `zone` are the time and the time zone (IANA name, empty for UTC) of the execution's start.
    ///
    /// # Errors
    /// The directory cannot be made, is no directory, cannot be written to, or holds old reports that
    /// cannot be removed.
    pub fn open(asked: &str, at_ms: i64, zone: &str) -> Result<Self, OutputError> {
        let (stem, numbered) = asked.strip_suffix('+').map_or((asked, false), |stem| (stem, true));
        let named = match stem.strip_suffix("tod").filter(|stem| stem.ends_with('.')) {
            Some(stem) => format!("{stem}{}", Clock::new(zone).directory(at_ms)),
            None => stem.to_owned(),
        };
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| OutputError::Directory { path, source }
        };
        let (path, created) = if numbered {
            (make_numbered(&named)?, true)
        } else {
            let path = PathBuf::from(named);
            let exists = path.is_dir();
            fs::create_dir_all(&path).map_err(failed(&path))?;
            (path, !exists)
        };
        let path = std::path::absolute(&path).map_err(failed(&path))?;
        let hold = Hold::take(&path)?;
        remove_old_reports(&path)?;
        // Better now than after hours of work: the first file of every execution.
        let first = path.join(EVENTS);
        File::create(&first).map_err(|source| OutputError::Write { path: first, source })?;
        if created {
            share(&path);
        }
        Ok(Self { path, created, made: HashSet::new(), open: HashMap::new(), _hold: hold })
    }

    /// Opens the directory of an execution whose master is gone, to go on with it: the events stay, but for half a
    /// line at their end; all other reports are to be written again from them.
    ///
    /// # Errors
    /// Another master writes there, or it cannot be written to.
    pub fn reopen(path: &Path) -> Result<Self, OutputError> {
        let path = std::path::absolute(path).map_err(|source| OutputError::Directory { path: path.into(), source })?;
        let hold = Hold::take(&path)?;
        let events = path.join(EVENTS);
        drop_half_line(&events).map_err(|source| OutputError::Write { path: events, source })?;
        let made = HashSet::from([EVENTS.to_owned()]);
        Ok(Self { path, created: false, made, open: HashMap::new(), _hold: hold })
    }

    /// Absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it was made now.
    pub fn created(&self) -> bool {
        self.created
    }

    /// Writes the chunks that are for files; each is with the system when this returns. A file that cannot be written
    /// does not keep the others from their lines, and does not end in half a line where that can be helped.
    ///
    /// # Errors
    /// The first file that could not be written.
    pub fn write(&mut self, chunks: &[Chunk]) -> Result<(), OutputError> {
        let mut first = Ok(());
        for piece in pieces(chunks) {
            let (name, done) = match piece {
                Piece::Add(name, _) | Piece::Whole(name, _) if name.contains('/') => {
                    (name, Err(io::Error::new(io::ErrorKind::InvalidInput, "a report's name cannot hold '/'")))
                }
                Piece::Add(name, text) => (name, self.append(name, &text)),
                Piece::Whole(name, text) => (name, self.replace(name, text)),
            };
            if let (Err(source), Ok(())) = (done, &first) {
                first = Err(OutputError::Write { path: self.path.join(name), source });
            }
        }
        first
    }

    fn append(&mut self, name: &str, text: &str) -> io::Result<()> {
        if let Some(file) = self.open.get_mut(name) {
            return write_whole(file, text);
        }
        let path = self.path.join(name);
        let fresh = !self.made.contains(name);
        let mut file = OpenOptions::new().append(true).create(true).open(&path)?;
        if fresh {
            if file.metadata()?.is_file() {
                file.set_len(0)?;
                share_file(&file);
            }
            self.made.insert(name.to_owned());
        }
        let done = write_whole(&mut file, text);
        if self.open.len() < OPEN_FILES {
            self.open.insert(name.to_owned(), file);
        }
        done
    }

    /// Writes a new file and puts it in the place of the old one, so that a reader never sees half of it.
    fn replace(&mut self, name: &str, text: &str) -> io::Result<()> {
        let (path, new) = (self.path.join(name), self.path.join(format!("{name}.new")));
        let written = File::create(&new).and_then(|mut file| {
            share_file(&file);
            file.write_all(text.as_bytes())
        });
        let done = written.and_then(|()| fs::rename(&new, &path));
        if done.is_err() {
            let _ = fs::remove_file(&new); // the first error is the one to tell
        }
        self.open.remove(name);
        self.made.insert(name.to_owned());
        done
    }
}

/// What is done to a file.
enum Piece<'a> {
    Add(&'a str, Cow<'a, str>),
    Whole(&'a str, &'a str),
}

/// The pieces for files. All text that one file gets in a row, whatever other files get in between, is one piece: the
/// first run of 1,000 SDs has three for each of 2,000 files.
fn pieces(chunks: &[Chunk]) -> Vec<Piece<'_>> {
    let (mut pieces, mut last) = (Vec::new(), HashMap::new());
    for chunk in chunks {
        match chunk {
            Chunk::Console(_) | Chunk::Stderr(_) => {}
            Chunk::File { name, text } => match last.get(name.as_str()).and_then(|n: &usize| pieces.get_mut(*n)) {
                Some(Piece::Add(_, sum)) => sum.to_mut().push_str(text),
                _ => {
                    last.insert(name.as_str(), pieces.len());
                    pieces.push(Piece::Add(name, Cow::Borrowed(text)));
                }
            },
            Chunk::Replace { name, text } => {
                last.insert(name.as_str(), pieces.len());
                pieces.push(Piece::Whole(name, text));
            }
        }
    }
    pieces
}

/// Adds text, or nothing of it.
fn write_whole(file: &mut File, text: &str) -> io::Result<()> {
    let before = file.metadata()?.len();
    let done = file.write_all(text.as_bytes());
    if done.is_err() {
        let _ = file.set_len(before); // half a line would be taken for a whole one
    }
    done
}

/// Cuts what is behind the last line end of a file.
fn drop_half_line(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    let (mut end, mut block) = (file.metadata()?.len(), Vec::new());
    while end > 0 {
        let from = end.saturating_sub(BLOCK);
        block.clear();
        file.seek(SeekFrom::Start(from))?;
        (&file).take(end - from).read_to_end(&mut block)?;
        if let Some(at) = block.iter().rposition(|byte| *byte == b'\n') {
            return file.set_len(from + at as u64 + 1);
        }
        end = from;
    }
    file.set_len(0)
}

/// Lets everybody use a directory.
fn share(path: &Path) {
    let _ = fs::set_permissions(path, Permissions::from_mode(0o777));
}

/// Lets everybody use a file. Whoever owns it may not be us; then it stays as it is.
fn share_file(file: &File) {
    let _ = file.set_permissions(Permissions::from_mode(0o777));
}

/// Makes the first free directory of `stem001` to `stem998`.
fn make_numbered(stem: &str) -> Result<PathBuf, OutputError> {
    for number in 1..=LAST_NUMBER {
        let path = PathBuf::from(format!("{stem}{number:03}"));
        let parent = path.parent().map_or(Ok(()), fs::create_dir_all);
        match parent.and_then(|()| fs::create_dir(&path)) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(OutputError::Directory { path, source }),
        }
    }
    Err(OutputError::NoneFree { path: stem.into() })
}

fn remove_old_reports(path: &Path) -> Result<(), OutputError> {
    let failed = |source| OutputError::Directory { path: path.to_owned(), source };
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !directory && is_report(&entry.file_name().to_string_lossy()) {
            fs::remove_file(entry.path()).map_err(|source| OutputError::Remove { path: entry.path(), source })?;
        }
    }
    Ok(())
}

/// Whether an execution makes files of that name.
fn is_report(name: &str) -> bool {
    let swat = name.starts_with("swat_mon") && name.ends_with(".txt");
    name.ends_with(".html") || name.ends_with(".bin") || swat || [EVENTS, CONSOLE, TAKEOVER].contains(&name)
}

#[cfg(test)]
mod tests;
