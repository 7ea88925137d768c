//! `brunt agent --listen`: takes connections from the network, lets masters in by their certificates, and passes their
//! bytes on to an agent of its own, which serves one of them as any other agent does.
//!
//! That agent is a process: what a session leaves behind (an I/O that never returns) goes with it, and whatever comes
//! from strangers is read by a process that does no I/O to devices.

mod door;
mod family;
mod house;
mod log;
mod queue;
mod refusal;

use std::fs::File;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{sleep, timeout};

use super::attach::bridge;
use super::connection::Bytes;
use super::meeting;
use house::House;
use log::Log;
use queue::Queue;

/// Time a connection has to be let in.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);

/// How an agent listens.
#[derive(Debug, Clone)]
pub struct ListenOptions {
    /// Address and port.
    pub address: String,
    /// Certificate, PEM.
    pub cert: PathBuf,
    /// Its key, PEM.
    pub key: PathBuf,
    /// The certificate of the CA of masters, PEM.
    pub ca: PathBuf,
    /// Cores for all sessions; empty: those of this process.
    pub cores: Vec<usize>,
    /// The program that is started as `PROGRAM agent --socket …`.
    pub program: PathBuf,
}

/// Why an agent does not listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Its certificate or key cannot be used: a sentence.
    #[error("{0}")]
    Identity(String),
    /// The address cannot be had.
    #[error("cannot listen at {address}: {source}")]
    Address {
        /// As it was given.
        address: String,
        /// Why.
        source: io::Error,
    },
    /// No folder for the socket of its own agent.
    #[error("no folder for a socket can be had: {0}")]
    Folder(String),
    /// The system refused something else.
    #[error("the agent cannot start: {0}")]
    Start(#[source] io::Error),
}

/// A stream that is being let in; the error is a sentence that begins with `it`.
pub type Accepting = Pin<Box<dyn Future<Output = Result<Box<dyn Bytes>, String>> + Send>>;

/// Decides who is let in.
pub trait Accept: Send + Sync + 'static {
    /// Lets a connection in, or not.
    fn accept(self: Arc<Self>, stream: TcpStream) -> Accepting;
}

/// Listens until SIGTERM or SIGINT.
///
/// # Errors
/// See [`ListenError`].
pub async fn run(options: ListenOptions) -> Result<(), ListenError> {
    let ListenOptions { address, cert, key, ca, cores, program } = options;
    let door = door::with_certificate(cert, key, ca).map_err(ListenError::Identity)?;
    let failed = |source| ListenError::Address { address: address.clone(), source };
    let listener = TcpListener::bind(&address).await.map_err(failed)?;
    let local = listener.local_addr().map_err(failed)?;
    let folder = meeting::private_folder().map_err(ListenError::Folder)?;
    let log = standard_error().map_err(ListenError::Start)?;
    let house = House::new(program, cores, folder.join(format!("listen-{}.sock", name_of(local))), log.clone());
    log.say(&format_args!("listening on {local}"));
    serve(listener, Arc::new(door), house, log).await.map_err(ListenError::Start)
}

/// An address as part of a file's name.
fn name_of(address: SocketAddr) -> String {
    address.to_string().replace(|c: char| !c.is_ascii_alphanumeric() && c != '.', "-")
}

/// A log to the standard error, of which it has a descriptor of its own: a write that nobody takes must not keep the lock
/// that others need for theirs.
fn standard_error() -> io::Result<Log> {
    Log::to(File::from(io::stderr().as_fd().try_clone_to_owned()?))
}

/// Lets connections in until it is told to end.
async fn serve(listener: TcpListener, door: Arc<impl Accept>, house: House, log: Log) -> io::Result<()> {
    let (mut told_to_end, mut interrupted) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let _ = signal(SignalKind::hangup())?;
    let house = Arc::new(house);
    let mut queue = Queue::default();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = told_to_end.recv() => break,
            _ = interrupted.recv() => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                // Small messages must not wait for more.
                let _ = stream.set_nodelay(true);
                let receiving = receive(stream, peer, Arc::clone(&door), Arc::clone(&house), log.clone());
                if let Some(out) = queue.push(peer, tokio::spawn(receiving).abort_handle()) {
                    log.refuse(out, "too many from there were at it, and it was the oldest".to_owned());
                }
            }
            Err(error) => {
                log.say(&format_args!("no connection can be taken: {error}"));
                // No descriptor is free: there may be one later.
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
    drop(listener);
    house.end().await;
    Ok(())
}

