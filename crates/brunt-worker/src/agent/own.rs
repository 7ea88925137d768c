//! The worker of this process: one engine, one run after the other.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use brunt_plan::work::{WorkerEvent, WorkerShare};
use tokio::sync::{mpsc, watch};

use super::drain;
use super::relay::Relay;
use super::thread::off_thread;
use crate::engine::{Placement, PreparedWork, RunningWork, WorkEngine};

/// Where a worker is in the course of a run.
enum Stage {
    Idle,
    Preparing,
    /// Nothing to do in this run.
    Spared,
    Ready(Box<dyn PreparedWork>, Length),
    Running(Box<dyn RunningWork>, Timed),
    /// Drained, letting go of its resources.
    Joining,
}

/// How long a run is to be.
#[derive(Clone, Copy)]
struct Length {
    interval: Duration,
    intervals: Option<u32>,
}

/// A run with its start.
#[derive(Clone, Copy)]
struct Timed {
    start: Instant,
    length: Length,
}

impl Timed {
    /// When the run should be over; never, when that is not known.
    fn end(&self) -> Option<Instant> {
        self.start.checked_add(self.length.interval.checked_mul(self.length.intervals?)?)
    }

    /// When a run that is stopped should be over: after that interval or now.
    fn stopped(&self, after_interval: Option<u32>) -> Instant {
        let now = tokio::time::Instant::now().into_std();
        let after = after_interval.and_then(|n| self.length.interval.checked_mul(n));
        after.and_then(|after| self.start.checked_add(after)).map_or(now, |end| end.max(now))
    }
}

/// The worker. Errors are sentences.
pub struct OwnWorker {
    number: u32,
    label: String,
    engine: Arc<dyn WorkEngine>,
    stage: Arc<Mutex<Stage>>,
    events: mpsc::UnboundedSender<WorkerEvent>,
    /// Whether work is out.
    busy: watch::Receiver<bool>,
    set_busy: Arc<watch::Sender<bool>>,
    /// When the run should be over.
    end: watch::Sender<Option<Instant>>,
    /// SDs that get no I/O any more.
    dropped: Mutex<BTreeSet<u32>>,
}

impl OwnWorker {
    /// Makes a worker whose events go to `relay`.
    pub fn new(number: u32, label: String, engine: Arc<dyn WorkEngine>, relay: Relay) -> Self {
        let (events, mut from_engine) = mpsc::unbounded_channel();
        let (set_busy, busy) = watch::channel(false);
        let set_busy = Arc::new(set_busy);
        let stage = Arc::new(Mutex::new(Stage::Idle));
        let (end, ends) = watch::channel(None);
        tokio::spawn(drain::report(ends, outstanding(number, Arc::clone(&stage), relay.clone())));
        let worker = Self {
            number,
            label,
            engine,
            stage: Arc::clone(&stage),
            events,
            busy,
            set_busy: Arc::clone(&set_busy),
            end,
            dropped: Mutex::default(),
        };
        tokio::spawn(async move {
            while let Some(event) = from_engine.recv().await {
                let last = event == WorkerEvent::Drained;
                if last {
                    join(&stage).await;
                }
                relay.own(number, event);
                if last {
                    set_busy.send_replace(false);
                }
            }
        });
        worker
    }

    /// Makes a share ready for these cores; an earlier one that was not started is dropped.
    pub async fn prepare(&self, share: Option<WorkerShare>, placement: Placement) -> Result<(), String> {
        {
            let mut stage = self.stage();
            if matches!(*stage, Stage::Running(..) | Stage::Joining | Stage::Preparing) {
                return Err(format!("worker {} is still at work", self.label));
            }
            *stage = if share.is_some() { Stage::Preparing } else { Stage::Spared };
        }
        let Some(share) = share else { return Ok(()) };
        let length = Length { interval: Duration::from_nanos(share.interval_ns), intervals: share.intervals };
        let (engine, events) = (Arc::clone(&self.engine), self.events.clone());
        let sink = Box::new(move |event| {
            // The receiver goes only with the runtime, at the end of the process.
            let _ = events.send(event);
        });
        let stage = Arc::clone(&self.stage);
        // The thread sets the stage itself, so that a call that is given up leaves nothing behind.
        let result = off_thread("prepare", move || {
            let prepared = engine.prepare(share, placement, sink);
            let mut stage = stage.lock().unwrap_or_else(PoisonError::into_inner);
            match prepared {
                Ok(work) => {
                    *stage = Stage::Ready(work, length);
                    Ok(())
                }
                Err(reason) => {
                    *stage = Stage::Idle;
                    Err(reason)
                }
            }
        });
        match result.await {
            Ok(result) => result,
            Err(error) => {
                *self.stage() = Stage::Idle;
                Err(format!("worker {} cannot make its work ready: {error}", self.label))
            }
        }
    }

