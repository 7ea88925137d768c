//! A file or device, opened as its SD asks: the same for every back end.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;

use brunt_plan::work::{OpenFlag, Target};

/// `o_sync`, `o_dsync` and `o_rsync` all set this, as Vdbench does (`docs/vdbench/raw.md` §5).
const O_DSYNC: i32 = 0x1000;

/// So many files a process may have open at least besides those that lanes open for themselves.
const OTHERS: u64 = 256;

/// An open file or device.
#[derive(Debug)]
pub struct OpenFile {
    file: Arc<File>,
    flags: i32,
    fsync: bool,
}

impl OpenFile {
    /// Opens a target: read-only unless some workload of the execution writes to it, and created only
    /// where the plan says so.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(target: &Target) -> io::Result<Self> {
        let mut flags = 0;
        let mut fsync = false;
        for flag in &target.flags {
            match flag {
                OpenFlag::Direct => flags |= libc::O_DIRECT,
                OpenFlag::Sync => flags |= O_DSYNC,
                OpenFlag::Fsync => fsync = true,
                OpenFlag::Raw(bits) => flags |= bits,
            }
        }
        let mut options = OpenOptions::new();
        options.read(true).write(target.write).create(target.create && target.write).custom_flags(flags);
        Ok(Self { file: Arc::new(options.mode(0o666).open(&target.lun)?), flags, fsync })
    }

    /// The same regular file opened once more, for a lane of its own: threads that use one open file at a time all count
    /// its users in one place of memory, which costs tens of nanoseconds per I/O on two cores and more on many. `None`
    /// for a device, whose driver may take each open for an event, and where it cannot be done: then lanes share.
    pub fn again(&self, writes: bool) -> Option<File> {
        if !self.file.metadata().is_ok_and(|m| m.is_file()) {
            return None;
        }
        let path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        OpenOptions::new().read(true).write(writes).custom_flags(self.flags).open(path).ok()
    }

    /// The open file, for lanes and ports.
    pub fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Ends the use, after the last I/O. With `openflags=fsync` this makes written data durable.
    ///
    /// # Errors
    /// The system's error number.
    pub fn finish(&self) -> Result<(), i32> {
        if !self.fsync {
            return Ok(());
        }
        self.file.sync_all().map_err(|e| e.raw_os_error().unwrap_or(libc::EIO))
    }
}

/// Whether so many more open files leave the process enough of what it may have.
pub fn room_for(files: u64) -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes one `rlimit` to a place that is one.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } == 0;
    known && files.saturating_mul(2).saturating_add(OTHERS) <= limit.rlim_cur
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::FileExt;

    use brunt_plan::work::Backend;

    use super::*;

    fn opened(lun: &str, write: bool) -> OpenFile {
        let target = Target {
            sd: 0,
            name: "sd1".into(),
            lun: lun.into(),
            size: 4096,
            threads: 2,
            flags: vec![OpenFlag::Sync],
            write,
            create: false,
            raw: false,
            sim: None,
            backend: Backend::Sync,
            polled: false,
        };
        OpenFile::open(&target).unwrap()
    }

    #[test]
    fn a_file_is_opened_again_with_the_same_flags_also_when_its_name_is_gone() {
        let named = tempfile::NamedTempFile::new().unwrap();
        let first = opened(named.path().to_str().unwrap(), true);
        named.close().unwrap();
        first.file().write_all_at(b"here", 0).unwrap();
        let mut bytes = [0; 4];
        let flags = |file: &File| {
            let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd())).unwrap();
            info.lines().find(|l| l.starts_with("flags:")).unwrap().to_owned()
        };
        for writes in [true, false] {
            let again = first.again(writes).unwrap();
            again.read_exact_at(&mut bytes, 0).unwrap();
            assert_eq!((&bytes, again.write_all_at(b"x", 8).is_ok()), (b"here", writes));
            assert!(!writes || flags(&again) == flags(first.file()));
        }
    }

    #[test]
    fn a_device_is_opened_once() {
        assert!(opened("/dev/null", false).again(false).is_none());
    }

    #[test]
    fn lanes_share_where_files_are_few() {
        assert!(room_for(1));
        assert!(!room_for(u64::MAX));
    }
}
