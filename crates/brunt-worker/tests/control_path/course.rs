//! Runs as they should go, and what is refused.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use brunt_master::launch;
use brunt_master::link::{HostLink, LinkError, LinkEvent};
use brunt_plan::work::{Area, Generator, LunKind, LunQuery, Seek, WorkerEvent, WorkerShare, Xfer};
use tokio::sync::mpsc;

use super::bench::*;

#[tokio::test(flavor = "multi_thread")]
async fn one_worker_from_greeting_to_goodbye() {
    let (link, mut events) = launched(1).await;
    let hello = link.hello().await.unwrap();
    assert_eq!(hello.version, env!("CARGO_PKG_VERSION"));
    assert_eq!(hello.worker_pids.len(), 1);
    assert!(!hello.host_name.is_empty());
    assert_eq!(
        link.hello().await.map_err(|e| e.to_string()),
        Err("the agent of host hosta has been greeted before".into())
    );

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
            LinkEvent::Worker { worker: 0, event: WorkerEvent::Interval(sample), .. } => {
                assert_eq!((sample.pairs[0].sd, sample.pairs[0].cell.read.sum_ns), (5, 39_000));
                seen.push(sample.interval);
            }
            LinkEvent::Worker { worker: 0, event: WorkerEvent::Log(line), .. } => {
                assert_eq!(line, "hosta-5 is ready for rd1")
            }
            LinkEvent::Worker { worker: 0, event: WorkerEvent::Drained, .. } => break,
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
    let link = launch::local(&example("lane_agent"), 3, "hosta", 2, None, events).await.unwrap();
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
            LinkEvent::Worker { event: WorkerEvent::Log(_) | WorkerEvent::Totals(_), .. } => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(bytes, 1 << 20, "every block once");
    let content = std::fs::read(&lun).unwrap();
    assert!(content.chunks(4096).all(|block| block.iter().any(|byte| *byte != 0)), "every block was written");
    link.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_sd_is_dropped_in_all_workers() {
    let folder = tempfile::tempdir().unwrap();
    let luns = ["one", "two"].map(|name| folder.path().join(name));
    luns.iter().for_each(|lun| std::fs::write(lun, vec![0; 1 << 20]).unwrap());
    let (events, mut received) = mpsc::channel(16);
    let link = launch::local(&example("lane_agent"), 3, "hosta", 2, None, events).await.unwrap();
    let pids = link.hello().await.unwrap().worker_pids;
    link.prepare(vec![Some(reading_both(&luns)), Some(reading_both(&luns))]).await.unwrap();
    let [one, two] = [cores_of_lanes(pids[0]), cores_of_lanes(pids[1])];
    assert!(!one.is_empty() && !two.is_empty());
    if std::thread::available_parallelism().unwrap().get() > 1 {
        assert!(one.is_disjoint(&two), "{one:?} {two:?}");
    }
    link.start(Duration::ZERO).await.unwrap();
    let (mut dropped_in, mut without, mut drained) = (None, [0, 0], 0);
    while drained < 2 {
        match next_event(&mut received).await {
            LinkEvent::Worker { worker, event: WorkerEvent::Interval(sample), .. } => {
                let done = |sd| sample.pairs.iter().any(|p| p.sd == sd && p.cell.read.ops > 0);
                if dropped_in.is_none() && done(0) && done(1) {
                    link.drop_sd(0).await.unwrap();
                    dropped_in = Some(sample.interval);
                }
                if dropped_in.is_some() && done(1) && !done(0) {
                    without[worker as usize] += 1;
                    if without.iter().all(|n| *n > 0) {
                        link.stop(None).await.unwrap();
                    }
                }
            }
            LinkEvent::Worker { event: WorkerEvent::Totals(_), .. } => {}
            LinkEvent::Worker { event: WorkerEvent::Drained, .. } => drained += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(without.iter().all(|n| *n > 0), "{without:?}");
    link.shutdown().await.unwrap();
}

/// What the system says where the lanes of a worker may run.
fn cores_of_lanes(pid: u32) -> BTreeSet<String> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let lane = |task: &PathBuf| std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name.starts_with("io-"));
    let cores = |task: PathBuf| {
        let status = std::fs::read_to_string(task.join("status")).unwrap();
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim().to_owned()
    };
    tasks.map(|task| task.unwrap().path()).filter(lane).map(cores).collect()
}

/// Reads two files at random, one as SD 0, one as SD 1.
fn reading_both(luns: &[PathBuf; 2]) -> WorkerShare {
    let both = [0, 1].map(|n| {
        let mut one = writing(0, &luns[n]);
        one.targets[0].sd = n as u32;
        let all = Area { low: 0, high: 1 << 20, wrap: None };
        let (target, stream) = (n as u32, n as u64);
        let seek = Seek::Percent(100.0);
        let generator = Generator { target, stream, read_pct: 100.0, seek, miss: all, ..one.generators.remove(0) };
        (one.targets.remove(0), generator)
    });
    let (targets, generators) = both.into_iter().unzip();
    WorkerShare { targets, generators, interval_ns: 50_000_000, ..share(0, &luns[0], None) }
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
            LinkEvent::Worker { worker, event: WorkerEvent::Interval(sample), .. } => {
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
                LinkEvent::Worker { worker, event: WorkerEvent::Interval(sample), .. } => {
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
                LinkEvent::Worker { event: WorkerEvent::Outstanding { count, oldest_ns, lun }, .. } => {
                    assert_eq!((count, oldest_ns, lun.as_deref()), (2, 7_000_000_000, Some("/dev/stuck")));
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
    link.hello().await.unwrap();
    let result = link.run_hook("echo out; echo err >&2; exit 3".into(), None).await.unwrap();
    assert_eq!((result.status, result.lines), (Some(3), vec!["out".to_owned(), "err".to_owned()]));
}