    /// Starts what is ready.
    pub fn start(&self, at: Instant) -> Result<(), String> {
        let mut stage = self.stage();
        match std::mem::replace(&mut *stage, Stage::Idle) {
            Stage::Ready(work, length) => {
                let timed = Timed { start: at, length };
                self.set_busy.send_replace(true);
                self.end.send_replace(timed.end());
                self.dropped().iter().for_each(|sd| work.drop_sd(*sd));
                *stage = Stage::Running(work.start(at), timed);
                Ok(())
            }
            Stage::Spared => {
                *stage = Stage::Spared;
                Ok(())
            }
            other => {
                *stage = other;
                Err(format!("worker {} has no work that is ready", self.label))
            }
        }
    }

    /// Ends the work. What was ready but not started is dropped, and counts as drained.
    pub fn stop(&self, after_interval: Option<u32>) {
        let mut stage = self.stage();
        match &*stage {
            Stage::Running(work, timed) => {
                work.stop(after_interval);
                let stopped = timed.stopped(after_interval);
                self.end.send_modify(|end| *end = Some(end.map_or(stopped, |end| end.min(stopped))));
            }
            Stage::Ready(..) => {
                *stage = Stage::Idle;
                // See `prepare`.
                let _ = self.events.send(WorkerEvent::Drained);
            }
            Stage::Idle | Stage::Preparing | Stage::Spared | Stage::Joining => {}
        }
    }

    /// Lets work in lockstep begin an interval.
    pub fn grant(&self, interval: u32) {
        if let Stage::Running(work, _) = &*self.stage() {
            work.grant(interval);
        }
    }

    /// Starts no more I/O to an SD, in the run that goes on and in later ones.
    pub fn drop_sd(&self, sd: u32) {
        let stage = self.stage();
        self.dropped().insert(sd);
        if let Stage::Running(work, _) = &*stage {
            work.drop_sd(sd);
        }
    }

