//! Those who come to an agent and are not let in.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use tokio::io::AsyncReadExt;
use tokio::net::TcpSocket;
use tokio::runtime;

use super::lab::LIMIT;

/// Connections of each stranger of a flood: more than the agent has room for.
const EACH: usize = 64;

/// What a stranger says, and never more.
pub fn knock(address: SocketAddr, bytes: &[u8]) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    // It may be thrown out before all of it is said.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    let end = stream.read_to_end(&mut answer);
    assert!(!end.is_err_and(|e| e.kind() == ErrorKind::WouldBlock), "it is still open");
    // At most an alert of TLS: 7 bytes.
    assert!(answer.len() <= 7, "a stranger was answered: {answer:?}");
}

/// So many bytes of noise.
pub fn noise(seed: u64, count: usize) -> Vec<u8> {
    // A generator that is good enough for noise: Knuth's.
    let next = |x: &mut u64| {
        *x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Some((*x >> 56) as u8)
    };
    let mut state = seed;
    std::iter::from_fn(|| next(&mut state)).take(count).collect()
}

/// Connections that say nothing, or half of something.
pub struct HalfOpen {
    address: SocketAddr,
    streams: Vec<TcpStream>,
    /// How many were thrown out.
    pub ended: usize,
}

impl HalfOpen {
    pub fn new(address: SocketAddr) -> Self {
        Self { address, streams: Vec::new(), ended: 0 }
    }

    /// Opens so many in place of those that were thrown out.
    pub fn fill(&mut self, count: usize) {
        let before = self.streams.len();
        self.streams.retain_mut(|stream| {
            stream.set_nonblocking(true).unwrap();
            let end = stream.read(&mut [0]).map_err(|error| error.kind());
            stream.set_nonblocking(false).unwrap();
            assert!(!matches!(end, Ok(1..)), "a stranger was answered");
            end == Err(ErrorKind::WouldBlock)
        });
        self.ended += before - self.streams.len();
        for n in self.streams.len()..count {
            let mut stream = TcpStream::connect(self.address).unwrap();
            // The beginning of a record of TLS.
            let _ = stream.write_all(&[22, 3, 1, 2, 0, 1][..n % 7]);
            self.streams.push(stream);
        }
    }

    /// Waits until all are thrown out.
    pub fn await_end(self) {
        for mut stream in self.streams {
            stream.set_read_timeout(Some(LIMIT)).unwrap();
            let end = stream.read(&mut [0]).map_err(|error| error.kind());
            assert!(matches!(end, Ok(0) | Err(ErrorKind::ConnectionReset)), "{end:?}");
        }
    }
}

/// Strangers from some addresses who open connections as fast as they are thrown out again.
pub struct Flood {
    over: Arc<AtomicBool>,
    opened: Arc<AtomicUsize>,
    thread: JoinHandle<()>,
}

impl Flood {
    /// From `127.0.0.N`, with the N given. Returns when it is at full height.
    pub fn from(sources: std::ops::Range<u8>, address: SocketAddr) -> Self {
        let (over, opened) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (is_over, count) = (Arc::clone(&over), Arc::clone(&opened));
        let height = 2 * EACH * sources.len();
        let thread = thread::spawn(move || {
            let runtime = runtime::Builder::new_current_thread().enable_io().build().unwrap();
            runtime.block_on(flood(sources, address, &is_over, &count));
        });
        while opened.load(Ordering::Relaxed) < height {
            thread::yield_now();
        }
        Self { over, opened, thread }
    }

    /// Ends it, and says how many connections it was.
    pub fn end(self) -> usize {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
        self.opened.load(Ordering::Relaxed)
    }
}

async fn flood(sources: std::ops::Range<u8>, address: SocketAddr, over: &AtomicBool, opened: &AtomicUsize) {
    let mut strangers: Vec<_> = sources.map(|n| (n, VecDeque::new())).collect();
    while !over.load(Ordering::Relaxed) {
        for (source, streams) in &mut strangers {
            if streams.len() == EACH {
                let mut oldest: tokio::net::TcpStream = streams.pop_front().unwrap();
                // Whichever way it was thrown out.
                let _ = oldest.read(&mut [0]).await;
            }
            let socket = TcpSocket::new_v4().unwrap();
            socket.bind(SocketAddr::from(([127, 0, 0, *source], 0))).unwrap();
            streams.push_back(socket.connect(address).await.unwrap());
            opened.fetch_add(1, Ordering::Relaxed);
        }
    }
}
