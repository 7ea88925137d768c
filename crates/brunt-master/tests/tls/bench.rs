//! Fleets, agents' doors and those who knock.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use brunt_master::certs::{self, Issued, Role, Validity, Whom};
use brunt_master::dial::{Dial, DialError, Purpose};
use brunt_master::launch::listen::ListenDial;
use brunt_plan::plan::Host;
use brunt_proto::tls::{Acceptor, ConnectError, Connector, GREETING, Identity};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, Issuer, KeyPair};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, HandshakeKind, ServerConfig, SignatureScheme,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Seconds.
pub const DAY: i64 = 24 * 3600;
/// Long enough for any machine; a test that waits so long has failed.
const LIMIT: Duration = Duration::from_secs(60);

/// A CA with a master and an agent `hosta` on 127.0.0.1.
pub struct Fleet {
    base: tempfile::TempDir,
    pub ca: Issued,
    pub master: Issued,
    pub agent: Issued,
}

fn year() -> Validity {
    Validity::days(SystemTime::now(), 365)
}

fn hosta() -> Whom {
    Whom::Agent(["hosta", "127.0.0.1"].map(str::to_owned).to_vec())
}

impl Fleet {
    pub fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("certs");
        let ca = certs::init(&folder, year()).unwrap();
        let master = certs::issue(&folder, &Whom::Master, year(), false).unwrap();
        let agent = certs::issue(&folder, &hosta(), year(), false).unwrap();
        Self { base, ca, master, agent }
    }

    pub fn folder(&self) -> std::path::PathBuf {
        self.base.path().join("certs")
    }

    /// One more certificate of this CA, in a folder of its own.
    pub fn issue(&self, name: &str, whom: &Whom, validity: Validity) -> Issued {
        use std::os::unix::fs::DirBuilderExt;
        let folder = self.base.path().join(format!("{name}-{}", validity.not_after));
        std::fs::DirBuilder::new().mode(0o700).create(&folder).unwrap();
        for file in ["ca.pem", "ca.key"] {
            std::fs::copy(self.folder().join(file), folder.join(file)).unwrap();
        }
        certs::issue(&folder, whom, validity, false).unwrap()
    }

    pub fn issue_agent(&self, name: &str, validity: Validity) -> Issued {
        self.issue(name, &hosta(), validity)
    }

    /// A certificate of this CA with a usage that `brunt certs` never gives.
    pub fn odd(&self, usage: Vec<ExtendedKeyUsagePurpose>) -> Shown {
        let ca = issuer(&self.ca);
        let mut params = CertificateParams::new(vec!["hosta".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, "odd");
        params.extended_key_usages = usage;
        let key = KeyPair::generate().unwrap();
        let made = params.signed_by(&key, &ca).unwrap();
        Shown::Chain(vec![made.der().clone()], key.serialize_pem())
    }

    /// A master's certificate that the agent has issued with its own.
    pub fn forged_by_agent(&self) -> Shown {
        let agent = issuer(&self.agent);
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, "forged");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().unwrap();
        let made = params.signed_by(&key, &agent).unwrap();
        let above = read(&self.agent.files.certificate);
        Shown::Chain(vec![made.der().clone(), above], key.serialize_pem())
    }
}

fn read(path: &Path) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn issuer(of: &Issued) -> Issuer<'static, KeyPair> {
    let text = |path| std::fs::read_to_string(path).unwrap();
    let key = KeyPair::from_pem(&text(&of.files.key)).unwrap();
    Issuer::from_ca_cert_pem(&text(&of.files.certificate), key).unwrap()
}

/// What somebody shows, whether it helps or not.
#[derive(Clone)]
pub enum Shown {
    Nothing,
    Chain(Vec<CertificateDer<'static>>, String),
}

impl Shown {
    pub fn of(issued: &Issued) -> Self {
        let key = std::fs::read_to_string(&issued.files.key).unwrap();
        Shown::Chain(vec![read(&issued.files.certificate)], key)
    }
}

/// Where one can knock.
pub struct Door {
    pub address: SocketAddr,
    results: mpsc::Receiver<Result<String, String>>,
    task: JoinHandle<()>,
}

impl Drop for Door {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Door {
    /// An agent's.
    pub async fn open(fleet: &Fleet) -> Self {
        let identity = Identity::load(Role::Agent, fleet.agent.files.clone()).unwrap();
        assert_eq!(identity.facts().names, ["hosta", "127.0.0.1"]);
        let acceptor = Arc::new(Acceptor::new(identity).unwrap());
        Self::with(move |stream| {
            let acceptor = Arc::clone(&acceptor);
            async move {
                let mut accepted = acceptor.accept(stream).await.map_err(|refusal| refusal.to_string())?;
                // What is sent comes back.
                let mut byte = [0];
                accepted.stream.read_exact(&mut byte).await.map_err(|error| error.to_string())?;
                accepted.stream.write_all(&byte).await.map_err(|error| error.to_string())?;
                accepted.stream.shutdown().await.map_err(|error| error.to_string())?;
                Ok(accepted.master)
            }
        })
        .await
    }

    /// A stranger's that lets anybody in.
    pub async fn raw(shown: Shown) -> Self {
        let Shown::Chain(chain, key) = shown else { panic!("a server shows a certificate") };
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
        Self::with(move |stream| {
            let acceptor = acceptor.clone();
            async move { acceptor.accept(stream).await.map(|_| String::new()).map_err(|error| error.to_string()) }
        })
        .await
    }

