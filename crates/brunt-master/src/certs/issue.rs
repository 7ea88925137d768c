//! Making the CA and the certificates under it.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use brunt_proto::tls::{self, Facts, Files};
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use time::OffsetDateTime;

use super::folder::{self, CertsError};
use super::{Validity, agent_files, master_files};

/// Whom a certificate is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whom {
    /// The master.
    Master,
    /// An agent, by the names and addresses that its host may have in `system=` or `hd=`, at least one.
    Agent(Vec<String>),
}

/// A certificate that was made.
#[derive(Debug)]
pub struct Issued {
    /// Its files.
    pub files: Files,
    /// What it says.
    pub facts: Facts,
}

/// Makes a CA: `ca.pem` and `ca.key` in a folder that nobody else may look into.
///
/// # Errors
/// There is one already, or others may look into the folder, or the system refuses.
pub fn init(folder: &Path, validity: Validity) -> Result<Issued, CertsError> {
    folder::private(folder)?;
    let (certificate, key) = (folder.join("ca.pem"), folder.join("ca.key"));
    let cure = "all certificates of the fleet come from it: keep it, or name another folder";
    if certificate.exists() {
        return Err(CertsError::Exists { path: certificate, cure });
    }
    let pair = KeyPair::generate()?;
    let mut wanted = params(Vec::new(), validity)?;
    // Two CAs have two names, so that a message can tell them apart.
    let number = RandomState::new().hash_one(1) >> 32;
    wanted.distinguished_name.push(DnType::CommonName, format!("Brunt CA {number:08x}"));
    wanted.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    wanted.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let made = wanted.self_signed(&pair)?;
    folder::write(&key, 0o600, &pair.serialize_pem(), Some(cure))?;
    folder::write(&certificate, 0o644, &made.pem(), Some(cure))?;
    issued(Files { ca: certificate.clone(), certificate, key }, &made)
}

/// Makes a certificate with a key of its own. It never outlives its CA.
///
/// # Errors
/// There is no CA in the folder, or a file is there already and `replace` is not wished, or a name is none.
pub fn issue(folder: &Path, whom: &Whom, validity: Validity, replace: bool) -> Result<Issued, CertsError> {
    let (ca, ca_facts) = issuer(folder)?;
    folder::private(folder)?;
    let (files, names, purpose, subject) = match whom {
        Whom::Master => {
            let subject = "Brunt master".to_owned();
            (master_files(folder), Vec::new(), ExtendedKeyUsagePurpose::ClientAuth, subject)
        }
        Whom::Agent(names) => {
            if let Some(name) = names.iter().find(|name| !tls::is_name(name)) {
                return Err(CertsError::Name(name.clone()));
            }
            let first = names.first().ok_or_else(|| CertsError::Name(String::new()))?;
            let subject = format!("Brunt agent {first}");
            (agent_files(folder, first), names.clone(), ExtendedKeyUsagePurpose::ServerAuth, subject)
        }
    };
    let not_after = validity.not_after.min(ca_facts.not_after);
    let mut wanted = params(names, Validity { not_after, ..validity })?;
    wanted.distinguished_name.push(DnType::CommonName, subject);
    wanted.is_ca = IsCa::ExplicitNoCa;
    wanted.use_authority_key_identifier_extension = true;
    wanted.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    wanted.extended_key_usages = vec![purpose];
    let pair = KeyPair::generate()?;
    let made = wanted.signed_by(&pair, &ca)?;
    let cure = (!replace).then_some("--replace makes a new one in its place");
    if let (Some(cure), Some(path)) = (cure, [&files.certificate, &files.key].into_iter().find(|p| p.exists())) {
        return Err(CertsError::Exists { path: path.clone(), cure });
    }
    folder::write(&files.key, 0o600, &pair.serialize_pem(), cure)?;
    folder::write(&files.certificate, 0o644, &made.pem(), cure)?;
    issued(files, &made)
}

/// The CA of a folder, which must be one that others cannot use.
fn issuer(folder: &Path) -> Result<(Issuer<'static, KeyPair>, Facts), CertsError> {
    let (certificate, key) = (folder.join("ca.pem"), folder.join("ca.key"));
    if !certificate.exists() && !key.exists() {
        return Err(CertsError::NoCa { path: folder.to_owned() });
    }
    let unusable = |reason: String| CertsError::Ca { path: certificate.clone(), reason };
    let key = tls::read_key(&key).map_err(|error| unusable(error.to_string()))?;
    let key = String::from_utf8(key).map_err(|_| unusable("its key is not PEM".to_owned()))?;
    let pair = KeyPair::from_pem(&key).map_err(|error| unusable(format!("its key: {error}")))?;
    let facts = folder::facts(&certificate).filter(|facts| facts.ca);
    let facts = facts.ok_or_else(|| unusable("it is not the certificate of a CA".to_owned()))?;
    let text =
        fs::read_to_string(&certificate).map_err(|source| CertsError::File { path: certificate.clone(), source })?;
    let issuer = Issuer::from_ca_cert_pem(&text, pair).map_err(|error| unusable(error.to_string()))?;
    Ok((issuer, facts))
}

