//! A session with an agent that outlives its connections.
//!
//! [`Link`] makes the calls of [`HostLink`](crate::link::HostLink) on the connection that there is. A task of its own, the keeper, reads the
//! event stream, shows the agent once a second that somebody is there, and when the connection breaks dials again
//! until the agent's lease is over: it says hello with the session's token, asks for the events behind the last one
//! that it has, and calls that were under way are made again. Events come once and in order whatever happens.

mod calls;
mod clocks;
mod keeper;
mod reattach;
mod rejoin;
mod shared;
pub mod talk;

use std::future::Future;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use brunt_plan::plan::Plan;
use brunt_proto::bound::{Bound, Bounded};
use brunt_proto::{CallError, PROTOCOL, v1};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::dial::{DialError, Purpose};
use crate::link::{HostHello, LinkError, LinkEvent};
use clocks::Clocks;
use keeper::Keeper;
pub use rejoin::{Keepsake, Kept};
use shared::{Shared, State};
use talk::{Line, Talk};

/// Time for the answer to the first greeting, once there is a connection.
const HELLO_LIMIT: Duration = Duration::from_secs(60);
/// Time for the answer to a ping that shows whether a connection works.
const PROBE_LIMIT: Duration = Duration::from_secs(3);
/// Time in which it shows whether a process has ended with its stream.
const REST_LIMIT: Duration = Duration::from_secs(3);
/// Time for an answer that was on its way when the connection was given up.
const LAST_WORD: Duration = Duration::from_secs(1);
/// First connections that fail fast are tried again so often where nothing else is asked for.
const RETRIES: u32 = 2;
/// A failure that took longer is not tried again unless that is asked for.
const FAST: Duration = Duration::from_secs(5);
/// Pause before the first further try, doubled for each one.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// How long an agent goes on alone, and how often it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// How long it goes on alone, from its greeting to its farewell. Zero: a broken connection ends everything there at
    /// once.
    pub lease: Duration,
    /// How often a first connection is tried again; `None`: twice, if it fails at once.
    pub retry: Option<u32>,
}

impl Terms {
    /// Everything ends with the connection.
    pub const NONE: Self = Self { lease: Duration::ZERO, retry: Some(0) };

    /// Those of each host, as a plan has them.
    pub fn of(plan: &Plan) -> Vec<Self> {
        let retry = plan.settings.fleet.retry;
        plan.leases().into_iter().map(|lease| Self { lease, retry }).collect()
    }
}

/// What is wanted on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crew {
    /// Label of the host.
    pub label: String,
    /// Number of workers.
    pub workers: u32,
    /// The list of cores where they shall stay ([`crate::launch::cores`]).
    pub cores: Option<String>,
    /// SHA-256 of each program that its agent may be without a word; empty: it is not asked.
    pub builds: Vec<String>,
}

/// A [`HostLink`](crate::link::HostLink) over connections that may break. Dropped, it gives the agent up.
pub struct Link<L: Line> {
    shared: Arc<Shared<L>>,
    /// A connection to an agent that was begun and not yet greeted.
    begun: tokio::sync::Mutex<Option<L::Talk>>,
    /// What the keeper gets.
    provision: Mutex<Option<Provision>>,
    keeper: Mutex<Option<JoinHandle<()>>>,
    /// Hooks so far.
    hooks: AtomicU64,
    /// The run that was prepared last.
    run: AtomicU32,
    /// As measured before a start.
    clocks: Mutex<Clocks>,
    keepsake: Keepsake,
}

/// What the keeper gets.
struct Provision {
    events: mpsc::Sender<(usize, LinkEvent)>,
    suspected: mpsc::Receiver<(u64, String)>,
    log: JoinHandle<()>,
}

impl<L: Line> std::fmt::Debug for Link<L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link")
            .field("host", &self.shared.host)
            .field("label", &self.shared.label)
            .finish_non_exhaustive()
    }
}

