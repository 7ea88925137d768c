//! A run of one worker, from its share to its last event.

use std::sync::Arc;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use brunt_plan::work::{Target, WorkerShare};

use crate::affinity;
use crate::assembly::{Assembly, assemble, check};
use crate::clock::{now_ns, ns_of};
use crate::device::Device;
use crate::device::sim::SimDevice;
use crate::device::sync::SyncDevice;
use crate::lane::Lane;
use crate::options::{EngineError, EngineOptions};
use crate::pacer::Pacer;
use crate::random::mix;
use crate::record::LaneLog;
use crate::removal::Exits;
use crate::reporter::{Events, Reporter};
use crate::shared::Shared;
use crate::virtual_time::VirtualRun;

/// Small: a lane calls nothing deep, and there may be thousands.
const LANE_STACK: usize = 128 * 1024;

/// Runs shares.
#[derive(Debug)]
pub struct Engine;

/// A run with everything open, allocated and waiting for its start. Dropping it ends its threads.
#[derive(Debug)]
pub struct Prepared {
    shared: Arc<Shared>,
    lanes: Arc<[Arc<LaneLog>]>,
    exits: Arc<Exits>,
    devices: Vec<Arc<dyn Device>>,
    main: Option<JoinHandle<()>>,
}

/// A run that was started. It ends by itself after its intervals, or when stopped; `Drained` is its last
/// event.
#[derive(Debug)]
pub struct Running {
    shared: Arc<Shared>,
    lanes: Arc<[Arc<LaneLog>]>,
    exits: Arc<Exits>,
    main: Option<JoinHandle<()>>,
}

/// Threads of a run in real time.
struct Threads {
    lanes: Vec<(String, JoinHandle<()>)>,
    pacer: Option<JoinHandle<()>>,
}

impl Engine {
    /// Opens the targets, maps the buffers and makes all threads, which then wait for the start.
    ///
    /// `events` is called by one thread, in order; when it blocks, samples come late and lanes go on.
    ///
    /// # Errors
    /// See [`EngineError`]. Nothing was read or written then; missing files may have been created.
    pub fn prepare(
        share: WorkerShare,
        options: EngineOptions,
        events: Box<dyn Fn(brunt_plan::work::WorkerEvent) + Send + Sync>,
    ) -> Result<Prepared, EngineError> {
        check(&share)?;
        if share.targets.iter().any(|t| t.sim.is_some_and(|s| s.virtual_clock)) {
            return prepare_virtual(&share, events);
        }
        prepare_real(share, &options, events)
    }
}

fn prepare_virtual(share: &WorkerShare, events: Events) -> Result<Prepared, EngineError> {
    let (assembly, exits) = assemble(share);
    let exits = Arc::new(exits);
    let sim = |t: &Target| t.sim.map(|spec| Arc::new(SimDevice::new(spec, share.seed, t.sd)));
    let devices = share.targets.iter().filter_map(sim).collect();
    let shared = Arc::clone(&assembly.shared);
    let mut run = VirtualRun::new(share, assembly, devices, events);
    let main = spawn("virtual".into(), 0, None, move || run.run())?;
    // Nothing is outstanding in real time.
    Ok(Prepared { shared, lanes: Arc::from([]), exits, devices: Vec::new(), main: Some(main) })
}

fn open(target: &Target, seed: u64) -> Result<Arc<dyn Device>, EngineError> {
    if let Some(spec) = target.sim {
        return Ok(Arc::new(SimDevice::new(spec, seed, target.sd)));
    }
    let how = if target.write { "reading and writing" } else { "reading" };
    let failed = |error| EngineError::Open { sd: target.name.clone(), lun: target.lun.clone(), how, error };
    Ok(Arc::new(SyncDevice::open(target).map_err(failed)?))
}

fn prepare_real(share: WorkerShare, options: &EngineOptions, events: Events) -> Result<Prepared, EngineError> {
    let devices: Vec<_> = share.targets.iter().map(|t| open(t, share.seed)).collect::<Result<_, _>>()?;
    let (Assembly { shared, seats, collector, dispatcher, bell, queues, needs }, exits) = assemble(&share);
    let exits = Arc::new(exits);
    let lanes: Arc<[_]> = collector.lanes().into();
    // From here on an error must send home the threads that are there: `prepared` does when dropped.
    let mut prepared = Prepared { shared: Arc::clone(&shared), lanes, exits, devices: devices.clone(), main: None };
    let (ready, all_ready) = mpsc::channel();
    let salt = mix(mix(share.seed) ^ now_ns());
    let mut threads = Threads { lanes: Vec::new(), pacer: None };
    for (n, seat) in seats.into_iter().enumerate() {
        let (target, need) = (&share.targets[seat.target], needs[seat.target]);
        let name = format!("io-{}-{}", target.name, seat.lane);
        let failed = |error| EngineError::Memory { sd: target.name.clone(), bytes: need.read + need.write, error };
        let device = Arc::clone(&devices[seat.target]);
        let mut lane = Lane::new(seat, device, need, mix(salt ^ n as u64)).map_err(failed)?;
        let cores = options.cores_of(n).to_vec();
        let (ready, thread_name) = (ready.clone(), name.clone());
        let work = move || {
            let pinned = pin(&thread_name, &cores);
            lane.warm();
            // Nobody listens when another thread could not be made.
            let _ = ready.send(pinned);
            drop(ready);
            lane.run();
        };
        threads.lanes.push((name.clone(), spawn(name, n, Some(LANE_STACK), work)?));
    }
    if let Some(dispatcher) = dispatcher {
        let mut pacer = Pacer::new(dispatcher, Arc::clone(&bell), Arc::clone(&shared), options.wait, &share);
        let cores = options.cores.clone();
        let work = move || {
            // Where it runs matters less than that it runs: lanes have answered for the cores.
            let _ = pin("pacer", &cores);
            pacer.run();
        };
        threads.pacer = Some(spawn("pacer".into(), threads.lanes.len(), None, work)?);
    }
    drop(ready);
    all_ready.iter().collect::<Result<(), _>>()?;
    let reporter = Reporter::new(collector, Arc::clone(&shared), events, share.intervals, share.interval_ns);
    let stop = move || {
        bell.ring();
        queues.iter().for_each(|q| q.wake_all());
    };
    let targets = share.targets;
    let main = move || run_real(reporter, &shared, threads, stop, &devices, &targets);
    prepared.main = Some(spawn("collector".into(), 0, None, main)?);
    Ok(prepared)
}

