//! The master's side.

use std::io;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, Error, version::TLS13};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::sentence::{alert, fault, tls_error};
use super::verify::{AgentVerifier, Seen, provider};
use super::{GREETING, Identity, Role};

/// Goes to agents.
#[derive(Debug)]
pub struct Connector {
    identity: Identity,
}

/// Why there is no connection: a sentence without the name of the host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// One side refused the other: it will again.
    #[error("{0}")]
    Refused(String),
    /// The connection broke: it may go later.
    #[error("{0}")]
    Broken(String),
}

impl Connector {
    /// Goes out with a master's certificate.
    pub fn new(identity: Identity) -> Self {
        Self { identity }
    }

    /// Shakes hands and waits for the greeting. The agent's certificate must hold for one of `names`. There is no limit
    /// of time here.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub async fn connect<S>(&self, stream: S, names: &[&str]) -> Result<TlsStream<S>, ConnectError>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let asked: Vec<_> = names.iter().filter_map(|name| ServerName::try_from((*name).to_owned()).ok()).collect();
        let Some(first) = asked.first().cloned() else {
            return Err(ConnectError::Refused(format!("no certificate can be for `{}`", names.join("` or `"))));
        };
        let (config, seen) = self.config(asked)?;
        let failed = |error: io::Error| self.failure(&error, &seen, names);
        let mut stream = TlsConnector::from(config).connect(first, stream).await.map_err(failed)?;
        let mut greeting = [0; GREETING.len()];
        // TLS 1.3 tells only now what the agent thinks of our certificate.
        stream.read_exact(&mut greeting).await.map_err(failed)?;
        if greeting != *GREETING {
            let text = "what answers there is not `brunt agent --listen` of this version";
            return Err(ConnectError::Refused(text.to_owned()));
        }
        Ok(stream)
    }

    fn config(&self, names: Vec<ServerName<'static>>) -> Result<(Arc<ClientConfig>, Seen), ConnectError> {
        let Identity { files, chain, key, roots, .. } = &self.identity;
        let verifier = AgentVerifier::new(Arc::clone(roots), names).map_err(ConnectError::Refused)?;
        let seen = verifier.seen();
        let config = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| ConnectError::Refused(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_client_auth_cert(chain.clone(), key.clone_key());
        let mut config = config.map_err(|error| {
            let (certificate, key) = (files.certificate.display(), files.key.display());
            ConnectError::Refused(format!("certificate {certificate} and key {key} do not belong together: {error}"))
        })?;
        config.resumption = Resumption::disabled();
        config.enable_sni = false;
        Ok((Arc::new(config), seen))
    }

    fn failure(&self, error: &io::Error, seen: &Seen, names: &[&str]) -> ConnectError {
        let files = &self.identity.files;
        ConnectError::Refused(match tls_error(error) {
            Some(Error::InvalidCertificate(reason)) => {
                let fault = fault(Role::Agent, reason, seen.get(), &files.ca);
                let names = names.join(" ");
                format!(
                    "the agent's certificate is refused: {fault}; a good one is made by `brunt certs issue --agent {names}` \
                     and taken there with its key"
                )
            }
            Some(Error::AlertReceived(reason)) => {
                format!("the agent refused us with the certificate {}: {}", files.certificate.display(), alert(*reason))
            }
            Some(Error::InvalidMessage(_)) => {
                "what answers there does not speak TLS; is it `brunt agent --listen`?".to_owned()
            }
            Some(other) => format!("there is no TLS connection: {other}"),
            None => {
                let text = format!("the agent closed the connection before it greeted ({error}); its log says why");
                return ConnectError::Broken(text);
            }
        })
    }
}
