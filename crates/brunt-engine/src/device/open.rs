//! A file or device, opened as its SD asks: the same for every back end.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;

use brunt_plan::work::{OpenFlag, Target};

/// `o_sync`, `o_dsync` and `o_rsync` all set this, as Vdbench does (`docs/vdbench/raw.md` §5).
const O_DSYNC: i32 = 0x1000;

/// An open file or device.
#[derive(Debug)]
pub struct OpenFile {
    file: Arc<File>,
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
        Ok(Self { file: Arc::new(options.mode(0o666).open(&target.lun)?), fsync })
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
