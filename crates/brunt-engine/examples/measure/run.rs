//! One run of the engine, measured.

use std::sync::mpsc::channel;
use std::time::Instant;

use brunt_engine::{Engine, EngineOptions};
use brunt_plan::work::{
    Area, Arrivals, Backend, Conduct, Control, Generator, OpenFlag, Seek, Target, WorkerEvent, WorkerShare, Xfer,
};
use brunt_stats::{OpStats, SparseHistogram};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

/// Size of an I/O.
pub const BLOCK: u64 = 8192;

/// CPU time of the process so far.
pub fn cpu_ns() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_SELF).unwrap();
    let ns = |t: TimeVal| t.tv_sec() as f64 * 1e9 + t.tv_usec() as f64 * 1e3;
    ns(usage.user_time()) + ns(usage.system_time())
}

/// 8 KiB random reads of a file, for so many seconds.
pub fn share(
    path: &str,
    lanes: u32,
    size: u64,
    control: Control,
    arrivals: Arrivals,
    rate: f64,
    seconds: u32,
) -> WorkerShare {
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
        backend: Backend::Sync,
        polled: false,
        sight: None,
    };
    let generator = Generator {
        workload: 0,
        target: 0,
        stream: 1,
        rate,
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
        intervals: Some(seconds),
        lockstep: false,
        warmup_intervals: 1,
        conduct: Conduct::default(),
        seed: 1,
        control,
        arrivals,
        targets: vec![target],
        generators: vec![generator],
    }
}

/// What a run did.
#[derive(Debug, Default)]
pub struct Done {
    pub read: OpStats,
    pub response: SparseHistogram,
    pub due_to_done: SparseHistogram,
    pub length_ns: u64,
    pub cpu_ns: f64,
}

/// Runs a share with the usual options.
pub fn run(share: WorkerShare) -> Done {
    run_with(share, EngineOptions::default())
}

/// Runs a share.
pub fn run_with(share: WorkerShare, options: EngineOptions) -> Done {
    let (tx, rx) = channel();
    let events = Box::new(move |event| tx.send(event).unwrap());
    let prepared = Engine::prepare(share, options, events).unwrap();
    let before = cpu_ns();
    let running = prepared.start(Instant::now());
    let mut done = Done::default();
    for event in rx {
        match event {
            WorkerEvent::Interval(sample) => {
                done.length_ns = sample.end_ns;
                for pair in sample.pairs {
                    done.read.merge(&pair.cell.read);
                }
                done.response.merge(&sample.times.read.service.hist);
                done.due_to_done.merge(&sample.times.read.due.hist);
            }
            WorkerEvent::Totals(_) => {}
            WorkerEvent::Drained => break,
            other => println!("{other:?}"),
        }
    }
    done.cpu_ns = cpu_ns() - before;
    running.join();
    done
}
