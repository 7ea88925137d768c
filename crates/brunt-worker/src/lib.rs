//! The host agent and its workers: the gRPC service around the engine, host inspection and safety.
//!
//! The master starts one agent per host and is its only client ([`agent`]). An agent with a single worker
//! runs the engine in its own process; with more it starts a process for each and carries their streams.

pub mod agent;
pub mod calibrate;
pub mod control;
pub mod engine;
pub mod engine_link;
pub mod inspect;
