//! What this host and this build add to a measurement.
//!
//! Everything here measures and nothing prints. What makes a number doubtful is a value too: a
//! [`Doubt`](host::Doubt).
//!
//! | module | measures |
//! |---|---|
//! | [`clock`] | reading the clock, its steps, and whether that is a system call |
//! | [`record`] | recording one time |
//! | [`timer`], [`wake`] | how late a sleeper comes, by the clock and by another thread |
//! | [`trial`], [`empty`], [`path`] | runs of the whole engine: without a device, and beside a bare loop |
//! | [`lun`], [`memory`] | nothing: what is read |
//! | [`host`] | nothing: what the host says of its clock, its idle states and its load |
//! | [`null_blk`] | a device of the kernel whose completion time is known |
//! | [`own_error`] | the short form, at the start of every execution |

pub mod clock;
pub mod empty;
pub mod host;
pub mod lun;
pub mod memory;
pub mod null_blk;
pub mod own_error;
pub mod path;
pub mod record;
pub mod timer;
pub mod trial;
pub mod wake;

/// The service time that the project's own record of one I/O is about: 39 µs.
pub const REFERENCE_NS: u64 = 39_000;
