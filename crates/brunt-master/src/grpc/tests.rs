//! The link against an agent in this process that says what the test wants, over a pipe in memory.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use brunt_plan::work::LunQuery;
use brunt_proto::PROTOCOL;
use brunt_proto::stdio::{Keepalive, channel};
use brunt_proto::v1::agent_server::{Agent, AgentServer};
use tokio::sync::watch;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Request;
use tonic::transport::Server;

use super::*;
use crate::dial::{Dialing, Ending};
use crate::link::{HostLink, LinkError};

/// An agent with answers made up in advance.
struct Fake {
    protocol: u32,
    version: String,
    /// One facts message for each query, and this many more.
    surplus: usize,
    events: Mutex<Option<mpsc::Receiver<Message>>>,
    delay_ns: Arc<AtomicU64>,
    leash: Leash,
}

type Message = Result<v1::WorkerMessage, Status>;

/// Ends the agent and its stream when it is emptied.
type Leash = Arc<Mutex<Option<(watch::Sender<bool>, mpsc::Sender<Message>)>>>;

type Answer<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl Agent for Fake {
    type EventsStream = ReceiverStream<Message>;

    async fn hello(&self, _: Request<v1::HelloRequest>) -> Answer<v1::HelloReply> {
        let (version, host_name) = (self.version.clone(), "lab7".into());
        Ok(Response::new(v1::HelloReply {
            protocol: self.protocol,
            version,
            host_name,
            worker_pids: vec![1],
            ..Default::default()
        }))
    }

    async fn ping(&self, _: Request<v1::PingRequest>) -> Answer<v1::PingReply> {
        Ok(Response::new(v1::PingReply::default()))
    }

    async fn inspect(&self, request: Request<v1::InspectRequest>) -> Answer<v1::InspectReply> {
        let luns = vec![v1::LunFacts { kind: 1, ..Default::default() }; request.into_inner().luns.len() + self.surplus];
        Ok(Response::new(v1::InspectReply { luns, ..Default::default() }))
    }

    async fn prepare(&self, _: Request<v1::PrepareRequest>) -> Answer<v1::PrepareReply> {
        Err(Status::failed_precondition("no memory for sd1"))
    }

    async fn start(&self, request: Request<v1::StartRequest>) -> Answer<v1::StartReply> {
        if let Some(v1::start_request::When::DelayNs(delay)) = request.into_inner().when {
            self.delay_ns.store(delay, Ordering::Relaxed);
        }
        Ok(Response::new(v1::StartReply::default()))
    }

    async fn events(&self, _: Request<v1::EventsRequest>) -> Answer<Self::EventsStream> {
        Ok(Response::new(ReceiverStream::new(self.events.lock().unwrap().take().unwrap())))
    }

    async fn stop(&self, _: Request<v1::StopRequest>) -> Answer<v1::StopReply> {
        Err(Status::internal("it broke"))
    }

    async fn grant(&self, _: Request<v1::GrantRequest>) -> Answer<v1::GrantReply> {
        Ok(Response::new(v1::GrantReply {}))
    }

    async fn drop_sd(&self, _: Request<v1::DropSdRequest>) -> Answer<v1::DropSdReply> {
        Ok(Response::new(v1::DropSdReply {}))
    }

    async fn run_hook(&self, _: Request<v1::RunHookRequest>) -> Answer<v1::RunHookReply> {
        Err(Status::unavailable(""))
    }

    async fn shutdown(&self, _: Request<v1::ShutdownRequest>) -> Answer<v1::ShutdownReply> {
        *self.leash.lock().unwrap() = None;
        Ok(Response::new(v1::ShutdownReply {}))
    }
}

struct Bench {
    link: GrpcLink,
    events: mpsc::Receiver<(usize, LinkEvent)>,
    leash: Leash,
    delay_ns: Arc<AtomicU64>,
}

/// Leads to the agent once.
#[derive(Debug)]
struct Once {
    channel: Mutex<Option<Channel>>,
    alive: watch::Receiver<bool>,
}

impl Dial for Once {
    fn dial(&self, _: Purpose, _: mpsc::Sender<String>) -> Dialing<'_> {
        let channel = self.channel.lock().unwrap().take();
        let dialed = channel.map(|channel| Dialed { channel, carrier: None });
        Box::pin(async move { dialed.ok_or_else(|| DialError::Never("there is one only".into())) })
    }

    fn name(&self) -> String {
        "memory".into()
    }

    fn agent_ended(&self) -> Ending<'_> {
        let mut alive = self.alive.clone();
        Box::pin(async move {
            // The sender goes with the leash.
            let _ = alive.wait_for(|alive| !alive).await;
            Some("exit status 0".into())
        })
    }
}

async fn bench(protocol: u32, surplus: usize, messages: Vec<v1::WorkerMessage>) -> Bench {
    versioned(protocol, env!("CARGO_PKG_VERSION"), surplus, messages).await
}

