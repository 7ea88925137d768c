//! What a link and the task that keeps its connection know of each other.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use brunt_proto::{PROTOCOL, v1};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::talk::Line;
use super::{Crew, Terms};

/// Bytes of messages that an agent is left with: half of what it has room for. Whoever takes the execution over gets them
/// again.
const LEFT: usize = 32 << 20;

/// Messages that were handed over and are not confirmed.
#[derive(Debug, Default)]
struct Left {
    messages: VecDeque<(u64, usize)>,
    bytes: usize,
}

/// The connection as it is.
pub(super) enum State<T> {
    /// The agent has not been greeted.
    Unborn,
    /// It works.
    Open {
        /// Number of the connection.
        number: u64,
        talk: Arc<T>,
    },
    /// It is broken; there may be another.
    Away,
    /// There will be no other: a sentence.
    Gone(String),
}

/// What both sides know.
pub(super) struct Shared<L: Line> {
    pub(super) host: usize,
    pub(super) label: String,
    pub(super) crew: Crew,
    pub(super) line: L,
    pub(super) terms: Terms,
    pub(super) state: watch::Sender<State<L::Talk>>,
    /// Number of a connection on which a call has failed, and why.
    pub(super) suspects: mpsc::Sender<(u64, String)>,
    /// Names the session; empty: it cannot be gone on with.
    token: OnceLock<String>,
    /// The last message of the event stream that was handed over.
    taken: AtomicU64,
    /// The last message that the agent need not keep.
    confirmed: AtomicU64,
    left: Mutex<Left>,
    /// Another master began the session.
    inherited: AtomicBool,
    heard: Mutex<Instant>,
    /// The end of the agent is wanted.
    pub(super) ending: AtomicBool,
    /// The agent knows.
    pub(super) ended: AtomicBool,
    /// It is given up.
    abandoned: watch::Sender<bool>,
}

impl<L: Line> Shared<L> {
    pub(super) fn new(host: usize, crew: Crew, line: L, terms: Terms) -> (Arc<Self>, mpsc::Receiver<(u64, String)>) {
        const CALLS_AT_ONCE: usize = 8;
        let (suspects, suspected) = mpsc::channel(CALLS_AT_ONCE);
        let shared = Self {
            host,
            label: crew.label.clone(),
            crew,
            line,
            terms,
            state: watch::Sender::new(State::Unborn),
            suspects,
            token: OnceLock::new(),
            taken: AtomicU64::new(0),
            confirmed: AtomicU64::new(0),
            left: Mutex::default(),
            inherited: AtomicBool::new(false),
            heard: Mutex::new(Instant::now()),
            ending: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            abandoned: watch::Sender::new(false),
        };
        (Arc::new(shared), suspected)
    }

    /// The greeting, of a new session or of the one that there is.
    pub(super) fn greeting(&self) -> v1::HelloRequest {
        v1::HelloRequest {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            token: self.token.get().cloned().unwrap_or_default(),
            lease_ms: millis(self.terms.lease),
            client: client(),
            workers: self.crew.workers,
            label: self.label.clone(),
            cores: self.crew.cores.clone().unwrap_or_default(),
            tell_build: !self.crew.builds.is_empty(),
        }
    }

    pub(super) fn begin(&self, token: String) {
        let _ = self.token.set(token);
        self.hear();
    }

    pub(super) fn token(&self) -> &str {
        self.token.get().map_or("", String::as_str)
    }

    /// How long the agent goes on alone.
    pub(super) fn lease(&self) -> Duration {
        self.terms.lease
    }

    /// Whether a broken connection may be followed by another.
    pub(super) fn is_lasting(&self) -> bool {
        !self.token().is_empty() && self.lease() > Duration::ZERO
    }

    pub(super) fn taken(&self) -> u64 {
        self.taken.load(Relaxed)
    }

    /// A message of so many bytes was handed over.
    pub(super) fn take(&self, seq: u64, bytes: usize) {
        self.taken.store(seq, Relaxed);
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.messages.push_back((seq, bytes));
        left.bytes += bytes;
        while left.bytes > LEFT
            && let Some((seq, bytes)) = left.messages.pop_front()
        {
            left.bytes -= bytes;
            self.confirmed.store(seq, Relaxed);
        }
    }

    /// Nobody will ask for what was handed over so far.
    pub(super) fn confirm_all(&self) {
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) = Left::default();
        self.confirmed.store(self.taken(), Relaxed);
    }

    /// The last message that the agent need not keep.
    pub(super) fn confirmed(&self) -> u64 {
        self.confirmed.load(Relaxed)
    }

    /// Goes on with the session of another master.
    pub(super) fn inherit(&self, token: String) {
        self.inherited.store(true, Relaxed);
        self.begin(token);
    }

    /// Whether messages are missing before the first one that came: the last master had them.
    pub(super) fn had_before(&self) -> bool {
        self.inherited.load(Relaxed) && self.taken() == 0
    }

    /// Nothing is wanted of the agent any more.
    pub(super) fn abandon(&self) {
        self.ending.store(true, Relaxed);
        self.abandoned.send_replace(true);
    }

    /// Whether that was said.
    pub(super) fn is_abandoned(&self) -> bool {
        *self.abandoned.borrow()
    }

    /// Waits until it is.
    pub(super) async fn abandoned(&self) {
        // The sender is ours.
        let _ = self.abandoned.subscribe().wait_for(|abandoned| *abandoned).await;
    }

    /// Something came from the agent.
    pub(super) fn hear(&self) {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// When something came last.
    pub(super) fn heard(&self) -> Instant {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Who we are, for whoever comes second.
fn client() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let user = std::env::var("USER").unwrap_or_else(|_| format!("user {}", nix::unistd::getuid()));
    format!("{user} on {}, process {}", host.trim(), std::process::id())
}
