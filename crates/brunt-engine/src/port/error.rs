//! Why a port cannot be made, in words that help.

use std::fs;
use std::io;

use thiserror::Error;

/// Why a port cannot be made.
#[derive(Debug, Error)]
pub enum PortError {
    /// All of the system's asynchronous I/Os are taken (`/proc/sys/fs/aio-max-nr`).
    #[error(
        "{asked} asynchronous I/Os are more than the system has left: fs.aio-nr is {in_use} of fs.aio-max-nr {max}; \
         raise it with: sysctl fs.aio-max-nr={enough}"
    )]
    AioLimit {
        /// How many this port would have had in flight.
        asked: u32,
        /// How many all programs have reserved (`/proc/sys/fs/aio-nr`).
        in_use: u64,
        /// How many there are.
        max: u64,
        /// A limit that suffices.
        enough: u64,
    },
    /// Linux AIO does not work here.
    #[error("no Linux AIO: {0}")]
    Aio(String),
    /// io_uring does not work here.
    #[error("no io_uring: {0}")]
    Uring(String),
}

fn number(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

impl PortError {
    /// What `io_setup` said (io_setup(2)).
    pub(super) fn io_setup(asked: u32, error: &io::Error) -> Self {
        let counts = (number("/proc/sys/fs/aio-nr"), number("/proc/sys/fs/aio-max-nr"));
        match (error.raw_os_error(), counts) {
            (Some(libc::EAGAIN), (Some(in_use), Some(max))) => Self::aio_limit(asked, in_use, max),
            (Some(libc::EAGAIN), _) => {
                Self::Aio(format!("{asked} I/Os in flight are more than fs.aio-max-nr has left"))
            }
            (Some(libc::ENOSYS), _) => Self::Aio("the kernel has none, or seccomp hides it".into()),
            (Some(libc::EPERM), _) => Self::Aio("forbidden by seccomp".into()),
            _ => Self::Aio(format!("io_setup for {asked} I/Os: {error}")),
        }
    }

    fn aio_limit(asked: u32, in_use: u64, max: u64) -> Self {
        // Kernels before 4.14 count each I/O twice.
        let enough = in_use.saturating_add(2 * u64::from(asked)).max(max).saturating_add(1);
        Self::AioLimit { asked, in_use, max, enough: enough.checked_next_power_of_two().unwrap_or(enough) }
    }

    /// What `io_uring_setup`, or the first use of the ring, said (io_uring_setup(2), and `kernel.io_uring_disabled` in
    /// the kernel's `admin-guide/sysctl/kernel.rst`).
    pub(super) fn io_uring(error: &io::Error) -> Self {
        Self::uring_reason(error, number("/proc/sys/kernel/io_uring_disabled").unwrap_or(0))
    }

    fn uring_reason(error: &io::Error, disabled: u64) -> Self {
        Self::Uring(match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) if disabled > 0 => {
                format!(
                    "forbidden: kernel.io_uring_disabled is {disabled}; allow it with: sysctl kernel.io_uring_disabled=0"
                )
            }
            Some(libc::EPERM | libc::EACCES) => "forbidden by seccomp, as in most containers".into(),
            Some(libc::ENOSYS) => "the kernel has none, or seccomp hides it".into(),
            Some(libc::ENOMEM) => "no memory that may be locked (ulimit -l)".into(),
            Some(libc::EMFILE) => "too many open files (ulimit -n)".into(),
            _ => error.to_string(),
        })
    }
}

impl From<PortError> for io::Error {
    fn from(error: PortError) -> Self {
        io::Error::other(error)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_aio_names_what_is_asked_and_the_cure() {
        let said = PortError::aio_limit(100_000, 65_000, 65_536).to_string();
        assert_eq!(
            said,
            "100000 asynchronous I/Os are more than the system has left: fs.aio-nr is 65000 of fs.aio-max-nr 65536; \
             raise it with: sysctl fs.aio-max-nr=524288"
        );
    }

    #[test]
    fn a_forbidden_ring_is_told_from_a_missing_one() {
        let says =
            |errno, disabled| PortError::uring_reason(&io::Error::from_raw_os_error(errno), disabled).to_string();
        assert_eq!(says(libc::EPERM, 0), "no io_uring: forbidden by seccomp, as in most containers");
        assert!(says(libc::EPERM, 2).ends_with("sysctl kernel.io_uring_disabled=0"));
        assert_eq!(says(libc::ENOSYS, 2), "no io_uring: the kernel has none, or seccomp hides it");
        assert_eq!(says(libc::ENOMEM, 0), "no io_uring: no memory that may be locked (ulimit -l)");
    }
}
