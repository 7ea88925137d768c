//! A host over gRPC: the client's side of `proto/brunt/v1/agent.proto`.

mod watch;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use brunt_plan::work::{LunQuery, WorkerShare};
use brunt_proto::stdio::Started;
use brunt_proto::v1::{self, agent_client::AgentClient};
use brunt_proto::{CallError, MAX_MESSAGE, PROTOCOL, WireError};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tonic::transport::Channel;
use tonic::{Status, Streaming};

use crate::link::{HookResult, HostFacts, HostHello, HostLink, LinkError, LinkEvent};
use watch::{Ending, Watch};

/// Time an agent has to end after its goodbye, before it is killed.
const END_LIMIT: Duration = Duration::from_secs(15);
/// Round trips that are measured before a start; the shortest counts.
const PINGS: usize = 3;

/// A [`HostLink`] to an agent process. Dropped, it kills the process, and the workers with it.
#[derive(Debug)]
pub struct GrpcLink {
    label: String,
    client: AgentClient<Channel>,
    /// Takes the event stream once it is open.
    stream: Mutex<Option<oneshot::Sender<Streaming<v1::WorkerMessage>>>>,
    ending: Ending,
    watcher: Mutex<Option<JoinHandle<()>>>,
}

/// A link before its agent is there: standard error is forwarded from the first line on.
#[derive(Debug)]
pub struct Unconnected {
    host: usize,
    label: String,
    events: mpsc::Sender<(usize, LinkEvent)>,
    log: JoinHandle<()>,
}

impl GrpcLink {
    /// Begins a link to host number `host`: what comes from `lines` is the agent's log.
    pub fn prepare(
        host: usize,
        label: &str,
        mut lines: mpsc::Receiver<String>,
        events: mpsc::Sender<(usize, LinkEvent)>,
    ) -> Unconnected {
        let to = events.clone();
        let log = tokio::spawn(async move {
            while let Some(line) = lines.recv().await {
                // Without a receiver the master is at its end; the agent must not wait all the same.
                let _ = to.send((host, LinkEvent::Stderr { worker: 0, line })).await;
            }
        });
        Unconnected { host, label: label.to_owned(), events, log }
    }

    async fn round_trip(&self) -> Result<Duration, LinkError> {
        let mut shortest = Duration::MAX;
        for _ in 0..PINGS {
            let sent = Instant::now();
            self.client.clone().ping(v1::PingRequest::default()).await.map_err(|status| self.failed(status))?;
            shortest = shortest.min(sent.elapsed());
        }
        Ok(shortest)
    }

    fn failed(&self, status: Status) -> LinkError {
        match CallError::from(status) {
            CallError::Refused(reason) => LinkError::Refused(reason),
            CallError::Broken(reason) => LinkError::Broken(format!("host {}: {reason}", self.label)),
        }
    }

    fn garbled(&self, error: &WireError) -> LinkError {
        LinkError::Broken(format!("host {}: {error}", self.label))
    }
}

impl Unconnected {
    /// Completes the link with its agent.
    pub fn connect(self, agent: Started) -> GrpcLink {
        let Self { host, label, events, log } = self;
        let client = AgentClient::new(agent.channel)
            .max_decoding_message_size(MAX_MESSAGE)
            .max_encoding_message_size(MAX_MESSAGE);
        let (stream, opened) = oneshot::channel();
        let ending = Ending::default();
        let watch = Watch { host, label: label.clone(), events, ending: Arc::clone(&ending) };
        let watcher = tokio::spawn(watch.run(agent.child, opened, log));
        GrpcLink { label, client, stream: Mutex::new(Some(stream)), ending, watcher: Mutex::new(Some(watcher)) }
    }
}

impl Drop for GrpcLink {
    fn drop(&mut self) {
        // The process goes with the task that holds it.
        if let Some(watcher) = self.watcher.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            watcher.abort();
        }
    }
}

