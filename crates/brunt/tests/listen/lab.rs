//! An agent that listens on this machine, its certificates, and runs on it.
#![allow(dead_code)] // each file of tests uses a part of it

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

/// Long enough for any machine; a test that waits so long has failed.
pub const LIMIT: Duration = Duration::from_secs(120);

fn brunt() -> Command {
    Command::new(env!("CARGO_BIN_EXE_brunt"))
}

fn done(command: &mut Command) -> Output {
    let out = command.output().unwrap();
    assert!(out.status.success(), "{command:?}: {}", String::from_utf8_lossy(&out.stderr));
    out
}

/// A CA with a master and the agent `hosta`, made as a user makes them. They are in `certs` of the folder.
pub fn certificates() -> TempDir {
    let folder = tempfile::Builder::new().permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700)).tempdir();
    let folder = folder.unwrap();
    let certs = |words: &[&str]| done(brunt().arg("certs").args(words).arg("--dir").arg(folder.path()));
    certs(&["init"]);
    certs(&["issue", "--master"]);
    certs(&["issue", "--agent", "hosta", "127.0.0.1"]);
    let shown = String::from_utf8(certs(&["show"]).stdout).unwrap();
    assert_eq!(shown.lines().count(), 3, "{shown}");
    assert!(
        shown.contains("agent-hosta.pem: Brunt agent hosta for hosta, 127.0.0.1 (an agent), valid from "),
        "{shown}"
    );
    folder
}

/// An agent, started as a user starts it.
pub struct Lab {
    folder: TempDir,
    certificates: TempDir,
    address: SocketAddr,
    agent: Child,
}

impl Lab {
    pub fn new() -> Self {
        let (folder, certificates) = (tempfile::tempdir().unwrap(), certificates());
        let log = fs::File::create(folder.path().join("log")).unwrap();
        let at = |name: &str| certificates.path().join(name);
        // A port that was free a moment ago.
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut agent = brunt();
        agent.args(["agent", "--listen", &address.to_string()]);
        agent.arg("--cert").arg(at("agent-hosta.pem")).arg("--key").arg(at("agent-hosta.key"));
        let agent = agent.arg("--ca").arg(at("ca.pem")).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let mut lab = Self { folder, certificates, address, agent };
        lab.await_agent();
        lab
    }

