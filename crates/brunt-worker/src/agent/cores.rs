//! Which cores each worker of a host gets.

pub mod near;
pub mod told;
pub mod topology;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use near::Near;
use topology::Topology;

use super::cgroup::Cgroups;
use crate::engine::Placement;
use crate::inspect::Roots;

/// The largest number of CPUs that a kernel can be built for is 8192 (`CONFIG_NR_CPUS`); more is a mistake.
const MOST_CPUS: usize = 1 << 16;

/// Reads a list as the kernel writes it: `0-3,8`. `None` when it is not one.
pub fn parse(list: &str) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for part in list.trim().split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to): (usize, usize) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
        if from > to || to >= MOST_CPUS {
            return None;
        }
        all.extend(from..=to);
    }
    all.sort_unstable();
    all.dedup();
    Some(all)
}

/// The CPUs that this process may use: its affinity mask, which has any number of CPUs in `/proc/self/status`, and the
/// cpuset of its cgroup.
///
/// # Errors
/// A sentence when the mask cannot be read.
pub fn allowed(proc: &Path, cgroups: &Cgroups) -> Result<Vec<usize>, String> {
    let status = fs::read_to_string(proc.join("self/status"))
        .map_err(|error| format!("the cores of this process are unknown: {}/self/status: {error}", proc.display()))?;
    let mask = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).and_then(parse);
    let mask = mask.ok_or("the cores of this process are unknown: /proc/self/status has no Cpus_allowed_list")?;
    let set = cgroups.cpus().and_then(|list| parse(&list));
    let both: Vec<usize> = mask.iter().copied().filter(|cpu| set.as_ref().is_none_or(|s| s.contains(cpu))).collect();
    // A cpuset that has nothing in common with the mask is not the one that the kernel goes by.
    Ok(if both.is_empty() { mask } else { both })
}

/// The CPUs that `misc=(cpus=)` names, all of which must be allowed.
///
/// # Errors
/// A sentence with the CPU that is not.
pub fn wanted<'a>(wanted: &'a [usize], allowed: &[usize]) -> Result<&'a [usize], String> {
    match wanted.iter().find(|core| !allowed.contains(core)) {
        Some(core) => Err(format!(
            "core {core} of misc=(cpus=) is not among those this process may use: {}",
            list(allowed.iter().copied())
        )),
        None => Ok(wanted),
    }
}

/// What the plan of a host is made from.
#[derive(Debug, Clone)]
pub struct Givens {
    /// The CPUs to be dealt.
    pub topology: Topology,
    /// How many of them pay, in CPU time; `None`: all.
    pub quota: Option<f64>,
    /// Of each worker: the hardware behind its luns, and how many interrupts of it each CPU takes.
    pub workers: Vec<Wish>,
}

/// What a worker would like to be near to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wish {
    /// Its devices.
    pub devices: Vec<Near>,
    /// Interrupts of them by CPU.
    pub busy: BTreeMap<usize, usize>,
}

impl Wish {
    fn nodes(&self) -> BTreeSet<usize> {
        self.devices.iter().flat_map(|device| device.nodes.iter().copied()).collect()
    }

    /// How little a core pleases: far from the devices, busy with their interrupts; else package by package.
    fn badness(&self, topology: &Topology, core: &[usize]) -> (bool, usize, usize, usize, usize) {
        let nodes = self.nodes();
        let first = core.first().and_then(|cpu| topology.cpu(*cpu));
        let far = !nodes.is_empty() && first.is_none_or(|cpu| !nodes.contains(&cpu.node));
        let busy = core.iter().filter_map(|cpu| self.busy.get(cpu)).sum();
        let (package, whole, number) = first.map_or((0, 0, 0), |cpu| (cpu.package, cpu.core, cpu.number));
        (far, busy, package, whole, number)
    }
}

