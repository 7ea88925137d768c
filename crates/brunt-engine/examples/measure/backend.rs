//! What an I/O costs through the engine by one back end, with full statistics.

use std::sync::mpsc::channel;
use std::time::Instant;

use brunt_engine::{Engine, EngineOptions};
use brunt_plan::work::{Arrivals, Backend, Control, WorkerEvent, WorkerShare};

use crate::overhead::median;
use crate::run::{run, share};

fn on(backend: Backend, path: &str, size: u64, lanes: u32) -> WorkerShare {
    let mut share = share(path, lanes, size, Control::Uncontrolled, Arrivals::Exponential, 0.0, 1);
    share.targets.iter_mut().for_each(|t| t.backend = backend);
    share
}

/// The back end of a name.
pub fn backend(name: &str) -> Option<Backend> {
    [Backend::Sync, Backend::Aio, Backend::Uring, Backend::Null].into_iter().find(|b| b.name() == name)
}

/// Runs a second at a time and prints the median of CPU time and of response time.
pub fn cost(backend: Backend, path: &str, size: u64, lanes: u32, rounds: usize) {
    let all: Vec<(f64, f64, f64)> = (0..rounds)
        .map(|_| {
            let done = run(on(backend, path, size, lanes));
            let ops = done.read.ops as f64;
            let p50 = done.response.quantile(0.5, done.read.min_ns, done.read.max_ns).unwrap_or(0);
            (done.cpu_ns / ops, ops / (done.length_ns as f64 / 1e9), p50 as f64)
        })
        .collect();
    let of = |f: fn(&(f64, f64, f64)) -> f64| median(all.iter().map(f).collect());
    let (cpu, rate, p50) = (of(|r| r.0), of(|r| r.1), of(|r| r.2));
    println!("{backend} lanes {lanes}: {cpu:.0} ns CPU per I/O, {rate:.0} I/Os per s, p50 {p50:.0} ns");
}

/// Does at least so many I/Os, and says how many they were: the difference of two such runs under an instruction counter
/// is what one I/O takes.
pub fn ios(backend: Backend, path: &str, size: u64, lanes: u32, count: u64) {
    let mut share = on(backend, path, size, lanes);
    (share.intervals, share.interval_ns) = (None, 50_000_000);
    let (tx, rx) = channel();
    let events = Box::new(move |event| tx.send(event).unwrap());
    let running = Engine::prepare(share, EngineOptions::default(), events).unwrap().start(Instant::now());
    let (mut done, mut total) = (0, 0);
    for event in rx {
        match event {
            WorkerEvent::Interval(sample) => {
                done += sample.pairs.iter().map(|p| p.cell.both().ops).sum::<u64>();
                if done >= count {
                    running.stop(None);
                }
            }
            WorkerEvent::Totals(totals) => total = totals.iter().map(|t| t.reads + t.writes).sum(),
            WorkerEvent::Drained => break,
            other => println!("{other:?}"),
        }
    }
    running.join();
    println!("{total} I/Os");
}