impl<L: Line> Link<L> {
    /// A link to host number `host`. Nothing is dialed before the greeting. What comes from `lines` is the agent's
    /// log.
    pub fn new(
        host: usize,
        crew: Crew,
        line: L,
        terms: Terms,
        lines: mpsc::Receiver<String>,
        events: mpsc::Sender<(usize, LinkEvent)>,
    ) -> Self {
        let (shared, suspected) = Shared::new(host, crew, line, terms);
        let to = events.clone();
        let log = tokio::spawn(async move {
            let mut lines = Bounded::new(lines, Bound::default());
            while let Some(line) = lines.recv().await {
                // Without a receiver the master is at its end; the agent must not wait all the same.
                let _ = to.send((host, LinkEvent::Stderr { worker: 0, line })).await;
            }
        });
        Self {
            shared,
            begun: tokio::sync::Mutex::new(None),
            provision: Mutex::new(Some(Provision { events, suspected, log })),
            keeper: Mutex::new(None),
            hooks: AtomicU64::new(0),
            run: AtomicU32::new(0),
            clocks: Mutex::default(),
            keepsake: Keepsake::default(),
        }
    }

    /// Starts the agent, unless that was done. The greeting does so by itself.
    ///
    /// # Errors
    /// There is no connection.
    pub async fn begin(&self) -> Result<(), DialError> {
        let mut begun = self.begun.lock().await;
        if begun.is_none() {
            *begun = Some(self.dial_first().await?);
        }
        Ok(())
    }

    async fn dial_first(&self) -> Result<L::Talk, DialError> {
        let mut pause = RETRY_PAUSE;
        for tries in 1.. {
            let from = Instant::now();
            let error = match self.shared.line.open(Purpose::Begin).await {
                Err(DialError::NotNow(text)) => text,
                done => return done,
            };
            let more = match self.shared.terms.retry {
                Some(retry) => tries <= retry,
                None => tries <= RETRIES && from.elapsed() < FAST,
            };
            if !more {
                return Err(DialError::NotNow(error));
            }
            sleep(pause).await;
            pause *= 2;
        }
        // The loop has no end but its returns.
        Err(DialError::Never("it was not tried".to_owned()))
    }

