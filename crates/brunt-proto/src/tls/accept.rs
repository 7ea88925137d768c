//! The agent's side.

use std::io;
use std::sync::Arc;

use rustls::{Error, ServerConfig, version::TLS13};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::sentence::{alert, fault, tls_error};
use super::verify::{MasterVerifier, Seen, provider};
use super::{GREETING, Identity, Role};

/// Lets masters in.
#[derive(Debug)]
pub struct Acceptor {
    identity: Identity,
}

/// A master that was let in.
#[derive(Debug)]
pub struct Accepted<S> {
    /// The stream; HTTP/2 begins.
    pub stream: TlsStream<S>,
    /// The common name of its certificate.
    pub master: String,
}

/// Why somebody was not let in, for the agent's log: a sentence that begins with `it`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(String);

impl Acceptor {
    /// Lets in whoever shows a master's certificate of the CA of `identity`, an agent's.
    ///
    /// # Errors
    /// The key is not that of the certificate: a sentence.
    pub fn new(identity: Identity) -> Result<Self, String> {
        let acceptor = Self { identity };
        acceptor.config()?;
        Ok(acceptor)
    }

    /// Shakes hands and greets. Whoever is not let in learns why by TLS's own alerts, and the stream is gone. There is
    /// no limit of time here: the caller has one, since a stranger may send nothing at all.
    ///
    /// # Errors
    /// It is no master of ours, or it has gone away.
    pub async fn accept<S>(&self, stream: S) -> Result<Accepted<S>, Refusal>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let (config, seen) = self.config().map_err(Refusal)?;
        let accepted = TlsAcceptor::from(config).accept(stream).await;
        let mut stream = accepted.map_err(|error| self.refusal(&error, &seen))?;
        let greeted = async {
            stream.write_all(GREETING).await?;
            stream.flush().await
        };
        greeted.await.map_err(|error| self.refusal(&error, &seen))?;
        let master = seen.get().map(|facts| facts.subject.clone()).unwrap_or_default();
        Ok(Accepted { stream, master })
    }

    /// A configuration for one connection, whose verifier keeps what it has seen.
    fn config(&self) -> Result<(Arc<ServerConfig>, Seen), String> {
        let Identity { files, chain, key, roots, .. } = &self.identity;
        let verifier = MasterVerifier::new(Arc::clone(roots))?;
        let seen = verifier.seen();
        let config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| error.to_string())?
            .with_client_cert_verifier(Arc::new(verifier))
            .with_single_cert(chain.clone(), key.clone_key());
        let mut config = config.map_err(|error| {
            format!(
                "certificate {} and key {} do not belong together: {error}",
                files.certificate.display(),
                files.key.display()
            )
        })?;
        // Each connection shows its certificate anew.
        config.send_tls13_tickets = 0;
        Ok((Arc::new(config), seen))
    }

    fn refusal(&self, error: &io::Error, seen: &Seen) -> Refusal {
        Refusal(match tls_error(error) {
            Some(Error::NoCertificatesPresented) => "it showed no certificate".to_owned(),
            Some(Error::InvalidCertificate(reason)) => {
                let who = seen.get().map(|facts| format!(" ({})", facts.subject)).unwrap_or_default();
                let fault = fault(Role::Master, reason, seen.get(), &self.identity.files.ca);
                format!("its certificate{who} is refused: {fault}")
            }
            Some(Error::AlertReceived(reason)) => format!("it refused this agent's certificate: {}", alert(*reason)),
            Some(Error::InvalidMessage(_)) => "it does not speak TLS".to_owned(),
            Some(Error::PeerIncompatible(reason)) => {
                format!("it does not speak TLS 1.3 as this agent does ({reason:?})")
            }
            Some(other) => format!("it broke the rules of TLS: {other}"),
            None => format!("it went away before it was let in: {error}"),
        })
    }
}
