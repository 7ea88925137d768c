//! The agent behind an agent that listens: a process, started when somebody comes, which ends with its session.
//!
//! It shows once a second that it lives ([`Sign`]). One that hangs is named to whoever comes, and is killed with its
//! workers when its lease is over: nothing else would ever end it, and nobody else could be served.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::Duration;

use brunt_proto::lines::next_line;
use brunt_proto::stdio::{START_LIMIT, ended, new_marker, skip_to_marker};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncReadExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::{Mutex, mpsc};
use tokio::time::{Instant, timeout};

use super::family;
use super::log::Log;
use crate::agent::connection::Bytes;
use crate::agent::meeting;
use crate::agent::session::clock;
use crate::agent::sign::Sign;

/// Time an agent has to end.
const END_LIMIT: Duration = Duration::from_secs(20);

/// Time a killed process has to be gone. One that is not has an I/O that the kernel never ends.
const KILL_LIMIT: Duration = Duration::from_secs(5);

/// Time an agent has for its first byte on a connection, which it sends unasked.
const LIFE_LIMIT: Duration = Duration::from_secs(3);

/// Time for a sign that is late: two from one to the next.
const SECOND_LOOK: Duration = Duration::from_secs(2);

/// An agent that has given no sign for so long hangs, whatever its lease.
const SILENCE: Duration = Duration::from_secs(10);

/// Where the agent is.
#[derive(Debug)]
pub struct House {
    program: PathBuf,
    cores: Vec<usize>,
    socket: PathBuf,
    log: Log,
    guest: Arc<Mutex<Option<Guest>>>,
}

/// An agent that was started here.
#[derive(Debug)]
struct Guest {
    process: Child,
    last: Arc<Lock<Last>>,
}

/// The last sign of an agent.
#[derive(Debug, Clone)]
struct Last {
    sign: Sign,
    at: Instant,
}

impl House {
    /// Its agents are `program agent --socket SOCKET`. What becomes of them unasked goes to `log`.
    pub fn new(program: PathBuf, cores: Vec<usize>, socket: PathBuf, log: Log) -> Self {
        Self { program, cores, socket, log, guest: Arc::default() }
    }

    /// Connects to the agent that is there, else to a new one. One that is about to end is waited for. The error is a
    /// sentence.
    pub async fn connect(&self) -> Result<Box<dyn Bytes>, String> {
        // Between a sign of life and its end there is time for an agent to go; a new one does not go by itself.
        for _ in 0..2 {
            let mut stream = self.reach().await?;
            let mut first = vec![0; 256];
            match timeout(LIFE_LIMIT, stream.read(&mut first)).await {
                Ok(Ok(count @ 1..)) => {
                    first.truncate(count);
                    let (reader, writer) = stream.into_split();
                    return Ok(Box::new(tokio::io::join(io::Cursor::new(first).chain(reader), writer)));
                }
                Ok(_) => {}
                Err(_) => return Err(self.hung(&stream).await),
            }
        }
        Err("the agent here ended when it was connected to; its log says why".to_owned())
    }

    async fn reach(&self) -> Result<UnixStream, String> {
        let cannot = |error: io::Error| format!("the agent cannot be started here: {error}; see its log");
        let mut guest = self.guest.lock().await;
        // It may be that of a listener before this one, which was killed in the midst of a session.
        match UnixStream::connect(&self.socket).await {
            Ok(stream) => return Ok(stream),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {}
            Err(error) => return Err(format!("the agent here takes no connections: {error}")),
        }
        if let Some(old) = guest.as_mut() {
            let pid = old.process.id();
            if !old.end(END_LIMIT).await {
                let pid = pid.unwrap_or_default();
                return Err(format!(
                    "the agent before (process {pid}) does not end, not even killed: an I/O of it hangs in the kernel; \
                     look at the device, and at dmesg"
                ));
            }
        }
        *guest = Some(self.start().await.map_err(cannot)?);
        UnixStream::connect(&self.socket).await.map_err(cannot)
    }

