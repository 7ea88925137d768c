//! A visit to hosts, all at the same time.

use std::io::{self, Write};
use std::time::Duration;

use brunt_master::launch::way::{self, Way};
use brunt_master::launch::{self, Here};
use brunt_plan::devices::ListedDevice;
use brunt_plan::plan;
use brunt_worker::control;
use brunt_worker::inspect::{self, Roots};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, timeout_at};

use super::call::Places;
use super::lines::Host;
use crate::invocation::Invocation;

/// Hosts that take longer are named, and the others listed without them.
const LATE: Duration = Duration::from_secs(10);

/// What came of visits.
#[derive(Debug, Default)]
pub struct Visited {
    /// Hosts that have answered, in their order.
    pub hosts: Vec<Host>,
    /// Why others cannot be asked.
    pub failed: Vec<String>,
    /// Those that have not answered yet.
    pub late: Vec<String>,
}

/// Asks all hosts for their devices. What came of it is handed over when all have answered; where some are late first
/// without these, then theirs.
///
/// # Errors
/// None can be asked, in a sentence.
pub fn all(
    invocation: &Invocation,
    places: &Places,
    port: Option<u16>,
    mut take: impl FnMut(Visited),
) -> Result<(), String> {
    let mut here = Here::of(&invocation.program, &places.hosts, &places.misc)?;
    here.port = port.unwrap_or(here.port);
    for (_, text) in way::notes(&places.hosts, &here.payload) {
        let _ = writeln!(io::stderr(), "note: {text}");
    }
    let runtime = control::runtime().map_err(|error| format!("cannot start threads: {error}"))?;
    let visited = runtime.block_on(async {
        let mut visits: Vec<(&str, Visit)> = Vec::new();
        for place in &places.hosts {
            visits.push((&place.label, one(place, &here)?));
        }
        let late = Instant::now() + LATE;
        let (mut hosts, mut waiting) = (Visited::default(), Vec::new());
        for (label, mut visit) in visits {
            match timeout_at(late, &mut visit).await {
                Ok(answer) => hosts.add(label, answer),
                Err(_) => waiting.push((label, visit)),
            }
        }
        hosts.late = waiting.iter().map(|(label, _)| (*label).to_owned()).collect();
        take(hosts);
        if waiting.is_empty() {
            return Ok(());
        }
        let mut hosts = Visited::default();
        for (label, visit) in waiting {
            hosts.add(label, visit.await);
        }
        take(hosts);
        Ok(())
    });
    // A device of this machine that never answers must not keep the process.
    runtime.shutdown_background();
    visited
}

impl Visited {
    fn add(&mut self, label: &str, answer: Result<Answer, JoinError>) {
        match answer.unwrap_or_else(|_| Err("the visit was given up".to_owned())) {
            Ok(devices) => self.hosts.push(Host { label: label.to_owned(), devices }),
            Err(why) => self.failed.push(format!("host={label}: {why}")),
        }
    }
}

/// The devices of a host, or why it cannot be asked.
type Answer = Result<Vec<ListedDevice>, String>;

type Visit = JoinHandle<Answer>;

/// Begins the visit of one host; this machine needs no agent.
fn one(place: &plan::Host, here: &Here<'_>) -> Result<Visit, String> {
    if Way::of(place)? == Way::Local {
        return Ok(tokio::task::spawn_blocking(|| Ok(inspect::devices(&Roots::default()))));
    }
    let dial = launch::dial(place, here)?;
    Ok(tokio::spawn(async move { brunt_master::luns::devices(dial.as_ref()).await }))
}
