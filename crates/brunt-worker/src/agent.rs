//! The agent: one gRPC service for one client, over the standard streams of this process first.
//!
//! `brunt agent --stdio` serves the master, `brunt worker --stdio` serves an agent with several workers; they are the
//! same but for the number of workers and the lease. The session ([`session`]) may outlive its connection: then work
//! goes on for the lease ([`lease`]), what is reported is kept ([`ring`]), and a socket waits for the next connection,
//! to which `brunt agent --attach` is the bridge. `brunt agent --listen` takes connections from the network and passes
//! them on to an agent of its own.
//! When the session ends, work stops at once and [`serve`] returns, after which the process must exit.

mod attach;
mod calls;
mod cgroup;
mod connection;
mod cores;
mod cpu;
mod desk;
mod drain;
mod host;
mod latency;
pub mod lease;
mod limits;
mod listen;
mod marks;
mod meeting;
mod needs;
mod options;
mod outbox;
mod own;
mod process;
mod pulse;
mod relay;
mod repeat;
pub mod ring;
mod service;
pub mod session;
mod sights;
mod sign;
mod stdio;
mod team;
mod thread;
mod witness;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use brunt_proto::v1::agent_server::AgentServer;
use brunt_proto::{MAX_MESSAGE, stdio::marker_line};
use nix::unistd::{Pid, getpgid, getpgrp, getppid, getsid, setpgid, setsid};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::transport::Server;

pub use connection::Bytes;
pub use listen::{Accept, Accepting, ListenError, ListenOptions};
pub use meeting::{Missing, new_token};
pub use options::{AgentCommand, AgentOptions, OptionsError};

use crate::control;
use crate::engine::WorkEngine;
use crate::engine_link::LaneEngine;
use calls::Calls;
use connection::{Connections, Ends};
use desk::{Desk, Streams};
use outbox::Outbox;
use relay::Relay;
use service::AgentService;
use session::Ended;

/// Time that work has to drain when the agent ends.
const DRAIN_LIMIT: Duration = Duration::from_secs(5);

/// Time the last messages have to leave.
const GOODBYE_LIMIT: Duration = Duration::from_secs(5);

