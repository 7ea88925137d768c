//! Where clients are received: the session with its clock, its connections, its messages and its socket.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use brunt_proto::v1::worker_message::Event;
use tokio::io::AsyncRead;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};
use tonic::{Request, Status};

use super::connection::{Bytes, Caller, Connections};
use super::meeting::{self, Meeting};
use super::outbox::Outbox;
use super::session::{Ended, Greeting, Refusal, Session, clock};
use super::sign::Sign;
use super::stdio;

/// Number of the first connection: the standard streams of this process.
const FIRST: u64 = 0;

/// What the standard streams of this process are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streams {
    /// The connection of the client, standard error included.
    Client,
    /// Those of an agent that listens, which passes connections on over the socket.
    Listener,
}

/// Time a connection over the socket has until it is that of the client.
const HELLO_LIMIT: Duration = Duration::from_secs(30);

/// The desk. Calls refer to connections by what [`Connections`] puts into their requests.
pub struct Desk {
    session: Mutex<Session>,
    /// Times of the session are from here.
    epoch: Instant,
    /// Rung when the session has changed.
    changed: Notify,
    connections: Connections,
    outbox: Outbox,
    streams: Streams,
    /// Whether the session can be joined over a socket; asked once.
    socket: tokio::sync::OnceCell<bool>,
    meeting: Mutex<Option<Arc<Meeting>>>,
    /// Whether all work has ended.
    over: watch::Sender<bool>,
}

impl Desk {
    /// A desk for a session without a client.
    pub fn new(token: String, connections: Connections, outbox: Outbox, streams: Streams) -> Self {
        Self {
            session: Mutex::new(Session::new(token)),
            epoch: Instant::now(),
            changed: Notify::new(),
            connections,
            outbox,
            streams,
            socket: tokio::sync::OnceCell::new(),
            meeting: Mutex::new(None),
            over: watch::Sender::new(false),
        }
    }

    /// A stream has come.
    pub fn receive(&self, stream: impl Bytes + 'static) -> u64 {
        self.connections.add(stream)
    }

    /// A client says hello. The connection that it had before is cut.
    ///
    /// # Errors
    /// It is not served.
    pub fn hello(&self, caller: Caller, greeting: &Greeting) -> Result<(), Status> {
        let before = self.with(|session, at| session.hello(at, wall(), caller.0, greeting));
        match before {
            Ok(None) => Ok(()),
            Ok(Some(before)) => {
                self.connections.cut(before);
                Ok(())
            }
            Err(Refusal::NoSuchSession(reason)) => {
                let reason = meeting::why_ended(&greeting.token).map_or(reason, |why| format!("it has ended: {why}"));
                Err(refused(&Refusal::NoSuchSession(reason)))
            }
            Err(refusal) => Err(refused(&refusal)),
        }
    }

    /// A call came: it renews the lease.
    ///
    /// # Errors
    /// It does not come from the client.
    pub fn call<T>(&self, request: &Request<T>) -> Result<Caller, Status> {
        let caller = caller(request);
        match self.with(|session, at| session.call(at, wall(), caller.0)) {
            Ok(()) => Ok(caller),
            Err(refusal) => Err(refused(&refusal)),
        }
    }

    /// The client listens to events.
    pub fn settled(&self) {
        self.with(|session, at| session.settled(at));
    }

    /// A run is prepared that has this lease.
    pub fn prepared(&self, lease: Duration) {
        self.with(|session, at| session.prepared(at, lease));
    }

    /// A run is prepared that has this lease, and ends with the connection all the same.
    pub fn bound(&self, lease: Duration) {
        self.with(|session, at| session.bound(at, lease));
    }

    /// All workers of a run have drained.
    pub fn run_over(&self) {
        self.with(|session, at| session.run_over(at));
    }

    /// The session ends. Returns when all work has.
    pub async fn end(&self, why: Ended) {
        self.with(|session, _| session.end(why));
        // The sender is ours.
        let _ = self.over.subscribe().wait_for(|over| *over).await;
    }

    /// Whether the client said goodbye before.
    pub fn asked_to_end(&self) -> bool {
        self.session().ended() == Some(&Ended::Asked)
    }

    /// The token of the session: secret.
    pub fn token(&self) -> String {
        self.session().token().to_owned()
    }

    /// A sign of life for whoever started this agent.
    pub fn sign(&self) -> Sign {
        let session = self.session();
        let client = session.client().map(|(name, since)| (name.to_owned(), since));
        let name = meeting::name_of(session.token()).unwrap_or_default().to_owned();
        Sign { lease: session.lease(), session: name, client }
    }

    /// Makes the session outlive its connection: messages are kept, and a socket waits for the next connection. Gives
    /// the lease that is possible: without a socket there is none, which is told once.
    pub async fn outlive(self: &Arc<Self>, lease: Duration) -> Duration {
        if lease.is_zero() {
            return lease;
        }
        let open = || async {
            // One behind an agent that listens has its socket from the beginning.
            let there = self.meeting().is_some();
            let opened = match there {
                true => Ok(()),
                false => Meeting::open(&self.token()).await.map(|meeting| self.meet(meeting)),
            };
            match &opened {
                Ok(()) => self.outbox.keep(),
                Err(reason) => self.outbox.push(0, Event::Warning(unreachable(reason))),
            }
            opened.is_ok()
        };
        if *self.socket.get_or_init(open).await { lease } else { Duration::ZERO }
    }

