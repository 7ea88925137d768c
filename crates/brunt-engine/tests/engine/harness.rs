//! Runs of shares, and their events.

use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use brunt_engine::{Engine, EngineError, EngineOptions, Running};
use brunt_plan::work::{IoFailure, SdTotals, WorkerEvent, WorkerShare};
use brunt_stats::{Cell, IntervalSample, OpTimes, PairSample, SparseHistogram};

pub use crate::shares::*;

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
