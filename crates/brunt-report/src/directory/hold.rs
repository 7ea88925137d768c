//! Whether an execution writes into an output directory: a lock that the system takes back when its process is gone.

use std::fs::File;
use std::io;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use super::OutputError;

/// Somebody who only looks ([`is_held`]) has the lock for a moment.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(20);

/// The lock of a directory. Where the file system has none (some network file systems lock no directories) it is empty.
#[derive(Debug)]
pub struct Hold(#[allow(dead_code, reason = "kept for its end")] Option<Flock<File>>);

impl Hold {
    /// Takes the lock.
    ///
    /// # Errors
    /// Somebody else has it, or there is no such directory.
    pub fn take(path: &Path) -> Result<Self, OutputError> {
        let mut file = File::open(path).map_err(|source| OutputError::Directory { path: path.to_owned(), source })?;
        for _ in 0..TRIES {
            match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(lock) => return Ok(Self(Some(lock))),
                Err((again, Errno::EWOULDBLOCK)) => file = again,
                Err(_) => return Ok(Self(None)),
            }
            sleep(PAUSE);
        }
        Err(OutputError::InUse { path: path.to_owned() })
    }
}

/// Whether an execution has the lock of a directory; `None` where the file system has no such locks.
///
/// # Errors
/// There is no such directory, or it cannot be read.
pub fn is_held(path: &Path) -> io::Result<Option<bool>> {
    Ok(match Flock::lock(File::open(path)?, FlockArg::LockSharedNonblock) {
        Ok(_) => Some(false),
        Err((_, Errno::EWOULDBLOCK)) => Some(true),
        Err(_) => None,
    })
}
