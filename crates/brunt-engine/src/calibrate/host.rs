//! What the host says of its clock, its idle states and its load. Reads only.

mod doubt;

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

pub use doubt::{Doubt, of as doubts};

/// Where the kernel's file systems are; elsewhere in tests.
#[derive(Debug, Clone)]
pub struct Roots {
    /// `/proc`
    pub proc: PathBuf,
    /// `/sys`
    pub sys: PathBuf,
    /// `/dev`
    pub dev: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self { proc: "/proc".into(), sys: "/sys".into(), dev: "/dev".into() }
    }
}

/// An idle state of the CPUs (`Documentation/admin-guide/pm/cpuidle.rst` of the kernel).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleState {
    /// Name, such as `C6`.
    pub name: String,
    /// What leaving it takes, µs.
    pub latency_us: u64,
    /// CPUs on which it may be entered.
    pub cpus: usize,
}

/// A host. What it does not tell is `None` or empty: virtual machines and containers hide much.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Host {
    /// CPUs that are online.
    pub cpus: usize,
    /// The clock source in use.
    pub clocksource: Option<String>,
    /// What chooses idle states.
    pub idle_driver: Option<String>,
    /// Idle states, the lightest first.
    pub idle: Vec<IdleState>,
    /// The latency that somebody asks of the idle states, µs (`/dev/cpu_dma_latency`); only root may look.
    pub cpu_dma_latency_us: Option<i32>,
    /// Frequency governors in use.
    pub governors: BTreeSet<String>,
    /// Whether the CPUs may go above their nominal frequency.
    pub turbo: Option<bool>,
    /// Threads that ran or wanted to, averaged over the last minute.
    pub load: Option<f64>,
}

/// CPU time since the boot, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticks {
    /// All of it.
    pub all: u64,
    /// What the hypervisor gave to others.
    pub steal: u64,
}

/// Reads all that the host tells.
pub fn read(roots: &Roots) -> Host {
    let cpus = cpus(&roots.sys);
    let governor = |cpu: &PathBuf| line(&cpu.join("cpufreq/scaling_governor"));
    Host {
        cpus: cpus.len(),
        clocksource: clocksource(roots),
        idle_driver: line(&roots.sys.join("devices/system/cpu/cpuidle/current_driver")).filter(|name| name != "none"),
        idle: idle_states(&cpus),
        cpu_dma_latency_us: cpu_dma_latency(&roots.dev),
        governors: cpus.iter().filter_map(governor).collect(),
        turbo: turbo(&roots.sys),
        load: line(&roots.proc.join("loadavg")).and_then(|text| text.split(' ').next()?.parse().ok()),
    }
}

/// The clock source in use.
pub fn clocksource(roots: &Roots) -> Option<String> {
    line(&roots.sys.join("devices/system/clocksource/clocksource0/current_clocksource"))
}

/// CPU time so far, from the first line of `/proc/stat` (proc_stat(5)).
pub fn ticks(roots: &Roots) -> Option<Ticks> {
    let text = fs::read_to_string(roots.proc.join("stat")).ok()?;
    let row = text.lines().next()?.strip_prefix("cpu ")?;
    // user nice system idle iowait irq softirq steal; what follows is within user and nice.
    let values: Vec<u64> = row.split_whitespace().take(8).map_while(|word| word.parse().ok()).collect();
    Some(Ticks { all: values.iter().sum(), steal: values.get(7).copied().unwrap_or(0) })
}

/// Percent of CPU time that was stolen between two looks.
pub fn stolen(before: Ticks, after: Ticks) -> Option<f64> {
    let all = after.all.checked_sub(before.all).filter(|all| *all > 0)?;
    Some(after.steal.saturating_sub(before.steal) as f64 * 100.0 / all as f64)
}

