//! The wire protocol between master and agents, and conversions to the domain types.
//!
//! [`v1`] is generated from `proto/brunt/v1/agent.proto`, which documents every field. The modules
//! beside it convert: `From` towards the wire, `TryFrom` from it, since what comes over a wire may lack
//! anything. [`stdio`] is how both ends meet over the standard streams of a child process, [`tls`] how they
//! do over a network without SSH, [`shell`] how either runs a command for the user, [`digest`] how a build is named, [`keep`] what is put into files,
//! [`bound`] how much a host may print, [`lease`] how often a lease is renewed.

pub mod bound;
mod broken;
mod convert;
pub mod digest;
pub mod error;
pub mod keep;
pub mod lease;
pub mod lines;
pub mod shell;
pub mod stdio;
pub mod tls;

/// Generated messages, client and server.
#[allow(missing_docs, clippy::all, clippy::unwrap_used)]
pub mod v1 {
    tonic::include_proto!("brunt.v1");
}

pub use broken::why as why_broken;
pub use convert::event::Report;
pub use error::{CallError, WireError};

/// Number of the protocol. Raised by every change that an older peer would misunderstand.
pub const PROTOCOL: u32 = 3;

/// Largest message, bytes. A share with 10,000 generators of 100 streams each, or a sample of 1,000 pairs
/// with every bucket in use, fits.
pub const MAX_MESSAGE: usize = 64 << 20;
