//! What went wrong between two certificates, in words, and what to do.

use std::io;
use std::path::Path;

use rustls::{AlertDescription, CertificateError, Error};

use super::facts::{Facts, date};
use super::{Files, Role};

/// The TLS error behind one of a stream.
pub(super) fn tls_error(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref()
}

/// What is wrong with a certificate of `role`, without saying whose it is: `it has expired on …`.
pub(super) fn fault(role: Role, error: &CertificateError, facts: Option<&Facts>, ca: &Path) -> String {
    use CertificateError as E;
    match error {
        E::ExpiredContext { time, not_after } => {
            format!("it has expired on {} (here it is {})", seconds(not_after.as_secs()), seconds(time.as_secs()))
        }
        E::Expired => "it has expired".to_owned(),
        E::NotValidYetContext { time, not_before } => format!(
            "it is valid only from {} (here it is {}; are the clocks right?)",
            seconds(not_before.as_secs()),
            seconds(time.as_secs())
        ),
        E::NotValidYet => "it is not valid yet".to_owned(),
        E::UnknownIssuer | E::BadSignature => {
            let issuer = facts.map(|f| format!(" ({})", f.issuer)).unwrap_or_default();
            format!("it was issued by another CA{issuer} than that of {}", ca.display())
        }
        E::NotValidForName | E::NotValidForNameContext { .. } => match facts.filter(|f| !f.names.is_empty()) {
            Some(facts) => format!("it is for {}", facts.names.join(", ")),
            None => "it names no host".to_owned(),
        },
        E::InvalidPurpose | E::InvalidPurposeContext { .. } => wrong_role(role, facts),
        E::BadEncoding => "it cannot be read".to_owned(),
        other => format!("{other:?}"),
    }
}

fn wrong_role(role: Role, facts: Option<&Facts>) -> String {
    let wanted = role.with_article();
    match facts {
        Some(facts) if facts.ca => format!("it is a CA's, not that of {wanted}"),
        Some(Facts { roles, .. }) => match roles.as_slice() {
            [other] => format!("it is that of {}, not of {wanted}", other.with_article()),
            [] => format!("it does not say that it is for {wanted}"),
            _ => "it is for masters and agents at once".to_owned(),
        },
        None => format!("it is not that of {wanted}"),
    }
}

fn seconds(unix: u64) -> String {
    date(i64::try_from(unix).unwrap_or(i64::MAX))
}

/// What is wrong with one's own certificate, and what mends it.
pub(super) fn own(role: Role, error: &Error, facts: &Facts, files: &Files) -> String {
    let fault = match error {
        Error::InvalidCertificate(error) => fault(role, error, Some(facts), &files.ca),
        other => other.to_string(),
    };
    let names = if facts.names.is_empty() { "NAME".to_owned() } else { facts.names.join(" ") };
    match role {
        Role::Master => format!("{fault}; make a new one: brunt certs issue --master --replace"),
        Role::Agent => format!("{fault}; make a new one where the CA is: brunt certs issue --agent {names} --replace"),
    }
}

/// What the other side means with an alert about our certificate.
pub(super) fn alert(alert: AlertDescription) -> String {
    use AlertDescription as A;
    match alert {
        A::CertificateExpired => {
            "by its clock it has expired or is not valid yet; compare the clocks of both machines".into()
        }
        A::UnknownCA | A::DecryptError => {
            "it was issued by another CA than the one trusted there; both must come from the same `brunt certs init`"
                .into()
        }
        A::UnsupportedCertificate => {
            "it has the wrong role: an agent's certificate cannot play the master, nor a master's the agent".into()
        }
        A::BadCertificate => "it is not for the name that was asked for, or cannot be read".into(),
        A::CertificateRequired => "none was shown".into(),
        A::ProtocolVersion | A::HandshakeFailure => "both sides must speak TLS 1.3".into(),
        other => format!("{other:?}"),
    }
}
