//! The calls of the protocol, as they come from the wire.

use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use brunt_proto::v1::{self, agent_server::Agent};
use brunt_proto::{PROTOCOL, WireError, digest};
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout};
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

use super::calls::Calls;
use super::connection::Caller;
use super::desk::{Desk, caller};
use super::outbox::Outbox;
use super::session::{Ended, Greeting};
use super::team::{clock_ns, instant_of};
use super::thread;
use crate::calibrate;
use crate::inspect::{self, Roots};

/// Time for measuring what this host adds: a thousand times what it takes on a quiet one.
const OWN_ERROR_LIMIT: Duration = Duration::from_secs(5);

/// The service. A call that this host refuses is `FAILED_PRECONDITION` with a sentence.
pub struct AgentService {
    calls: Arc<Calls>,
    desk: Arc<Desk>,
    outbox: Outbox,
    /// The connection that has opened the event stream.
    listener: Mutex<Option<Caller>>,
}

impl AgentService {
    /// Makes the service. Workers come with the first `Hello`.
    pub fn new(calls: Arc<Calls>, desk: Arc<Desk>, outbox: Outbox) -> Self {
        Self { calls, desk, outbox, listener: Mutex::new(None) }
    }

    /// Greets a client of the same protocol.
    async fn greet(&self, caller: Caller, client: &v1::HelloRequest, reply: &mut v1::HelloReply) -> Result<(), Status> {
        let mut greeting =
            Greeting { token: client.token.clone(), lease: Duration::ZERO, client: client.client.clone() };
        let lease = Duration::from_millis(client.lease_ms);
        let anew = self.calls.team().is_err();
        if anew {
            // Until there are workers the session ends with its connection.
            self.desk.hello(caller, &greeting)?;
        }
        let team = match anew {
            true => self.calls.team_for(client).await,
            false => self.calls.team(),
        };
        reply.worker_pids = team.map_err(refuse)?.pids();
        greeting.lease = self.desk.outlive(lease).await;
        self.desk.hello(caller, &greeting)?;
        reply.token = self.desk.token();
        Ok(())
    }
}

