//! What an I/O costs through the engine and through a bare loop, in CPU time of the whole process: a
//! second each, in turn, and the medians.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use brunt_engine::buffer::Buffer;
use brunt_engine::random::{Draws, Purpose};
use brunt_plan::work::{Arrivals, Control};
use brunt_stats::{Histogram, OpStats};

use crate::run::{BLOCK, cpu_ns, run, share};

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

fn engine_round(path: &str, lanes: u32, size: u64) -> (f64, f64) {
    let done = run(share(path, lanes, size, Control::Uncontrolled, Arrivals::Exponential, 0.0, 1));
    (done.cpu_ns / done.read.ops as f64, done.read.sum_ns as f64 / done.read.ops as f64)
}

/// CPU and response time of the bare loop, the measuring one, and the engine.
type Round = [(f64, f64); 3];

/// The middle one.
pub fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// Measures and prints.
pub fn overhead(path: &str, size: u64, lanes: u32, rounds: usize) {
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
