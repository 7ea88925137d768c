//! The plan of cores, in words.

use std::collections::BTreeSet;

use super::topology::Cpu;
use super::{Givens, Wish, list};
use crate::engine::Placement;

/// Devices that are named before the rest are counted.
const NAMED: usize = 3;

/// What a worker gets and why, a line for its log: `cores 0,2 (node 0, near nvme0n1; 1,3 are their siblings)`.
pub fn line(givens: &Givens, wish: &Wish, cores: &Placement) -> String {
    let topology = &givens.topology;
    let cpus = || cores.cpus.iter().filter_map(|number| topology.cpu(*number));
    let mut seen = BTreeSet::new();
    let (first, siblings): (Vec<&Cpu>, Vec<&Cpu>) = cpus().partition(|cpu| seen.insert(cpu.core));
    let mut reasons = Vec::new();
    if topology.has_nodes() {
        let nodes: BTreeSet<usize> = cpus().map(|cpu| cpu.node).collect();
        let mut place = format!("{} {}", plural("node", nodes.len()), list(nodes.iter().copied()));
        let near = wish.devices.iter().filter(|device| device.nodes.iter().any(|node| nodes.contains(node)));
        let near: Vec<&str> = near.map(|device| device.name.as_str()).collect();
        if !near.is_empty() {
            place.push_str(&format!(", near {}", names(&near)));
        }
        let away: Vec<&str> = wish
            .devices
            .iter()
            .filter(|d| !d.nodes.is_empty() && d.nodes.is_disjoint(&nodes))
            .map(|d| d.name.as_str())
            .collect();
        if !away.is_empty() {
            place.push_str(&format!(", far from {}", names(&away)));
        }
        reasons.push(place);
    }
    if !siblings.is_empty() {
        let are = if siblings.len() == 1 { "is their sibling" } else { "are their siblings" };
        reasons.push(format!("{} {are}", list(siblings.iter().map(|cpu| cpu.number))));
    }
    if let Some(text) = interrupts(wish, cores) {
        reasons.push(text);
    }
    if cores.shared {
        reasons.push("shared by the workers of this host".to_owned());
    }
    if let Some(quota) = givens.quota {
        let quota = (quota * 100.0).round() / 100.0;
        reasons.push(format!("the cgroup allows {quota} {}", if quota == 1.0 { "CPU" } else { "CPUs" }));
    }
    let mut text = format!("{} {}", plural("core", first.len()), list(first.iter().map(|cpu| cpu.number)));
    if !reasons.is_empty() {
        text.push_str(&format!(" ({})", reasons.join("; ")));
    }
    text
}

/// The cores that come last for the interrupts they take, where others take fewer.
fn interrupts(wish: &Wish, cores: &Placement) -> Option<String> {
    let count = |cpu: &usize| wish.busy.get(cpu).copied().unwrap_or(0);
    let least = cores.cpus.iter().map(count).min()?;
    let busy: Vec<usize> = cores.cpus.iter().copied().filter(|cpu| count(cpu) > least).collect();
    let devices: Vec<&str> = wish.devices.iter().filter(|d| !d.irqs.is_empty()).map(|d| d.name.as_str()).collect();
    let take = if busy.len() == 1 { "takes" } else { "take" };
    (!busy.is_empty()).then(|| format!("{} {take} interrupts of {}", list(busy), names(&devices)))
}

fn plural(word: &str, count: usize) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}

fn names(all: &[&str]) -> String {
    match all.len().checked_sub(NAMED) {
        Some(more) if more > 0 => format!("{} and {more} more", all[..NAMED].join(", ")),
        _ => all.join(", "),
    }
}
