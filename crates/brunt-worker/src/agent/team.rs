//! The workers of a host, whichever way they run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use brunt_plan::work::WorkerShare;
use brunt_proto::{WireError, v1};
use nix::time::{ClockId, clock_gettime};
use tokio::task::JoinSet;

use super::host::{Admission, Host};
use super::options::AgentOptions;
use super::own::OwnWorker;
use super::process::{ProcessOptions, ProcessWorker};
use super::relay::Relay;
use super::thread::off_thread;
use crate::engine::{Placement, WorkEngine};

/// All workers of this agent, and the host they share. Errors are sentences.
pub struct Team {
    host: Arc<Host>,
    relay: Relay,
    workers: Workers,
}

enum Workers {
    /// The one worker of this process.
    Own(OwnWorker),
    /// A process each.
    Processes(Vec<Arc<ProcessWorker>>),
}

impl Team {
    /// Makes the workers.
    pub async fn start(options: &AgentOptions, engine: Arc<dyn WorkEngine>, relay: Relay) -> Result<Self, String> {
        let host = Host::new(options);
        host.check()?;
        let workers = match options.workers {
            1 => Workers::Own(OwnWorker::new(0, options.label.clone(), engine, relay.clone())),
            _ => Workers::start(options, &relay).await?,
        };
        Ok(Self { host, relay, workers })
    }

    /// Process numbers, in order.
    pub fn pids(&self) -> Vec<u32> {
        match &self.workers {
            Workers::Own(_) => vec![std::process::id()],
            Workers::Processes(workers) => workers.iter().map(|worker| worker.pid()).collect(),
        }
    }

    /// Hands out shares with their cores, all at once, and waits for all. What the host has no room for is refused
    /// before anything is opened. A worker process has been looked after by its agent, which says so in the slot; it ends
    /// when it has heard nothing from here for `lease`.
    pub async fn prepare(&self, slots: Vec<v1::WorkerSlot>, lease: Duration) -> Result<(), String> {
        let (given, wanted) = (slots.len(), self.pids().len());
        if given != wanted {
            return Err(format!("there are {wanted} workers here but work for {given}"));
        }
        let shares = slots.iter().map(|slot| slot.share.clone().map(WorkerShare::try_from).transpose());
        let shares = shares.collect::<Result<Vec<_>, WireError>>().map_err(|error| error.to_string())?;
        let mut placed = slots.iter().filter_map(|slot| slot.placement.as_ref());
        let (shares, places) = match placed.next() {
            Some(placement) => (shares, vec![place_of(placement)]),
            None => self.admit(shares).await?,
        };
        match &self.workers {
            Workers::Own(worker) => {
                let share = shares.into_iter().flatten().next();
                let place = places.into_iter().next().unwrap_or_default();
                self.relay.place(&place.cpus);
                worker.prepare(share, place).await
            }
            Workers::Processes(workers) => {
                let slots = slots.into_iter().zip(places).map(|(slot, place)| placed_at(slot, &place));
                let calls = workers.iter().map(Arc::clone).zip(slots);
                together(calls.map(|(worker, slot)| async move { worker.prepare(slot, lease).await })).await.map(drop)
            }
        }
    }

    /// Asks the host, and tells what it says.
    async fn admit(&self, shares: Vec<Option<WorkerShare>>) -> Result<Placed, String> {
        let host = Arc::clone(&self.host);
        let asked = off_thread("place", move || host.admit(&shares).map(|admission| (shares, admission)));
        let (shares, Admission { places, events }) = asked.await.map_err(|error| error.to_string())??;
        for (worker, event) in events {
            self.relay.own(None, worker, event);
        }
        Ok((shares, places))
    }

    /// Starts that run in all workers at one instant. Gives when the last of them begins, nanoseconds of
    /// `CLOCK_MONOTONIC`: later where it is told too late.
    pub async fn start_at(&self, run_id: u32, at: Instant) -> Result<u64, String> {
        match &self.workers {
            Workers::Own(worker) => {
                worker.start(at)?;
                clock_ns(at.max(tokio::time::Instant::now().into_std()))
            }
            Workers::Processes(workers) => {
                let at = clock_ns(at)?;
                let calls = workers.iter().map(Arc::clone);
                let begin = together(calls.map(|worker| async move { worker.start_at(run_id, at).await })).await?;
                Ok(begin.into_iter().max().unwrap_or(at))
            }
        }
    }

