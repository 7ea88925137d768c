//! io_uring: the asynchronous engine of kernels since 5.11, where it is allowed.

mod lists;
mod polled;
mod ring;

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, RawFd};
use std::ptr::NonNull;
use std::sync::Arc;

use io_uring::squeue::Entry;
use io_uring::{opcode, types};
use lists::{Answers, Unsent};
use ring::Ring;

use super::error::PortError;
use super::idle::{idle_until, time_left};
use super::refused::Refused;
use super::{Completion, Outfit, Port, Request};
use crate::clock::{now_ns, sleep_until};

/// `IORING_MAX_ENTRIES` of the kernel.
const MOST_LANES: u32 = 32_768;

/// The most bytes that one read or write moves (read(2)).
const MOST_BYTES: u64 = 0x7fff_f000;

/// The largest buffer that may be registered is 1 GiB (io_uring_register(2)); of a larger arena each GiB is one.
const REGISTERED_SHIFT: u32 = 30;

/// A registered arena.
#[derive(Debug, Clone, Copy)]
struct Arena {
    start: usize,
    len: usize,
}

impl Arena {
    /// The number of the registered buffer that has all these bytes.
    #[inline]
    fn holds(&self, at: usize, len: u64) -> Option<u16> {
        // What lies before the start is far behind the end.
        let from = at.wrapping_sub(self.start);
        let room = self.len.checked_sub(from)? as u64;
        if len > room || room == 0 {
            return None;
        }
        let last = from + (len as usize).max(1) - 1;
        let (of_from, of_last) = (from >> REGISTERED_SHIFT, last >> REGISTERED_SHIFT);
        (of_from == of_last).then_some(of_from as u16)
    }
}

/// A port over io_uring. It stays in the thread that made it.
pub struct UringPort {
    ring: Ring,
    files: Vec<Arc<File>>,
    /// Whether the files are registered, so that their index stands for them.
    registered: bool,
    /// The arena, when it is registered.
    arena: Option<Arena>,
    polled: bool,
    /// What each lane does, for an I/O that must be repeated.
    requests: Box<[Option<Request>]>,
    /// The lanes of what is pushed and not taken, in order.
    unsent: Unsent,
    in_flight: u32,
    /// What is done and was not reaped: lane and answer.
    done: Answers,
    refused: Refused,
    /// The error with which the ring broke: everything is refused from then on.
    broken: Option<i32>,
    /// The kernel takes a ring of a single issuer from the thread that made it alone.
    here: PhantomData<*const ()>,
}

/// Whether a ring can be made and used, in this thread.
pub(crate) fn check() -> Result<(), PortError> {
    let mut ring = Ring::new(1, false).map_err(|e| PortError::io_uring(&e))?;
    demand(&ring)?;
    let entry = opcode::Nop::new().build();
    // SAFETY: a Nop has no buffer.
    let pushed = unsafe { ring.queues.submission().push(&entry) };
    pushed.map_err(|_| PortError::Uring("an empty ring has no room".into()))?;
    let refused = |errno| PortError::io_uring(&io::Error::from_raw_os_error(errno));
    ring.enter(1, 1, Some(1_000_000_000)).map_err(refused)?;
    match ring.queues.completion().next() {
        Some(done) if done.result() == 0 => Ok(()),
        Some(done) => Err(refused(-done.result())),
        None => Err(PortError::Uring("an empty operation was not done within a second".into())),
    }
}

/// What a ring must be able to do to serve us.
fn demand(ring: &Ring) -> Result<(), PortError> {
    let has = ring.queues.params();
    if has.is_feature_ext_arg() && has.is_feature_nodrop() {
        return Ok(());
    }
    Err(PortError::Uring("the kernel's cannot wait until a given time; 5.11 and later can".into()))
}

impl UringPort {
    /// A port of these. The arena is registered, which spares the kernel to pin buffers for every I/O; where the limit
    /// of locked memory forbids it, the port does without.
    ///
    /// # Errors
    /// Why the kernel gives no ring.
    pub fn new(outfit: &Outfit<'_>) -> Result<Self, PortError> {
        Self::with(outfit, false)
    }

    /// As [`UringPort::new`], but completions come without interrupts: for files with direct I/O whose devices all have
    /// `queue/io_poll` on. Each is tried by a read of its first block.
    ///
    /// # Errors
    /// Why the kernel gives no ring, or that it cannot poll there.
    pub fn new_polled(outfit: &Outfit<'_>) -> Result<Self, PortError> {
        Self::with(outfit, true)
    }