/// Lets one connection in; what comes after that is not in the queue any more.
async fn receive(stream: TcpStream, peer: SocketAddr, door: Arc<impl Accept>, house: Arc<House>, log: Log) {
    let stream = match timeout(HANDSHAKE_LIMIT, door.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(reason)) => return log.refuse(peer, reason),
        Err(_) => return log.refuse(peer, format!("it said nothing for {} s", HANDSHAKE_LIMIT.as_secs())),
    };
    tokio::spawn(async move {
        match house.connect().await {
            Ok(agent) => bridge(stream, agent).await,
            Err(why) => {
                log.say(&format_args!("{peer} cannot be served: {why}"));
                refusal::refuse(stream, &why).await;
            }
        }
    });
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use brunt_proto::stdio::{Keepalive, channel};
    use brunt_proto::v1::agent_client::AgentClient;
    use brunt_proto::{PROTOCOL, v1};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tonic::Status;
    use tonic::transport::Channel;

    /// Lets in whoever says `y`.
    struct Polite;

    impl Accept for Polite {
        fn accept(self: Arc<Self>, mut stream: TcpStream) -> Accepting {
            Box::pin(async move {
                match stream.read_u8().await {
                    Ok(b'y') => Ok(Box::new(stream) as Box<dyn Bytes>),
                    _ => Err("it was not polite".to_owned()),
                }
            })
        }
    }

    async fn master(address: SocketAddr) -> AgentClient<Channel> {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"y").await.unwrap();
        AgentClient::new(channel(stream, Keepalive::default()).await.unwrap())
    }

    async fn hello(master: &mut AgentClient<Channel>, token: &str) -> Result<v1::HelloReply, Status> {
        let hello = v1::HelloRequest {
            protocol: PROTOCOL,
            token: token.to_owned(),
            lease_ms: 600_000,
            client: "tester".to_owned(),
            workers: 2,
            label: "hosta".to_owned(),
            ..Default::default()
        };
        Ok(master.hello(hello).await?.into_inner())
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn one_master_after_the_other_whatever_strangers_do() {
        let tests = std::env::current_exe().unwrap();
        let program = tests.ancestors().nth(2).unwrap().join("examples/memory_agent");
        assert!(program.exists(), "{} is missing: `cargo test -p brunt-worker` builds it", program.display());
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let log = standard_error().unwrap();
        let house = House::new(program, Vec::new(), folder.path().join("agent.sock"), log.clone());
        let serving = tokio::spawn(serve(listener, Arc::new(Polite), house, log));
        let mut strangers = Vec::new();
        for _ in 0..128 {
            strangers.push(TcpStream::connect(address).await.unwrap());
        }

        let mut first = master(address).await;
        let reply = hello(&mut first, "").await.unwrap();
        assert_eq!(reply.worker_pids.len(), 2);
        let mut second = master(address).await;
        let busy = hello(&mut second, "").await.unwrap_err().message().to_owned();
        assert!(busy.starts_with("this agent serves another master: tester, since "), "{busy}");
        // The connection breaks, and the master comes back.
        drop(first);
        let mut again = master(address).await;
        assert_eq!(hello(&mut again, &reply.token).await.unwrap().worker_pids, reply.worker_pids);
        again.shutdown(v1::ShutdownRequest {}).await.unwrap();

        // The next session has workers of its own, and knows of the one before.
        let mut next = master(address).await;
        let other = hello(&mut next, "").await.unwrap();
        assert!(other.token != reply.token && other.worker_pids != reply.worker_pids);
        // Those that were put out are the oldest.
        let mut oldest = strangers.swap_remove(0);
        assert_eq!(oldest.read(&mut [0]).await.unwrap_or(0), 0);
        next.shutdown(v1::ShutdownRequest {}).await.unwrap();
        serving.abort();
    }

    #[tokio::test]
    async fn a_log_that_nobody_reads_keeps_no_stranger_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (_unread, mut log) = io::pipe().unwrap();
        // A pipe holds 64 KiB; what is written now waits for ever.
        io::Write::write_all(&mut log, &[b'\n'; 1 << 16]).unwrap();
        let log = Log::to(log).unwrap();
        let house = House::new(PathBuf::from("/bin/false"), Vec::new(), folder.path().join("agent.sock"), log.clone());
        let serving = tokio::spawn(serve(listener, Arc::new(Polite), house, log));
        for _ in 0..4 {
            let mut stranger = TcpStream::connect(address).await.unwrap();
            stranger.write_all(b"n").await.unwrap();
            assert_eq!(stranger.read(&mut [0]).await.unwrap_or(0), 0);
        }
        serving.abort();
    }

    #[test]
    fn addresses_are_names_of_files() {
        let name = |address: &str| name_of(address.parse().unwrap());
        assert_eq!(name("10.0.0.1:5570"), "10.0.0.1-5570");
        assert_eq!(name("[fd00::1]:5570"), "-fd00--1--5570");
    }
}
