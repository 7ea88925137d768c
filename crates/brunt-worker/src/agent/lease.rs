//! How long a session goes on when its client is silent: a state machine without a clock. Times are given to it, as
//! durations since any instant that stays the same.
//!
//! Every call renews the lease, but for the hello of a client that comes again. With a lease of 0 a session ends with its connection, and only then: silence on a
//! connection that lives is the business of its keepalive. With any other lease the session ends when nothing has come
//! for so long, whether the connection seems to live or not: a broken network looks like a silent client.
//!
//! A worker process is bound to the connection of its agent, whatever the lease: silence ends it, and so does the end of
//! that connection.

use std::time::Duration;

/// Something that matters to the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseEvent {
    /// The client said hello for the first time. Carries the lease while nothing runs.
    Hello(Duration),
    /// The client came again over another connection. That renews nothing: it does not know of it yet, and would take us
    /// for lost too early if its answer were lost. Carries the lease while nothing runs.
    Again(Duration),
    /// The client called.
    Called,
    /// A run is prepared. Carries its lease.
    Prepared(Duration),
    /// A run is prepared in a process that has but one connection, and ends with it. Carries its lease.
    Bound(Duration),
    /// The run is over: all its workers have drained.
    RunOver,
    /// The connection of the client has ended.
    Disconnected,
    /// Nothing but time has passed.
    Time,
}

/// Why the lease is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// The connection ended and there is no lease.
    Disconnected,
    /// Nothing came for the lease.
    Silent {
        /// The lease.
        lease: Duration,
    },
}

/// Who is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    /// No client has said hello.
    Nobody,
    /// A client is connected.
    Client,
    /// The client's connection has ended; the lease that was in force then stays in force.
    Away { lease: Duration },
    /// It is over.
    Over(Over),
}

/// The lease of one session.
#[derive(Debug, Clone)]
pub struct Lease {
    presence: Presence,
    /// While nothing runs.
    quiet: Duration,
    /// While a run goes on.
    run: Option<Duration>,
    /// Whether the session ends with its connection, whatever the lease.
    bound: bool,
    /// When the client was last heard.
    heard: Duration,
}

impl Default for Lease {
    fn default() -> Self {
        Self { presence: Presence::Nobody, quiet: Duration::ZERO, run: None, bound: false, heard: Duration::ZERO }
    }
}

impl Lease {
    /// Takes an event that happened at `at`. Gives the reason when the session is over: once it is, it stays so, and
    /// only the event that ended it gives the reason.
    pub fn take(&mut self, at: Duration, event: LeaseEvent) -> Option<Over> {
        if matches!(self.presence, Presence::Over(_)) {
            return None;
        }
        // What comes too late does not renew.
        if let Some(over) = self.expired(at) {
            return self.end(over);
        }
        match event {
            LeaseEvent::Hello(quiet) => {
                self.presence = Presence::Client;
                self.quiet = quiet;
                self.heard = at;
            }
            LeaseEvent::Again(quiet) => (self.presence, self.quiet) = (Presence::Client, quiet),
            LeaseEvent::Called => self.heard = at,
            LeaseEvent::Prepared(lease) => (self.run, self.bound) = (Some(lease), false),
            LeaseEvent::Bound(lease) => (self.run, self.bound) = (Some(lease), true),
            LeaseEvent::RunOver => self.run = None,
            LeaseEvent::Disconnected => return self.disconnected(),
            LeaseEvent::Time => {}
        }
        None
    }

    fn disconnected(&mut self) -> Option<Over> {
        match self.presence {
            Presence::Client if !self.bound && self.in_force() > Duration::ZERO => {
                // A run that ends meanwhile does not shorten it: its results are to be fetched.
                self.presence = Presence::Away { lease: self.in_force() };
                None
            }
            Presence::Client | Presence::Nobody => self.end(Over::Disconnected),
            Presence::Away { .. } | Presence::Over(_) => None,
        }
    }

    fn end(&mut self, over: Over) -> Option<Over> {
        self.presence = Presence::Over(over);
        Some(over)
    }

    /// The lease that counts now.
    pub fn in_force(&self) -> Duration {
        match self.presence {
            Presence::Away { lease } => lease,
            _ => self.run.unwrap_or(self.quiet),
        }
    }

    /// When the session is over if nothing comes: [`LeaseEvent::Time`] is due then. `None`: never.
    pub fn due(&self) -> Option<Duration> {
        match self.presence {
            Presence::Client | Presence::Away { .. } if self.in_force() > Duration::ZERO => {
                self.heard.checked_add(self.in_force())
            }
            _ => None,
        }
    }

