//! Launching agents, the run state machine, merging and the event stream.
//!
//! The master talks to one agent per host through a [`link::HostLink`] and knows neither devices nor
//! output formats: what happens goes out as [`brunt_event::Event`]s. [`execute`] is all of it.

pub mod certs;
pub mod dial;
mod engines;
mod errors;
mod execute;
mod fleet;
mod greet;
pub mod grpc;
mod hooks;
mod idle;
pub mod launch;
pub mod link;
pub mod luns;
pub mod merge;
mod monitor;
mod outcome;
mod pace;
mod past;
mod planned;
mod presence;
mod rates;
mod rules;
mod run;
mod session;
mod setup;
mod simulate;
mod skew;
mod slow;
mod takeover;
pub mod tether;
pub mod totals;
mod under_way;
mod verdict;
mod witness;

pub use execute::execute;
pub use fleet::{Control, Fleet, FleetHost, is_this_machine, refusals};
pub use grpc::GrpcLink;
pub use link::LinkEvent;
pub use outcome::Outcome;
pub use past::Past;
pub use planned::planned;
pub use rules::Options;
pub use simulate::simulate;
pub use takeover::take_over;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod execute_tests;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod testing;
