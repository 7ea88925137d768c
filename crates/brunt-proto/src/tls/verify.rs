//! Whom either side accepts: rustls' own verifiers for signature, time and name, and the role on top.

use std::sync::{Arc, OnceLock};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme};

use super::{Facts, Role};

/// The certificate of the other side of one connection, once it was shown.
pub(super) type Seen = Arc<OnceLock<Facts>>;

/// The one provider of cryptography in this program.
pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Whether a certificate can hold for this name or address.
pub fn is_name(name: &str) -> bool {
    ServerName::try_from(name).is_ok()
}

/// A certificate is for one role: with `anyExtendedKeyUsage`, with none or with both it would be for all.
fn only(role: Role, certificate: &CertificateDer<'_>) -> Result<(), Error> {
    match Facts::of(certificate) {
        Some(facts) if facts.roles == [role] && !facts.ca => Ok(()),
        Some(_) => Err(CertificateError::InvalidPurpose.into()),
        None => Err(CertificateError::BadEncoding.into()),
    }
}

fn note(seen: &Seen, certificate: &CertificateDer<'_>) {
    if let Some(facts) = Facts::of(certificate) {
        // A second handshake on one connection there is not.
        let _ = seen.set(facts);
    }
}

/// Accepts agents, under any of the names that the user has for one.
#[derive(Debug)]
pub(super) struct AgentVerifier {
    inner: Arc<WebPkiServerVerifier>,
    names: Vec<ServerName<'static>>,
    seen: Seen,
}

impl AgentVerifier {
    pub(super) fn new(roots: Arc<RootCertStore>, names: Vec<ServerName<'static>>) -> Result<Self, String> {
        let inner = WebPkiServerVerifier::builder_with_provider(roots, provider()).build();
        Ok(Self { inner: inner.map_err(|error| error.to_string())?, names, seen: Seen::default() })
    }

    pub(super) fn seen(&self) -> Seen {
        Arc::clone(&self.seen)
    }

    /// Checks a certificate for one of the names.
    pub(super) fn check(&self, chain: &[CertificateDer<'_>], now: UnixTime) -> Result<(), Error> {
        let (leaf, above) = chain.split_first().ok_or(Error::NoCertificatesPresented)?;
        let mut refused = Error::from(CertificateError::NotValidForName);
        for name in &self.names {
            match self.inner.verify_server_cert(leaf, above, name, &[], now) {
                Ok(_) => return only(Role::Agent, leaf),
                Err(error) => refused = error,
            }
            if !is_about_name(&refused) {
                break;
            }
        }
        Err(refused)
    }
}

fn is_about_name(error: &Error) -> bool {
    use CertificateError::{NotValidForName, NotValidForNameContext};
    matches!(error, Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. }))
}

impl ServerCertVerifier for AgentVerifier {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        above: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        note(&self.seen, leaf);
        let chain: Vec<_> = std::iter::once(leaf).chain(above).cloned().collect();
        self.check(&chain, now).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// Accepts masters.
#[derive(Debug)]
pub(super) struct MasterVerifier {
    inner: Arc<dyn ClientCertVerifier>,
    seen: Seen,
}

impl MasterVerifier {
    pub(super) fn new(roots: Arc<RootCertStore>) -> Result<Self, String> {
        let inner = WebPkiClientVerifier::builder_with_provider(roots, provider()).build();
        Ok(Self { inner: inner.map_err(|error| error.to_string())?, seen: Seen::default() })
    }

    pub(super) fn seen(&self) -> Seen {
        Arc::clone(&self.seen)
    }

    /// Checks a certificate.
    pub(super) fn check(&self, chain: &[CertificateDer<'_>], now: UnixTime) -> Result<(), Error> {
        let (leaf, above) = chain.split_first().ok_or(Error::NoCertificatesPresented)?;
        self.inner.verify_client_cert(leaf, above, now)?;
        only(Role::Master, leaf)
    }
}

impl ClientCertVerifier for MasterVerifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.inner.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        leaf: &CertificateDer<'_>,
        above: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        note(&self.seen, leaf);
        let chain: Vec<_> = std::iter::once(leaf).chain(above).cloned().collect();
        self.check(&chain, now).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
