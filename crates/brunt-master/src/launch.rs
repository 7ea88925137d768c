//! Starting agents.

use std::path::Path;

use brunt_proto::stdio::{Keepalive, StartError, start};
use tokio::sync::mpsc;

use crate::grpc::GrpcLink;
use crate::link::LinkEvent;

/// Lines of an agent that may wait for the master before the agent waits.
const LINES: usize = 256;

/// Why an agent could not be started.
#[derive(Debug, thiserror::Error)]
#[error("the agent of host {label} cannot be started: {source}")]
pub struct LaunchError {
    /// Label of the host.
    pub label: String,
    /// Why.
    pub source: StartError,
}

/// Starts an agent as a child of this process: `program agent --stdio --label L --workers N [--cores LIST] --marker
/// HEX`, with the protocol on its standard input and output. It is killed when the link is dropped.
///
/// `host` is the number that goes with every event, `cores` a list (`0-3,8`) where its workers shall stay.
///
/// # Errors
/// The program cannot be run, or ends, or is silent before it is ready. Nothing is left behind then.
pub async fn local(
    program: &Path,
    host: usize,
    label: &str,
    workers: u32,
    cores: Option<&str>,
    events: mpsc::Sender<(usize, LinkEvent)>,
) -> Result<GrpcLink, LaunchError> {
    let workers = workers.to_string();
    let mut arguments = vec!["agent", "--stdio", "--label", label, "--workers", &workers];
    arguments.extend(cores.iter().flat_map(|list| ["--cores", list]));
    let (log, lines) = mpsc::channel(LINES);
    let link = GrpcLink::prepare(host, label, lines, events);
    match start(program, arguments, Keepalive::default(), log).await {
        Ok(started) => Ok(link.connect(started)),
        Err(source) => Err(LaunchError { label: label.to_owned(), source }),
    }
}
