//! All hosts with their roads, the books, and what happens to them.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use brunt_master::dial::DialError;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};

use super::super::session::Ended;
use super::far::Far;
use super::ledger::Ledger;
use super::road::Road;
use super::scenario::{Refusal, Scenario, What, When};

/// What happens to the master.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToMaster {
    Kill,
    Interrupt,
}

/// Everything that is not the master.
pub struct World {
    pub scenario: Scenario,
    pub began: Instant,
    pub roads: Vec<Arc<Road>>,
    pub fatal: Vec<watch::Sender<bool>>,
    pub ledger: Mutex<Ledger>,
    /// All agents, in the order of their beginning.
    pub agents: Mutex<Vec<Arc<Far>>>,
    /// When the first thing went wrong.
    pub struck: Mutex<Option<Instant>>,
    calls: Vec<AtomicU64>,
    master: mpsc::UnboundedSender<ToMaster>,
    /// Connections to agents that were there.
    pub attached: AtomicU64,
    /// Calls that came twice.
    pub doubled: AtomicU64,
}

impl World {
    pub fn new(scenario: Scenario) -> (Arc<Self>, mpsc::UnboundedReceiver<ToMaster>) {
        let (master, to_master) = mpsc::unbounded_channel();
        let road = |(host, latency): (usize, &(u64, u64))| {
            Arc::new(Road::new(scenario.seed.wrapping_mul(31).wrapping_add(host as u64 + 1), *latency))
        };
        let world = Self {
            began: Instant::now(),
            roads: scenario.latency.iter().enumerate().map(road).collect(),
            fatal: (0..scenario.hosts).map(|_| watch::Sender::new(false)).collect(),
            ledger: Mutex::default(),
            agents: Mutex::default(),
            struck: Mutex::default(),
            calls: (0..scenario.hosts).map(|_| AtomicU64::new(0)).collect(),
            master,
            attached: AtomicU64::new(0),
            doubled: AtomicU64::new(0),
            scenario,
        };
        let world = Arc::new(world);
        for fault in world.scenario.faults.clone() {
            if let When::At(after) = fault.when {
                let world = Arc::clone(&world);
                tokio::spawn(async move {
                    sleep(after).await;
                    world.strike(fault.what);
                });
            }
        }
        (world, to_master)
    }

    /// I/Os in a whole interval.
    pub fn load(&self, run: u32, host: usize, interval: u32) -> u64 {
        let mix = self.scenario.seed ^ (u64::from(run) << 40) ^ ((host as u64) << 32) ^ u64::from(interval);
        1 + (mix.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54)
    }

    pub fn wrong(&self, text: String) {
        self.ledger.lock().unwrap().wrong.push(text);
    }

    /// Number of a call to a host.
    pub fn call(&self, host: usize) -> u64 {
        self.calls[host].fetch_add(1, Relaxed) + 1
    }

    /// Something may happen at that call.
    pub fn passes(self: &Arc<Self>, host: usize, number: u64, answered: bool) {
        let at = When::Call { host, number, answered };
        let due = self.scenario.faults.iter().filter(|fault| fault.when == at);
        due.for_each(|fault| self.strike(fault.what));
    }

    fn strike(self: &Arc<Self>, what: What) {
        self.struck.lock().unwrap().get_or_insert(Instant::now());
        match what {
            What::Cut { host, silent, lasts } => {
                if !silent {
                    self.roads[host].reset();
                }
                self.roads[host].cut(lasts);
            }
            What::Reset { host } => self.roads[host].reset(),
            What::Freeze { host, lasts } => self.roads[host].freeze(lasts),
            What::Kill { host } => self.agents_of(host).iter().for_each(|far| far.kill()),
            What::Terminate { host } => {
                for far in self.agents_of(host) {
                    tokio::spawn(async move { far.desk.end(Ended::Terminated).await });
                }
            }
            What::Fatal { host } => drop(self.fatal[host].send_replace(true)),
            // It may be at its end.
            What::KillMaster => drop(self.master.send(ToMaster::Kill)),
            What::Interrupt => drop(self.master.send(ToMaster::Interrupt)),
        }
    }

    fn agents_of(&self, host: usize) -> Vec<Arc<Far>> {
        let agents = self.agents.lock().unwrap();
        agents.iter().filter(|far| far.host == host && far.lives()).cloned().collect()
    }

    /// Starts an agent.
    pub fn begin(self: &Arc<Self>, host: usize) -> Result<Arc<Far>, DialError> {
        match self.scenario.refusal {
            Some(Refusal::Dial { host: on, never: true }) if on == host => {
                return Err(DialError::Never("the key of the host is not known".into()));
            }
            Some(Refusal::Dial { host: on, never: false }) if on == host => {
                return Err(DialError::NotNow("Connection refused".into()));
            }
            _ => {}
        }
        let mut agents = self.agents.lock().unwrap();
        let far = Far::start(self, host, agents.len() + 1);
        agents.push(Arc::clone(&far));
        Ok(far)
    }

    /// The agent that has a session.
    pub fn find(&self, host: usize, token: &str) -> Result<Arc<Far>, DialError> {
        let here = self.agents_of(host).into_iter().find(|far| far.token == token);
        here.ok_or_else(|| DialError::Never("there is no such session on this host".into()))
    }
}
