//! What a certificate says of itself, for messages and for `brunt certs show`. Nothing is believed because of it but
//! the role, and that only of a certificate whose signature was found good.

use std::net::IpAddr;

use time::OffsetDateTime;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate, X509Name};

use super::Role;

/// A certificate in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Common name.
    pub subject: String,
    /// Common name of its issuer.
    pub issuer: String,
    /// Names and addresses that it holds for.
    pub names: Vec<String>,
    /// What it may be used for.
    pub roles: Vec<Role>,
    /// Whether it may issue others.
    pub ca: bool,
    /// Unix time from which it is valid, seconds.
    pub not_before: i64,
    /// Unix time until which it is valid, seconds.
    pub not_after: i64,
}

impl Facts {
    /// Reads a certificate in DER; `None` when it is none.
    pub fn of(der: &[u8]) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(der).ok()?;
        let usage = certificate.extended_key_usage().ok()?;
        let roles = usage.iter().flat_map(|usage| {
            let value = usage.value;
            [(value.client_auth, Role::Master), (value.server_auth, Role::Agent)]
        });
        let names = certificate.subject_alternative_name().ok()?;
        let names = names.iter().flat_map(|names| &names.value.general_names).filter_map(name);
        Some(Self {
            subject: common_name(certificate.subject()),
            issuer: common_name(certificate.issuer()),
            names: names.collect(),
            roles: roles.filter_map(|(has, role)| has.then_some(role)).collect(),
            ca: certificate.is_ca(),
            not_before: certificate.validity().not_before.timestamp(),
            not_after: certificate.validity().not_after.timestamp(),
        })
    }
}

fn common_name(name: &X509Name<'_>) -> String {
    let common = name.iter_common_name().next().and_then(|attribute| attribute.as_str().ok());
    let text = common.map_or_else(|| name.to_string(), str::to_owned);
    // It may come from a stranger and goes into logs.
    text.chars().filter(|c| !c.is_control()).take(64).collect()
}

fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).chars().filter(|c| !c.is_control()).collect()),
        GeneralName::IPAddress(bytes) => {
            let v4 = <[u8; 4]>::try_from(*bytes).map(IpAddr::from);
            v4.or_else(|_| <[u8; 16]>::try_from(*bytes).map(IpAddr::from)).ok().map(|ip| ip.to_string())
        }
        _ => None,
    }
}

/// A Unix time in seconds as `2026-11-30 19:05 UTC`.
pub fn date(unix: i64) -> String {
    match OffsetDateTime::from_unix_timestamp(unix) {
        Ok(t) => {
            format!("{:04}-{:02}-{:02} {:02}:{:02} UTC", t.year(), u8::from(t.month()), t.day(), t.hour(), t.minute())
        }
        Err(_) => format!("second {unix}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_plain() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(1_796_065_500), "2026-11-30 19:05 UTC");
        assert_eq!(date(i64::MAX), format!("second {}", i64::MAX));
    }

    #[test]
    fn what_is_no_certificate_has_no_facts() {
        assert_eq!(Facts::of(b""), None);
        assert_eq!(Facts::of(b"\x30\x82\x01\x00 no"), None);
    }
}
