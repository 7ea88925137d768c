//! From a share to the parts that run it, the same for both clocks.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use brunt_plan::work::{Control, Generator, WorkerShare};

use crate::address::AddressStream;
use crate::collect::{Collector, kinds};
use crate::dispatch::{Dispatcher, Paced};
use crate::feed::{Feed, FreeFeed, Member};
use crate::lane::Needs;
use crate::options::EngineError;
use crate::pacing::DueTimes;
use crate::queue::TargetQueue;
use crate::record::Recording;
use crate::removal::{Exit, Exits};
use crate::seat::{Seat, Source};
use crate::shared::{Bell, Shared};
use crate::tally::Tally;

/// Everything but devices, threads and clocks.
pub struct Assembly {
    /// What all share.
    pub shared: Arc<Shared>,
    /// All lanes.
    pub seats: Vec<Seat>,
    /// Takes their samples.
    pub collector: Collector,
    /// In paced runs.
    pub dispatcher: Option<Dispatcher>,
    /// Rings for the dispatcher.
    pub bell: Arc<Bell>,
    /// Queues by target, in paced runs.
    pub queues: Vec<Arc<TargetQueue>>,
    /// Memory that a lane of each target needs.
    pub needs: Vec<Needs>,
}

/// Generators of each target, as indices in the share.
fn by_target(share: &WorkerShare) -> Vec<Arc<[usize]>> {
    let of = |target| {
        let all = share.generators.iter().enumerate();
        all.filter(|(_, g)| g.target as usize == target).map(|(n, _)| n).collect()
    };
    (0..share.targets.len()).map(of).collect()
}

/// Place of each generator's priority, 0 the highest; those without one come last.
fn classes(generators: &[Generator]) -> Vec<usize> {
    let key = |g: &Generator| g.priority.unwrap_or(u32::MAX);
    let mut all: Vec<u32> = generators.iter().map(key).collect();
    all.sort_unstable();
    all.dedup();
    generators.iter().map(|g| all.partition_point(|p| *p < key(g))).collect()
}

fn needs(share: &WorkerShare, mine: &[usize]) -> Needs {
    let mine = || mine.iter().filter_map(|n| share.generators.get(*n));
    let largest = |of: &mut dyn Iterator<Item = &Generator>| of.map(|g| g.xfer.largest()).max().unwrap_or(0);
    Needs {
        read: largest(&mut mine().filter(|g| g.read_pct > 0.0)),
        write: largest(&mut mine().filter(|g| g.read_pct < 100.0)),
    }
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

fn uncontrolled(mine: &[usize], stream: impl Fn(&usize) -> AddressStream, shared: &Arc<Shared>) -> Source {
    if let Some(free) = FreeFeed::new(mine.iter().map(&stream).collect()) {
        return Source::Free(free);
    }
    let members = mine.iter().map(|n| Member { generator: *n, stream: stream(n) }).collect();
    Source::Feed(Arc::new(Feed::new(members, Arc::clone(shared))))
}

/// Builds the parts, and the ways out of the run.
pub fn assemble(share: &WorkerShare) -> (Assembly, Exits) {
    let shared = Arc::new(Shared::new(Tally::new(&share.generators)));
    let bell = Arc::new(Bell::default());
    let generators = by_target(share);
    let paced = share.control != Control::Uncontrolled;
    let classes = classes(&share.generators);
    let class_count = classes.iter().max().map_or(1, |c| c + 1);
    let gone: Vec<Arc<AtomicBool>> = share.targets.iter().map(|_| Arc::default()).collect();
    let queue = |gone: &Arc<AtomicBool>| Arc::new(TargetQueue::new(class_count, Arc::clone(&bell), Arc::clone(gone)));
    let queues: Vec<_> = if paced { gone.iter().map(queue).collect() } else { Vec::new() };
    let stream = |n: &usize| AddressStream::new(&share.generators[*n], share.seed);
    let mut recording = Recording::default();
    let (mut seats, mut lane_pairs) = (Vec::new(), Vec::new());
    for (target, (spec, mine)) in share.targets.iter().zip(&generators).enumerate() {
        let source = match queues.get(target) {
            Some(queue) => Source::Queue(Arc::clone(queue)),
            None => uncontrolled(mine, stream, &shared),
        };
        let lun: Arc<str> = spec.lun.as_str().into();
        let kinds: Vec<_> = mine.iter().map(|n| kinds(&share.generators[*n], paced)).collect();
        for lane in 0..spec.threads as usize {
            seats.push(Seat {
                lane,
                target,
                source: source.clone(),
                writer: recording.lane(&kinds),
                shared: Arc::clone(&shared),
                sd: spec.sd,
                lun: Arc::clone(&lun),
                generators: Arc::clone(mine),
                gone: Arc::clone(&gone[target]),
            });
            lane_pairs.push(mine.to_vec());
        }
    }
    let dispatcher = paced.then(|| {
        let paced = |(n, g): (usize, &Generator)| Paced {
            generator: n,
            target: g.target as usize,
            local: generators[g.target as usize].iter().position(|m| *m == n).unwrap_or(0) as u32,
            class: classes[n],
            stream: stream(&n),
            due: DueTimes::new(g, n, &share.control, share.arrivals, share.seed),
        };
        let all = share.generators.iter().enumerate().map(paced).collect();
        Dispatcher::new(all, queues.clone(), Arc::clone(&shared))
    });
    let collector = Collector::new(recording, lane_pairs, &share.generators, &share.targets, paced);
    let needs = generators.iter().map(|mine| needs(share, mine)).collect();
    let exit = |(target, (gone, mine)): (usize, (Arc<AtomicBool>, Arc<[usize]>))| Exit {
        sd: share.targets[target].sd,
        gone,
        queue: queues.get(target).map(Arc::clone),
        generators: mine,
    };
    let exits = Exits::new(gone.into_iter().zip(generators).enumerate().map(exit).collect(), Arc::clone(&shared));
    (Assembly { shared, seats, collector, dispatcher, bell, queues, needs }, exits)
}
