//! One host as the master sees it: a few calls, and a stream of what happens there.
//!
//! The real link is gRPC over the agent's byte stream; tests of the state machine use one in memory.

use std::future::Future;
use std::time::Duration;

use brunt_plan::work::{DeviceCounts, EngineSupport, LunFacts, LunQuery, WorkerEvent, WorkerShare};
use brunt_stats::OwnError;

/// What an agent says of itself when it is greeted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostHello {
    /// Version of its build.
    pub version: String,
    /// Host name there.
    pub host_name: String,
    /// Process number of each worker, in order.
    pub worker_pids: Vec<u32>,
    /// SHA-256 of its program, where that is none of those that this machine gives to its hosts.
    pub other_build: Option<String>,
}

/// What a host knows about the luns of the plan and about itself.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HostFacts {
    /// One per query, in order.
    pub luns: Vec<LunFacts>,
    /// Inventory as plain text, for `config.html`.
    pub inventory: String,
    /// Its back ends.
    pub engines: EngineSupport,
    /// What it adds to a measurement; `None` where no lun is real.
    pub own_error: Option<OwnError>,
    /// Names the running kernel ([`brunt_plan::work::HostTraits::machine`]).
    pub machine: Option<String>,
}

/// Result of a hook command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HookResult {
    /// Exit status; `None`: killed by a signal.
    pub status: Option<i32>,
    /// Standard output and error, in lines.
    pub lines: Vec<String>,
}

/// Something that happened on a host.
#[derive(Debug, Clone, PartialEq)]
pub enum LinkEvent {
    /// A worker reports.
    Worker {
        /// Number of the worker on its host.
        worker: u32,
        /// The run that it belongs to ([`WorkerShare::run_id`]), if to one.
        run: Option<u32>,
        /// What.
        event: WorkerEvent,
    },
    /// A line the agent or a worker wrote to its standard error.
    Stderr {
        /// Number of the worker on its host.
        worker: u32,
        /// The line.
        line: String,
    },
    /// What the host's kernel counted of the devices of a run. Comes right before the last worker has drained.
    Devices {
        /// As of a worker's event.
        run: Option<u32>,
        /// One each.
        devices: Vec<DeviceCounts>,
    },
    /// The connection is broken; the agent goes on alone, and the link tries to find it again. Comes once for each
    /// [`LinkEvent::Back`] or [`LinkEvent::Lost`] behind it.
    Away {
        /// What happened, in words behind the name of the agent.
        why: String,
        /// How long the agent goes on alone.
        lease: Duration,
    },
    /// The agent is there again. What it reported meanwhile follows.
    Back {
        /// How long nothing was heard of it.
        away: Duration,
    },
    /// Its wall clock differs from ours more than was said before. A label only.
    Clock {
        /// How far ahead of ours, milliseconds.
        ahead_ms: i64,
    },
    /// The agent has forgotten messages, since its memory for them was full.
    Gap {
        /// How many.
        messages: u64,
    },
    /// The link is broken and will not come back: a sentence.
    Lost(String),
}

/// A call that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// The agent answered with a reason (a sentence).
    #[error("{0}")]
    Refused(String),
    /// The agent did not answer.
    #[error("no answer from the agent: {0}")]
    Broken(String),
}

/// One host's agent. Events come through the channel that was given when the link was made, each
/// with the number of its host.
pub trait HostLink: Send + Sync {
    /// Greets the agent, which starts its workers, and compares versions.
    ///
    /// # Errors
    /// Another protocol version (naming both), or no answer.
    fn hello(&self) -> impl Future<Output = Result<HostHello, LinkError>> + Send;

    /// Asks about luns and the host. Writes nothing.
    ///
    /// # Errors
    /// No answer.
    fn inspect(&self, queries: Vec<LunQuery>) -> impl Future<Output = Result<HostFacts, LinkError>> + Send;

    /// Hands each worker its share (by worker number; `None`: nothing to do in this run). Luns are opened and
    /// memory is allocated before this returns.
    ///
    /// # Errors
    /// A lun that cannot be opened, or a share that cannot be run, in a sentence with the SD's name.
    fn prepare(&self, shares: Vec<Option<WorkerShare>>) -> impl Future<Output = Result<(), LinkError>> + Send;

    /// Connects to the agent of a session that another master began. What it reports comes again from where that one had
    /// confirmed it.
    ///
    /// # Errors
    /// It is gone, or cannot be reached.
    fn rejoin(&self) -> impl Future<Output = Result<(), LinkError>> + Send {
        async { Err(LinkError::Refused("nobody can go on with this session".to_owned())) }
    }

    /// A run goes on that was prepared with these shares by another master.
    fn take_up(&self, _shares: &[Option<WorkerShare>]) {}

    /// Measures round trips for the start to come, and gives the longest.
    ///
    /// # Errors
    /// No answer.
    fn measure(&self) -> impl Future<Output = Result<Duration, LinkError>> + Send {
        async { Ok(Duration::ZERO) }
    }

    /// Starts all prepared workers `delay` from now (the agent's clock takes over at the arrival of the call, half of
    /// the shortest round trip from here). Gives how far off that instant the last of them may
    /// begin: by how much it was late, as far as clocks can be compared over the way there.
    ///
    /// # Errors
    /// Not prepared, or no answer.
    fn start(&self, delay: Duration) -> impl Future<Output = Result<Duration, LinkError>> + Send;

    /// Ends the run early: after that interval (which still counts in full; the one in progress when it is already
    /// past), or at once with `None`. The last sample and [`WorkerEvent::Drained`] follow.
    ///
    /// # Errors
    /// No answer.
    fn stop(&self, after_interval: Option<u32>) -> impl Future<Output = Result<(), LinkError>> + Send;

    /// Lets workers in lockstep ([`WorkerShare::lockstep`]) begin an interval.
    ///
    /// # Errors
    /// No answer.
    fn grant(&self, interval: u32) -> impl Future<Output = Result<(), LinkError>> + Send;

    /// Starts no more I/O to an SD (its index in the plan), in the run that goes on and in later ones
    /// (`data_errors=remove_device`). I/Os in flight come back.
    ///
    /// # Errors
    /// No answer.
    fn drop_sd(&self, sd: u32) -> impl Future<Output = Result<(), LinkError>> + Send;

    /// Runs a command with `/bin/sh -c` on the host; after `limit` it is killed with what it has started.
    ///
    /// # Errors
    /// The command could not be started, or no answer.
    fn run_hook(
        &self,
        command: String,
        limit: Option<Duration>,
    ) -> impl Future<Output = Result<HookResult, LinkError>> + Send;

    /// Gives the agent up for good: it is told to end if it can be reached, nothing renews its lease, no event comes of
    /// it any more, and calls to it fail. Does not wait.
    fn abandon(&self);

    /// Ends workers and agent.
    ///
    /// # Errors
    /// No answer; the agent ends all the same when its stream closes.
    fn shutdown(&self) -> impl Future<Output = Result<(), LinkError>> + Send;
}
