//! Who an agent serves: one client at a time, which may come again over another connection.
//!
//! Like the lease in it this is a state machine without a clock: times are durations since any instant that stays the
//! same, `wall` since the Unix epoch, for messages only.

use std::fmt;
use std::time::Duration;

use super::lease::{Lease, LeaseEvent, Over};

/// The longest lease until the client listens for the first time. It may have gone before it learned of its session; one
/// that is there listens as soon as it is greeted.
pub const SETTLING: Duration = Duration::from_secs(10);

/// What a client says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Greeting {
    /// The session it wants to go on with; empty: a new one.
    pub token: String,
    /// Its lease while nothing runs.
    pub lease: Duration,
    /// Who it is; empty when it does not say.
    pub client: String,
}

/// Why a session ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// The client said goodbye.
    Asked,
    /// The lease is over.
    Lease(Over),
    /// Somebody on the host ended the agent.
    Terminated,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Asked => write!(f, "its master has ended it"),
            Ended::Lease(Over::Disconnected) => write!(f, "its connection broke, and it had no lease"),
            Ended::Lease(Over::Silent { lease }) => {
                write!(f, "nothing came from its master for the lease of {} s", lease.as_secs_f64())
            }
            Ended::Terminated => write!(f, "the agent was told to end (SIGTERM)"),
        }
    }
}

/// Why a client is not served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Another one is.
    #[error("this agent serves another master: {client}, since {}; wait for its end, or end it there", ago(.since, .now))]
    Busy {
        /// Who.
        client: String,
        /// Since when, of the wall clock.
        since: Duration,
        /// The wall clock now.
        now: Duration,
    },
    /// It asks for a session that is not the one here.
    #[error("this agent has no such session: {0}")]
    NoSuchSession(String),
    /// The session has ended.
    #[error("the session has ended: {0}; all its work was stopped")]
    Ended(Ended),
    /// The connection was replaced by another one of the same client.
    #[error("this connection was replaced by a newer one")]
    Replaced,
}