/// Why an agent ended.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Standard input or output cannot carry the protocol.
    #[error("standard input and output must be pipes or sockets: {0}")]
    Stdio(#[source] io::Error),
    /// The system refused something else.
    #[error("the agent cannot start: {0}")]
    Start(#[source] io::Error),
    /// The connection broke.
    #[error("the connection failed: {}", brunt_proto::why_broken(.0))]
    Connection(#[from] tonic::transport::Error),
    /// The stream ended before the client said that it was done, or nothing came for the lease.
    #[error("the master is gone; all work was stopped")]
    Lost,
    /// Somebody ended the agent.
    #[error("the agent was told to end; all work was stopped")]
    Terminated,
    /// The session that was to be joined is not here.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The address cannot be served.
    #[error(transparent)]
    Listen(#[from] ListenError),
}

/// Does what the command line says, with the product's engine, on a runtime of its own: for the program's `main`.
/// Leaves the process as it should be left.
///
/// # Errors
/// See [`AgentError`].
pub fn run(command: AgentCommand) -> Result<(), AgentError> {
    let runtime = control::runtime().map_err(AgentError::Start)?;
    control::come_first();
    let done = runtime.block_on(run_with(command, Arc::new(LaneEngine::default())));
    // Nothing that hangs may keep the process.
    runtime.shutdown_background();
    done
}

/// Does what the command line says, with that engine.
///
/// # Errors
/// See [`AgentError`].
pub async fn run_with(command: AgentCommand, engine: Arc<dyn WorkEngine>) -> Result<(), AgentError> {
    match command {
        AgentCommand::Serve(options) => serve(options, engine).await,
        AgentCommand::Attach { marker } => attach::bridge_stdio(&marker_line(&marker)).await,
        AgentCommand::Listen(options) => Ok(listen::run(options).await?),
    }
}

/// Serves one client until it says goodbye or is gone for longer than its lease. All work has been stopped when this
/// returns. The caller then leaves the process: an I/O that never returns may still be out.
///
/// # Errors
/// See [`AgentError`].
pub async fn serve(options: AgentOptions, engine: Arc<dyn WorkEngine>) -> Result<(), AgentError> {
    own_session();
    limits::raise();
    // A handler that does nothing, and that is not inherited by hooks: a hang-up alone ends no run.
    let _ = signal(SignalKind::hangup()).map_err(AgentError::Start)?;
    // Likewise for a file beyond `ulimit -f`: the write then fails with EFBIG and is reported as any other.
    let too_large = SignalKind::from_raw(nix::sys::signal::Signal::SIGXFSZ as i32);
    let _ = signal(too_large).map_err(AgentError::Start)?;

    let (connections, Ends { incoming, ended }) = Connections::new();
    let outbox = Outbox::default();
    let streams = if options.socket.is_some() { Streams::Listener } else { Streams::Client };
    let token = new_token().map_err(AgentError::Start)?;
    let desk = Arc::new(Desk::new(token, connections, outbox.clone(), streams));
    open(&options, &desk)?;
    let keepalive = options.keepalive;
    let (calls, service) = behind(&desk, outbox, options, engine);
    let server =
        AgentServer::new(service).max_decoding_message_size(MAX_MESSAGE).max_encoding_message_size(MAX_MESSAGE);
    let end = Arc::clone(&desk);
    let serving = Server::builder()
        .http2_keepalive_interval(Some(keepalive.interval))
        .http2_keepalive_timeout(Some(keepalive.timeout))
        .initial_stream_window_size(1 << 20)
        .initial_connection_window_size(4 << 20)
        .add_service(server)
        .serve_with_incoming_shutdown(UnboundedReceiverStream::new(incoming), async move { end.wait_for_end().await });
    let serving = tokio::spawn(serving);

    let why = live(&desk, &calls, ended).await.map_err(AgentError::Start)?;
    goodbye(serving, &desk).await?;
    match why {
        Ended::Asked => Ok(()),
        Ended::Lease(_) => Err(AgentError::Lost),
        Ended::Terminated => Err(AgentError::Terminated),
    }
}

/// What stands behind a desk: the calls, and the service that makes them.
fn behind(
    desk: &Arc<Desk>,
    outbox: Outbox,
    options: AgentOptions,
    engine: Arc<dyn WorkEngine>,
) -> (Arc<Calls>, AgentService) {
    let relay = Relay::new(outbox.clone(), {
        let desk = Arc::clone(desk);
        move || desk.run_over()
    });
    let calls = Arc::new(Calls::new(options, engine, Arc::clone(desk), relay));
    let service = AgentService::new(Arc::clone(&calls), Arc::clone(desk), outbox);
    (calls, service)
}

/// Keeps the session until it ends, then ends all work, whatever the reason, and closes the desk.
async fn live(desk: &Desk, calls: &Calls, ended: mpsc::UnboundedReceiver<u64>) -> io::Result<Ended> {
    let why = desk.keep(ended).await?;
    if why == Ended::Terminated {
        // What is stopped now looks like an orderly end to a client that has not asked for it.
        calls.cannot_go_on("the agent was told to end (SIGTERM)");
    }
    calls.end_work().await;
    desk.close(&why, matches!(why, Ended::Lease(_)));
    Ok(why)
}

/// Takes the standard streams, and lets clients come.
fn open(options: &AgentOptions, desk: &Arc<Desk>) -> Result<(), AgentError> {
    let (input, output) = stdio::take().map_err(AgentError::Stdio)?;
    let marker = marker_line(&options.marker);
    let Some(socket) = options.socket.clone() else {
        let (input, output) = stdio::open(input, output, &marker).map_err(AgentError::Stdio)?;
        desk.receive(tokio::io::join(input, output));
        return Ok(());
    };
    let lives = stdio::reader(input).map_err(AgentError::Stdio)?;
    desk.listen_at(socket, lives).map_err(AgentError::Start)?;
    let desk = Arc::clone(desk);
    sign::give(output, &marker, move || desk.sign()).map_err(AgentError::Stdio)
}

/// Waits until the last messages have left, for some time.
async fn goodbye(mut serving: JoinHandle<Result<(), tonic::transport::Error>>, desk: &Desk) -> Result<(), AgentError> {
    match tokio::time::timeout(GOODBYE_LIMIT, &mut serving).await {
        Ok(Ok(served)) => Ok(served?),
        // It was aborted, which nobody does.
        Ok(Err(error)) => Err(AgentError::Start(io::Error::other(error))),
        Err(_) => {
            desk.cut_all();
            serving.abort();
            Ok(())
        }
    }
}

/// Leaves the session and the process group of whoever started this, so that neither Ctrl-C nor a hang-up of a
/// terminal reaches the agent but through the master.
fn own_session() {
    let own = Pid::from_raw(0);
    if getsid(None).is_ok_and(|session| session == Pid::this()) {
        return;
    }
    if getpgrp() == Pid::this() {
        // The leader of a group cannot leave its session: first it goes back to the group of its parent.
        if let Ok(group) = getpgid(Some(getppid()))
            && let Err(errno) = setpgid(own, group)
        {
            tracing::debug!(%errno, "the process group stays");
        }
    }
    if let Err(errno) = setsid() {
        tracing::debug!(%errno, "the session stays");
        // A group of its own, at least.
        let _ = setpgid(own, own);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod simulation;
