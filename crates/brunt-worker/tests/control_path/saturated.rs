//! A load tool runs at saturation by nature: a host without idle time is busy, not lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

use brunt_master::launch;
use brunt_master::link::{HostLink, LinkEvent};
use brunt_plan::work::{Control, WorkerEvent, WorkerShare};
use tokio::sync::mpsc;

use super::bench::*;

/// Threads that do nothing but burn, until dropped.
struct Burners {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Burners {
    fn new(threads: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let burn = |_| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || while !stop.load(Relaxed) {})
        };
        Self { threads: (0..threads).map(burn).collect(), stop }
    }
}

impl Drop for Burners {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        self.threads.drain(..).for_each(|thread| thread.join().unwrap());
    }
}

/// 16 lanes that read a small file, which never leaves the page cache, as fast as they can.
fn hammering(worker: u32, lun: &std::path::Path) -> WorkerShare {
    let mut share = WorkerShare {
        control: Control::Uncontrolled,
        generators: vec![random_reads(worker, 4096)],
        interval_ns: 50_000_000,
        ..share(worker, lun, None)
    };
    (share.targets[0].threads, share.targets[0].write) = (16, false);
    share
}

/// B19: calls and samples have threads of their own, and take no lock of the I/O.
#[tokio::test(flavor = "multi_thread")]
async fn samples_and_answers_keep_coming_while_every_core_burns() {
    const INTERVALS: u32 = 5;
    let folder = tempfile::tempdir().unwrap();
    let lun = folder.path().join("lun");
    std::fs::write(&lun, vec![0; 1 << 20]).unwrap();
    let (events, mut received) = mpsc::channel(16);
    let link = launch::local(&example("lane_agent"), 3, "hosta", 2, None, events).await.unwrap();
    link.hello().await.unwrap();
    link.prepare((0..2).map(|worker| Some(hammering(worker, &lun))).collect()).await.unwrap();
    let cores = std::thread::available_parallelism().unwrap().get();
    let burners = Burners::new(2 * cores);
    link.start(Duration::ZERO).await.unwrap();

    let mut told = [0, 0];
    let mut answered = 0;
    while told.iter().any(|n| *n < INTERVALS) {
        match next_event(&mut received).await {
            LinkEvent::Worker { worker, event: WorkerEvent::Interval(sample), .. } => {
                // However late it comes, it is the next one, with what was done in it.
                told[worker as usize] += 1;
                assert_eq!(sample.interval, told[worker as usize]);
                assert!(sample.end_ns > sample.start_ns);
                // An SD that nobody has: the call goes through to all workers and changes nothing.
                tokio::time::timeout(LIMIT, link.drop_sd(99)).await.expect("an answer").unwrap();
                answered += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(answered >= 2 * INTERVALS);
    tokio::time::timeout(LIMIT, link.stop(None)).await.expect("an answer").unwrap();
    let mut drained = 0;
    while drained < 2 {
        match next_event(&mut received).await {
            LinkEvent::Worker { event: WorkerEvent::Drained, .. } => drained += 1,
            LinkEvent::Worker { event: WorkerEvent::Interval(_) | WorkerEvent::Totals(_), .. } => {}
            // Lanes wait for a core to see the end.
            LinkEvent::Worker { event: WorkerEvent::Outstanding { .. }, .. } => {}
            other => panic!("{other:?}"),
        }
    }
    drop(burners);
    link.shutdown().await.unwrap();
}
