//! Shares for tests, and their events.

use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use brunt_engine::{Engine, EngineError, EngineOptions, Running};
use brunt_plan::work::{
    Area, Arrivals, Backend, Conduct, Control, Generator, IoFailure, OpenFlag, SdTotals, Seek, SimSpec, Target,
    WorkerEvent, WorkerShare, Xfer,
};
use brunt_stats::{Cell, IntervalSample, OpTimes, PairSample, SparseHistogram};

pub const K: u64 = 1024;
pub const M: u64 = 1024 * K;
pub const SECOND: u64 = 1_000_000_000;

pub fn area(low: u64, high: u64) -> Area {
    Area { low, high, wrap: None }
}

/// Hits at 39 µs in the first mebibyte, misses at 200 µs.
pub fn spec() -> SimSpec {
    SimSpec {
        size: 100 * M,
        hit_area: M,
        hit_ns: 39_000,
        miss_ns: 200_000,
        jitter_ns: 0,
        error_rate: 0.0,
        freeze: None,
        virtual_clock: true,
        raw: false,
    }
}

pub fn sim(sd: u32, threads: u32, spec: SimSpec) -> Target {
    let mut target = file(sd, threads, "sim:a", spec.size);
    target.sim = Some(spec);
    target.backend = Backend::Sim;
    target
}

pub fn file(sd: u32, threads: u32, lun: &str, size: u64) -> Target {
    Target {
        sd,
        name: format!("sd{}", sd + 1),
        lun: lun.into(),
        size,
        threads,
        flags: Vec::new(),
        write: false,
        create: false,
        raw: false,
        sim: None,
        backend: Backend::Sync,
    }
}

pub fn direct(mut target: Target) -> Target {
    target.flags = vec![OpenFlag::Direct];
    target
}

/// 4 KiB random reads in the first mebibyte.
pub fn generator(target: u32) -> Generator {
    Generator {
        workload: 0,
        target,
        stream: u64::from(target) + 1,
        rate: 0.0,
        priority: None,
        read_pct: 100.0,
        read_hit_pct: 0.0,
        write_hit_pct: 0.0,
        xfer: Xfer::Fixed(4 * K),
        seek: Seek::Percent(100.0),
        miss: area(0, M),
        hit: None,
        align: None,
        stride: None,
        hotband: None,
        streams: Vec::new(),
    }
}

/// Half of the reads hit, as on the device of [`spec`].
pub fn half_hits(target: u32) -> Generator {
    Generator { read_hit_pct: 50.0, hit: Some(area(0, M)), miss: area(M, 100 * M), ..generator(target) }
}

pub fn share(intervals: Option<u32>, targets: Vec<Target>, generators: Vec<Generator>) -> WorkerShare {
    WorkerShare {
        worker: "localhost-0".into(),
        run: "rd1".into(),
        run_id: 0,
        interval_ns: SECOND,
        intervals,
        lockstep: false,
        warmup_intervals: 1,
        conduct: Conduct::default(),
        seed: 42,
        control: Control::Uncontrolled,
        arrivals: Arrivals::Exponential,
        targets,
        generators,
    }
}

pub fn paced(mut share: WorkerShare, arrivals: Arrivals) -> WorkerShare {
    (share.control, share.arrivals) = (Control::Paced, arrivals);
    share
}

/// Everything that a run told.
#[derive(Debug, Default, PartialEq)]
pub struct Told {
    pub samples: Vec<IntervalSample>,
    pub failures: Vec<IoFailure>,
    pub logs: Vec<String>,
    pub totals: Vec<SdTotals>,
    /// How many samples had come before `SequentialDone`.
    pub sequential_done: Option<usize>,
}

pub fn start(share: WorkerShare) -> Result<(Running, Receiver<WorkerEvent>), EngineError> {
    let (tx, rx) = channel();
    let events = Box::new(move |event| tx.send(event).unwrap());
    let prepared = Engine::prepare(share, EngineOptions::default(), events)?;
    Ok((prepared.start(Instant::now()), rx))
}

/// Runs a share and shows each event to `watch`, which may stop it.
pub fn run_watched(share: WorkerShare, mut watch: impl FnMut(&WorkerEvent, &Running)) -> Told {
    let (running, events) = start(share).unwrap();
    let mut told = Told::default();
    for event in &events {
        watch(&event, &running);
        match event {
            WorkerEvent::Interval(sample) => told.samples.push(*sample),
            WorkerEvent::Failure(failure) => told.failures.push(failure),
            WorkerEvent::Log(text) | WorkerEvent::Warning(text) => told.logs.push(text),
            WorkerEvent::SequentialDone => {
                assert_eq!(told.sequential_done.replace(told.samples.len()), None);
            }
            WorkerEvent::Fatal(_) | WorkerEvent::Outstanding { .. } => panic!("{event:?}"),
            WorkerEvent::Totals(totals) => told.totals = totals,
            WorkerEvent::Drained => break,
        }
    }
    running.join();
    assert_eq!(events.iter().count(), 0, "Drained is the last event");
    assert!(told.samples.iter().zip(1..).all(|(s, n)| s.interval == n));
    assert!(told.samples.windows(2).all(|w| w[0].end_ns == w[1].start_ns));
    told
}

pub fn run(share: WorkerShare) -> Told {
    run_watched(share, |_, _| ())
}

/// Runs until all data was gone through.
pub fn run_to_eof(share: WorkerShare) -> Told {
    run_watched(share, |event, running| {
        if *event == WorkerEvent::SequentialDone {
            running.stop(None);
        }
    })
}

impl Told {
    pub fn pairs(&self) -> impl Iterator<Item = &PairSample> {
        self.samples.iter().flat_map(|s| &s.pairs)
    }

    pub fn cell(&self, of: impl Fn(&PairSample) -> bool) -> Cell {
        let mut all = Cell::default();
        self.pairs().filter(|p| of(p)).for_each(|p| all.merge(&p.cell));
        all
    }

    pub fn reads(&self) -> SparseHistogram {
        let mut all = SparseHistogram::default();
        self.samples.iter().for_each(|s| all.merge(&s.times.read.service.hist));
        all
    }

    /// Reads and writes together.
    pub fn times(&self) -> OpTimes {
        let mut all = OpTimes::default();
        self.samples.iter().for_each(|s| all.merge(&s.times.both()));
        all
    }

    pub fn dues(&self) -> SparseHistogram {
        self.times().due.hist
    }
}