impl HostLink for GrpcLink {
    async fn hello(&self) -> Result<HostHello, LinkError> {
        let mut client = self.client.clone();
        let version = env!("CARGO_PKG_VERSION");
        let request = v1::HelloRequest { protocol: PROTOCOL, version: version.to_owned(), ..Default::default() };
        let reply = client.hello(request).await.map_err(|status| self.failed(status))?.into_inner();
        if reply.protocol != PROTOCOL {
            return Err(LinkError::Refused(format!(
                "master and agent do not match: this is brunt {version} with protocol {PROTOCOL}, host {} ({}) has brunt {} \
                 with protocol {}; install the same version on both",
                self.label, reply.host_name, reply.version, reply.protocol
            )));
        }
        let stream =
            client.events(v1::EventsRequest { after: 0 }).await.map_err(|status| self.failed(status))?.into_inner();
        if let Some(watcher) = self.stream.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // The watcher goes only with the agent, and says so itself.
            let _ = watcher.send(stream);
        }
        Ok(HostHello { version: reply.version, host_name: reply.host_name, worker_pids: reply.worker_pids })
    }

    async fn inspect(&self, queries: Vec<LunQuery>) -> Result<HostFacts, LinkError> {
        let wanted = queries.len();
        let request = v1::InspectRequest { luns: queries.into_iter().map(Into::into).collect(), ..Default::default() };
        let reply = self.client.clone().inspect(request).await.map_err(|status| self.failed(status))?.into_inner();
        let luns = reply.luns.into_iter().map(TryInto::try_into).collect::<Result<Vec<_>, WireError>>();
        let luns = luns.map_err(|error| self.garbled(&error))?;
        if luns.len() != wanted {
            let reason = "there must be one for each query";
            return Err(self.garbled(&WireError::Invalid { message: "InspectReply", field: "luns", reason }));
        }
        let engines = reply.engines.map(Into::into).unwrap_or_default();
        let own_error = reply.own_error.map(Into::into);
        Ok(HostFacts { luns, inventory: reply.inventory, engines, own_error, machine: reply.machine })
    }

    async fn prepare(&self, shares: Vec<Option<WorkerShare>>) -> Result<(), LinkError> {
        let slot = |share: Option<WorkerShare>| v1::WorkerSlot { share: share.map(Into::into), placement: None };
        let request =
            v1::PrepareRequest { workers: shares.into_iter().map(slot).collect(), witness: true, lease_ms: 0 };
        self.client.clone().prepare(request).await.map(drop).map_err(|status| self.failed(status))
    }

    async fn start(&self, delay: Duration) -> Result<(), LinkError> {
        let delay = delay.saturating_sub(self.round_trip().await? / 2);
        let delay_ns = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
        let when = Some(v1::start_request::When::DelayNs(delay_ns));
        self.client
            .clone()
            .start(v1::StartRequest { when, ..Default::default() })
            .await
            .map(drop)
            .map_err(|status| self.failed(status))
    }

    async fn stop(&self, after_interval: Option<u32>) -> Result<(), LinkError> {
        let request = v1::StopRequest { after_interval };
        self.client.clone().stop(request).await.map(drop).map_err(|status| self.failed(status))
    }

    async fn grant(&self, interval: u32) -> Result<(), LinkError> {
        self.client.clone().grant(v1::GrantRequest { interval }).await.map(drop).map_err(|status| self.failed(status))
    }

    async fn drop_sd(&self, sd: u32) -> Result<(), LinkError> {
        self.client.clone().drop_sd(v1::DropSdRequest { sd }).await.map(drop).map_err(|status| self.failed(status))
    }

    async fn run_hook(&self, command: String, limit: Option<Duration>) -> Result<HookResult, LinkError> {
        let limit_ms = limit.map_or(0, |limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
        let request = v1::RunHookRequest { command, limit_ms, ..Default::default() };
        let reply = self.client.clone().run_hook(request).await.map_err(|status| self.failed(status))?.into_inner();
        Ok(HookResult { status: reply.status, lines: reply.lines })
    }

    async fn shutdown(&self) -> Result<(), LinkError> {
        self.ending.store(true, std::sync::atomic::Ordering::Relaxed);
        let reply = self.client.clone().shutdown(v1::ShutdownRequest {}).await;
        let watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut watcher) = watcher
            && tokio::time::timeout(END_LIMIT, &mut watcher).await.is_err()
        {
            watcher.abort();
        }
        reply.map(drop).map_err(|status| self.failed(status))
    }
}

#[cfg(test)]
mod tests;
