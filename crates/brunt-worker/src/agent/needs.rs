//! What the shares of a host need of the system: pure arithmetic, before anything is opened or allocated.

use brunt_plan::work::{Backend, Control, Generator, Target, WorkerShare};

/// Files that a worker has open besides its luns and rings: streams, the runtime's own, pipes to hooks, `/proc`.
const SPARE_FILES: u64 = 31;

/// Files of an I/O thread with a ring: the ring, and what wakes it.
const FILES_PER_RING: u64 = 2;

/// Threads of a worker besides those that do I/O: two of control, the collector, the pacer, one that makes ready, one
/// that waits for an end, and hooks.
const SPARE_THREADS: u64 = 8;

/// Address space of a blocking lane's stack with its guard page.
const STACK: u64 = 132 << 10;

/// Of it in memory.
const STACK_TOUCHED: u64 = 16 << 10;

/// A histogram of the I/O path (`brunt_stats::Histogram`).
const HISTOGRAM: u64 = (brunt_stats::histogram::BUCKETS * size_of::<u64>()) as u64;

/// Of it in memory: response times spread over a few octaves, at 2 KiB each.
const HISTOGRAM_TOUCHED: u64 = 8 << 10;

/// What a lane has besides: its seat, counters and time of issue.
const LANE: u64 = 512;

/// Buffers are whole pages.
const PAGE: u64 = 4096;

/// What something needs of the system.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// Luns to be opened.
    pub luns: u64,
    /// Open files, luns among them.
    pub files: u64,
    /// Outstanding I/Os.
    pub lanes: u64,
    /// Threads.
    pub threads: u64,
    /// Events of Linux AIO.
    pub aio_events: u64,
    /// Bytes that io_uring keeps in memory: its registered buffers.
    pub locked: u64,
    /// Bytes of buffers.
    pub buffers: u64,
    /// Bytes of memory, the buffers among them.
    pub memory: u64,
    /// Bytes of address space.
    pub space: u64,
    /// Mappings: two for each stack, one for each buffer.
    pub mappings: u64,
}

impl Needs {
    /// Of both.
    pub fn and(self, other: Needs) -> Needs {
        Needs {
            luns: self.luns.saturating_add(other.luns),
            files: self.files.saturating_add(other.files),
            lanes: self.lanes.saturating_add(other.lanes),
            threads: self.threads.saturating_add(other.threads),
            aio_events: self.aio_events.saturating_add(other.aio_events),
            locked: self.locked.saturating_add(other.locked),
            buffers: self.buffers.saturating_add(other.buffers),
            memory: self.memory.saturating_add(other.memory),
            space: self.space.saturating_add(other.space),
            mappings: self.mappings.saturating_add(other.mappings),
        }
    }
}

/// What a worker with that many cores needs for its share.
pub fn of(share: &WorkerShare, cores: usize) -> Needs {
    let paced = share.control != Control::Uncontrolled;
    // An I/O thread has whole SDs of one back end: of each there are no more of them than SDs, nor than cores.
    let many =
        |backend: Backend| share.targets.iter().filter(|t| t.backend == backend).count().min(cores.max(1)) as u64;
    let rings = many(Backend::Uring);
    let io_threads = rings + many(Backend::Aio) + many(Backend::Sim) + many(Backend::Null);
    let mut all = Needs {
        files: SPARE_FILES.saturating_add(rings.saturating_mul(FILES_PER_RING)),
        threads: SPARE_THREADS.saturating_add(io_threads),
        ..Needs::default()
    };
    let mut generators = vec![Vec::new(); share.targets.len()];
    for generator in &share.generators {
        // One without a target is the engine's to refuse.
        if let Some(mine) = generators.get_mut(generator.target as usize) {
            mine.push(generator);
        }
    }
    for (target, mine) in share.targets.iter().zip(&generators) {
        all = all.and(of_target(target, mine, paced));
    }
    all
}

fn of_target(target: &Target, generators: &[&Generator], paced: bool) -> Needs {
    let lanes = u64::from(target.threads);
    let virtual_clock = target.sim.is_some_and(|sim| sim.virtual_clock);
    let opened = u64::from(target.sim.is_none() && target.backend != Backend::Null);
    let blocking = target.backend == Backend::Sync;
    let buffer = if virtual_clock { 0 } else { buffer(generators) };
    let buffers = lanes.saturating_mul(buffer);
    // Two sets for each thread that records: one is recorded to while the other is read.
    let recorders = if blocking { lanes } else { 1 };
    let histograms = generators.iter().map(|g| histograms(g, paced)).sum::<u64>().saturating_mul(2);
    let histograms = histograms.saturating_mul(recorders);
    let stacks = if blocking { lanes } else { 0 };
    let sum = |buffers: u64, histogram: u64, stack: u64| {
        let more = [histograms.saturating_mul(histogram), lanes.saturating_mul(LANE), stacks.saturating_mul(stack)];
        more.into_iter().fold(buffers, u64::saturating_add)
    };
    Needs {
        luns: opened,
        files: opened,
        lanes,
        threads: stacks,
        aio_events: if target.backend == Backend::Aio { lanes } else { 0 },
        locked: if target.backend == Backend::Uring { buffers } else { 0 },
        buffers,
        memory: sum(buffers, HISTOGRAM_TOUCHED, STACK_TOUCHED),
        space: sum(buffers, HISTOGRAM, STACK),
        mappings: stacks.saturating_mul(2),
    }
}

/// The buffers of a lane: one for its largest read and one for its largest write.
fn buffer(generators: &[&Generator]) -> u64 {
    let largest = |of: fn(&Generator) -> bool| {
        let sizes = generators.iter().filter(|g| of(g)).map(|g| g.xfer.largest());
        sizes.max().map_or(0, |size| size.checked_next_multiple_of(PAGE).unwrap_or(u64::MAX))
    };
    largest(|g| g.read_pct > 0.0).saturating_add(largest(|g| g.read_pct < 100.0))
}

/// The histograms of a generator: in paced runs also of due, queue and lateness.
fn histograms(generator: &Generator, paced: bool) -> u64 {
    let kinds = u64::from(generator.read_pct > 0.0) + u64::from(generator.read_pct < 100.0);
    if paced { kinds * 4 } else { kinds }
}

#[cfg(test)]
pub mod tests;
