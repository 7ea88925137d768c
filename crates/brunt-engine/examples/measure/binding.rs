//! Whether it pays to bind threads to cores: the same second of uncontrolled reads with each way of binding, in turn,
//! and the medians.

use brunt_engine::{Bind, EngineOptions};
use brunt_plan::work::{Arrivals, Control};
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

use crate::overhead::median;
use crate::run::{cpu_ns, run_with, share};

/// One way of binding: its name, and the cores and the binding of each worker.
struct Way {
    name: &'static str,
    workers: Vec<(Vec<usize>, Bind)>,
}

fn ways(cores: &[usize]) -> Vec<Way> {
    let (low, high) = cores.split_at(cores.len() / 2);
    let one = |name, cores: &[usize], bind| Way { name, workers: vec![(cores.to_vec(), bind)] };
    let two = |name, bind, low: &[usize], high: &[usize]| Way {
        name,
        workers: vec![(low.to_vec(), bind), (high.to_vec(), bind)],
    };
    vec![
        one("1 worker, free", &[], Bind::Set),
        one("1 worker, its set", cores, Bind::Set),
        one("1 worker, lane by lane", cores, Bind::Each),
        two("2 workers, free", Bind::Set, &[], &[]),
        two("2 workers, sets apart", Bind::Set, low, high),
        two("2 workers, lane by lane", Bind::Each, low, high),
    ]
}

/// CPU per I/O in ns, I/Os per second, and the 99th percentile of response times in µs.
fn round(path: &str, lanes: u32, size: u64, way: &Way) -> [f64; 3] {
    let workers = way.workers.len() as u32;
    let before = cpu_ns();
    let done: Vec<_> = std::thread::scope(|s| {
        let threads: Vec<_> = (way.workers.iter().zip(0..))
            .map(|((cores, bind), n)| {
                let mine = lanes / workers + u32::from(n < lanes % workers);
                let options = EngineOptions { cores: cores.clone(), bind: *bind, ..EngineOptions::default() };
                let share = share(path, mine, size, Control::Uncontrolled, Arrivals::Exponential, 0.0, 1);
                s.spawn(move || (mine > 0).then(|| run_with(share, options)))
            })
            .collect();
        threads.into_iter().filter_map(|t| t.join().unwrap()).collect()
    });
    let cpu = cpu_ns() - before;
    let ops: u64 = done.iter().map(|d| d.read.ops).sum();
    let rate = done.iter().map(|d| d.read.ops as f64 / (d.length_ns as f64 / 1e9)).sum();
    let slow = done.iter().filter_map(|d| d.response.quantile(0.99, 0, u64::MAX)).max().unwrap_or(0);
    [cpu / ops as f64, rate, slow as f64 / 1e3]
}

/// Measures and prints.
pub fn binding(path: &str, size: u64, lanes: u32, rounds: usize) {
    let mask = sched_getaffinity(Pid::from_raw(0)).unwrap();
    let cores: Vec<usize> = (0..CpuSet::count()).filter(|core| mask.is_set(*core).unwrap()).collect();
    let ways = ways(&cores);
    let mut all = vec![Vec::new(); ways.len()];
    for _ in 0..rounds {
        for (way, results) in ways.iter().zip(&mut all) {
            results.push(round(path, lanes, size, way));
        }
    }
    println!("{lanes} lanes on {} cores, 8 KiB of {size} bytes, medians of {rounds} rounds in turn:", cores.len());
    for (way, results) in ways.iter().zip(&all) {
        let of = |n: usize| median(results.iter().map(|r: &[f64; 3]| r[n]).collect());
        println!("{:24} {:6.0} ns CPU per I/O  {:8.0} I/Os per s  p99 {:7.1} us", way.name, of(0), of(1), of(2));
    }
}
