//! The keeper of a link: hands events over, shows the agent that somebody is there, and sees when a connection breaks.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use brunt_proto::lease::ping_every;
use brunt_proto::{CallError, Report, keep, v1};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::REST_LIMIT;
use super::shared::{Shared, State};
use super::talk::{Line, Reports, Talk};
use crate::link::LinkEvent;
use crate::session::now_ms;

/// So long nothing may come at all before a connection counts as broken, at first. A packet that is sent again after
/// a second or two must not be one.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time that shows whether an agent has ended with its stream, where another connection may follow.
const LOOK_LIMIT: Duration = Duration::from_secs(1);
/// Time an agent has to end once it has been told.
const END_LIMIT: Duration = Duration::from_secs(15);
/// Wall clocks that differ by less are alike, milliseconds.
const CLOCKS_ALIKE_MS: i64 = 5_000;

/// The event streams of a line.
pub(super) type ReportsOf<L> = <<L as Line>::Talk as Talk>::Reports;

/// Why a connection is of no more use, in words behind the name of the agent.
#[derive(Debug)]
enum Break {
    /// It is broken. The agent may be there.
    Broken(String),
    /// Nothing came for so long.
    Silent(Duration),
    /// The agent has ended.
    Ended(String),
    /// This side ends it.
    Unwanted(String),
}

/// How it goes on.
pub(super) enum Next<L: Line> {
    /// On another connection.
    Back(Arc<L::Talk>, ReportsOf<L>),
    /// Not at all, in words behind the name of the agent.
    Gone(String),
}

/// The task of a link.
pub(super) struct Keeper<L: Line> {
    pub(super) shared: Arc<Shared<L>>,
    pub(super) events: mpsc::Sender<(usize, LinkEvent)>,
    suspected: mpsc::Receiver<(u64, String)>,
    log: JoinHandle<()>,
    /// Number of the connection.
    pub(super) number: u64,
    /// So long nothing may come. Grows where it was in vain: a slow link is not a broken one.
    patience: Duration,
    /// How far ahead the clock there is, as it was told last, milliseconds.
    clock_ms: i64,
}

impl<L: Line> Keeper<L> {
    pub(super) fn new(
        shared: Arc<Shared<L>>,
        events: mpsc::Sender<(usize, LinkEvent)>,
        suspected: mpsc::Receiver<(u64, String)>,
        log: JoinHandle<()>,
    ) -> Self {
        Self { shared, events, suspected, log, number: 1, patience: PATIENCE, clock_ms: 0 }
    }

    /// Runs until the agent has ended, is lost, or is given up.
    pub(super) async fn run(mut self, talk: Arc<L::Talk>, reports: ReportsOf<L>) {
        let shared = Arc::clone(&self.shared);
        let why = tokio::select! {
            biased;
            () = shared.abandoned() => self.part().await,
            why = self.keep(talk, reports) => why,
        };
        self.gone(&why).await;
    }

    /// Tells an agent that is given up to end, if it can be reached. Nothing else is said to it from here on.
    async fn part(&self) -> String {
        let why = "was given up".to_owned();
        let gone = State::Gone(format!("the agent of host {} {why}", self.shared.label));
        if let State::Open { talk, .. } = self.shared.state.send_replace(gone) {
            // An answer is not needed: without calls its lease ends it.
            let _ = timeout(END_LIMIT, talk.shutdown(v1::ShutdownRequest {})).await;
        }
        why
    }

    /// Until the agent has ended or is lost; says why.
    async fn keep(&mut self, mut talk: Arc<L::Talk>, mut reports: ReportsOf<L>) -> String {
        loop {
            let end = self.attend(&talk, &mut reports).await;
            // Calls that are under way wait for the next connection from here on.
            self.shared.state.send_replace(State::Away);
            drop(reports);
            match self.next(end, talk).await {
                Next::Back(again, rest) => (talk, reports) = (again, rest),
                Next::Gone(why) => return why,
            }
        }
    }

    /// Until the connection is of no more use.
    async fn attend(&mut self, talk: &L::Talk, reports: &mut ReportsOf<L>) -> Break {
        let (shared, events, number, patience) = (&*self.shared, &self.events, self.number, self.patience);
        let carry = carry(shared, events, reports);
        tokio::pin!(carry);
        // In this order, so that a simulation goes the same way every time.
        let how = tokio::select! {
            biased;
            end = &mut carry => return end,
            Some(how) = shared.line.agent_ended() => Break::Ended(how),
            Some(how) = talk.ended() => Break::Broken(format!("cannot be reached: {} has ended ({how})", shared.line.name())),
            why = suspect(&mut self.suspected, number) => {
                return Break::Broken(format!("does not answer any more ({why})"));
            }
            end = look_after(shared, events, talk, patience, &mut self.clock_ms) => return end,
        };
        // What is left in the stream.
        let _ = timeout(REST_LIMIT, carry).await;
        how
    }