    async fn start(&self) -> io::Result<Guest> {
        let marker = new_marker();
        let mut command = Command::new(&self.program);
        command.args(["agent", "--socket"]).arg(&self.socket).args(["--marker", &marker]);
        if !self.cores.is_empty() {
            let cores: Vec<String> = self.cores.iter().map(ToString::to_string).collect();
            command.args(["--cores", &cores.join(",")]);
        }
        // Its standard input tells it that this process lives, and its standard error is the log of both.
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0).spawn()?;
        let output = process.stdout.take().ok_or_else(|| io::Error::other("it has no standard output"))?;
        let mut output = BufReader::new(output);
        // Nobody takes what comes before.
        let (chatter, _) = mpsc::channel(1);
        match timeout(START_LIMIT, skip_to_marker(&mut output, &marker, &chatter)).await {
            Ok(Ok(true)) => {}
            Ok(_) => {
                let how = ended(process.wait().await);
                return Err(io::Error::other(format!("it ended before it was ready ({how})")));
            }
            Err(_) => {
                process.start_kill()?;
                return Err(io::Error::other(format!("it was not ready after {} s", START_LIMIT.as_secs())));
            }
        }
        let last = Arc::new(Lock::new(Last { sign: Sign::default(), at: Instant::now() }));
        let place = (Arc::clone(&self.guest), self.socket.clone(), self.log.clone());
        tokio::spawn(watch(output, Arc::clone(&last), place));
        Ok(Guest { process, last })
    }

    /// What is to be said of an agent that does not answer.
    async fn hung(&self, stream: &UnixStream) -> String {
        // Of the process that listens at the other end.
        let pid = stream.peer_cred().ok().and_then(|peer| peer.pid()).unwrap_or_default();
        let guest = self.guest.lock().await;
        let ours = guest.as_ref().filter(|guest| guest.pid() == Some(Pid::from_raw(pid)));
        match ours {
            Some(guest) => {
                let last = guest.last();
                let left = (last.sign.patience() + SECOND_LOOK).saturating_sub(last.at.elapsed()).as_secs();
                format!(
                    "the agent here (process {pid}) hangs: {last}; it is killed in {left} s, when its lease is over, or now \
                     by `kill -9 {pid}`"
                )
            }
            None => {
                format!("the agent here (process {pid}), one of a listener before this, hangs; end it: kill -9 {pid}")
            }
        }
    }

    /// Ends the agent in order.
    pub async fn end(&self) {
        let Some(mut guest) = self.guest.lock().await.take() else { return };
        if let Some(pid) = guest.pid() {
            // It may have ended in this moment.
            let _ = kill(pid, Signal::SIGTERM);
        }
        guest.end(END_LIMIT).await;
    }
}

impl Guest {
    fn pid(&self) -> Option<Pid> {
        self.process.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw)
    }

    /// Whether it has ended; what has not within `limit` is killed.
    async fn end(&mut self, limit: Duration) -> bool {
        if timeout(limit, self.process.wait()).await.is_ok() {
            return true;
        }
        if let Some(pid) = self.pid() {
            family::kill_all(pid);
        }
        timeout(KILL_LIMIT, self.process.wait()).await.is_ok()
    }

    fn last(&self) -> Last {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Display for Last {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no sign of it for {} s", self.at.elapsed().as_secs())?;
        match &self.sign.client {
            Some((name, since)) => write!(f, ", serving {name} since {}", clock(*since)),
            None => Ok(()),
        }
    }
}

impl Sign {
    /// How long the next one may be awaited: an agent that is silent for its lease has no session any more.
    fn patience(&self) -> Duration {
        self.lease.max(SILENCE)
    }
}

/// Takes signs until there are no more, and kills the agent where they stay away.
async fn watch(
    mut output: BufReader<ChildStdout>,
    last: Arc<Lock<Last>>,
    (guests, socket, log): (Arc<Mutex<Option<Guest>>>, PathBuf, Log),
) {
    loop {
        let patience = last.lock().unwrap_or_else(PoisonError::into_inner).sign.patience();
        let mut next = std::pin::pin!(next_line(&mut output));
        let heard = match timeout(patience, &mut next).await {
            // It may be we who stood still, and the agent with us.
            Err(_) => timeout(SECOND_LOOK, &mut next).await,
            heard => heard,
        };
        let line = match heard {
            Ok(Ok(Some(line))) => line,
            // It has ended.
            Ok(_) => return,
            Err(_) => break,
        };
        if let Ok(sign) = line.parse() {
            *last.lock().unwrap_or_else(PoisonError::into_inner) = Last { sign, at: Instant::now() };
        }
    }
    let mut guest = guests.lock().await;
    if let Some(guest) = guest.as_mut().filter(|guest| Arc::ptr_eq(&guest.last, &last)) {
        let pid = guest.process.id().unwrap_or_default();
        log.say(&format_args!("the agent (process {pid}) hangs and is killed with its workers: {}", guest.last()));
        let session = guest.last().sign.session;
        // One that never gave a sign has no session that anybody could ask for.
        if !session.is_empty() {
            let why = format!("its agent (process {pid}) hung, and was killed when its lease was over");
            meeting::bury(&socket, &session, &why);
        }
        guest.end(Duration::ZERO).await;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use tokio::net::UnixListener;

    /// What is said of whatever is at the socket already.
    async fn said(socket: PathBuf) -> String {
        let house = House::new(PathBuf::from("/bin/false"), Vec::new(), socket, Log::to(io::sink()).unwrap());
        house.connect().await.err().unwrap()
    }

    #[tokio::test]
    async fn an_agent_of_another_listener_that_hangs_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("agent.sock");
        // The kernel takes connections, and nobody else does.
        let _listener = UnixListener::bind(&socket).unwrap();
        let pid = std::process::id();
        let text =
            format!("the agent here (process {pid}), one of a listener before this, hangs; end it: kill -9 {pid}");
        assert_eq!(said(socket).await, text);
    }

    #[tokio::test]
    async fn an_agent_that_goes_whenever_somebody_comes_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("agent.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let closing = tokio::spawn(async move { while listener.accept().await.is_ok() {} });
        assert_eq!(said(socket).await, "the agent here ended when it was connected to; its log says why");
        closing.abort();
    }

    #[tokio::test]
    async fn an_agent_that_cannot_be_started_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let text = "the agent cannot be started here: it ended before it was ready (exit status 1); see its log";
        assert_eq!(said(folder.path().join("agent.sock")).await, text);
    }
}
