//! The calls of the protocol.

use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use brunt_proto::v1::{self, agent_server::Agent};
use brunt_proto::{PROTOCOL, WireError, shell};
use tokio::sync::{OnceCell, watch};
use tokio::time::timeout;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tokio_stream::{Stream, StreamExt};
use tonic::{Request, Response, Status};

use super::options::AgentOptions;
use super::relay::{Outgoing, Relay};
use super::team::{Team, instant_of};
use super::witness::Witness;
use super::{DRAIN_LIMIT, thread};
use crate::calibrate;
use crate::engine::WorkEngine;
use crate::inspect::{self, Roots};

/// Time for measuring what this host adds: a thousand times what it takes on a quiet one.
const OWN_ERROR_LIMIT: Duration = Duration::from_secs(5);

/// The service. A call that this host refuses is `FAILED_PRECONDITION` with a sentence.
pub struct AgentService {
    options: AgentOptions,
    engine: Arc<dyn WorkEngine>,
    relay: Relay,
    outgoing: Mutex<Option<Outgoing>>,
    team: OnceCell<Team>,
    /// Whether the client said goodbye.
    asked_to_end: AtomicBool,
    /// Ends the server.
    ended: Arc<watch::Sender<bool>>,
}

impl AgentService {
    /// Makes the service. Workers come with the first `Hello`.
    pub fn new(
        options: AgentOptions,
        engine: Arc<dyn WorkEngine>,
        relay: Relay,
        outgoing: Outgoing,
        ended: Arc<watch::Sender<bool>>,
    ) -> Self {
        let outgoing = Mutex::new(Some(outgoing));
        Self { options, engine, relay, outgoing, team: OnceCell::new(), asked_to_end: AtomicBool::new(false), ended }
    }

    /// Whether the client said goodbye.
    pub fn asked_to_end(&self) -> bool {
        self.asked_to_end.load(Ordering::Relaxed)
    }

    /// Stops all work at once; it has `limit` to drain.
    pub async fn end_work(&self, limit: Duration) {
        if let Some(team) = self.team.get() {
            team.end(limit).await;
        }
    }

    fn team(&self) -> Result<&Team, Status> {
        self.team.get().ok_or_else(|| refuse("the agent has not been greeted"))
    }
}

fn refuse(reason: impl Into<String>) -> Status {
    Status::failed_precondition(reason)
}

fn invalid(error: &WireError) -> Status {
    Status::invalid_argument(error.to_string())
}

#[tonic::async_trait]
impl Agent for AgentService {
    type EventsStream = Pin<Box<dyn Stream<Item = Result<v1::WorkerMessage, Status>> + Send>>;

    async fn hello(&self, request: Request<v1::HelloRequest>) -> Result<Response<v1::HelloReply>, Status> {
        let client = request.into_inner();
        let mut reply = v1::HelloReply {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            host_name: inspect::host_name(Path::new("/proc")),
            worker_pids: Vec::new(),
        };
        if client.protocol == PROTOCOL {
            let start = || Team::start(&self.options, Arc::clone(&self.engine), self.relay.clone());
            reply.worker_pids = self.team.get_or_try_init(start).await.map_err(refuse)?.pids();
        }
        Ok(Response::new(reply))
    }

    async fn ping(&self, _: Request<v1::PingRequest>) -> Result<Response<v1::PingReply>, Status> {
        Ok(Response::new(v1::PingReply {}))
    }

    async fn inspect(&self, request: Request<v1::InspectRequest>) -> Result<Response<v1::InspectReply>, Status> {
        let queries: Vec<_> = request.into_inner().luns.into_iter().map(Into::into).collect();
        // Beside the inspection, which waits for devices. Without a lun nothing here will be measured in real time.
        let real = !queries.is_empty();
        let own_error = async {
            let measured = thread::off_thread("calibrate", calibrate::own_error);
            if real { timeout(OWN_ERROR_LIMIT, measured).await.ok()?.ok() } else { None }
        };
        let inspected = thread::off_thread("inspect", move || inspect::host(&Roots::default(), &queries));
        let (answer, own_error) = tokio::join!(inspected, own_error);
        let answer = answer.map_err(|error| refuse(format!("the host cannot be inspected: {error}")))?;
        Ok(Response::new(v1::InspectReply {
            luns: answer.luns.into_iter().map(Into::into).collect(),
            inventory: answer.inventory,
            engines: Some(answer.engines.into()),
            own_error: own_error.map(Into::into),
        }))
    }

