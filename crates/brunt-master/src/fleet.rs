//! Who takes part: the agents, and how hosts and workers are numbered.

use std::net::IpAddr;
use std::time::Duration;

use brunt_event::AbortCause;
use brunt_plan::plan::Plan;
use brunt_plan::{SetupKind, SetupProblem};

use crate::launch::way::Way;

/// The agents of all hosts, in the order of [`Plan::hosts`].
#[derive(Debug)]
pub struct Fleet<L> {
    /// One per host.
    pub hosts: Vec<FleetHost<L>>,
}

/// One host's agent.
#[derive(Debug)]
pub struct FleetHost<L> {
    /// The way to it.
    pub link: L,
    /// The command line of each of its workers, for the console.
    pub commands: Vec<String>,
}

/// What the outside asks of a running execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Control {
    /// SIGINT or SIGTERM, by number. The first ends the run in order, the second leaves at once.
    Interrupt(i32),
    /// The execution cannot go on for a reason outside of it, such as a full output directory.
    Abort {
        /// Why.
        cause: AbortCause,
        /// One line.
        text: String,
    },
}

/// Numbers of hosts and workers. Workers are numbered over all hosts, host by host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    first: Vec<usize>,
    labels: Vec<String>,
    workers: Vec<WorkerPlace>,
    leases: Vec<Duration>,
}

/// Where a worker is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkerPlace {
    /// Index of its host.
    pub(crate) host: usize,
    /// `host-n`.
    pub(crate) label: String,
}

impl Layout {
    /// Numbers the workers of a plan.
    pub(crate) fn new(plan: &Plan) -> Self {
        let mut layout = Self { first: Vec::new(), labels: Vec::new(), workers: Vec::new(), leases: plan.leases() };
        for (host, h) in plan.hosts.iter().enumerate() {
            layout.first.push(layout.workers.len());
            layout.labels.push(h.label.clone());
            layout.workers.extend((0..h.workers).map(|n| WorkerPlace { host, label: h.worker_label(n) }));
        }
        layout
    }

    /// Number of hosts.
    pub(crate) fn hosts(&self) -> usize {
        self.first.len()
    }

    /// All workers.
    pub(crate) fn workers(&self) -> &[WorkerPlace] {
        &self.workers
    }

    /// The number of the n-th worker of a host, if there is such a one.
    pub(crate) fn worker(&self, host: usize, n: u32) -> Option<usize> {
        let w = self.first.get(host)? + n as usize;
        (self.workers.get(w)?.host == host).then_some(w)
    }

    /// The numbers of a host's workers.
    pub(crate) fn of_host(&self, host: usize) -> std::ops::Range<usize> {
        let first = self.first.get(host).copied().unwrap_or(self.workers.len());
        first..self.first.get(host + 1).copied().unwrap_or(self.workers.len())
    }

    /// The label of a host.
    pub(crate) fn host_label(&self, host: usize) -> &str {
        self.labels.get(host).map_or("?", String::as_str)
    }

    /// How long a host goes on alone.
    pub(crate) fn lease(&self, host: usize) -> Duration {
        self.leases.get(host).copied().unwrap_or_default()
    }

    /// The label of a worker.
    pub(crate) fn label(&self, worker: usize) -> &str {
        self.workers.get(worker).map_or("?", |w| &w.label)
    }
}

/// Whether a `system=` is the machine of the master: `localhost`, a loopback address, or its own host name.
pub fn is_this_machine(system: &str) -> bool {
    let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    is_machine_named(system, own.trim())
}

fn is_machine_named(system: &str, own: &str) -> bool {
    let name = system.trim_start_matches('[').trim_end_matches(']');
    if name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback()) {
        return true;
    }
    let short = own.split('.').next().unwrap_or_default();
    !short.is_empty() && (name.eq_ignore_ascii_case(own) || name.eq_ignore_ascii_case(short))
}

/// Why a plan cannot be run by this version; empty when it can. To be asked before anything is started.
pub fn refusals(plan: &Plan) -> Vec<SetupProblem> {
    let problem = |text, span| SetupProblem { kind: SetupKind::Setup, text, vdbench: None, span };
    let unsupported = plan.settings.unsupported.iter().map(|(span, text)| problem(text.clone(), *span));
    let nowhere = plan.hosts.iter().filter_map(|host| Way::of(host).err()).map(|text| problem(text, None));
    unsupported.chain(nowhere).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_several_names() {
        for name in
            ["localhost", "LocalHost", "127.0.0.1", "127.1.2.3", "::1", "[::1]", "db7", "db7.lab.example", "DB7"]
        {
            assert!(is_machine_named(name, "db7.lab.example"), "{name}");
        }
        for name in ["db8", "db7.other.example", "10.0.0.1", "localhost.lab", ""] {
            assert!(!is_machine_named(name, "db7.lab.example"), "{name}");
        }
        assert!(!is_machine_named("", ""));
    }
}
