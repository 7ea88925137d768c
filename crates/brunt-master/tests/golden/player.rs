//! An agent that does a share as the share says: every interval full, every rate met, one virtual clock.

use std::sync::Mutex;
use std::time::Duration;

use brunt_master::link::{HookResult, HostFacts, HostHello, HostLink, LinkError, LinkEvent};
use brunt_plan::work::{
    Control, Generator, IoErrorKind, IoFailure, LunFacts, LunKind, LunQuery, Seek, WorkerEvent, WorkerShare, Xfer,
};
use brunt_stats::{Cell, IntervalSample, PairSample};
use tokio::sync::mpsc;

/// I/Os per interval of a generator in an uncontrolled run.
const MAXIMUM: u64 = 5000;

/// What is out of the ordinary.
#[derive(Debug, Clone, Copy, Default)]
pub struct Oddities {
    /// The clock stands still after this interval, until the run is stopped.
    pub halt_after: Option<u32>,
    /// So many I/Os fail in interval 3.
    pub failures: u64,
    /// Files do not exist.
    pub missing: bool,
}

/// A host.
pub struct Player {
    pub host: usize,
    pub workers: u32,
    pub oddities: Oddities,
    pub events: mpsc::Sender<(usize, LinkEvent)>,
    pub shares: Mutex<Vec<Option<WorkerShare>>>,
    /// What is sent when the run is stopped.
    pub rest: Mutex<Vec<LinkEvent>>,
}

impl HostLink for Player {
    async fn hello(&self) -> Result<HostHello, LinkError> {
        let worker_pids = (0..self.workers).map(|n| 100 + n).collect();
        Ok(HostHello { version: "0".into(), host_name: "here".into(), worker_pids, other_build: None })
    }

    async fn inspect(&self, queries: Vec<LunQuery>) -> Result<HostFacts, LinkError> {
        let kind = if self.oddities.missing { LunKind::Missing } else { LunKind::File };
        let size = if self.oddities.missing { 0 } else { 8 << 20 };
        let facts = |q: &LunQuery| LunFacts {
            size,
            readable: true,
            writable: true,
            identity: Some(q.lun.clone()),
            ..LunFacts::silent(q.sd, kind)
        };
        Ok(HostFacts { luns: queries.iter().map(facts).collect(), ..HostFacts::default() })
    }

    async fn prepare(&self, shares: Vec<Option<WorkerShare>>) -> Result<(), LinkError> {
        *self.shares.lock().unwrap() = shares;
        Ok(())
    }

    async fn start(&self, _delay: Duration) -> Result<Duration, LinkError> {
        for (worker, share) in self.shares.lock().unwrap().iter().enumerate() {
            if let Some(share) = share {
                self.play(worker as u32, share);
            }
        }
        Ok(Duration::ZERO)
    }

    async fn stop(&self, _after: Option<u32>) -> Result<(), LinkError> {
        let rest = std::mem::take(&mut *self.rest.lock().unwrap());
        rest.into_iter().for_each(|event| self.send(event));
        Ok(())
    }

    async fn grant(&self, _interval: u32) -> Result<(), LinkError> {
        Ok(())
    }

    async fn drop_sd(&self, _sd: u32) -> Result<(), LinkError> {
        Ok(())
    }

    async fn run_hook(&self, _command: String, _limit: Option<Duration>) -> Result<HookResult, LinkError> {
        Ok(HookResult { status: Some(0), lines: vec![] })
    }

    fn abandon(&self) {}

    async fn shutdown(&self) -> Result<(), LinkError> {
        Ok(())
    }
}

impl Player {
    fn send(&self, event: LinkEvent) {
        self.events.try_send((self.host, event)).unwrap();
    }

    fn play(&self, worker: u32, share: &WorkerShare) {
        let say = |event| LinkEvent::Worker { worker, run: Some(share.run_id), event };
        let blocks = share.generators.iter().filter_map(blocks).max();
        for interval in 1.. {
            if interval == 3 {
                let failures = (0..self.oddities.failures).map(|n| WorkerEvent::Failure(failure(share, n)));
                failures.for_each(|f| self.send(say(f)));
            }
            let sample = say(WorkerEvent::Interval(Box::new(sample(share, interval))));
            if blocks.is_some_and(|all| all <= done(share, interval)) {
                self.send(say(WorkerEvent::SequentialDone));
                return self.rest.lock().unwrap().extend([sample, say(WorkerEvent::Drained)]);
            }
            self.send(sample);
            if self.oddities.halt_after == Some(interval) {
                return self.rest.lock().unwrap().push(say(WorkerEvent::Drained));
            }
            if share.intervals == Some(interval) {
                return self.send(say(WorkerEvent::Drained));
            }
        }
    }
}

/// I/Os until the data of a generator ends, if it ends.
fn blocks(generator: &Generator) -> Option<u64> {
    let all = (generator.miss.high - generator.miss.low) / generator.xfer.largest();
    (generator.seek == Seek::Eof).then_some(all)
}

/// I/Os of each generator in one interval.
fn per_interval(share: &WorkerShare, generator: &Generator) -> u64 {
    let seconds = share.interval_ns as f64 / 1e9;
    match share.control {
        Control::Uncontrolled => MAXIMUM,
        Control::Paced | Control::Stepped { .. } => (generator.rate * seconds).round() as u64,
    }
}

/// The most I/Os that a generator has done after an interval.
fn done(share: &WorkerShare, interval: u32) -> u64 {
    let most = share.generators.iter().map(|g| per_interval(share, g)).max();
    most.unwrap_or(0) * u64::from(interval)
}

fn sample(share: &WorkerShare, interval: u32) -> IntervalSample {
    let pair = |g: &Generator| {
        let size = if let Xfer::Fixed(size) = g.xfer { size } else { g.xfer.largest() };
        let mut cell = Cell::default();
        for _ in 0..per_interval(share, g) {
            let op = if g.read_pct >= 50.0 { &mut cell.read } else { &mut cell.write };
            op.record(size, 1_000_000, false);
        }
        let sd = share.targets[g.target as usize].sd;
        PairSample { workload: g.workload, sd, cell }
    };
    let end_ns = u64::from(interval) * share.interval_ns;
    let pairs = share.generators.iter().map(pair).collect();
    IntervalSample { interval, start_ns: end_ns - share.interval_ns, end_ns, pairs, ..IntervalSample::default() }
}

fn failure(share: &WorkerShare, n: u64) -> IoFailure {
    let target = &share.targets[0];
    let error = IoErrorKind::Short { got: 0 };
    IoFailure { sd: target.sd, lun: target.lun.clone(), read: true, lba: n * 4096, xfer: 4096, error, at_ms: 0 }
}
