//! A blocking lane: one OS thread, one outstanding I/O.

use std::fs::File;
use std::io;
use std::sync::Arc;

use crate::buffer::Buffer;
use crate::clock::now_ns;
use crate::device::sync::transfer;
use crate::feed::Order;
use crate::pattern::Pattern;
use crate::record::{Arrival, Done, Phase};
use crate::seat::{Seat, Source};
use crate::site::{Site, error_of};

/// What a lane needs memory for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Needs {
    /// Largest read, 0 for none.
    pub read: u64,
    /// Largest write, 0 for none.
    pub write: u64,
}

/// An I/O that is done and not yet recorded.
#[derive(Debug)]
struct Answer {
    order: Order,
    arrival: Option<Arrival>,
    issued_ns: u64,
    done_ns: u64,
    result: Result<u64, i32>,
}

/// A lane.
#[derive(Debug)]
pub struct Lane {
    seat: Seat,
    file: Arc<File>,
    read: Buffer,
    write: Buffer,
    pattern: Pattern,
}

impl Lane {
    /// A lane with its buffers mapped, not yet touched. `salt` makes its data its own.
    ///
    /// # Errors
    /// What the system says about the memory.
    pub fn new(seat: Seat, file: Arc<File>, needs: Needs, salt: u64) -> io::Result<Self> {
        let (read, write) = (Buffer::new(needs.read)?, Buffer::new(needs.write)?);
        Ok(Self { seat, file, read, write, pattern: Pattern::new(salt) })
    }

    /// Touches its memory, in the lane's own thread.
    pub fn warm(&mut self) {
        self.read.bytes().fill(0xa5);
        self.pattern.fill(self.write.bytes());
    }

    /// Waits for the start, then does I/O until the run or the data is over. Where the next order is there already, one
    /// phase of recording is for the end of an I/O and the beginning of the next.
    pub fn run(&mut self) {
        if !self.seat.site.shared.gate.wait_for_start() {
            return;
        }
        let mut answer: Option<Answer> = None;
        let mut free_ns = 0;
        loop {
            let order = match self.seat.try_next() {
                Some(order) => order,
                None => {
                    self.record(answer.take());
                    let Some(order) = self.seat.next(free_ns) else { return };
                    order
                }
            };
            let served = self.serve(order, answer.take(), free_ns);
            free_ns = served.done_ns;
            answer = Some(served);
        }
    }

    #[inline]
    fn serve(&mut self, order: Order, before: Option<Answer>, free_ns: u64) -> Answer {
        let access = &order.access;
        let buffer = if access.read {
            self.read.bytes()
        } else {
            let buffer = self.write.bytes();
            if let Some(block) = buffer.get_mut(..access.len as usize) {
                self.pattern.stamp(block, access.lba);
            }
            buffer
        };
        let arrival = order.arrival(free_ns);
        let mut phase = self.seat.writer.enter();
        if let Some(before) = before {
            finish(&mut phase, &self.seat.source, &self.seat.site, &before);
        }
        let issued_ns = now_ns();
        phase.issue(0, order.local, issued_ns);
        drop(phase);
        let result = transfer(&self.file, access, buffer);
        let done_ns = now_ns();
        Answer { order, arrival, issued_ns, done_ns, result }
    }

    /// Records an answer, before the lane waits or ends.
    fn record(&mut self, answer: Option<Answer>) {
        if let Some(answer) = answer {
            finish(&mut self.seat.writer.enter(), &self.seat.source, &self.seat.site, &answer);
        }
    }
}

#[inline]
fn finish(phase: &mut Phase<'_>, source: &Source, site: &Site, answer: &Answer) {
    let Answer { order, arrival, issued_ns, done_ns, result } = answer;
    if let Source::Queue(queue) = source {
        queue.answered(done_ns.saturating_sub(*issued_ns));
    }
    let error = error_of(order, *result);
    phase.done(
        0,
        &Done {
            pair: order.local,
            read: order.access.read,
            bytes: order.access.len,
            arrival: *arrival,
            issued_ns: *issued_ns,
            done_ns: *done_ns,
            failed: error.is_some(),
        },
    );
    site.settle(order, error);
}
