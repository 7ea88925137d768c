//! Taking an SD out of a run that goes on without it (`data_errors=remove_device`,
//! `docs/vdbench/data.md` §1.11).

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;

use crate::queue::TargetQueue;
use crate::shared::Shared;

/// What must know that a target is gone.
#[derive(Debug)]
pub struct Exit {
    /// Index of the SD in the plan.
    pub sd: u32,
    /// Seen by its lanes before each I/O.
    pub gone: Arc<AtomicBool>,
    /// In paced runs: its arrivals are thrown away.
    pub queue: Option<Arc<TargetQueue>>,
    /// Index in the share of each generator of the target.
    pub generators: Arc<[usize]>,
}

/// The ways out of a run, one for each target.
#[derive(Debug)]
pub struct Exits {
    all: Vec<Exit>,
    shared: Arc<Shared>,
}

impl Exits {
    /// Of a run.
    pub fn new(all: Vec<Exit>, shared: Arc<Shared>) -> Self {
        Self { all, shared }
    }

    /// From now on no I/O to this SD begins; what is in flight comes back. Its generators count as having come to their
    /// ends, so that a run to the end of the data ends with the others.
    pub fn remove(&self, sd: u32) {
        for exit in self.all.iter().filter(|e| e.sd == sd && !e.gone.swap(true, SeqCst)) {
            if let Some(queue) = &exit.queue {
                queue.left();
            }
            for generator in &*exit.generators {
                if self.shared.tally.abandoned(*generator) {
                    self.shared.news.ring();
                }
            }
        }
    }
}
