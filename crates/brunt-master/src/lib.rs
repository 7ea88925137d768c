//! Launching agents, the run state machine, merging and the event stream.
//!
//! The master talks to one agent per host through a [`link::HostLink`] and knows neither devices nor
//! output formats: what happens goes out as [`brunt_event::Event`]s.

pub mod grpc;
pub mod launch;
pub mod link;
