//! `brunt luns`: the disks of this machine, or of hosts, as SD lines ready to be pasted into a parameter file.

mod call;
mod lines;
mod visit;

use std::ffi::OsString;
use std::io::{self, Write};

use brunt_plan::devices::ListedDevice;
use brunt_report::plain;
use serde::Serialize;

use self::call::Call;
use self::lines::Host;
use crate::exit;
use crate::invocation::Invocation;

const USAGE: &str =
    "usage: brunt luns [--host [USER@]SYSTEM]… [-f FILE… [key=value…]] [-p PORT] [--match MODEL] [--json]";

/// A device in the machine-readable list.
#[derive(Serialize)]
struct Row<'a> {
    host: &'a str,
    #[serde(flatten)]
    device: &'a ListedDevice,
}

/// Lists and prints. Nothing is written to any device. Hosts that cannot be asked are told, and the others listed.
pub fn run(invocation: &Invocation, words: &[OsString]) -> i32 {
    let call = match Call::read(words) {
        Ok(call) => call,
        Err(text) => {
            let _ = writeln!(io::stderr(), "error: {text}; {USAGE}");
            return exit::USAGE;
        }
    };
    let places = match call.places() {
        Ok(places) => places,
        Err(status) => return status,
    };
    let (mut hosts, failed) = match visit::all(invocation, &places, call.port) {
        Ok(visited) => visited,
        Err(text) => {
            let _ = writeln!(io::stderr(), "error: {text}");
            return exit::SETUP;
        }
    };
    for text in &failed {
        let _ = writeln!(io::stderr(), "error: {}", plain(text));
    }
    for host in &mut hosts {
        host.devices.retain(|device| call.wants(device));
    }
    let text = if call.json { json(&hosts) } else { lines::text(&hosts) };
    // A reader that went away has seen what it wanted.
    let _ = io::stdout().write_all(text.as_bytes());
    if !failed.is_empty() {
        return exit::SETUP;
    }
    if hosts.iter().all(|host| host.devices.is_empty()) {
        let _ = writeln!(io::stderr(), "note: no such device was found");
        return exit::NOTHING;
    }
    exit::DONE
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
