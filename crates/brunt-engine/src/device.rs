//! What serves the I/Os of a target.

pub mod open;
pub mod sim;
pub mod sync;

use std::sync::Arc;

use open::OpenFile;
use sim::SimDevice;

/// A target, opened.
#[derive(Debug, Clone)]
pub enum Device {
    /// A file or a device.
    File(Arc<OpenFile>),
    /// A simulated device.
    Sim(Arc<SimDevice>),
    /// None.
    Null,
}

impl Device {
    /// Tells when the run starts, on the monotonic clock.
    pub fn started(&self, start_ns: u64) {
        if let Self::Sim(device) = self {
            device.started(start_ns);
        }
    }

    /// Ends the use, after the last I/O.
    ///
    /// # Errors
    /// The system's error number.
    pub fn finish(&self) -> Result<(), i32> {
        match self {
            Self::File(device) => device.finish(),
            Self::Sim(_) | Self::Null => Ok(()),
        }
    }
}
