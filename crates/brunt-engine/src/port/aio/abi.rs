//! The kernel's side of Linux AIO (`linux/aio_abi.h`): four system calls, two structures, and the ring of completions
//! that lies in the memory of the process.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::clock::timespec;

/// `IOCB_CMD_PREAD` and `IOCB_CMD_PWRITE`.
pub const PREAD: u16 = 0;
pub const PWRITE: u16 = 1;

/// `AIO_RING_MAGIC` of the kernel's `fs/aio.c`.
const MAGIC: u32 = 0xa10a_10a1;

/// `struct iocb`. The two words after `data` change places on big-endian machines; both are zero here.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Iocb {
    pub data: u64,
    pub key: u32,
    pub rw_flags: i32,
    pub opcode: u16,
    pub priority: i16,
    pub fd: u32,
    pub buffer: u64,
    pub bytes: u64,
    pub offset: i64,
    pub reserved: u64,
    pub flags: u32,
    pub resfd: u32,
}

/// `struct io_event`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Event {
    pub data: u64,
    pub obj: u64,
    pub res: i64,
    pub res2: i64,
}

/// `struct aio_ring` of `fs/aio.c`; the events follow it.
#[repr(C)]
struct Header {
    id: u32,
    nr: u32,
    head: AtomicU32,
    tail: AtomicU32,
    magic: u32,
    compat_features: u32,
    incompat_features: u32,
    header_length: u32,
}

/// A context: what the kernel calls the owner of I/Os in flight.
#[derive(Debug)]
pub struct Context(libc::c_ulong);

fn counted(result: libc::c_long) -> Result<usize, i32> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
}

impl Context {
    /// `io_setup`.
    pub fn new(events: u32) -> io::Result<Self> {
        let mut id: libc::c_ulong = 0;
        // SAFETY: `id` is zero, as the call wants it, and a valid place for its answer.
        match unsafe { libc::syscall(libc::SYS_io_setup, libc::c_ulong::from(events), &raw mut id) } {
            0 => Ok(Self(id)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// `io_submit`: how many of the front were taken, or why the first was not.
    ///
    /// # Safety
    /// The pointers are valid, and so are the buffers they name, until those I/Os are done.
    #[inline]
    pub unsafe fn submit(&self, batch: &[*mut Iocb]) -> Result<usize, i32> {
        // SAFETY: `batch` is an array of that many pointers, valid by the caller's promise.
        counted(unsafe { libc::syscall(libc::SYS_io_submit, self.0, batch.len(), batch.as_ptr()) })
    }

    /// `io_getevents`: waits until `min` I/Os are done or the time is over, and gives what is done.
    #[inline]
    pub fn events(&self, min: usize, into: &mut [Event], timeout_ns: Option<u64>) -> Result<usize, i32> {
        let timeout = timeout_ns.map(timespec);
        let at = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: `into` is a place for that many events, and `at` is null or a timespec that lives through the call.
        counted(unsafe { libc::syscall(libc::SYS_io_getevents, self.0, min, into.len(), into.as_mut_ptr(), at) })
    }

    /// The completions in the memory of the process. The number of a context is the address of its ring, which no man
    /// page promises; the magic number says whether it holds.
    pub fn ring(&self) -> Option<Ring> {
        let header = NonNull::new(self.0 as *mut Header)?;
        // SAFETY: Linux maps the ring at this address since 2.5 and until `io_destroy`; other readers of it (fio, the
        // library libaio, QEMU) rely on the same.
        let (magic, incompatible) = unsafe { ((*header.as_ptr()).magic, (*header.as_ptr()).incompat_features) };
        (magic == MAGIC && incompatible == 0).then_some(Ring(header))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context is ours and is not used after this. The call waits for I/Os in flight.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.0) };
    }
}

/// Completions in memory. Must not be used after its context is gone.
#[derive(Debug)]
pub struct Ring(NonNull<Header>);

impl Ring {
    fn header(&self) -> &Header {
        // SAFETY: mapped while the context lives; fields that change are atomics.
        unsafe { self.0.as_ref() }
    }

    /// How many events are there.
    #[inline]
    pub fn len(&self) -> u32 {
        let header = self.header();
        let (head, tail) = (header.head.load(Relaxed), header.tail.load(Acquire));
        if tail >= head { tail - head } else { tail + header.nr - head }
    }

    /// Takes the first event. Only after [`Ring::len`] has counted it, which also orders this read after the kernel's
    /// write.
    #[inline]
    pub fn take(&self) -> Event {
        let header = self.header();
        let head = header.head.load(Relaxed);
        // SAFETY: the events follow the header, `nr` of them, and the kernel keeps `head` below `nr`; this one was
        // published, and stays as it is until `head` moves.
        let event = unsafe { self.0.as_ptr().add(1).cast::<Event>().add(head as usize).read() };
        header.head.store(if head + 1 >= header.nr { 0 } else { head + 1 }, Release);
        event
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_are_as_large_as_the_kernel_s() {
        assert_eq!((size_of::<Iocb>(), size_of::<Event>(), size_of::<Header>()), (64, 32, 32));
    }
}
