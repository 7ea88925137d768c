//! The agent behind an agent that listens: a process, started when somebody comes, which ends with its session.

use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use brunt_proto::stdio::{START_LIMIT, ended, new_marker, skip_to_marker};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::BufReader;
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::sync::{Mutex, mpsc};
use tokio::time::timeout;

/// Time an agent has to end.
const END_LIMIT: Duration = Duration::from_secs(20);

/// Where the agent is.
#[derive(Debug)]
pub struct House {
    program: PathBuf,
    cores: Vec<usize>,
    socket: PathBuf,
    agent: Mutex<Option<Child>>,
}

impl House {
    /// Its agents are `program agent --socket SOCKET`.
    pub fn new(program: PathBuf, cores: Vec<usize>, socket: PathBuf) -> Self {
        Self { program, cores, socket, agent: Mutex::new(None) }
    }

    /// Connects to the agent that is there, else to a new one. One that is about to end is waited for.
    pub async fn connect(&self) -> io::Result<UnixStream> {
        let mut agent = self.agent.lock().await;
        // It may be that of a listener before this one, which was killed in the midst of a session.
        if let Ok(stream) = UnixStream::connect(&self.socket).await {
            return Ok(stream);
        }
        if let Some(mut old) = agent.take()
            && timeout(END_LIMIT, old.wait()).await.is_err()
        {
            old.kill().await?;
        }
        *agent = Some(self.start().await?);
        UnixStream::connect(&self.socket).await
    }

    async fn start(&self) -> io::Result<Child> {
        let marker = new_marker();
        let mut command = Command::new(&self.program);
        command.args(["agent", "--socket"]).arg(&self.socket).args(["--marker", &marker]);
        if !self.cores.is_empty() {
            let cores: Vec<String> = self.cores.iter().map(ToString::to_string).collect();
            command.args(["--cores", &cores.join(",")]);
        }
        // Its standard input tells it that this process lives, and its standard error is the log of both.
        let mut agent = command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0).spawn()?;
        let output = agent.stdout.take().ok_or_else(|| io::Error::other("it has no standard output"))?;
        // Nobody takes what comes before.
        let (chatter, _) = mpsc::channel(1);
        let ready = async { skip_to_marker(&mut BufReader::new(output), &marker, &chatter).await };
        match timeout(START_LIMIT, ready).await {
            Ok(Ok(true)) => Ok(agent),
            Ok(_) => {
                let how = ended(agent.wait().await);
                Err(io::Error::other(format!("the agent ended before it was ready ({how})")))
            }
            Err(_) => {
                agent.kill().await?;
                Err(io::Error::other(format!("the agent was not ready after {} s", START_LIMIT.as_secs())))
            }
        }
    }

    /// Ends the agent in order.
    pub async fn end(&self) {
        let Some(mut agent) = self.agent.lock().await.take() else { return };
        if let Some(pid) = agent.id().and_then(|id| i32::try_from(id).ok()) {
            // It may have ended in this moment.
            let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        }
        if timeout(END_LIMIT, agent.wait()).await.is_err() {
            let _ = agent.kill().await;
        }
    }
}