/// Time of day of a wall clock.
pub fn clock(wall: Duration) -> String {
    let seconds = wall.as_secs() % 86_400;
    format!("{:02}:{:02}:{:02} UTC", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

fn ago(since: &Duration, now: &Duration) -> String {
    format!("{} ({} s ago)", clock(*since), now.saturating_sub(*since).as_secs())
}

/// The client that is served.
#[derive(Debug, Clone)]
struct Client {
    name: String,
    since: Duration,
    /// Its connection; `None` while it is away.
    connection: Option<u64>,
    /// The lease it wants while nothing runs.
    lease: Duration,
    /// Whether it has listened to events, so that it knows its token.
    settled: bool,
}

/// The session of an agent. Connections have numbers, each its own.
#[derive(Debug)]
pub struct Session {
    token: String,
    client: Option<Client>,
    lease: Lease,
    ended: Option<Ended>,
}

impl Session {
    /// A session that nobody has greeted. Whoever knows `token` may go on with it later.
    pub fn new(token: String) -> Self {
        Self { token, client: None, lease: Lease::default(), ended: None }
    }

    /// A client says hello. Gives the connection that it replaces, which is to be cut.
    ///
    /// # Errors
    /// It is not served. Nothing has changed then.
    pub fn hello(
        &mut self,
        at: Duration,
        wall: Duration,
        connection: u64,
        greeting: &Greeting,
    ) -> Result<Option<u64>, Refusal> {
        self.time(at);
        let known = !greeting.token.is_empty();
        if known && !same(&greeting.token, &self.token) {
            let reason = "it has ended, or it was another agent's".to_owned();
            return Err(Refusal::NoSuchSession(reason));
        }
        if let Some(ended) = &self.ended {
            return Err(Refusal::Ended(ended.clone()));
        }
        let before = match &self.client {
            Some(client) if !known && client.connection != Some(connection) => {
                return Err(Refusal::Busy { client: client.name.clone(), since: client.since, now: wall });
            }
            Some(client) => client.connection.filter(|before| *before != connection),
            None => None,
        };
        let client = self.client.get_or_insert_with(|| {
            let name = if greeting.client.is_empty() { "one that gave no name" } else { &greeting.client };
            Client { name: name.to_owned(), since: wall, connection: None, lease: Duration::ZERO, settled: false }
        });
        client.connection = Some(connection);
        client.lease = greeting.lease;
        let event = match client.settled {
            true => LeaseEvent::Again(greeting.lease),
            false => LeaseEvent::Hello(greeting.lease.min(SETTLING)),
        };
        self.lease.take(at, event);
        Ok(before)
    }

    /// A call other than a hello came over a connection.
    ///
    /// # Errors
    /// The connection is not that of the client.
    pub fn call(&mut self, at: Duration, wall: Duration, connection: u64) -> Result<(), Refusal> {
        self.time(at);
        if let Some(ended) = &self.ended {
            return Err(Refusal::Ended(ended.clone()));
        }
        match &self.client {
            Some(client) if client.connection != Some(connection) => {
                let replaced = client.connection.is_some_and(|present| present > connection);
                let busy = Refusal::Busy { client: client.name.clone(), since: client.since, now: wall };
                Err(if replaced { Refusal::Replaced } else { busy })
            }
            Some(_) => {
                self.lease.take(at, LeaseEvent::Called);
                Ok(())
            }
            // Whoever comes first need not say hello to be measured or to run a command.
            None => Ok(()),
        }
    }

    /// The client, which has called, listens to events: from now on it has its whole lease.
    pub fn settled(&mut self, at: Duration) {
        if let Some(client) = &mut self.client
            && !client.settled
        {
            client.settled = true;
            self.lease.take(at, LeaseEvent::Hello(client.lease));
        }
    }

    /// A run is prepared that has this lease.
    pub fn prepared(&mut self, at: Duration, lease: Duration) {
        self.lease.take(at, LeaseEvent::Prepared(lease));
    }

    /// A run is prepared that has this lease, and ends with the connection all the same.
    pub fn bound(&mut self, at: Duration, lease: Duration) {
        self.lease.take(at, LeaseEvent::Bound(lease));
    }

    /// All workers of the run have drained.
    pub fn run_over(&mut self, at: Duration) {
        self.lease.take(at, LeaseEvent::RunOver);
    }

    /// A connection has ended. `first`: the agent lives for it until somebody says hello.
    pub fn disconnected(&mut self, at: Duration, connection: u64, first: bool) {
        match &mut self.client {
            Some(client) if client.connection == Some(connection) => client.connection = None,
            None if first => {}
            _ => return,
        }
        self.take(at, LeaseEvent::Disconnected);
    }

    /// Time has passed: see [`Session::due`].
    pub fn time(&mut self, at: Duration) {
        self.take(at, LeaseEvent::Time);
    }

    fn take(&mut self, at: Duration, event: LeaseEvent) {
        if let Some(over) = self.lease.take(at, event) {
            self.end(Ended::Lease(over));
        }
    }

    /// Ends it, for a reason other than its lease. The first reason counts.
    pub fn end(&mut self, why: Ended) {
        self.ended.get_or_insert(why);
    }

    /// When [`Session::time`] is to be called next.
    pub fn due(&self) -> Option<Duration> {
        self.lease.due().filter(|_| self.ended.is_none())
    }

    /// Why it has ended, once it has.
    pub fn ended(&self) -> Option<&Ended> {
        self.ended.as_ref()
    }

    /// Whether a connection is that of the client.
    pub fn serves(&self, connection: u64) -> bool {
        self.client.as_ref().is_some_and(|client| client.connection == Some(connection))
    }

    /// Its token: secret.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Who is served, and since when, of the wall clock.
    pub fn client(&self) -> Option<(&str, Duration)> {
        self.client.as_ref().map(|client| (client.name.as_str(), client.since))
    }

    /// The lease that is in force.
    pub fn lease(&self) -> Duration {
        self.lease.in_force()
    }
}

/// Compares in a time that tells nothing of where they differ.
fn same(one: &str, other: &str) -> bool {
    one.len() == other.len() && one.bytes().zip(other.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const WALL: Duration = Duration::from_secs(1_800_000_000);

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn greeting(token: &str, client: &str) -> Greeting {
        Greeting { token: token.into(), lease: s(30), client: client.into() }
    }

    fn session() -> Session {
        let mut session = Session::new("secret".into());
        assert_eq!(session.hello(s(1), WALL, 0, &greeting("", "root@lab1, process 7")), Ok(None));
        session.settled(s(1));
        session
    }

    #[test]
    fn a_second_client_is_told_who_is_served_since_when() {
        let mut session = session();
        let refused = session.hello(s(6), WALL + s(5), 1, &greeting("", "b")).unwrap_err();
        let text = "this agent serves another master: root@lab1, process 7, since 08:00:00 UTC (5 s ago); wait for its end, or \
                    end it there";
        assert_eq!(refused.to_string(), text);
        assert!(matches!(session.call(s(6), WALL, 1), Err(Refusal::Busy { .. })));
        assert_eq!(session.call(s(6), WALL, 0), Ok(()));
        // Neither has renewed anything but the client's own call.
        assert_eq!(session.due(), Some(s(36)));
        session.disconnected(s(7), 1, false);
        assert!(session.serves(0));
        // A client that is away is served all the same.
        session.disconnected(s(7), 0, true);
        assert!(matches!(session.hello(s(8), WALL, 2, &greeting("", "b")), Err(Refusal::Busy { .. })));
    }

    #[test]
    fn a_client_that_goes_before_it_listens_leaves_no_lease() {
        let mut session = Session::new("secret".into());
        session.hello(s(1), WALL, 0, &greeting("", "a")).unwrap();
        let mut left = Session::new("secret".into());
        left.hello(s(1), WALL, 0, &greeting("", "a")).unwrap();
        left.disconnected(s(2), 0, true);
        assert_eq!(left.due(), Some(s(1) + SETTLING));
        left.time(s(1) + SETTLING);
        assert_eq!(left.ended(), Some(&Ended::Lease(Over::Silent { lease: SETTLING })));
        // One that listens has the whole, and keeps it when it comes again.
        session.settled(s(3));
        session.disconnected(s(4), 0, true);
        assert_eq!(session.due(), Some(s(33)));
        session.hello(s(20), WALL, 1, &greeting("secret", "a")).unwrap();
        session.disconnected(s(21), 1, false);
        assert_eq!(session.due(), Some(s(33)), "it has called nothing");
    }

    #[test]
    fn whoever_has_the_token_takes_over() {
        let mut session = session();
        assert_eq!(session.hello(s(3), WALL, 1, &greeting("secret", "a")), Ok(Some(0)), "the old one is to be cut");
        assert_eq!(session.call(s(4), WALL, 0), Err(Refusal::Replaced));
        // Its end is no loss.
        session.disconnected(s(5), 0, true);
        assert_eq!(session.call(s(5), WALL, 1), Ok(()));
        assert!(session.serves(1) && session.due() == Some(s(35)));
        session.disconnected(s(6), 1, false);
        assert_eq!(session.hello(s(20), WALL, 2, &greeting("secret", "a")), Ok(None));
        assert_eq!(session.hello(s(21), WALL, 2, &greeting("secret", "a")), Ok(None), "twice is once");
        let wrong = session.hello(s(22), WALL, 3, &greeting("guess", "a")).unwrap_err();
        assert_eq!(wrong.to_string(), "this agent has no such session: it has ended, or it was another agent's");
    }

    #[test]
    fn an_ended_session_says_why() {
        let mut session = session();
        session.disconnected(s(5), 0, true);
        session.time(s(30));
        assert_eq!(session.ended(), None);
        let late = session.hello(s(31), WALL, 1, &greeting("secret", "a")).unwrap_err();
        let text =
            "the session has ended: nothing came from its master for the lease of 30 s; all its work was stopped";
        assert_eq!(late.to_string(), text);
        assert_eq!(session.due(), None);
        session.end(Ended::Terminated);
        assert_eq!(session.ended(), Some(&Ended::Lease(Over::Silent { lease: s(30) })), "the first reason counts");
    }

    #[test]
    fn an_agent_that_nobody_greets_lives_for_its_first_connection() {
        let mut session = Session::new("secret".into());
        session.call(s(1), WALL, 0).unwrap();
        session.disconnected(s(2), 4, false);
        assert_eq!(session.ended(), None);
        session.disconnected(s(3), 0, true);
        assert_eq!(session.ended(), Some(&Ended::Lease(Over::Disconnected)));
    }
}
