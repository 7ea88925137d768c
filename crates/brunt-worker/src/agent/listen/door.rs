//! Who is let in: whoever shows a master's certificate.

use std::path::PathBuf;
use std::sync::Arc;

use brunt_proto::tls::{Acceptor, Files, Identity, Role};
use tokio::net::TcpStream;

use super::{Accept, Accepting};
use crate::agent::connection::Bytes;

/// A door that opens to masters with a certificate of `ca`, and shows them `cert`.
///
/// # Errors
/// Files that cannot be used, in a sentence with its cure.
pub fn with_certificate(cert: PathBuf, key: PathBuf, ca: PathBuf) -> Result<Acceptor, String> {
    let files = Files { certificate: cert, key, ca };
    Acceptor::new(Identity::load(Role::Agent, files).map_err(|error| error.to_string())?)
}

impl Accept for Acceptor {
    fn accept(self: Arc<Self>, stream: TcpStream) -> Accepting {
        Box::pin(async move {
            match Acceptor::accept(&self, stream).await {
                Ok(accepted) => Ok(Box::new(accepted.stream) as Box<dyn Bytes>),
                Err(refusal) => Err(refusal.to_string()),
            }
        })
    }
}
