//! Master, agent and workers as real processes, from greeting to every kind of end. The agent is the example
//! `memory_agent`, all but whose engine is the product's, or `lane_agent`, which is the product's altogether.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use brunt_master::grpc::GrpcLink;
use brunt_master::launch;
use brunt_master::link::{HostLink, LinkError, LinkEvent};
use brunt_plan::work::{
    Area, Arrivals, Control, Generator, LunKind, LunQuery, Seek, Target, WorkerEvent, WorkerShare, Xfer,
};
use brunt_proto::stdio::{self, Keepalive};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::sync::mpsc;

type Events = mpsc::Receiver<(usize, LinkEvent)>;

/// A bound on what is awaited, far above what it takes: a test that waits for what never comes must end.
const LIMIT: Duration = Duration::from_secs(60);

fn agent() -> PathBuf {
    example("memory_agent")
}

fn example(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let path = tests.parent().and_then(Path::parent).unwrap().join("examples").join(name);
    assert!(path.exists(), "{} is missing: `cargo test -p brunt-worker` builds it", path.display());
    path
}

async fn launched(workers: u32) -> (GrpcLink, Events) {
    let (events, received) = mpsc::channel(16);
    (launch::local(&agent(), 3, "hosta", workers, events).await.unwrap(), received)
}

async fn next(events: &mut Events) -> LinkEvent {
    let (host, event) = tokio::time::timeout(LIMIT, events.recv()).await.expect("an event").expect("an open channel");
    assert_eq!(host, 3);
    event
}

/// The next event that is not a line of standard error.
async fn next_event(events: &mut Events) -> LinkEvent {
    loop {
        match next(events).await {
            LinkEvent::Stderr { .. } => {}
            event => return event,
        }
    }
}

fn share(sd: u32, lun: &Path, intervals: Option<u32>) -> WorkerShare {
    let target = Target {
        sd,
        name: format!("sd{sd}"),
        lun: lun.display().to_string(),
        size: 1 << 20,
        threads: 1,
        flags: Vec::new(),
        write: true,
        create: false,
        raw: false,
        sim: None,
    };
    WorkerShare {
        worker: format!("hosta-{sd}"),
        run: "rd1".into(),
        run_id: 0,
        interval_ns: 10_000_000,
        intervals,
        seed: 1,
        control: Control::Uncontrolled,
        arrivals: Arrivals::Exponential,
        targets: vec![target],
        generators: Vec::new(),
    }
}

fn null(sd: u32, intervals: Option<u32>) -> WorkerShare {
    share(sd, Path::new("/dev/null"), intervals)
}

/// A pipe that workers hold open as their lun: it ends when the last of them is gone.
struct Leash {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Leash {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lun");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        Self { _folder: folder, path }
    }

    /// Opens the near end, which needs somebody at the far one.
    fn hold(&self) -> tokio::task::JoinHandle<File> {
        let path = self.path.clone();
        tokio::task::spawn_blocking(move || File::open(path).unwrap())
    }
}

async fn all_gone(mut leash: File) {
    let gone = tokio::task::spawn_blocking(move || leash.read(&mut [0]).unwrap());
    assert_eq!(tokio::time::timeout(LIMIT, gone).await.expect("all workers gone").unwrap(), 0);
}

/// Starts work that never ends in each worker, and returns when all are at it.
async fn at_work(link: &GrpcLink, events: &mut Events, leash: &Leash, workers: u32) -> (Vec<u32>, File) {
    let pids = link.hello().await.unwrap().worker_pids;
    let shares = (0..workers).map(|worker| Some(share(worker, &leash.path, None))).collect();
    let (held, prepared) = tokio::join!(leash.hold(), link.prepare(shares));
    prepared.unwrap();
    link.start(Duration::ZERO).await.unwrap();
    let mut silent: Vec<u32> = (0..workers).collect();
    while !silent.is_empty() {
        if let LinkEvent::Worker { worker, event: WorkerEvent::Interval(_) } = next_event(events).await {
            silent.retain(|other| *other != worker);
        }
    }
    (pids, held.unwrap())
}

