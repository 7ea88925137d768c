//! The way to an agent that listens (`shell=vdbench`): TCP with TLS, one connection to begin and one for each time
//! that it must be gone again.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use brunt_plan::plan::Host;
use brunt_proto::stdio::{Keepalive, channel};
use brunt_proto::tls::{ConnectError, Connector, Identity, IdentityError, Role};
use tokio::net::{TcpStream, lookup_host};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::certs::{default_folder, master_files};
use crate::dial::{Dial, DialError, Dialed, Dialing, Purpose};

/// The port of an agent that listens, as Vdbench's `-p` has it.
pub const DEFAULT_PORT: u16 = 5570;
/// Time for a connection, all in all.
const LIMIT: Duration = Duration::from_secs(10);

/// The way to one agent that listens.
#[derive(Debug)]
pub struct ListenDial {
    label: String,
    address: String,
    port: u16,
    certificates: PathBuf,
    limit: Duration,
    /// Whether the agent was ever reached.
    met: AtomicBool,
}

impl ListenDial {
    /// The way to a host with `shell=vdbench`: `system=` is a name or an address, with `:port` where it is not `port`
    /// (`[address]:port` for IPv6). Names are resolved here, each time.
    ///
    /// # Errors
    /// `system=` cannot be an address, or nobody knows where the certificates are.
    pub fn new(host: &Host, port: u16) -> Result<Self, DialError> {
        let folder = default_folder(|name| std::env::var_os(name)).ok_or_else(|| {
            DialError::Never(
                "BRUNT_CERTS must name the folder of certificates, since there is no home folder".to_owned(),
            )
        })?;
        Self::with_certificates(host, port, folder)
    }

    /// [`ListenDial::new`] with another folder of certificates.
    ///
    /// # Errors
    /// `system=` cannot be an address.
    pub fn with_certificates(host: &Host, port: u16, certificates: PathBuf) -> Result<Self, DialError> {
        let (address, port) = split(&host.system, port).ok_or_else(|| {
            DialError::Never(format!("system={} is not a name or an address, with or without :port", host.system))
        })?;
        Ok(Self {
            label: host.label.clone(),
            address: address.to_owned(),
            port,
            certificates,
            limit: LIMIT,
            met: AtomicBool::new(false),
        })
    }

    /// The names that the agent's certificate may be for: the user chose both.
    fn names(&self) -> Vec<&str> {
        let mut names = vec![self.address.as_str()];
        names.extend((self.label != self.address).then_some(self.label.as_str()));
        names
    }

    fn target(&self) -> String {
        match self.address.contains(':') {
            true => format!("[{}]:{}", self.address, self.port),
            false => format!("{}:{}", self.address, self.port),
        }
    }

    async fn open(&self, purpose: &Purpose) -> Result<Dialed, DialError> {
        let files = master_files(&self.certificates);
        let identity = Identity::load(Role::Master, files).map_err(|error| self.unready(purpose, &error))?;
        let connector = Connector::new(identity);
        let silent =
            || DialError::NotNow(format!("{} did not answer within {} s", self.target(), self.limit.as_secs()));
        let dialed = timeout(self.limit, self.reach(purpose, &connector)).await.map_err(|_| silent())??;
        self.met.store(true, Relaxed);
        Ok(dialed)
    }

    /// Certificates without which there is no way to such an agent: how they are made.
    fn unready(&self, purpose: &Purpose, error: &IdentityError) -> DialError {
        let missing = matches!(error, IdentityError::Unreadable { source, .. } if source.kind() == ErrorKind::NotFound);
        match missing {
            true if !self.met.load(Relaxed) => DialError::Never(format!(
                "shell=vdbench needs certificates, and {error}; in short: brunt certs init, brunt certs issue --master, and \
                 brunt certs issue --agent {} for the host",
                self.names().join(" ")
            )),
            _ => refused(purpose, error.to_string()),
        }
    }

    async fn reach(&self, purpose: &Purpose, connector: &Connector) -> Result<Dialed, DialError> {
        let stream = self.tcp().await?;
        let stream = connector.connect(stream, &self.names()).await.map_err(|error| match error {
            ConnectError::Refused(text) => refused(purpose, format!("{}: {text}", self.target())),
            ConnectError::Broken(text) => DialError::NotNow(format!("{}: {text}", self.target())),
        })?;
        let channel = channel(stream, Keepalive::default()).await.map_err(|error| {
            DialError::NotNow(format!("{}: the agent does not speak its protocol: {error}", self.target()))
        })?;
        Ok(Dialed { channel, carrier: None })
    }

