//! The calls of a link, in words of the master on this side and of the protocol on the other.

use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use brunt_plan::work::{LunQuery, WorkerShare};
use brunt_proto::{WireError, v1};
use tokio::time::{Instant, timeout};

use super::Link;
use super::clocks::Clocks;
use super::rejoin::facts;
use super::shared::millis;
use super::talk::{Answer, Line, Talk};
use crate::link::{HookResult, HostFacts, HostHello, HostLink, LinkError};

/// Time an agent has to end after its goodbye, before it is given up.
const END_LIMIT: Duration = Duration::from_secs(15);
/// Round trips that are measured before a start.
const PINGS: usize = 5;

fn garbled(error: &WireError) -> LinkError {
    LinkError::Broken(error.to_string())
}

impl<L: Line> Link<L> {
    /// How the agent's clock runs beside ours, as measured last.
    fn clocks(&self) -> Clocks {
        *self.clocks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A few round trips.
async fn round_trips(talk: &impl Talk) -> Answer<Clocks> {
    let mut clocks = Clocks::default();
    for _ in 0..PINGS {
        let sent = Instant::now();
        let reply = talk.ping(v1::PingRequest::default()).await?;
        clocks.trip(sent, reply.clock_ns);
    }
    Ok(clocks)
}

impl<L: Line> HostLink for Link<L> {
    async fn hello(&self) -> Result<HostHello, LinkError> {
        self.greet().await
    }

    async fn inspect(&self, queries: Vec<LunQuery>) -> Result<HostFacts, LinkError> {
        let wanted = queries.len();
        let request = v1::InspectRequest { luns: queries.into_iter().map(Into::into).collect(), list_devices: false };
        let reply = self.call(|talk| {
            let request = request.clone();
            async move { talk.inspect(request).await }
        });
        let reply = reply.await?;
        self.keepsake.facts(&reply);
        let facts = facts(reply).map_err(|error| garbled(&error))?;
        if facts.luns.len() != wanted {
            let reason = "there must be one for each query";
            return Err(garbled(&WireError::Invalid { message: "InspectReply", field: "luns", reason }));
        }
        Ok(facts)
    }

    async fn prepare(&self, shares: Vec<Option<WorkerShare>>) -> Result<(), LinkError> {
        self.note_run(&shares);
        // Of runs that are over nothing is asked for again.
        self.shared.confirm_all();
        let taken = self.shared.confirmed();
        self.call(|talk| async move { talk.ping(v1::PingRequest { taken }).await }).await?;
        let slot = |share: Option<WorkerShare>| v1::WorkerSlot { share: share.map(Into::into), placement: None };
        let workers = shares.into_iter().map(slot).collect();
        let request = v1::PrepareRequest { workers, witness: true, lease_ms: millis(self.shared.lease()) };
        let prepared = self.call(|talk| {
            let request = request.clone();
            async move { talk.prepare(request).await }
        });
        prepared.await.map(drop)
    }

    async fn rejoin(&self) -> Result<(), LinkError> {
        self.join().await
    }

    fn take_up(&self, shares: &[Option<WorkerShare>]) {
        self.note_run(shares);
    }

    async fn measure(&self) -> Result<Duration, LinkError> {
        let clocks = self.call(|talk| async move { round_trips(&*talk).await }).await?;
        *self.clocks.lock().unwrap_or_else(PoisonError::into_inner) = clocks;
        Ok(clocks.longest())
    }

    async fn start(&self, delay: Duration) -> Result<Duration, LinkError> {
        let (at, run_id, clocks) = (Instant::now() + delay, self.run.load(Relaxed), self.clocks());
        let started = self.call(|talk| async move {
            let left = at.saturating_duration_since(Instant::now()).saturating_sub(clocks.way());
            let delay_ns = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX);
            let sent = Instant::now();
            let when = Some(v1::start_request::When::DelayNs(delay_ns));
            let reply = talk.start(v1::StartRequest { when, run_id }).await?;
            Ok((reply.begins_ns, sent.elapsed()))
        });
        let (begins_ns, trip) = started.await?;
        Ok(clocks.off(at, begins_ns, trip))
    }

    async fn stop(&self, after_interval: Option<u32>) -> Result<(), LinkError> {
        self.call(|talk| async move { talk.stop(v1::StopRequest { after_interval }).await }).await.map(drop)
    }

    async fn grant(&self, interval: u32) -> Result<(), LinkError> {
        self.call(|talk| async move { talk.grant(v1::GrantRequest { interval }).await }).await.map(drop)
    }

    async fn drop_sd(&self, sd: u32) -> Result<(), LinkError> {
        self.call(|talk| async move { talk.drop_sd(v1::DropSdRequest { sd }).await }).await.map(drop)
    }

    async fn run_hook(&self, command: String, limit: Option<Duration>) -> Result<HookResult, LinkError> {
        let limit_ms = limit.map_or(0, millis);
        let request = v1::RunHookRequest { command, call: self.next_hook(), limit_ms };
        let reply = self.call(|talk| {
            let request = request.clone();
            async move { talk.run_hook(request).await }
        });
        let v1::RunHookReply { status, lines } = reply.await?;
        Ok(HookResult { status, lines })
    }

    fn abandon(&self) {
        self.shared.abandon();
    }

    async fn shutdown(&self) -> Result<(), LinkError> {
        self.shared.ending.store(true, Relaxed);
        if !self.is_born() {
            return Ok(());
        }
        let reply = match self.shared.is_abandoned() {
            // Its keeper has told it, or could not.
            true => Ok(v1::ShutdownReply {}),
            false => self.call(|talk| async move { talk.shutdown(v1::ShutdownRequest {}).await }).await,
        };
        self.shared.ended.store(reply.is_ok(), Relaxed);
        let keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut keeper) = keeper
            && timeout(END_LIMIT, &mut keeper).await.is_err()
        {
            keeper.abort();
        }
        reply.map(drop)
    }
}
