//! A file or device, opened as its SD asks: the same for every back end.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::sync::Arc;

use brunt_plan::work::{LunKind, Node, OpenFlag, Sight, Target};

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
        let file = options.mode(0o666).open(&target.lun)?;
        if let Some(sight) = &target.sight {
            recognize(&file.metadata()?, sight)?;
        }
        Ok(Self { file: Arc::new(file), flags, fsync })
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

/// Whether what was opened is what was looked at.
fn recognize(opened: &Metadata, sight: &Sight) -> io::Result<()> {
    let same = match sight.node {
        Some(node) => node_of(opened) == Some(node),
        // Nothing was there, so that only a file can be.
        None if sight.kind == LunKind::Missing => opened.is_file(),
        None => true,
    };
    if same { Ok(()) } else { Err(io::Error::other("it is not what was there a moment ago; what replaces it?")) }
}

/// What the system calls a file or device by; `None` for what takes no I/O by address.
pub fn node_of(metadata: &Metadata) -> Option<Node> {
    let kind = metadata.file_type();
    if kind.is_file() {
        Some(Node::File(metadata.dev(), metadata.ino()))
    } else if kind.is_block_device() {
        Some(Node::Block(metadata.rdev()))
    } else {
        kind.is_char_device().then(|| Node::Character(metadata.rdev()))
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

    fn target(lun: &str, write: bool) -> Target {
        Target {
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
            sight: None,
        }
    }

    fn opened(lun: &str, write: bool) -> OpenFile {
        OpenFile::open(&target(lun, write)).unwrap()
    }

    #[test]
    fn only_what_was_looked_at_is_opened() {
        let (a, b) = (tempfile::NamedTempFile::new().unwrap(), tempfile::NamedTempFile::new().unwrap());
        let path = |file: &tempfile::NamedTempFile| file.path().to_str().unwrap().to_owned();
        let open = |lun: &str, kind, node| {
            let sight = Sight { kind, identity: None, size: 0, allow_in_use: false, overwrite: false, node };
            OpenFile::open(&Target { sight: Some(sight), ..target(lun, true) }).map(drop).map_err(|e| e.to_string())
        };
        let other = Err("it is not what was there a moment ago; what replaces it?".to_owned());
        let node = node_of(&a.path().metadata().unwrap());
        assert_eq!(open(&path(&a), LunKind::File, node), Ok(()));
        assert_eq!(open(&path(&b), LunKind::File, node), other);
        assert_eq!(open("/dev/null", LunKind::File, node), other);
        // Where nothing was, a file may be and nothing else.
        assert_eq!(open(&path(&b), LunKind::Missing, None), Ok(()));
        assert_eq!(open("/dev/null", LunKind::Missing, None), other);
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
