//! Sessions that outlive their connections. The client is bare gRPC, so that a connection can be cut anywhere.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use brunt_plan::work::WorkerShare;
use brunt_proto::stdio::{self, Keepalive, channel, new_marker, skip_to_marker};
use brunt_proto::v1::agent_client::AgentClient;
use brunt_proto::v1::worker_message::Event;
use brunt_proto::{PROTOCOL, v1};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tonic::transport::Channel;
use tonic::{Status, Streaming};

use super::bench::*;

/// A lease that no test waits for, milliseconds.
const LONG: u64 = 600_000;

/// One that is waited for, and long enough for a busy machine to make the calls before a start.
const SHORT: u64 = 2_000;

/// An agent, and what it writes to its standard error.
struct Agent {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Agent {
    /// Starts one and gives the first connection.
    async fn start(workers: u32) -> (Self, Client) {
        let (log, lines) = mpsc::channel(64);
        let workers = workers.to_string();
        let arguments = ["agent", "--stdio", "--label", "hosta", "--workers", &workers];
        let started = stdio::start(&agent(), arguments, Keepalive::default(), log).await.unwrap();
        (Self { child: started.child, lines }, Client { grpc: AgentClient::new(started.channel), bridge: None })
    }

    async fn ended(&mut self) -> Option<i32> {
        tokio::time::timeout(LIMIT, self.child.wait()).await.expect("the agent ends").unwrap().code()
    }
}

/// A connection. Dropped, it is cut.
struct Client {
    grpc: AgentClient<Channel>,
    bridge: Option<Child>,
}

/// Starts a bridge to the session of a token, with its marker.
async fn bridge(token: &str) -> (Child, String) {
    let marker = new_marker();
    let mut child = Command::new(agent())
        .args(["agent", "--attach", "--marker", &marker])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    child.stdin.as_mut().unwrap().write_all(format!("{token}\n").as_bytes()).await.unwrap();
    (child, marker)
}

impl Client {
    /// Comes again, with another process in between.
    async fn attach(token: &str) -> Self {
        let (mut child, marker) = bridge(token).await;
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut output = BufReader::new(output);
        let (chatter, mut said) = mpsc::channel(8);
        assert!(skip_to_marker(&mut output, &marker, &chatter).await.unwrap(), "the session is there");
        assert_eq!(said.recv().await.as_deref(), Some("Welcome! This line must not get into the protocol."));
        let channel = channel(tokio::io::join(output, input), Keepalive::default()).await.unwrap();
        Self { grpc: AgentClient::new(channel), bridge: Some(child) }
    }

    async fn hello(&mut self, token: &str, lease_ms: u64) -> Result<v1::HelloReply, Status> {
        let client = "tester@lab, process 7".to_owned();
        let version = "test".to_owned();
        let token = token.to_owned();
        let hello = v1::HelloRequest { protocol: PROTOCOL, version, token, lease_ms, client, ..Default::default() };
        Ok(self.grpc.hello(hello).await?.into_inner())
    }

    async fn events(&mut self, after: u64) -> Streaming<v1::WorkerMessage> {
        self.grpc.events(v1::EventsRequest { after }).await.unwrap().into_inner()
    }

    async fn prepare(&mut self, shares: Vec<WorkerShare>, lease_ms: u64) -> Result<(), Status> {
        let slot = |share: WorkerShare| v1::WorkerSlot { share: Some(share.into()), placement: None };
        let workers = shares.into_iter().map(slot).collect();
        self.grpc.prepare(v1::PrepareRequest { workers, witness: false, lease_ms }).await.map(drop)
    }

    async fn start(&mut self, run_id: u32) -> Result<(), Status> {
        let when = Some(v1::start_request::When::DelayNs(0));
        self.grpc.start(v1::StartRequest { when, run_id }).await.map(drop)
    }

    async fn hook(&mut self, call: u64, command: &str, limit_ms: u64) -> Result<v1::RunHookReply, Status> {
        let request = v1::RunHookRequest { command: command.to_owned(), call, limit_ms };
        self.grpc.run_hook(request).await.map(tonic::Response::into_inner)
    }

