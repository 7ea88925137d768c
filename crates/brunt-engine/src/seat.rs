//! Where a blocking lane gets its orders from.

use std::sync::Arc;

use crate::feed::{Feed, FreeFeed, Order};
use crate::queue::TargetQueue;
use crate::record::ThreadWriter;
use crate::site::Site;

/// Where orders come from.
#[derive(Debug, Clone)]
pub enum Source {
    /// As fast as it goes, claimed by number.
    Free(FreeFeed),
    /// As fast as it goes, in an order that only a lock keeps.
    Feed(Arc<Feed>),
    /// When they are due.
    Queue(Arc<TargetQueue>),
}

/// A blocking lane without its thread.
#[derive(Debug)]
pub struct Seat {
    /// Its number within its target.
    pub lane: usize,
    /// Orders.
    pub source: Source,
    /// Records.
    pub writer: ThreadWriter,
    /// Target.
    pub site: Site,
}

impl Seat {
    /// The next order, without waiting for one.
    #[inline]
    pub fn try_next(&mut self) -> Option<Order> {
        if self.site.is_gone() || self.site.shared.stopping() {
            return None;
        }
        match &mut self.source {
            Source::Free(feed) => feed.next(),
            Source::Feed(feed) => feed.next(self.lane),
            Source::Queue(queue) => queue.take(),
        }
    }

    /// The next order for a lane that is free since `free_ns`; waits until one is due. `None`: the lane is done.
    pub fn next(&mut self, free_ns: u64) -> Option<Order> {
        match &self.source {
            Source::Queue(queue) => queue.next(&self.site.shared, free_ns),
            Source::Feed(_) | Source::Free(_) => self.try_next(),
        }
    }
}
