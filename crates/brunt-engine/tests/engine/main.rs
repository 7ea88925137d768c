//! The engine as a worker sees it: a share in, events out.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod confined;
mod files;
mod harness;
mod media;
mod mixed_sizes;
mod paced;
mod polled;
mod ports;
mod reactor;
mod removal;
#[path = "../support/shares.rs"]
mod shares;
mod virtual_clock;
