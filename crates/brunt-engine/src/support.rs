//! Which asynchronous back ends work on this host, by trying them.
//!
//! Versions of kernels say little: enterprise kernels carry newer parts, containers and `sysctl` forbid them.

use brunt_plan::work::EngineSupport;

use crate::port::{aio, uring};

/// Sets up each back end, uses it once, and says of those that do not work why.
pub fn support() -> EngineSupport {
    EngineSupport {
        no_aio: aio::check().err().map(|e| e.to_string()),
        no_uring: uring::check().err().map(|e| e.to_string()),
    }
}
