//! The lanes of one thread that never block, with the targets that the thread owns: who is free, what comes next, what
//! is out. Reactors and the virtual clock both drive it; it knows neither clock nor device.

use std::sync::Arc;

use crate::feed::{Members, Order, UNPACED};
use crate::queue::TargetQueue;
use crate::record::{Arrival, Done, Phase};
use crate::site::{Site, error_of};

/// Where the orders of a target come from.
#[derive(Debug)]
pub enum Supply {
    /// As fast as it goes.
    Own(Members),
    /// When they are due.
    Queue(Arc<TargetQueue>),
}

/// No lane.
const NONE: u32 = u32::MAX;

/// The idle lanes of a target, the longest idle first: a list through the tasks of all lanes. So an arrival that finds
/// any lane idle at its due time gets one of those.
#[derive(Debug)]
struct Idle {
    first: u32,
    last: u32,
}

impl Idle {
    #[inline]
    fn push(&mut self, tasks: &mut [Task], lane: u32, since_ns: u64) {
        if let Some(task) = tasks.get_mut(lane as usize) {
            (task.since_ns, task.next_idle) = (since_ns, NONE);
        }
        match tasks.get_mut(self.last as usize) {
            Some(last) => last.next_idle = lane,
            None => self.first = lane,
        }
        self.last = lane;
    }

    /// Takes the first one out, which is in the list at `task`.
    #[inline]
    fn pop(&mut self, task: &Task) {
        self.first = task.next_idle;
        if self.first == NONE {
            self.last = NONE;
        }
    }
}

/// A target and its lanes.
#[derive(Debug)]
pub struct Post {
    site: Site,
    supply: Supply,
    idle: Idle,
    first_lane: u32,
    first_pair: u32,
    listed: bool,
}

/// What a lane does.
#[derive(Debug, Clone, Copy)]
pub struct Task {
    /// Number of its target within the crew.
    pub post: u32,
    /// Its present or last order.
    pub order: Order,
    arrival: Option<Arrival>,
    issued_ns: u64,
    /// While it is idle: since when, and the one that is idle next.
    since_ns: u64,
    next_idle: u32,
}

/// Lanes and targets of a thread.
#[derive(Debug, Default)]
pub struct Crew {
    tasks: Vec<Task>,
    posts: Vec<Post>,
    /// Targets that may have something to do for an idle lane.
    work: Vec<u32>,
    busy: usize,
}

impl Crew {
    /// Adds a target with so many lanes and generators. Numbers count from where those of the one before end.
    pub fn add(&mut self, site: Site, supply: Supply, lanes: u32, first_pair: u32) {
        let (post, first_lane) = (self.posts.len() as u32, self.tasks.len() as u32);
        let nothing = crate::address::Access { read: true, hit: false, lba: 0, len: 0 };
        let order = Order { local: 0, access: nothing, due_ns: UNPACED, ready_ns: 0, late_ns: 0, awaited: false };
        let task = Task { post, order, arrival: None, issued_ns: 0, since_ns: 0, next_idle: NONE };
        self.tasks.extend((0..lanes).map(|_| task));
        let mut idle = Idle { first: NONE, last: NONE };
        (first_lane..first_lane + lanes).for_each(|lane| idle.push(&mut self.tasks, lane, 0));
        self.posts.push(Post { site, supply, idle, first_lane, first_pair, listed: true });
        // Room for all, so that no list ever grows again.
        self.work.reserve_exact(post as usize + 1 - self.work.len());
        self.work.push(post);
    }

    /// All lanes, by the number of their target within the crew.
    pub fn lanes(&self) -> impl ExactSizeIterator<Item = u32> {
        self.tasks.iter().map(|t| t.post)
    }

    /// How many I/Os are out.
    pub fn busy(&self) -> usize {
        self.busy
    }

    /// Something may have come for a target.
    #[inline]
    pub fn wake(&mut self, post: usize) {
        if let Some(p) = self.posts.get_mut(post)
            && !std::mem::replace(&mut p.listed, true)
        {
            self.work.push(post as u32);
        }
    }

    /// Since when a lane of a target is idle. `None`: all are busy.
    #[inline]
    pub fn idle_since(&self, post: usize) -> Option<u64> {
        let first = self.posts.get(post)?.idle.first;
        self.tasks.get(first as usize).map(|task| task.since_ns)
    }

    /// Whether there may be something to do for an idle lane.
    #[inline]
    pub fn has_work(&self) -> bool {
        !self.work.is_empty()
    }

    /// An idle lane and its order, which the caller shall issue.
    #[inline]
    pub fn next(&mut self) -> Option<(u32, &Task)> {
        while let Some(number) = self.work.last().copied() {
            let Some(post) = self.posts.get_mut(number as usize) else { break };
            if let Some(lane) = post.next(&mut self.tasks) {
                return Some((lane, self.tasks.get(lane as usize)?));
            }
            post.listed = false;
            self.work.pop();
        }
        None
    }

    /// That order is issued.
    #[inline]
    pub fn issue(&mut self, phase: &mut Phase<'_>, lane: u32, now_ns: u64) {
        let Some(task) = self.tasks.get_mut(lane as usize) else { return };
        let Some(post) = self.posts.get(task.post as usize) else { return };
        task.issued_ns = now_ns;
        self.busy += 1;
        phase.issue(lane, post.first_pair + task.order.local, now_ns);
    }

    /// What a lane had out is done; the lane is idle. Always inline: a call is a tenth of what it does.
    #[inline(always)]
    pub fn finish(&mut self, phase: &mut Phase<'_>, lane: u32, done_ns: u64, result: Result<u64, i32>) {
        let Some(task) = self.tasks.get(lane as usize) else { return };
        let Some(post) = self.posts.get_mut(task.post as usize) else { return };
        let Task { order, arrival, issued_ns, post: number, .. } = task;
        let number = *number;
        let error = error_of(order, result);
        let (pair, failed) = (post.first_pair + order.local, error.is_some());
        let Order { access, .. } = order;
        let (read, bytes, arrival, issued_ns) = (access.read, access.len, *arrival, *issued_ns);
        phase.done(lane, &Done { pair, read, bytes, arrival, issued_ns, done_ns, failed });
        post.site.settle(order, error);
        post.idle.push(&mut self.tasks, lane, done_ns);
        self.busy -= 1;
        if !post.listed {
            post.listed = true;
            self.work.push(number);
        }
    }
}

impl Post {
    /// An idle lane, after its next order was put among the tasks of all lanes.
    #[inline]
    fn next(&mut self, tasks: &mut [Task]) -> Option<u32> {
        if self.site.is_gone() {
            return None;
        }
        loop {
            let lane = self.idle.first;
            let task = tasks.get_mut(lane as usize)?;
            match &mut self.supply {
                Supply::Own(members) => {
                    let found = members.next_into(&mut task.order, (lane - self.first_lane) as usize);
                    self.idle.pop(task);
                    // A lane for which nothing will come any more goes home; others may have streams of their own.
                    if !found {
                        continue;
                    }
                }
                Supply::Queue(queue) => {
                    let order = queue.try_next()?;
                    self.idle.pop(task);
                    task.arrival = order.arrival(task.since_ns);
                    task.order = order;
                }
            }
            return Some(lane);
        }
    }
}
