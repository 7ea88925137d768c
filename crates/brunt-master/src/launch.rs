//! Starting agents.

pub mod listen;
pub mod local;
pub mod payload;
pub mod ssh;
pub mod way;

use std::path::Path;
use std::sync::Arc;

use brunt_plan::plan::Host;
use tokio::sync::mpsc;

use crate::dial::{Dial, DialError};
use crate::grpc::GrpcLink;
use crate::link::LinkEvent;
use crate::tether::{Crew, Terms};
use listen::ListenDial;
use local::LocalDial;
use payload::Payload;
use ssh::{SshDial, SshHost};
use way::Way;

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
#[derive(Debug, Clone)]
pub struct Here<'a> {
    /// Our own program.
    pub program: &'a Path,
    /// The list of [`cores`] where workers shall stay.
    pub cores: Option<String>,
    /// What goes before an agent's command on other machines, see [`privileges`].
    pub privileges: Vec<String>,
    /// What is copied to hosts; nothing when all are this machine.
    pub payload: Arc<Payload>,
    /// SHA-256 of our own program and of those that are copied; none when all hosts are this machine.
    pub builds: Vec<String>,
    /// The port of agents that listen.
    pub port: u16,
}

impl<'a> Here<'a> {
    /// What the hosts of an execution need, with its `misc=`.
    ///
    /// # Errors
    /// A wrong key of `misc=`, or the program cannot be read, in a sentence.
    pub fn of(program: &'a Path, hosts: &[Host], misc: &[(String, String)]) -> Result<Self, String> {
        let (cores, privileges) = (cores(misc)?, privileges(misc)?);
        let mut here = Self {
            program,
            cores,
            privileges,
            payload: Arc::default(),
            builds: Vec::new(),
            port: listen::DEFAULT_PORT,
        };
        if hosts.iter().any(|host| Way::of(host) != Ok(Way::Local)) {
            let payload = Payload::find(program).map_err(|error| error.to_string())?;
            here.builds = payload.offers().iter().map(|offer| offer.sha256.clone()).collect();
            if !payload.offers().iter().any(|offer| offer.path == program) {
                let unread = |error| format!("{} cannot be read: {error}", program.display());
                here.builds.push(payload::own_sha256().map_err(unread)?);
            }
            here.payload = Arc::new(payload);
        }
        Ok(here)
    }

    /// What is wanted on a host.
    pub fn crew(&self, host: &Host) -> Crew {
        let builds = if Way::of(host) == Ok(Way::Local) { Vec::new() } else { self.builds.clone() };
        Crew { label: host.label.clone(), workers: host.workers, cores: self.cores.clone(), builds }
    }
}

/// The way to the agent of a host.
///
/// # Errors
/// There is none, in a sentence.
pub fn dial(host: &Host, here: &Here<'_>) -> Result<Box<dyn Dial>, String> {
    let cores = here.cores.as_deref();
    match Way::of(host)? {
        Way::Local => Ok(Box::new(LocalDial::new(here.program, &host.label, host.workers, cores))),
        Way::Ssh => {
            let host = SshHost::of(host, cores, &here.privileges);
            Ok(Box::new(SshDial::new(host, Arc::clone(&here.payload))))
        }
        Way::Listen => match ListenDial::new(host, here.port) {
            Ok(dial) => Ok(Box::new(dial)),
            Err(error) => Err(format!("host {}: {error}", host.label)),
        },
    }
}

/// The cores of `misc=(cpus=0-3)`, as one list; the key may come more than once.
///
/// # Errors
/// A value that is neither a core nor a range of them, in a sentence.
pub fn cores(misc: &[(String, String)]) -> Result<Option<String>, String> {
    let mut lists = Vec::new();
    for (_, range) in misc.iter().filter(|(key, _)| key == "cpus") {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        match (from.parse::<u32>(), to.parse::<u32>()) {
            (Ok(from), Ok(to)) if from <= to => lists.push(range.as_str()),
            _ => return Err(format!("misc=(cpus={range}) is not a core or a range of cores, such as 3 or 0-3")),
        }
    }
    Ok((!lists.is_empty()).then(|| lists.join(",")))
}

/// What goes before the agent's command on hosts that are reached over SSH: `misc=(become="sudo -n")`, in words.
///
/// # Errors
/// More than one such key, or one without a word, in a sentence.
pub fn privileges(misc: &[(String, String)]) -> Result<Vec<String>, String> {
    let mut asked = misc.iter().filter(|(key, _)| key == "become").map(|(_, value)| value);
    let words: Vec<String> = match (asked.next(), asked.next()) {
        (None, _) => return Ok(Vec::new()),
        (Some(value), None) => value.split_whitespace().map(str::to_owned).collect(),
        (Some(_), Some(_)) => return Err("misc=(become=…) is there twice".to_owned()),
    };
    match words.is_empty() {
        true => Err("misc=(become=…) needs a command, such as \"sudo -n\"".to_owned()),
        false => Ok(words),
    }
}

/// Starts an agent as a child of this process, see [`LocalDial`]. When its connection breaks all ends.
///
/// `host` is the number that goes with every event, `cores` a list (`0-3,8`) where its workers shall stay.
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
    let crew = Crew { label: label.to_owned(), workers, cores: cores.map(str::to_owned), builds: Vec::new() };
    let link = GrpcLink::over(host, crew, dial, Terms::NONE, events);
    match link.begin().await {
        Ok(()) => Ok(link),
        Err(source) => Err(LaunchError { label: label.to_owned(), source }),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn misc(key: &str, values: &[&str]) -> Vec<(String, String)> {
        values.iter().map(|v| (key.to_owned(), (*v).to_owned())).collect()
    }

    fn of(values: &[&str]) -> Result<Option<String>, String> {
        cores(&misc("cpus", values))
    }

    #[test]
    fn privileges_are_words() {
        let of = |values: &[&str]| privileges(&misc("become", values));
        assert_eq!(of(&[]), Ok(vec![]));
        assert_eq!(of(&["sudo  -n"]), Ok(vec!["sudo".to_owned(), "-n".to_owned()]));
        assert_eq!(of(&[" "]).unwrap_err(), "misc=(become=…) needs a command, such as \"sudo -n\"");
        assert_eq!(of(&["sudo", "doas"]).unwrap_err(), "misc=(become=…) is there twice");
    }

    #[test]
    fn cores_are_ranges() {
        assert_eq!(of(&[]), Ok(None));
        assert_eq!(of(&["0-3", "8"]), Ok(Some("0-3,8".to_owned())));
        let wrong = |range| Err(format!("misc=(cpus={range}) is not a core or a range of cores, such as 3 or 0-3"));
        assert_eq!([of(&["x"]), of(&["3-1"]), of(&["-1"])], [wrong("x"), wrong("3-1"), wrong("-1")]);
    }
}
