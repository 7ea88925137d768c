//! A worker in a process of its own: the agent is its client as the master is the agent's.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use brunt_proto::bound::Bounded;
use brunt_proto::lease::ping_every;
use brunt_proto::stdio::{self, Keepalive};
use brunt_proto::v1::{self, agent_client::AgentClient, worker_message::Event};
use brunt_proto::{CallError, MAX_MESSAGE, PROTOCOL};
use tokio::process::Child;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tonic::transport::Channel;
use tonic::{Response, Status, Streaming};

use super::pulse::Pulse;
use super::relay::Relay;

/// Time a process has to end by itself after its stream has.
const END_LIMIT: Duration = Duration::from_secs(10);

/// How long a worker goes on in silence where a session ends with its connection: an agent that hangs keeps its
/// connections open. Some signs of life, since a host may be very busy.
const NO_LEASE: Duration = Duration::from_secs(6);

/// So long a worker that was told to stop at once may keep silent: one that has no processor time answers in a second
/// or two.
const STOP_SILENCE: Duration = Duration::from_secs(10);

/// The same where all is to end.
const END_SILENCE: Duration = Duration::from_secs(5);

/// The client's side of a worker process. Errors are sentences.
pub struct ProcessWorker {
    label: String,
    pid: u32,
    client: AgentClient<Channel>,
    /// Set when the end of the process is no surprise.
    ending: Arc<AtomicBool>,
    /// Set when the process has ended, which its events have told: what goes to all workers passes it by.
    gone: Arc<AtomicBool>,
    watcher: Mutex<Option<Watcher>>,
    /// How long the worker goes on in silence; see [`show_life`].
    lease: watch::Sender<Duration>,
    pulse: Arc<Pulse>,
}

/// The task that watches the process.
struct Watcher {
    task: JoinHandle<()>,
    /// Dropped when the process shall be killed.
    _alive: oneshot::Sender<()>,
}

/// How a worker process is started.
#[derive(Debug, Clone)]
pub struct ProcessOptions {
    /// Number on its host.
    pub number: u32,
    /// Label, `host-n`.
    pub label: String,
    /// Probes.
    pub keepalive: Keepalive,
}

impl ProcessWorker {
    /// Starts `program worker …`, greets it and opens its event stream.
    pub async fn start(program: PathBuf, options: ProcessOptions, relay: Relay) -> Result<Self, String> {
        let ProcessOptions { number, label, keepalive } = options;
        let arguments = vec!["worker".to_owned(), "--stdio".to_owned(), "--label".to_owned(), label.clone()];
        let (log, lines) = mpsc::channel(64);
        let log_end = tokio::spawn(forward_lines(number, lines, relay.clone()));
        let failed = |reason: String| format!("worker {label} cannot be started: {reason}");
        let started =
            stdio::start(&program, arguments, keepalive, log).await.map_err(|error| failed(error.to_string()))?;
        let mut client = AgentClient::new(started.channel)
            .max_decoding_message_size(MAX_MESSAGE)
            .max_encoding_message_size(MAX_MESSAGE);
        let hello = v1::HelloRequest {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..Default::default()
        };
        let reply = client.hello(hello).await.map_err(|status| failed(reason(status)))?.into_inner();
        let events = client.events(v1::EventsRequest { after: 0 }).await.map_err(|status| failed(reason(status)))?;
        let pid = reply.worker_pids.first().copied().ok_or_else(|| failed("it has no worker".to_owned()))?;

        let ending = Arc::new(AtomicBool::new(false));
        let (alive, dropped) = oneshot::channel();
        let gone = Arc::new(AtomicBool::new(false));
        let (is_ending, is_gone) = (Arc::clone(&ending), Arc::clone(&gone));
        let pulse = Arc::new(Pulse::default());
        let watch = Watch {
            number,
            label: label.clone(),
            pid,
            relay,
            ending: is_ending,
            gone: is_gone,
            pulse: Arc::clone(&pulse),
        };
        let watcher = tokio::spawn(watch.run(started.child, log_end, events.into_inner(), dropped));
        let watcher = Mutex::new(Some(Watcher { task: watcher, _alive: alive }));
        let (lease, in_force) = watch::channel(Duration::ZERO);
        tokio::spawn(show_life(client.clone(), in_force, Arc::clone(&pulse)));
        Ok(Self { label, pid, client, ending, gone, watcher, lease, pulse })
    }

