//! The agent: one gRPC service on the standard streams of this process, for one client.
//!
//! `brunt agent --stdio` serves the master, `brunt worker --stdio` serves an agent with several workers;
//! they are the same but for the number of workers. The process lives as long as its stream: when that
//! ends, work stops at once and [`serve_stdio`] returns, after which the process must exit.

mod cgroup;
mod cores;
mod cpu;
mod drain;
mod host;
mod latency;
mod limits;
mod needs;
mod options;
mod own;
mod process;
mod relay;
mod service;
mod stdio;
mod team;
mod thread;
mod witness;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use brunt_proto::v1::agent_server::AgentServer;
use brunt_proto::{MAX_MESSAGE, stdio::marker_line};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio_stream::StreamExt;
use tonic::transport::Server;

pub use options::{AgentOptions, OptionsError};

use crate::control;
use crate::engine::WorkEngine;
use crate::engine_link::LaneEngine;
use relay::Relay;
use service::AgentService;

/// Time that work has to drain when the agent ends.
const DRAIN_LIMIT: Duration = Duration::from_secs(5);

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
    #[error("the connection failed: {0}")]
    Connection(#[from] tonic::transport::Error),
    /// The stream ended before the client said that it was done.
    #[error("the master is gone; all work was stopped")]
    Lost,
}

/// [`serve_stdio`] on a runtime of its own, for the program's `main`: leaves the process as it should be left.
///
/// # Errors
/// See [`AgentError`].
pub fn run(options: AgentOptions) -> Result<(), AgentError> {
    let runtime = control::runtime().map_err(AgentError::Start)?;
    control::come_first();
    let served = runtime.block_on(serve_stdio(options));
    // Nothing that hangs may keep the process.
    runtime.shutdown_background();
    served
}

/// Serves one client over standard input and output until it says goodbye or is gone. All work has been
/// stopped when this returns. The caller then leaves the process: an I/O that never returns may still be out.
///
/// # Errors
/// See [`AgentError`].
pub async fn serve_stdio(options: AgentOptions) -> Result<(), AgentError> {
    let engine = Arc::new(LaneEngine::default());
    serve_stdio_with(options, engine).await
}

/// [`serve_stdio`] with another engine.
///
/// # Errors
/// See [`AgentError`].
pub async fn serve_stdio_with(options: AgentOptions, engine: Arc<dyn WorkEngine>) -> Result<(), AgentError> {
    own_process_group();
    limits::raise();
    // A handler that does nothing, and that is not inherited by hooks: a hang-up alone ends no run.
    let _ = signal(SignalKind::hangup()).map_err(AgentError::Start)?;
    // Likewise for a file beyond `ulimit -f`: the write then fails with EFBIG and is reported as any other.
    let too_large = SignalKind::from_raw(nix::sys::signal::Signal::SIGXFSZ as i32);
    let _ = signal(too_large).map_err(AgentError::Start)?;
    let (ended, mut end) = watch::channel(false);
    let ended = Arc::new(ended);
    let stream = stdio::take(&marker_line(&options.marker), Arc::clone(&ended)).map_err(AgentError::Stdio)?;
    let keepalive = options.keepalive;
    let (relay, outgoing) = Relay::new();
    let service = Arc::new(AgentService::new(options, engine, relay, outgoing, ended));
    let server = AgentServer::from_arc(Arc::clone(&service))
        .max_decoding_message_size(MAX_MESSAGE)
        .max_encoding_message_size(MAX_MESSAGE);
    // One connection, and no end of the list: the list's end would end the server before its connection.
    let incoming = tokio_stream::once(Ok::<_, io::Error>(stream)).chain(tokio_stream::pending());
    let served = Server::builder()
        .http2_keepalive_interval(Some(keepalive.interval))
        .http2_keepalive_timeout(Some(keepalive.timeout))
        .initial_stream_window_size(1 << 20)
        .initial_connection_window_size(4 << 20)
        .add_service(server)
        .serve_with_incoming_shutdown(incoming, async {
            // An error means that nobody is left to say it.
            let _ = end.wait_for(|over| *over).await;
        })
        .await;
    // Work first, whatever the reason.
    let asked = service.asked_to_end();
    service.end_work(DRAIN_LIMIT).await;
    served?;
    if asked { Ok(()) } else { Err(AgentError::Lost) }
}

/// Leaves the process group of whoever started this, so that Ctrl-C reaches the agent through the master
/// only. A session leader (under sshd) has its own already.
fn own_process_group() {
    let own = nix::unistd::Pid::from_raw(0);
    if let Err(errno) = nix::unistd::setpgid(own, own) {
        tracing::debug!(%errno, "the process group stays");
    }
}
