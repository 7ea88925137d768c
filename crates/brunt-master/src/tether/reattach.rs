//! The way back to an agent that goes on alone.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use brunt_proto::{CallError, PROTOCOL, v1};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::keeper::{Keeper, Next, ReportsOf, words};
use super::shared::State;
use super::talk::{Line, Talk};
use crate::dial::{DialError, Purpose};
use crate::link::LinkEvent;

/// A connection that is there again within this time was hardly away.
const TELL_AFTER: Duration = Duration::from_secs(1);
/// Time for a connection.
const DIAL_LIMIT: Duration = Duration::from_secs(20);
/// Time for the answer to its greeting: an agent that hangs gives none.
const HELLO_LIMIT: Duration = Duration::from_secs(5);
/// Pause behind the first try that failed, doubled for each one.
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// The longest pause.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(5);

impl<L: Line> Keeper<L> {
    /// Dials until the agent is there again or its lease is over. That is counted from the end of the connection: the agent
    /// may have heard everything that was said on it until then. A greeting alone does not renew the lease.
    pub(super) async fn reattach(&mut self, why: String) -> Next<L> {
        let lease = self.shared.lease();
        let heard = self.shared.heard();
        let (mut until, tell_at) = (Instant::now() + lease, Instant::now() + TELL_AFTER);
        let (mut told, mut last, mut pause) = (false, None, FIRST_PAUSE);
        while Instant::now() < until {
            let heard_before = self.shared.heard();
            let done = {
                let attempt = timeout(until - Instant::now(), self.attempt());
                tokio::pin!(attempt);
                let soon = tokio::select! {
                    biased;
                    done = &mut attempt => Some(done),
                    () = sleep_until(tell_at), if !told => None,
                };
                match soon {
                    Some(done) => done,
                    None => {
                        told = true;
                        self.tell(LinkEvent::Away { why: why.clone(), lease }).await;
                        attempt.await
                    }
                }
            };
            let failed = match done {
                Ok(Ok((talk, reports))) => {
                    if !told {
                        self.tell(LinkEvent::Away { why, lease }).await;
                    }
                    return self.back(talk, reports, heard).await;
                }
                Ok(Err(DialError::Never(text))) => {
                    let text = self.after(&why, &text);
                    return Next::Gone(format!("{why}, and its session cannot be gone on with: {text}"));
                }
                Ok(Err(DialError::NotNow(text))) => Some(text),
                Err(_) => None,
            };
            if self.shared.heard() > heard_before {
                // It was greeted, and may have heard what came behind that.
                until = Instant::now() + lease;
            }
            last = failed.or(last);
            if !told {
                told = true;
                self.tell(LinkEvent::Away { why: why.clone(), lease }).await;
            }
            sleep(pause.min(until.saturating_duration_since(Instant::now()))).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        let last = last.map(|text| format!("; the last try to reach it: {}", self.after(&why, &text)));
        let last = last.unwrap_or_default();
        Next::Gone(format!("{why} and was away longer than its lease of {} seconds{last}", lease.as_secs_f64()))
    }

    /// What a dial said, without the name of the way where that stands in the message already.
    fn after(&self, why: &str, text: &str) -> String {
        let name = self.shared.line.name();
        let rest = text.strip_prefix(&name).and_then(|rest| rest.strip_prefix(": "));
        rest.filter(|_| why.contains(&name)).unwrap_or(text).to_owned()
    }

    async fn back(&mut self, talk: L::Talk, reports: ReportsOf<L>, heard: Instant) -> Next<L> {
        self.number += 1;
        self.shared.hear();
        let talk = Arc::new(talk);
        self.tell(LinkEvent::Back { away: heard.elapsed() }).await;
        self.shared.state.send_replace(State::Open { number: self.number, talk: Arc::clone(&talk) });
        Next::Back(talk, reports)
    }

    /// An agent that is told to end is no longer spoken of.
    async fn tell(&self, event: LinkEvent) {
        if !self.shared.ending.load(Relaxed) {
            // Without a receiver the next event ends the link.
            let _ = self.events.send((self.shared.host, event)).await;
        }
    }

    /// One try.
    pub(super) async fn attempt(&self) -> Result<(L::Talk, ReportsOf<L>), DialError> {
        let shared = &self.shared;
        let not_now = |text: &str| DialError::NotNow(format!("{}: {text}", shared.line.name()));
        let dialing = shared.line.open(Purpose::Attach { token: shared.token().to_owned() });
        let talk = match timeout(DIAL_LIMIT, dialing).await {
            Ok(opened) => opened?,
            Err(_) => return Err(not_now(&format!("no connection within {} seconds", DIAL_LIMIT.as_secs()))),
        };
        let reply = match timeout(HELLO_LIMIT, talk.hello(shared.greeting())).await {
            Ok(Ok(reply)) => reply,
            // The agent says itself that the session is over.
            Ok(Err(CallError::Refused(reason))) => return Err(DialError::Never(reason)),
            Ok(Err(CallError::Broken(why))) => return Err(not_now(&why)),
            Err(_) => return Err(not_now("the agent does not answer")),
        };
        if reply.protocol != PROTOCOL || reply.token != shared.token() {
            return Err(DialError::Never("another agent has answered".to_owned()));
        }
        shared.hear();
        match timeout(HELLO_LIMIT, talk.events(v1::EventsRequest { after: shared.taken() })).await {
            Ok(Ok(reports)) => Ok((talk, reports)),
            Ok(Err(error)) => Err(not_now(&words(error))),
            Err(_) => Err(not_now("the agent does not answer")),
        }
    }
}
