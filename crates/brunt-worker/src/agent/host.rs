//! What the agent decides for its host before a run: whether there is room, who gets which cores, how idle CPUs may be.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use brunt_plan::work::{WorkerEvent, WorkerShare};

use super::cgroup::Cgroups;
use super::cores::{self, told};
use super::options::AgentOptions;
use super::{latency, limits, needs};
use crate::engine::Placement;
use crate::inspect::Roots;

/// The host as the agent sees it.
#[derive(Debug)]
pub struct Host {
    label: String,
    /// The cores of `misc=(cpus=)`; empty: all.
    chosen: Vec<usize>,
    roots: Roots,
    latency_file: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What was said already.
    told: HashSet<(u32, String)>,
    /// Held until the agent ends.
    latency: Option<latency::Hold>,
}

/// Something to be told, as a worker's.
pub type Told = (u32, WorkerEvent);

/// What a worker is to do its share with.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Admission {
    /// The place of each worker. Without cores where they mean nothing: on the virtual clock.
    pub places: Vec<Placement>,
    /// What is to be told.
    pub events: Vec<Told>,
}

impl Host {
    /// The host of this agent.
    pub fn new(options: &AgentOptions) -> Arc<Self> {
        Arc::new(Self {
            label: options.label.clone(),
            chosen: options.cores.clone(),
            roots: Roots::default(),
            latency_file: latency::FILE.into(),
            state: Mutex::default(),
        })
    }

    /// Whether the cores that were chosen can be had.
    ///
    /// # Errors
    /// A sentence.
    pub fn check(&self) -> Result<(), String> {
        let allowed = cores::allowed(&self.roots.proc, &Cgroups::read(&self.roots.proc))?;
        cores::wanted(&self.chosen, &allowed).map(drop)
    }

    /// Decides for a run. Blocks: it reads much.
    ///
    /// # Errors
    /// What this host has no room for, in a sentence with its cure.
    pub fn admit(&self, shares: &[Option<WorkerShare>]) -> Result<Admission, String> {
        let simulated = |share: &WorkerShare| share.targets.iter().all(|t| t.sim.is_some_and(|s| s.virtual_clock));
        let (places, mut events) = match shares.iter().flatten().all(simulated) {
            true => (vec![Placement::default(); shares.len()], Vec::new()),
            false => self.place(shares)?,
        };
        let needs = shares.iter().zip(&places).filter_map(|(share, place)| {
            let share = share.as_ref()?;
            Some((share.worker.as_str(), needs::of(share, place.cpus.len())))
        });
        let needs: Vec<_> = needs.collect();
        let limits = limits::read(&self.roots.proc, &Cgroups::read(&self.roots.proc));
        let first = shares.iter().position(Option::is_some).unwrap_or(0) as u32;
        let warned = limits::check(&self.label, &needs, &limits)?;
        events.extend(warned.into_iter().map(|text| (first, WorkerEvent::Warning(text))));
        let wished = shares.iter().flatten().filter_map(|share| share.conduct.cpu_latency_us).min();
        events.extend(wished.and_then(|us| self.hold(us)).map(|text| (first, WorkerEvent::Warning(text))));
        events.retain(|(worker, event)| match event {
            WorkerEvent::Warning(text) | WorkerEvent::Log(text) => self.state().told.insert((*worker, text.clone())),
            _ => true,
        });
        Ok(Admission { places, events })
    }

    /// The plan of cores, with a line for the log of each worker that has work.
    fn place(&self, shares: &[Option<WorkerShare>]) -> Result<(Vec<Placement>, Vec<Told>), String> {
        let luns = |share: &Option<WorkerShare>| -> Vec<String> {
            let targets = share.iter().flat_map(|share| &share.targets).filter(|target| target.sim.is_none());
            targets.map(|target| target.lun.clone()).collect()
        };
        let luns: Vec<_> = shares.iter().map(luns).collect();
        let givens = cores::givens(&self.roots, &self.chosen, &luns)?;
        let dealt = cores::plan(&givens);
        let lines = (0..).zip(shares).zip(&dealt).zip(&givens.workers).filter(|(((_, share), _), _)| share.is_some());
        let lines =
            lines.map(|(((worker, _), cores), wish)| (worker, WorkerEvent::Log(told::line(&givens, wish, cores))));
        let lines = lines.collect();
        Ok((dealt, lines))
    }

    /// Asks for a latency, once. Why it cannot be had, the second time nothing.
    fn hold(&self, us: u32) -> Option<String> {
        let mut state = self.state();
        if state.latency.is_some() {
            return None;
        }
        match latency::hold(&self.latency_file, us) {
            Ok(hold) => {
                state.latency = Some(hold);
                None
            }
            Err(reason) => Some(reason),
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
