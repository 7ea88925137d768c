//! A thread that drives many lanes through a [`Port`] and never blocks in one I/O.
//!
//! It owns whole targets with their generators, in paced runs also their due times, and so needs neither locks nor other
//! threads. What it measures it records in phases, one for each turn of its loop. It allocates nothing once it runs.

use std::fs::File;
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;

use brunt_plan::work::Stamps;

use crate::address::Access;
use crate::buffer::Buffer;
use crate::clock::now_ns;
use crate::crew::Crew;
use crate::dispatch::Dispatcher;
use crate::lane::Needs;
use crate::pattern::Pattern;
use crate::port::{Completion, Outfit, Port, Request};
use crate::record::ThreadWriter;
use crate::shared::Shared;
use crate::watch::{Step, Watch};

/// So many I/Os are reaped, and so many issued, before what is issued goes to the kernel: the first of a batch waits for
/// the last one.
const BATCH: usize = 32;
/// The longest wait: then it looks whether it is to stop, or an SD is gone.
const LOOK_NS: u64 = 20_000_000;

/// A reactor before it has its thread.
#[derive(Debug)]
pub struct Works {
    /// Lanes and targets.
    pub crew: Crew,
    /// Memory that a lane of each target needs.
    pub needs: Vec<Needs>,
    /// Records.
    pub writer: ThreadWriter,
    /// In paced runs.
    pub dispatcher: Option<Dispatcher>,
    /// Run.
    pub shared: Arc<Shared>,
    /// When the clock is read.
    pub stamps: Stamps,
    /// How it waits for due times.
    pub watch: Watch,
    /// Makes its data its own.
    pub salt: u64,
}

/// Why a reactor cannot be had.
#[derive(Debug)]
pub enum Trouble {
    /// No memory for its buffers.
    Memory(io::Error),
    /// No port.
    Port(io::Error),
}

/// Where a lane reads to and writes from.
#[derive(Debug, Clone, Copy)]
struct Buffers {
    read: NonNull<u8>,
    write: NonNull<u8>,
}

/// The memory of all lanes: one mapping, touched first by its thread.
#[derive(Debug)]
struct Arena {
    lanes: Vec<Buffers>,
    memory: Buffer,
}

/// A reactor.
#[derive(Debug)]
pub struct Reactor<P> {
    /// Dropped before the arena: until then the kernel may write there.
    port: P,
    arena: Arena,
    crew: Crew,
    writer: ThreadWriter,
    dispatcher: Option<Dispatcher>,
    shared: Arc<Shared>,
    pattern: Pattern,
    stamps: Stamps,
    watch: Watch,
    /// Reaped while waiting.
    found: Option<Completion>,
    /// The last time that the clock was read.
    now_ns: u64,
}

impl Works {
    /// Bytes of its buffers. `None`: more than there are addresses.
    pub fn memory(&self) -> Option<u64> {
        let page = |bytes: u64| bytes.checked_next_multiple_of(4096);
        let lane = |post| {
            let needs = self.needs.get(post as usize).copied().unwrap_or_default();
            page(needs.read)?.checked_add(page(needs.write)?)
        };
        self.crew.lanes().try_fold(0u64, |sum, post| sum.checked_add(lane(post)?))
    }

    /// Maps and fills the memory and makes the port, in the thread that calls.
    ///
    /// # Errors
    /// What the system says.
    pub fn open<P: Port>(
        self,
        files: &[Arc<File>],
        make: impl FnOnce(&Outfit<'_>) -> io::Result<P>,
    ) -> Result<Reactor<P>, Trouble> {
        let pattern = Pattern::new(self.salt);
        let arena = Arena::new(&self, &pattern).map_err(Trouble::Memory)?;
        let all = NonNull::slice_from_raw_parts(arena.memory.start(), arena.memory.len());
        let lanes = self.crew.lanes().len() as u32;
        let port = make(&Outfit { files, lanes, arena: all }).map_err(Trouble::Port)?;
        let Self { crew, writer, dispatcher, shared, stamps, watch, .. } = self;
        let (found, now_ns) = (None, 0);
        Ok(Reactor { port, arena, crew, writer, dispatcher, shared, pattern, stamps, watch, found, now_ns })
    }
}

impl Arena {
    fn new(works: &Works, pattern: &Pattern) -> io::Result<Self> {
        let total = works.memory().ok_or(io::Error::from_raw_os_error(libc::ENOMEM))?;
        let mut memory = Buffer::new(total)?;
        let mut rest = memory.bytes();
        let mut take = |bytes: u64| {
            let (mine, others) = std::mem::take(&mut rest).split_at_mut(bytes.next_multiple_of(4096) as usize);
            rest = others;
            mine
        };
        let mut lanes = Vec::with_capacity(works.crew.lanes().len());
        for post in works.crew.lanes() {
            let needs = works.needs.get(post as usize).copied().unwrap_or_default();
            let (read, write) = (take(needs.read), take(needs.write));
            read.fill(0xa5);
            pattern.fill(write);
            lanes.push(Buffers { read: start_of(read), write: start_of(write) });
        }
        Ok(Self { lanes, memory })
    }
}

fn start_of(bytes: &mut [u8]) -> NonNull<u8> {
    NonNull::from(bytes).cast()
}

impl<P: Port> Reactor<P> {
    /// Waits for the start, then does I/O until the run is over and nothing is out.
    pub fn run(&mut self) {
        let Some(start_ns) = self.shared.gate.wait() else { return };
        if let Some(dispatcher) = &mut self.dispatcher {
            dispatcher.start(start_ns);
        }
        if !self.shared.gate.wait_for_start() {
            return;
        }
        self.now_ns = now_ns();
        loop {
            let stopping = self.shared.stopping();
            let more = self.turn(stopping);
            if stopping && self.crew.busy() == 0 {
                return;
            }
            match more {
                true => self.port.submit(),
                false => self.rest(stopping),
            }
        }
    }

