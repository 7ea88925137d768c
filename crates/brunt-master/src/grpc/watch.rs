//! The life of an agent process: its events, and how it ends.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use brunt_proto::{Report, stdio, v1};
use tokio::process::Child;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tonic::Streaming;

use crate::link::LinkEvent;

/// Time for the other half of an end: the process after its stream, or what is left in the stream after
/// the process.
const REST_LIMIT: Duration = Duration::from_secs(3);

/// Whether the end of the agent is wanted.
pub(super) type Ending = Arc<AtomicBool>;

/// Why no more events come, in words behind the name of the agent.
enum Break {
    /// The stream ended; the process most likely did.
    Ended(String),
    /// This side ends it.
    Unwanted(String),
}

/// Carries events to the master.
pub(super) struct Watch {
    pub host: usize,
    pub label: String,
    pub events: mpsc::Sender<(usize, LinkEvent)>,
    pub ending: Ending,
}

impl Watch {
    /// Runs until the agent has ended or its stream is broken, whatever comes first, and makes sure of the
    /// other. A lost peer shows as an error, as a clean end of the stream, or as the end of the process.
    pub async fn run(
        self,
        mut child: Child,
        opened: oneshot::Receiver<Streaming<v1::WorkerMessage>>,
        log: JoinHandle<()>,
    ) {
        let how = self.course(&mut child, opened).await;
        // What it leaves running may keep its standard error open.
        let _ = tokio::time::timeout(REST_LIMIT, log).await;
        if !self.ending.load(Ordering::Relaxed) {
            let text = format!("the agent of host {} {how}", self.label);
            // Nobody listens: the master is at its end.
            let _ = self.events.send((self.host, LinkEvent::Lost(text))).await;
        }
    }

    /// Waits for the end, and says how it came in words behind the name of the agent.
    async fn course(&self, child: &mut Child, opened: oneshot::Receiver<Streaming<v1::WorkerMessage>>) -> String {
        let stream = async {
            match opened.await {
                Ok(stream) => stream,
                // The link was dropped before its hello, and this task goes with it.
                Err(_) => pending().await,
            }
        };
        let carry = tokio::select! {
            stream = stream => self.carry(stream),
            status = child.wait() => return ended(status),
        };
        tokio::pin!(carry);
        let reason = tokio::select! {
            reason = &mut carry => reason,
            status = child.wait() => {
                let _ = tokio::time::timeout(REST_LIMIT, carry).await;
                return ended(status);
            }
        };
        let patience = if matches!(reason, Break::Ended(_)) { REST_LIMIT } else { Duration::ZERO };
        match tokio::time::timeout(patience, child.wait()).await {
            Ok(status) => ended(status),
            Err(_) => {
                // It ends in this moment, or now.
                let _ = child.kill().await;
                match reason {
                    Break::Ended(text) | Break::Unwanted(text) => text,
                }
            }
        }
    }

    /// Hands events over until the stream ends, and says why it did.
    async fn carry(&self, mut stream: Streaming<v1::WorkerMessage>) -> Break {
        loop {
            let message = match stream.message().await {
                Ok(Some(message)) => message,
                Ok(None) => return Break::Ended("has closed its stream".to_owned()),
                Err(status) => return Break::Ended(format!("does not answer any more ({})", status.message())),
            };
            let event = match <(u32, Report)>::try_from(message) {
                Ok((worker, Report::Event(event))) => LinkEvent::Worker { worker, event },
                Ok((worker, Report::Stderr(line))) => LinkEvent::Stderr { worker, line },
                Ok((_, Report::Devices(devices))) => LinkEvent::Devices(devices),
                Err(error) => return Break::Unwanted(format!("sent what cannot be understood: {error}")),
            };
            if self.events.send((self.host, event)).await.is_err() {
                return Break::Unwanted("is not wanted any more".to_owned());
            }
        }
    }
}

fn ended(status: std::io::Result<std::process::ExitStatus>) -> String {
    format!("has ended ({})", stdio::ended(status))
}
