//! Starting agents.

pub mod payload;
pub mod ssh;
pub mod way;

use std::path::Path;

use brunt_plan::plan::Settings;
use brunt_proto::stdio::{Keepalive, StartError, start};
use tokio::sync::mpsc;

use crate::grpc::GrpcLink;
use crate::link::LinkEvent;

/// Lines of an agent that may wait for the master before the agent waits.
const LINES: usize = 256;

/// Why an agent could not be started.
#[derive(Debug, thiserror::Error)]
#[error("the agent of host {label} cannot be started: {source}")]
pub struct LaunchError {
    /// Label of the host.
    pub label: String,
    /// Why.
    pub source: StartError,
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

/// What goes before the agent's command on hosts that are reached over SSH: `misc=(become="sudo -n")`, in words.
///
/// # Errors
/// More than one such key, or one without a word, in a sentence.
pub fn privileges(settings: &Settings) -> Result<Vec<String>, String> {
    let mut asked = settings.misc.iter().filter(|(key, _)| key == "become").map(|(_, value)| value);
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

/// Starts an agent as a child of this process: `program agent --stdio --label L --workers N [--cores LIST] --marker
/// HEX`, with the protocol on its standard input and output. It is killed when the link is dropped.
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
    let workers = workers.to_string();
    let mut arguments = vec!["agent", "--stdio", "--label", label, "--workers", &workers];
    arguments.extend(cores.iter().flat_map(|list| ["--cores", list]));
    let (log, lines) = mpsc::channel(LINES);
    let link = GrpcLink::prepare(host, label, lines, events);
    match start(program, arguments, Keepalive::default(), log).await {
        Ok(started) => Ok(link.connect(started)),
        Err(source) => Err(LaunchError { label: label.to_owned(), source }),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testing::plan;

    fn settings(key: &str, values: &[&str]) -> Settings {
        let mut settings = plan(vec![]).settings;
        settings.misc = values.iter().map(|v| (key.to_owned(), (*v).to_owned())).collect();
        settings
    }

    fn of(values: &[&str]) -> Result<Option<String>, String> {
        cores(&settings("cpus", values))
    }

    #[test]
    fn privileges_are_words() {
        let of = |values: &[&str]| privileges(&settings("become", values));
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