fn line(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// `…/cpu/cpu0` and so on: those that are online.
fn cpus(sys: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(sys.join("devices/system/cpu")) else { return Vec::new() };
    let number = |path: &PathBuf| path.file_name()?.to_str()?.strip_prefix("cpu")?.parse::<u32>().ok();
    let online = |path: &PathBuf| line(&path.join("online")).is_none_or(|text| text != "0");
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.filter(|path| number(path).is_some() && online(path)).collect()
}

fn idle_states(cpus: &[PathBuf]) -> Vec<IdleState> {
    let mut states: Vec<IdleState> = Vec::new();
    for cpu in cpus {
        for n in 0.. {
            let dir = cpu.join(format!("cpuidle/state{n}"));
            let Some(name) = line(&dir.join("name")) else { break };
            let latency_us = line(&dir.join("latency")).and_then(|text| text.parse().ok()).unwrap_or(0);
            let cpus = usize::from(line(&dir.join("disable")).is_none_or(|text| text == "0"));
            match states.iter_mut().find(|state| state.name == name && state.latency_us == latency_us) {
                Some(state) => state.cpus += cpus,
                None => states.push(IdleState { name, latency_us, cpus }),
            }
        }
    }
    states.sort_by(|a, b| a.latency_us.cmp(&b.latency_us).then_with(|| a.name.cmp(&b.name)));
    states
}

/// Four bytes: the lowest latency that anybody asks for, or 2,000 s when nobody does.
fn cpu_dma_latency(dev: &Path) -> Option<i32> {
    let mut bytes = [0; 4];
    fs::File::open(dev.join("cpu_dma_latency")).ok()?.read_exact(&mut bytes).ok()?;
    Some(i32::from_ne_bytes(bytes))
}

fn turbo(sys: &Path) -> Option<bool> {
    let cpu = sys.join("devices/system/cpu");
    let no_turbo = line(&cpu.join("intel_pstate/no_turbo")).map(|text| text == "0");
    no_turbo.or_else(|| line(&cpu.join("cpufreq/boost")).map(|text| text == "1"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &[u8])]) -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().unwrap();
        for (path, bytes) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let at = |name| dir.path().join(name);
        let roots = Roots { proc: at("proc"), sys: at("sys"), dev: at("dev") };
        (dir, roots)
    }

    #[test]
    fn a_host_is_read() {
        let cpu = "sys/devices/system/cpu";
        let state = |c: u32, s: u32, what: &str| format!("{cpu}/cpu{c}/cpuidle/state{s}/{what}");
        let mut files: Vec<(String, Vec<u8>)> = vec![
            ("sys/devices/system/clocksource/clocksource0/current_clocksource".into(), b"tsc\n".to_vec()),
            (format!("{cpu}/cpuidle/current_driver"), b"intel_idle\n".to_vec()),
            (format!("{cpu}/cpu0/cpufreq/scaling_governor"), b"powersave\n".to_vec()),
            (format!("{cpu}/cpu1/online"), b"1\n".to_vec()),
            (format!("{cpu}/cpu2/online"), b"0\n".to_vec()),
            (format!("{cpu}/intel_pstate/no_turbo"), b"0\n".to_vec()),
            ("proc/loadavg".into(), b"1.50 0.75 0.20 1/200 4711\n".to_vec()),
            ("proc/stat".into(), b"cpu  10 0 10 70 0 0 5 5 3 0\ncpu0 1\n".to_vec()),
            ("dev/cpu_dma_latency".into(), 2_000_000_000i32.to_ne_bytes().to_vec()),
        ];
        for c in 0..2 {
            for (s, (name, latency)) in [("POLL", "0"), ("C1", "2"), ("C6", "133")].into_iter().enumerate() {
                let s = s as u32;
                files.push((state(c, s, "name"), name.into()));
                files.push((state(c, s, "latency"), latency.into()));
                files.push((state(c, s, "disable"), if c == 1 && name == "C6" { "1".into() } else { "0".into() }));
            }
        }
        let files: Vec<(&str, &[u8])> = files.iter().map(|(p, b)| (p.as_str(), b.as_slice())).collect();
        let (_dir, roots) = tree(&files);
        let host = read(&roots);
        let idle = |name: &str, latency_us, cpus| IdleState { name: name.into(), latency_us, cpus };
        assert_eq!(host.idle, [idle("POLL", 0, 2), idle("C1", 2, 2), idle("C6", 133, 1)]);
        assert_eq!((host.cpus, host.load, host.turbo), (2, Some(1.5), Some(true)));
        assert_eq!((host.clocksource.as_deref(), host.idle_driver.as_deref()), (Some("tsc"), Some("intel_idle")));
        assert_eq!(host.governors, BTreeSet::from(["powersave".to_owned()]));
        assert_eq!(host.cpu_dma_latency_us, Some(2_000_000_000));
        assert_eq!(ticks(&roots), Some(Ticks { all: 100, steal: 5 }));
    }

    #[test]
    fn nothing_is_needed() {
        let (_dir, roots) = tree(&[]);
        assert_eq!(read(&roots), Host::default());
        assert_eq!(ticks(&roots), None);
    }

    #[test]
    fn steal_is_a_share() {
        let at = |all, steal| Ticks { all, steal };
        assert_eq!(stolen(at(100, 5), at(300, 15)), Some(5.0));
        assert_eq!(stolen(at(100, 5), at(100, 5)), None);
    }
}
