//! Which hosts are one machine under several labels.

use std::collections::HashMap;

use crate::plan::Plan;
use crate::work::HostTraits;

/// The machine of each host.
pub(crate) struct Machines {
    /// By host: the first host that is the same machine.
    first: Vec<usize>,
}

/// What a machine is told by.
#[derive(PartialEq, Eq, Hash)]
enum Told<'a> {
    /// What it says itself.
    Kernel(&'a str),
    /// Its name, when it has not been asked.
    Name(&'a str),
}

impl Machines {
    /// Compares what the hosts say of themselves; of those that say nothing, their names.
    pub(crate) fn of_plan(plan: &Plan, traits: &[HostTraits]) -> Self {
        let mut known: HashMap<Told, usize> = HashMap::new();
        let mut first = Vec::with_capacity(plan.hosts.len());
        for (host, named) in plan.hosts.iter().enumerate() {
            let kernel = traits.get(host).and_then(|traits| traits.machine.as_deref());
            let told = kernel.map_or(Told::Name(&named.system), Told::Kernel);
            first.push(*known.entry(told).or_insert(host));
        }
        Self { first }
    }

    /// The number of a host's machine.
    pub(crate) fn of(&self, host: usize) -> usize {
        self.first.get(host).copied().unwrap_or(host)
    }
}
