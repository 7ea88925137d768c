//! Workers that do so many I/Os in each interval as the seed says, and write that down.

use std::sync::Arc;
use std::time::Duration;

use brunt_engine::Outstanding;
use brunt_plan::work::{SdTotals, WorkerEvent, WorkerShare};
use brunt_stats::{Cell, IntervalSample, PairSample};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use super::super::super::engine::{EventSink, Placement, PreparedWork, RunningWork, WorkEngine};
use super::far::Life;
use super::ledger::{Agent, Done, ops};
use super::scenario::Refusal;
use super::world::World;

/// How much behind its lease a worker may notice it.
const SLACK: Duration = Duration::from_millis(5);

pub struct SimEngine {
    pub world: Arc<World>,
    pub agent: Arc<Agent>,
    pub life: watch::Receiver<Life>,
}

struct Work {
    world: Arc<World>,
    agent: Arc<Agent>,
    life: watch::Receiver<Life>,
    share: WorkerShare,
    sink: EventSink,
}

struct Begun {
    /// The interval after which it is to end; 0: at once.
    stop: watch::Sender<Option<u32>>,
    /// The last interval that may begin, in lockstep.
    granted: watch::Sender<u32>,
}

/// What the master asks.
struct Orders {
    stop: watch::Receiver<Option<u32>>,
    granted: watch::Receiver<u32>,
}

impl WorkEngine for SimEngine {
    fn prepare(&self, share: WorkerShare, _: Placement, sink: EventSink) -> Result<Box<dyn PreparedWork>, String> {
        let (world, host) = (Arc::clone(&self.world), self.agent.host);
        if world.scenario.refusal == Some(Refusal::Prepare { host }) {
            return Err("sd1: /dev/mapper/mpatha: permission denied".into());
        }
        if share.targets.iter().any(|target| target.write) {
            let mut ledger = world.ledger.lock().unwrap();
            if ledger.inspected.len() < world.scenario.hosts {
                ledger.wrong.push(format!("host {host} may write before all hosts are inspected"));
            }
        }
        let (agent, life) = (Arc::clone(&self.agent), self.life.clone());
        Ok(Box::new(Work { world, agent, life, share, sink }))
    }
}

impl PreparedWork for Work {
    fn drop_sd(&self, _: u32) {}

    fn start(self: Box<Self>, at: std::time::Instant) -> Box<dyn RunningWork> {
        let (stop, granted) = (watch::Sender::new(None), watch::Sender::new(1));
        let orders = Orders { stop: stop.subscribe(), granted: granted.subscribe() };
        let mut life = self.life.clone();
        tokio::spawn(async move {
            tokio::select! {
                biased;
                // Whoever is killed says nothing.
                _ = life.wait_for(|life| *life == Life::Killed) => {}
                () = self.work(at.into(), orders) => {}
            }
        });
        Box::new(Begun { stop, granted })
    }
}

impl RunningWork for Begun {
    fn stop(&self, after_interval: Option<u32>) {
        let after = after_interval.unwrap_or(0);
        self.stop.send_modify(|stop| *stop = Some(stop.map_or(after, |before| before.min(after))));
    }

    fn grant(&self, interval: u32) {
        self.granted.send_modify(|granted| *granted = interval.max(*granted));
    }

    fn drop_sd(&self, _: u32) {}

    fn outstanding(&self) -> Outstanding {
        Outstanding { count: 0, oldest: Duration::ZERO, on: None }
    }

    fn join(self: Box<Self>) {}
}

impl Work {
    fn begins(&self) {
        let (run, host) = (self.share.run_id, self.agent.host);
        let mut ledger = self.world.ledger.lock().unwrap();
        if !ledger.started.insert((run, host)) {
            ledger.wrong.push(format!("run {run} was started twice on host {host}"));
        }
        if ledger.inspected.len() < self.world.scenario.hosts {
            ledger.wrong.push(format!("run {run} was started before all hosts were inspected"));
        }
    }

    /// All of it, until its end or a stop.
    async fn work(&self, start: Instant, mut orders: Orders) {
        self.begins();
        let early = tokio::select! {
            biased;
            () = stops(&mut orders.stop, 1) => true,
            () = sleep_until(start) => false,
        };
        if early {
            return self.drain().await;
        }
        let length = Duration::from_nanos(self.share.interval_ns);
        // What is in lockstep is on a virtual clock, and waits for the master alone.
        let takes = if self.share.lockstep { length / 100 } else { length };
        for interval in 1..=self.share.intervals.unwrap_or(u32::MAX) {
            if self.share.lockstep && !self.may_begin(interval, &mut orders).await {
                break;
            }
            let begun = Instant::now();
            let over = self.until(begun + takes, interval, &mut orders.stop).await;
            self.check_lease();
            let part = begun.elapsed().as_secs_f64() / takes.as_secs_f64();
            let from = length * (interval - 1);
            self.report(interval, (from, from + length.mul_f64(part)), part);
            if over {
                break;
            }
        }
        self.drain().await;
    }

