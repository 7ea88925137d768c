//! `brunt luns`: the disks of this machine, as SD lines ready to be pasted into a parameter file.

mod lines;

use std::ffi::OsString;
use std::io::{self, Write};

use brunt_plan::devices::ListedDevice;
use brunt_worker::inspect::{self, Roots};
use serde::Serialize;

use self::lines::Host;
use crate::exit;

const USAGE: &str = "usage: brunt luns [--match MODEL] [--json]";

/// A call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Call {
    /// Only devices whose model has this in it, in lower case.
    model: Option<String>,
    json: bool,
}

/// A device in the machine-readable list.
#[derive(Serialize)]
struct Row<'a> {
    host: &'a str,
    #[serde(flatten)]
    device: &'a ListedDevice,
}

/// Lists and prints. Nothing is written to any device.
pub fn run(words: &[OsString]) -> i32 {
    let call = match read(words) {
        Ok(call) => call,
        Err(text) => {
            let _ = writeln!(io::stderr(), "error: {text}; {USAGE}");
            return exit::USAGE;
        }
    };
    let mut hosts = vec![Host { label: "localhost".to_owned(), devices: inspect::devices(&Roots::default()) }];
    for host in &mut hosts {
        host.devices.retain(|device| call.wants(device));
    }
    let text = if call.json { json(&hosts) } else { lines::text(&hosts) };
    // A reader that went away has seen what it wanted.
    let _ = io::stdout().write_all(text.as_bytes());
    if hosts.iter().all(|host| host.devices.is_empty()) {
        let _ = writeln!(io::stderr(), "note: no such device was found");
        return exit::NOTHING;
    }
    exit::DONE
}

fn read(words: &[OsString]) -> Result<Call, String> {
    let mut call = Call::default();
    let mut words = words.iter().map(|word| word.to_string_lossy().into_owned());
    while let Some(word) = words.next() {
        let (name, glued) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word.as_str(), None),
        };
        match name {
            "--json" => call.json = true,
            "--match" => {
                let model = glued.or_else(|| words.next()).ok_or("--match needs a part of a model's name")?;
                call.model = Some(model.to_lowercase());
            }
            _ => return Err(format!("`{word}` is not known")),
        }
    }
    Ok(call)
}

impl Call {
    fn wants(&self, device: &ListedDevice) -> bool {
        let Some(wanted) = &self.model else { return true };
        device.model.as_ref().is_some_and(|model| model.to_lowercase().contains(wanted))
    }
}

fn json(hosts: &[Host]) -> String {
    let row = |host: &'_ Host| -> Vec<_> {
        host.devices.iter().map(|device| serde_json::to_value(Row { host: &host.label, device })).collect()
    };
    let rows: Vec<_> = hosts.iter().flat_map(row).filter_map(Result::ok).collect();
    serde_json::to_string_pretty(&rows).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(line: &str) -> Result<Call, String> {
        read(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn words_are_read() {
        let model = |text: &str| Some(text.to_owned());
        assert_eq!(called(""), Ok(Call::default()));
        assert_eq!(called("--json --match IBM"), Ok(Call { model: model("ibm"), json: true }));
        assert_eq!(called("--match=2145"), Ok(Call { model: model("2145"), json: false }));
        assert_eq!(called("--match"), Err("--match needs a part of a model's name".to_owned()));
        assert_eq!(called("/dev/sda"), Err("`/dev/sda` is not known".to_owned()));
    }

    #[test]
    fn a_model_is_looked_for_in_any_case() {
        let device = |model: Option<&str>| ListedDevice { model: model.map(str::to_owned), ..ListedDevice::default() };
        let call = called("--match ibm").unwrap_or_default();
        assert!(call.wants(&device(Some("IBM 2145"))));
        assert!(!call.wants(&device(Some("Disk"))) && !call.wants(&device(None)));
        assert!(Call::default().wants(&device(None)));
    }

    #[test]
    fn the_machine_readable_list_has_everything() {
        let device = ListedDevice { path: "/dev/sdb".to_owned(), size: 1 << 30, ..ListedDevice::default() };
        let text = json(&[Host { label: "a".to_owned(), devices: vec![device] }]);
        let rows: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        assert_eq!(
            (&rows[0]["host"], &rows[0]["path"], &rows[0]["size"]),
            (&"a".into(), &"/dev/sdb".into(), &(1 << 30).into())
        );
        assert!(rows[0].get("uses").is_some_and(serde_json::Value::is_array));
    }
}
