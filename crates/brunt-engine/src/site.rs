//! A target as its lanes see it: who it is, and who is told what became of its I/Os.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use brunt_plan::work::{IoErrorKind, IoFailure};

use crate::clock::wall_ms;
use crate::feed::Order;
use crate::shared::Shared;

/// A target.
#[derive(Debug, Clone)]
pub struct Site {
    /// Index of the SD in the plan.
    pub sd: u32,
    /// Path.
    pub lun: Arc<str>,
    /// Index in the share of each generator of the target.
    pub generators: Arc<[usize]>,
    /// Whether the target is out of the run.
    pub gone: Arc<AtomicBool>,
    /// Whether some generator ends, so that its I/Os are counted.
    pub ends: bool,
    /// Run.
    pub shared: Arc<Shared>,
}

/// What is wrong with the answer to an order.
#[inline]
pub fn error_of(order: &Order, result: Result<u64, i32>) -> Option<IoErrorKind> {
    match result {
        Ok(got) if got == order.access.len => None,
        Ok(got) => Some(IoErrorKind::Short { got }),
        Err(errno) => Some(IoErrorKind::Errno(errno)),
    }
}

impl Site {
    /// Whether the target is out of the run.
    #[inline]
    pub fn is_gone(&self) -> bool {
        self.gone.load(Relaxed)
    }

    /// Tells of an error, and that one more I/O of its generator is done. It was recorded before.
    #[inline]
    pub fn settle(&self, order: &Order, error: Option<IoErrorKind>) {
        if let Some(error) = error {
            self.fail(order, error);
        }
        if self.ends
            && let Some(generator) = self.generators.get(order.local as usize)
            && self.shared.tally.completed(*generator)
        {
            self.shared.news.ring();
        }
    }

    #[cold]
    fn fail(&self, order: &Order, error: IoErrorKind) {
        self.shared.failed(IoFailure {
            sd: self.sd,
            lun: self.lun.to_string(),
            read: order.access.read,
            lba: order.access.lba,
            xfer: order.access.len,
            error,
            at_ms: wall_ms(),
        });
    }
}
