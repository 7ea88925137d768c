//! Linux AIO: the asynchronous engine of kernels without io_uring, and of containers that forbid it.
//!
//! Nothing here is newer than kernel 3.10. Completions are read from the ring that the kernel keeps in the memory of
//! the process where it can be recognised, else with `io_getevents`.

mod abi;

use std::cell::UnsafeCell;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use abi::{Context, Event, Iocb, PREAD, PWRITE, Ring};

use super::error::PortError;
use super::idle::{idle_until, time_left};
use super::refused::Refused;
use super::{Completion, Outfit, Port, Request};

/// The most events that one `io_getevents` gives.
const EVENTS: usize = 64;

/// A port over `io_submit`.
#[derive(Debug)]
pub struct AioPort {
    files: Vec<Arc<File>>,
    /// One for each lane. The kernel reads it during `io_submit` only; it stays for an I/O that must be repeated.
    iocbs: Box<[UnsafeCell<Iocb>]>,
    /// What `io_submit` has not taken yet: `batch[first..]`. Never longer than there are lanes.
    batch: Vec<*mut Iocb>,
    first: usize,
    in_flight: usize,
    refused: Refused,
    /// From `io_getevents`, `events[next..found]`.
    events: Box<[Event]>,
    next: usize,
    found: usize,
    /// How many events the ring had when it was last looked at.
    ready: u32,
    ring: Option<Ring>,
    /// Last, so that it goes when all else is over.
    context: Context,
}

/// Whether `io_setup` and its companions work.
pub(crate) fn check() -> Result<(), PortError> {
    let context = Context::new(1).map_err(|e| PortError::io_setup(1, &e))?;
    let failed = |call: &str, errno: i32| {
        let error = std::io::Error::from_raw_os_error(errno);
        let reason = if errno == libc::EPERM { "forbidden by seccomp".into() } else { error.to_string() };
        PortError::Aio(format!("{call}: {reason}"))
    };
    // SAFETY: there is nothing in the batch.
    unsafe { context.submit(&[]) }.map_err(|e| failed("io_submit", e))?;
    context.events(0, &mut [Event::default()], Some(0)).map_err(|e| failed("io_getevents", e))?;
    Ok(())
}

impl AioPort {
    /// A port of these.
    ///
    /// # Errors
    /// [`PortError::AioLimit`] above all: contexts count against `fs.aio-max-nr`.
    pub fn new(outfit: &Outfit<'_>) -> Result<Self, PortError> {
        let lanes = outfit.lanes.max(1);
        let context = Context::new(lanes).map_err(|e| PortError::io_setup(lanes, &e))?;
        let ring = context.ring();
        Ok(Self {
            files: outfit.files.to_vec(),
            iocbs: (0..lanes).map(|lane| UnsafeCell::new(Iocb { data: u64::from(lane), ..Iocb::default() })).collect(),
            batch: Vec::with_capacity(lanes as usize),
            first: 0,
            in_flight: 0,
            refused: Refused::new(lanes),
            events: vec![Event::default(); EVENTS.min(lanes as usize)].into(),
            next: 0,
            found: 0,
            ready: 0,
            ring,
            context,
        })
    }

    /// Reads completions with system calls only, as on a kernel whose ring cannot be recognised.
    #[cfg(test)]
    fn blind(mut self) -> Self {
        self.ring = None;
        self
    }

    fn start(&mut self, lane: usize) {
        if self.batch.len() == self.batch.capacity() {
            self.batch.drain(..self.first);
            self.first = 0;
        }
        if let Some(iocb) = self.iocbs.get(lane) {
            self.batch.push(iocb.get());
        }
    }

    /// Hands the batch over, as far as the kernel takes it.
    fn flush(&mut self) {
        while let Some(batch) = self.batch.get(self.first..).filter(|b| !b.is_empty()) {
            // SAFETY: the pointers are into `iocbs`, whose memory never moves; the buffers are valid by the promise
            // that `push` asks for.
            match unsafe { self.context.submit(batch) } {
                Ok(0) | Err(libc::EAGAIN) => return,
                Ok(taken) => {
                    self.first += taken;
                    self.in_flight += taken;
                }
                Err(libc::EINTR) => {}
                Err(errno) => {
                    // SAFETY: as above; the kernel has not taken this one.
                    self.refused.add(unsafe { (*batch[0]).data } as u32, errno);
                    self.first += 1;
                }
            }
        }
        self.batch.clear();
        self.first = 0;
    }

    fn unsent(&self) -> bool {
        self.first < self.batch.len()
    }

    /// Counts what the ring has; without one, asks the kernel, if `ask`.
    fn look(&mut self, ask: bool) {
        match &self.ring {
            Some(ring) => self.ready = ring.len(),
            None if ask && self.next == self.found && self.in_flight > 0 => self.fetch(0, Some(0)),
            None => {}
        }
    }

    fn has_some(&self) -> bool {
        self.ready > 0 || self.next < self.found || !self.refused.is_empty()
    }

    /// Gets events from the kernel. Only when all that were got before are reaped.
    fn fetch(&mut self, min: usize, timeout_ns: Option<u64>) {
        self.next = 0;
        self.found = self.context.events(min, &mut self.events, timeout_ns).unwrap_or(0);
    }

