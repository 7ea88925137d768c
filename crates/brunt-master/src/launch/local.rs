//! Agents on this machine: a child process, with the protocol on its standard input and output.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use brunt_proto::stdio::{self, Keepalive, StartError};
use tokio::process::Child;
use tokio::sync::{mpsc, oneshot, watch};

use crate::dial::{Dial, DialError, Dialed, Dialing, Ending, Purpose};

/// A way to an agent of this machine: `program agent --stdio --label L --workers N [--cores LIST]` begins, `program
/// agent --attach` goes on. The agent is killed when this is dropped.
#[derive(Debug)]
pub struct LocalDial {
    program: PathBuf,
    arguments: Vec<String>,
    keepalive: Keepalive,
    agent: Mutex<Option<Agent>>,
}

/// The process of the agent. A task of its own waits for it.
#[derive(Debug)]
struct Agent {
    /// Kills it when dropped.
    leash: Option<oneshot::Sender<()>>,
    /// How it ended, once it has.
    ended: watch::Receiver<Option<String>>,
}

impl LocalDial {
    /// A way to an agent with so many workers, which stay on `cores` (the list of [`super::cores`]).
    pub fn new(program: &Path, label: &str, workers: u32, cores: Option<&str>) -> Self {
        let workers = workers.to_string();
        let mut arguments = vec!["agent", "--stdio", "--label", label, "--workers", &workers];
        arguments.extend(cores.iter().flat_map(|list| ["--cores", list]));
        let arguments = arguments.into_iter().map(str::to_owned).collect();
        Self { program: program.to_owned(), arguments, keepalive: Keepalive::default(), agent: Mutex::new(None) }
    }

    /// With other probes on a silent connection.
    #[must_use]
    pub fn keepalive(self, keepalive: Keepalive) -> Self {
        Self { keepalive, ..self }
    }

    async fn begin(&self, log: mpsc::Sender<String>) -> Result<Dialed, DialError> {
        let started = stdio::start(&self.program, &self.arguments, self.keepalive, log).await.map_err(dial_error)?;
        let agent = Agent::watched(started.child);
        *self.agent.lock().unwrap_or_else(PoisonError::into_inner) = Some(agent);
        // The agent outlives its first connection, which carries itself.
        Ok(Dialed { channel: started.channel, carrier: None })
    }

    async fn attach(&self, token: &str, log: mpsc::Sender<String>) -> Result<Dialed, DialError> {
        if let Some(how) = self.end() {
            return Err(DialError::Never(format!("the agent has ended ({how})")));
        }
        let attached = stdio::start_with(&self.program, ["agent", "--attach"], token, self.keepalive, log).await;
        match attached {
            Ok(started) => Ok(Dialed { channel: started.channel, carrier: Some(started.child) }),
            Err(error) => match self.end() {
                Some(how) => Err(DialError::Never(format!("the agent has ended ({how})"))),
                // Another process began it: what is not there will not come.
                None if self.watched().is_none() => Err(dial_error(error)),
                None => Err(DialError::NotNow(error.to_string())),
            },
        }
    }

    fn watched(&self) -> Option<watch::Receiver<Option<String>>> {
        self.agent.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|agent| agent.ended.clone())
    }

    /// How the agent ended, if it has.
    fn end(&self) -> Option<String> {
        self.watched().and_then(|ended| ended.borrow().clone())
    }
}

impl Agent {
    fn watched(mut child: Child) -> Self {
        let (leash, dropped) = oneshot::channel();
        let (end, ended) = watch::channel(None);
        tokio::spawn(async move {
            let status = tokio::select! {
                status = child.wait() => status,
                _ = dropped => {
                    // It may have ended in this moment.
                    let _ = child.kill().await;
                    child.wait().await
                }
            };
            end.send_replace(Some(stdio::ended(status)));
        });
        Self { leash: Some(leash), ended }
    }
}

/// Only a busy machine is slow to start a program.
fn dial_error(error: StartError) -> DialError {
    match error {
        StartError::Silent { .. } => DialError::NotNow(error.to_string()),
        _ => DialError::Never(error.to_string()),
    }
}

impl Dial for LocalDial {
    fn dial(&self, purpose: Purpose, log: mpsc::Sender<String>) -> Dialing<'_> {
        Box::pin(async move {
            match purpose {
                Purpose::Begin => self.begin(log).await,
                Purpose::Attach { token } => self.attach(&token, log).await,
            }
        })
    }

    fn name(&self) -> String {
        "this machine".to_owned()
    }

    fn agent_ended(&self) -> Ending<'_> {
        Box::pin(async move {
            let mut ended = self.watched()?;
            match ended.wait_for(Option::is_some).await {
                Ok(how) => how.clone(),
                // The task went with its runtime, and the process with it.
                Err(_) => None,
            }
        })
    }

    fn abandon(&self) {
        if let Some(agent) = self.agent.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            agent.leash = None;
        }
    }
}
