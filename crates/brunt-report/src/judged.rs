//! What is said of a run when it is over: whether the kernel saw the same I/Os, and what limited it (`docs/verdicts.md`).

use std::collections::BTreeMap;

use brunt_event::{Compared, Difference, Limit, Witnessed, WitnessedDevice};

use crate::context::Context;
use crate::message::{ALL, LOG, To};
use crate::number::{commas, fixed, trimmed};

/// Lines about what the kernel counted. Devices that agree are told in one line of the log; of those that differ in the
/// same way the first is told everywhere, the others in the log.
pub(crate) fn witnessed(context: &Context, run: &str, witnessed: &Witnessed) -> Vec<(To, String)> {
    let mut lines = Vec::new();
    let mut alike: BTreeMap<[Option<Difference>; 2], Vec<&WitnessedDevice>> = BTreeMap::new();
    for device in &witnessed.devices {
        alike.entry([device.read.difference, device.write.difference]).or_default().push(device);
    }
    for (differences, devices) in alike {
        let differences: Vec<Difference> = differences.into_iter().flatten().collect();
        let Some((first, others)) = devices.split_first() else { continue };
        if differences.is_empty() {
            lines.push((LOG, agreed(context, run, first, others.len())));
            continue;
        }
        // What goes on in any sequential run is no news.
        if differences.iter().all(|d| *d == Difference::Merged) {
            lines.extend(devices.iter().map(|merged| (LOG, format!("note: rd={run}: {}", device(context, merged)))));
            continue;
        }
        let level = if differences.iter().any(|d| is_grave(*d)) { "warning" } else { "note" };
        let more = match others.len() {
            0 => String::new(),
            1 => ". One more device is like it, see logfile.html".to_owned(),
            n => format!(". {n} more devices are like it, see logfile.html"),
        };
        lines.push((ALL, format!("{level}: rd={run}: {}{more}", device(context, first))));
        lines.extend(others.iter().map(|other| (LOG, format!("{level}: rd={run}: {}", device(context, other)))));
    }
    lines
}

fn agreed(context: &Context, run: &str, first: &WitnessedDevice, others: usize) -> String {
    let name = format!("{} of host={}", first.device, context.host(first.host));
    match others {
        0 => format!("rd={run}: the kernel counted the same I/Os at {name}"),
        n => format!("rd={run}: the kernel counted the same I/Os at {name} and {n} more"),
    }
}

/// Whether the numbers of a run may mean something else than was thought.
fn is_grave(difference: Difference) -> bool {
    match difference {
        Difference::Split | Difference::Merged | Difference::Failed | Difference::NotCounted => false,
        Difference::PageCache | Difference::ReadAhead | Difference::Missing | Difference::Foreign => true,
    }
}

/// `loop0 of host=localhost (sd1): …`
fn device(context: &Context, device: &WitnessedDevice) -> String {
    let names = device.sds.iter().filter_map(|sd| Some(context.planned.sds.get(*sd as usize)?.name.as_str()));
    let directions = [("reads", &device.read), ("writes", &device.write)];
    let told = directions.into_iter().filter_map(|(word, c)| Some(direction(word, c, c.difference?, device)));
    format!(
        "{} of host={} ({}): {}",
        device.device,
        context.host(device.host),
        names.collect::<Vec<_>>().join(" "),
        told.collect::<Vec<_>>().join("; ")
    )
}

fn direction(word: &str, c: &Compared, difference: Difference, device: &WitnessedDevice) -> String {
    format!(
        "the kernel counted {} {word} of {} bytes, Brunt did {} of {}: {}",
        commas(c.kernel_commands),
        commas(c.kernel_bytes),
        commas(c.ios),
        commas(c.bytes),
        reason(difference, device)
    )
}

fn reason(difference: Difference, device: &WitnessedDevice) -> String {
    match difference {
        Difference::Split => format!("I/Os were split{}", largest(device)),
        Difference::Merged => "several I/Os went in one command".to_owned(),
        Difference::PageCache => "the page cache took the rest, openflags=o_direct goes round it".to_owned(),
        Difference::ReadAhead => {
            "the page cache reads ahead and in whole pages (openflags=o_direct goes round it), or somebody else uses the \
             device"
                .to_owned()
        }
        Difference::Failed => "the others failed before they came there".to_owned(),
        Difference::NotCounted => "it does not count there (queue/iostats is off, or the driver does not)".to_owned(),
        Difference::Missing => "the others never came there".to_owned(),
        Difference::Foreign => "somebody else uses the device, or it has another path".to_owned(),
    }
}

/// What a command holds, as far as it is known.
fn largest(device: &WitnessedDevice) -> String {
    let kib = device.max_sectors_kb.map(|n| format!("{n} KiB (queue/max_sectors_kb)"));
    let pieces = device.max_segments.map(|n| format!("{n} pieces of memory (queue/max_segments)"));
    let limits: Vec<String> = kib.into_iter().chain(pieces).collect();
    if limits.is_empty() { String::new() } else { format!(", a command holds at most {}", limits.join(" and ")) }
}

