//! Starting agents.

pub mod local;

use std::path::Path;

use brunt_plan::plan::{Host, Settings};
use tokio::sync::mpsc;

use crate::dial::{Dial, DialError};
use crate::grpc::GrpcLink;
use crate::link::LinkEvent;
use crate::tether::{Crew, Terms};
use local::LocalDial;

/// Why an agent could not be started.
#[derive(Debug, thiserror::Error)]
#[error("the agent of host {label} cannot be started: {source}")]
pub struct LaunchError {
    /// Label of the host.
    pub label: String,
    /// Why.
    pub source: DialError,
}

/// What this machine gives to the ways to its agents.
#[derive(Debug, Clone, Copy)]
pub struct Here<'a> {
    /// Our own program.
    pub program: &'a Path,
    /// The list of [`cores`] where workers shall stay.
    pub cores: Option<&'a str>,
}

/// The way to the agent of a host.
pub fn dial(host: &Host, here: Here<'_>) -> Box<dyn Dial> {
    Box::new(LocalDial::new(here.program, &host.label, host.workers, here.cores))
}

/// The cores of `misc=(cpus=0-3)`, as one list; the key may come more than once.
///
/// # Errors
/// A value that is neither a core nor a range of them, in a sentence.
pub fn cores(settings: &Settings) -> Result<Option<String>, String> {
    let mut lists = Vec::new();
    for (_, range) in settings.misc.iter().filter(|(key, _)| key == "cpus") {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        match (from.parse::<u32>(), to.parse::<u32>()) {
            (Ok(from), Ok(to)) if from <= to => lists.push(range.as_str()),
            _ => return Err(format!("misc=(cpus={range}) is not a core or a range of cores, such as 3 or 0-3")),
        }
    }
    Ok((!lists.is_empty()).then(|| lists.join(",")))
}

/// Starts an agent as a child of this process, see [`LocalDial`]. When its connection breaks all ends.
///
/// `host` is the number that goes with every event, `cores` the list of [`cores`] where its workers shall stay.
///
/// # Errors
/// The program cannot be run, or ends, or is silent before it is ready. Nothing is left behind then.
pub async fn local(
    program: &Path,
    host: usize,
    label: &str,
    workers: u32,
    cores: Option<&str>,
    events: mpsc::Sender<(usize, LinkEvent)>,
) -> Result<GrpcLink, LaunchError> {
    let dial = Box::new(LocalDial::new(program, label, workers, cores));
    let crew = Crew { label: label.to_owned(), workers, cores: cores.map(str::to_owned) };
    let link = GrpcLink::over(host, crew, dial, Terms::NONE, events);
    match link.begin().await {
        Ok(()) => Ok(link),
        Err(source) => Err(LaunchError { label: label.to_owned(), source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan;

    fn of(values: &[&str]) -> Result<Option<String>, String> {
        let mut settings = plan(vec![]).settings;
        settings.misc = values.iter().map(|v| ("cpus".to_owned(), (*v).to_owned())).collect();
        cores(&settings)
    }

    #[test]
    fn cores_are_ranges() {
        assert_eq!(of(&[]), Ok(None));
        assert_eq!(of(&["0-3", "8"]), Ok(Some("0-3,8".to_owned())));
        let wrong = |range| Err(format!("misc=(cpus={range}) is not a core or a range of cores, such as 3 or 0-3"));
        assert_eq!([of(&["x"]), of(&["3-1"]), of(&["-1"])], [wrong("x"), wrong("3-1"), wrong("-1")]);
    }
}
