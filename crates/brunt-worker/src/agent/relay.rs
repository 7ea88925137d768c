//! From the workers to the one event stream.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use brunt_plan::work::WorkerEvent;
use brunt_proto::v1::{WorkerMessage, worker_message::Event};
use tokio::sync::mpsc;

use super::cpu::CpuMeter;

/// What goes out; `None` ends the stream.
pub type Outgoing = mpsc::UnboundedReceiver<Option<WorkerMessage>>;

/// Takes what workers report, in order for each worker. The queue behind it has no bound: what may pile up
/// is bounded by what an engine reports per interval.
#[derive(Debug, Clone)]
pub struct Relay {
    out: mpsc::UnboundedSender<Option<WorkerMessage>>,
    cpu: Arc<Mutex<CpuMeter>>,
}

impl Relay {
    /// Makes a relay and its far end.
    pub fn new() -> (Self, Outgoing) {
        let (out, outgoing) = mpsc::unbounded_channel();
        (Self { out, cpu: Arc::default() }, outgoing)
    }

    /// Begins a run: from now on the samples of `worker` carry the CPU times of the host.
    pub fn prepare(&self, worker: Option<u32>, virtual_clock: bool) {
        self.meter().prepare(worker, virtual_clock);
    }

    /// Measures CPU times from that instant.
    pub fn start(&self, at: Instant) {
        let cpu = Arc::clone(&self.cpu);
        tokio::spawn(async move {
            tokio::time::sleep_until(at.into()).await;
            cpu.lock().unwrap_or_else(PoisonError::into_inner).start();
        });
    }

    /// Takes an event of this process's own worker.
    pub fn own(&self, worker: u32, event: WorkerEvent) {
        self.wire(worker, event.into());
    }

    /// Takes an event of a worker process.
    pub fn wire(&self, worker: u32, mut event: Event) {
        if let Event::Interval(sample) = &mut event {
            sample.cpu = self.meter().interval(worker).map(Into::into);
        }
        // Without a reader the client is gone and the process about to end.
        let _ = self.out.send(Some(WorkerMessage { worker, seq: 0, event: Some(event) }));
    }

    /// Ends the stream behind what was taken so far.
    pub fn close(&self) {
        let _ = self.out.send(None);
    }

    fn meter(&self) -> std::sync::MutexGuard<'_, CpuMeter> {
        self.cpu.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