    /// Tells all workers the same.
    async fn tell<F>(
        &self,
        own: impl FnOnce(&OwnWorker),
        process: impl Fn(Arc<ProcessWorker>) -> F,
    ) -> Result<(), String>
    where
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        match &self.workers {
            Workers::Own(worker) => {
                own(worker);
                Ok(())
            }
            Workers::Processes(workers) => together(workers.iter().map(Arc::clone).map(process)).await.map(drop),
        }
    }

    /// Ends the work of all.
    pub async fn stop(&self, after: Option<u32>) -> Result<(), String> {
        self.tell(|own| own.stop(after), |worker| async move { worker.stop(after).await }).await
    }

    /// Lets work in lockstep begin an interval.
    pub async fn grant(&self, interval: u32) -> Result<(), String> {
        self.tell(|own| own.grant(interval), |worker| async move { worker.grant(interval).await }).await
    }

    /// Starts no more I/O to an SD.
    pub async fn drop_sd(&self, sd: u32) -> Result<(), String> {
        self.tell(|own| own.drop_sd(sd), |worker| async move { worker.drop_sd(sd).await }).await
    }

    /// Ends work and processes. Own work has `limit` to drain.
    pub async fn end(&self, limit: Duration) {
        match &self.workers {
            Workers::Own(worker) => worker.end(limit).await,
            Workers::Processes(workers) => {
                let calls = workers.iter().map(Arc::clone);
                // Ending cannot fail: what does not end is killed.
                let _ = together(calls.map(|worker| async move {
                    worker.end().await;
                    Ok(())
                }))
                .await;
            }
        }
    }
}

impl Workers {
    /// Starts a process for each.
    async fn start(options: &AgentOptions, relay: &Relay) -> Result<Self, String> {
        let mut starting = JoinSet::new();
        for number in 0..options.workers {
            let label = format!("{}-{number}", options.label);
            let process = ProcessOptions { number, label, keepalive: options.keepalive };
            let (program, relay) = (options.program.clone(), relay.clone());
            starting.spawn(async move { (number, ProcessWorker::start(program, process, relay).await) });
        }
        let mut workers = Vec::new();
        while let Some(started) = starting.join_next().await {
            let (number, worker) = started.map_err(|error| error.to_string())?;
            workers.push((number, Arc::new(worker?)));
        }
        workers.sort_by_key(|(number, _)| *number);
        Ok(Workers::Processes(workers.into_iter().map(|(_, worker)| worker).collect()))
    }
}

/// Shares, and the place of each worker.
type Placed = (Vec<Option<WorkerShare>>, Vec<Placement>);

fn place_of(placement: &v1::Placement) -> Placement {
    Placement { cpus: placement.cores.iter().map(|core| *core as usize).collect(), shared: placement.shared }
}

/// A slot for a worker process.
fn placed_at(mut slot: v1::WorkerSlot, place: &Placement) -> v1::WorkerSlot {
    // Beyond 2³² there is no CPU, see `cores::parse`.
    let cores = place.cpus.iter().filter_map(|core| u32::try_from(*core).ok()).collect();
    slot.placement = Some(v1::Placement { cores, shared: place.shared });
    if let Some(share) = &mut slot.share {
        // The agent holds it for all.
        share.cpu_latency_us = None;
    }
    slot
}

/// Runs calls side by side, and gives their results in any order; errors are joined.
async fn together<F, T>(calls: impl Iterator<Item = F>) -> Result<Vec<T>, String>
where
    F: Future<Output = Result<T, String>> + Send + 'static,
    T: Send + 'static,
{
    let mut running: JoinSet<_> = calls.collect();
    let (mut results, mut errors) = (Vec::new(), Vec::new());
    while let Some(result) = running.join_next().await {
        match result {
            Ok(Ok(result)) => results.push(result),
            Ok(Err(error)) => errors.push(error),
            Err(error) => errors.push(error.to_string()),
        }
    }
    errors.sort();
    errors.dedup();
    if errors.is_empty() { Ok(results) } else { Err(errors.join("; ")) }
}

/// The same instant on `CLOCK_MONOTONIC`, nanoseconds, which all processes of a machine share.
pub fn clock_ns(at: Instant) -> Result<u64, String> {
    let clock = || clock_gettime(ClockId::CLOCK_MONOTONIC).map_err(|errno| format!("no monotonic clock: {errno}"));
    let (here, now) = (Duration::from(clock()?), Instant::now());
    let there = match at.checked_duration_since(now) {
        Some(ahead) => here + ahead,
        None => here.saturating_sub(now - at),
    };
    u64::try_from(there.as_nanos()).map_err(|_| "the start lies beyond the clock".to_owned())
}

/// The instant of a value of `CLOCK_MONOTONIC`; now when it has passed.
pub fn instant_of(monotonic_ns: u64) -> Result<Instant, String> {
    let here = clock_gettime(ClockId::CLOCK_MONOTONIC).map_err(|errno| format!("no monotonic clock: {errno}"))?;
    let ahead = Duration::from_nanos(monotonic_ns).saturating_sub(Duration::from(here));
    Instant::now().checked_add(ahead).ok_or_else(|| "the start lies beyond the clock".to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_survives_the_shared_clock() {
        let at = Instant::now() + Duration::from_secs(5);
        let back = instant_of(clock_ns(at).unwrap()).unwrap();
        let off = at.max(back) - at.min(back);
        assert!(off < Duration::from_millis(500), "{off:?}");
    }

    #[tokio::test]
    async fn errors_are_joined() {
        let texts = ["b", "", "a", "b"];
        let calls = texts.map(|text| async move { if text.is_empty() { Ok(()) } else { Err(text.to_owned()) } });
        assert_eq!(together(calls.into_iter()).await, Err("a; b".to_owned()));
        let mut done = together([2, 1].into_iter().map(|n| async move { Ok(n) })).await.unwrap();
        done.sort_unstable();
        assert_eq!(done, [1, 2]);
    }
}