async fn lost(events: &mut Events) -> String {
    loop {
        match next_event(events).await {
            LinkEvent::Lost(text) => return text,
            LinkEvent::Worker { .. } => {}
            other => panic!("{other:?}"),
        }
    }
}

fn signal(pid: u32, signal: Signal) {
    kill(Pid::from_raw(pid.try_into().unwrap()), signal).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_worker_from_greeting_to_goodbye() {
    let (link, mut events) = launched(1).await;
    let hello = link.hello().await.unwrap();
    assert_eq!(hello.version, env!("CARGO_PKG_VERSION"));
    assert_eq!(hello.worker_pids.len(), 1);
    assert!(!hello.host_name.is_empty());
    assert_eq!(link.hello().await.map_err(|e| e.to_string()), Err("the event stream is open already".into()));

    let query = |lun: &str| LunQuery {
        sd: 5,
        name: "sd6".into(),
        lun: lun.into(),
        will_write: false,
        allow_in_use: false,
        overwrite: false,
    };
    let facts = link.inspect(vec![query("/dev/null"), query("/nowhere/at/all")]).await.unwrap();
    assert_eq!(facts.luns.iter().map(|lun| lun.kind).collect::<Vec<_>>(), [LunKind::Character, LunKind::Missing]);

    link.prepare(vec![Some(null(5, Some(3)))]).await.unwrap();
    link.start(Duration::from_millis(5)).await.unwrap();
    let mut seen = Vec::new();
    loop {
        match next_event(&mut events).await {
            LinkEvent::Worker { worker: 0, event: WorkerEvent::Interval(sample) } => {
                assert_eq!((sample.pairs[0].sd, sample.pairs[0].cell.read.sum_ns), (5, 39_000));
                seen.push(sample.interval);
            }
            LinkEvent::Worker { worker: 0, event: WorkerEvent::Log(line) } => {
                assert_eq!(line, "hosta-5 is ready for rd1")
            }
            LinkEvent::Worker { worker: 0, event: WorkerEvent::Drained } => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(seen, [1, 2, 3]);

    link.shutdown().await.unwrap();
    drop(link);
    // What is printed after the end goes to the log; nothing is lost, and no loss is reported.
    let mut rest = Vec::new();
    while let Some((_, event)) = events.recv().await {
        rest.push(event);
    }
    assert_eq!(rest, [LinkEvent::Stderr { worker: 0, line: "This one neither.".into() }]);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_workers_write_a_file_with_the_real_engine() {
    let folder = tempfile::tempdir().unwrap();
    let lun = folder.path().join("lun");
    std::fs::write(&lun, vec![0; 1 << 20]).unwrap();
    let (events, mut received) = mpsc::channel(16);
    let link = launch::local(&example("lane_agent"), 3, "hosta", 2, events).await.unwrap();
    link.hello().await.unwrap();
    let shares = (0..2).map(|half| Some(writing(half, &lun)));
    link.prepare(shares.collect()).await.unwrap();
    link.start(Duration::ZERO).await.unwrap();
    let (mut done, mut drained, mut bytes) = (0, 0, 0);
    while drained < 2 {
        match next_event(&mut received).await {
            LinkEvent::Worker { event: WorkerEvent::Interval(sample), .. } => {
                bytes += sample.pairs.iter().map(|pair| pair.cell.write.bytes).sum::<u64>();
            }
            LinkEvent::Worker { event: WorkerEvent::SequentialDone, .. } => {
                done += 1;
                if done == 2 {
                    link.stop(None).await.unwrap();
                }
            }
            LinkEvent::Worker { event: WorkerEvent::Drained, .. } => drained += 1,
            LinkEvent::Worker { event: WorkerEvent::Log(_), .. } => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(bytes, 1 << 20, "every block once");
    let content = std::fs::read(&lun).unwrap();
    assert!(content.chunks(4096).all(|block| block.iter().any(|byte| *byte != 0)), "every block was written");
    link.shutdown().await.unwrap();
}

/// Writes one half of a file of 1 MiB to its end.
fn writing(half: u32, lun: &Path) -> WorkerShare {
    let low = u64::from(half) << 19;
    let generator = Generator {
        workload: 0,
        target: 0,
        stream: half.into(),
        rate: 0.0,
        priority: None,
        read_pct: 0.0,
        read_hit_pct: 0.0,
        write_hit_pct: 0.0,
        xfer: Xfer::Fixed(4096),
        seek: Seek::Eof,
        miss: Area { low, high: low + (1 << 19), wrap: None },
        hit: None,
        align: None,
        stride: None,
        hotband: None,
        streams: Vec::new(),
    };
    let mut share = WorkerShare { generators: vec![generator], interval_ns: 1_000_000_000, ..share(half, lun, None) };
    share.targets[0].threads = 2;
    share
}

#[tokio::test(flavor = "multi_thread")]
async fn chatter_is_logged() {
    let (_link, mut events) = launched(1).await;
    let line = "Welcome! This line must not get into the protocol.".to_owned();
    assert_eq!(next(&mut events).await, LinkEvent::Stderr { worker: 0, line });
}

#[tokio::test(flavor = "multi_thread")]
async fn several_workers_have_their_own_shares() {
    let (link, mut events) = launched(3).await;
    let mut pids = link.hello().await.unwrap().worker_pids;
    pids.sort_unstable();
    pids.dedup();
    assert_eq!(pids.len(), 3);

    // Worker 0 has nothing to do; the first that has carries the CPU times, in intervals long enough for ticks.
    let slow = |sd| WorkerShare { interval_ns: 300_000_000, ..null(sd, Some(2)) };
    link.prepare(vec![None, Some(slow(11)), Some(slow(12))]).await.unwrap();
    link.start(Duration::ZERO).await.unwrap();
    let (mut drained, mut samples) = (0, Vec::new());
    while drained < 2 {
        match next_event(&mut events).await {
            LinkEvent::Worker { worker, event: WorkerEvent::Interval(sample) } => {
                assert_eq!(sample.pairs[0].sd, worker + 10);
                samples.push((worker, sample.interval, sample.cpu.is_some()));
            }
            LinkEvent::Worker { event: WorkerEvent::Drained, .. } => drained += 1,
            LinkEvent::Worker { event: WorkerEvent::Log(_), .. } => {}
            other => panic!("{other:?}"),
        }
    }
    samples.sort_unstable();
    assert_eq!(samples, [(1, 1, true), (1, 2, true), (2, 1, false), (2, 2, false)]);
    link.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_follow_each_other_and_stop_when_asked() {
    let (link, mut events) = launched(2).await;
    link.hello().await.unwrap();
    for _ in 0..2 {
        link.prepare(vec![Some(null(0, None)), Some(null(1, None))]).await.unwrap();
        link.start(Duration::ZERO).await.unwrap();
        link.stop(Some(2)).await.unwrap();
        let (mut drained, mut last) = (0, [0, 0]);
        while drained < 2 {
            match next_event(&mut events).await {
                LinkEvent::Worker { worker, event: WorkerEvent::Interval(sample) } => {
                    last[worker as usize] = sample.interval;
                }
                LinkEvent::Worker { event: WorkerEvent::Drained, .. } => drained += 1,
                _ => {}
            }
        }
        assert!(last.iter().all(|last| *last >= 2), "{last:?}");
    }
    link.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn outstanding_work_is_told_until_it_has_drained() {
    for workers in [1, 2] {
        let (link, mut events) = launched(workers).await;
        link.hello().await.unwrap();
        let stuck = |sd| WorkerShare { run: "stuck".into(), ..null(sd, Some(1)) };
        link.prepare((0..workers).map(|sd| Some(stuck(sd))).collect()).await.unwrap();
        link.start(Duration::ZERO).await.unwrap();
        let mut stopped = false;
        let mut drained = 0;
        while drained < workers {
            match next_event(&mut events).await {
                LinkEvent::Worker { event: WorkerEvent::Outstanding { count, oldest_ns }, .. } => {
                    assert_eq!((count, oldest_ns), (2, 7_000_000_000));
                    if !stopped {
                        link.stop(None).await.unwrap();
                        stopped = true;
                    }
                }
                LinkEvent::Worker { event: WorkerEvent::Drained, .. } => drained += 1,
                LinkEvent::Worker { event: WorkerEvent::Interval(_) | WorkerEvent::Log(_), .. } => {}
                other => panic!("{other:?}"),
            }
        }
        assert!(stopped);
        link.shutdown().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_are_sentences() {
    for workers in [1, 2] {
        let (link, _events) = launched(workers).await;
        let early = link.start(Duration::ZERO).await.unwrap_err();
        assert_eq!(early, LinkError::Refused("the agent has not been greeted".into()));
        link.hello().await.unwrap();
        let unready = link.start(Duration::ZERO).await.unwrap_err().to_string();
        assert!(unready.contains("has no work that is ready"), "{unready}");
        let mut shares = vec![None; workers as usize];
        shares[workers as usize - 1] = Some(share(7, Path::new("/nowhere/lun"), None));
        let missing = link.prepare(shares).await.unwrap_err().to_string();
        assert_eq!(missing, "sd=sd7: /nowhere/lun cannot be opened: No such file or directory (os error 2)");
        let many = link.prepare(vec![None; 5]).await.unwrap_err().to_string();
        assert_eq!(many, format!("there are {workers} workers here but work for 5"));
        link.shutdown().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_run_on_the_host() {
    let (link, _events) = launched(1).await;
    let result = link.run_hook("echo out; echo err >&2; exit 3".into()).await.unwrap();
    assert_eq!((result.status, result.lines), (Some(3), vec!["out".to_owned(), "err".to_owned()]));
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_cannot_reach_the_stream() {
    // What this process was given by whoever started it goes down to all.
    let given: Vec<PathBuf> = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok())
        .collect();
    let (link, _events) = launched(1).await;
    let result = link.run_hook("ls -l /proc/$$/fd; readlink /proc/$PPID/fd/0".into()).await.unwrap();
    let open = result.lines.iter().filter_map(|line| line.split_once(" -> "));
    let open = open.map(|(left, to)| (left.rsplit(' ').next().unwrap(), Path::new(to)));
    for (descriptor, to) in open {
        match descriptor {
            "0" => assert_eq!(to, Path::new("/dev/null")),
            "1" | "2" => {}
            _ => assert!(given.iter().any(|link| link == to), "{descriptor} is {}", to.display()),
        }
    }
    // Nor can what the agent itself reads or prints.
    assert_eq!(result.lines.last().unwrap(), "/dev/null");
    let agent = link.run_hook("readlink /proc/$PPID/fd/1 /proc/$PPID/fd/2".into()).await.unwrap().lines;
    assert_eq!(agent[0], agent[1], "standard output goes where errors go");
}

#[tokio::test(flavor = "multi_thread")]
async fn signals_of_the_terminal_do_not_reach_agents() {
    for workers in [1, 2] {
        let (link, _events) = launched(workers).await;
        let pids = link.hello().await.unwrap().worker_pids;
        let ours = nix::unistd::getpgrp();
        for pid in pids {
            let pid = Pid::from_raw(pid.try_into().unwrap());
            assert_ne!(nix::unistd::getpgid(Some(pid)).unwrap(), ours);
            kill(pid, Signal::SIGHUP).unwrap();
        }
        link.prepare(vec![None; workers as usize]).await.unwrap();
        link.shutdown().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_agent_is_lost_and_takes_its_workers_along() {
    for workers in [1, 3] {
        let (link, mut events) = launched(workers).await;
        let leash = Leash::new();
        let (pids, held) = at_work(&link, &mut events, &leash, workers).await;
        signal(parent_of_workers(&pids), Signal::SIGKILL);
        assert_eq!(lost(&mut events).await, "the agent of host hosta has ended (killed by signal 9)");
        all_gone(held).await;
        assert!(matches!(link.stop(None).await, Err(LinkError::Broken(_))));
    }
}

/// The agent: the worker itself when there is only one.
fn parent_of_workers(pids: &[u32]) -> u32 {
    if let [pid] = pids {
        return *pid;
    }
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pids[0])).unwrap();
    stat.rsplit(')').next().unwrap().split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_link_leaves_nobody_behind() {
    for workers in [1, 3] {
        let (link, mut events) = launched(workers).await;
        let leash = Leash::new();
        let (_, held) = at_work(&link, &mut events, &leash, workers).await;
        drop(link);
        all_gone(held).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_whose_stream_ends_stops_and_ends() {
    for workers in ["1", "3"] {
        let (log, mut lines) = mpsc::channel(64);
        let arguments = ["agent", "--stdio", "--label", "hosta", "--workers", workers];
        let mut started = stdio::start(&agent(), arguments, Keepalive::default(), log).await.unwrap();
        let leash = Leash::new();
        let mut client = brunt_proto::v1::agent_client::AgentClient::new(started.channel);
        let hello = brunt_proto::v1::HelloRequest { protocol: brunt_proto::PROTOCOL, version: "test".into() };
        let count = client.hello(hello).await.unwrap().into_inner().worker_pids.len() as u32;
        let slots = (0..count).map(|n| brunt_proto::v1::WorkerSlot { share: Some(share(n, &leash.path, None).into()) });
        let request = brunt_proto::v1::PrepareRequest { workers: slots.collect() };
        let (held, prepared) = tokio::join!(leash.hold(), client.prepare(request));
        prepared.unwrap();
        let when = Some(brunt_proto::v1::start_request::When::DelayNs(0));
        client.start(brunt_proto::v1::StartRequest { when }).await.unwrap();

        drop(client);
        let status = tokio::time::timeout(LIMIT, started.child.wait()).await.expect("the agent ends").unwrap();
        assert_eq!(status.code(), Some(1));
        all_gone(held.unwrap()).await;
        let mut said = Vec::new();
        while let Some(line) = lines.recv().await {
            said.push(line);
        }
        assert_eq!(said.last().map(String::as_str), Some("the master is gone; all work was stopped"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_agent_is_lost_after_its_probes() {
    let (log, lines) = mpsc::channel(64);
    let (sender, mut events) = mpsc::channel(16);
    let link = GrpcLink::prepare(3, "hosta", lines, sender);
    let keepalive = Keepalive { interval: Duration::from_millis(100), timeout: Duration::from_millis(500) };
    let arguments = ["agent", "--stdio", "--label", "hosta"];
    let link = link.connect(stdio::start(&agent(), arguments, keepalive, log).await.unwrap());
    let leash = Leash::new();
    let (pids, held) = at_work(&link, &mut events, &leash, 1).await;
    signal(pids[0], Signal::SIGSTOP);
    let text = lost(&mut events).await;
    assert!(text.starts_with("the agent of host hosta does not answer any more"), "{text}");
    all_gone(held).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_process_that_ends_is_named() {
    let (link, mut events) = launched(2).await;
    let pids = link.hello().await.unwrap().worker_pids;
    let exit = WorkerShare { run: "exit".into(), ..null(1, None) };
    link.prepare(vec![Some(null(0, None)), Some(exit)]).await.unwrap();
    // The process may be gone before it answers.
    let _ = link.start(Duration::ZERO).await;
    let mut said = Vec::new();
    let fatal = loop {
        match next(&mut events).await {
            LinkEvent::Worker { worker: 1, event: WorkerEvent::Fatal(text) } => break text,
            LinkEvent::Stderr { worker: 1, line } => said.push(line),
            LinkEvent::Worker { .. } | LinkEvent::Stderr { .. } => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(fatal, format!("worker hosta-1 (process {}) has ended: exit status 9", pids[1]));
    assert!(said.contains(&"the engine gives up".to_owned()), "{said:?}");
    link.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_is_no_agent_says_why() {
    let (events, _received) = mpsc::channel(16);
    let error = launch::local(Path::new("/bin/false"), 0, "hosta", 1, events).await.unwrap_err();
    let text = "the agent of host hosta cannot be started: `/bin/false` ended before it was ready (exit status 1)";
    assert_eq!(error.to_string(), text);
}
