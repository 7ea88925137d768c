//! From the workers to the one event stream, with what the agent adds of the host.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use brunt_plan::work::WorkerEvent;
use brunt_proto::bound::Bound;
use brunt_proto::v1::worker_message::Event;

use super::cpu::{CpuMeter, IoMeter};
use super::outbox::Outbox;
use super::witness::Witness;

/// Takes what workers report, in order for each worker.
#[derive(Clone)]
pub struct Relay {
    out: Outbox,
    cpu: Arc<Mutex<CpuMeter>>,
    io_cpu: Arc<Mutex<IoMeter>>,
    witness: Arc<Mutex<Witness>>,
    runs: Arc<Mutex<Runs>>,
    run_over: Arc<dyn Fn() + Send + Sync>,
}

/// Where the runs are.
#[derive(Debug, Default)]
struct Runs {
    /// Workers that have not drained.
    active: usize,
    /// Runs that all workers have drained.
    over: u64,
}

impl Relay {
    /// Makes a relay to `out`. `run_over` is called when the last worker of a run has drained, before the client hears
    /// of it.
    pub fn new(out: Outbox, run_over: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            out,
            cpu: Arc::default(),
            io_cpu: Arc::default(),
            witness: Arc::default(),
            runs: Arc::default(),
            run_over: Arc::new(run_over),
        }
    }

    /// The I/O threads of this process's own worker may use these cores in the next run.
    pub fn place(&self, cores: &[usize]) {
        lock(&self.io_cpu).place(cores);
    }

    /// Begins a run with so many workers: from now on the samples of `worker`, the first of them, carry the CPU times of
    /// the host. `witness` counts at its devices.
    pub fn prepare(&self, worker: Option<u32>, active: usize, virtual_clock: bool, witness: Witness) {
        lock(&self.cpu).prepare(worker, virtual_clock);
        lock(&self.io_cpu).prepare(virtual_clock);
        *lock(&self.witness) = witness;
        lock(&self.runs).active = active;
    }

    /// How many runs are over.
    pub fn runs_over(&self) -> u64 {
        lock(&self.runs).over
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

    /// Takes an event of this process's own worker in that run.
    pub fn own(&self, run_id: Option<u32>, worker: u32, mut event: WorkerEvent) {
        if let WorkerEvent::Interval(sample) = &mut event {
            sample.io_cpu = lock(&self.io_cpu).interval();
        }
        self.wire(run_id, worker, event.into());
    }

    /// How much may be printed on this host.
    pub fn bound(&self) -> Bound {
        self.out.bound()
    }

    /// Takes an event of a worker process in that run.
    pub fn wire(&self, run_id: Option<u32>, worker: u32, mut event: Event) {
        if let Event::Interval(sample) = &mut event {
            sample.cpu = lock(&self.cpu).interval(worker).map(Into::into);
        }
        if let Event::Drained(_) = &event {
            if let Some(devices) = lock(&self.witness).drained(worker) {
                self.out.push_of(run_id, worker, Event::Devices(devices));
            }
            self.drained();
        }
        self.out.push_of(run_id, worker, event);
    }

    fn drained(&self) {
        let last = {
            let mut runs = lock(&self.runs);
            let last = runs.active == 1;
            runs.active = runs.active.saturating_sub(1);
            runs.over += u64::from(last);
            last
        };
        if last {
            (self.run_over)();
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