    async fn shutdown(&mut self) -> Result<(), Status> {
        self.grpc.shutdown(v1::ShutdownRequest {}).await.map(drop)
    }
}

async fn message(events: &mut Streaming<v1::WorkerMessage>) -> Option<v1::WorkerMessage> {
    tokio::time::timeout(LIMIT, events.message()).await.expect("a message").unwrap_or(None)
}

/// Reads until so many samples have come: every message in order, without gap or double, and the samples likewise.
async fn samples(events: &mut Streaming<v1::WorkerMessage>, seq: &mut u64, interval: &mut u32, count: u32) {
    let wanted = *interval + count;
    while *interval < wanted {
        let message = message(events).await.expect("an open stream");
        assert_eq!(message.seq, *seq + 1);
        *seq = message.seq;
        if let Some(Event::Interval(sample)) = message.event {
            *interval += 1;
            assert_eq!(sample.interval, *interval);
        }
    }
}

fn socket(token: &str) -> PathBuf {
    PathBuf::from(format!("/tmp/brunt-{}/{}.sock", nix::unistd::geteuid(), &token[..32]))
}

/// A session at work, its token, and a pipe that its worker holds open.
async fn at_work_with(
    lease_ms: u64,
    run: &str,
) -> (Agent, Client, Streaming<v1::WorkerMessage>, String, std::fs::File) {
    let (agent, mut client) = Agent::start(1).await;
    let token = client.hello("", lease_ms).await.unwrap().token;
    let events = client.events(0).await;
    let leash = Leash::new();
    let work = WorkerShare { run: run.into(), ..share(0, &leash.path, None) };
    let (held, prepared) = tokio::join!(leash.hold(), client.prepare(vec![work], lease_ms));
    prepared.unwrap();
    client.start(0).await.unwrap();
    (agent, client, events, token, held.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_connection_stops_nothing_and_loses_nothing() {
    let (mut agent, client, mut events, token, held) = at_work_with(LONG, "chatty").await;
    let (mut seq, mut interval) = (0, 0);
    samples(&mut events, &mut seq, &mut interval, 3).await;
    // Connection and standard error break, as they do when a link does.
    drop((client, events));
    agent.lines.close();
    for _ in 0..3 {
        signal(agent.child.id().unwrap(), Signal::SIGHUP);
        let mut client = Client::attach(&token).await;
        assert_eq!(client.hello(&token, LONG).await.unwrap().token, token);
        let mut events = client.events(seq).await;
        samples(&mut events, &mut seq, &mut interval, 20).await;
    }
    // What it writes to its standard error now comes as messages.
    let mut client = Client::attach(&token).await;
    client.hello(&token, LONG).await.unwrap();
    let mut events = client.events(seq).await;
    while !matches!(message(&mut events).await.unwrap().event, Some(Event::Stderr(line)) if line.starts_with("interval "))
    {
    }
    client.shutdown().await.unwrap();
    assert_eq!(agent.ended().await, Some(0));
    all_gone(held).await;
    assert!(!socket(&token).exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn several_workers_go_on_alone() {
    let (mut agent, mut client) = Agent::start(3).await;
    let token = client.hello("", LONG).await.unwrap().token;
    let mut events = client.events(0).await;
    client.prepare((0..3).map(|n| null(n, Some(200))).collect(), LONG).await.unwrap();
    client.start(0).await.unwrap();
    let (mut seq, mut last, mut drained) = (0, [0; 3], 0);
    while drained < 3 {
        // Cut after every tenth message that arrives.
        let Some(message) = message(&mut events).await else { panic!("the stream has ended") };
        assert_eq!(message.seq, seq + 1);
        seq = message.seq;
        match message.event {
            Some(Event::Interval(sample)) => {
                let last = &mut last[message.worker as usize];
                *last += 1;
                assert_eq!(sample.interval, *last);
            }
            Some(Event::Drained(_)) => drained += 1,
            _ => {}
        }
        if seq % 60 == 0 {
            drop(client);
            client = Client::attach(&token).await;
            client.hello(&token, LONG).await.unwrap();
            events = client.events(seq).await;
        }
    }
    assert_eq!(last, [200; 3]);
    client.shutdown().await.unwrap();
    assert_eq!(agent.ended().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_of_an_agent_that_hangs_stop_with_its_lease() {
    an_agent_hangs(SHORT, Duration::from_millis(2 * SHORT), Duration::from_secs(30)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_of_an_agent_that_hangs_stop_soon_without_a_lease() {
    an_agent_hangs(0, Duration::from_secs(8), Duration::from_secs(15)).await;
}

/// Workers go on as long as their agent lives, at least for `alive`, and are gone `limit` after it hangs.
async fn an_agent_hangs(lease_ms: u64, alive: Duration, limit: Duration) {
    let (agent, mut client) = Agent::start(2).await;
    client.hello("", LONG).await.unwrap();
    let mut events = client.events(0).await;
    let leash = Leash::new();
    let work = (0..2).map(|sd| share(sd, &leash.path, None)).collect();
    let (held, prepared) = tokio::join!(leash.hold(), client.prepare(work, lease_ms));
    prepared.unwrap();
    client.start(0).await.unwrap();
    let from = Instant::now();
    while from.elapsed() < alive {
        let event = message(&mut events).await.expect("an open stream").event;
        assert!(!matches!(event, Some(Event::Fatal(_))), "{event:?}");
        client.grpc.ping(v1::PingRequest { taken: 0 }).await.unwrap();
    }
    let pid = agent.child.id().unwrap();
    signal(pid, Signal::SIGSTOP);
    let from = Instant::now();
    all_gone(held.unwrap()).await;
    // Probes on their streams would end them after 40 s.
    assert!(from.elapsed() < limit, "{:?}", from.elapsed());
    signal(pid, Signal::SIGKILL);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_outlives_its_lease() {
    let (mut agent, client, events, token, held) = at_work_with(SHORT, "rd1").await;
    drop((client, events));
    all_gone(held).await;
    assert_eq!(agent.ended().await, Some(1));
    assert!(!socket(&token).exists());
    // Whoever comes later is told why.
    let (bridge, _) = bridge(&token).await;
    let told = tokio::time::timeout(LIMIT, bridge.wait_with_output()).await.unwrap().unwrap();
    let text = String::from_utf8(told.stderr).unwrap();
    let why = "the session has ended: nothing came from its master for the lease of 2 s, at ";
    assert!(text.contains(why) && !told.status.success(), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_silent_is_as_good_as_gone() {
    let (mut agent, _client, mut events, _, held) = at_work_with(SHORT, "rd1").await;
    let reading = tokio::spawn(async move { while let Ok(Some(_)) = events.message().await {} });
    all_gone(held).await;
    assert_eq!(agent.ended().await, Some(1));
    reading.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_lease_the_end_of_the_connection_is_the_end() {
    let (mut agent, client, events, token, held) = at_work_with(0, "rd1").await;
    assert!(!socket(&token).exists());
    drop((client, events));
    all_gone(held).await;
    assert_eq!(agent.ended().await, Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_told_to_end_ends_in_order() {
    let (mut agent, _client, mut events, token, held) = at_work_with(LONG, "rd1").await;
    signal(agent.child.id().unwrap(), Signal::SIGTERM);
    let mut last = None;
    while let Some(message) = message(&mut events).await {
        last = message.event;
    }
    assert!(matches!(last, Some(Event::Drained(_))), "{last:?}");
    all_gone(held).await;
    assert_eq!(agent.ended().await, Some(1));
    assert!(!socket(&token).exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_client_at_a_time() {
    let (mut agent, mut first, mut events, token, held) = at_work_with(LONG, "rd1").await;
    let (mut seq, mut interval) = (0, 0);
    samples(&mut events, &mut seq, &mut interval, 2).await;
    // Another one is told who is there, and stops nothing.
    let mut second = Client::attach(&token).await;
    let busy = second.hello("", LONG).await.unwrap_err().message().to_owned();
    assert!(busy.starts_with("this agent serves another master: tester@lab, process 7, since "), "{busy}");
    let wrong = second.hello(&"0".repeat(64), LONG).await.unwrap_err().message().to_owned();
    assert_eq!(wrong, "this agent has no such session: it has ended, or it was another agent's");
    let stop = second.grpc.stop(v1::StopRequest { after_interval: None }).await.unwrap_err().message().to_owned();
    assert!(stop.starts_with("this agent serves another master: "), "{stop}");
    samples(&mut events, &mut seq, &mut interval, 2).await;
    first.grpc.ping(v1::PingRequest { taken: seq }).await.unwrap();
    // Whoever has the token takes over, and the old connection is cut.
    second.hello(&token, LONG).await.unwrap();
    let mut taken_over = second.events(seq).await;
    while message(&mut events).await.is_some() {}
    assert!(first.grpc.ping(v1::PingRequest::default()).await.is_err());
    samples(&mut taken_over, &mut seq, &mut interval, 2).await;
    second.shutdown().await.unwrap();
    assert_eq!(agent.ended().await, Some(0));
    all_gone(held).await;
    let mut bridge = second.bridge.take().unwrap();
    assert!(tokio::time::timeout(LIMIT, bridge.wait()).await.unwrap().unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_may_come_twice() {
    let (mut agent, mut client) = Agent::start(2).await;
    let hello = client.hello("", LONG).await.unwrap();
    assert_eq!(client.hello("", LONG).await.unwrap(), hello);
    let mut events = client.events(0).await;
    for run_id in 1..=2 {
        let shares = || -> Vec<_> { (0..2).map(|n| WorkerShare { run_id, ..null(n, None) }).collect() };
        for _ in 0..2 {
            client.prepare(shares(), LONG).await.unwrap();
        }
        for _ in 0..2 {
            client.start(run_id).await.unwrap();
            client.start(run_id - 1).await.unwrap();
            client.grpc.drop_sd(v1::DropSdRequest { sd: 9 }).await.unwrap();
        }
        for _ in 0..2 {
            client.grpc.stop(v1::StopRequest { after_interval: Some(3) }).await.unwrap();
        }
        let (mut drained, mut last) = (0, [0; 2]);
        while drained < 2 {
            let message = message(&mut events).await.unwrap();
            match message.event {
                Some(Event::Interval(sample)) => {
                    let last = &mut last[message.worker as usize];
                    *last += 1;
                    assert_eq!(sample.interval, *last, "run {run_id}");
                }
                Some(Event::Drained(_)) => drained += 1,
                _ => {}
            }
        }
        // A start whose answer was lost, and whose run is over by now.
        client.start(run_id).await.unwrap();
        let later = client.start(run_id + 1).await.unwrap_err().message().to_owned();
        assert_eq!(later, format!("run {} cannot be started: run {run_id} is the one that is prepared", run_id + 1));
    }
    let mut again = client.grpc.clone();
    let (one, two) = tokio::join!(client.shutdown(), again.shutdown(v1::ShutdownRequest {}));
    assert!(one.is_ok() && two.is_ok(), "{two:?}");
    assert_eq!(agent.ended().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_under_way_when_the_connection_breaks_is_made_once() {
    let (mut agent, mut client) = Agent::start(1).await;
    let token = client.hello("", LONG).await.unwrap().token;
    let folder = tempfile::tempdir().unwrap();
    let (begun, go) = (folder.path().join("begun"), folder.path().join("go"));
    for fifo in [&begun, &go] {
        nix::unistd::mkfifo(fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    }
    let command = format!("echo run >> {0}/count; echo > {0}/begun; cat {0}/go; echo done", folder.path().display());
    let asked = command.clone();
    let cut = tokio::spawn(async move { client.hook(1, &asked, 0).await });
    let begun = tokio::task::spawn_blocking(move || std::fs::read(begun).unwrap());
    begun.await.unwrap();
    cut.abort();
    assert!(cut.await.unwrap_err().is_cancelled());
    let mut client = Client::attach(&token).await;
    client.hello(&token, LONG).await.unwrap();
    let open = tokio::task::spawn_blocking(move || std::fs::write(go, "").unwrap());
    let reply = client.hook(1, &command, 0).await.unwrap();
    open.await.unwrap();
    assert_eq!((reply.status, reply.lines), (Some(0), vec!["done".to_owned()]));
    assert_eq!(std::fs::read_to_string(folder.path().join("count")).unwrap(), "run\n");

    let killed = client.hook(2, "sleep 1000", 200).await.unwrap();
    assert_eq!((killed.status, killed.lines), (None, vec!["(killed: it had not ended after 0.2 s)".to_owned()]));
    let old = client.hook(1, &command, 0).await.unwrap_err().message().to_owned();
    assert_eq!(old, "command 1 is over: command 2 came behind it");
    client.shutdown().await.unwrap();
    assert_eq!(agent.ended().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_ends_with_its_session() {
    let (mut agent, mut client) = Agent::start(1).await;
    // Long enough for a busy machine to start a shell.
    client.hello("", 5 * SHORT).await.unwrap();
    let leash = Leash::new();
    let command = format!("exec 3> {}; sleep 1000", leash.path.display());
    let hook = tokio::spawn(async move { client.hook(1, &command, 0).await });
    let held = tokio::time::timeout(LIMIT, leash.hold()).await.expect("the hook did not start").unwrap();
    // The connection goes with it.
    hook.abort();
    all_gone(held).await;
    assert_eq!(agent.ended().await, Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_ends_with_an_agent_that_is_killed_and_what_it_left_behind_does_not() {
    let (mut agent, mut client) = Agent::start(1).await;
    client.hello("", LONG).await.unwrap();
    let (left, running) = (Leash::new(), Leash::new());
    let daemon = format!("(exec 3> {}; sleep 1000) >/dev/null 2>&1 & echo $!", left.path.display());
    let (done, left) = tokio::join!(client.hook(1, &daemon, 0), left.hold());
    let daemon = Pid::from_raw(done.unwrap().lines[0].parse().unwrap());
    // With a child, which the death of the shell alone would leave.
    let command = format!("exec 3> {}; sleep 1000; true", running.path.display());
    let hook = tokio::spawn(async move { client.hook(2, &command, 0).await });
    let held = tokio::time::timeout(LIMIT, running.hold()).await.expect("the hook did not start").unwrap();
    agent.child.start_kill().unwrap();
    all_gone(held).await;
    assert!(hook.await.unwrap().is_err());
    assert_eq!(agent.ended().await, None);
    nix::sys::signal::kill(daemon, None).expect("it goes on");
    nix::sys::signal::killpg(nix::unistd::getpgid(Some(daemon)).unwrap(), Signal::SIGKILL).unwrap();
    all_gone(left.unwrap()).await;
}
