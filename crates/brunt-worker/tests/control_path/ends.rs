//! Every kind of end, and who must not notice what.

use std::path::{Path, PathBuf};
use std::time::Duration;

use brunt_master::grpc::GrpcLink;
use brunt_master::launch::{self, local::LocalDial};
use brunt_master::link::{HostLink, LinkError, LinkEvent};
use brunt_master::tether::{Crew, Terms};
use brunt_plan::work::{WorkerEvent, WorkerShare};
use brunt_proto::stdio::{self, Keepalive};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::sync::mpsc;

use super::bench::*;

#[tokio::test(flavor = "multi_thread")]
async fn hooks_cannot_reach_the_stream() {
    // What this process was given by whoever started it goes down to all.
    let given: Vec<PathBuf> = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok())
        .collect();
    let (link, _events) = launched(1).await;
    link.hello().await.unwrap();
    let result = link.run_hook("ls -l /proc/$$/fd; readlink /proc/$PPID/fd/0".into(), None).await.unwrap();
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
    let agent = link.run_hook("readlink /proc/$PPID/fd/1 /proc/$PPID/fd/2".into(), None).await.unwrap().lines;
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
        let hello = brunt_proto::v1::HelloRequest {
            protocol: brunt_proto::PROTOCOL,
            version: "test".into(),
            ..Default::default()
        };
        let count = client.hello(hello).await.unwrap().into_inner().worker_pids.len() as u32;
        let slots = (0..count)
            .map(|n| brunt_proto::v1::WorkerSlot { share: Some(share(n, &leash.path, None).into()), placement: None });
        let request = brunt_proto::v1::PrepareRequest { workers: slots.collect(), witness: true, lease_ms: 0 };
        let (held, prepared) = tokio::join!(leash.hold(), client.prepare(request));
        prepared.unwrap();
        let before = client.ping(brunt_proto::v1::PingRequest::default()).await.unwrap().into_inner().clock_ns;
        // An instant long past: they begin as soon as they can, and say when that is.
        let when = Some(brunt_proto::v1::start_request::When::MonotonicNs(1));
        let start = brunt_proto::v1::StartRequest { when, ..Default::default() };
        let begins = client.start(start).await.unwrap().into_inner().begins_ns;
        assert!(before > 0 && (before..before + LIMIT.as_nanos() as u64).contains(&begins), "{before} {begins}");

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
    let (sender, mut events) = mpsc::channel(16);
    let keepalive = Keepalive { interval: Duration::from_millis(300), timeout: Duration::from_secs(2) };
    let dial = LocalDial::new(&agent(), "hosta", 1, None).keepalive(keepalive);
    let crew = Crew { label: "hosta".into(), workers: 1, cores: None, builds: Vec::new() };
    let link = GrpcLink::over(3, crew, Box::new(dial), Terms::NONE, sender);
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
            LinkEvent::Worker { worker: 1, event: WorkerEvent::Fatal(text), .. } => break text,
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
    let error = launch::local(Path::new("/bin/false"), 0, "hosta", 1, None, events).await.unwrap_err();
    let text = "the agent of host hosta cannot be started: `/bin/false` ended before it was ready (exit status 1)";
    assert_eq!(error.to_string(), text);
}
