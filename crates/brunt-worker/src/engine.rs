//! What the agent wants of an engine. One engine serves one worker: one run after the other.

use std::time::Instant;

pub use brunt_engine::Outstanding;
use brunt_plan::work::{WorkerEvent, WorkerShare};

/// Where an engine puts its events, from any of its threads. Never blocks.
pub type EventSink = Box<dyn Fn(WorkerEvent) + Send + Sync>;

/// Where a worker may run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placement {
    /// Numbers of CPUs, the best first; none: wherever the system likes.
    pub cpus: Vec<usize>,
    /// Whether other workers of the host have them too.
    pub shared: bool,
}

/// An engine.
pub trait WorkEngine: Send + Sync + 'static {
    /// Opens luns, allocates and makes ready. Blocks. `placement` says on which cores.
    ///
    /// # Errors
    /// What cannot be done, in a sentence with the SD's name.
    fn prepare(
        &self,
        share: WorkerShare,
        placement: Placement,
        events: EventSink,
    ) -> Result<Box<dyn PreparedWork>, String>;
}

/// A share that is ready. Dropped, it lets go of everything.
pub trait PreparedWork: Send {
    /// As [`RunningWork::drop_sd`], before the beginning. Does not block.
    fn drop_sd(&self, sd: u32);

    /// Begins at that instant, at once when it has passed. Does not block.
    fn start(self: Box<Self>, at: Instant) -> Box<dyn RunningWork>;
}

/// A share at work. [`WorkerEvent::Drained`] is its last event, whatever happens.
pub trait RunningWork: Send {
    /// Ends the work after that interval, or at once. Does not block.
    fn stop(&self, after_interval: Option<u32>);

    /// Lets work in lockstep begin that interval. Does not block.
    fn grant(&self, interval: u32);

    /// Begins no more I/O to an SD (its index in the plan); the others go on. Does not block.
    fn drop_sd(&self, sd: u32);

    /// What is out.
    fn outstanding(&self) -> Outstanding;

    /// Waits for the end and lets go of everything. Called after [`WorkerEvent::Drained`].
    fn join(self: Box<Self>);
}
