//! From a parameter file to a plan: runs, rates, skew, threads and address areas.
//!
//! Pure functions: no I/O, no clock, no device. Two steps, because the second needs what the hosts
//! say about their devices:
//!
//! 1. `expand` turns a [`brunt_parm::ParmFile`] into a [`plan::Plan`]: every run with its loops.
//! 2. `Plan::resolve` adds sizes, identity and format runs from the hosts' answers; its result deals
//!    each run out as one [`work::WorkerShare`] per worker once the run's rate is known.

pub mod plan;
pub mod work;