/// The collector's thread.
fn run_real(
    mut reporter: Reporter,
    shared: &Shared,
    threads: Threads,
    wake: impl Fn(),
    devices: &[Arc<dyn Device>],
    targets: &[Target],
) {
    let start = shared.gate.wait();
    if let Some(start_ns) = start {
        reporter.start(start_ns);
        reporter.run();
    }
    shared.stop_lanes();
    wake();
    for (name, thread) in threads.lanes {
        if thread.join().is_err() {
            reporter.fatal(format!("thread {name} ended unexpectedly; this is a defect of the program"));
        }
    }
    if threads.pacer.is_some_and(|t| t.join().is_err()) {
        reporter.fatal("the pacer ended unexpectedly; this is a defect of the program".into());
    }
    if start.is_some() {
        reporter.finish(devices, targets);
    }
}

fn spawn(
    name: String,
    count: usize,
    stack: Option<usize>,
    work: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, EngineError> {
    let builder = thread::Builder::new().name(name.clone());
    let builder = match stack {
        Some(bytes) => builder.stack_size(bytes),
        None => builder,
    };
    builder.spawn(work).map_err(|error| EngineError::Thread { name, count: count + 1, error })
}

/// Binds the calling thread to cores; none: anywhere.
fn pin(name: &str, cores: &[usize]) -> Result<(), EngineError> {
    let Some(first) = cores.first() else { return Ok(()) };
    affinity::bind(cores).map_err(|error| EngineError::Pin { name: name.into(), core: *first, error })
}

impl Prepared {
    /// Starts at an instant, which may have passed.
    pub fn start(mut self, at: Instant) -> Running {
        let start_ns = ns_of(at);
        self.devices.iter().for_each(|d| d.started(start_ns));
        self.shared.gate.open(start_ns);
        let (shared, lanes, exits) = (Arc::clone(&self.shared), Arc::clone(&self.lanes), Arc::clone(&self.exits));
        Running { shared, lanes, exits, main: self.main.take() }
    }

    /// As [`Running::drop_sd`], before the start.
    pub fn drop_sd(&self, sd: u32) {
        self.exits.remove(sd);
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        self.shared.gate.cancel();
        if let Some(main) = self.main.take() {
            // A panic was told as Fatal, or is the caller's own.
            let _ = main.join();
        }
    }
}

impl Running {
    /// Ends the run after an interval (counted from 1), or at once with a last, shorter sample. Of
    /// several wishes the earliest holds. I/Os in flight are awaited.
    pub fn stop(&self, after_interval: Option<u32>) {
        self.shared.ask_stop(after_interval);
    }

    /// Lets a run in lockstep ([`WorkerShare::lockstep`]) begin an interval, counted from 1, and those before it.
    pub fn grant(&self, interval: u32) {
        self.shared.grant(interval);
    }

    /// Starts no more I/O to an SD (its index in the plan) for the rest of the run; what is in flight comes back. The
    /// others go on at their own rates.
    pub fn drop_sd(&self, sd: u32) {
        self.exits.remove(sd);
    }

    /// How many I/Os are in flight, and the age of the oldest.
    pub fn outstanding(&self) -> (u64, Duration) {
        let now = now_ns();
        let issued = || self.lanes.iter().filter_map(|l| l.issued_ns());
        let age = issued().min().map_or(0, |oldest| now.saturating_sub(oldest));
        (issued().count() as u64, Duration::from_nanos(age))
    }

    /// Whether all is over, so that [`Running::join`] will not wait.
    pub fn is_finished(&self) -> bool {
        self.main.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits until all I/Os are done and `Drained` was sent. An I/O that never returns keeps it
    /// waiting: see [`Running::outstanding`].
    pub fn join(mut self) {
        if let Some(main) = self.main.take() {
            let _ = main.join();
        }
    }
}