/// SHA-256 of this program, read once.
async fn own_build() -> String {
    static BUILD: OnceCell<String> = OnceCell::const_new();
    let read = || async {
        let digest = thread::off_thread("digest", digest::own).await.and_then(|digest| digest);
        digest.unwrap_or_else(|error| {
            tracing::warn!(%error, "the own program cannot be read");
            String::new()
        })
    };
    BUILD.get_or_init(read).await.clone()
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
        let caller = caller(&request);
        let client = request.into_inner();
        let mut reply = v1::HelloReply {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            host_name: inspect::host_name(Path::new("/proc")),
            ..Default::default()
        };
        if client.protocol == PROTOCOL {
            self.greet(caller, &client, &mut reply).await?;
            if client.tell_build {
                reply.build = own_build().await;
            }
        }
        Ok(Response::new(reply))
    }

    async fn ping(&self, request: Request<v1::PingRequest>) -> Result<Response<v1::PingReply>, Status> {
        self.desk.call(&request)?;
        self.outbox.taken(request.into_inner().taken);
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let wall_ms = i64::try_from(since_epoch.as_millis()).unwrap_or(0);
        // Without a clock nothing is told.
        let clock_ns = clock_ns(Instant::now().into_std()).unwrap_or(0);
        Ok(Response::new(v1::PingReply { wall_ms, clock_ns }))
    }

    async fn inspect(&self, request: Request<v1::InspectRequest>) -> Result<Response<v1::InspectReply>, Status> {
        self.desk.call(&request)?;
        let v1::InspectRequest { luns, list_devices } = request.into_inner();
        let queries: Vec<_> = luns.into_iter().map(Into::into).collect();
        // Beside the inspection, which waits for devices. Without a lun nothing here will be measured in real time.
        let real = !queries.is_empty();
        let own_error = async {
            let measured = thread::off_thread("calibrate", calibrate::own_error);
            if real { timeout(OWN_ERROR_LIMIT, measured).await.ok()?.ok() } else { None }
        };
        let marks = self.calls.marks();
        let inspected = thread::off_thread("inspect", move || {
            let roots = Roots::default();
            let devices = if list_devices { inspect::devices(&roots) } else { Vec::new() };
            let mut answer = inspect::host(&roots, &queries);
            marks.claim(&roots.proc, &queries, &mut answer.luns);
            (answer, devices)
        });
        let (answer, own_error) = tokio::join!(inspected, own_error);
        let (answer, devices) = answer.map_err(|error| refuse(format!("the host cannot be inspected: {error}")))?;
        Ok(Response::new(v1::InspectReply {
            luns: answer.luns.into_iter().map(Into::into).collect(),
            inventory: answer.inventory,
            engines: Some(answer.engines.into()),
            own_error: own_error.map(Into::into),
            machine: answer.machine,
            devices: devices.into_iter().map(Into::into).collect(),
        }))
    }

    async fn prepare(&self, request: Request<v1::PrepareRequest>) -> Result<Response<v1::PrepareReply>, Status> {
        self.desk.call(&request)?;
        self.calls.prepare(request.into_inner()).await.map_err(refuse)?;
        Ok(Response::new(v1::PrepareReply {}))
    }

    async fn start(&self, request: Request<v1::StartRequest>) -> Result<Response<v1::StartReply>, Status> {
        use v1::start_request::When;
        let arrival = Instant::now().into_std();
        self.desk.call(&request)?;
        let v1::StartRequest { run_id, when } = request.into_inner();
        let at = match when {
            Some(When::DelayNs(delay)) => arrival
                .checked_add(Duration::from_nanos(delay))
                .ok_or_else(|| refuse("the start lies beyond the clock"))?,
            Some(When::MonotonicNs(ns)) => instant_of(ns).map_err(refuse)?,
            None => return Err(invalid(&WireError::Missing { message: "StartRequest", field: "when" })),
        };
        let begins_ns = self.calls.start(run_id, at).await.map_err(refuse)?;
        Ok(Response::new(v1::StartReply { begins_ns }))
    }

    async fn events(&self, request: Request<v1::EventsRequest>) -> Result<Response<Self::EventsStream>, Status> {
        let caller = self.desk.call(&request)?;
        let before = self.listener.lock().unwrap_or_else(PoisonError::into_inner).replace(caller);
        if before == Some(caller) {
            return Err(refuse("the event stream is open already"));
        }
        self.desk.settled();
        let stream = ReceiverStream::new(self.outbox.reader(request.into_inner().after).into_stream());
        Ok(Response::new(Box::pin(stream)))
    }

    async fn stop(&self, request: Request<v1::StopRequest>) -> Result<Response<v1::StopReply>, Status> {
        self.desk.call(&request)?;
        let after_interval = request.into_inner().after_interval;
        self.calls.team().map_err(refuse)?.stop(after_interval).await.map_err(refuse)?;
        Ok(Response::new(v1::StopReply {}))
    }

    async fn grant(&self, request: Request<v1::GrantRequest>) -> Result<Response<v1::GrantReply>, Status> {
        self.desk.call(&request)?;
        let interval = request.into_inner().interval;
        self.calls.team().map_err(refuse)?.grant(interval).await.map_err(refuse)?;
        Ok(Response::new(v1::GrantReply {}))
    }

    async fn drop_sd(&self, request: Request<v1::DropSdRequest>) -> Result<Response<v1::DropSdReply>, Status> {
        self.desk.call(&request)?;
        let sd = request.into_inner().sd;
        self.calls.team().map_err(refuse)?.drop_sd(sd).await.map_err(refuse)?;
        Ok(Response::new(v1::DropSdReply {}))
    }

    async fn run_hook(&self, request: Request<v1::RunHookRequest>) -> Result<Response<v1::RunHookReply>, Status> {
        self.desk.call(&request)?;
        self.calls.hook(request.into_inner()).await.map(Response::new).map_err(refuse)
    }

    async fn shutdown(&self, request: Request<v1::ShutdownRequest>) -> Result<Response<v1::ShutdownReply>, Status> {
        match self.desk.call(&request) {
            Err(_) if self.desk.asked_to_end() => self.desk.wait_for_end().await,
            Err(status) => return Err(status),
            Ok(_) => self.desk.end(Ended::Asked).await,
        }
        Ok(Response::new(v1::ShutdownReply {}))
    }
}
