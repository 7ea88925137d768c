//! Where a client finds its session again: a Unix socket in a folder of its user.
//!
//! A token is 64 hexadecimal digits; the first half is its name, which names the socket, the whole is the secret. The
//! folder is `/tmp/brunt-UID`, or `$XDG_RUNTIME_DIR/brunt` where that one is not to be had. In this order: a login
//! manager removes the latter when the last login ends, which is when it is needed.
//! When a session has ended a line in the folder says why, for a day.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use nix::unistd::geteuid;
use tokio::net::{UnixListener, UnixStream};

/// Digits of a token.
const TOKEN: usize = 64;

/// How long the folder remembers why a session ended.
const REMEMBERED: Duration = Duration::from_secs(24 * 3600);

/// Makes a token.
///
/// # Errors
/// The system has no random numbers.
pub fn new_token() -> io::Result<String> {
    let mut bytes = [0; TOKEN / 2];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The part of a token that is no secret. `None`: it is no token.
pub fn name_of(token: &str) -> Option<&str> {
    let hex = token.len() == TOKEN && token.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    token.get(..TOKEN / 2).filter(|_| hex)
}

/// Folders that may be used, the best first.
fn folders() -> Vec<PathBuf> {
    let own = PathBuf::from(format!("/tmp/brunt-{}", geteuid()));
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    std::iter::once(own).chain(runtime.map(|path| path.join("brunt"))).collect()
}

/// Makes a folder for this user alone, unless it is there.
///
/// # Errors
/// A sentence.
fn make_private(path: &Path) -> Result<(), String> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(format!("{} cannot be made: {error}", path.display()))
        }
        _ => check_private(path),
    }
}

/// Only a folder of this user, into which nobody else can put anything, is trusted.
fn check_private(path: &Path) -> Result<(), String> {
    let at = path.display();
    let meta = fs::symlink_metadata(path).map_err(|error| format!("{at}: {error}"))?;
    let uid = geteuid().as_raw();
    match (meta.is_dir(), meta.uid() == uid, meta.mode() & 0o077) {
        (false, ..) => Err(format!("{at} is not a folder; remove it")),
        (_, false, _) => Err(format!("{at} belongs to user {}, not to {uid}; remove it", meta.uid())),
        (_, _, open) if open != 0 => Err(format!("{at} can be used by others; chmod 700 {at}")),
        _ => Ok(()),
    }
}

/// The socket of a session that goes on. Dropped, it is gone.
#[derive(Debug)]
pub struct Meeting {
    /// Connections come here.
    pub listener: UnixListener,
    socket: PathBuf,
    /// Where it is said why the session ended.
    grave: Option<PathBuf>,
}

impl Meeting {
    /// Opens the socket of a session, in the first folder that can be had.
    ///
    /// # Errors
    /// Sentences.
    pub async fn open(token: &str) -> Result<Self, String> {
        let name = name_of(token).ok_or("the session has no token")?;
        let mut reasons = Vec::new();
        for folder in folders() {
            match open_in(&folder, name).await {
                Ok(meeting) => return Ok(meeting),
                Err(reason) => reasons.push(reason),
            }
        }
        Err(reasons.join("; "))
    }

    /// Opens a socket at a path that whoever started the agent chose.
    ///
    /// # Errors
    /// Those of the system.
    pub fn open_at(socket: PathBuf, token: &str) -> io::Result<Self> {
        let listener = bind(&socket)?;
        let grave = name_of(token).map(|name| grave_beside(&socket, name));
        Ok(Self { listener, socket, grave })
    }

    /// Leaves word why the session ended.
    pub fn bury(&self, why: &str) {
        if let Some(grave) = &self.grave {
            write_on(grave, why);
        }
    }

    /// Takes the socket's name away: nobody comes any more.
    pub fn remove(&self) {
        // Whoever finds it without an agent removes it as well.
        let _ = fs::remove_file(&self.socket);
    }
}

impl Drop for Meeting {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Leaves word why a session ended whose agent cannot do so itself, by its name and the socket of its agent.
pub fn bury(socket: &Path, name: &str, why: &str) {
    write_on(&grave_beside(socket, name), why);
}

fn grave_beside(socket: &Path, name: &str) -> PathBuf {
    socket.with_file_name(name).with_extension("ended")
}

fn write_on(grave: &Path, why: &str) {
    if let Err(error) = fs::write(grave, why) {
        tracing::debug!(%error, "nobody will know why the session ended");
    }
}

async fn open_in(folder: &Path, name: &str) -> Result<Meeting, String> {
    make_private(folder)?;
    sweep(folder).await;
    let socket = folder.join(name).with_extension("sock");
    let listener = bind(&socket).map_err(|error| format!("{}: {error}", socket.display()))?;
    Ok(Meeting { listener, socket, grave: Some(folder.join(name).with_extension("ended")) })
}

/// A socket gets its name once it listens: before that it would be taken for a dead one.
fn bind(socket: &Path) -> io::Result<UnixListener> {
    let unborn = socket.with_extension("new");
    match fs::remove_file(&unborn) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(&unborn)?;
    fs::rename(&unborn, socket)?;
    Ok(listener)
}

/// Removes what agents left that were killed, and what is remembered for too long.
async fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let dead = match path.extension().and_then(|extension| extension.to_str()) {
            Some("sock") => {
                let refused = UnixStream::connect(&path).await.map_err(|error| error.kind());
                matches!(refused, Err(io::ErrorKind::ConnectionRefused))
            }
            Some("ended" | "new") => entry.metadata().is_ok_and(|meta| is_old(&meta)),
            _ => false,
        };
        if dead {
            // Another agent may do the same.
            let _ = fs::remove_file(path);
        }
    }
}

