//! What a file or device does with I/O, asked of itself. Nothing is written.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use crate::buffer::Buffer;

/// `RWF_NOWAIT` of preadv2(2), kernel 4.14.
const RWF_NOWAIT: libc::c_int = 8;

/// The size of the probe, and its alignment: no device asks for more.
const PROBE: u64 = 4096;

/// Whether an I/O to it can be started without waiting for its end. Where it cannot (tmpfs, zram), io_uring hands every
/// I/O to a thread of the kernel, and AIO does it inside `io_submit`: both cost more than a plain `pread`. `None` when it cannot be told: no file or block device, no O_DIRECT, no permission, an error.
pub fn nowait(path: impl AsRef<Path>) -> Option<bool> {
    let path = path.as_ref();
    let kind = fs::metadata(path).ok()?.file_type();
    if !kind.is_file() && !kind.is_block_device() {
        return None;
    }
    let file = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path).ok()?;
    match read_now(&file)? {
        Ok(()) | Err(libc::EAGAIN) => Some(true),
        Err(libc::EOPNOTSUPP) => Some(false),
        // ENOSYS and EINVAL among them: a kernel that is too old to be asked, whose AIO works on many I/Os at once all
        // the same.
        Err(_) => None,
    }
}

/// Reads the first block, if that takes no waiting.
fn read_now(file: &File) -> Option<Result<(), i32>> {
    let mut buffer = Buffer::new(PROBE).ok()?;
    let block = buffer.bytes();
    let part = libc::iovec { iov_base: block.as_mut_ptr().cast(), iov_len: PROBE as usize };
    // The offset is two arguments, low half first; on 64 bits the first is all of it (preadv2(2), C library/kernel
    // differences). The C library's own wrapper is missing in older ones.
    let (low, high): (libc::c_long, libc::c_long) = (0, 0);
    // SAFETY: one vector of memory that lives through the call.
    let done =
        unsafe { libc::syscall(libc::SYS_preadv2, file.as_raw_fd(), &raw const part, 1_usize, low, high, RWF_NOWAIT) };
    Some(if done >= 0 { Ok(()) } else { Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)) })
}

/// Whether a regular file has its blocks on the device, so that reads of it are reads. `None` for all else.
pub fn allocated(path: impl AsRef<Path>) -> Option<bool> {
    let meta = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    // Counted in 512 bytes whatever the block size is (stat(2)).
    Some(meta.blocks().saturating_mul(512) >= meta.len())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn what_is_no_file_is_not_asked() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(nowait(folder.path()), None);
        assert_eq!(nowait(folder.path().join("missing")), None);
        assert_eq!(nowait("/dev/null"), None);
        assert_eq!((allocated(folder.path()), allocated("/dev/null")), (None, None));
    }

    #[test]
    fn holes_are_not_allocated() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 20).unwrap();
        assert_eq!(allocated(file.path()), Some(false));
        file.as_file().write_all_at(&[1; 1 << 20], 0).unwrap();
        file.as_file().sync_all().unwrap();
        assert_eq!(allocated(file.path()), Some(true));
    }
}
