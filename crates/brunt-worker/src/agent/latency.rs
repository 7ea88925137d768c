//! `/dev/cpu_dma_latency`: as long as it is open, the kernel uses no idle state of a CPU that takes longer to leave than
//! the number written to it (Documentation/power/pm_qos_interface.rst).

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// The file.
pub const FILE: &str = "/dev/cpu_dma_latency";

/// Holds a request; dropped, it is over.
#[derive(Debug)]
pub struct Hold {
    _file: File,
}

/// Asks for a latency.
///
/// # Errors
/// Why it is not to be had, in a sentence with its cure.
pub fn hold(file: &Path, us: u32) -> Result<Hold, String> {
    let failed = |error: io::Error| {
        let path = file.display();
        let cure = match error.kind() {
            io::ErrorKind::PermissionDenied => {
                format!("run as root, or once as root: setfacl -m u:$USER:rw {path}")
            }
            io::ErrorKind::NotFound => {
                format!("the kernel has no power management, or a container hides it (docker run --device {path})")
            }
            _ => "leave misc=(cpu_latency=) away".to_owned(),
        };
        format!("misc=(cpu_latency={us}) has no effect: {path}: {error}; {cure}")
    };
    // The kernel takes a signed number of 32 bits.
    let value = i32::try_from(us).unwrap_or(i32::MAX);
    let mut opened = OpenOptions::new().write(true).open(file).map_err(failed)?;
    opened.write_all(&value.to_ne_bytes()).map_err(failed)?;
    Ok(Hold { _file: opened })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_number_is_written_as_32_bits_and_the_file_held() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("latency");
        File::create(&file).unwrap();
        let open = || {
            let fds = fs::read_dir("/proc/self/fd").unwrap().flatten();
            fds.filter_map(|fd| fs::read_link(fd.path()).ok()).filter(|path| *path == file).count()
        };
        let held = hold(&file, 10).unwrap();
        assert_eq!((fs::read(&file).unwrap(), open()), (10i32.to_ne_bytes().to_vec(), 1));
        drop(held);
        assert_eq!(open(), 0);
    }

    #[test]
    fn a_host_without_it_says_so() {
        let text = hold(Path::new("/nonexistent/latency"), 5).unwrap_err();
        insta::assert_snapshot!(text, @"misc=(cpu_latency=5) has no effect: /nonexistent/latency: No such file or directory (os error 2); the kernel has no power management, or a container hides it (docker run --device /nonexistent/latency)");
    }
}