fn is_old(meta: &fs::Metadata) -> bool {
    let age = meta.modified().ok().and_then(|then| SystemTime::now().duration_since(then).ok());
    age.is_some_and(|age| age > REMEMBERED)
}

/// Why a session cannot be joined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// What came is not a token.
    #[error("that is not the token of a session")]
    NoToken,
    /// The session was here.
    #[error("the session has ended: {0}")]
    Ended(String),
    /// Nothing is known of it.
    #[error(
        "there is no such session on this host for user {0}: its agent was killed, the host was started again, or another user's agent has it"
    )]
    Unknown(u32),
}

/// Connects to the agent that has a session.
///
/// # Errors
/// It is not there.
pub async fn join(token: &str) -> Result<UnixStream, Missing> {
    join_in(&folders(), token).await
}

async fn join_in(folders: &[PathBuf], token: &str) -> Result<UnixStream, Missing> {
    let name = name_of(token).ok_or(Missing::NoToken)?;
    for folder in folders.iter().filter(|folder| check_private(folder).is_ok()) {
        if let Ok(stream) = UnixStream::connect(folder.join(name).with_extension("sock")).await {
            return Ok(stream);
        }
    }
    Err(match buried_in(folders, name) {
        Some(why) => Missing::Ended(why),
        None => Missing::Unknown(geteuid().as_raw()),
    })
}

fn buried_in(folders: &[PathBuf], name: &str) -> Option<String> {
    let trusted = folders.iter().filter(|folder| check_private(folder).is_ok());
    trusted.map(|folder| folder.join(name).with_extension("ended")).find_map(|grave| fs::read_to_string(grave).ok())
}

/// Why the session of a token ended on this host, when that is known.
pub fn why_ended(token: &str) -> Option<String> {
    buried_in(&folders(), name_of(token)?)
}

/// The folder for the socket of an agent that listens, made for this user alone.
///
/// # Errors
/// Sentences.
pub fn private_folder() -> Result<PathBuf, String> {
    let mut reasons = Vec::new();
    for folder in folders() {
        match make_private(&folder) {
            Ok(()) => return Ok(folder),
            Err(reason) => reasons.push(reason),
        }
    }
    Err(reasons.join("; "))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn tokens_differ_and_nothing_else_is_one() {
        let token = new_token().unwrap();
        assert_ne!(token, new_token().unwrap());
        assert_eq!(name_of(&token), token.get(..32));
        for wrong in ["", "../../etc/passwd", &token[1..], &token.to_uppercase().replace('0', "G"), &"/".repeat(64)] {
            assert_eq!(name_of(wrong), None, "{wrong}");
        }
    }

    #[tokio::test]
    async fn a_session_is_found_and_then_why_it_ended() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("brunt");
        let token = new_token().unwrap();
        let folders = [root.path().join("none"), folder.clone()];
        assert_eq!(join_in(&folders, "x").await.unwrap_err(), Missing::NoToken);
        assert!(matches!(join_in(&folders, &token).await.unwrap_err(), Missing::Unknown(_)));
        let meeting = open_in(&folder, name_of(&token).unwrap()).await.unwrap();
        let (joined, accepted) = tokio::join!(join_in(&folders, &token), meeting.listener.accept());
        assert!(joined.is_ok() && accepted.is_ok());
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        meeting.bury("its master has ended it, at 08:00:00 UTC");
        drop(meeting);
        let ended = join_in(&folders, &token).await.unwrap_err();
        assert_eq!(ended.to_string(), "the session has ended: its master has ended it, at 08:00:00 UTC");
    }

    #[tokio::test]
    async fn what_killed_agents_left_is_swept() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("brunt");
        let alive = open_in(&folder, "alive").await.unwrap();
        let killed = open_in(&folder, "killed").await.unwrap();
        // Under another name it stays where it is when it is closed.
        let copy = folder.join("copy.sock");
        fs::rename(&killed.socket, &copy).unwrap();
        drop(killed);
        let _next = open_in(&folder, "next").await.unwrap();
        assert!(!copy.exists());
        assert!(alive.socket.exists());
    }

    #[test]
    fn folders_that_others_could_use_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("brunt");
        make_private(&folder).unwrap();
        let link = root.path().join("link");
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        assert_eq!(make_private(&link), Err(format!("{} is not a folder; remove it", link.display())));
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o750)).unwrap();
        let text = format!("{0} can be used by others; chmod 700 {0}", folder.display());
        assert_eq!(make_private(&folder), Err(text));
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        if geteuid().is_root() {
            std::os::unix::fs::chown(&folder, Some(12_345), None).unwrap();
            let text = format!("{} belongs to user 12345, not to 0; remove it", folder.display());
            assert_eq!(make_private(&folder), Err(text));
        }
    }
}
