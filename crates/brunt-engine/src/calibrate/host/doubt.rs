//! What makes numbers of this host doubtful.

use std::collections::BTreeSet;
use std::fmt;

use brunt_stats::Spread;

use super::Host;

/// Clock sources that every reading goes to a device for, a microsecond or more each.
const SLOW_CLOCKS: [&str; 5] = ["hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"];
/// Load per CPU from which on other work is felt.
const LOAD_PER_CPU: f64 = 0.25;
/// Percent of CPU time.
const STEAL_PCT: f64 = 1.0;
/// Leaving an idle state costs more than a quick I/O's lateness may be.
const DEEP_US: u64 = 20;

/// A reason to doubt a number, with its cure.
#[derive(Debug, Clone, PartialEq)]
pub enum Doubt {
    /// The clock source is a slow device.
    SlowClock(String),
    /// Reading the clock is a system call.
    ClockCall {
        /// A reading, ns.
        read_ns: f64,
    },
    /// Other work was about.
    Load {
        /// Of the last minute.
        load: f64,
        /// CPUs.
        cpus: usize,
    },
    /// The hypervisor gave time to others.
    Steal {
        /// Percent of all CPU time while it was measured.
        percent: f64,
    },
    /// Frequencies follow the load, so that a quiet thread is a slow one.
    Governor(BTreeSet<String>),
    /// Frequencies go up and down with the heat.
    Turbo,
    /// Idle CPUs sleep deeply.
    DeepIdle {
        /// Name of the deepest state that is allowed.
        name: String,
        /// What leaving it takes.
        latency_us: u64,
    },
    /// Not built for speed.
    DebugBuild,
}

/// What there is to doubt. `read` and `call` are what reading the clock costs, by itself and as a system call.
pub fn of(host: &Host, read: Option<Spread>, call: Option<Spread>, stolen_pct: Option<f64>) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    if let Some(name) = host.clocksource.as_ref().filter(|name| SLOW_CLOCKS.contains(&name.as_str())) {
        doubts.push(Doubt::SlowClock(name.clone()));
    } else if let (Some(read), Some(call)) = (read, call) {
        // Through the vDSO it takes half of a call and less.
        if read.p50_ns > 0.8 * call.p50_ns {
            doubts.push(Doubt::ClockCall { read_ns: read.p50_ns });
        }
    }
    if let Some(load) = host.load.filter(|load| *load > LOAD_PER_CPU * host.cpus.max(1) as f64) {
        doubts.push(Doubt::Load { load, cpus: host.cpus });
    }
    if let Some(percent) = stolen_pct.filter(|percent| *percent > STEAL_PCT) {
        doubts.push(Doubt::Steal { percent });
    }
    if host.governors.iter().any(|name| name != "performance") {
        doubts.push(Doubt::Governor(host.governors.clone()));
    }
    if host.turbo == Some(true) {
        doubts.push(Doubt::Turbo);
    }
    let allowed = |us: u64| host.cpu_dma_latency_us.is_none_or(|asked| us <= u64::try_from(asked).unwrap_or(0));
    let deepest = host.idle.iter().rev().find(|state| state.cpus > 0 && allowed(state.latency_us));
    if let Some(state) = deepest.filter(|state| state.latency_us >= DEEP_US) {
        doubts.push(Doubt::DeepIdle { name: state.name.clone(), latency_us: state.latency_us });
    }
    if cfg!(debug_assertions) {
        doubts.push(Doubt::DebugBuild);
    }
    doubts
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::SlowClock(name) => write!(
                f,
                "the clock source is {name}, a device that every reading waits for; boot with clocksource=tsc where the \
                 TSC is stable"
            ),
            Doubt::ClockCall { read_ns } => write!(
                f,
                "a reading of the clock is a system call of {read_ns:.0} ns; look whether the hypervisor offers a clock \
                 source for the vDSO (kvm-clock, hyperv_clocksource_tsc_page, tsc)"
            ),
            Doubt::Load { load, cpus } => write!(
                f,
                "the load of the last minute is {load:.2} on {cpus} CPUs; other work is in these numbers, repeat them on \
                 a quiet host"
            ),
            Doubt::Steal { percent } => {
                write!(
                    f,
                    "the hypervisor gave {percent:.1} % of the CPU time to others; percentiles and maxima show that"
                )
            }
            Doubt::Governor(names) => {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                write!(
                    f,
                    "the frequency governor is {}; threads that sleep much run slowly: cpupower frequency-set -g performance",
                    names.join(", ")
                )
            }
            Doubt::Turbo => f.write_str("turbo is on: frequencies follow heat and neighbours, so runs differ"),
            Doubt::DeepIdle { name, latency_us } => write!(
                f,
                "idle CPUs may enter {name}, which takes {latency_us} µs to leave; misc=(cpu_latency=µs) forbids it \
                 during runs"
            ),
            Doubt::DebugBuild => f.write_str("this is a debug build: its costs say nothing"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::IdleState;
    use super::*;

    fn quiet() -> Host {
        Host {
            cpus: 4,
            clocksource: Some("tsc".into()),
            load: Some(0.1),
            governors: BTreeSet::from(["performance".to_owned()]),
            turbo: Some(false),
            idle: vec![IdleState { name: "C1".into(), latency_us: 2, cpus: 4 }],
            ..Host::default()
        }
    }

    fn about(ns: f64) -> Option<Spread> {
        Spread::of([ns])
    }

    /// Without the one that every test has.
    fn doubts(host: &Host, read: f64, stolen: f64) -> Vec<Doubt> {
        let mut all = of(host, about(read), about(120.0), Some(stolen));
        all.retain(|doubt| *doubt != Doubt::DebugBuild);
        all
    }

    #[test]
    fn a_quiet_host_leaves_none() {
        assert_eq!(doubts(&quiet(), 27.0, 0.0), []);
    }

    #[test]
    fn each_has_its_reason() {
        let slow = Host { clocksource: Some("hpet".into()), ..quiet() };
        assert_eq!(doubts(&slow, 1200.0, 0.0), [Doubt::SlowClock("hpet".into())]);
        assert_eq!(doubts(&quiet(), 118.0, 0.0), [Doubt::ClockCall { read_ns: 118.0 }]);
        assert_eq!(doubts(&quiet(), 27.0, 2.5), [Doubt::Steal { percent: 2.5 }]);
        let busy = Host { load: Some(1.5), turbo: Some(true), ..quiet() };
        assert_eq!(doubts(&busy, 27.0, 0.0), [Doubt::Load { load: 1.5, cpus: 4 }, Doubt::Turbo]);
        let saving = BTreeSet::from(["performance".to_owned(), "powersave".to_owned()]);
        assert_eq!(doubts(&Host { governors: saving.clone(), ..quiet() }, 27.0, 0.0), [Doubt::Governor(saving)]);
    }

    #[test]
    fn deep_sleep_counts_where_it_is_allowed() {
        let deep = |cpus, asked| Host {
            idle: vec![
                IdleState { name: "C1".into(), latency_us: 2, cpus: 4 },
                IdleState { name: "C6".into(), latency_us: 133, cpus },
            ],
            cpu_dma_latency_us: asked,
            ..quiet()
        };
        let found = [Doubt::DeepIdle { name: "C6".into(), latency_us: 133 }];
        assert_eq!(doubts(&deep(1, None), 27.0, 0.0), found);
        assert_eq!(doubts(&deep(4, Some(2_000_000_000)), 27.0, 0.0), found);
        assert_eq!(doubts(&deep(0, None), 27.0, 0.0), []);
        assert_eq!(doubts(&deep(4, Some(10)), 27.0, 0.0), []);
    }
}
