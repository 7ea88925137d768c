//! Files and devices to test on. What a machine lacks is skipped with its reason, or fails in CI.
#![allow(clippy::print_stderr)]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use tempfile::TempDir;

/// Why a test cannot run here. In CI a skip is a failure.
pub fn skip(why: &str) {
    assert!(std::env::var_os("BRUNT_TEST_NO_SKIP").is_none(), "must not skip here: {why}");
    eprintln!("skipped: {why}");
}

/// A loop device over a file in memory, let go when dropped.
pub struct Loop(String);

impl Loop {
    fn new(backing: &Path) -> Option<Self> {
        let made = Command::new("losetup").args(["--direct-io=on", "--find", "--show"]).arg(backing).output().ok()?;
        let device = String::from_utf8(made.stdout).ok()?.trim().to_owned();
        (made.status.success() && device.starts_with("/dev/loop")).then_some(Self(device))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

/// A place for I/O.
pub struct Medium {
    pub name: &'static str,
    pub path: PathBuf,
    pub bytes: u64,
    _device: Option<Loop>,
    _folder: TempDir,
}

/// A byte that tells blocks of 4 KiB apart.
pub fn mark(block: u64) -> u8 {
    (block % 251) as u8 + 1
}

impl Medium {
    fn file(name: &'static str, folder: TempDir, bytes: u64) -> Self {
        let path = folder.path().join("lun");
        let file = File::create(&path).unwrap();
        (0..bytes / 4096).for_each(|b| file.write_all_at(&[mark(b); 4096], b * 4096).unwrap());
        file.sync_all().unwrap();
        Self { name, path, bytes, _device: None, _folder: folder }
    }

    pub fn tmpfs(bytes: u64) -> Option<Self> {
        let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
            skip("no /dev/shm");
            return None;
        };
        Self::file("tmpfs", folder, bytes).direct()
    }

    pub fn disk(bytes: u64) -> Option<Self> {
        Self::file("disk", tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap(), bytes).direct()
    }

    pub fn looped(bytes: u64) -> Option<Self> {
        let under = Self::tmpfs(bytes)?;
        let Some(device) = Loop::new(&under.path) else {
            skip("no loop devices (root and losetup are needed)");
            return None;
        };
        Some(Self { name: "loop", path: device.0.clone().into(), _device: Some(device), ..under })
    }

    fn direct(self) -> Option<Self> {
        match self.open(true) {
            Ok(_) => Some(self),
            Err(e) => {
                skip(&format!("no O_DIRECT on {}: {e}", self.name));
                None
            }
        }
    }

    /// Opened with O_DIRECT.
    pub fn open(&self, write: bool) -> io::Result<Arc<File>> {
        let mut options = OpenOptions::new();
        options.read(true).write(write).custom_flags(libc::O_DIRECT);
        options.open(&self.path).map(Arc::new)
    }

    /// A block as it is now, past the page cache.
    pub fn block(&self, at: u64, len: usize) -> Vec<u8> {
        let mut buffer = brunt_engine::buffer::Buffer::new(len as u64).unwrap();
        self.open(false).unwrap().read_exact_at(&mut buffer.bytes()[..len], at).unwrap();
        buffer.bytes()[..len].to_vec()
    }
}

/// All of them that this machine has.
pub fn all(bytes: u64) -> Vec<Medium> {
    [Medium::tmpfs(bytes), Medium::disk(bytes), Medium::looped(bytes)].into_iter().flatten().collect()
}
