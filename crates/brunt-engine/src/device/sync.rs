//! `pread` and `pwrite`: the right back end wherever an I/O completes inside the system call.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use crate::address::Access;

/// Moves the first `access.len` bytes of the buffer and returns how many were moved.
///
/// # Errors
/// The system's error number.
#[inline]
pub fn transfer(file: &File, access: &Access, buffer: &mut [u8]) -> Result<u64, i32> {
    let Some(block) = buffer.get_mut(..access.len as usize) else {
        return Err(libc::EFAULT);
    };
    let (fd, at, len, lba) = (file.as_raw_fd(), block.as_mut_ptr(), block.len(), access.lba as libc::off_t);
    loop {
        let moved = if access.read {
            // SAFETY: `block` is a live, exclusive slice of `len` bytes and the descriptor is open.
            unsafe { pread(fd, at.cast(), len, lba) }
        } else {
            // SAFETY: as above; the kernel only reads the slice.
            unsafe { pwrite(fd, at.cast_const().cast(), len, lba) }
        };
        match u64::try_from(moved) {
            Ok(moved) => return Ok(moved),
            // Nothing was moved: a signal came first.
            Err(_) if errno() == libc::EINTR => {}
            Err(_) => return Err(errno()),
        }
    }
}

/// The system call itself: the function of the C library is a place where threads can be cancelled, which costs more than
/// everything else around the call. A machine of 32 bits splits the offset in ways of its own.
#[cfg(target_pointer_width = "64")]
#[inline]
unsafe fn pread(fd: i32, to: *mut libc::c_void, len: usize, at: libc::off_t) -> i64 {
    // SAFETY: as the caller promised.
    unsafe { libc::syscall(libc::SYS_pread64, fd, to, len, at) }
}

#[cfg(target_pointer_width = "64")]
#[inline]
unsafe fn pwrite(fd: i32, from: *const libc::c_void, len: usize, at: libc::off_t) -> i64 {
    // SAFETY: as the caller promised.
    unsafe { libc::syscall(libc::SYS_pwrite64, fd, from, len, at) }
}

#[cfg(not(target_pointer_width = "64"))]
use libc::{pread, pwrite};

fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}
