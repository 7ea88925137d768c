//! The threads of a run in real time: which there are, and what each of them serves.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};

use brunt_plan::work::{Backend, OpenFlag, Target, WorkerShare};

use crate::affinity;
use crate::assembly::Assembly;
use crate::device::Device;
use crate::device::open::{OpenFile, room_for};
use crate::lane::Lane;
use crate::options::{EngineError, EngineOptions};
use crate::pacer::Pacer;
use crate::port::aio::AioPort;
use crate::port::null::NullPort;
use crate::port::sim::SimPort;
use crate::port::uring::UringPort;
use crate::port::{Outfit, Port};
use crate::random::mix;
use crate::reactor::{Trouble, Works};
use crate::watch::{Watch, has_core, set_fine_timer, wants_fine_timer};

/// Small: a lane calls nothing deep, and there may be thousands.
const LANE_STACK: usize = 128 * 1024;

/// Says whether a thread is ready.
pub type Ready = Sender<Result<(), EngineError>>;

/// What is worth a line in the log.
pub type Notes = Sender<String>;

/// The targets of a worker by what serves them, as indices in its share.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Roster {
    /// A thread for each lane.
    pub blocking: Vec<usize>,
    /// One thread for all lanes of these targets, which have one back end.
    pub reactors: Vec<(Backend, Vec<usize>)>,
}

/// What serves a target. A simulated one can be served by nothing else.
fn backend(target: &Target) -> Backend {
    if target.sim.is_some() { Backend::Sim } else { target.backend }
}

/// Whether the ring of a target polls its device, which it can do for direct I/O alone, and for nothing else beside.
fn polled(target: &Target) -> bool {
    target.polled && target.flags.contains(&OpenFlag::Direct)
}

impl Roster {
    /// At most one reactor of each back end for each core; rings that poll count as one of their own. Targets go whole to the one that has fewest lanes, those
    /// with most lanes first.
    pub fn new(targets: &[Target], cores: usize) -> Self {
        let all = |wanted| targets.iter().enumerate().filter(move |(_, t)| backend(t) == wanted);
        let blocking = all(Backend::Sync).map(|(n, _)| n).collect();
        let mut roster = Self { blocking, reactors: Vec::new() };
        let ordinary = [Backend::Aio, Backend::Uring, Backend::Sim, Backend::Null].map(|kind| (kind, false));
        for (kind, polling) in ordinary.into_iter().chain([(Backend::Uring, true)]) {
            let polls = |t: &Target| kind == Backend::Uring && polled(t);
            let mut mine: Vec<usize> = all(kind).filter(|(_, t)| polls(t) == polling).map(|(n, _)| n).collect();
            let lanes = |n: &usize| targets.get(*n).map_or(0, |t| u64::from(t.threads));
            mine.sort_by_key(|n| std::cmp::Reverse(lanes(n)));
            let mut hands: Vec<(u64, Vec<usize>)> = vec![(0, Vec::new()); mine.len().min(cores.max(1))];
            for n in mine {
                if let Some((sum, hand)) = hands.iter_mut().min_by_key(|(sum, _)| *sum) {
                    *sum += lanes(&n);
                    hand.push(n);
                }
            }
            roster.reactors.extend(hands.into_iter().map(|(_, mut hand)| {
                hand.sort_unstable();
                (kind, hand)
            }));
        }
        roster
    }

    /// Threads that keep the due times of a paced run.
    pub fn dispatchers(&self) -> usize {
        self.reactors.len() + usize::from(!self.blocking.is_empty())
    }
}

/// Makes threads.
pub struct Crowd<'a> {
    share: &'a WorkerShare,
    options: &'a EngineOptions,
    devices: &'a [Device],
    watch: Watch,
    /// Makes the data of this run its own.
    salt: u64,
    ready: Ready,
    notes: Notes,
    threads: Vec<(String, JoinHandle<()>)>,
}

