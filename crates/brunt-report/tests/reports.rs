//! Reports of whole event streams.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "reports/events.rs"]
mod events;
#[path = "reports/latency.rs"]
mod latency;
#[path = "reports/properties.rs"]
mod properties;
#[path = "reports/reader.rs"]
mod reader;
#[path = "reports/rules.rs"]
mod rules;
#[path = "reports/snapshots.rs"]
mod snapshots;
#[path = "reports/stream.rs"]
mod stream;