    /// Something that says this, whatever it hears.
    pub async fn plain(bytes: &'static [u8]) -> Self {
        Self::with(move |mut stream: TcpStream| async move {
            // Only what has heard something answers: else the end of the stream could overtake.
            let mut buffer = [0; 4096];
            stream.read(&mut buffer).await.map_err(|error| error.to_string())?;
            stream.write_all(bytes).await.map_err(|error| error.to_string())?;
            stream.shutdown().await.map(|()| String::new()).map_err(|error| error.to_string())
        })
        .await
    }

    async fn with<F, R>(serve: F) -> Self
    where
        F: Fn(TcpStream) -> R + Send + 'static,
        R: Future<Output = Result<String, String>> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (out, results) = mpsc::channel(64);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let served = tokio::spawn(serve(stream)).await.expect("a stranger must not make it panic");
                if out.send(served).await.is_err() {
                    return;
                }
            }
        });
        Self { address, results, task }
    }

    /// How the next visit ended: the name of the master, or why it was refused.
    pub async fn next(&mut self) -> Result<String, String> {
        tokio::time::timeout(LIMIT, self.results.recv()).await.expect("nobody came").expect("the door is open")
    }
}

/// The fleet's master goes there, and sends and receives a byte.
pub async fn connect(fleet: &Fleet, address: SocketAddr, names: &[&str]) -> Result<(), ConnectError> {
    let identity = Identity::load(Role::Master, fleet.master.files.clone()).unwrap();
    let stream = TcpStream::connect(address).await.unwrap();
    let mut stream = Connector::new(identity).connect(stream, names).await?;
    stream.write_all(b"x").await.unwrap();
    let mut back = Vec::new();
    stream.read_to_end(&mut back).await.unwrap();
    assert_eq!(back, b"x");
    Ok(())
}

/// The master that has these certificates dials the agent of `hosta` there.
pub async fn dial(folder: &Path, address: SocketAddr, purpose: Purpose) -> Result<(), DialError> {
    let (label, system) = ("hosta".to_owned(), address.to_string());
    let host = Host { label, system, shell: Some("vdbench".to_owned()), user: None, install_dir: None, workers: 1 };
    let dial = ListenDial::with_certificates(&host, 1, folder.to_owned()).unwrap();
    let (log, _lines) = mpsc::channel(1);
    dial.dial(purpose, log).await.map(drop)
}

/// Somebody who trusts anybody goes there with this certificate and waits for the greeting.
pub async fn show(address: SocketAddr, shown: Shown) -> Result<(), Error> {
    let config = Arc::new(careless(shown));
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from("hosta").unwrap();
    let tls = |error: std::io::Error| match error.get_ref().and_then(|e| e.downcast_ref::<Error>()) {
        Some(error) => error.clone(),
        None => Error::General(error.to_string()),
    };
    let mut stream = tokio_rustls::TlsConnector::from(config).connect(name, stream).await.map_err(tls)?;
    let mut greeting = [0; GREETING.len()];
    stream.read_exact(&mut greeting).await.map(drop).map_err(tls)
}

/// Goes there so often with what it may know of the visit before, and says how each time hands were shaken, and how many tickets
/// for the next one were given.
pub async fn visits(address: SocketAddr, shown: Shown, count: usize) -> Vec<(Option<HandshakeKind>, u32)> {
    // Its memory of sessions is that of all its connections.
    let config = Arc::new(careless(shown));
    let mut kinds = Vec::new();
    for _ in 0..count {
        let stream = TcpStream::connect(address).await.unwrap();
        let name = ServerName::try_from("hosta").unwrap();
        let mut stream = tokio_rustls::TlsConnector::from(Arc::clone(&config)).connect(name, stream).await.unwrap();
        stream.write_all(b"x").await.unwrap();
        // All that comes, tickets included.
        stream.read_to_end(&mut Vec::new()).await.unwrap();
        let tls = stream.get_ref().1;
        kinds.push((tls.handshake_kind(), tls.tls13_tickets_received()));
    }
    kinds
}

fn careless(shown: Shown) -> ClientConfig {
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody));
    match shown {
        Shown::Nothing => config.with_no_client_auth(),
        Shown::Chain(chain, key) => {
            config.with_client_auth_cert(chain, PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap()).unwrap()
        }
    }
}

/// Sends these bytes and no more, and waits until the other side has closed.
pub async fn knock(address: SocketAddr, bytes: &[u8]) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The other side may have had enough before it has read everything.
    let _ = stream.write_all(bytes).await;
    let _ = stream.shutdown().await;
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(LIMIT, stream.read_to_end(&mut answer)).await.expect("it was not closed");
    assert!(!answer.windows(GREETING.len()).any(|w| w == GREETING));
}

/// Random bytes.
pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut bytes);
    bytes
}

/// The first message of a true client, with up to four bytes changed, cut at a random place.
pub fn nearly(seed: u64) -> Vec<u8> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let name = ServerName::try_from("hosta").unwrap();
    let mut client = ClientConnection::new(Arc::new(careless(Shown::Nothing)), name).unwrap();
    let mut bytes = Vec::new();
    client.write_tls(&mut bytes).unwrap();
    let mut below = |end: usize| usize::try_from(random.next_u64() % end as u64).unwrap();
    for _ in 0..below(5) {
        let at = below(bytes.len());
        bytes[at] ^= 1 << below(8);
    }
    bytes.truncate(1 + below(bytes.len()));
    bytes
}

#[derive(Debug)]
struct Anybody;

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        rustls::crypto::ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}