    fn expired(&self, at: Duration) -> Option<Over> {
        (self.due()? <= at).then(|| Over::Silent { lease: self.in_force() })
    }

    /// Whether the client's connection has ended and the session goes on.
    pub fn is_away(&self) -> bool {
        matches!(self.presence, Presence::Away { .. })
    }

    /// Why it is over, when it is.
    pub fn over(&self) -> Option<Over> {
        match self.presence {
            Presence::Over(over) => Some(over),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn greeted(quiet: u64) -> Lease {
        let mut lease = Lease::default();
        assert_eq!(lease.take(s(1), LeaseEvent::Hello(s(quiet))), None);
        lease
    }

    #[test]
    fn without_a_lease_a_session_ends_with_its_connection_and_only_then() {
        let mut lease = greeted(0);
        assert_eq!(lease.due(), None);
        assert_eq!(lease.take(s(10_000), LeaseEvent::Time), None);
        assert_eq!(lease.take(s(10_001), LeaseEvent::Disconnected), Some(Over::Disconnected));
        assert_eq!(lease.take(s(10_002), LeaseEvent::Disconnected), None, "told once");
        assert_eq!(lease.over(), Some(Over::Disconnected));
    }

    #[test]
    fn a_connection_without_a_hello_is_all_there_is() {
        let mut lease = Lease::default();
        assert_eq!(lease.take(s(5), LeaseEvent::Called), None);
        assert_eq!(lease.take(s(6), LeaseEvent::Disconnected), Some(Over::Disconnected));
    }

    #[test]
    fn every_call_renews() {
        let mut lease = greeted(30);
        for at in (20..2000).step_by(20) {
            assert_eq!(lease.take(s(at), LeaseEvent::Called), None, "{at}");
        }
        assert_eq!(lease.due(), Some(s(1980 + 30)));
        assert_eq!(lease.take(s(2009), LeaseEvent::Time), None);
        assert_eq!(lease.take(s(2010), LeaseEvent::Time), Some(Over::Silent { lease: s(30) }));
    }

    #[test]
    fn the_end_of_a_connection_is_no_call() {
        let mut lease = greeted(30);
        assert_eq!(lease.take(s(20), LeaseEvent::Disconnected), None);
        assert!(lease.is_away());
        assert_eq!(lease.due(), Some(s(31)));
        let mut again = lease.clone();
        assert_eq!(lease.take(s(31), LeaseEvent::Again(s(30))), Some(Over::Silent { lease: s(30) }), "too late");
        assert_eq!(again.take(s(30), LeaseEvent::Again(s(30))), None);
        assert_eq!((again.is_away(), again.due()), (false, Some(s(31))), "what follows it renews");
    }

    #[test]
    fn a_run_has_its_own_lease() {
        let mut lease = greeted(120);
        lease.take(s(2), LeaseEvent::Prepared(s(30)));
        assert_eq!(lease.due(), Some(s(31)));
        lease.take(s(3), LeaseEvent::RunOver);
        assert_eq!(lease.due(), Some(s(121)));
        // A run that shall stop at once.
        lease.take(s(4), LeaseEvent::Prepared(s(0)));
        assert_eq!(lease.take(s(5), LeaseEvent::Disconnected), Some(Over::Disconnected));
    }

    #[test]
    fn a_bound_run_ends_by_silence_and_with_its_connection() {
        let mut lease = greeted(0);
        lease.take(s(2), LeaseEvent::Bound(s(6)));
        let mut silent = lease.clone();
        assert_eq!(silent.take(s(7), LeaseEvent::Time), Some(Over::Silent { lease: s(6) }));
        lease.take(s(5), LeaseEvent::Called);
        assert_eq!(lease.due(), Some(s(11)));
        assert_eq!(lease.take(s(6), LeaseEvent::Disconnected), Some(Over::Disconnected));
    }

    #[test]
    fn a_run_that_ends_while_nobody_is_there_leaves_its_results_for_the_lease() {
        let mut lease = greeted(0);
        lease.take(s(2), LeaseEvent::Prepared(s(60)));
        lease.take(s(3), LeaseEvent::Called);
        assert_eq!(lease.take(s(4), LeaseEvent::Disconnected), None);
        assert_eq!(lease.take(s(5), LeaseEvent::RunOver), None);
        assert_eq!(lease.due(), Some(s(63)));
        assert_eq!(lease.take(s(40), LeaseEvent::Again(s(0))), None);
        assert_eq!((lease.due(), lease.in_force()), (None, s(0)));
    }
}