    /// Waits for leave; says whether there is any.
    async fn may_begin(&self, interval: u32, orders: &mut Orders) -> bool {
        let fatal = self.world.fatal[self.agent.host].subscribe();
        tokio::select! {
            biased;
            () = falls(fatal) => {
                (self.sink)(WorkerEvent::Fatal("the engine cannot go on".into()));
                false
            }
            () = stops(&mut orders.stop, interval) => false,
            _ = orders.granted.wait_for(|granted| *granted >= interval) => true,
        }
    }

    /// Until the end of an interval; says whether it is the last.
    async fn until(&self, end: Instant, interval: u32, stop: &mut watch::Receiver<Option<u32>>) -> bool {
        let road = &self.world.roads[self.agent.host];
        let fatal = self.world.fatal[self.agent.host].subscribe();
        let ends = async {
            sleep_until(end).await;
            road.moves().await;
        };
        tokio::select! {
            biased;
            () = falls(fatal) => {
                (self.sink)(WorkerEvent::Fatal("the engine cannot go on".into()));
                true
            }
            () = stops(stop, 1) => true,
            () = ends => matches!(*stop.borrow(), Some(last) if last <= interval),
        }
    }

    /// Nothing is done behind the end of the lease.
    fn check_lease(&self) {
        let lease = *self.agent.lease.lock().unwrap();
        let now = Instant::now();
        if let Some(by) = self.agent.must_stop(lease)
            && now > by + SLACK
        {
            let (host, late) = (self.agent.host, now - by);
            self.world.wrong(format!("host {host} worked for {late:?} behind its lease of {lease:?}"));
        }
    }

    /// Writes down what was done and reports it.
    fn report(&self, interval: u32, (from, to): (Duration, Duration), part: f64) {
        let (run, host) = (self.share.run_id, self.agent.host);
        let whole = self.world.load(run, host, interval);
        // Something is always done, so that what is missing shows.
        let count = ((whole as f64 * part.min(1.0)) as u64).max(1);
        let writes = self.share.targets.iter().any(|target| target.write);
        let done = if writes { Done { reads: 0, writes: count } } else { Done { reads: count, writes: 0 } };
        {
            let mut ledger = self.world.ledger.lock().unwrap();
            ledger.done.insert((run, host, interval), done);
            ledger.last.insert(host, Instant::now());
        }
        let cell = Cell { read: ops(done.reads), write: ops(done.writes), busy_ns: 0 };
        let pairs = self.share.generators.iter().take(1).map(|generator| PairSample {
            workload: generator.workload,
            sd: self.share.targets[generator.target as usize].sd,
            cell,
        });
        (self.sink)(WorkerEvent::Interval(Box::new(IntervalSample {
            interval,
            start_ns: from.as_nanos() as u64,
            end_ns: to.as_nanos() as u64,
            pairs: pairs.collect(),
            ..IntervalSample::default()
        })));
    }

    async fn drain(&self) {
        sleep(Duration::from_millis(self.world.scenario.drain_ms)).await;
        let (run, host) = (self.share.run_id, self.agent.host);
        let total = {
            let mut ledger = self.world.ledger.lock().unwrap();
            ledger.drained.insert((run, host));
            ledger.total(run, host)
        };
        let totals = self.share.targets.iter().take(1).map(|target| SdTotals {
            sd: target.sd,
            reads: total.reads,
            read_bytes: total.reads * 4096,
            writes: total.writes,
            write_bytes: total.writes * 4096,
        });
        (self.sink)(WorkerEvent::Totals(totals.collect()));
        (self.sink)(WorkerEvent::Drained);
    }
}

/// Waits for a stop before an interval.
async fn stops(stop: &mut watch::Receiver<Option<u32>>, interval: u32) {
    if stop.wait_for(|stop| stop.is_some_and(|last| last < interval)).await.is_err() {
        // Whoever could stop it has gone.
        std::future::pending::<()>().await;
    }
}

async fn falls(mut fatal: watch::Receiver<bool>) {
    let _ = fatal.wait_for(|fatal| *fatal).await;
}
