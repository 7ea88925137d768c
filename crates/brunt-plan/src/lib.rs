//! From a parameter file to a plan: runs, rates, skew, threads and address areas.
//!
//! Pure functions: no I/O, no clock, no device. Two steps, because the second needs what the hosts
//! say about their devices:
//!
//! 1. [`expand`] turns a [`brunt_parm::ParmFile`] into a [`plan::Plan`]: every run with its loops.
//! 2. [`plan::Plan::resolve`] adds sizes, identity and format runs from the hosts' answers; its result, a
//!    [`Resolved`], deals each run out as one [`work::WorkerShare`] per worker once the run's rate is known.

mod deal;
pub mod devices;
pub mod engine;
mod expand;
pub mod identity;
mod java;
mod options;
pub mod plan;
mod rate;
mod resolve;
mod sim;
mod text;
pub mod tree;
pub mod work;

#[cfg(test)]
mod testing;

pub use deal::{Deal, RequestedColumns};
pub use expand::{expand, hosts, seconds};
pub use options::{ForcedFormat, Options};
pub use rate::rate_of_percent;
pub use resolve::{FormatNeed, Resolved, SetupKind, SetupNotice, SetupProblem};
