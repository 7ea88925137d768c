//! One outstanding I/O, whichever clock it lives by: where it gets its orders from and where its results
//! go.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use brunt_plan::work::{IoErrorKind, IoFailure};

use crate::clock::wall_ms;
use crate::feed::{Feed, FreeFeed, Order};
use crate::queue::TargetQueue;
use crate::record::{Done, LaneWriter};
use crate::shared::Shared;

/// Where orders come from.
#[derive(Debug, Clone)]
pub enum Source {
    /// As fast as it goes, in any order.
    Free(FreeFeed),
    /// As fast as it goes, in order.
    Feed(Arc<Feed>),
    /// When they are due.
    Queue(Arc<TargetQueue>),
}

/// A lane without its thread.
#[derive(Debug)]
pub struct Seat {
    /// Its number within its target.
    pub lane: usize,
    /// Index of the target in the share.
    pub target: usize,
    /// Orders.
    pub source: Source,
    /// Records.
    pub writer: LaneWriter,
    /// Run.
    pub shared: Arc<Shared>,
    /// Index of the SD in the plan.
    pub sd: u32,
    /// Path.
    pub lun: Arc<str>,
    /// Index in the share of each generator of the target.
    pub generators: Arc<[usize]>,
    /// Whether the target is out of the run.
    pub gone: Arc<AtomicBool>,
}

impl Seat {
    /// The next order, without waiting for one.
    pub fn try_next(&mut self) -> Option<Order> {
        if self.gone.load(Relaxed) {
            return None;
        }
        match &mut self.source {
            Source::Free(feed) => feed.next(),
            Source::Feed(feed) => feed.next(self.lane),
            Source::Queue(queue) => queue.try_next(),
        }
    }

    /// The next order; waits until one is due. `None`: the lane is done.
    #[inline]
    pub fn next(&mut self) -> Option<Order> {
        match &self.source {
            Source::Queue(queue) => queue.next(&self.shared),
            Source::Feed(_) | Source::Free(_) if self.shared.stopping() => None,
            Source::Feed(_) | Source::Free(_) => self.try_next(),
        }
    }

    /// Records what became of an order.
    #[inline]
    pub fn finish(&mut self, order: &Order, issued_ns: u64, done_ns: u64, result: Result<u64, i32>) {
        if let Source::Queue(queue) = &self.source {
            queue.answered(done_ns.saturating_sub(issued_ns));
        }
        let error = match result {
            Ok(got) if got == order.access.len => None,
            Ok(got) => Some(IoErrorKind::Short { got }),
            Err(errno) => Some(IoErrorKind::Errno(errno)),
        };
        self.writer.done(&Done {
            local: order.local,
            read: order.access.read,
            bytes: order.access.len,
            due_ns: order.due_ns,
            issued_ns,
            done_ns,
            failed: error.is_some(),
        });
        if let Some(error) = error {
            self.fail(order, error);
        }
        if let Some(generator) = self.generators.get(order.local as usize)
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