/// The plan of a host: cores apart when there are enough, else the same for all; whole cores before their siblings.
pub fn plan(givens: &Givens) -> Vec<Placement> {
    let Givens { topology, quota, workers } = givens;
    let mut cores = whole_cores(topology);
    let count = workers.len();
    if let (Some(quota), Some(any)) = (quota, workers.first()) {
        cores.sort_by_key(|core| any.badness(topology, core));
        let pays = whole_first(&cores).into_iter().take((quota.ceil() as usize).max(1)).collect::<Vec<_>>();
        cores.iter_mut().for_each(|core| core.retain(|cpu| pays.contains(cpu)));
        cores.retain(|core| !core.is_empty());
    }
    let siblings: Vec<Vec<usize>> = cores.iter().flatten().map(|cpu| vec![*cpu]).collect();
    let mut units = match () {
        () if cores.len() >= count => cores,
        () if siblings.len() >= count => siblings,
        () => {
            let order = |wish: &Wish| {
                let mut mine = cores.clone();
                mine.sort_by_key(|core| wish.badness(topology, core));
                Placement { cpus: whole_first(&mine), shared: true }
            };
            return workers.iter().map(order).collect();
        }
    };
    let (each, more) = (units.len() / count.max(1), units.len() % count.max(1));
    // Who has something to be near to chooses first.
    let mut turns: Vec<usize> = (0..count).collect();
    turns.sort_by_key(|worker| workers[*worker].nodes().is_empty());
    let mut dealt = vec![Placement::default(); count];
    for worker in turns {
        units.sort_by_key(|core| workers[worker].badness(topology, core));
        let rest = units.split_off((each + usize::from(worker < more)).min(units.len()));
        dealt[worker].cpus = whole_first(&units);
        units = rest;
    }
    dealt
}

/// The CPUs by core.
fn whole_cores(topology: &Topology) -> Vec<Vec<usize>> {
    let mut cores: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for cpu in &topology.cpus {
        cores.entry((cpu.package, cpu.core)).or_default().push(cpu.number);
    }
    cores.into_values().collect()
}

/// One CPU of each core, then their second ones, and so on.
fn whole_first(cores: &[Vec<usize>]) -> Vec<usize> {
    let deepest = cores.iter().map(Vec::len).max().unwrap_or(0);
    (0..deepest).flat_map(|n| cores.iter().filter_map(move |core| core.get(n).copied())).collect()
}

/// Writes numbers as the kernel does: `0-3,8`.
pub fn list(numbers: impl IntoIterator<Item = usize>) -> String {
    let mut sorted: Vec<usize> = numbers.into_iter().collect();
    sorted.sort_unstable();
    let runs = sorted.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [one] => one.to_string(),
        [a, b] => format!("{a},{b}"),
        run => format!("{}-{}", run[0], run[run.len() - 1]),
    });
    runs.collect::<Vec<_>>().join(",")
}

/// Everything that the plan is made from, of this host. `luns` are those of each worker.
///
/// # Errors
/// Cores that cannot be had, in a sentence.
pub fn givens(roots: &Roots, chosen: &[usize], luns: &[Vec<String>]) -> Result<Givens, String> {
    let cgroups = Cgroups::read(&roots.proc);
    let allowed = allowed(&roots.proc, &cgroups)?;
    let chosen = wanted(chosen, &allowed)?;
    let cpus = if chosen.is_empty() { &allowed[..] } else { chosen };
    let topology = Topology::read(&roots.sys, cpus);
    // Cores that were named are used; how much of them is not ours to judge.
    let quota = cgroups.quota().filter(|quota| chosen.is_empty() && *quota < cpus.len() as f64);
    let mut workers = vec![Wish::default(); luns.len()];
    if cpus.len() > 1 {
        let (mut found, mut known) = (BTreeMap::new(), BTreeMap::new());
        for (wish, luns) in workers.iter_mut().zip(luns) {
            let mut near =
                |lun: &String| found.entry(lun.clone()).or_insert_with(|| near::of_lun(roots, Path::new(lun))).clone();
            let mut devices: Vec<Near> = luns.iter().filter_map(&mut near).collect();
            devices.sort_by(|a, b| a.name.cmp(&b.name));
            devices.dedup();
            let irqs: BTreeSet<u32> = devices.iter().flat_map(|d| d.irqs.iter().copied()).collect();
            wish.busy = near::busy(roots, irqs.iter(), cpus, &mut known);
            wish.devices = devices;
        }
    }
    Ok(Givens { topology, quota, workers })
}

#[cfg(test)]
mod tests;
