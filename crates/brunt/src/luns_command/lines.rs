//! SD lines of the devices of one or more hosts, ready to be pasted into a parameter file.

use std::collections::BTreeMap;
use std::fmt::Write;

use brunt_plan::devices::ListedDevice;
use brunt_report::plain;

/// A host's devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Its label.
    pub label: String,
    /// What it lists.
    pub devices: Vec<ListedDevice>,
}

/// One LUN with the hosts that see it, by number, each with the device there.
struct Lun<'a>(Vec<(usize, &'a ListedDevice)>);

/// Units of a size, the largest first.
const UNITS: [(u64, &str); 4] = [(1 << 40, "t"), (1 << 30, "g"), (1 << 20, "m"), (1 << 10, "k")];

/// What was listed so far. Hosts that answer late are listed behind the others, where a LUN that is there already is a
/// comment.
#[derive(Debug, Default)]
pub struct Listing {
    /// The last number of an SD.
    number: u32,
    /// What those with an identity are called.
    known: BTreeMap<String, String>,
}

impl Listing {
    /// The lines of some hosts. `all`: there are no others, and a LUN that all of them see needs no list of hosts. What is
    /// in use is a comment, so that it is not written to by mistake.
    pub fn lines(&mut self, hosts: &[Host], all: bool) -> String {
        let mut text = String::new();
        for Lun(seen) in luns(hosts) {
            let Some((_, device)) = seen.first() else { continue };
            let uses: Vec<String> = seen.iter().flat_map(|(host, device)| used_on(hosts, *host, device, all)).collect();
            let line = self.line(hosts, &seen, uses.is_empty(), all);
            // Writing to a string cannot fail. What a host says must not become a line of its own.
            let line = format!("{line}   * {}", [vec![remark(device)], uses].concat().join("; "));
            let _ = writeln!(text, "{}", plain(&line));
        }
        text
    }

    fn line(&mut self, hosts: &[Host], seen: &[(usize, &ListedDevice)], is_free: bool, all: bool) -> String {
        let (lun, list) = (lun_of(seen), host_list(hosts, seen, all));
        let identity = seen.first().and_then(|(_, device)| device.identity.as_deref());
        if let Some(known) = identity.and_then(|identity| self.known.get(identity)) {
            let used = if is_free { "" } else { "in use: " };
            return format!("* {used}{known} is there too: {list}lun={lun}");
        }
        let (line, called) = match is_free {
            true => {
                self.number += 1;
                let sd = format!("sd=sd{}", self.number);
                (format!("{sd},{list}lun={lun},openflags=o_direct"), sd)
            }
            false => (format!("* in use: lun={lun}"), format!("lun={lun}")),
        };
        self.known.extend(identity.map(|identity| (identity.to_owned(), called)));
        line
    }
}

/// The LUNs in the order in which they are found; one with an identity stands once for all hosts.
fn luns(hosts: &[Host]) -> Vec<Lun<'_>> {
    let mut luns: Vec<Lun> = Vec::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for (host, devices) in hosts.iter().enumerate().map(|(n, host)| (n, &host.devices)) {
        for device in devices {
            match device.identity.as_deref().and_then(|identity| known.get(identity)) {
                // A second path on the same host, without a multipath device, is no LUN of its own.
                Some(at) => luns[*at].0.push((host, device)),
                None => {
                    known.extend(device.identity.as_deref().map(|identity| (identity, luns.len())));
                    luns.push(Lun(vec![(host, device)]));
                }
            }
        }
    }
    luns
}

fn used_on(hosts: &[Host], host: usize, device: &ListedDevice, all: bool) -> Vec<String> {
    let place = if hosts.len() > 1 || !all { format!("on host={} ", hosts[host].label) } else { String::new() };
    device.uses.iter().map(|phrase| format!("{place}{phrase}")).collect()
}

/// `host=(a,b),` where not all hosts see it.
fn host_list(hosts: &[Host], seen: &[(usize, &ListedDevice)], all: bool) -> String {
    let mut labels: Vec<&str> = seen.iter().map(|(host, _)| hosts[*host].label.as_str()).collect();
    labels.dedup();
    match labels.as_slice() {
        every if all && every.len() == hosts.len() => String::new(),
        [one] => format!("host={one},"),
        some => format!("host=({}),", some.join(",")),
    }
}

/// The path where all see it under the same one, else what it is.
fn lun_of(seen: &[(usize, &ListedDevice)]) -> String {
    let Some((_, first)) = seen.first() else { return String::new() };
    let same = seen.iter().all(|(_, device)| device.path == first.path);
    match first.identity.as_deref().filter(|_| !same) {
        None => first.path.clone(),
        Some(identity) => match identity.strip_prefix("wwid:naa.") {
            Some(number) => format!("wwn:0x{number}"),
            None if identity.contains([' ', ',', '=']) => format!("\"{identity}\""),
            None => identity.to_owned(),
        },
    }
}

