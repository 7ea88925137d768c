//! TLS between the master and an agent that listens (`brunt agent --listen`): the one stream that crosses a network
//! without SSH around it.
//!
//! TLS 1.3 only, with a certificate on both sides, both issued by the CA of [`Files::ca`] and by nobody else. A
//! certificate has one role: an agent's cannot play the master, nor the other way round. There is no plain text, no
//! resumption and no early data.
//!
//! In TLS 1.3 a client's handshake is over before the server has judged its certificate. So the agent greets with one
//! line ([`GREETING`]) once it has accepted the master, HTTP/2 begins behind it, and the master waits for it: a refusal
//! is told where it happens and with its reason.

mod accept;
mod connect;
mod facts;
mod identity;
mod sentence;
mod verify;

pub use accept::{Accepted, Acceptor, Refusal};
pub use connect::{ConnectError, Connector};
pub use facts::{Facts, date};
pub use identity::{Files, Identity, IdentityError, first_certificate, read_key};
pub use verify::is_name;

use std::fmt;

/// What an agent says once it has accepted the master; HTTP/2 begins behind it.
pub const GREETING: &[u8] = b"BRUNT-STREAM tls\n";

/// What a certificate is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It gives work: `extendedKeyUsage=clientAuth`.
    Master,
    /// It does it: `extendedKeyUsage=serverAuth`.
    Agent,
}

impl Role {
    /// `a master`, `an agent`.
    pub fn with_article(self) -> &'static str {
        match self {
            Role::Master => "a master",
            Role::Agent => "an agent",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Master => "master",
            Role::Agent => "agent",
        })
    }
}
