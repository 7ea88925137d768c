//! Master, agent and workers as real processes, from greeting to every kind of end. The agent is the example
//! `memory_agent`, all but whose engine is the product's, or `lane_agent`, which is the product's altogether.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bench;
mod course;
mod ends;
mod limits;
mod saturated;
mod session;