    #[inline]
    fn next_event(&mut self) -> Option<Event> {
        if self.next < self.found {
            self.next += 1;
            return self.events.get(self.next - 1).copied();
        }
        let ring = self.ring.as_ref().filter(|_| self.ready > 0)?;
        self.ready -= 1;
        Some(ring.take())
    }
}

impl Port for AioPort {
    #[inline]
    unsafe fn push(&mut self, request: &Request) {
        let (access, lane) = (&request.access, request.lane as usize);
        let (Some(iocb), Some(file)) = (self.iocbs.get(lane), self.files.get(request.file as usize)) else {
            return self.refused.add(request.lane, libc::EBADF);
        };
        let iocb = iocb.get();
        // SAFETY: it lives as long as `self`, which is borrowed mutably, and the kernel reads it during `io_submit` only. No
        // reference to it, nor a mutable one to all of them, is ever made: that would end what the pointers in the batch
        // may do.
        unsafe {
            (*iocb).opcode = if access.read { PREAD } else { PWRITE };
            (*iocb).fd = file.as_raw_fd() as u32;
            (*iocb).buffer = request.buffer.as_ptr() as u64;
            (*iocb).bytes = access.len;
            (*iocb).offset = access.lba as i64;
        }
        self.start(lane);
    }

    #[inline]
    fn submit(&mut self) {
        self.flush();
        self.look(false);
    }

    fn wait(&mut self, deadline_ns: u64) {
        self.flush();
        self.look(true);
        if self.has_some() {
            return;
        }
        if self.in_flight == 0 {
            return idle_until(deadline_ns, self.unsent());
        }
        self.fetch(1, time_left(deadline_ns));
        self.look(false);
    }

    #[inline]
    fn poll(&mut self) {
        self.look(true);
    }

    #[inline]
    fn reap(&mut self) -> Option<Completion> {
        if let Some(refused) = self.refused.take() {
            return Some(refused);
        }
        loop {
            let event = self.next_event()?;
            self.in_flight = self.in_flight.saturating_sub(1);
            let lane = event.data as u32;
            match u64::try_from(event.res) {
                Ok(moved) => return Some(Completion { lane, result: Ok(moved) }),
                // Nothing was moved: a signal came first. `pread` would be called again, too.
                Err(_) if event.res == -i64::from(libc::EINTR) => self.start(lane as usize),
                Err(_) => return Some(Completion { lane, result: Err(-event.res as i32) }),
            }
        }
    }
}

impl Drop for AioPort {
    /// Waits for what is in flight: the kernel writes into buffers that are gone afterwards.
    fn drop(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(self.found - self.next);
        while self.in_flight > 0 {
            match self.context.events(1, &mut self.events, None) {
                Ok(done) => self.in_flight = self.in_flight.saturating_sub(done),
                Err(libc::EINTR) => {}
                // `io_destroy` waits, too.
                Err(_) => break,
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write as _;
    use std::ptr::NonNull;

    use super::*;
    use crate::address::Access;
    use crate::buffer::Buffer;
    use crate::clock::now_ns;

    #[test]
    fn completions_come_by_system_calls_where_there_is_no_ring() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; 100 * 512]).unwrap();
        let mut memory = Buffer::new(100 * 512).unwrap();
        let arena = NonNull::from(memory.bytes());
        let mut port = AioPort::new(&Outfit { files: &[Arc::new(file)], lanes: 100, arena }).unwrap().blind();
        for lane in 0..100 {
            let buffer = NonNull::from(&mut memory.bytes()[lane as usize * 512..][..512]).cast();
            let access = Access { read: true, hit: false, lba: u64::from(lane) * 512, len: 512 };
            // SAFETY: each lane has its part of the memory, which outlives the I/Os: all are awaited.
            unsafe { port.push(&Request { lane, file: 0, access, buffer }) };
        }
        let mut seen = 0_u128;
        port.submit();
        while seen.count_ones() < 100 {
            if seen.count_ones().is_multiple_of(2) {
                port.wait(u64::MAX)
            } else {
                port.poll()
            }
            while let Some(done) = port.reap() {
                assert_eq!(done.result, Ok(512));
                seen |= 1 << done.lane;
            }
        }
        assert!(memory.bytes()[..100 * 512].iter().all(|b| *b == 7));
    }

    #[test]
    fn waiting_for_nothing_ends_at_the_deadline() {
        let arena = NonNull::from(&mut [0_u8; 0][..]);
        let mut port = AioPort::new(&Outfit { files: &[], lanes: 1, arena }).unwrap();
        let deadline = now_ns() + 5_000_000;
        port.wait(deadline);
        assert!(now_ns() >= deadline && port.reap().is_none());
    }

    #[test]
    fn more_than_the_system_has_is_an_error_with_a_cure() {
        let arena = NonNull::from(&mut [0_u8; 0][..]);
        let max: u32 = std::fs::read_to_string("/proc/sys/fs/aio-max-nr").unwrap().trim().parse().unwrap();
        let refused = AioPort::new(&Outfit { files: &[], lanes: max + 1, arena }).unwrap_err().to_string();
        assert!(refused.contains("sysctl fs.aio-max-nr="), "{refused}");
    }
}
