//! What the engine adds to a read of a target: it and a bare loop in turn, in short rounds, on the same target.
//!
//! The bare loop reads the clock before and after each `pread` and counts the time, and does nothing else. What the
//! machine does to one, it does to the other a moment later; so differences of a pair are firm where each alone is not.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

use brunt_stats::{Histogram, Spread, Timing};

use super::clock::cpu_ns;
use super::trial::{Trial, TrialError};
use crate::buffer::Buffer;
use crate::clock::now_ns;
use crate::random::{Draws, Purpose};

/// The engine beside the bare loop. Differences are engine less bare loop, one a pair of rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Beside {
    /// Median response time of the bare loop.
    pub bare: Spread,
    /// Median response time as the engine reports it.
    pub engine: Spread,
    /// Their differences.
    pub added: Spread,
    /// Differences of CPU time per read.
    pub added_cpu: Spread,
}

/// Why there is no comparison.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// The engine's part failed.
    #[error(transparent)]
    Trial(#[from] TrialError),
    /// The bare loop's part failed.
    #[error("a bare loop cannot read {lun}: {error}")]
    Bare {
        /// Path.
        lun: String,
        /// What the system says.
        error: io::Error,
    },
}

/// One round.
struct Round {
    p50_ns: f64,
    cpu_ns: f64,
}

/// So many pairs of rounds; a round takes the intervals of the trial and one more before. The order within a pair
/// alternates.
///
/// # Errors
/// See [`PathError`].
pub fn beside(trial: &Trial, pairs: u32) -> Result<Beside, PathError> {
    let bare_failed = |error| PathError::Bare { lun: trial.lun.clone(), error };
    let mut bare = Bare::open(trial).map_err(bare_failed)?;
    let mut rounds = Vec::with_capacity(pairs as usize);
    for pair in 0..pairs {
        let first = if pair % 2 == 0 { Some(bare.round(trial).map_err(bare_failed)?) } else { None };
        let engine = match engine_round(trial) {
            // Others had the CPU: no pair.
            Err(TrialError::Nothing(_)) => continue,
            round => round?,
        };
        let bare = match first {
            Some(round) => round,
            None => bare.round(trial).map_err(bare_failed)?,
        };
        rounds.push((bare, engine));
    }
    let spread = |of: fn(&(Round, Round)) -> f64| {
        Spread::of(rounds.iter().map(of)).ok_or_else(|| TrialError::Nothing(trial.lun.clone()))
    };
    Ok(Beside {
        bare: spread(|(bare, _)| bare.p50_ns)?,
        engine: spread(|(_, engine)| engine.p50_ns)?,
        added: spread(|(bare, engine)| engine.p50_ns - bare.p50_ns)?,
        added_cpu: spread(|(bare, engine)| engine.cpu_ns - bare.cpu_ns)?,
    })
}

fn engine_round(trial: &Trial) -> Result<Round, TrialError> {
    let outcome = trial.run()?;
    let p50 = outcome.response.quantile(0.5).ok_or_else(|| TrialError::Nothing(trial.lun.clone()))?;
    Ok(Round { p50_ns: p50 as f64, cpu_ns: outcome.cpu_ns as f64 / outcome.ops.max(1) as f64 })
}

/// The bare loop.
struct Bare {
    file: File,
    buffer: Buffer,
    draws: Draws,
    hist: Histogram,
}

impl Bare {
    fn open(trial: &Trial) -> io::Result<Self> {
        let flags = if trial.direct { libc::O_DIRECT } else { 0 };
        let file = OpenOptions::new().read(true).custom_flags(flags).open(&trial.lun)?;
        let buffer = Buffer::new(trial.block)?;
        Ok(Self { file, buffer, draws: Draws::new(1, 1, Purpose::Address), hist: Histogram::default() })
    }

    fn round(&mut self, trial: &Trial) -> io::Result<Round> {
        let (cpu, began) = (cpu_ns(), now_ns());
        let counts_from = began + trial.interval_ns;
        let ends = counts_from + trial.interval_ns * u64::from(trial.intervals);
        let blocks = (trial.size.saturating_sub(trial.first_byte()) / trial.block).max(1);
        let (mut timing, mut ops) = (Timing { min_ns: u64::MAX, ..Timing::default() }, 0);
        loop {
            let at = trial.first_byte() + self.draws.below(blocks) * trial.block;
            let issued = now_ns();
            self.read(at, trial.block)?;
            let done = now_ns();
            let ns = done.saturating_sub(issued);
            ops += 1;
            if done >= counts_from {
                (timing.min_ns, timing.max_ns) = (timing.min_ns.min(ns), timing.max_ns.max(ns));
                self.hist.record(ns);
            }
            if done >= ends {
                break;
            }
        }
        timing.hist = self.hist.take_sparse();
        // The last read counts, so there is one.
        let p50 = timing.quantile(0.5).unwrap_or_default();
        Ok(Round { p50_ns: p50 as f64, cpu_ns: cpu_ns().saturating_sub(cpu) as f64 / ops as f64 })
    }

    fn read(&mut self, at: u64, len: u64) -> io::Result<()> {
        let buffer = self.buffer.bytes();
        let len = buffer.len().min(len as usize);
        // SAFETY: the buffer is ours alone and at least `len` bytes long; the descriptor is open.
        let got = unsafe { libc::pread(self.file.as_raw_fd(), buffer.as_mut_ptr().cast(), len, at as libc::off_t) };
        match got {
            -1 => Err(io::Error::last_os_error()),
            got if got as usize == len => Ok(()),
            got => Err(io::Error::other(format!("{got} of {len} bytes at {at}"))),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::calibrate::memory::MemoryFile;
    use crate::calibrate::trial::tests::trial;

    #[test]
    fn both_are_measured_in_pairs() {
        let file = MemoryFile::new(1 << 20).unwrap();
        let found = beside(&trial(&file), 3).unwrap();
        for spread in [found.bare, found.engine] {
            // A round that a busy machine starved is left out.
            assert!((1..=3).contains(&spread.n) && spread.min_ns > 0.0 && spread.min_ns <= spread.max_ns, "{found:?}");
        }
        assert!(found.added.min_ns <= found.added.p50_ns && found.added_cpu.max_ns.is_finite(), "{found:?}");
    }

    #[test]
    fn a_bare_loop_that_cannot_read_says_so() {
        let file = MemoryFile::new(1 << 20).unwrap();
        let error = beside(&Trial { lun: "/no/such".into(), ..trial(&file) }, 1).unwrap_err();
        assert!(error.to_string().starts_with("a bare loop cannot read /no/such: "), "{error}");
    }
}
