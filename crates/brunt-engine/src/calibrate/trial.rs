//! A run of the whole engine, for its numbers only: random reads of one target.

use std::sync::mpsc::channel;
use std::time::Instant;

use brunt_plan::work::{
    Area, Arrivals, Backend, Conduct, Control, Generator, OpenFlag, Seek, Target, WorkerEvent, WorkerShare, Xfer,
};
use brunt_stats::Timing;

use super::clock::cpu_ns;
use crate::engine::Engine;
use crate::options::{EngineError, EngineOptions};

/// What to run. It never writes.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Path; of no account on `null`.
    pub lun: String,
    /// Bytes of it that are read.
    pub size: u64,
    /// Whether it is a block device: its first block is left alone, as in every run.
    pub raw: bool,
    /// Whether it is opened with O_DIRECT.
    pub direct: bool,
    /// Size of a read.
    pub block: u64,
    /// Lanes.
    pub threads: u32,
    /// Reads per second, evenly spaced; `None`: as fast as it goes.
    pub rate: Option<f64>,
    /// What serves them.
    pub backend: Backend,
    /// Length of an interval, ns.
    pub interval_ns: u64,
    /// Intervals that count; one more comes before them.
    pub intervals: u32,
}

/// What came of it. The first interval counts in CPU time only.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// Response times, as a report would have them; none where nothing was read while it counted.
    pub response: Timing,
    /// Reads of each interval, and its length in ns.
    pub intervals: Vec<(u64, u64)>,
    /// Reads of all intervals.
    pub ops: u64,
    /// Reads that failed.
    pub errors: u64,
    /// CPU time of the process, from before the threads were made until after they were gone.
    pub cpu_ns: u64,
}

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The engine cannot run it.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// It began and could not go on.
    #[error("the engine stopped: {0}")]
    Fatal(String),
    /// Reads failed.
    #[error("{errors} of {ops} reads of {lun} failed")]
    Failed {
        /// How many.
        errors: u64,
        /// Of how many.
        ops: u64,
        /// Path.
        lun: String,
    },
    /// Nothing was read while it counted: the thread did not get a CPU.
    #[error("no read of {0} was done in time")]
    Nothing(String),
}

impl Trial {
    /// Runs it.
    ///
    /// # Errors
    /// See [`TrialError`].
    pub fn run(&self) -> Result<Outcome, TrialError> {
        let (sender, events) = channel();
        // Nobody listens any more when the run was given up.
        let sink = Box::new(move |event| drop(sender.send(event)));
        let before = cpu_ns();
        let running = Engine::prepare(self.share(), EngineOptions::default(), sink)?.start(Instant::now());
        let (mut outcome, mut fatal) = (Outcome::default(), None);
        for event in events {
            match event {
                WorkerEvent::Interval(sample) => {
                    let all = sample.pairs.iter().map(|pair| pair.cell.read);
                    let (ops, errors) = all.fold((0, 0), |sum, read| (sum.0 + read.ops, sum.1 + read.errors));
                    outcome.ops += ops;
                    outcome.errors += errors;
                    // The last sample holds what was in flight at the end, and is no interval.
                    if (2..=self.intervals + 1).contains(&sample.interval) {
                        outcome.response.merge(&sample.times.read.service);
                        outcome.intervals.push((ops, sample.end_ns.saturating_sub(sample.start_ns)));
                    }
                }
                WorkerEvent::Fatal(text) => fatal = Some(text),
                WorkerEvent::Drained => break,
                _ => {}
            }
        }
        running.join();
        outcome.cpu_ns = cpu_ns().saturating_sub(before);
        let lun = || self.lun.clone();
        match (fatal, outcome.errors) {
            (Some(text), _) => Err(TrialError::Fatal(text)),
            (None, 0) if outcome.ops == 0 => Err(TrialError::Nothing(lun())),
            (None, 0) => Ok(outcome),
            (None, errors) => Err(TrialError::Failed { errors, ops: outcome.ops, lun: lun() }),
        }
    }

    fn share(&self) -> WorkerShare {
        WorkerShare {
            worker: "calibrate".into(),
            run: "calibrate".into(),
            run_id: 0,
            interval_ns: self.interval_ns,
            intervals: Some(self.intervals + 1),
            warmup_intervals: 1,
            seed: 1,
            lockstep: false,
            control: if self.rate.is_some() { Control::Paced } else { Control::Uncontrolled },
            arrivals: Arrivals::Deterministic,
            conduct: Conduct::default(),
            targets: vec![self.target()],
            generators: vec![self.generator()],
        }
    }

    fn target(&self) -> Target {
        Target {
            sd: 0,
            name: "calibrate".into(),
            lun: self.lun.clone(),
            size: self.size,
            threads: self.threads,
            flags: if self.direct { vec![OpenFlag::Direct] } else { Vec::new() },
            write: false,
            create: false,
            raw: self.raw,
            sim: None,
            backend: self.backend,
            polled: false,
            sight: None,
        }
    }

    fn generator(&self) -> Generator {
        Generator {
            workload: 0,
            target: 0,
            stream: 1,
            rate: self.rate.unwrap_or_default(),
            priority: None,
            read_pct: 100.0,
            read_hit_pct: 0.0,
            write_hit_pct: 0.0,
            xfer: Xfer::Fixed(self.block),
            seek: Seek::Percent(100.0),
            miss: Area { low: self.first_byte(), high: self.size, wrap: None },
            hit: None,
            align: None,
            stride: None,
            hotband: None,
            streams: Vec::new(),
        }
    }

    /// The first byte that is read.
    pub fn first_byte(&self) -> u64 {
        if self.raw { self.block } else { 0 }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod tests {
    use super::*;
    use crate::calibrate::memory::MemoryFile;

    pub fn trial(file: &MemoryFile) -> Trial {
        Trial {
            lun: file.path(),
            size: file.size(),
            raw: false,
            direct: false,
            block: 8192,
            threads: 1,
            rate: None,
            backend: Backend::Sync,
            interval_ns: 5_000_000,
            intervals: 3,
        }
    }

    #[test]
    fn it_counts_what_it_ran() {
        let file = MemoryFile::new(1 << 20).unwrap();
        let outcome = trial(&file).run().unwrap();
        assert_eq!((outcome.intervals.len(), outcome.errors), (3, 0));
        let counted: u64 = outcome.intervals.iter().map(|(ops, _)| ops).sum();
        // A busy machine may leave intervals of milliseconds without any.
        assert!(counted <= outcome.ops && outcome.ops > 0, "{outcome:?}");
        assert_eq!(outcome.response.count(), counted);
        assert!(outcome.cpu_ns > 0);
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let file = MemoryFile::new(1 << 20).unwrap();
        let missing = Trial { lun: "/no/such/file".into(), ..trial(&file) }.run().unwrap_err();
        assert!(missing.to_string().starts_with("cannot open /no/such/file"), "{missing}");
        let beyond = Trial { size: 1 << 30, ..trial(&file) }.run().unwrap_err();
        assert!(beyond.to_string().contains(" reads of /proc/self/fd/"), "{beyond}");
    }
}
