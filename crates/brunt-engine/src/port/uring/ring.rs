//! A ring of io_uring with the best manners that the kernel knows, and how to enter it.

use std::io;
use std::os::fd::AsRawFd;

use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring};

use crate::clock::{now_ns, sleep_until};

/// From `linux/io_uring.h`: `IORING_REGISTER_RING_FDS` and `IORING_UNREGISTER_RING_FDS` (kernel 5.18).
const REGISTER_RING_FDS: u32 = 20;
const UNREGISTER_RING_FDS: u32 = 21;

/// A ring that was closed gives its memory back some time later, and until then it counts against the limit of locked
/// memory: how long to wait for that, and how often to look.
const RELEASE_NS: u64 = 300_000_000;
const LOOK_NS: u64 = 5_000_000;

/// `struct io_uring_rsrc_update`.
#[repr(C)]
struct RingUpdate {
    offset: u32,
    reserved: u32,
    data: u64,
}

/// How completions reach the process (io_uring_setup(2)), best first. Older kernels answer EINVAL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manners {
    /// `SINGLE_ISSUER` and `DEFER_TASKRUN` (6.1): only when the thread asks.
    Deferred,
    /// `COOP_TASKRUN` (5.19): at the next system call, without an interrupt.
    Cooperative,
    /// At any time.
    Plain,
}

/// A ring, used by the thread that made it alone.
pub struct Ring {
    pub queues: IoUring,
    polled: bool,
    /// Its number in the thread's table of rings, which spares a look-up in the table of files at each call.
    number: Option<u32>,
}

impl Ring {
    /// A ring with room for so many I/Os; with `polled` the device is polled for completions.
    ///
    /// # Errors
    /// What the kernel says to the plainest.
    pub fn new(entries: u32, polled: bool) -> io::Result<Self> {
        let until = now_ns().saturating_add(RELEASE_NS);
        loop {
            match Self::politest(entries, polled) {
                Err(e) if e.raw_os_error() == Some(libc::ENOMEM) && now_ns() < until => {
                    sleep_until(now_ns().saturating_add(LOOK_NS));
                }
                Err(e) => return Err(e),
                Ok(mut ring) => {
                    ring.number = ring.register();
                    return Ok(ring);
                }
            }
        }
    }

    fn politest(entries: u32, polled: bool) -> io::Result<Self> {
        let mut made = Self::with(Manners::Deferred, entries, polled);
        for manners in [Manners::Cooperative, Manners::Plain] {
            if made.as_ref().is_err_and(|e| e.raw_os_error() == Some(libc::EINVAL)) {
                made = Self::with(manners, entries, polled);
            }
        }
        made
    }

    fn with(manners: Manners, entries: u32, polled: bool) -> io::Result<Self> {
        let mut builder = IoUring::builder();
        builder.dontfork();
        match manners {
            Manners::Deferred => builder.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag(),
            Manners::Cooperative => builder.setup_coop_taskrun().setup_taskrun_flag(),
            Manners::Plain => &mut builder,
        };
        if manners != Manners::Plain {
            builder.setup_submit_all();
        }
        if polled {
            builder.setup_iopoll();
        }
        Ok(Self { queues: builder.build(entries)?, polled, number: None })
    }

    fn ring_fds(&self, opcode: u32, offset: u32, data: u64) -> Option<u32> {
        let mut update = RingUpdate { offset, reserved: 0, data };
        let fd = self.queues.as_raw_fd();
        // SAFETY: the call reads and writes one structure of this shape.
        let done = unsafe { libc::syscall(libc::SYS_io_uring_register, fd, opcode, &raw mut update, 1) };
        (done == 1).then_some(update.offset)
    }

    fn register(&self) -> Option<u32> {
        self.ring_fds(REGISTER_RING_FDS, u32::MAX, self.queues.as_raw_fd() as u64)
    }

    /// Whether completions wait in the kernel until the thread enters it. The answer costs no system call.
    #[inline]
    pub fn holds_back(&mut self) -> bool {
        let queue = self.queues.submission();
        self.polled || queue.taskrun() || queue.cq_overflow()
    }

    /// How many pushed I/Os the kernel has not taken.
    #[inline]
    pub fn unsent(&mut self) -> u32 {
        self.queues.submission().len() as u32
    }

    /// `io_uring_enter`: hands over so many I/Os and waits for `min` completions, at most `timeout_ns`.
    ///
    /// # Errors
    /// Its error number; ETIME when the time was over.
    #[inline]
    pub fn enter(&self, to_submit: u32, min: u32, timeout_ns: Option<u64>) -> Result<u32, i32> {
        let time = timeout_ns.map(|ns| Timespec::new().sec(ns / 1_000_000_000).nsec((ns % 1_000_000_000) as u32));
        let mut flags = EnterFlags::GETEVENTS;
        let fd = match self.number {
            Some(number) => {
                flags |= EnterFlags::REGISTERED_RING;
                number as i32
            }
            None => self.queues.as_raw_fd(),
        };
        let args = time.as_ref().map(|time| SubmitArgs::new().timespec(time));
        let (at, size) = match &args {
            Some(args) => {
                flags |= EnterFlags::EXT_ARG;
                (std::ptr::from_ref(args).cast::<libc::c_void>(), size_of::<SubmitArgs>())
            }
            None => (std::ptr::null(), 0),
        };
        // SAFETY: the descriptor, or the number, is of this ring; `at` is null or the structure that EXT_ARG names,
        // with a time that lives as long. The buffers of the I/Os are valid by the promise of `Port::push`.
        let done = unsafe { libc::syscall(libc::SYS_io_uring_enter, fd, to_submit, min, flags.bits(), at, size) };
        u32::try_from(done).map_err(|_| io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            // The number holds the ring open beyond its descriptor. Nothing can be done should this fail.
            let _ = self.ring_fds(UNREGISTER_RING_FDS, number, 0);
        }
    }
}