    /// Process number.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Hands over a share with its cores. The worker stops and ends when this agent is silent for the lease, as it is
    /// when it hangs; without one, when it is silent for [`NO_LEASE`].
    pub async fn prepare(&self, slot: v1::WorkerSlot, lease: Duration) -> Result<(), String> {
        if slot.share.is_none() && self.is_gone() {
            return Ok(());
        }
        let lease = if lease.is_zero() { NO_LEASE } else { lease };
        self.pulse.work();
        self.lease.send_replace(lease);
        let lease_ms = u64::try_from(lease.as_millis()).unwrap_or(u64::MAX);
        let request = v1::PrepareRequest { workers: vec![slot], witness: false, lease_ms };
        let result = self.client.clone().prepare(request).await;
        result.map(drop).map_err(|status| self.failed(status))
    }

    /// Starts what is ready at an instant of `CLOCK_MONOTONIC`, nanoseconds. Gives when it begins, by the same clock; 0: it
    /// does not.
    pub async fn start_at(&self, run_id: u32, monotonic_ns: u64) -> Result<u64, String> {
        let when = Some(v1::start_request::When::MonotonicNs(monotonic_ns));
        let reply = self.unless_gone(self.client.clone().start(v1::StartRequest { when, run_id })).await?;
        Ok(reply.map_or(0, |reply| reply.begins_ns))
    }

    /// Ends the work. A worker that was told to end it at once and keeps silent is killed.
    pub async fn stop(&self, after_interval: Option<u32>) -> Result<(), String> {
        if after_interval.is_none() && !self.is_gone() {
            self.pulse.stop(STOP_SILENCE);
        }
        self.unless_gone(self.client.clone().stop(v1::StopRequest { after_interval })).await.map(drop)
    }

    /// Lets work in lockstep begin an interval.
    pub async fn grant(&self, interval: u32) -> Result<(), String> {
        self.unless_gone(self.client.clone().grant(v1::GrantRequest { interval })).await.map(drop)
    }

    /// Starts no more I/O to an SD.
    pub async fn drop_sd(&self, sd: u32) -> Result<(), String> {
        self.unless_gone(self.client.clone().drop_sd(v1::DropSdRequest { sd })).await.map(drop)
    }

    /// Ends work and process, waits for it, and kills it when it does not end.
    pub async fn end(&self) {
        self.ending.store(true, Ordering::Relaxed);
        let watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut watcher) = watcher else { return };
        self.pulse.stop(END_SILENCE);
        let mut client = self.client.clone();
        let goodbye = async {
            // When the call fails the process has ended already, or is about to with its stream.
            let _ = client.shutdown(v1::ShutdownRequest {}).await;
            let _ = (&mut watcher.task).await;
        };
        let _ = tokio::time::timeout(END_LIMIT, goodbye).await;
    }

    /// Makes a call whose answer matters only as long as there is a process; `None`: there is none.
    async fn unless_gone<T>(
        &self,
        call: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<Option<T>, String> {
        if self.is_gone() {
            return Ok(None);
        }
        call.await.map(|reply| Some(reply.into_inner())).map_err(|status| self.failed(status))
    }

    fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    fn failed(&self, status: Status) -> String {
        match CallError::from(status) {
            CallError::Refused(reason) => reason,
            CallError::Broken(reason) => format!("worker {} does not answer: {reason}", self.label),
        }
    }
}

fn reason(status: Status) -> String {
    match CallError::from(status) {
        CallError::Refused(reason) | CallError::Broken(reason) => reason,
    }
}