    async fn prepare(&self, request: Request<v1::PrepareRequest>) -> Result<Response<v1::PrepareReply>, Status> {
        let v1::PrepareRequest { workers: slots, witness } = request.into_inner();
        let first = slots.iter().zip(0..).find_map(|(slot, number)| slot.share.is_some().then_some(number));
        let shares = || slots.iter().filter_map(|slot| slot.share.as_ref());
        let virtual_clock = shares().flat_map(|s| &s.targets).any(|t| t.sim.is_some_and(|s| s.virtual_clock));
        let witness = if witness { Witness::of(Path::new("/sys"), &slots) } else { Witness::default() };
        self.team()?.prepare(slots).await.map_err(refuse)?;
        self.relay.prepare(first, virtual_clock, witness);
        Ok(Response::new(v1::PrepareReply {}))
    }

    async fn start(&self, request: Request<v1::StartRequest>) -> Result<Response<v1::StartReply>, Status> {
        use v1::start_request::When;
        let arrival = Instant::now();
        let at = match request.into_inner().when {
            Some(When::DelayNs(delay)) => arrival
                .checked_add(Duration::from_nanos(delay))
                .ok_or_else(|| refuse("the start lies beyond the clock"))?,
            Some(When::MonotonicNs(ns)) => instant_of(ns).map_err(refuse)?,
            None => return Err(invalid(&WireError::Missing { message: "StartRequest", field: "when" })),
        };
        self.relay.start(at);
        self.team()?.start_at(at).await.map_err(refuse)?;
        Ok(Response::new(v1::StartReply {}))
    }

    async fn events(&self, _: Request<v1::EventsRequest>) -> Result<Response<Self::EventsStream>, Status> {
        let outgoing = self.outgoing.lock().unwrap_or_else(PoisonError::into_inner).take();
        let outgoing = outgoing.ok_or_else(|| refuse("the event stream is open already"))?;
        let stream = UnboundedReceiverStream::new(outgoing).map_while(|message| message.map(Ok));
        Ok(Response::new(Box::pin(stream)))
    }

    async fn stop(&self, request: Request<v1::StopRequest>) -> Result<Response<v1::StopReply>, Status> {
        self.team()?.stop(request.into_inner().after_interval).await.map_err(refuse)?;
        Ok(Response::new(v1::StopReply {}))
    }

    async fn grant(&self, request: Request<v1::GrantRequest>) -> Result<Response<v1::GrantReply>, Status> {
        self.team()?.grant(request.into_inner().interval).await.map_err(refuse)?;
        Ok(Response::new(v1::GrantReply {}))
    }

    async fn drop_sd(&self, request: Request<v1::DropSdRequest>) -> Result<Response<v1::DropSdReply>, Status> {
        self.team()?.drop_sd(request.into_inner().sd).await.map_err(refuse)?;
        Ok(Response::new(v1::DropSdReply {}))
    }

    async fn run_hook(&self, request: Request<v1::RunHookRequest>) -> Result<Response<v1::RunHookReply>, Status> {
        let command = request.into_inner().command;
        let reply =
            shell::run(&command).await.map_err(|error| refuse(format!("`{command}` cannot be run: {error}")))?;
        Ok(Response::new(reply))
    }

    async fn shutdown(&self, _: Request<v1::ShutdownRequest>) -> Result<Response<v1::ShutdownReply>, Status> {
        self.asked_to_end.store(true, Ordering::Relaxed);
        self.end_work(DRAIN_LIMIT).await;
        // The server ends when its last stream has; this is that stream.
        self.relay.close();
        self.ended.send_replace(true);
        Ok(Response::new(v1::ShutdownReply {}))
    }
}
