//! What merging costs: decodes the messages of many workers, merges them and makes the event, as the master does.
//!
//! `cargo run --release -p brunt-master --example merge -- --workers 1000 --sds 64 --ios 1000 --max-ms 100`
//! fails when an interval takes more CPU time than that.

mod fleet;

use std::process::ExitCode;

use brunt_event::{Event, Record};
use brunt_master::merge::{Merger, Shape};
use brunt_master::totals::Totals;
use brunt_plan::work::WorkerEvent;
use brunt_proto::{Report, v1};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use prost::Message;

/// Workers that really measure; the others repeat them.
const DIFFERENT: usize = 50;
/// Messages are in their steady state when every pair has had its turn.
const BEFORE: u32 = 16;

struct Asked {
    workers: usize,
    hosts: usize,
    sds: usize,
    ios: u64,
    intervals: u32,
    paced: bool,
    max_ms: f64,
}

impl Asked {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut asked =
            Self { workers: 1000, hosts: 100, sds: 64, ios: 1000, intervals: 9, paced: false, max_ms: f64::INFINITY };
        while let Some(flag) = args.next() {
            if flag == "--paced" {
                asked.paced = true;
                continue;
            }
            let value = args.next().ok_or(format!("{flag} needs a value"))?;
            let number = || value.parse::<u32>().map_err(|_| format!("{flag} {value}: not a number"));
            match flag.as_str() {
                "--workers" => asked.workers = number()?.max(1) as usize,
                "--hosts" => asked.hosts = number()?.max(1) as usize,
                "--sds" => asked.sds = number()?.max(1) as usize,
                "--ios" => asked.ios = number()?.into(),
                "--intervals" => asked.intervals = number()?.max(1),
                "--max-ms" => asked.max_ms = value.parse().map_err(|_| format!("{value}: not a number"))?,
                _ => return Err(format!("unknown option {flag}")),
            }
        }
        Ok(asked)
    }
}

/// CPU time of this thread.
fn cpu_ms() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).map(|u| u.user_time() + u.system_time());
    usage.map_or(f64::NAN, |time| time.num_microseconds() as f64 / 1e3)
}

/// Resident memory, MiB.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"));
    line.and_then(|l| l.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()).map_or(f64::NAN, |kb| kb / 1024.0)
}

/// Decodes, merges, adds to the totals and makes the event.
fn merge(merger: &mut Merger, totals: &mut Totals, messages: &[Vec<u8>], workers: usize) -> Result<Record, String> {
    for (worker, bytes) in (0..workers).zip(messages.iter().cycle()) {
        let message = v1::WorkerMessage::decode(bytes.as_slice()).map_err(|e| e.to_string())?;
        match <(u32, Report)>::try_from(message) {
            Ok((_, Report::Event(WorkerEvent::Interval(sample)))) => merger.add(worker, &sample),
            other => return Err(format!("{other:?}")),
        }
    }
    let merged = merger.next_complete().ok_or("the interval is not complete")?;
    totals.add(&merged, false);
    let event = Event::Interval(Box::new(merged.event(0, false, 0, merger.shape())));
    Ok(Record { at_ms: 0, event })
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[allow(clippy::print_stdout)]
fn run(asked: &Asked) -> Result<bool, String> {
    let shape = Shape {
        hosts: asked.hosts,
        worker_hosts: (0..asked.workers).map(|w| w % asked.hosts).collect(),
        active: vec![true; asked.workers],
        sds: (0..asked.sds as u32).map(|sd| (sd, sd)).collect(),
        workloads: 1,
        ..Shape::default()
    };
    let (mut merger, mut totals) = (Merger::new(shape, None), Totals::default());
    let mut workers: Vec<_> =
        (0..DIFFERENT.min(asked.workers) as u64).map(|seed| fleet::Worker::new(seed, asked.sds, asked.paced)).collect();
    for _ in 0..BEFORE {
        workers.iter_mut().for_each(|w| drop(w.interval(0, asked.ios)));
    }
    let (mut merging, mut writing, mut sizes, mut json) = (Vec::new(), Vec::new(), Vec::new(), 0);
    let before = resident();
    for number in 1..=asked.intervals {
        let messages: Vec<_> = workers.iter_mut().map(|w| w.interval(number, asked.ios).encode_to_vec()).collect();
        sizes.extend(messages.iter().map(|m| m.len() as f64 / 1024.0));
        let from = cpu_ms();
        let record = merge(&mut merger, &mut totals, &messages, asked.workers)?;
        let merged = cpu_ms();
        json = serde_json::to_string(&record).map_err(|e| e.to_string())?.len();
        merging.push(merged - from);
        writing.push(cpu_ms() - merged);
    }
    let ms = median(&mut merging);
    println!("{} workers x {} SDs x {} I/Os, paced: {}", asked.workers, asked.sds, asked.ios, asked.paced);
    println!("message: {:.1} KiB (median), {:.1} KiB (largest)", median(&mut sizes), sizes.last().unwrap_or(&f64::NAN));
    println!("decode and merge: {ms:.1} ms of CPU per interval; event to JSON: {:.1} ms", median(&mut writing));
    println!("event: {json} bytes, {} per SD", json / asked.sds);
    println!("resident memory: {:.1} MiB more, {:.1} MiB in all", resident() - before, resident());
    Ok(ms <= asked.max_ms)
}

#[allow(clippy::print_stderr)]
fn main() -> ExitCode {
    match Asked::parse(std::env::args().skip(1)).and_then(|asked| run(&asked)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("merging takes longer than --max-ms allows");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
