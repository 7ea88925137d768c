//! A blocking lane: one OS thread, one outstanding I/O.

use std::io;
use std::sync::Arc;

use crate::buffer::Buffer;
use crate::clock::now_ns;
use crate::device::Device;
use crate::feed::Order;
use crate::pattern::Pattern;
use crate::seat::Seat;

/// What a lane needs memory for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Needs {
    /// Largest read, 0 for none.
    pub read: u64,
    /// Largest write, 0 for none.
    pub write: u64,
}

/// A lane.
pub struct Lane {
    seat: Seat,
    device: Arc<dyn Device>,
    read: Buffer,
    write: Buffer,
    pattern: Pattern,
}

impl Lane {
    /// A lane with its buffers mapped, not yet touched. `salt` makes its data its own.
    ///
    /// # Errors
    /// What the system says about the memory.
    pub fn new(seat: Seat, device: Arc<dyn Device>, needs: Needs, salt: u64) -> io::Result<Self> {
        let (read, write) = (Buffer::new(needs.read)?, Buffer::new(needs.write)?);
        Ok(Self { seat, device, read, write, pattern: Pattern::new(salt) })
    }

    /// Touches its memory, in the lane's own thread.
    pub fn warm(&mut self) {
        self.read.bytes().fill(0xa5);
        self.pattern.fill(self.write.bytes());
    }

    /// Waits for the start, then does I/O until the run or the data is over.
    pub fn run(&mut self) {
        if !self.seat.shared.gate.wait_for_start() {
            return;
        }
        while let Some(order) = self.seat.next() {
            self.serve(&order);
        }
    }

    #[inline]
    fn serve(&mut self, order: &Order) {
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
        let issued_ns = now_ns();
        self.seat.writer.issue(order.local, issued_ns);
        let result = self.device.transfer(access, buffer);
        let done_ns = now_ns();
        self.seat.finish(order, issued_ns, done_ns, result);
    }
}
