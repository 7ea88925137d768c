//! The workers of a host, whichever way they run.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use brunt_proto::v1;
use nix::time::{ClockId, clock_gettime};
use tokio::task::JoinSet;

use super::cores;
use super::options::AgentOptions;
use super::own::OwnWorker;
use super::process::{ProcessOptions, ProcessWorker};
use super::relay::Relay;
use crate::engine::WorkEngine;

/// All workers of this agent. Errors are sentences.
pub enum Team {
    /// The one worker of this process.
    Own(OwnWorker),
    /// A process each.
    Processes(Vec<Arc<ProcessWorker>>),
}

impl Team {
    /// Makes the workers.
    pub async fn start(options: &AgentOptions, engine: Arc<dyn WorkEngine>, relay: Relay) -> Result<Self, String> {
        let plan = cores::plan(Path::new("/sys"), &options.cores, options.workers)?;
        if options.workers == 1 {
            return Ok(Team::Own(OwnWorker::new(0, options.label.clone(), engine, relay)));
        }
        let mut starting = JoinSet::new();
        for (number, cores) in (0..options.workers).zip(plan) {
            let process = ProcessOptions {
                number,
                label: format!("{}-{number}", options.label),
                cores,
                keepalive: options.keepalive,
            };
            let (program, relay) = (options.program.clone(), relay.clone());
            starting.spawn(async move { (number, ProcessWorker::start(program, process, relay).await) });
        }
        let mut workers = Vec::new();
        while let Some(started) = starting.join_next().await {
            let (number, worker) = started.map_err(|error| error.to_string())?;
            workers.push((number, Arc::new(worker?)));
        }
        workers.sort_by_key(|(number, _)| *number);
        Ok(Team::Processes(workers.into_iter().map(|(_, worker)| worker).collect()))
    }

    /// Process numbers, in order.
    pub fn pids(&self) -> Vec<u32> {
        match self {
            Team::Own(_) => vec![std::process::id()],
            Team::Processes(workers) => workers.iter().map(|worker| worker.pid()).collect(),
        }
    }

    /// Hands out shares, all at once, and waits for all.
    pub async fn prepare(&self, shares: Vec<Option<v1::WorkerShare>>) -> Result<(), String> {
        let (given, wanted) = (shares.len(), self.pids().len());
        if given != wanted {
            return Err(format!("there are {wanted} workers here but work for {given}"));
        }
        match self {
            Team::Own(worker) => {
                let share = shares.into_iter().flatten().next();
                let share = share.map(TryInto::try_into).transpose();
                worker.prepare(share.map_err(|error: brunt_proto::WireError| error.to_string())?).await
            }
            Team::Processes(workers) => {
                let calls = workers.iter().map(Arc::clone).zip(shares);
                together(calls.map(|(worker, share)| async move { worker.prepare(share).await })).await
            }
        }
    }

    /// Starts all at one instant.
    pub async fn start_at(&self, at: Instant) -> Result<(), String> {
        match self {
            Team::Own(worker) => worker.start(at),
            Team::Processes(workers) => {
                let at = monotonic_ns(at)?;
                together(workers.iter().map(Arc::clone).map(|worker| async move { worker.start_at(at).await })).await
            }
        }
    }

    /// Ends the work of all.
    pub async fn stop(&self, after_interval: Option<u32>) -> Result<(), String> {
        match self {
            Team::Own(worker) => {
                worker.stop(after_interval);
                Ok(())
            }
            Team::Processes(workers) => {
                let calls = workers.iter().map(Arc::clone);
                together(calls.map(|worker| async move { worker.stop(after_interval).await })).await
            }
        }
    }

    /// Lets work in lockstep begin an interval.
    pub async fn grant(&self, interval: u32) -> Result<(), String> {
        match self {
            Team::Own(worker) => {
                worker.grant(interval);
                Ok(())
            }
            Team::Processes(workers) => {
                let calls = workers.iter().map(Arc::clone);
                together(calls.map(|worker| async move { worker.grant(interval).await })).await
            }
        }
    }

    /// Starts no more I/O to an SD.
    pub async fn drop_sd(&self, sd: u32) -> Result<(), String> {
        match self {
            Team::Own(worker) => {
                worker.drop_sd(sd);
                Ok(())
            }
            Team::Processes(workers) => {
                let calls = workers.iter().map(Arc::clone);
                together(calls.map(|worker| async move { worker.drop_sd(sd).await })).await
            }
        }
    }

    /// Ends work and processes. Own work has `limit` to drain.
    pub async fn end(&self, limit: Duration) {
        match self {
            Team::Own(worker) => worker.end(limit).await,
            Team::Processes(workers) => {
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

/// Runs calls side by side; errors are joined.
async fn together<F>(calls: impl Iterator<Item = F>) -> Result<(), String>
where
    F: Future<Output = Result<(), String>> + Send + 'static,
{
    let mut running: JoinSet<_> = calls.collect();
    let mut errors = Vec::new();
    while let Some(result) = running.join_next().await {
        match result {
            Ok(Ok(())) => {}
            Ok(Err(error)) => errors.push(error),
            Err(error) => errors.push(error.to_string()),
        }
    }
    errors.sort();
    errors.dedup();
    if errors.is_empty() { Ok(()) } else { Err(errors.join("; ")) }
}

/// The same instant on `CLOCK_MONOTONIC`, which all processes of a machine share.
fn monotonic_ns(at: Instant) -> Result<u64, String> {
    let clock = || clock_gettime(ClockId::CLOCK_MONOTONIC).map_err(|errno| format!("no monotonic clock: {errno}"));
    let here = Duration::from(clock()?);
    let ahead = at.saturating_duration_since(Instant::now());
    u64::try_from((here + ahead).as_nanos()).map_err(|_| "the start lies beyond the clock".to_owned())
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
        let back = instant_of(monotonic_ns(at).unwrap()).unwrap();
        let off = at.max(back) - at.min(back);
        assert!(off < Duration::from_millis(500), "{off:?}");
    }

    #[tokio::test]
    async fn errors_are_joined() {
        let texts = ["b", "", "a", "b"];
        let calls = texts.map(|text| async move { if text.is_empty() { Ok(()) } else { Err(text.to_owned()) } });
        assert_eq!(together(calls.into_iter()).await, Err("a; b".to_owned()));
    }
}
