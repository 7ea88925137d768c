//! One seed from its beginning to the end of the last agent.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use brunt_event::Event;
use brunt_master::tether::{Crew, Link, Terms};
use brunt_master::{Control, Fleet, FleetHost, Options, Outcome, execute};
use brunt_plan::plan::Plan;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::super::thread::simulated::STAYS;
use super::judge::judge;
use super::line::SimLine;
use super::scenario::{Refusal, Scenario};
use super::world::{ToMaster, World};

/// Longer than anything may take: leases, drains and freezes one behind the other.
const EVER: Duration = Duration::from_secs(3_600);
/// What an agent may take behind its lease: its work drains, its last messages leave.
const LAST_WORDS: Duration = Duration::from_secs(15);

/// How the execution ended.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    Master(Outcome),
    /// The master was killed.
    Killed,
    /// It never ended.
    Hangs,
}

/// What came of a seed.
#[derive(Debug, Clone)]
pub struct Course {
    pub scenario: Scenario,
    pub end: End,
    /// All events with their times from the beginning.
    pub events: Vec<(Duration, Event)>,
    /// What must not be.
    pub wrong: Vec<String>,
    pub attached: u64,
    pub doubled: u64,
}

impl Course {
    /// Plays a seed.
    pub fn of(seed: u64) -> Self {
        Self::play(Scenario::of(seed))
    }

    /// Plays on this thread and in no time.
    pub fn play(scenario: Scenario) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        STAYS.set(true);
        let course = runtime.block_on(play(scenario));
        drop(runtime);
        STAYS.set(false);
        course
    }

    /// One word for how it ended.
    pub fn word(&self) -> &'static str {
        match &self.end {
            End::Hangs => "hangs",
            End::Killed => "killed",
            End::Master(outcome) if outcome.interrupted.is_some() => "interrupted",
            End::Master(outcome) if outcome.complete => "done",
            End::Master(outcome) if outcome.runs > 0 => "partial",
            End::Master(_) => "refused",
        }
    }
}

async fn play(scenario: Scenario) -> Course {
    let plan = scenario.plan();
    let (world, to_master) = World::new(scenario.clone());
    let mut events = Vec::new();
    let mut end = lead(&world, plan, to_master, &mut events).await;
    if matches!(scenario.refusal, Some(Refusal::Dial { .. } | Refusal::Lun { .. } | Refusal::Prepare { .. }))
        && let End::Master(outcome) = &end
        && outcome.complete
    {
        world.wrong("what was refused was done".into());
    }
    if end == End::Hangs {
        world.wrong("the master never ended".into());
    }
    wait_for_agents(&world).await;
    judge(&world, &mut end, &events);
    let wrong = std::mem::take(&mut world.ledger.lock().unwrap().wrong);
    let (attached, doubled) = (world.attached.load(Relaxed), world.doubled.load(Relaxed));
    Course { scenario, end, events, wrong, attached, doubled }
}

/// The real master, with real links.
async fn lead(
    world: &Arc<World>,
    plan: Plan,
    mut to_master: mpsc::UnboundedReceiver<ToMaster>,
    seen: &mut Vec<(Duration, Event)>,
) -> End {
    let (events, inbox) = mpsc::channel(1_024);
    let (control, controls) = mpsc::channel(8);
    let terms = Terms::of(&plan);
    let host = |(host, h): (usize, &brunt_plan::plan::Host)| {
        let crew = Crew { label: h.label.clone(), workers: 1, cores: None, builds: Vec::new() };
        let line = SimLine { world: Arc::clone(world), host };
        let (_, lines) = mpsc::channel(1);
        FleetHost { link: Link::new(host, crew, line, terms[host], lines, events.clone()), commands: Vec::new() }
    };
    let fleet = Fleet { hosts: plan.hosts.iter().enumerate().map(host).collect() };
    drop(events);
    let options =
        Options { shutdown_file: "/nonexistent/shutdown".into(), ..Options::new(false, "/nonexistent/output") };
    let began = world.began;
    let mut sink = |event| seen.push((began.elapsed(), event));
    let executing = timeout(EVER, execute(plan, fleet, options, inbox, controls, &mut sink));
    let killed = async {
        loop {
            match to_master.recv().await {
                Some(ToMaster::Kill) => return,
                // Two are as good as many.
                Some(ToMaster::Interrupt) => drop(control.try_send(Control::Interrupt(2))),
                None => std::future::pending().await,
            }
        }
    };
    tokio::select! {
        biased;
        () = killed => End::Killed,
        outcome = executing => outcome.map_or(End::Hangs, End::Master),
    }
}

/// No agent lives beyond its lease.
async fn wait_for_agents(world: &Arc<World>) {
    let lease = world.scenario.lease();
    let drain = Duration::from_millis(world.scenario.drain_ms);
    let agents = world.agents.lock().unwrap().clone();
    // What has no lease ends when it hears of the end of its connection.
    let until = Instant::now() + lease + drain + LAST_WORDS + world.scenario.longest_fault();
    while agents.iter().any(|far| far.lives()) && Instant::now() < until {
        sleep(Duration::from_secs(1)).await;
    }
    for far in agents {
        if far.lives() {
            world.wrong(format!("the agent of host {} lives on: its lease was {lease:?}", far.host));
        }
    }
}