    /// Greets the agent and starts the keeper.
    async fn greet(&self) -> Result<HostHello, LinkError> {
        if self.is_born() {
            return Err(self.greeted_before());
        }
        let cannot = |error: DialError| LinkError::Refused(format!("the agent cannot be started: {error}"));
        self.begin().await.map_err(cannot)?;
        let Some(talk) = self.begun.lock().await.take() else {
            return Err(LinkError::Broken("it is being greeted already".to_owned()));
        };
        let reply = match timeout(HELLO_LIMIT, talk.hello(self.shared.greeting())).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(CallError::Refused(reason))) => return Err(LinkError::Refused(reason)),
            Ok(Err(CallError::Broken(why))) => return Err(self.unanswered(&talk, &why).await),
            Err(_) => return Err(LinkError::Broken(format!("nothing came within {} seconds", HELLO_LIMIT.as_secs()))),
        };
        if let Err(other) = self.check(&reply) {
            // It has greeted us, and would wait for its whole lease.
            let _ = timeout(REST_LIMIT, talk.shutdown(v1::ShutdownRequest {})).await;
            return Err(other);
        }
        self.keepsake.token(&reply.token);
        self.shared.begin(reply.token.clone());
        let reports = match talk.events(v1::EventsRequest { after: 0 }).await {
            Ok(reports) => reports,
            Err(CallError::Refused(reason)) => return Err(LinkError::Refused(reason)),
            Err(CallError::Broken(why)) => return Err(self.unanswered(&talk, &why).await),
        };
        let provision = self.provision.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Provision { events, suspected, log }) = provision else {
            return Err(self.greeted_before());
        };
        let talk = Arc::new(talk);
        self.shared.state.send_replace(State::Open { number: 1, talk: Arc::clone(&talk) });
        let keeper = Keeper::new(Arc::clone(&self.shared), events, suspected, log);
        let keeper = tokio::spawn(keeper.run(talk, reports));
        *self.keeper.lock().unwrap_or_else(PoisonError::into_inner) = Some(keeper);
        let v1::HelloReply { version, host_name, worker_pids, build, .. } = reply;
        let other_build = (!build.is_empty() && !self.shared.crew.builds.contains(&build)).then_some(build);
        Ok(HostHello { version, host_name, worker_pids, other_build })
    }

    /// Refuses another version: what a share means is not said by the protocol alone.
    fn check(&self, reply: &v1::HelloReply) -> Result<(), LinkError> {
        let version = env!("CARGO_PKG_VERSION");
        if reply.protocol == PROTOCOL && reply.version == version {
            return Ok(());
        }
        Err(LinkError::Refused(format!(
            "master and agent do not match: this is brunt {version} with protocol {PROTOCOL}, host {} ({}) has brunt {} \
             with protocol {}; install the same version on both",
            self.shared.label, reply.host_name, reply.version, reply.protocol
        )))
    }

    /// Why a greeting got no answer, as far as it shows.
    async fn unanswered(&self, talk: &L::Talk, why: &str) -> LinkError {
        if let Ok(Some(how)) = timeout(REST_LIMIT, self.shared.line.agent_ended()).await {
            return LinkError::Broken(format!("the agent of host {} has ended ({how})", self.shared.label));
        }
        match timeout(REST_LIMIT, talk.ended()).await {
            Ok(Some(how)) => LinkError::Broken(format!("{why}; {} has ended ({how})", self.shared.line.name())),
            Ok(None) | Err(_) => LinkError::Broken(why.to_owned()),
        }
    }

    fn greeted_before(&self) -> LinkError {
        LinkError::Refused(format!("the agent of host {} has been greeted before", self.shared.label))
    }

    /// Makes a call, again and again until there is an answer or the agent is lost.
    async fn call<T, F, C>(&self, make: F) -> Result<T, LinkError>
    where
        T: Send,
        F: Fn(Arc<L::Talk>) -> C + Send + Sync,
        C: Future<Output = Result<T, CallError>> + Send,
    {
        let mut state = self.shared.state.subscribe();
        loop {
            let (number, talk) = self.connection(&mut state).await?;
            let answer = {
                let answer = make(Arc::clone(&talk));
                tokio::pin!(answer);
                tokio::select! {
                    biased;
                    answer = &mut answer => answer,
                    // An agent that is told to end ends its event stream first, and answers then.
                    () = other_than(&mut state, number) => match timeout(LAST_WORD, answer).await {
                        Ok(Err(CallError::Broken(_))) | Err(_) => continue,
                        Ok(answer) => answer,
                    },
                }
            };
            let why = match answer {
                Ok(reply) => return Ok(reply),
                Err(CallError::Refused(reason)) => return Err(LinkError::Refused(reason)),
                Err(CallError::Broken(why)) => why,
            };
            // Where the connection works it is the call that does not, and it never would.
            if let Ok(Ok(_)) = timeout(PROBE_LIMIT, talk.ping(v1::PingRequest { taken: self.shared.confirmed() })).await
            {
                return Err(LinkError::Broken(why));
            }
            drop(talk);
            // When that is full the keeper knows by now.
            let _ = self.shared.suspects.try_send((number, why));
            other_than(&mut state, number).await;
        }
    }

    /// The connection, as soon as there is one.
    async fn connection(&self, state: &mut watch::Receiver<State<L::Talk>>) -> Result<(u64, Arc<L::Talk>), LinkError> {
        loop {
            match &*state.borrow_and_update() {
                State::Open { number, talk } => return Ok((*number, Arc::clone(talk))),
                State::Gone(why) => return Err(LinkError::Broken(why.clone())),
                State::Unborn => return Err(LinkError::Refused("the agent has not been greeted".to_owned())),
                State::Away => {}
            }
            // The sender lives as long as this.
            let _ = state.changed().await;
        }
    }

    /// Whether the agent was ever greeted.
    fn is_born(&self) -> bool {
        !matches!(*self.shared.state.borrow(), State::Unborn)
    }

    fn next_hook(&self) -> u64 {
        self.hooks.fetch_add(1, Relaxed) + 1
    }
}

/// Waits until that connection is not the one in use.
async fn other_than<T>(state: &mut watch::Receiver<State<T>>, number: u64) {
    let is_other = |state: &State<T>| !matches!(state, State::Open { number: open, .. } if *open == number);
    let _ = state.wait_for(is_other).await;
}

impl<L: Line> Drop for Link<L> {
    fn drop(&mut self) {
        if let Some(keeper) = self.keeper.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            keeper.abort();
        }
        self.shared.line.abandon();
    }
}

#[cfg(test)]
mod tests;
