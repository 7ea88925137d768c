//! The CPUs of a host: which share a core, a package, a NUMA node.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::parse;

/// A CPU as the kernel numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cpu {
    /// Its number.
    pub number: usize,
    /// The lowest number of its core: siblings have the same.
    pub core: usize,
    /// Its package.
    pub package: usize,
    /// Its NUMA node.
    pub node: usize,
}

/// CPUs that may be used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Topology {
    /// In order of their numbers.
    pub cpus: Vec<Cpu>,
}

impl Topology {
    /// Reads what sysfs says of these CPUs. One of which nothing is known is a core of its own, in package and node 0.
    pub fn read(sys: &Path, cpus: &[usize]) -> Self {
        let nodes = nodes(&sys.join("devices/system/node"));
        let read = |number: usize| {
            let topology = sys.join(format!("devices/system/cpu/cpu{number}/topology"));
            let text = |name: &str| fs::read_to_string(topology.join(name)).ok();
            let siblings = text("thread_siblings_list").and_then(|text| parse(&text));
            Cpu {
                number,
                core: siblings.and_then(|all| all.first().copied()).unwrap_or(number),
                package: text("physical_package_id").and_then(|text| text.trim().parse().ok()).unwrap_or(0),
                node: nodes.get(&number).copied().unwrap_or(0),
            }
        };
        Self { cpus: cpus.iter().copied().map(read).collect() }
    }

    /// Whether there is more than one NUMA node.
    pub fn has_nodes(&self) -> bool {
        self.cpus.windows(2).any(|two| two[0].node != two[1].node)
    }

    /// What is known of a CPU.
    pub fn cpu(&self, number: usize) -> Option<&Cpu> {
        self.cpus.iter().find(|cpu| cpu.number == number)
    }
}

/// The node of each CPU, from `node0/cpulist` and so on.
fn nodes(dir: &Path) -> BTreeMap<usize, usize> {
    let mut found = BTreeMap::new();
    let Ok(entries) = fs::read_dir(dir) else { return found };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let node = name.to_str().and_then(|name| name.strip_prefix("node")?.parse().ok());
        let list = fs::read_to_string(entry.path().join("cpulist")).ok().and_then(|text| parse(&text));
        if let (Some(node), Some(list)) = (node, list) {
            found.extend(list.into_iter().map(|cpu| (cpu, node)));
        }
    }
    found
}
