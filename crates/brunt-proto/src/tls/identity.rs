//! One side's certificate, key and CA, read from files and looked at before anybody else sees them.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::unistd::geteuid;
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};

use super::verify::{AgentVerifier, MasterVerifier};
use super::{Facts, Role, sentence};

/// Where the files are, all PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// The certificate, and those between it and the CA if there are any.
    pub certificate: PathBuf,
    /// Its private key, which only its owner may read.
    pub key: PathBuf,
    /// The certificate of the CA that both sides have theirs from.
    pub ca: PathBuf,
}

/// Files that cannot be used: a sentence with its cure.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// A file cannot be read.
    #[error("{} cannot be read: {source}; `brunt certs init` and `brunt certs issue` make such files", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Others may read the key.
    #[error("others may read the key {0} (mode {mode:03o}); run: chmod 600 {0}", path.display())]
    OpenKey {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// Somebody else may read and change the key.
    #[error("the key {0} belongs to user {owner}, who may read and change it; run: chown {us} {0}", path.display())]
    ForeignKey {
        /// The file.
        path: PathBuf,
        /// Number of its owner.
        owner: u32,
        /// Number of the user that this process runs as.
        us: u32,
    },
    /// There is something else in a file.
    #[error("{} holds no {what} in PEM", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What should be in it.
        what: &'static str,
    },
    /// The certificate is of no use.
    #[error("the certificate {} cannot be used: {reason}", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// Why, and what to do.
        reason: String,
    },
}

/// What one side shows to the other.
#[derive(Debug)]
pub struct Identity {
    pub(super) files: Files,
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: PrivateKeyDer<'static>,
    pub(super) roots: Arc<RootCertStore>,
    facts: Facts,
}

impl Identity {
    /// Reads the files of one side, and checks them as the other side will: what is wrong with them is said here, where
    /// it can be mended, rather than by a refusal.
    ///
    /// # Errors
    /// See [`IdentityError`].
    pub fn load(role: Role, files: Files) -> Result<Self, IdentityError> {
        let key = private_key(&files.key)?;
        let chain = certificates(&files.certificate)?;
        let mut roots = RootCertStore::empty();
        for ca in certificates(&files.ca)? {
            let reason = |error: rustls::Error| IdentityError::Certificate {
                path: files.ca.clone(),
                reason: format!("it is not that of a CA ({error})"),
            };
            roots.add(ca).map_err(reason)?;
        }
        let Some(facts) = chain.first().and_then(|leaf| Facts::of(leaf)) else {
            return Err(IdentityError::Content { path: files.certificate, what: "certificate" });
        };
        let identity = Self { files, chain, key, roots: Arc::new(roots), facts };
        identity.check(role)?;
        Ok(identity)
    }

    /// What its certificate says.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    fn check(&self, role: Role) -> Result<(), IdentityError> {
        let broken = |reason| IdentityError::Certificate { path: self.files.certificate.clone(), reason };
        let now = UnixTime::now();
        let checked = match role {
            Role::Master => MasterVerifier::new(Arc::clone(&self.roots)).map_err(broken)?.check(&self.chain, now),
            Role::Agent => {
                let names = self.facts.names.iter().filter_map(|name| ServerName::try_from(name.clone()).ok());
                let verifier = AgentVerifier::new(Arc::clone(&self.roots), names.collect());
                verifier.map_err(broken)?.check(&self.chain, now)
            }
        };
        checked.map_err(|error| broken(sentence::own(role, &error, &self.facts, &self.files)))
    }
}

/// The first certificate of a PEM file's text, in DER.
pub fn first_certificate(text: &[u8]) -> Option<Vec<u8>> {
    CertificateDer::from_pem_slice(text).ok().map(|certificate| certificate.to_vec())
}

/// All certificates of a file.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, IdentityError> {
    let bytes = fs::read(path).map_err(|source| IdentityError::Unreadable { path: path.to_owned(), source })?;
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    match read {
        Ok(list) if !list.is_empty() => Ok(list),
        _ => Err(IdentityError::Content { path: path.to_owned(), what: "certificate" }),
    }
}

/// Reads a key file that nobody else may read, but root.
///
/// # Errors
/// It cannot be read, or others can.
pub fn read_key(path: &Path) -> Result<Vec<u8>, IdentityError> {
    let unreadable = |source| IdentityError::Unreadable { path: path.to_owned(), source };
    let mut file = File::open(path).map_err(unreadable)?;
    // Of the open file: its name may lead elsewhere a moment later.
    let meta = file.metadata().map_err(unreadable)?;
    let (mode, owner, us) = (meta.mode() & 0o777, meta.uid(), geteuid().as_raw());
    if mode & 0o077 != 0 {
        return Err(IdentityError::OpenKey { path: path.to_owned(), mode });
    }
    if owner != us && owner != 0 {
        return Err(IdentityError::ForeignKey { path: path.to_owned(), owner, us });
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(bytes)
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, IdentityError> {
    PrivateKeyDer::from_pem_slice(&read_key(path)?)
        .map_err(|_| IdentityError::Content { path: path.to_owned(), what: "private key" })
}
