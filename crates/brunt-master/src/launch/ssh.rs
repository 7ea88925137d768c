//! Hosts that are reached over SSH: one process of the system's OpenSSH per host and connection, so that the user's
//! configuration, keys, jump hosts, aliases and known hosts count, and nothing is left behind.
//!
//! On the host a script ([`script`]) finds a copy of the program or receives one, and becomes the agent, whose protocol
//! then has the same standard streams. Nothing listens anywhere.

mod command;
mod script;
mod talk;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
mod trouble;

use std::sync::Arc;
use std::time::Duration;

use brunt_plan::plan::Host;
use brunt_proto::stdio::{Keepalive, channel, new_marker};
use tokio::process::Child;
use tokio::sync::mpsc;

use super::payload::Payload;
use crate::dial::{Dial, DialError, Dialed, Dialing, Purpose};
use script::Script;
use talk::{Errors, Talk};
use trouble::{Stop, Trouble};

/// Time for the rest of a connection that is over: its exit status, its last words.
const REST_LIMIT: Duration = Duration::from_secs(3);

/// A host and what its agent is to be like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshHost {
    /// Label, which the agent gets.
    pub label: String,
    /// What ssh is told: a name, an address or an alias of its configuration.
    pub system: String,
    /// User there; `None`: as ssh is configured.
    pub user: Option<String>,
    /// Folder there with a program to use, if it has one.
    pub install_dir: Option<String>,
    /// Number of workers.
    pub workers: u32,
    /// Cores for them, as [`super::cores`] lists them.
    pub cores: Option<String>,
    /// What goes before the agent's command: `misc=(become="sudo -n")`, in words.
    pub privileges: Vec<String>,
}

impl SshHost {
    /// A host of the plan.
    pub fn of(host: &Host, cores: Option<&str>, privileges: &[String]) -> Self {
        Self {
            label: host.label.clone(),
            system: host.system.clone(),
            user: host.user.clone(),
            install_dir: host.install_dir.clone(),
            workers: host.workers,
            cores: cores.map(str::to_owned),
            privileges: privileges.to_owned(),
        }
    }

    /// How the host is called in messages.
    fn name(&self) -> String {
        match &self.user {
            Some(user) => format!("ssh {user}@{}", self.system),
            None => format!("ssh {}", self.system),
        }
    }

    /// The agent's arguments. The token is not among them: whoever lists processes would see it.
    fn arguments(&self, purpose: &Purpose, marker: &str) -> Vec<String> {
        let mut words = match purpose {
            Purpose::Begin => {
                let mut words = ["agent", "--stdio", "--label", &self.label].map(str::to_owned).to_vec();
                words.extend(["--workers".to_owned(), self.workers.to_string()]);
                words.extend(self.cores.iter().flat_map(|cores| ["--cores".to_owned(), cores.clone()]));
                words
            }
            Purpose::Attach { .. } => vec!["agent".to_owned(), "--attach".to_owned()],
        };
        words.extend(["--marker".to_owned(), marker.to_owned()]);
        words
    }
}

/// The way to the agent of a host over SSH.
#[derive(Debug)]
pub struct SshDial {
    host: SshHost,
    payload: Arc<Payload>,
    /// The program and its first options.
    client: Vec<String>,
    /// Where the folders of the system are looked for on the host: empty, but in tests.
    top: String,
}

/// What carries a connection.
struct Carrier {
    child: Child,
    errors: Errors,
    talk: Talk,
}

impl SshDial {
    /// A way with the ssh that the environment variable `BRUNT_SSH` names with its options, else `ssh`.
    pub fn new(host: SshHost, payload: Arc<Payload>) -> Self {
        let client = command::client(std::env::var("BRUNT_SSH").ok().as_deref());
        Self { host, payload, client, top: String::new() }
    }

    /// With another ssh, named as in `BRUNT_SSH`.
    #[must_use]
    pub fn with_client(self, asked: &str) -> Self {
        Self { client: command::client(Some(asked)), ..self }
    }

    async fn connect(&self, purpose: Purpose, log: mpsc::Sender<String>) -> Result<Dialed, DialError> {
        let marker = new_marker();
        let arguments = self.host.arguments(&purpose, &marker);
        let script = Script {
            marker: &marker,
            folder: self.host.install_dir.as_deref(),
            offers: self.payload.offers(),
            privileges: &self.host.privileges,
            arguments: &arguments,
            top: &self.top,
        };
        let mut carrier = self.start(&marker, &purpose, log)?;
        match converse(&mut carrier.talk, &script.text(), &self.payload, &purpose).await {
            Ok(()) => {
                let stream = carrier.talk.into_stream();
                match channel(stream, Keepalive::default()).await {
                    Ok(channel) => Ok(Dialed { channel, carrier: Some(carrier.child) }),
                    Err(error) => Err(trouble::no_protocol(&self.name(), &error)),
                }
            }
            Err(stop) => Err(self.trouble(stop, carrier, matches!(purpose, Purpose::Attach { .. })).await),
        }
    }

    /// Starts ssh in a process group of its own, so that Ctrl-C does not reach it.
    fn start(&self, marker: &str, purpose: &Purpose, log: mpsc::Sender<String>) -> Result<Carrier, DialError> {
        let program = self.client.first().map_or("ssh", String::as_str);
        let failed = |error: std::io::Error| trouble::cannot_run(&self.name(), program, &error);
        let mut child = command::command(&self.client, &self.host, purpose).spawn().map_err(failed)?;
        let (Some(input), Some(output), Some(errors)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(failed(std::io::Error::other("it has no standard streams")));
        };
        let errors = Errors::follow(errors, log.clone());
        Ok(Carrier { child, errors, talk: Talk::new(input, output, marker, log) })
    }

    /// Why there is no connection, from everything that was said and how ssh ended.
    async fn trouble(&self, stop: Stop, carrier: Carrier, attach: bool) -> DialError {
        let Carrier { mut child, errors, talk } = carrier;
        let heard = talk.into_heard();
        let how = match &stop {
            // What does not answer is not waited for.
            Stop::Silent(_) => None,
            _ => tokio::time::timeout(REST_LIMIT, child.wait()).await.ok().and_then(Result::ok),
        };
        if how.is_none() {
            // It may end in this moment.
            let _ = child.kill().await;
        }
        let said = errors.all(REST_LIMIT).await;
        Trouble { name: self.name(), host: &self.host, payload: &self.payload, attach, stop, how, said, heard }
            .explain()
    }
}

/// From a started ssh to the marker of the agent.
async fn converse(talk: &mut Talk, script: &str, payload: &Payload, purpose: &Purpose) -> Result<(), Stop> {
    talk.boot(script, payload).await?;
    if let Purpose::Attach { token } = purpose {
        talk.send(format!("{token}\n").as_bytes()).await?;
    }
    talk.skip_to_stream().await
}

impl Dial for SshDial {
    fn dial(&self, purpose: Purpose, log: mpsc::Sender<String>) -> Dialing<'_> {
        Box::pin(self.connect(purpose, log))
    }

    fn name(&self) -> String {
        self.host.name()
    }
}