    fn dropped(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.dropped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the work at once and waits until it has drained, or for `limit`.
    pub async fn end(&self, limit: Duration) {
        self.stop(None);
        let mut busy = self.busy.clone();
        if tokio::time::timeout(limit, busy.wait_for(|busy| !busy)).await.is_err() {
            tracing::warn!(worker = self.number, "I/O is still outstanding at the end");
        }
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells how much keeps the run from ending.
fn outstanding(number: u32, stage: Arc<Mutex<Stage>>, relay: Relay) -> impl FnMut() + Send {
    move || {
        let stage = stage.lock().unwrap_or_else(PoisonError::into_inner);
        if let Stage::Running(work, _) = &*stage {
            let out = work.outstanding();
            if out.count > 0 {
                let oldest_ns = u64::try_from(out.oldest.as_nanos()).unwrap_or(u64::MAX);
                let (count, lun) = (out.count, out.on.map(|(_, lun)| lun));
                relay.own(number, WorkerEvent::Outstanding { count, oldest_ns, lun });
            }
        }
    }
}

/// Lets the drained work go, so that its luns are closed before anybody hears of it.
async fn join(stage: &Mutex<Stage>) {
    let lock = || stage.lock().unwrap_or_else(PoisonError::into_inner);
    let work = {
        let mut stage = lock();
        match std::mem::replace(&mut *stage, Stage::Idle) {
            Stage::Running(work, _) => {
                *stage = Stage::Joining;
                Some(work)
            }
            other => {
                *stage = other;
                None
            }
        }
    };
    let Some(work) = work else { return };
    if let Err(error) = off_thread("join", move || work.join()).await {
        tracing::error!(%error, "the engine did not end as it should");
    }
    *lock() = Stage::Idle;
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::super::outbox::{Outbox, Reader};
    use super::*;
    use crate::engine_link::LaneEngine;
    use brunt_plan::work::{Area, Arrivals, Backend, Conduct, Control, Generator, Seek, SimSpec, Target, Xfer};
    use brunt_proto::Report;

    fn share(virtual_clock: bool, intervals: Option<u32>) -> WorkerShare {
        let sim = SimSpec {
            size: 1 << 20,
            hit_area: 1 << 20,
            hit_ns: 39_000,
            miss_ns: 39_000,
            jitter_ns: 0,
            error_rate: 0.0,
            freeze: None,
            virtual_clock,
            raw: false,
        };
        let target = Target {
            sd: 4,
            name: "sd1".into(),
            lun: "sim:a".into(),
            size: sim.size,
            threads: 1,
            flags: Vec::new(),
            write: false,
            create: false,
            raw: false,
            sim: Some(sim),
            backend: Backend::Sim,
            polled: false,
        };
        let generator = Generator {
            workload: 2,
            target: 0,
            stream: 1,
            rate: 0.0,
            priority: None,
            read_pct: 100.0,
            read_hit_pct: 0.0,
            write_hit_pct: 0.0,
            xfer: Xfer::Fixed(4096),
            seek: Seek::Percent(100.0),
            miss: Area { low: 0, high: sim.size, wrap: None },
            hit: None,
            align: None,
            stride: None,
            hotband: None,
            streams: Vec::new(),
        };
        WorkerShare {
            worker: "hosta-0".into(),
            run: "rd1".into(),
            run_id: 0,
            interval_ns: 1_000_000_000,
            intervals,
            lockstep: false,
            warmup_intervals: 1,
            conduct: Conduct::default(),
            seed: 7,
            control: Control::Uncontrolled,
            arrivals: Arrivals::Exponential,
            targets: vec![target],
            generators: vec![generator],
        }
    }

    fn worker() -> (OwnWorker, Reader) {
        let outbox = Outbox::default();
        let relay = Relay::new(outbox.clone(), || {});
        (OwnWorker::new(0, "hosta-0".into(), Arc::new(LaneEngine::default()), relay), outbox.reader(0))
    }

    async fn event(outgoing: &mut Reader) -> WorkerEvent {
        match <(u32, Report)>::try_from(outgoing.next().await.unwrap()).unwrap() {
            (0, Report::Event(event)) => event,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn the_engine_runs_a_share_on_the_virtual_clock() {
        let (worker, mut outgoing) = worker();
        worker.prepare(Some(share(true, Some(2))), Placement::default()).await.unwrap();
        worker.start(Instant::now()).unwrap();
        let mut intervals = 0;
        loop {
            match event(&mut outgoing).await {
                WorkerEvent::Interval(sample) => {
                    intervals += 1;
                    let [pair] = sample.pairs.as_slice() else { panic!("{sample:?}") };
                    let read = pair.cell.read;
                    assert_eq!((sample.interval, pair.workload, pair.sd), (intervals, 2, 4));
                    assert_eq!((read.min_ns, read.max_ns), (39_000, 39_000));
                    assert_eq!(sample.times.read.service.count(), read.ops);
                    assert!(read.ops.abs_diff(1_000_000_000 / 39_000) <= 1, "{}", read.ops);
                }
                WorkerEvent::Totals(_) => {}
                WorkerEvent::Drained => break,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(intervals, 2);
        worker.prepare(None, Placement::default()).await.unwrap();
        worker.start(Instant::now()).unwrap();
    }

    #[tokio::test]
    async fn work_in_real_time_stops_at_once() {
        let (worker, mut outgoing) = worker();
        worker.prepare(Some(share(false, None)), Placement::default()).await.unwrap();
        assert!(worker.start(Instant::now()).is_ok());
        let busy = worker.prepare(Some(share(false, None)), Placement::default()).await;
        assert_eq!(busy, Err("worker hosta-0 is still at work".to_owned()));
        worker.end(Duration::from_secs(30)).await;
        assert!(!*worker.busy.borrow());
        let mut last = event(&mut outgoing).await;
        while let Some(message) = outgoing.try_next() {
            let (_, report) = message.try_into().unwrap();
            match report {
                Report::Event(event) => last = event,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(last, WorkerEvent::Drained);
    }

    #[tokio::test]
    async fn a_dropped_sd_gets_no_io_in_this_run_nor_in_later_ones() {
        let (worker, mut outgoing) = worker();
        worker.prepare(Some(share(false, None)), Placement::default()).await.unwrap();
        worker.start(Instant::now()).unwrap();
        worker.drop_sd(4);
        worker.end(Duration::from_secs(30)).await;
        worker.prepare(Some(share(true, Some(2))), Placement::default()).await.unwrap();
        worker.start(Instant::now()).unwrap();
        let (mut drained, mut idle) = (0, 0);
        while drained < 2 {
            match event(&mut outgoing).await {
                WorkerEvent::Drained => drained += 1,
                WorkerEvent::Interval(sample) if drained == 1 => {
                    assert_eq!(sample.pairs, []);
                    idle += 1;
                }
                WorkerEvent::Interval(_) | WorkerEvent::Totals(_) => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(idle, 2);
    }

    #[tokio::test]
    async fn work_that_never_started_drains_when_stopped() {
        let (worker, mut outgoing) = worker();
        worker.prepare(Some(share(false, None)), Placement::default()).await.unwrap();
        worker.stop(None);
        assert_eq!(event(&mut outgoing).await, WorkerEvent::Drained);
        let unready = worker.start(Instant::now());
        assert_eq!(unready, Err("worker hosta-0 has no work that is ready".to_owned()));
    }
}
