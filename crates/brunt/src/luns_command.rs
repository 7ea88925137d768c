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
use self::lines::{Host, Listing};
use self::visit::Visited;
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
    let mut told = Told::default();
    if let Err(text) = visit::all(invocation, &places, call.port, |visited| told.take(&call, visited)) {
        let _ = writeln!(io::stderr(), "error: {text}");
        return exit::SETUP;
    }
    told.end(&call)
}

/// What was told so far.
#[derive(Default)]
struct Told {
    listing: Listing,
    hosts: Vec<Host>,
    /// A host could not be asked.
    failed: bool,
    /// Some were late.
    parted: bool,
}

impl Told {
    /// Names hosts that failed or are late, and lists what is there.
    fn take(&mut self, call: &Call, visited: Visited) {
        let Visited { mut hosts, failed, late } = visited;
        for text in &failed {
            let _ = writeln!(io::stderr(), "error: {}", plain(text));
        }
        if !late.is_empty() {
            let named: Vec<String> = late.iter().map(|label| format!("host={label}")).collect();
            let _ = writeln!(io::stderr(), "warning: not there after 10 seconds: {}", named.join(", "));
        }
        self.failed |= !failed.is_empty();
        self.parted |= !late.is_empty();
        for host in &mut hosts {
            host.devices.retain(|device| call.wants(device));
        }
        // An array is one piece.
        if !call.json {
            write(&self.listing.lines(&hosts, !self.parted));
        }
        self.hosts.extend(hosts);
    }

    /// The status.
    fn end(self, call: &Call) -> i32 {
        if call.json {
            write(&json(&self.hosts));
        }
        if self.failed {
            return exit::SETUP;
        }
        if self.hosts.iter().all(|host| host.devices.is_empty()) {
            let _ = writeln!(io::stderr(), "note: no such device was found");
            return exit::NOTHING;
        }
        exit::DONE
    }
}

/// A reader that went away has seen what it wanted.
fn write(text: &str) {
    let mut out = io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
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