/// A line for each limit.
pub(crate) fn limited(context: &Context, run: &str, limits: &[Limit]) -> Vec<(To, String)> {
    let no_core_left = limits.iter().any(|limit| matches!(limit, Limit::HostCpu { .. }));
    let line = |limit| (ALL, format!("warning: rd={run}: {}", limit_text(context, limit, no_core_left)));
    limits.iter().map(line).collect()
}

/// What helps a late or slow generator: one that watches the clock takes a core, which must be there.
fn cure(no_core_left: bool, else_cure: &'static str) -> &'static str {
    if no_core_left {
        "Its processors are busy, see below: more hosts, or more processors, may help"
    } else {
        else_cure
    }
}

fn limit_text(context: &Context, limit: &Limit, no_core_left: bool) -> String {
    match limit {
        Limit::GeneratorShort { asked, reached, lanes, busy_lanes } => format!(
            "limited by the load generator: {} of {} I/Os per second, while {} of {lanes} threads had an I/O out. {}",
            fixed(*reached, 1),
            fixed(*asked, 1),
            fixed(*busy_lanes, 1),
            cure(no_core_left, "More jvms=, more hosts or misc=(wait=spin) may help")
        ),
        Limit::GeneratorLate { lateness_ns, service_ns, .. } => format!(
            "limited by the load generator: half of the I/Os were more than {} ms late, where half of them take {} ms. {}",
            milliseconds(*lateness_ns),
            milliseconds(*service_ns),
            cure(no_core_left, "misc=(wait=spin), misc=(cpu_latency=0), more jvms= or more hosts may help")
        ),
        Limit::HostCpu { host, busy_percent, steal_percent } => {
            let host = context.host(*host);
            let stolen = match *steal_percent >= 1.0 {
                true => format!(", and the hypervisor gave {}% of their time to others", fixed(*steal_percent, 1)),
                false => String::new(),
            };
            format!(
                "limited by the processors of host={host}: those that do I/O were {}% busy{stolen}. More hosts, or more \
                 processors for this one, may help",
                fixed(*busy_percent, 1)
            )
        }
    }
}

fn milliseconds(ns: u64) -> String {
    trimmed(ns as f64 / 1e6, 4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_event::{Compat, Opened, PlannedSd};

    fn context() -> Context {
        let mut context = Context::new(&Opened {
            schema: 1,
            version: String::new(),
            compat: Compat::V50407,
            as_vdbench: false,
            created: true,
            directory: "/out".to_owned(),
            program: String::new(),
            working_directory: String::new(),
            decimal_mb: false,
            simulate: false,
            zone: String::new(),
            seed: 1,
            pid: 1,
            birth: None,
        });
        context.planned.hosts = vec!["localhost".into(), "hosta".into()];
        context.planned.sds = ["sd1", "sd2"].map(|name| PlannedSd { name: name.into(), luns: Vec::new() }).to_vec();
        context
    }

    fn found(device: &str, read: Option<Difference>, write: Option<Difference>) -> WitnessedDevice {
        let compared = |ios: u64, difference: Option<Difference>| Compared {
            ios,
            bytes: ios << 20,
            kernel_commands: if difference.is_some() { ios * 8 } else { ios },
            kernel_merges: 0,
            kernel_bytes: ios << 20,
            difference,
        };
        WitnessedDevice {
            host: 1,
            device: device.into(),
            sds: vec![0, 1],
            max_sectors_kb: Some(128),
            max_segments: Some(33),
            read: compared(1_000, read),
            write: compared(7, write),
        }
    }

    fn shown(lines: &[(To, String)]) -> String {
        let place = |to: &To| if *to == ALL { "all" } else { "log" };
        lines.iter().map(|(to, line)| format!("{}: {line}", place(to))).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn devices_are_told_by_what_differs() {
        use Difference::*;
        let devices = vec![
            found("sda", None, None),
            found("sdb", Some(Split), None),
            found("sdc", Some(Foreign), Some(PageCache)),
            found("sdd", None, None),
            found("sde", Some(Split), None),
            found("sdf", None, Some(Merged)),
        ];
        insta::assert_snapshot!(shown(&witnessed(&context(), "rd1", &Witnessed { run: 0, devices })));
    }

    #[test]
    fn every_reason_has_words() {
        use Difference::*;
        let all = [Split, Merged, PageCache, ReadAhead, Failed, NotCounted, Missing, Foreign];
        let text: Vec<String> = all.iter().map(|d| reason(*d, &found("sda", None, None))).collect();
        insta::assert_snapshot!(text.join("\n"));
    }

    #[test]
    fn limits_have_numbers_and_a_cure() {
        let limits = [
            Limit::GeneratorShort { asked: 1000.0, reached: 950.04, lanes: 8, busy_lanes: 0.26 },
            Limit::GeneratorLate { lateness_ns: 61_440, service_ns: 39_040, ios: 9_000 },
            Limit::HostCpu { host: 1, busy_percent: 98.25, steal_percent: 0.4 },
            Limit::HostCpu { host: 0, busy_percent: 60.0, steal_percent: 37.0 },
        ];
        insta::assert_snapshot!(shown(&limited(&context(), "rd1", &limits[..2])));
        // Watching the clock would take what is short.
        insta::assert_snapshot!("limits_with_busy_processors", shown(&limited(&context(), "rd1", &limits)));
    }
}