    async fn tcp(&self) -> Result<TcpStream, DialError> {
        let unknown =
            |error: io::Error| DialError::NotNow(format!("`{}` cannot be resolved here: {error}", self.address));
        let found: Vec<SocketAddr> = lookup_host((self.address.as_str(), self.port)).await.map_err(unknown)?.collect();
        let mut failed = DialError::NotNow(format!("`{}` has no address", self.address));
        // Each of several addresses has its part of the time.
        let part = self.limit / u32::try_from(found.len().max(1)).unwrap_or(1);
        for address in found {
            match timeout(part, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => {
                    // Small calls must not wait for more.
                    let _ = stream.set_nodelay(true);
                    return Ok(stream);
                }
                Ok(Err(error)) => failed = self.not_reached(address, &error),
                Err(_) => failed = DialError::NotNow(format!("{address} did not answer within {} s", part.as_secs())),
            }
        }
        Err(failed)
    }

    fn not_reached(&self, address: SocketAddr, error: &io::Error) -> DialError {
        DialError::NotNow(match error.kind() {
            ErrorKind::ConnectionRefused => {
                format!("nothing listens at {address}; start it there: brunt agent --listen 0.0.0.0:{}", self.port)
            }
            ErrorKind::HostUnreachable | ErrorKind::PermissionDenied => format!(
                "{address} cannot be reached ({error}); if a firewall there keeps the port closed: \
                 nft add rule inet filter input tcp dport {} accept",
                self.port
            ),
            _ => format!("{address} cannot be reached: {error}"),
        })
    }
}

impl Dial for ListenDial {
    fn dial(&self, purpose: Purpose, _: mpsc::Sender<String>) -> Dialing<'_> {
        // The agent is there already, and knows by the token who comes.
        Box::pin(async move { self.open(&purpose).await })
    }

    fn name(&self) -> String {
        self.target()
    }
}

/// What is wrong with certificates stays wrong, for whoever begins. A session that goes on has its lease for it to pass:
/// clocks are set right, and certificates are replaced.
fn refused(purpose: &Purpose, text: String) -> DialError {
    match purpose {
        Purpose::Begin => DialError::Never(text),
        Purpose::Attach { .. } => DialError::NotNow(text),
    }
}

/// `host`, `host:port`, `[address]:port`, `[address]` or a bare IPv6 address.
fn split(system: &str, port: u16) -> Option<(&str, u16)> {
    let (host, port) = match system.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, "")) => (host, port),
        Some((host, rest)) => (host, rest.strip_prefix(':')?.parse().ok()?),
        None => match system.rsplit_once(':') {
            Some((host, text)) if !host.contains(':') => (host, text.parse().ok()?),
            _ => (system, port),
        },
    };
    (!host.is_empty() && port > 0).then_some((host, port))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn systems_are_split() {
        assert_eq!(split("hosta", 5570), Some(("hosta", 5570)));
        assert_eq!(split("10.0.0.1:6000", 5570), Some(("10.0.0.1", 6000)));
        assert_eq!(split("[fd00::1]:6000", 5570), Some(("fd00::1", 6000)));
        assert_eq!(split("[fd00::1]", 5570), Some(("fd00::1", 5570)));
        assert_eq!(split("fd00::1", 5570), Some(("fd00::1", 5570)));
        for wrong in ["hosta:", "hosta:x", "hosta:70000", "hosta:0", "[fd00::1]6000", ":5570", ""] {
            assert_eq!(split(wrong, 5570), None, "{wrong}");
        }
    }

    fn host(system: &str) -> Host {
        let (label, system) = ("hosta".to_owned(), system.to_owned());
        Host { label, system, shell: Some("vdbench".to_owned()), user: None, install_dir: None, workers: 1 }
    }

    async fn failure(dial: ListenDial) -> DialError {
        let (log, _lines) = mpsc::channel(1);
        dial.dial(Purpose::Begin, log).await.map(drop).unwrap_err()
    }

    #[tokio::test]
    async fn missing_certificates_are_told_with_their_cure() {
        let folder = tempfile::tempdir().unwrap();
        let dial = ListenDial::with_certificates(&host("10.0.0.1:6000"), 5570, folder.path().to_owned()).unwrap();
        assert_eq!(dial.name(), "10.0.0.1:6000");
        let DialError::Never(text) = failure(dial).await else { panic!("this goes on") };
        assert!(text.starts_with("shell=vdbench needs certificates, and "), "{text}");
        assert!(text.ends_with("brunt certs issue --agent 10.0.0.1 hosta for the host"), "{text}");
    }

    #[test]
    fn a_wrong_system_is_told() {
        let error = ListenDial::with_certificates(&host("hosta:x"), 5570, PathBuf::new()).unwrap_err();
        let text = "system=hosta:x is not a name or an address, with or without :port";
        assert_eq!(error, DialError::Never(text.to_owned()));
    }
}
