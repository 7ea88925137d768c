//! The certificates of a fleet of agents that listen: one CA, a certificate for each agent and one for the master,
//! all files of one folder. Made by `brunt certs`, used by [`crate::launch::listen`] and `brunt agent --listen`.

mod folder;
mod issue;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use brunt_proto::tls::Files;

pub use brunt_proto::tls::{Facts, Role, date};
pub use folder::{CertsError, Listed, list};
pub use issue::{Issued, Whom, init, issue};

/// Days that a CA is valid when nothing else is said.
pub const CA_DAYS: u32 = 3650;
/// Days that a certificate is valid when nothing else is said.
pub const LEAF_DAYS: u32 = 825;
/// Certificates are valid from so long ago, since clocks of labs differ.
const GRACE: Duration = Duration::from_secs(24 * 3600);

/// From when until when a certificate is valid, Unix seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    /// First second.
    pub not_before: i64,
    /// Last second.
    pub not_after: i64,
}

impl Validity {
    /// From a day before `now` until `days` behind it.
    pub fn days(now: SystemTime, days: u32) -> Self {
        let unix = |at: Duration| i64::try_from(at.as_secs()).unwrap_or(i64::MAX);
        // A clock before 1970 makes certificates that nobody accepts, which is then said.
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let end = now.saturating_add(Duration::from_secs(u64::from(days) * 24 * 3600));
        Self { not_before: unix(now.saturating_sub(GRACE)), not_after: unix(end) }
    }
}

/// The folder of certificates: `BRUNT_CERTS`, else `brunt/certs` in `XDG_CONFIG_HOME`, else in `~/.config`. `None`
/// without any of these.
pub fn default_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = || set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")));
    set("BRUNT_CERTS").or_else(|| Some(config()?.join("brunt/certs")))
}

/// The files that the master needs.
pub fn master_files(folder: &Path) -> Files {
    let file = |name| folder.join(name);
    Files { certificate: file("master.pem"), key: file("master.key"), ca: file("ca.pem") }
}

/// The files that an agent needs, as they are called where they are made.
pub fn agent_files(folder: &Path, name: &str) -> Files {
    // An IPv6 address has colons, which some tools take for a host.
    let name = name.replace(':', "-");
    let file = |end| folder.join(format!("agent-{name}.{end}"));
    Files { certificate: file("pem"), key: file("key"), ca: folder.join("ca.pem") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(set: &[(&str, &str)]) -> Option<PathBuf> {
        default_folder(|name| set.iter().find(|(n, _)| *n == name).map(|(_, value)| OsString::from(value)))
    }

    #[test]
    fn the_folder_is_named_or_among_the_settings() {
        assert_eq!(folder(&[("HOME", "/home/u")]), Some("/home/u/.config/brunt/certs".into()));
        assert_eq!(folder(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/c")]), Some("/c/brunt/certs".into()));
        assert_eq!(folder(&[("HOME", "/h"), ("XDG_CONFIG_HOME", ""), ("BRUNT_CERTS", "/k")]), Some("/k".into()));
        assert_eq!(folder(&[("HOME", "")]), None);
    }

    #[test]
    fn clocks_may_differ_by_a_day() {
        let validity = Validity::days(UNIX_EPOCH + Duration::from_secs(1_000_000), 2);
        assert_eq!(validity, Validity { not_before: 1_000_000 - 86_400, not_after: 1_000_000 + 2 * 86_400 });
    }
}
