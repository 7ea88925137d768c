//! The worker of this process: one engine, one run after the other.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use brunt_plan::work::{WorkerEvent, WorkerShare};
use tokio::sync::{mpsc, watch};

use super::relay::Relay;
use super::thread::off_thread;
use crate::engine::{PreparedWork, RunningWork, WorkEngine};

/// Where a worker is in the course of a run.
enum Stage {
    Idle,
    Preparing,
    /// Nothing to do in this run.
    Spared,
    Ready(Box<dyn PreparedWork>),
    Running(Box<dyn RunningWork>),
    /// Drained, letting go of its resources.
    Joining,
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
}

impl OwnWorker {
    /// Makes a worker whose events go to `relay`.
    pub fn new(number: u32, label: String, engine: Arc<dyn WorkEngine>, relay: Relay) -> Self {
        let (events, mut from_engine) = mpsc::unbounded_channel();
        let (set_busy, busy) = watch::channel(false);
        let set_busy = Arc::new(set_busy);
        let stage = Arc::new(Mutex::new(Stage::Idle));
        let worker =
            Self { number, label, engine, stage: Arc::clone(&stage), events, busy, set_busy: Arc::clone(&set_busy) };
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

    /// Makes a share ready; an earlier one that was not started is dropped.
    pub async fn prepare(&self, share: Option<WorkerShare>) -> Result<(), String> {
        {
            let mut stage = self.stage();
            if matches!(*stage, Stage::Running(_) | Stage::Joining | Stage::Preparing) {
                return Err(format!("worker {} is still at work", self.label));
            }
            *stage = if share.is_some() { Stage::Preparing } else { Stage::Spared };
        }
        let Some(share) = share else { return Ok(()) };
        let (engine, events) = (Arc::clone(&self.engine), self.events.clone());
        let sink = Box::new(move |event| {
            // The receiver goes only with the runtime, at the end of the process.
            let _ = events.send(event);
        });
        let stage = Arc::clone(&self.stage);
        // The thread sets the stage itself, so that a call that is given up leaves nothing behind.
        let result = off_thread("prepare", move || {
            let prepared = engine.prepare(share, sink);
            let mut stage = stage.lock().unwrap_or_else(PoisonError::into_inner);
            match prepared {
                Ok(work) => {
                    *stage = Stage::Ready(work);
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
            Stage::Ready(work) => {
                self.set_busy.send_replace(true);
                *stage = Stage::Running(work.start(at));
                Ok(())
            }
            Stage::Spared => Ok(()),
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
            Stage::Running(work) => work.stop(after_interval),
            Stage::Ready(_) => {
                *stage = Stage::Idle;
                // See `prepare`.
                let _ = self.events.send(WorkerEvent::Drained);
            }
            Stage::Idle | Stage::Preparing | Stage::Spared | Stage::Joining => {}
        }
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

/// Lets the drained work go, so that its luns are closed before anybody hears of it.
async fn join(stage: &Mutex<Stage>) {
    let lock = || stage.lock().unwrap_or_else(PoisonError::into_inner);
    let work = {
        let mut stage = lock();
        match std::mem::replace(&mut *stage, Stage::Idle) {
            Stage::Running(work) => {
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
