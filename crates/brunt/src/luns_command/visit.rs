//! A visit to hosts, all at the same time.

use std::io::{self, Write};

use brunt_master::launch::way::{self, Way};
use brunt_master::launch::{self, Here};
use brunt_plan::plan;
use brunt_worker::control;
use brunt_worker::inspect::{self, Roots};

use super::call::Places;
use super::lines::Host;
use crate::invocation::Invocation;

/// The devices of all hosts in order, and why those that are not among them could not be asked.
///
/// # Errors
/// None can be asked, in a sentence.
pub fn all(invocation: &Invocation, places: &Places, port: Option<u16>) -> Result<(Vec<Host>, Vec<String>), String> {
    let mut here = Here::of(&invocation.program, &places.hosts, &places.misc)?;
    here.port = port.unwrap_or(here.port);
    for (_, text) in way::notes(&places.hosts, &here.payload) {
        let _ = writeln!(io::stderr(), "note: {text}");
    }
    let runtime = control::runtime().map_err(|error| format!("cannot start threads: {error}"))?;
    let visited = runtime.block_on(async {
        let visits: Vec<_> = places.hosts.iter().map(|place| one(place, &here)).collect::<Result<_, _>>()?;
        let mut visited = Vec::new();
        for (visit, place) in visits.into_iter().zip(&places.hosts) {
            let answer = visit.await.unwrap_or_else(|_| Err("the visit was given up".to_owned()));
            visited.push((place.label.clone(), answer));
        }
        Ok::<_, String>(visited)
    });
    // A device of this machine that never answers must not keep the process.
    runtime.shutdown_background();
    let visited = visited?;
    let (mut hosts, mut failed) = (Vec::new(), Vec::new());
    for (label, answer) in visited {
        match answer {
            Ok(devices) => hosts.push(Host { label, devices }),
            Err(why) => failed.push(format!("host={label}: {why}")),
        }
    }
    Ok((hosts, failed))
}

type Visit = tokio::task::JoinHandle<Result<Vec<brunt_plan::devices::ListedDevice>, String>>;

/// Begins the visit of one host; this machine needs no agent.
fn one(place: &plan::Host, here: &Here<'_>) -> Result<Visit, String> {
    if Way::of(place)? == Way::Local {
        return Ok(tokio::task::spawn_blocking(|| Ok(inspect::devices(&Roots::default()))));
    }
    let dial = launch::dial(place, here)?;
    Ok(tokio::spawn(async move { brunt_master::luns::devices(dial.as_ref()).await }))
}