async fn versioned(protocol: u32, version: &str, surplus: usize, messages: Vec<v1::WorkerMessage>) -> Bench {
    let delay_ns = Arc::new(AtomicU64::new(0));
    let (out, messages_out) = mpsc::channel(16);
    for message in messages {
        out.try_send(Ok(message)).unwrap();
    }
    let (life, alive) = watch::channel(true);
    let leash = Leash::new(Mutex::new(Some((life, out))));
    let (events, shared) = (Mutex::new(Some(messages_out)), (Arc::clone(&delay_ns), Arc::clone(&leash)));
    let version = version.to_owned();
    let fake = Fake { protocol, version, surplus, events, delay_ns: shared.0, leash: shared.1 };
    let (near, far) = tokio::io::duplex(1 << 16);
    let incoming = tokio_stream::once(Ok::<_, std::io::Error>(far)).chain(tokio_stream::pending());
    tokio::spawn(Server::builder().add_service(AgentServer::new(fake)).serve_with_incoming(incoming));
    let channel = channel(near, Keepalive::default()).await.unwrap();
    let (sender, events) = mpsc::channel(16);
    let dial = Box::new(Once { channel: Mutex::new(Some(channel)), alive });
    let link = GrpcLink::over(
        5,
        Crew { label: "hosta".into(), workers: 1, cores: None, builds: Vec::new() },
        dial,
        Terms::NONE,
        sender,
    );
    Bench { link, events, leash, delay_ns }
}

fn message(event: Option<v1::worker_message::Event>) -> v1::WorkerMessage {
    v1::WorkerMessage { worker: 2, seq: 1, run_id: None, event }
}

#[tokio::test]
async fn another_build_is_refused_naming_both_sides() {
    let own = env!("CARGO_PKG_VERSION");
    for (protocol, version) in [(PROTOCOL + 1, own), (PROTOCOL, "9.8.7")] {
        let bench = versioned(protocol, version, 0, Vec::new()).await;
        let text = bench.link.hello().await.unwrap_err().to_string();
        let expected = format!(
            "master and agent do not match: this is brunt {own} with protocol {PROTOCOL}, host hosta (lab7) has brunt \
             {version} with protocol {protocol}; install the same version on both"
        );
        assert_eq!(text, expected);
    }
}

#[tokio::test]
async fn answers_are_told_from_silence() {
    let bench = bench(PROTOCOL, 0, Vec::new()).await;
    bench.link.hello().await.unwrap();
    assert_eq!(bench.link.prepare(vec![None]).await, Err(LinkError::Refused("no memory for sd1".into())));
    assert_eq!(bench.link.stop(None).await, Err(LinkError::Broken("it broke".into())));
    let silence = bench.link.run_hook("true".into(), None).await.unwrap_err().to_string();
    assert!(silence.starts_with("no answer from the agent: "), "{silence}");
}

#[tokio::test]
async fn answers_must_fit_the_questions() {
    let query = LunQuery {
        sd: 0,
        name: "sd1".into(),
        lun: "/x".into(),
        will_write: false,
        allow_in_use: false,
        overwrite: false,
    };
    let fits = bench(PROTOCOL, 0, Vec::new()).await;
    fits.link.hello().await.unwrap();
    assert_eq!(fits.link.inspect(vec![query.clone()]).await.unwrap().luns.len(), 1);
    let surplus = bench(PROTOCOL, 1, Vec::new()).await;
    surplus.link.hello().await.unwrap();
    let text = surplus.link.inspect(vec![query]).await.unwrap_err().to_string();
    assert!(text.contains("field `luns` of message InspectReply is wrong"), "{text}");
}

#[tokio::test]
async fn the_way_there_is_taken_off_the_delay() {
    let bench = bench(PROTOCOL, 0, Vec::new()).await;
    bench.link.hello().await.unwrap();
    let trip = bench.link.measure().await.unwrap();
    let off = bench.link.start(Duration::from_secs(3600)).await.unwrap();
    assert!(trip > Duration::ZERO && off < Duration::from_secs(60), "{trip:?} {off:?}");
    let delay = Duration::from_nanos(bench.delay_ns.load(Ordering::Relaxed));
    assert!(delay < Duration::from_secs(3600) && delay > Duration::from_secs(3500), "{delay:?}");
    bench.link.start(Duration::ZERO).await.unwrap();
    assert_eq!(bench.delay_ns.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn events_before_the_end_come_before_the_loss() {
    use brunt_plan::work::WorkerEvent;
    let log = v1::worker_message::Event::Log("hello".into());
    let mut bench = bench(PROTOCOL, 0, vec![message(Some(log))]).await;
    bench.link.hello().await.unwrap();
    let event = LinkEvent::Worker { worker: 2, run: None, event: WorkerEvent::Log("hello".into()) };
    assert_eq!(bench.events.recv().await, Some((5, event)));
    *bench.leash.lock().unwrap() = None;
    let lost = LinkEvent::Lost("the agent of host hosta has ended (exit status 0)".into());
    assert_eq!(bench.events.recv().await, Some((5, lost)));
    assert_eq!(bench.events.recv().await, None, "nothing comes after a loss");
}

#[tokio::test]
async fn an_agent_that_is_not_greeted_is_not_called() {
    let bench = bench(PROTOCOL, 0, Vec::new()).await;
    let refused = LinkError::Refused("the agent has not been greeted".into());
    assert_eq!(bench.link.stop(None).await, Err(refused));
    bench.link.shutdown().await.unwrap();
}

#[tokio::test]
async fn what_cannot_be_understood_ends_the_link() {
    let mut bench = bench(PROTOCOL, 0, vec![message(None)]).await;
    bench.link.hello().await.unwrap();
    let text = "the agent of host hosta sent what cannot be understood: message WorkerMessage has no field `event`";
    assert_eq!(bench.events.recv().await, Some((5, LinkEvent::Lost(text.into()))));
}

#[tokio::test]
async fn no_loss_after_a_goodbye() {
    let mut bench = bench(PROTOCOL, 0, Vec::new()).await;
    bench.link.hello().await.unwrap();
    bench.link.shutdown().await.unwrap();
    drop(bench.link);
    assert_eq!(bench.events.recv().await, None);
}
