//! From a share to the parts that run it, the same for both clocks.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use brunt_plan::work::{Control, Generator, WorkerShare};

use crate::address::AddressStream;
use crate::collect::{Collector, kinds};
use crate::crew::{Crew, Supply};
use crate::dispatch::{Dispatcher, Paced};
use crate::feed::{Feed, FreeFeed, Member, Members};
use crate::lane::Needs;
use crate::options::EngineError;
use crate::pace::Pace;
use crate::pacing::DueTimes;
use crate::queue::TargetQueue;
use crate::record::{Recording, ThreadWriter};
use crate::removal::{Exit, Exits};
use crate::seat::{Seat, Source};
use crate::shared::{Bell, Shared};
use crate::site::Site;
use crate::tally::Tally;
use crate::watch::highest_rate;

/// Everything but devices, threads and clocks, made piece by piece.
#[derive(Debug)]
pub struct Assembly<'a> {
    share: &'a WorkerShare,
    /// What all share.
    pub shared: Arc<Shared>,
    /// Rings for the dispatcher of blocking lanes.
    pub bell: Arc<Bell>,
    /// Queues by target, in paced runs.
    pub queues: Vec<Arc<TargetQueue>>,
    /// Generators of each target.
    generators: Vec<Arc<[usize]>>,
    /// Priority of each generator, and how many there are.
    classes: Vec<usize>,
    class_count: usize,
    gone: Vec<Arc<AtomicBool>>,
    pace: Arc<Pace>,
    dispatchers: usize,
    recording: Recording,
    thread_pairs: Vec<Vec<usize>>,
}

/// Generators of each target, as indices in the share.
fn by_target(share: &WorkerShare) -> Vec<Arc<[usize]>> {
    let mut all = vec![Vec::new(); share.targets.len()];
    for (n, generator) in share.generators.iter().enumerate() {
        if let Some(mine) = all.get_mut(generator.target as usize) {
            mine.push(n);
        }
    }
    all.into_iter().map(Arc::from).collect()
}

/// Place of each generator's priority, 0 the highest; those without one come last.
fn classes(generators: &[Generator]) -> Vec<usize> {
    let key = |g: &Generator| g.priority.unwrap_or(u32::MAX);
    let mut all: Vec<u32> = generators.iter().map(key).collect();
    all.sort_unstable();
    all.dedup();
    generators.iter().map(|g| all.partition_point(|p| *p < key(g))).collect()
}

/// Whether a share makes sense.
///
/// # Errors
/// [`EngineError::Invalid`] or [`EngineError::MixedClocks`].
pub fn check(share: &WorkerShare) -> Result<(), EngineError> {
    let invalid = |reason: String| Err(EngineError::Invalid { worker: share.worker.clone(), reason });
    if share.interval_ns == 0 {
        return invalid("an interval has no length".into());
    }
    if let Some(t) = share.targets.iter().find(|t| t.threads == 0) {
        return invalid(format!("sd {} has no threads", t.name));
    }
    for (n, g) in share.generators.iter().enumerate() {
        let Some(target) = share.targets.get(g.target as usize) else {
            return invalid(format!("generator {n} has no target"));
        };
        let areas = [Some(g.miss), g.hit, g.hotband];
        let streams = !g.streams.is_empty();
        let empty = areas.into_iter().flatten().any(|a| a.high <= a.low) && !streams;
        if g.xfer.largest() == 0 || empty || g.streams.iter().any(|a| a.high <= a.low) {
            return invalid(format!("generator {n} has no room or no size on sd {}", target.name));
        }
        let touched = areas.iter().flatten().filter(|a| a.high > a.low).chain(&g.streams);
        if target.raw && touched.map(|a| a.first_byte()).any(|first| first == 0) {
            return invalid(format!("generator {n} touches byte 0 of raw sd {}", target.name));
        }
        if g.read_pct < 100.0 && !target.write && target.sim.is_none() {
            return invalid(format!("generator {n} writes to sd {}, which is open for reading", target.name));
        }
    }
    let virtual_clock = |t: &&brunt_plan::work::Target| t.sim.is_some_and(|s| s.virtual_clock);
    let (on, off) = (share.targets.iter().find(virtual_clock), share.targets.iter().find(|t| !virtual_clock(t)));
    match (on, off) {
        (Some(v), Some(r)) => Err(EngineError::MixedClocks { virtual_sd: v.name.clone(), real_sd: r.name.clone() }),
        _ => Ok(()),
    }
}

impl<'a> Assembly<'a> {
    /// For a share that will have so many dispatchers, if it is paced.
    pub fn new(share: &'a WorkerShare, dispatchers: usize) -> Self {
        let bell = Arc::new(Bell::default());
        let paced = share.control != Control::Uncontrolled;
        let classes = classes(&share.generators);
        let class_count = classes.iter().max().map_or(1, |c| c + 1);
        let gone: Vec<Arc<AtomicBool>> = share.targets.iter().map(|_| Arc::default()).collect();
        let queue =
            |gone: &Arc<AtomicBool>| Arc::new(TargetQueue::new(class_count, Arc::clone(&bell), Arc::clone(gone)));
        let queues = if paced { gone.iter().map(queue).collect() } else { Vec::new() };
        Self {
            share,
            shared: Arc::new(Shared::new(Tally::new(&share.generators))),
            bell,
            queues,
            generators: by_target(share),
            classes,
            class_count,
            gone,
            pace: Arc::new(Pace::new(class_count, dispatchers, highest_rate(share))),
            dispatchers: 0,
            recording: Recording::default(),
            thread_pairs: Vec::new(),
        }
    }

    fn is_paced(&self) -> bool {
        self.share.control != Control::Uncontrolled
    }

