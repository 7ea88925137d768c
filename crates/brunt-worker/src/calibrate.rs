//! What a host and this build add to a measurement: [`brunt_engine::calibrate`], for the agent and for the program.

pub use brunt_engine::calibrate::{
    REFERENCE_NS, clock, empty, host, lun, memory, null_blk, path, record, timer, trial, wake,
};
use brunt_stats::OwnError;

/// The short form, of this host.
pub fn own_error() -> OwnError {
    brunt_engine::calibrate::own_error::measure(&host::Roots::default())
}