    /// A refused connection is the only way in which the system tells that nothing listens yet.
    fn await_agent(&mut self) {
        let began = Instant::now();
        while TcpStream::connect(self.address).is_err() {
            assert!(self.agent.try_wait().unwrap().is_none(), "the agent has ended: {}", self.log());
            assert!(began.elapsed() < LIMIT, "the agent does not listen: {}", self.log());
            thread::yield_now();
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn agent(&self) -> u32 {
        self.agent.id()
    }

    pub fn certificates(&self) -> &Path {
        self.certificates.path()
    }

    /// Waits until its log says this.
    pub fn await_log(&self, text: &str) {
        let began = Instant::now();
        while !self.log().contains(text) {
            assert!(began.elapsed() < LIMIT, "{}", self.log());
            thread::yield_now();
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    fn command(&self, name: &str, elapsed: u32, certificates: &Path) -> Command {
        self.command_to(self.address, name, elapsed, certificates)
    }

    fn command_to(&self, address: SocketAddr, name: &str, elapsed: u32, certificates: &Path) -> Command {
        let text = format!(
            "hd=hosta,system={address},shell=vdbench\nsd=sd1,lun=sim:a\n\
             rd=r,sd=sd1,iorate=200,elapsed={elapsed},interval=1\n"
        );
        fs::write(self.folder.path().join(name), text).unwrap();
        let mut run = brunt();
        run.args(["-f", name, "-o", &format!("{name}.out")]).current_dir(self.folder.path());
        run.env("BRUNT_CERTS", certificates);
        run
    }

    /// A run of so many seconds.
    pub fn start_run(&self, elapsed: u32) -> Run {
        let mut command = self.command("first", elapsed, self.certificates());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let console = BufReader::new(child.stdout.take().unwrap());
        Run { child, console, rows: Vec::new() }
    }

    /// Another run with these certificates, to its end: status, and all that it said.
    pub fn second_run(&self, certificates: &Path) -> (Option<i32>, String) {
        said(&mut self.command("second", 2, certificates))
    }

    pub fn short_run(&self) -> (Option<i32>, String) {
        said(&mut self.command("third", 2, self.certificates()))
    }

    /// A short run by another way to the agent.
    pub fn run_by(&self, way: SocketAddr) -> (Option<i32>, String) {
        said(&mut self.command_to(way, "other", 2, self.certificates()))
    }

    /// `brunt attach` to the run that [`Lab::start_run`] began, to its end; and its events.
    pub fn attach(&self) -> (Option<i32>, String, String) {
        let mut attach = brunt();
        attach.args(["attach", "first.out"]).current_dir(self.folder.path()).env("BRUNT_CERTS", self.certificates());
        let (status, text) = said(&mut attach);
        (status, text, fs::read_to_string(self.folder.path().join("first.out/events.ndjson")).unwrap())
    }

    /// A run after the agent has gone.
    pub fn without_agent(mut self, certificates: &Path) -> (Option<i32>, String) {
        self.agent.kill().unwrap();
        self.agent.wait().unwrap();
        self.second_run(certificates)
    }

    /// Ends the agent in order: its log.
    pub fn end(mut self) -> String {
        kill(pid(self.agent.id()), Signal::SIGTERM).unwrap();
        let status = self.agent.wait().unwrap();
        let log = self.log();
        assert_eq!(status.code(), Some(0), "{log}");
        assert!(log.contains(&format!("listening on {}\n", self.address())), "{log}");
        log
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.agent.kill();
        let _ = self.agent.wait();
    }
}

fn said(command: &mut Command) -> (Option<i32>, String) {
    let out = command.output().unwrap();
    let text = [out.stdout, out.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    // Lines may be folded.
    (out.status.code(), text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn pid(id: u32) -> Pid {
    Pid::from_raw(i32::try_from(id).unwrap())
}

/// A run and its console.
pub struct Run {
    child: Child,
    console: BufReader<ChildStdout>,
    /// Interval and rate of each row.
    rows: Vec<(u32, f64)>,
}

impl Run {
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Kills the master.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for so many more rows.
    pub fn wait_for_rows(&mut self, count: usize) {
        let wanted = self.rows.len() + count;
        while self.rows.len() < wanted {
            assert!(self.line(), "the run has ended");
        }
    }

    fn line(&mut self) -> bool {
        let mut line = String::new();
        if self.console.read_line(&mut line).unwrap() == 0 {
            return false;
        }
        // `15:04:05.000          1      200.0 …`
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [time, interval, rate, ..] = words.as_slice()
            && time.contains(':')
            && let (Ok(interval), Ok(rate)) = (interval.parse(), rate.parse())
        {
            self.rows.push((interval, rate));
        }
        true
    }

    /// Ends it, and checks that every interval came with I/Os.
    pub fn interrupt(mut self) {
        kill(pid(self.child.id()), Signal::SIGINT).unwrap();
        while self.line() {}
        assert_eq!(self.child.wait().unwrap().code(), Some(130));
        let numbers: Vec<u32> = self.rows.iter().map(|(interval, _)| *interval).collect();
        let last = u32::try_from(numbers.len()).unwrap();
        assert_eq!(numbers, (1..=last).collect::<Vec<_>>());
        // The last one was cut short. Arrivals are random: a single interval may be off by a fifth, and by more on a
        // machine that has much else to do.
        let whole = &self.rows[..numbers.len() - 1];
        assert!(whole.iter().all(|(_, rate)| *rate > 50.0), "{whole:?}");
        let mean = whole.iter().map(|(_, rate)| rate).sum::<f64>() / f64::from(last - 1);
        assert!((150.0..=250.0).contains(&mean), "{whole:?}");
    }
}

/// TCP ports on which a process listens, in order.
pub fn listening(process: u32) -> Vec<u16> {
    let sockets: Vec<String> = fs::read_dir(format!("/proc/{process}/fd"))
        .unwrap()
        .filter_map(|entry| fs::read_link(entry.unwrap().path()).ok())
        .filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let mut ports = Vec::new();
    for table in ["tcp", "tcp6", "udp", "udp6"] {
        let text = fs::read_to_string(format!("/proc/{process}/net/{table}")).unwrap_or_default();
        for line in text.lines().skip(1) {
            let words: Vec<&str> = line.split_whitespace().collect();
            // State 0A is LISTEN; a socket of UDP that is not connected has 07.
            if matches!(words[3], "0A" | "07") && sockets.iter().any(|s| s == words[9]) {
                ports.push(u16::from_str_radix(words[1].rsplit_once(':').unwrap().1, 16).unwrap());
            }
        }
    }
    ports.sort_unstable();
    ports
}

/// Goes there with TLS but without a certificate: the error.
pub fn without_certificate(address: SocketAddr) -> String {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody(provider)))
        .with_no_client_auth();
    let name = rustls::pki_types::ServerName::try_from("hosta").unwrap();
    let mut client = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    rustls::Stream::new(&mut client, &mut stream).read(&mut [0]).unwrap_err().to_string()
}

/// Trusts anybody.
#[derive(Debug)]
struct Anybody(Arc<rustls::crypto::CryptoProvider>);

impl rustls::client::danger::ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &[rustls::pki_types::CertificateDer<'_>],
        _: &rustls::pki_types::ServerName<'_>,
        _: &[u8],
        _: rustls::pki_types::UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