    fn with(outfit: &Outfit<'_>, polled: bool) -> Result<Self, PortError> {
        let lanes = outfit.lanes.max(1);
        if lanes > MOST_LANES {
            return Err(PortError::Uring(format!(
                "{lanes} I/Os in flight in one thread are more than the {MOST_LANES} of a ring; \
                 use more workers (jvms=) or misc=(engine=aio)"
            )));
        }
        let mut ring = Ring::new(lanes, polled).map_err(|e| PortError::io_uring(&e))?;
        demand(&ring)?;
        if polled {
            polled::check(&mut ring, outfit.files).map_err(|why| PortError::Uring(format!("no polling: {why}")))?;
        }
        let fds: Vec<RawFd> = outfit.files.iter().map(|f| f.as_raw_fd()).collect();
        let registered = !fds.is_empty() && ring.queues.submitter().register_files(&fds).is_ok();
        let arena = register(&ring, outfit.arena);
        Ok(Self {
            ring,
            files: outfit.files.to_vec(),
            registered,
            arena,
            polled,
            requests: vec![None; lanes as usize].into(),
            unsent: Unsent::new(lanes),
            in_flight: 0,
            done: Answers::new(lanes),
            refused: Refused::new(lanes),
            broken: None,
            here: PhantomData,
        })
    }

    /// Whether the buffers of the arena are registered.
    pub fn has_fixed_buffers(&self) -> bool {
        self.arena.is_some()
    }

    #[inline]
    fn entry(&self, request: &Request) -> Option<Entry> {
        let access = &request.access;
        let (at, len) = (request.buffer.as_ptr(), access.len.min(MOST_BYTES));
        let fixed = self.arena.and_then(|a| a.holds(at as usize, len));
        let (len, offset) = (len as u32, access.lba);
        macro_rules! build {
            ($fd:expr) => {
                match (access.read, fixed) {
                    (true, Some(i)) => opcode::ReadFixed::new($fd, at, len, i).offset(offset).build(),
                    (true, None) => opcode::Read::new($fd, at, len).offset(offset).build(),
                    (false, Some(i)) => opcode::WriteFixed::new($fd, at, len, i).offset(offset).build(),
                    (false, None) => opcode::Write::new($fd, at, len).offset(offset).build(),
                }
            };
        }
        let entry = match self.registered {
            true => build!(types::Fixed(request.file)),
            false => build!(types::Fd(self.files.get(request.file as usize)?.as_raw_fd())),
        };
        Some(entry.user_data(u64::from(request.lane)))
    }

    #[inline]
    fn start(&mut self, request: &Request) {
        let lane = request.lane;
        let Some(entry) = self.entry(request) else { return self.refused.add(lane, libc::EBADF) };
        if let Some(errno) = self.broken {
            return self.refused.add(lane, errno);
        }
        // SAFETY: the buffer is valid by the promise that `push` asks for.
        match unsafe { self.ring.queues.submission().push(&entry) } {
            Ok(()) => self.unsent.push(lane),
            // There is an entry for each lane, so that the lane had an I/O already.
            Err(_) => self.refused.add(lane, libc::EBUSY),
        }
    }

    /// Enters the kernel with the batch, and notes what it took. Says whether the rest can be tried at once.
    fn enter(&mut self, min: u32, timeout_ns: Option<u64>) -> bool {
        let before = self.unsent.len();
        let result = self.ring.enter(before, min, timeout_ns);
        let left = self.ring.unsent().min(before);
        self.unsent.taken(before - left);
        self.in_flight += before - left;
        match result {
            Ok(_) => left > 0 && left < before,
            Err(libc::EINTR) => left > 0,
            Err(libc::ETIME | libc::EAGAIN | libc::EBUSY) => false,
            Err(errno) => {
                self.break_with(errno);
                false
            }
        }
    }

    /// After an error that no call can mend: gives back what was not taken, and takes no more.
    fn break_with(&mut self, errno: i32) {
        self.broken = Some(errno);
        while let Some(lane) = self.unsent.pop() {
            self.refused.add(lane, errno);
        }
    }

    /// Takes over what is done: one look at the ring for all of it. At most one of each lane is there, so that the list
    /// never grows.
    #[inline]
    fn look(&mut self) {
        let all = self.ring.queues.completion().map(|done| (done.user_data() as u32, done.result()));
        self.in_flight = self.in_flight.saturating_sub(self.done.add(all));
    }

    fn has_some(&self) -> bool {
        !self.done.is_empty() || !self.refused.is_empty()
    }

    /// Polls the device until something is done: a polled ring cannot wait with a deadline.
    fn wait_polling(&mut self, deadline_ns: u64) {
        while !self.has_some() && self.in_flight > 0 && self.broken.is_none() && now_ns() < deadline_ns {
            self.enter(0, None);
            self.look();
        }
    }

    /// Hands over the batch and sleeps until something is done.
    fn wait_sleeping(&mut self, deadline_ns: u64) {
        let left = time_left(deadline_ns);
        while self.enter(1, left) {}
        self.look();
        if !self.unsent.is_empty() && self.in_flight > 0 && !self.has_some() {
            // No room, which completions will make. An error shows at the next hand-over.
            let _ = self.ring.enter(0, 1, left);
            self.look();
        }
    }
}