impl<'a> Crowd<'a> {
    /// For a share whose threads that keep time are those of a roster.
    pub fn new(
        share: &'a WorkerShare,
        options: &'a EngineOptions,
        devices: &'a [Device],
        dispatchers: usize,
        (ready, notes): (Ready, Notes),
        salt: u64,
    ) -> Self {
        let own_core = !options.shared && has_core(dispatchers, options.core_count(), !options.cores.is_empty());
        let watch = Watch::new(share.conduct.wait, own_core);
        Self { share, options, devices, watch, salt, ready, notes, threads: Vec::new() }
    }

    /// All threads that were made.
    pub fn into_threads(self) -> Vec<(String, JoinHandle<()>)> {
        self.threads
    }

    fn name(&self, target: usize) -> &str {
        self.share.targets.get(target).map_or("", |t| t.name.as_str())
    }

    fn spawn(
        &mut self,
        name: String,
        stack: Option<usize>,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<(), EngineError> {
        let thread = spawn(name.clone(), self.threads.len(), stack, work)?;
        self.threads.push((name, thread));
        Ok(())
    }

    /// The blocking lanes of targets, and their pacer.
    ///
    /// # Errors
    /// See [`EngineError`].
    pub fn blocking(&mut self, assembly: &mut Assembly<'_>, targets: &[usize]) -> Result<(), EngineError> {
        let lanes = targets.iter().filter_map(|t| self.share.targets.get(*t)).map(|t| u64::from(t.threads)).sum();
        let own_files = room_for(lanes);
        for target in targets {
            if let Some(Device::File(device)) = self.devices.get(*target).cloned() {
                self.lanes(assembly, *target, &device, own_files)?;
            }
        }
        if targets.is_empty() {
            return Ok(());
        }
        let Some(dispatcher) = assembly.dispatcher(targets) else { return Ok(()) };
        let (bell, shared) = (Arc::clone(&assembly.bell), Arc::clone(&assembly.shared));
        let mut pacer = Pacer::new(dispatcher, bell, shared, self.watch.clone());
        let (cores, fine) = (self.options.cores.clone(), wants_fine_timer(self.share));
        self.spawn("pacer".into(), None, move || {
            // Where it runs matters less than that it runs: lanes have answered for the cores.
            let _ = pin("pacer", &cores);
            if fine {
                set_fine_timer();
            }
            pacer.run();
        })
    }

    fn lanes(
        &mut self,
        assembly: &mut Assembly<'_>,
        target: usize,
        device: &OpenFile,
        own_files: bool,
    ) -> Result<(), EngineError> {
        let needs = assembly.needs(target);
        let seats = assembly.seats(target);
        let own_files = own_files && seats.len() > 1;
        let writes = self.share.targets.get(target).is_some_and(|t| t.write);
        for seat in seats {
            let number = self.threads.len();
            let (sd, salt) = (self.name(target), mix(self.salt ^ number as u64));
            let name = format!("io-{sd}-{}", seat.lane);
            let whom = format!("a lane of sd {sd}");
            let bytes = needs.read.saturating_add(needs.write);
            let own = own_files.then(|| device.again(writes)).flatten().map(Arc::new);
            let file = own.unwrap_or_else(|| Arc::clone(device.file()));
            let mut lane =
                Lane::new(seat, file, needs, salt).map_err(|error| EngineError::Memory { whom, bytes, error })?;
            let (cores, ready, thread_name) =
                (self.options.cores_of(number).to_vec(), self.ready.clone(), name.clone());
            self.spawn(name, Some(LANE_STACK), move || {
                let pinned = pin(&thread_name, &cores);
                lane.warm();
                // Nobody listens when another thread could not be made.
                let _ = ready.send(pinned);
                drop(ready);
                lane.run();
            })?;
        }
        Ok(())
    }

    /// One reactor, of the back end that its targets have. The only place that knows which port belongs to which.
    ///
    /// # Errors
    /// See [`EngineError`].
    pub fn reactor(
        &mut self,
        assembly: &mut Assembly<'_>,
        backend: Backend,
        targets: &[usize],
    ) -> Result<(), EngineError> {
        let devices = targets.iter().filter_map(|t| self.devices.get(*t));
        match backend {
            Backend::Null => self.reactor_with(assembly, backend, targets, |o| Ok(NullPort::new(o.lanes))),
            Backend::Sim => {
                let sim = |d: &Device| if let Device::Sim(d) = d { Some(Arc::clone(d)) } else { None };
                let devices: Vec<_> = devices.filter_map(sim).collect();
                self.reactor_with(assembly, backend, targets, move |o| Ok(SimPort::new(devices, o.lanes)))
            }
            Backend::Aio => self.reactor_with(assembly, backend, targets, |o| Ok(AioPort::new(o)?)),
            Backend::Uring if targets.iter().any(|t| self.share.targets.get(*t).is_some_and(polled)) => {
                let (notes, sds) = (self.notes.clone(), self.names(targets));
                let polled_or_not = move |o: &Outfit<'_>| match UringPort::new_polled(o) {
                    Ok(port) => Ok(port),
                    Err(why) => {
                        // Nobody listens when another thread could not be made.
                        let _ = notes.send(format!("{sds}: completions are not polled for: {why}"));
                        Ok(UringPort::new(o)?)
                    }
                };
                self.reactor_with(assembly, backend, targets, polled_or_not)
            }
            Backend::Uring => self.reactor_with(assembly, backend, targets, |o| Ok(UringPort::new(o)?)),
            Backend::Sync => self.blocking(assembly, targets),
        }
    }

