//! A fleet on hosts that are real but for the kernel they share: each a network namespace behind a switch, with an sshd
//! of its own in stock configuration, own address, own home, own `/tmp`, own name (`fleet/lab.rs`).
//!
//! Needs root, iproute2, OpenSSH; without them the tests are skipped, which is said and fails in CI.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod host;
mod lab;
mod pass;
mod proxy;
mod run;

mod clocks;
mod death;
mod link;
mod luns;
mod ports;
mod takeover;
mod ways;
