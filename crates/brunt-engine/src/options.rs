//! How the engine shall work, and why it cannot.

use std::io;

use brunt_plan::work::Backend;
use thiserror::Error;

/// How threads are bound to the cores of a worker.
///
/// No way wins where lanes block, so the one that cannot hurt is the default: a lane bound to one core waits when
/// something else runs there while another core is idle. `measure binding` on two busy cores, 8 KiB of a file in tmpfs
/// with O_DIRECT, medians of 7 rounds in turn, CPU per I/O and I/Os per second (rounds differ by 5 %):
///
/// | | 1 lane | 8 lanes | 32 lanes |
/// |---|---|---|---|
/// | 1 worker, free | 1843 ns 343k | 1826 ns 351k | 1786 ns 378k |
/// | 1 worker, its set | 1760 ns 368k | 1796 ns 373k | 1915 ns 366k |
/// | 1 worker, lane by lane | 1762 ns 381k | 1844 ns 369k | 1904 ns 370k |
/// | 2 workers, free | 1725 ns 387k | 1767 ns 363k | 1843 ns 387k |
/// | 2 workers, sets apart | 1718 ns 379k | 1879 ns 357k | 1819 ns 352k |
/// | 2 workers, lane by lane | 1740 ns 352k | 1738 ns 369k | 1770 ns 394k |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bind {
    /// Each to all of them: the system moves threads as it likes, within.
    #[default]
    Set,
    /// Lanes to one core each, in turn.
    Each,
}

/// How the engine shall work.
#[derive(Debug, Clone, Default)]
pub struct EngineOptions {
    /// Cores for the threads; empty: wherever the system likes.
    pub cores: Vec<usize>,
    /// Whether others have them too, other workers of the host above all: then no thread has one to itself.
    pub shared: bool,
    /// How threads are bound to them.
    pub bind: Bind,
}

impl EngineOptions {
    /// How many cores its threads may use.
    pub(crate) fn core_count(&self) -> usize {
        match self.cores.len() {
            // As many as the system says; where it does not, what is certain.
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        }
    }

    /// The cores of the n-th lane.
    pub(crate) fn cores_of(&self, lane: usize) -> &[usize] {
        match self.bind {
            Bind::Set => &self.cores,
            Bind::Each => {
                let place = lane % self.cores.len().max(1);
                self.cores.get(place..=place).unwrap_or_default()
            }
        }
    }
}

/// Why a share cannot be run.
#[derive(Debug, Error)]
pub enum EngineError {
    /// A target cannot be opened.
    #[error("cannot open {lun} of sd {sd} for {how}: {error}")]
    Open {
        /// Name of the SD.
        sd: String,
        /// Path.
        lun: String,
        /// `reading` or `reading and writing`.
        how: &'static str,
        /// What the system says.
        error: io::Error,
    },
    /// No memory for buffers.
    #[error("cannot map {bytes} bytes of buffers for {whom}: {error}")]
    Memory {
        /// A lane of an SD, or a thread.
        whom: String,
        /// How many.
        bytes: u64,
        /// What the system says.
        error: io::Error,
    },
    /// A back end cannot be had.
    #[error("{sds} cannot be served by {backend}: {reason}")]
    Backend {
        /// Names of the SDs, in words.
        sds: String,
        /// The back end.
        backend: Backend,
        /// Why.
        reason: String,
    },
    /// A thread cannot be made.
    #[error("cannot start thread {name}, number {count} of this worker: {error}")]
    Thread {
        /// Its name.
        name: String,
        /// How many there were.
        count: usize,
        /// What the system says.
        error: io::Error,
    },
    /// A lane cannot be bound to its core.
    #[error("cannot bind thread {name} to core {core}: {error}")]
    Pin {
        /// Name of the thread.
        name: String,
        /// Core.
        core: usize,
        /// What the system says.
        error: io::Error,
    },
    /// A worker has both targets on the virtual clock and others.
    #[error("sd {virtual_sd} lives on the virtual clock and sd {real_sd} does not; one worker cannot serve both")]
    MixedClocks {
        /// An SD on the virtual clock.
        virtual_sd: String,
        /// One that is not.
        real_sd: String,
    },
    /// The share contradicts itself.
    #[error("the share of worker {worker} cannot be run: {reason}")]
    Invalid {
        /// Label of the worker.
        worker: String,
        /// Why.
        reason: String,
    },
}
