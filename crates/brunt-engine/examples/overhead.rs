//! What an I/O costs through the engine and through a bare loop, in CPU time of the whole process.
//!
//! `cargo run --release -p brunt-engine --example overhead -- FILE [LANES] [ROUNDS]` reads 8 KiB at
//! random from FILE for a second each, with O_DIRECT, in turn: the bare loop, the bare loop with two clock
//! readings and a histogram, the engine. It prints the median of each and of the differences.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use brunt_engine::buffer::Buffer;
use brunt_engine::random::{Draws, Purpose};
use brunt_engine::{Engine, EngineOptions};
use brunt_plan::work::{Area, Arrivals, Control, Generator, OpenFlag, Seek, Target, WorkerEvent, WorkerShare, Xfer};
use brunt_stats::{Histogram, OpStats};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

const BLOCK: u64 = 8192;

fn cpu_ns() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_SELF).unwrap();
    let ns = |t: TimeVal| t.tv_sec() as f64 * 1e9 + t.tv_usec() as f64 * 1e3;
    ns(usage.user_time()) + ns(usage.system_time())
}

fn open(path: &str) -> File {
    OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path).unwrap()
}

/// A loop without anything around it; returns its I/Os and their mean response time.
fn bare(path: &str, lane: u64, blocks: u64, measure: bool, stop: &AtomicBool) -> (u64, OpStats) {
    let (file, mut buffer) = (open(path), Buffer::new(BLOCK).unwrap());
    let mut draws = Draws::new(1, lane, Purpose::Address);
    let (mut hist, mut sums, mut n) = (Histogram::default(), OpStats::default(), 0);
    while !stop.load(Relaxed) {
        let at = draws.below(blocks) * BLOCK;
        let began = measure.then(Instant::now);
        assert_eq!(file.read_at(&mut buffer.bytes()[..BLOCK as usize], at).unwrap() as u64, BLOCK);
        if let Some(began) = began {
            let ns = began.elapsed().as_nanos() as u64;
            hist.record(ns);
            sums.record(BLOCK, ns, false);
        }
        n += 1;
    }
    (n, sums)
}

fn bare_round(path: &str, lanes: u32, blocks: u64, measure: bool) -> (f64, f64) {
    let stop = AtomicBool::new(false);
    let before = cpu_ns();
    let (n, sums) = std::thread::scope(|s| {
        let stop = &stop;
        let threads: Vec<_> =
            (0..lanes).map(|lane| s.spawn(move || bare(path, lane.into(), blocks, measure, stop))).collect();
        std::thread::sleep(Duration::from_secs(1));
        stop.store(true, Relaxed);
        let mut all = (0, OpStats::default());
        for (n, sums) in threads.into_iter().map(|t| t.join().unwrap()) {
            all.0 += n;
            all.1.merge(&sums);
        }
        all
    });
    ((cpu_ns() - before) / n as f64, sums.sum_ns as f64 / sums.ops.max(1) as f64)
}

fn share(path: &str, lanes: u32, size: u64) -> WorkerShare {
    let target = Target {
        sd: 0,
        name: "sd1".into(),
        lun: path.into(),
        size,
        threads: lanes,
        flags: vec![OpenFlag::Direct],
        write: false,
        create: false,
        raw: false,
        sim: None,
    };
    let generator = Generator {
        workload: 0,
        target: 0,
        stream: 1,
        rate: 0.0,
        priority: None,
        read_pct: 100.0,
        read_hit_pct: 0.0,
        write_hit_pct: 0.0,
        xfer: Xfer::Fixed(BLOCK),
        seek: Seek::Percent(100.0),
        miss: Area { low: 0, high: size, wrap: None },
        hit: None,
        align: None,
        stride: None,
        hotband: None,
        streams: Vec::new(),
    };
    WorkerShare {
        worker: "localhost-0".into(),
        run: "rd1".into(),
        run_id: 0,
        interval_ns: 1_000_000_000,
        intervals: Some(1),
        seed: 1,
        control: Control::Uncontrolled,
        arrivals: Arrivals::Exponential,
        targets: vec![target],
        generators: vec![generator],
    }
}

fn engine_round(path: &str, lanes: u32, size: u64) -> (f64, f64) {
    let (tx, rx) = channel();
    let events = Box::new(move |event| tx.send(event).unwrap());
    let prepared = Engine::prepare(share(path, lanes, size), EngineOptions::default(), events).unwrap();
    let before = cpu_ns();
    let running = prepared.start(Instant::now());
    let mut read = OpStats::default();
    for event in rx {
        match event {
            WorkerEvent::Interval(sample) => sample.pairs.iter().for_each(|p| read.merge(&p.cell.read)),
            WorkerEvent::Drained => break,
            other => println!("{other:?}"),
        }
    }
    let cpu = cpu_ns() - before;
    running.join();
    (cpu / read.ops as f64, read.sum_ns as f64 / read.ops as f64)
}

/// CPU and response time of the bare loop, the measuring one, and the engine.
type Round = [(f64, f64); 3];

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let path = args.get(1).expect("a file to read from");
    let lanes = args.get(2).map_or(1, |n| n.parse().unwrap());
    let rounds: usize = args.get(3).map_or(9, |n| n.parse().unwrap());
    let size = std::fs::metadata(path).unwrap().len() / BLOCK * BLOCK;
    let all: Vec<Round> = (0..rounds)
        .map(|_| {
            let bare = |measure| bare_round(path, lanes, size / BLOCK, measure);
            [bare(false), bare(true), engine_round(path, lanes, size)]
        })
        .collect();
    let of = |f: &dyn Fn(&Round) -> f64| median(all.iter().map(f).collect());
    println!("CPU ns per I/O, median of {rounds} rounds, {lanes} lanes, 8 KiB of {size} bytes:");
    println!("bare                 {:7.0}", of(&|r| r[0].0));
    println!("bare, clock and hist {:7.0}   mean response {:7.0} ns", of(&|r| r[1].0), of(&|r| r[1].1));
    println!("engine               {:7.0}   mean response {:7.0} ns", of(&|r| r[2].0), of(&|r| r[2].1));
    println!("engine - bare        {:7.0}", of(&|r| r[2].0 - r[0].0));
    println!("engine / bare        {:7.3}", of(&|r| r[2].0 / r[0].0));
}
