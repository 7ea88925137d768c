//! What `brunt luns` is asked for.

use std::ffi::OsString;

use brunt_parm::{Input, Severity};
use brunt_plan::devices::ListedDevice;
use brunt_plan::plan::Host;

use crate::diagnostics::{MessageFormat, Shower};
use crate::exit;
use crate::files::Files;
use crate::plan_command::to_stderr;

/// What is wrong with a file in which there is nothing to run yet: here it is right.
const UNFINISHED: [&str; 3] = ["no-run", "no-storage", "no-workload"];

/// A call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Call {
    /// Only devices whose model has this in it, in lower case.
    model: Option<String>,
    pub json: bool,
    /// `[user@]system` of hosts to ask over SSH.
    hosts: Vec<String>,
    /// Parameter files whose hosts are asked.
    files: Vec<String>,
    substitutions: Vec<(String, String)>,
    /// The port of agents that listen.
    pub port: Option<u16>,
}

/// Whom to ask.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Places {
    pub hosts: Vec<Host>,
    /// `misc=`, which has a word on the ways to them.
    pub misc: Vec<(String, String)>,
}

impl Call {
    /// Reads the words behind `luns`.
    ///
    /// # Errors
    /// A word that nobody knows, or that lacks its value, in a sentence.
    pub fn read(words: &[OsString]) -> Result<Self, String> {
        let mut call = Self::default();
        let mut words = words.iter().map(|word| word.to_string_lossy().into_owned());
        while let Some(word) = words.next() {
            let (name, glued) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (word.as_str(), None),
            };
            let mut value = |what: &str| glued.clone().or_else(|| words.next()).ok_or(format!("{name} needs {what}"));
            match name {
                "--json" => call.json = true,
                "--match" => call.model = Some(value("a part of a model's name")?.to_lowercase()),
                "--host" => call.hosts.push(value("a host")?),
                "-f" => call.files.push(value("a parameter file")?),
                "-p" => {
                    let port = value("a port")?;
                    call.port = Some(port.parse().map_err(|_| format!("`{port}` is no port"))?);
                }
                key if !key.starts_with('-') && !key.is_empty() && glued.is_some() => {
                    call.substitutions.push((key.to_owned(), glued.unwrap_or_default()));
                }
                _ => return Err(format!("`{word}` is not known")),
            }
        }
        Ok(call)
    }

    /// Whether a device is asked for.
    pub fn wants(&self, device: &ListedDevice) -> bool {
        let Some(wanted) = &self.model else { return true };
        device.model.as_ref().is_some_and(|model| model.to_lowercase().contains(wanted))
    }

    /// The hosts to ask; without any it is this machine.
    ///
    /// # Errors
    /// The exit status where the parameter files have errors, which were told.
    pub fn places(&self) -> Result<Places, i32> {
        let mut places = if self.files.is_empty() { Places::default() } else { self.of_files()? };
        places.hosts.extend(self.hosts.iter().map(|name| by_ssh(name)));
        if places.hosts.is_empty() {
            places.hosts.push(by_ssh("localhost"));
        }
        // Nothing is to be done there but to look.
        places.hosts.iter_mut().for_each(|host| host.workers = 1);
        Ok(places)
    }

    fn of_files(&self) -> Result<Places, i32> {
        let input = Input {
            files: self.files.clone(),
            substitutions: self.substitutions.clone(),
            rd_extra: None,
            lax_substitution: false,
        };
        let mut parsed = brunt_parm::parse(&input, &Files);
        let hosts = brunt_plan::hosts(&parsed.file, &brunt_plan::Options::default(), &mut parsed.diags);
        parsed.diags.retain(|diag| diag.severity == Severity::Error && !UNFINISHED.contains(&diag.code));
        Shower::new(MessageFormat::Human).show(&parsed.diags, &parsed.sources, &mut to_stderr);
        let misc = parsed.file.general.misc.iter().map(|(key, value)| (key.value.clone(), value.value.clone()));
        let hosts = hosts.filter(|_| parsed.diags.is_empty()).ok_or(exit::PARAMETERS)?;
        Ok(Places { hosts, misc: misc.collect() })
    }
}

fn by_ssh(name: &str) -> Host {
    let (user, system) = match name.rsplit_once('@') {
        Some((user, system)) => (Some(user.to_owned()), system),
        None => (None, name),
    };
    let (label, shell) = (system.to_owned(), Some("ssh".to_owned()));
    Host { label, system: system.to_owned(), shell, user, install_dir: None, workers: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(line: &str) -> Result<Call, String> {
        Call::read(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn words_are_read() {
        let model = |text: &str| Some(text.to_owned());
        assert_eq!(called(""), Ok(Call::default()));
        assert_eq!(called("--json --match IBM"), Ok(Call { model: model("ibm"), json: true, ..Call::default() }));
        assert_eq!(called("--match=2145"), Ok(Call { model: model("2145"), ..Call::default() }));
        assert_eq!(called("--match"), Err("--match needs a part of a model's name".to_owned()));
        assert_eq!(called("-p x"), Err("`x` is no port".to_owned()));
        for unknown in ["/dev/sda", "--size=3", "=3"] {
            assert_eq!(called(unknown), Err(format!("`{unknown}` is not known")));
        }
    }

    #[test]
    fn hosts_come_by_name_and_by_file() {
        let asked = called("--host root@db1 --host=db2 -f a.parm -f b.parm lab=7 -p 6000").unwrap_or_default();
        let strings = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(asked.hosts, strings(&["root@db1", "db2"]));
        assert_eq!((asked.files, asked.port), (strings(&["a.parm", "b.parm"]), Some(6000)));
        assert_eq!(asked.substitutions, [("lab".to_owned(), "7".to_owned())]);
        let Places { hosts, .. } =
            called("--host root@db1 --host=db2").unwrap_or_default().places().unwrap_or_default();
        let told: Vec<_> = hosts.iter().map(|host| (host.user.as_deref(), host.system.as_str())).collect();
        assert_eq!(told, [(Some("root"), "db1"), (None, "db2")]);
        let Places { hosts, .. } = Call::default().places().unwrap_or_default();
        assert_eq!(hosts.iter().map(|host| host.label.as_str()).collect::<Vec<_>>(), ["localhost"]);
    }

    #[test]
    fn a_model_is_looked_for_in_any_case() {
        let device = |model: Option<&str>| ListedDevice { model: model.map(str::to_owned), ..ListedDevice::default() };
        let call = called("--match ibm").unwrap_or_default();
        assert!(call.wants(&device(Some("IBM 2145"))));
        assert!(!call.wants(&device(Some("Disk"))) && !call.wants(&device(None)));
        assert!(Call::default().wants(&device(None)));
    }
}