/// Shows a worker that its agent lives, several times in each lease, until nobody has the worker any more or it is gone.
/// Its answers show that it lives too.
async fn show_life(mut client: AgentClient<Channel>, mut lease: watch::Receiver<Duration>, pulse: Arc<Pulse>) {
    loop {
        let lease_now = *lease.borrow_and_update();
        tokio::select! {
            changed = lease.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return,
            },
            () = tokio::time::sleep(ping_every(lease_now)) => {}
        }
        // A refusal is an answer.
        let answer = client.ping(v1::PingRequest { taken: 0 }).await.map_err(CallError::from);
        match answer {
            Ok(_) | Err(CallError::Refused(_)) => pulse.hear(),
            // Whoever watches the process tells its end.
            Err(CallError::Broken(_)) => return,
        }
    }
}

async fn forward_lines(worker: u32, lines: mpsc::Receiver<String>, relay: Relay) {
    let mut lines = Bounded::new(lines, relay.bound());
    while let Some(line) = lines.recv().await {
        relay.wire(None, worker, Event::Stderr(line));
    }
}

/// Carries the events of a worker process and tells how it ended.
struct Watch {
    number: u32,
    label: String,
    pid: u32,
    relay: Relay,
    ending: Arc<AtomicBool>,
    gone: Arc<AtomicBool>,
    pulse: Arc<Pulse>,
}

impl Watch {
    async fn run(
        self,
        mut child: Child,
        log: JoinHandle<()>,
        mut events: Streaming<v1::WorkerMessage>,
        dropped: oneshot::Receiver<()>,
    ) {
        let carry = async {
            while let Ok(Some(message)) = events.message().await {
                self.pulse.hear();
                if matches!(message.event, Some(Event::Drained(_))) && !self.ending.load(Ordering::Relaxed) {
                    self.pulse.work();
                }
                if let Some(event) = message.event {
                    self.relay.wire(message.run_id, self.number, event);
                }
            }
        };
        let hung = tokio::select! {
            () = carry => None,
            silent = self.pulse.hangs() => Some(silent),
            _ = dropped => {
                // It may have ended in this moment.
                let _ = child.kill().await;
                return;
            }
        };
        let how = match hung {
            Some(silent) => {
                let _ = child.kill().await;
                format!("it was told to stop, was silent for {} seconds, and was killed", silent.as_secs())
            }
            None => match tokio::time::timeout(END_LIMIT, child.wait()).await {
                Ok(status) => stdio::ended(status),
                Err(_) => {
                    let _ = child.kill().await;
                    "its stream broke and it had to be killed".to_owned()
                }
            },
        };
        self.gone.store(true, Ordering::Relaxed);
        // What it leaves running may keep its standard error open.
        let _ = tokio::time::timeout(Duration::from_secs(1), log).await;
        if !self.ending.load(Ordering::Relaxed) {
            let text = format!("worker {} (process {}) has ended: {how}", self.label, self.pid);
            self.relay.wire(None, self.number, Event::Fatal(text));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::agent::outbox::Outbox;

    /// Otherwise its lines would take the place of samples that wait for the master.
    #[tokio::test]
    async fn a_worker_that_prints_without_end_is_bounded() {
        let outbox = Outbox::default();
        let (to, lines) = mpsc::channel(4);
        let forward = tokio::spawn(forward_lines(3, lines, Relay::new(outbox.clone(), || {})));
        for _ in 0..10_000 {
            to.send("again".to_owned()).await.unwrap();
        }
        drop(to);
        forward.await.unwrap();
        outbox.close();
        let (mut reader, mut lines) = (outbox.reader(0), Vec::new());
        while let Some(message) = reader.next().await {
            let Some(Event::Stderr(line)) = message.event else { continue };
            lines.push((message.worker, line));
        }
        let dropped = lines.iter().filter(|(_, line)| line != "again").count();
        // A slow machine may take more than a second for all that.
        assert!(lines.len() < 5000 && dropped > 0, "{} lines", lines.len());
        assert!(lines.iter().all(|(worker, _)| *worker == 3));
        assert!(lines.last().unwrap().1.ends_with("a host may print 100 lines and 64 KiB a second)"), "{lines:?}");
    }
}