    fn names(&self, targets: &[usize]) -> String {
        match targets {
            [] => "no sd".into(),
            [one] => format!("sd {}", self.name(*one)),
            [first, rest @ ..] => format!("sd {} and {} more", self.name(*first), rest.len()),
        }
    }

    fn reactor_with<P: Port>(
        &mut self,
        assembly: &mut Assembly<'_>,
        backend: Backend,
        targets: &[usize],
        make: impl FnOnce(&Outfit<'_>) -> io::Result<P> + Send + 'static,
    ) -> Result<(), EngineError> {
        let file = |t: &usize| match self.devices.get(*t) {
            Some(Device::File(device)) => Some(Arc::clone(device.file())),
            _ => None,
        };
        let files: Vec<Arc<File>> = targets.iter().filter_map(file).collect();
        let (crew, writer) = assembly.crew(targets);
        let number = self.threads.len();
        let works = Works {
            crew,
            needs: targets.iter().map(|t| assembly.needs(*t)).collect(),
            writer,
            dispatcher: assembly.dispatcher(targets),
            shared: Arc::clone(&assembly.shared),
            stamps: self.share.conduct.stamps,
            watch: self.watch.clone(),
            salt: mix(self.salt ^ number as u64),
        };
        let (name, sds) = (format!("{backend}-{number}"), self.names(targets));
        let (cores, ready, thread_name) = (self.options.cores_of(number).to_vec(), self.ready.clone(), name.clone());
        let fine = wants_fine_timer(self.share);
        self.spawn(name, None, move || {
            let bytes = works.memory().unwrap_or(u64::MAX);
            let opened = pin(&thread_name, &cores).and_then(|()| {
                works.open(&files, make).map_err(|trouble| match trouble {
                    Trouble::Memory(error) => EngineError::Memory { whom: sds, bytes, error },
                    Trouble::Port(error) => EngineError::Backend { sds, backend, reason: error.to_string() },
                })
            });
            // Nobody listens when another thread could not be made.
            match opened {
                Ok(mut reactor) => {
                    let _ = ready.send(Ok(()));
                    drop(ready);
                    if fine {
                        set_fine_timer();
                    }
                    reactor.run();
                }
                Err(error) => {
                    let _ = ready.send(Err(error));
                }
            }
        })
    }
}

/// Makes a thread, the one after `count` others.
///
/// # Errors
/// [`EngineError::Thread`].
pub fn spawn(
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
