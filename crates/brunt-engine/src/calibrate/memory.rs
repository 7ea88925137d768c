//! A file in memory, for measuring without a device: written in full, and gone with the process.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::pattern::Pattern;

/// A file of a tmpfs that nobody else sees (memfd_create(2), Linux 3.17).
#[derive(Debug)]
pub struct MemoryFile {
    file: File,
    size: u64,
}

impl MemoryFile {
    /// A file with so many bytes.
    ///
    /// # Errors
    /// What the system says.
    pub fn new(size: u64) -> io::Result<Self> {
        let flags = libc::c_long::from(libc::MFD_CLOEXEC);
        // SAFETY: the name is a valid string that the kernel copies; the call returns a new descriptor or -1.
        let fd = unsafe { libc::syscall(libc::SYS_memfd_create, c"brunt-calibrate".as_ptr(), flags) };
        let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)?;
        // SAFETY: the descriptor is new, open, and nobody else's.
        let mut file = File::from(unsafe { OwnedFd::from_raw_fd(fd) });
        let mut block = vec![0; 1 << 16];
        Pattern::new(size).fill(&mut block);
        let mut left = size;
        while left > 0 {
            let part = block.get(..left as usize).unwrap_or(&block);
            file.write_all(part)?;
            left -= part.len() as u64;
        }
        Ok(Self { file, size })
    }

    /// A path that leads to it while it is there, for this process only.
    pub fn path(&self) -> String {
        format!("/proc/self/fd/{}", self.file.as_raw_fd())
    }

    /// Its size.
    pub fn size(&self) -> u64 {
        self.size
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn it_can_be_opened_by_its_path() {
        let file = MemoryFile::new(100_000).unwrap();
        let bytes = std::fs::read(file.path()).unwrap();
        assert_eq!((bytes.len() as u64, file.size()), (100_000, 100_000));
        assert!(bytes.iter().any(|b| *b != 0));
    }
}
