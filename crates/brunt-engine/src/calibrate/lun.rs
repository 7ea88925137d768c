//! A LUN to be read for its response times, as it is found.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};

use brunt_plan::work::Backend;

use super::trial::Trial;

/// A LUN that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lun {
    /// Path.
    pub path: String,
    /// Bytes, a multiple of the block.
    pub size: u64,
    /// Whether it is a block device.
    pub raw: bool,
    /// Whether it can be read round the page cache (O_DIRECT, open(2)).
    pub direct: bool,
    /// Size of a read.
    pub block: u64,
}

/// Opens it for reading, and for nothing else.
///
/// # Errors
/// What the system says; it is neither a file nor a block device; it is too small.
pub fn look(path: &str, block: u64) -> io::Result<Lun> {
    let mut file = File::open(path)?;
    let kind = file.metadata()?.file_type();
    if !kind.is_file() && !kind.is_block_device() {
        return Err(io::Error::other("neither a file nor a block device"));
    }
    let size = file.seek(SeekFrom::End(0))? / block * block;
    if size < 2 * block {
        return Err(io::Error::other(format!("it has not got two blocks of {block} bytes")));
    }
    let direct = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path).is_ok();
    Ok(Lun { path: path.to_owned(), size, raw: kind.is_block_device(), direct, block })
}

impl Lun {
    /// Reads of it by one lane, in intervals of 10 ms.
    pub fn trial(&self, backend: Backend, intervals: u32) -> Trial {
        Trial {
            lun: self.path.clone(),
            size: self.size,
            raw: self.raw,
            direct: self.direct,
            block: self.block,
            threads: 1,
            rate: None,
            backend,
            interval_ns: 10_000_000,
            intervals,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn files_are_taken_and_other_things_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, vec![0; 20_000]).unwrap();
        let path = path.to_str().unwrap();
        let lun = look(path, 8192).unwrap();
        assert_eq!((lun.size, lun.raw), (16_384, false));
        assert!(look(path, 16_384).unwrap_err().to_string().contains("two blocks"));
        assert!(look("/dev/null", 8192).unwrap_err().to_string().contains("neither"));
        assert_eq!(look("/no/such", 8192).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
