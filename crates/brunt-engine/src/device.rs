//! Back ends: what serves an I/O.

pub mod sim;
pub mod sync;

use crate::address::Access;

/// A target that serves one I/O at a time per caller, and any number of callers at once.
pub trait Device: std::fmt::Debug + Send + Sync {
    /// Moves the first `access.len` bytes of the buffer and returns how many were moved, or the
    /// system's error number. Returns when the I/O is done; the caller takes both times.
    fn transfer(&self, access: &Access, buffer: &mut [u8]) -> Result<u64, i32>;

    /// Tells when the run starts, on the monotonic clock.
    fn started(&self, _start_ns: u64) {}

    /// Ends the use, after the last I/O. With `openflags=fsync` this makes written data durable.
    ///
    /// # Errors
    /// The system's error number.
    fn finish(&self) -> Result<(), i32> {
        Ok(())
    }
}
