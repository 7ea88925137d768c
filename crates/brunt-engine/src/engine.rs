//! A run of one worker, from its share to its last event.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use brunt_plan::work::{Backend, Target, WorkerShare};

use crate::assembly::{Assembly, check};
use crate::clock::{now_ns, ns_of};
use crate::device::Device;
use crate::device::open::OpenFile;
use crate::device::sim::SimDevice;
use crate::options::{EngineError, EngineOptions};
use crate::priority::come_first;
use crate::random::mix;
use crate::record::ThreadLog;
use crate::removal::Exits;
use crate::reporter::{Events, Reporter};
use crate::shared::Shared;
use crate::threads::{Crowd, Roster, spawn};
use crate::virtual_time::VirtualRun;

/// Runs shares.
#[derive(Debug)]
pub struct Engine;

/// A run with everything open, allocated and waiting for its start. Dropping it ends its threads.
#[derive(Debug)]
pub struct Prepared {
    shared: Arc<Shared>,
    logs: Arc<[Arc<ThreadLog>]>,
    targets: Arc<[Target]>,
    exits: Arc<Exits>,
    devices: Vec<Device>,
    main: Option<JoinHandle<()>>,
}

/// A run that was started. It ends by itself after its intervals, or when stopped; `Drained` is its last
/// event.
#[derive(Debug)]
pub struct Running {
    shared: Arc<Shared>,
    logs: Arc<[Arc<ThreadLog>]>,
    targets: Arc<[Target]>,
    exits: Arc<Exits>,
    main: Option<JoinHandle<()>>,
}

/// I/Os that are out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outstanding {
    /// How many.
    pub count: u64,
    /// Age of the oldest.
    pub oldest: Duration,
    /// The SD of the oldest (its index in the plan) and its lun.
    pub on: Option<(u32, String)>,
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
    let all: Vec<usize> = (0..share.targets.len()).collect();
    let mut assembly = Assembly::new(share, 1);
    let shared = Arc::clone(&assembly.shared);
    let (crew, writer) = assembly.crew(&all);
    let dispatcher = assembly.dispatcher(&all);
    let (collector, exits) = assembly.finish();
    let sim = |t: &Target| t.sim.map(|spec| Arc::new(SimDevice::new(spec, share.seed, t.sd)));
    let devices = share.targets.iter().filter_map(sim).collect();
    let reporter = Reporter::new(collector, Arc::clone(&shared), events, share.intervals, share.interval_ns);
    let mut run = VirtualRun::new(share, (crew, writer, dispatcher), devices, Arc::clone(&shared), reporter);
    let main = spawn("virtual".into(), 0, None, move || run.run())?;
    let (exits, targets) = (Arc::new(exits), share.targets.clone().into());
    // Nothing is outstanding in real time.
    Ok(Prepared { shared, logs: Arc::from([]), targets, exits, devices: Vec::new(), main: Some(main) })
}

fn open(target: &Target, seed: u64) -> Result<Device, EngineError> {
    if let Some(spec) = target.sim {
        return Ok(Device::Sim(Arc::new(SimDevice::new(spec, seed, target.sd))));
    }
    if target.backend == Backend::Null {
        return Ok(Device::Null);
    }
    let how = if target.write { "reading and writing" } else { "reading" };
    let failed = |error| EngineError::Open { sd: target.name.clone(), lun: target.lun.clone(), how, error };
    Ok(Device::File(Arc::new(OpenFile::open(target).map_err(failed)?)))
}

fn prepare_real(share: WorkerShare, options: &EngineOptions, events: Events) -> Result<Prepared, EngineError> {
    let devices: Vec<_> = share.targets.iter().map(|t| open(t, share.seed)).collect::<Result<_, _>>()?;
    let roster = Roster::new(&share.targets, options.core_count());
    let mut assembly = Assembly::new(&share, roster.dispatchers());
    let shared = Arc::clone(&assembly.shared);
    let (ready, all_ready) = mpsc::channel();
    let (notes, all_notes) = mpsc::channel();
    let salt = mix(mix(share.seed) ^ now_ns());
    let mut crowd = Crowd::new(&share, options, &devices, roster.dispatchers(), (ready, notes), salt);
    let made = (roster.reactors.iter().try_for_each(|(kind, mine)| crowd.reactor(&mut assembly, *kind, mine)))
        .and_then(|()| crowd.blocking(&mut assembly, &roster.blocking));
    let threads = crowd.into_threads();
    let (bell, queues) = (Arc::clone(&assembly.bell), assembly.queues.clone());
    let (collector, exits) = assembly.finish();
    let logs = collector.threads().into();
    let reporter = Reporter::new(collector, Arc::clone(&shared), events, share.intervals, share.interval_ns);
    let wake = move || {
        bell.ring();
        queues.iter().for_each(|q| q.wake_all());
    };
    let targets: Arc<[Target]> = share.targets.into();
    let (main_shared, main_devices, main_targets) = (Arc::clone(&shared), devices.clone(), Arc::clone(&targets));
    let main = move || run_real(reporter, &main_shared, threads, (wake, all_notes), &main_devices, &main_targets);
    let main = spawn("collector".into(), 0, None, main).inspect_err(|_| shared.gate.cancel())?;
    // From here on an error sends home the threads that are there: `prepared` does when dropped.
    let prepared = Prepared { shared, logs, targets, exits: Arc::new(exits), devices, main: Some(main) };
    made?;
    all_ready.iter().collect::<Result<(), _>>()?;
    Ok(prepared)
}

/// The collector's thread.
fn run_real(
    mut reporter: Reporter,
    shared: &Shared,
    threads: Vec<(String, JoinHandle<()>)>,
    (wake, notes): (impl Fn(), Receiver<String>),
    devices: &[Device],
    targets: &[Target],
) {
    come_first();
    let start = shared.gate.wait();
    if let Some(start_ns) = start {
        notes.try_iter().for_each(|note| reporter.log(note));
        reporter.start(start_ns);
        reporter.run();
    }
    shared.stop_lanes();
    wake();
    for (name, thread) in threads {
        if thread.join().is_err() {
            reporter.fatal(format!("thread {name} ended unexpectedly; this is a defect of the program"));
        }
    }
    if start.is_some() {
        reporter.finish(devices, targets);
    }
}

impl Prepared {
    /// Starts at an instant, which may have passed.
    pub fn start(mut self, at: Instant) -> Running {
        let start_ns = ns_of(at);
        self.devices.iter().for_each(|d| d.started(start_ns));
        self.shared.gate.open(start_ns);
        let (shared, exits) = (Arc::clone(&self.shared), Arc::clone(&self.exits));
        let (logs, targets) = (Arc::clone(&self.logs), Arc::clone(&self.targets));
        Running { shared, logs, targets, exits, main: self.main.take() }
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

    /// What is in flight.
    pub fn outstanding(&self) -> Outstanding {
        let now = now_ns();
        let issued = || self.logs.iter().flat_map(|log| log.issued());
        let Some((oldest_ns, target)) = issued().min() else { return Outstanding::default() };
        let on = self.targets.get(target as usize).map(|t| (t.sd, t.lun.clone()));
        let oldest = Duration::from_nanos(now.saturating_sub(oldest_ns));
        Outstanding { count: issued().count() as u64, oldest, on }
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