    /// Records what is done, releases what is due, issues what idle lanes can do. True when there is more of it.
    fn turn(&mut self, stopping: bool) -> bool {
        let first = self.found.take().or_else(|| self.port.reap());
        let mut more = false;
        if let Some(dispatcher) = self.dispatcher.as_mut().filter(|_| !stopping) {
            self.now_ns = now_ns();
            more = dispatcher.pump(self.now_ns, BATCH, |post, _| self.crew.idle_since(post));
            dispatcher.arrivals(|post| self.crew.wake(post));
        }
        let work = self.crew.has_work() && !stopping;
        if first.is_none() && !work {
            if self.dispatcher.is_none() || stopping {
                self.now_ns = now_ns();
            }
            return more;
        }
        let reaped = self.reap_and_issue(first, stopping);
        more | reaped
    }

    #[inline]
    fn reap_and_issue(&mut self, first: Option<Completion>, stopping: bool) -> bool {
        let Self { port, arena, crew, writer, pattern, stamps, now_ns: now, .. } = self;
        let mut phase = writer.enter();
        let (mut next, mut reaped) = (first, 0);
        while let Some(Completion { lane, result }) = next {
            if reaped == 0 || *stamps == Stamps::Each {
                *now = now_ns();
            }
            crew.finish(&mut phase, lane, *now, result);
            reaped += 1;
            next = if reaped < BATCH { port.reap() } else { None };
        }
        let mut more = reaped == BATCH;
        if stopping {
            return more;
        }
        if *stamps == Stamps::Batch {
            *now = now_ns();
        }
        for n in 0.. {
            if n == BATCH {
                more |= crew.has_work();
                break;
            }
            let Some((lane, task)) = crew.next() else { break };
            let (file, access) = (task.post, task.order.access);
            let Some(buffer) = arena.buffer(lane, &access, pattern) else { break };
            if *stamps == Stamps::Each {
                *now = now_ns();
            }
            crew.issue(&mut phase, lane, *now);
            // SAFETY: the buffer is the lane's own in the arena, as long as the largest I/O of its target, and the lane is
            // busy until its I/O was reaped. The arena outlives the port.
            unsafe { port.push(&Request { lane, file, access, buffer }) };
        }
        more
    }

    /// Waits until something is done or due.
    fn rest(&mut self, stopping: bool) {
        let look_ns = self.now_ns.saturating_add(LOOK_NS);
        let dispatcher = self.dispatcher.as_ref().filter(|_| !stopping);
        let Some(due_ns) = dispatcher.and_then(|d| d.next_due(self.now_ns)) else {
            // Nothing can happen before an I/O is done, when one is out. A timer costs 0.3 µs.
            let until_ns = if self.dispatcher.is_none() && self.crew.busy() > 0 { u64::MAX } else { look_ns };
            return self.port.wait(until_ns);
        };
        let now = now_ns();
        if due_ns <= now {
            return self.port.submit();
        }
        match self.watch.step(now, due_ns) {
            Step::Sleep(until_ns) => {
                self.port.wait(until_ns.min(look_ns));
                self.found = self.port.reap();
                let now = now_ns();
                if self.found.is_none() && now >= until_ns {
                    self.watch.slept(until_ns, now);
                }
            }
            Step::Watch => {
                self.port.submit();
                let until_ns = due_ns.min(look_ns);
                while self.found.is_none() && now_ns() < until_ns {
                    std::hint::spin_loop();
                    self.port.poll();
                    self.found = self.port.reap();
                }
            }
        }
    }
}

impl Arena {
    /// The buffer for an I/O of a lane, with its data.
    #[inline]
    fn buffer(&self, lane: u32, access: &Access, pattern: &mut Pattern) -> Option<NonNull<u8>> {
        let Buffers { read, write } = *self.lanes.get(lane as usize)?;
        if access.read {
            return Some(read);
        }
        // SAFETY: the lane's own part of the arena, as long as its largest write; nothing of it is in flight.
        let block = unsafe { std::slice::from_raw_parts_mut(write.as_ptr(), access.len as usize) };
        pattern.stamp(block, access.lba);
        Some(write)
    }
}
