//! Another master takes the session over: what it needs for that, and its first connection.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use brunt_plan::work::WorkerShare;
use brunt_proto::{WireError, keep, v1};
use tokio::time::{Instant, sleep, timeout};

use super::Link;
use super::keeper::{Keeper, ReportsOf};
use super::reattach::{FIRST_PAUSE, LONGEST_PAUSE, within};
use super::shared::State;
use super::talk::Line;
use crate::dial::DialError;
use crate::link::{HostFacts, LinkError};

/// What goes on when the master does not: the session of one host and what is known of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Names the session: secret.
    pub token: String,
    /// What the agent said when it was asked about the host.
    pub facts: Vec<u8>,
}

impl Kept {
    /// What is known of the host; `None`: it is not from a link of this version.
    pub fn facts(&self) -> Option<HostFacts> {
        facts(keep::unpack(&self.facts)?).ok()
    }
}

/// Where a link puts what another master would need.
#[derive(Debug, Clone, Default)]
pub struct Keepsake(Arc<Mutex<Known>>);

/// What is known by now.
#[derive(Debug, Clone, Default)]
struct Known {
    token: Option<String>,
    facts: Option<Vec<u8>>,
}

impl Keepsake {
    /// What there is; `None`: not everything, or a session that ends with its connection.
    pub fn get(&self) -> Option<Kept> {
        let Known { token, facts } = self.known().clone();
        Some(Kept { token: token.filter(|token| !token.is_empty())?, facts: facts? })
    }

    pub(super) fn token(&self, token: &str) {
        self.known().token = Some(token.to_owned());
    }

    pub(super) fn facts(&self, reply: &v1::InspectReply) {
        self.known().facts = Some(keep::pack(reply));
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The facts of an answer.
pub(super) fn facts(reply: v1::InspectReply) -> Result<HostFacts, WireError> {
    let luns = reply.luns.into_iter().map(TryInto::try_into).collect::<Result<Vec<_>, WireError>>()?;
    let engines = reply.engines.map(Into::into).unwrap_or_default();
    let own_error = reply.own_error.map(Into::into);
    Ok(HostFacts { luns, inventory: reply.inventory, engines, own_error, machine: reply.machine })
}

impl<L: Line> Link<L> {
    /// Where what another master would need is found, as soon as it is known.
    pub fn keepsake(&self) -> Keepsake {
        self.keepsake.clone()
    }

    /// A link that goes on with a session which another master began.
    #[must_use]
    pub fn of_session(self, kept: &Kept) -> Self {
        self.shared.inherit(kept.token.clone());
        self.keepsake.token(&kept.token);
        // Hooks are numbered upwards, and nobody knows where the other master was.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.hooks.store(u64::try_from(now.as_millis()).unwrap_or(u64::MAX / 2), Relaxed);
        self
    }

    /// Connects to the agent, at most for its lease: behind that it is gone.
    pub(super) async fn join(&self) -> Result<(), LinkError> {
        let provision = self.provision.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(provision) = provision.filter(|_| !self.is_born()) else { return Err(self.greeted_before()) };
        let mut keeper = Keeper::new(Arc::clone(&self.shared), provision.events, provision.suspected, provision.log);
        match keeper.first().await {
            Ok((talk, reports)) => {
                self.shared.hear();
                let talk = Arc::new(talk);
                self.shared.state.send_replace(State::Open { number: 1, talk: Arc::clone(&talk) });
                let keeper = tokio::spawn(keeper.run(talk, reports));
                *self.keeper.lock().unwrap_or_else(PoisonError::into_inner) = Some(keeper);
                Ok(())
            }
            Err(why) => {
                let text = format!("the agent of host {} cannot be gone on with: {why}", self.shared.label);
                self.shared.state.send_replace(State::Gone(text.clone()));
                Err(LinkError::Broken(text))
            }
        }
    }

    /// The run that was prepared.
    pub(super) fn note_run(&self, shares: &[Option<WorkerShare>]) {
        if let Some(share) = shares.iter().flatten().next() {
            self.run.store(share.run_id, Relaxed);
        }
    }
}

impl<L: Line> Keeper<L> {
    async fn first(&mut self) -> Result<(L::Talk, ReportsOf<L>), String> {
        let until = Instant::now() + self.shared.lease();
        let (mut pause, mut last) = (FIRST_PAUSE, String::from("it does not answer"));
        loop {
            match timeout(until.saturating_duration_since(Instant::now()), self.attempt()).await {
                Ok(Ok(opened)) => return Ok(opened),
                Ok(Err(DialError::Never(text))) => return Err(text),
                Ok(Err(DialError::NotNow(text))) => last = text,
                Err(_) => return Err(last),
            }
            if Instant::now() >= until {
                return Err(last);
            }
            sleep(within(pause, until)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}