/// Size, model, identity, driver and paths.
fn remark(device: &ListedDevice) -> String {
    let parts = (!device.parts.is_empty()).then(|| format!("made of {}", device.parts.join(" ")));
    let driver = device.driver.as_ref().map(|driver| format!("driver {driver}"));
    let words = [Some(size(device.size)), device.model.clone(), device.identity.clone(), driver, parts];
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// A size as parameter files write it.
fn size(bytes: u64) -> String {
    let unit = UNITS.iter().find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit));
    unit.map_or_else(|| bytes.to_string(), |(unit, letter)| format!("{}{letter}", bytes / unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(path: &str, identity: Option<&str>) -> ListedDevice {
        ListedDevice {
            path: path.to_owned(),
            size: 100 << 30,
            identity: identity.map(str::to_owned),
            model: Some("IBM 2145".to_owned()),
            driver: Some("sd".to_owned()),
            ..ListedDevice::default()
        }
    }

    fn text(hosts: &[Host]) -> String {
        Listing::default().lines(hosts, true)
    }

    #[test]
    fn who_answers_late_is_listed_behind_the_others() {
        let (one, two) = (Some("wwid:naa.60050768"), Some("wwid:naa.60050769"));
        let mounted = ListedDevice { uses: vec!["it is mounted on /".to_owned()], ..device("/dev/sdx", two) };
        let mut listing = Listing::default();
        let mut text = listing.lines(&[host("a", vec![device("/dev/sdb", one), device("/dev/sdc", two)])], false);
        let late = vec![device("/dev/sdw", one), mounted, device("/dev/vdb", None)];
        text += &listing.lines(&[host("b", late)], false);
        insta::assert_snapshot!(text, @r"
        sd=sd1,host=a,lun=/dev/sdb,openflags=o_direct   * 100g, IBM 2145, wwid:naa.60050768, driver sd
        sd=sd2,host=a,lun=/dev/sdc,openflags=o_direct   * 100g, IBM 2145, wwid:naa.60050769, driver sd
        * sd=sd1 is there too: host=b,lun=/dev/sdw   * 100g, IBM 2145, wwid:naa.60050768, driver sd
        * in use: sd=sd2 is there too: host=b,lun=/dev/sdx   * 100g, IBM 2145, wwid:naa.60050769, driver sd; on host=b it is mounted on /
        sd=sd3,host=b,lun=/dev/vdb,openflags=o_direct   * 100g, IBM 2145, driver sd
        ");
    }

    fn host(label: &str, devices: Vec<ListedDevice>) -> Host {
        Host { label: label.to_owned(), devices }
    }

    #[test]
    fn what_a_host_says_stays_in_its_line() {
        let mut model = device("/dev/sdb", None);
        model.model = Some("x\nsd=sd2,lun=/dev/sda\u{1b}[2J".to_owned());
        let text = text(&[host("a", vec![model])]);
        assert!(
            text.ends_with(", x\\x0asd=sd2,lun=/dev/sda\\x1b[2J, driver sd\n") && text.lines().count() == 1,
            "{text}"
        );
    }

    #[test]
    fn free_devices_are_lines_and_used_ones_comments() {
        let map = ListedDevice {
            parts: vec!["sdb".to_owned(), "sdc".to_owned()],
            ..device("/dev/mapper/mpatha", Some("wwid:naa.60050768"))
        };
        let used = ListedDevice {
            uses: vec!["its partition sda1 is mounted on /".to_owned()],
            size: 1000,
            ..device("/dev/sda", None)
        };
        insta::assert_snapshot!(text(&[host("localhost", vec![used, map])]), @r"
        * in use: lun=/dev/sda   * 1000, IBM 2145, driver sd; its partition sda1 is mounted on /
        sd=sd1,lun=/dev/mapper/mpatha,openflags=o_direct   * 100g, IBM 2145, wwid:naa.60050768, driver sd, made of sdb sdc
        ");
    }

    #[test]
    fn a_lun_of_several_hosts_is_one_line() {
        let (one, two) = (Some("wwid:naa.60050768"), Some("wwid:t10.ATA Disk 12"));
        let hosts = [
            host("a", vec![device("/dev/sdb", one), device("/dev/sdc", two), device("/dev/vdb", None)]),
            host("b", vec![device("/dev/sdx", one), device("/dev/vdb", None)]),
            host("c", vec![device("/dev/sdb", one), device("/dev/sdy", two)]),
        ];
        insta::assert_snapshot!(text(&hosts), @r#"
        sd=sd1,lun=wwn:0x60050768,openflags=o_direct   * 100g, IBM 2145, wwid:naa.60050768, driver sd
        sd=sd2,host=(a,c),lun="wwid:t10.ATA Disk 12",openflags=o_direct   * 100g, IBM 2145, wwid:t10.ATA Disk 12, driver sd
        sd=sd3,host=a,lun=/dev/vdb,openflags=o_direct   * 100g, IBM 2145, driver sd
        sd=sd4,host=b,lun=/dev/vdb,openflags=o_direct   * 100g, IBM 2145, driver sd
        "#);
    }
}