    /// Opens a socket at a chosen path, for all connections. As long as nobody has said hello the agent lives for
    /// `listener`.
    ///
    /// # Errors
    /// Those of the system.
    pub fn listen_at(
        self: &Arc<Self>,
        socket: PathBuf,
        listener: impl AsyncRead + Send + Unpin + 'static,
    ) -> std::io::Result<()> {
        self.connections.watch(listener);
        self.meet(Meeting::open_at(socket, &self.token())?);
        Ok(())
    }

    fn meet(self: &Arc<Self>, meeting: Meeting) {
        let meeting = Arc::new(meeting);
        *self.meeting() = Some(Arc::clone(&meeting));
        let desk = Arc::clone(self);
        tokio::spawn(async move {
            let mut over = desk.over.subscribe();
            loop {
                let accepted = tokio::select! {
                    accepted = meeting.listener.accept() => accepted,
                    _ = over.wait_for(|over| *over) => return,
                };
                match accepted {
                    Ok((stream, _)) => desk.admit(stream),
                    Err(error) => {
                        tracing::warn!(%error, "a connection over the socket failed");
                        // No descriptor is free: there may be one later.
                        sleep(Duration::from_secs(1)).await;
                    }
                }
            }
        });
    }

    /// Takes a connection, and cuts it when it does not become the client's.
    fn admit(self: &Arc<Self>, stream: impl Bytes + 'static) {
        let number = self.receive(stream);
        let desk = Arc::clone(self);
        tokio::spawn(async move {
            sleep(HELLO_LIMIT).await;
            if !desk.session().serves(number) {
                desk.connections.cut(number);
            }
        });
    }

    /// Keeps the session until it ends, and says why it did.
    ///
    /// # Errors
    /// Signals cannot be received.
    pub async fn keep(&self, mut ended: mpsc::UnboundedReceiver<u64>) -> std::io::Result<Ended> {
        let mut told_to_end = signal(SignalKind::terminate())?;
        loop {
            let (due, over) = {
                let session = self.session();
                (session.due(), session.ended().cloned())
            };
            if let Some(ended) = over {
                return Ok(ended);
            }
            let due = async {
                match due.and_then(|due| self.epoch.checked_add(due)) {
                    Some(due) => sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            // In this order, so that a simulation goes the same way every time.
            tokio::select! {
                biased;
                () = due => self.with(|session, at| session.time(at)),
                () = self.changed.notified() => {}
                // The sender is ours.
                Some(number) = ended.recv() => self.disconnected(number),
                _ = told_to_end.recv() => self.with(|session, _| session.end(Ended::Terminated)),
            }
        }
    }

    fn disconnected(&self, number: u64) {
        self.connections.forget(number);
        self.with(|session, at| session.disconnected(at, number, number == FIRST));
        if number == FIRST
            && self.streams == Streams::Client
            && self.session().ended().is_none()
            && let Err(error) = stdio::errors_to(self.outbox.clone())
        {
            self.outbox.push(0, Event::Warning(format!("standard error of the agent is lost: {error}")));
        }
    }

    /// All work has ended: the stream ends, the socket goes, and whoever waits for the end is told. `at_once`: nothing
    /// is left to be said to the client.
    pub fn close(&self, why: &Ended, at_once: bool) {
        if let Some(meeting) = self.meeting().take() {
            meeting.bury(&format!("{why}, at {}", clock(wall())));
            meeting.remove();
        }
        // The server ends when its last stream has; this is that stream.
        self.outbox.close();
        self.over.send_replace(true);
        if at_once {
            self.connections.cut_all();
        }
    }

    /// Ends all connections, whatever is on its way.
    pub fn cut_all(&self) {
        self.connections.cut_all();
    }

    /// Returns when all work has ended.
    pub async fn wait_for_end(&self) {
        // The sender is ours.
        let _ = self.over.subscribe().wait_for(|over| *over).await;
    }

    fn with<R>(&self, change: impl FnOnce(&mut Session, Duration) -> R) -> R {
        let at = self.epoch.elapsed();
        let result = change(&mut self.session(), at);
        self.changed.notify_one();
        result
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn meeting(&self) -> MutexGuard<'_, Option<Arc<Meeting>>> {
        self.meeting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which connection a request came over.
pub fn caller<T>(request: &Request<T>) -> Caller {
    request.extensions().get().copied().unwrap_or(Caller(FIRST))
}

fn refused(refusal: &Refusal) -> Status {
    Status::failed_precondition(refusal.to_string())
}

fn unreachable(reason: &str) -> String {
    format!(
        "there is no lease here: a run stops as soon as its connection breaks, since no socket can be opened: {reason}"
    )
}

/// The wall clock, for messages.
fn wall() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
impl Desk {
    /// The lease that is in force.
    pub fn lease(&self) -> Duration {
        self.session().lease()
    }

    /// Every connection comes by [`Desk::receive`], and no socket is needed to come back.
    pub fn without_socket(mut self) -> Self {
        self.socket = tokio::sync::OnceCell::new_with(Some(true));
        self.outbox.keep();
        self
    }
}