    async fn next(&mut self, end: Break, talk: Arc<L::Talk>) -> Next<L> {
        let lasting = self.shared.is_lasting();
        let mut why = match end {
            Break::Ended(how) => return Next::Gone(format!("has ended ({how})")),
            Break::Unwanted(why) => return Next::Gone(why),
            Break::Broken(why) => why,
            Break::Silent(time) => {
                self.patience = (self.patience * 2).min(self.shared.lease() / 2).max(PATIENCE);
                format!("has not answered for {} seconds", time.as_secs())
            }
        };
        let ending = self.shared.ending.load(Relaxed);
        let limit = if ending && !lasting {
            END_LIMIT
        } else if lasting {
            LOOK_LIMIT
        } else {
            REST_LIMIT
        };
        if let Ok(Some(how)) = timeout(limit, self.shared.line.agent_ended()).await {
            return Next::Gone(format!("has ended ({how})"));
        }
        let name = self.shared.line.name();
        if let Ok(Some(how)) = timeout(LOOK_LIMIT, talk.ended()).await
            && !why.contains(&name)
        {
            why = format!("{why}; {name} has ended ({how})");
        }
        // It had its goodbye: what carries the connection has the rest of its time to end.
        if self.shared.ended.load(Relaxed) {
            let _ = timeout(END_LIMIT, self.shared.line.agent_ended()).await;
            let _ = timeout(END_LIMIT, talk.ended()).await;
            return Next::Gone(why);
        }
        drop(talk);
        if lasting { self.reattach(why).await } else { Next::Gone(why) }
    }

    /// The end of the link.
    async fn gone(self, why: &str) {
        let text = format!("the agent of host {} {why}", self.shared.label);
        // Nothing is left behind that can be reached from here.
        self.shared.line.abandon();
        self.shared.state.send_replace(State::Gone(text.clone()));
        // What it leaves running may keep its standard error open.
        let _ = timeout(REST_LIMIT, self.log).await;
        if !self.shared.ending.load(Relaxed) {
            // Nobody listens: the master is at its end.
            let _ = self.events.send((self.shared.host, LinkEvent::Lost(text))).await;
        }
    }
}

/// Waits until a call has failed on that connection.
async fn suspect(suspected: &mut mpsc::Receiver<(u64, String)>, number: u64) -> String {
    loop {
        match suspected.recv().await {
            Some((on, why)) if on == number => return why,
            Some(_) => {}
            // The link holds the sender, and this task ends with it.
            None => std::future::pending().await,
        }
    }
}

/// Hands events over until the stream ends, and says why it did. A lost peer shows as an error or as a clean end.
async fn carry<L: Line>(
    shared: &Shared<L>,
    events: &mpsc::Sender<(usize, LinkEvent)>,
    reports: &mut ReportsOf<L>,
) -> Break {
    loop {
        let message = match reports.next().await {
            Ok(Some(message)) => message,
            Ok(None) => return Break::Broken("has closed its stream".to_owned()),
            Err(error) => return Break::Broken(format!("does not answer any more ({})", words(error))),
        };
        shared.hear();
        let (seq, taken, bytes, run) = (message.seq, shared.taken(), keep::size(&message), message.run_id);
        // Zero: worker processes of older agents number nothing.
        if seq != 0 && seq <= taken {
            continue;
        }
        let event = match <(u32, Report)>::try_from(message) {
            Ok((worker, Report::Event(event))) => LinkEvent::Worker { worker, run, event },
            Ok((worker, Report::Stderr(line))) => LinkEvent::Stderr { worker, line },
            Ok((_, Report::Devices(devices))) => LinkEvent::Devices { run, devices },
            Err(error) => return Break::Unwanted(format!("sent what cannot be understood: {error}")),
        };
        let gap = (seq > taken + 1 && !shared.had_before()).then(|| LinkEvent::Gap { messages: seq - taken - 1 });
        for event in gap.into_iter().chain([event]) {
            if events.send((shared.host, event)).await.is_err() {
                return Break::Unwanted("is not wanted any more".to_owned());
            }
        }
        if seq != 0 {
            shared.take(seq, bytes);
        }
    }
}

/// Pings until there is no answer.
async fn look_after<L: Line>(
    shared: &Shared<L>,
    events: &mpsc::Sender<(usize, LinkEvent)>,
    talk: &L::Talk,
    patience: Duration,
    clock_ms: &mut i64,
) -> Break {
    /// Longer than anything runs.
    const EVER: Duration = Duration::from_secs(1 << 30);
    // Where nothing can follow, a connection is left to the probes of its transport.
    let patience = if shared.is_lasting() { patience } else { EVER };
    loop {
        sleep(ping_every(shared.lease())).await;
        let (sent, sent_ms) = (Instant::now(), now_ms());
        match timeout(patience, talk.ping(v1::PingRequest { taken: shared.confirmed() })).await {
            Ok(Ok(reply)) => {
                shared.hear();
                let half = i64::try_from(sent.elapsed().as_millis()).unwrap_or(i64::MAX) / 2;
                let ahead_ms = reply.wall_ms - sent_ms - half;
                if reply.wall_ms != 0 && (ahead_ms - *clock_ms).abs() > CLOCKS_ALIKE_MS {
                    *clock_ms = ahead_ms;
                    // Without a receiver the event stream ends this too.
                    let _ = events.send((shared.host, LinkEvent::Clock { ahead_ms })).await;
                }
            }
            Ok(Err(error)) => return Break::Broken(format!("does not answer any more ({})", words(error))),
            // A large message may be on its way.
            Err(_) if shared.heard().elapsed() >= patience => return Break::Silent(shared.heard().elapsed()),
            Err(_) => {}
        }
    }
}

pub(super) fn words(error: CallError) -> String {
    match error {
        CallError::Refused(text) | CallError::Broken(text) => text,
    }
}
