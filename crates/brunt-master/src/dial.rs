//! Ways to an agent: each can be gone more than once.
//!
//! A dial gives a byte stream on which the agent speaks gRPC. The first time it starts the agent; after a lost
//! connection it leads to the agent that is there. What carries the stream (a child process: the agent itself, or
//! `ssh`) goes with it.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;

use tokio::process::Child;
use tokio::sync::mpsc;
use tonic::transport::Channel;

/// What a connection is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purpose {
    /// To begin: the agent is started.
    Begin,
    /// To go on: the agent has the session of this token.
    Attach {
        /// As `HelloReply` gave it.
        token: String,
    },
}

/// A connection.
#[derive(Debug)]
pub struct Dialed {
    /// The protocol.
    pub channel: Channel,
    /// The process that carries it, killed when dropped; `None` for a connection of this process.
    pub carrier: Option<Child>,
}

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DialError {
    /// It is of no use to try again: a wrong key, no such user, another version.
    #[error("{0}")]
    Never(String),
    /// It may go later: the network is down, the host is busy.
    #[error("{0}")]
    NotNow(String),
}

/// A dialing that is under way.
pub type Dialing<'a> = Pin<Box<dyn Future<Output = Result<Dialed, DialError>> + Send + 'a>>;

/// The end of an agent, which is awaited.
pub type Ending<'a> = Pin<Box<dyn Future<Output = Option<String>> + Send + 'a>>;

/// A way to one host's agent.
pub trait Dial: Debug + Send + Sync {
    /// Connects. Lines that are not of the protocol go to `log`: chatter of a login, standard error.
    fn dial(&self, purpose: Purpose, log: mpsc::Sender<String>) -> Dialing<'_>;

    /// How this way is called in messages: `ssh user@host`, `this machine`, `host:port`.
    fn name(&self) -> String;

    /// Waits until the agent that was begun has ended, and says how; `None` at once where that cannot be seen from
    /// here.
    fn agent_ended(&self) -> Ending<'_> {
        Box::pin(std::future::ready(None))
    }

    /// Gives the agent up: it is killed where that can be done from here. Elsewhere its lease ends it.
    fn abandon(&self) {}
}
