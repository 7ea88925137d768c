//! How the engine shall work, and why it cannot.

use std::io;

use thiserror::Error;

/// How the dispatcher of a paced run waits for the next due time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wait {
    /// Sleeps: 50 to 110 µs late, nearly no CPU.
    #[default]
    Sleep,
    /// Sleeps until 60 µs before, then watches the clock.
    Hybrid,
    /// Watches the clock: a whole core, on time.
    Spin,
}

/// How the engine shall work.
#[derive(Debug, Clone, Default)]
pub struct EngineOptions {
    /// Cores for the lanes, dealt in turn; empty: wherever the system likes.
    pub cores: Vec<usize>,
    /// How to wait for due times.
    pub wait: Wait,
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
    #[error("cannot map {bytes} bytes of buffers for a lane of sd {sd}: {error}")]
    Memory {
        /// Name of the SD.
        sd: String,
        /// How many for one lane.
        bytes: u64,
        /// What the system says.
        error: io::Error,
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