fn params(names: Vec<String>, validity: Validity) -> Result<CertificateParams, CertsError> {
    let at = |unix| OffsetDateTime::from_unix_timestamp(unix).map_err(|_| rcgen::Error::Time);
    let mut params = CertificateParams::new(names)?;
    params.not_before = at(validity.not_before)?;
    params.not_after = at(validity.not_after)?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, "Brunt");
    Ok(params)
}

fn issued(files: Files, made: &Certificate) -> Result<Issued, CertsError> {
    let facts = Facts::of(made.der()).ok_or(rcgen::Error::CouldNotParseCertificate)?;
    Ok(Issued { files, facts })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::SystemTime;

    use super::*;
    use crate::certs::{CA_DAYS, LEAF_DAYS, Role, list};

    fn days(days: u32) -> Validity {
        Validity::days(SystemTime::now(), days)
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_fleet_has_its_certificates() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("deep/certs");
        let ca = init(&folder, days(CA_DAYS)).unwrap();
        assert!(ca.facts.ca && ca.facts.subject.starts_with("Brunt CA "));
        assert_eq!((mode(&folder), mode(&ca.files.key), mode(&ca.files.certificate)), (0o700, 0o600, 0o644));
        let names = ["hosta", "10.0.0.1", "fd00::1"].map(str::to_owned).to_vec();
        let agent = issue(&folder, &Whom::Agent(names.clone()), days(LEAF_DAYS), false).unwrap();
        assert_eq!((agent.facts.names, agent.facts.roles), (names, vec![Role::Agent]));
        assert_eq!((agent.facts.issuer, mode(&agent.files.key)), (ca.facts.subject, 0o600));
        let master = issue(&folder, &Whom::Master, days(LEAF_DAYS), false).unwrap();
        assert_eq!(master.facts.roles, [Role::Master]);
        assert!(!master.facts.ca);
        tls::Identity::load(Role::Agent, agent.files).unwrap();
        tls::Identity::load(Role::Master, master.files).unwrap();
        let files: Vec<_> = list(&folder).unwrap().into_iter().map(|l| (l.path, l.facts.is_some())).collect();
        assert_eq!(files, ["agent-hosta.pem", "ca.pem", "master.pem"].map(|n| (folder.join(n), true)));
    }

    #[test]
    fn nothing_is_overwritten_unasked() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("certs");
        let path = folder.display();
        assert_eq!(
            issue(&folder, &Whom::Master, days(1), false).unwrap_err().to_string(),
            format!("there is no CA in {path}; make one first: brunt certs init {path}")
        );
        let ca = init(&folder, days(10)).unwrap();
        let text = init(&folder, days(10)).unwrap_err().to_string();
        assert!(text.contains("ca.pem is there already; all certificates of the fleet"), "{text}");
        let first = issue(&folder, &Whom::Master, days(1), false).unwrap();
        let text = issue(&folder, &Whom::Master, days(1), false).unwrap_err().to_string();
        assert!(text.ends_with("master.pem is there already; --replace makes a new one in its place"), "{text}");
        let second = issue(&folder, &Whom::Master, days(825), true).unwrap();
        assert_eq!(second.facts.not_after, ca.facts.not_after, "it outlives its CA");
        assert!(second.facts.not_after > first.facts.not_after);
        assert_eq!(mode(&second.files.key), 0o600);
        tls::Identity::load(Role::Master, second.files).unwrap();
    }

    #[test]
    fn keys_are_not_left_open() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("certs");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        let path = folder.display();
        assert_eq!(
            init(&folder, days(1)).unwrap_err().to_string(),
            format!("others may look into the folder of keys {path} (mode 755); run: chmod 700 {path}")
        );
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        let ca = init(&folder, days(1)).unwrap();
        fs::set_permissions(&ca.files.key, fs::Permissions::from_mode(0o640)).unwrap();
        let text = issue(&folder, &Whom::Master, days(1), false).unwrap_err().to_string();
        assert!(text.contains(&format!("run: chmod 600 {path}/ca.key")), "{text}");
        if !nix::unistd::geteuid().is_root() {
            assert!(std::env::var_os("BRUNT_TEST_NO_SKIP").is_none(), "must not skip here: root is needed");
            use std::io::Write;
            return writeln!(std::io::stderr(), "skipped in part: only root can give a folder away").unwrap();
        }
        std::os::unix::fs::chown(&folder, Some(12_345), None).unwrap();
        fs::set_permissions(&ca.files.key, fs::Permissions::from_mode(0o600)).unwrap();
        let text = issue(&folder, &Whom::Master, days(1), false).unwrap_err().to_string();
        assert!(
            text.starts_with(&format!("the folder of keys {path} belongs to user 12345, who may change ")),
            "{text}"
        );
    }

    #[test]
    fn names_are_names() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("certs");
        init(&folder, days(1)).unwrap();
        for name in ["hosta:5570", "", "a b", "10.0.0.0/8"] {
            let text = issue(&folder, &Whom::Agent(vec![name.to_owned()]), days(1), false).unwrap_err().to_string();
            assert!(text.starts_with(&format!("no certificate can be for `{name}`")), "{text}");
        }
    }
}
