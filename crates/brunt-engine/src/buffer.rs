//! Page-aligned memory for transfers, straight from the kernel.
//!
//! A lane maps its own and is the first to touch it, so that it lies near the lane's core.

use std::io;
use std::ptr::NonNull;

const PAGE: usize = 4096;

/// A private mapping, zero until written.
#[derive(Debug)]
pub struct Buffer {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: a Buffer owns its mapping alone, as a Vec owns its memory.
unsafe impl Send for Buffer {}

impl Buffer {
    /// Maps at least `len` bytes, in whole pages.
    ///
    /// # Errors
    /// What the kernel says, ENOMEM above all.
    pub fn new(len: u64) -> io::Result<Self> {
        let len = usize::try_from(len).map_err(|_| io::Error::from_raw_os_error(libc::ENOMEM))?;
        let len = len.max(1).checked_next_multiple_of(PAGE).ok_or(io::Error::from_raw_os_error(libc::ENOMEM))?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new anonymous mapping at an address of the kernel's choice touches nothing of ours.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(at.cast()).ok_or(io::Error::from_raw_os_error(libc::ENOMEM))?;
        Ok(Self { start, len })
    }

    /// Where it begins.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Its length, whole pages.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// All of it.
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is `len` bytes, readable, writable and initialised (zeros); `&mut self`
        // makes the borrow unique.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `new`; no borrow of it can outlive self.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn it_is_aligned_and_holds_what_was_asked() {
        for len in [0, 1, 4096, 5000] {
            let mut b = Buffer::new(len).unwrap();
            assert_eq!(b.bytes().as_ptr() as usize % PAGE, 0);
            assert!(b.bytes().len() as u64 >= len && b.bytes().iter().all(|x| *x == 0));
        }
    }

    #[test]
    fn too_much_is_an_error() {
        assert!(Buffer::new(u64::MAX).is_err());
    }
}