/// Registers an arena, a GiB at a time. Its pages must be there.
fn register(ring: &Ring, arena: NonNull<[u8]>) -> Option<Arena> {
    let (start, len) = (arena.cast::<u8>().as_ptr() as usize, arena.len());
    let part = 1 << REGISTERED_SHIFT;
    let parts: Vec<libc::iovec> = (0..len)
        .step_by(part)
        .map(|at| libc::iovec { iov_base: (start + at) as *mut libc::c_void, iov_len: part.min(len - at) })
        .collect();
    // SAFETY: registering pins pages that are mapped and fails for others; it writes nothing. The kernel uses them for
    // I/Os alone, each of which has its own promise.
    let done = unsafe { ring.queues.submitter().register_buffers(&parts) };
    (done.is_ok() && !parts.is_empty()).then_some(Arena { start, len })
}

impl Port for UringPort {
    #[inline]
    unsafe fn push(&mut self, request: &Request) {
        let Some(place) = self.requests.get_mut(request.lane as usize) else {
            return self.refused.add(request.lane, libc::EBADF);
        };
        *place = Some(*request);
        self.start(request);
    }

    #[inline]
    fn submit(&mut self) {
        while !self.unsent.is_empty() && self.enter(0, None) {}
        self.look();
    }

    fn wait(&mut self, deadline_ns: u64) {
        self.look();
        if self.has_some() || self.polled {
            self.submit();
        }
        if self.polled {
            self.wait_polling(deadline_ns);
        }
        if self.has_some() {
            return;
        }
        if self.in_flight == 0 && self.unsent.is_empty() {
            return idle_until(deadline_ns, false);
        }
        if !self.polled {
            self.wait_sleeping(deadline_ns);
        }
        if self.in_flight == 0 && !self.has_some() {
            idle_until(deadline_ns, true);
        }
    }

    #[inline]
    fn poll(&mut self) {
        self.look();
        if self.done.is_empty() && self.in_flight > 0 && self.ring.holds_back() {
            // Nothing is handed over: that is for `submit`.
            let _ = self.ring.enter(0, 0, None);
            self.look();
        }
    }

    #[inline]
    fn reap(&mut self) -> Option<Completion> {
        if let Some(refused) = self.refused.take() {
            return Some(refused);
        }
        while let Some((lane, answer)) = self.done.take() {
            match u64::try_from(answer) {
                Ok(moved) => return Some(Completion { lane, result: Ok(moved) }),
                Err(_) if self.must_repeat(-answer) => self.repeat(lane),
                Err(_) => return Some(Completion { lane, result: Err(-answer) }),
            }
        }
        None
    }
}

impl UringPort {
    /// Whether nothing was tried: a signal came first, or the tags of a polled device were used up.
    fn must_repeat(&self, errno: i32) -> bool {
        errno == libc::EINTR || (errno == libc::EAGAIN && self.polled)
    }

    #[cold]
    fn repeat(&mut self, lane: u32) {
        if let Some(request) = self.requests.get(lane as usize).copied().flatten() {
            self.start(&request);
        }
    }
}

impl Drop for UringPort {
    /// Waits for what is in flight: the kernel writes into buffers that are gone afterwards. Then takes back what is
    /// registered, which the kernel else does some time after the ring was closed: until then the device is in use,
    /// and the memory counts against the limit.
    fn drop(&mut self) {
        loop {
            let done = self.ring.queues.completion().count() as u32;
            self.in_flight = self.in_flight.saturating_sub(done);
            if self.in_flight == 0 {
                break;
            }
            let want = u32::from(!self.polled);
            if self.ring.enter(0, want, None).is_err_and(|e| e != libc::EINTR) {
                // It must not return before the I/Os do.
                sleep_until(now_ns().saturating_add(1_000_000));
            }
        }
        let submitter = self.ring.queues.submitter();
        if self.arena.is_some() {
            let _ = submitter.unregister_buffers();
        }
        if self.registered {
            let _ = submitter.unregister_files();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_fixed_when_it_lies_within_one_part() {
        let arena = Arena { start: 4096, len: (2 << 30) + 8192 };
        assert_eq!(arena.holds(4096, 4096), Some(0));
        assert_eq!(arena.holds(0, 4096), None);
        assert_eq!(arena.holds(4096 + (1 << 30) - 4096, 4096), Some(0));
        assert_eq!(arena.holds(4096 + (1 << 30) - 4096, 8192), None);
        assert_eq!(arena.holds(4096 + (2 << 30), 8192), Some(2));
        assert_eq!(arena.holds(4096 + (2 << 30), 8193), None);
        assert_eq!(arena.holds(usize::MAX, u64::MAX), None);
    }

    #[test]
    fn too_many_lanes_are_refused_with_a_way_out() {
        let arena = NonNull::from(&mut [0_u8; 0][..]);
        let refused = UringPort::new(&Outfit { files: &[], lanes: MOST_LANES + 1, arena }).err().unwrap();
        assert!(refused.to_string().contains("engine=aio"), "{refused}");
    }
}