    fn generators(&self, target: usize) -> Arc<[usize]> {
        self.generators.get(target).map(Arc::clone).unwrap_or_default()
    }

    fn stream(&self, generator: usize) -> Option<AddressStream> {
        self.share.generators.get(generator).map(|g| AddressStream::new(g, self.share.seed))
    }

    fn members(&self, target: usize) -> Vec<Member> {
        let member = |generator: &usize| Some(Member { generator: *generator, stream: self.stream(*generator)? });
        self.generators(target).iter().filter_map(member).collect()
    }

    fn site(&self, target: usize) -> Site {
        let spec = self.share.targets.get(target);
        Site {
            sd: spec.map_or(0, |t| t.sd),
            lun: spec.map_or("", |t| t.lun.as_str()).into(),
            generators: self.generators(target),
            gone: self.gone.get(target).map(Arc::clone).unwrap_or_default(),
            ends: self.members(target).iter().any(|m| m.stream.is_eof()),
            shared: Arc::clone(&self.shared),
        }
    }

    /// Memory that a lane of a target needs.
    pub fn needs(&self, target: usize) -> Needs {
        let mine = self.generators(target);
        let mine = || mine.iter().filter_map(|n| self.share.generators.get(*n));
        let largest = |of: &mut dyn Iterator<Item = &Generator>| of.map(|g| g.xfer.largest()).max().unwrap_or(0);
        Needs {
            read: largest(&mut mine().filter(|g| g.read_pct > 0.0)),
            write: largest(&mut mine().filter(|g| g.read_pct < 100.0)),
        }
    }

    /// The records of a thread with these generators, and lanes of these targets.
    fn writer(&mut self, pairs: Vec<usize>, lanes: &[u32]) -> ThreadWriter {
        let paced = self.is_paced();
        let of = |n: &usize| self.share.generators.get(*n).map(|g| kinds(g, paced));
        let writer = self.recording.thread(&pairs.iter().filter_map(of).collect::<Vec<_>>(), lanes);
        self.thread_pairs.push(pairs);
        writer
    }

    /// The blocking lanes of a target.
    pub fn seats(&mut self, target: usize) -> Vec<Seat> {
        let (site, pairs) = (self.site(target), self.generators(target).to_vec());
        let source = match self.queues.get(target) {
            Some(queue) => Source::Queue(Arc::clone(queue)),
            None => {
                let members = self.members(target);
                match FreeFeed::new(&members, &self.shared) {
                    Some(free) => Source::Free(free),
                    None => Source::Feed(Arc::new(Feed::new(Members::new(members, Arc::clone(&self.shared))))),
                }
            }
        };
        let lanes = self.share.targets.get(target).map_or(0, |t| t.threads as usize);
        let seat = |lane| {
            let writer = self.writer(pairs.clone(), &[target as u32]);
            Seat { lane, source: source.clone(), writer, site: site.clone() }
        };
        (0..lanes).map(seat).collect()
    }

    /// The lanes of targets that one thread serves without blocking, and its records.
    pub fn crew(&mut self, targets: &[usize]) -> (Crew, ThreadWriter) {
        let (mut crew, mut pairs, mut lanes) = (Crew::default(), Vec::new(), Vec::new());
        for target in targets {
            let supply = match self.queues.get(*target) {
                Some(queue) => Supply::Queue(Arc::clone(queue)),
                None => Supply::Own(Members::new(self.members(*target), Arc::clone(&self.shared))),
            };
            let threads = self.share.targets.get(*target).map_or(0, |t| t.threads);
            crew.add(self.site(*target), supply, threads, pairs.len() as u32);
            pairs.extend_from_slice(&self.generators(*target));
            lanes.extend((0..threads).map(|_| *target as u32));
        }
        let writer = self.writer(pairs, &lanes);
        (crew, writer)
    }

    /// The dispatcher of targets, which it numbers in this order. None in runs that are not paced.
    pub fn dispatcher(&mut self, targets: &[usize]) -> Option<Dispatcher> {
        if !self.is_paced() {
            return None;
        }
        let number = self.dispatchers;
        self.dispatchers += 1;
        let (mut paced, mut queues) = (Vec::new(), Vec::new());
        for (place, target) in targets.iter().enumerate() {
            for (local, generator) in (0..).zip(self.generators(*target).iter().copied()) {
                let (Some(g), Some(stream)) = (self.share.generators.get(generator), self.stream(generator)) else {
                    continue;
                };
                let class = self.classes.get(generator).copied().unwrap_or(0);
                let due = DueTimes::new(g, generator, &self.share.control, self.share.arrivals, self.share.seed);
                paced.push(Paced { generator, target: place, local, class, stream, due });
            }
            queues.extend(self.queues.get(*target).map(Arc::clone));
        }
        // Equal due times come in the order of the share, whatever thread they belong to.
        paced.sort_by_key(|p| p.generator);
        let shared = Arc::clone(&self.shared);
        Some(Dispatcher::new(paced, self.class_count, queues, shared, (Arc::clone(&self.pace), number)))
    }

    /// What takes the samples, and the ways out of the run.
    pub fn finish(self) -> (Collector, Exits) {
        let Self { share, shared, queues, generators, gone, recording, thread_pairs, .. } = self;
        let collector =
            Collector::new(recording, thread_pairs, &share.generators, &share.targets, share.warmup_intervals);
        let exit = |(target, (gone, mine)): (usize, (Arc<AtomicBool>, Arc<[usize]>))| Exit {
            sd: share.targets.get(target).map_or(0, |t| t.sd),
            gone,
            queue: queues.get(target).map(Arc::clone),
            generators: mine,
        };
        let exits = gone.into_iter().zip(generators).enumerate().map(exit).collect();
        (collector, Exits::new(exits, shared))
    }
}
