//! The inventory of a host as plain text, for `config.html`.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use brunt_plan::work::{LunFacts, LunKind, LunQuery};

use super::device::Device;
use super::system::{System, device_number};
use super::{Roots, host_name, line};

/// Host, processors, memory and the devices of the luns, which have answered. What cannot be known is left out.
pub fn text(roots: &Roots, system: &System, queries: &[LunQuery], luns: &[LunFacts]) -> String {
    let mut text = String::new();
    let mut row = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name:<12} {value}");
        }
    };
    row("host", Some(host_name(&roots.proc)));
    row("kernel", line(&roots.proc.join("sys/kernel/osrelease")));
    let cpuinfo = fs::read_to_string(roots.proc.join("cpuinfo")).unwrap_or_default();
    row("processors", processors(&cpuinfo));
    let meminfo = fs::read_to_string(roots.proc.join("meminfo")).unwrap_or_default();
    row("memory", memory(&meminfo));
    for (query, facts) in queries.iter().zip(luns) {
        text.push('\n');
        let _ = writeln!(text, "sd {}: {}", query.name, query.lun);
        // One that hangs is not asked a second time.
        let path = facts.path.as_ref().unwrap_or(&query.lun);
        let number = (facts.kind == LunKind::Block).then(|| device_number(Path::new(path))).flatten();
        let device = number.and_then(|number| system.devices.get(&number));
        for (name, value) in device.map(device_rows).unwrap_or_default() {
            let _ = writeln!(text, "  {name:<16} {value}");
        }
    }
    text
}

/// `4 × Intel(R) Xeon(R)…`, one for each model.
fn processors(cpuinfo: &str) -> Option<String> {
    let values = |key: &str| {
        let rows = cpuinfo.lines().filter_map(|row| row.split_once(':'));
        let key = key.to_owned();
        rows.filter(move |(name, _)| name.trim() == key).map(|(_, value)| value.trim())
    };
    let count = values("processor").count();
    let models: BTreeSet<&str> = values("model name").collect();
    let models: Vec<&str> = models.into_iter().collect();
    match (count, models.is_empty()) {
        (0, _) => None,
        (_, true) => Some(count.to_string()),
        _ => Some(format!("{count} × {}", models.join(", "))),
    }
}

fn memory(meminfo: &str) -> Option<String> {
    let total = meminfo.lines().find_map(|row| row.strip_prefix("MemTotal:"))?;
    let kib: u64 = total.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(format!("{} MiB", kib / 1024))
}

/// Vendor and model of a disk.
pub fn model(device: &Device) -> Option<String> {
    let read = |path: &str| line(&device.disk_dir().join(path));
    // PCI has a number there.
    let vendor = read("device/vendor").filter(|vendor| !vendor.starts_with("0x"));
    let words: Vec<String> = [vendor, read("device/model")].into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// The kernel's driver of a disk.
pub fn driver(device: &Device) -> Option<String> {
    let disk = device.disk_dir();
    let link = |path: &str| Some(fs::canonicalize(disk.join(path)).ok()?.file_name()?.to_str()?.to_owned());
    link("device/driver").or_else(|| link("device/device/driver"))
}

fn device_rows(device: &Device) -> Vec<(&'static str, String)> {
    let disk = device.disk_dir();
    let read = |path: &str| line(&disk.join(path));
    let revision = read("device/rev").or_else(|| read("device/firmware_rev"));
    let model: Vec<String> = model(device).into_iter().chain(revision).collect();
    let rows = [
        ("device", Some(device.title())),
        ("size", Some(format!("{} bytes", device.size))),
        ("identity", device.identity.clone()),
        ("model", (!model.is_empty()).then(|| model.join(" "))),
        ("driver", driver(device)),
        ("scheduler", read("queue/scheduler")),
        ("queue requests", read("queue/nr_requests")),
        ("queue depth", read("device/queue_depth")),
        ("hardware queues", fs::read_dir(disk.join("mq")).ok().map(|queues| queues.count().to_string())),
        ("logical block", read("queue/logical_block_size")),
        ("physical block", read("queue/physical_block_size")),
        ("rotational", read("queue/rotational")),
        ("write cache", read("queue/write_cache")),
        ("numa node", read("device/numa_node").or_else(|| read("device/device/numa_node"))),
    ];
    rows.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_counted_by_model() {
        let info = "processor\t: 0\nmodel name\t: Fast CPU\n\nprocessor\t: 1\nmodel name\t: Fast CPU\n";
        assert_eq!(processors(info).unwrap(), "2 × Fast CPU");
        assert_eq!(processors("processor : 0\n").unwrap(), "1");
        assert_eq!(processors(""), None);
    }

    #[test]
    fn memory_is_in_mib() {
        assert_eq!(memory("MemTotal:       16384000 kB\nMemFree: 1 kB\n").unwrap(), "16000 MiB");
    }

    #[test]
    fn this_host_can_be_described() {
        let roots = Roots::default();
        let text = text(&roots, &System::read(&roots), &[], &[]);
        assert!(text.starts_with("host         "), "{text}");
        assert!(text.contains("\nkernel       ") && text.contains("\nmemory       "), "{text}");
    }
}
