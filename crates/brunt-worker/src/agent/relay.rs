//! From the workers to the one event stream, with what the agent adds of the host.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use brunt_plan::work::WorkerEvent;
use brunt_proto::v1::{WorkerMessage, worker_message::Event};
use tokio::sync::mpsc;

use super::cpu::{CpuMeter, IoMeter};
use super::witness::Witness;

/// What goes out; `None` ends the stream.
pub type Outgoing = mpsc::UnboundedReceiver<Option<WorkerMessage>>;

/// Takes what workers report, in order for each worker. The queue behind it has no bound: what may pile up
/// is bounded by what an engine reports per interval.
#[derive(Debug, Clone)]
pub struct Relay {
    out: mpsc::UnboundedSender<Option<WorkerMessage>>,
    cpu: Arc<Mutex<CpuMeter>>,
    io_cpu: Arc<Mutex<IoMeter>>,
    witness: Arc<Mutex<Witness>>,
}

impl Relay {
    /// Makes a relay and its far end.
    pub fn new() -> (Self, Outgoing) {
        let (out, outgoing) = mpsc::unbounded_channel();
        (Self { out, cpu: Arc::default(), io_cpu: Arc::default(), witness: Arc::default() }, outgoing)
    }

    /// The I/O threads of this process's own worker may use these cores in the next run.
    pub fn place(&self, cores: &[usize]) {
        lock(&self.io_cpu).place(cores);
    }

    /// Begins a run: from now on the samples of `worker` carry the CPU times of the host. `witness` counts at its devices.
    pub fn prepare(&self, worker: Option<u32>, virtual_clock: bool, witness: Witness) {
        lock(&self.cpu).prepare(worker, virtual_clock);
        lock(&self.io_cpu).prepare(virtual_clock);
        *lock(&self.witness) = witness;
    }

    /// Measures CPU times from that instant, and what devices do from now on.
    pub fn start(&self, at: Instant) {
        lock(&self.witness).start();
        let (cpu, io_cpu) = (Arc::clone(&self.cpu), Arc::clone(&self.io_cpu));
        tokio::spawn(async move {
            tokio::time::sleep_until(at.into()).await;
            lock(&cpu).start();
            lock(&io_cpu).start();
        });
    }

    /// Takes an event of this process's own worker.
    pub fn own(&self, worker: u32, mut event: WorkerEvent) {
        if let WorkerEvent::Interval(sample) = &mut event {
            sample.io_cpu = lock(&self.io_cpu).interval();
        }
        self.wire(worker, event.into());
    }

    /// Takes an event of a worker process.
    pub fn wire(&self, worker: u32, mut event: Event) {
        if let Event::Interval(sample) = &mut event {
            sample.cpu = lock(&self.cpu).interval(worker).map(Into::into);
        }
        if let Event::Drained(_) = &event
            && let Some(devices) = lock(&self.witness).drained(worker)
        {
            self.send(worker, Event::Devices(devices));
        }
        self.send(worker, event);
    }

    fn send(&self, worker: u32, event: Event) {
        // Without a reader the client is gone and the process about to end.
        let _ = self.out.send(Some(WorkerMessage { worker, event: Some(event) }));
    }

    /// Ends the stream behind what was taken so far.
    pub fn close(&self) {
        let _ = self.out.send(None);
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
