//! The back end of each SD on each host, from everything that the execution does with it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::{Lun, Nature, SetupNotice, SetupProblem, Sighting, notices};
use crate::deal::{shares, threads};
use crate::engine::{Asked, Choice, Need, Why, choose};
use crate::plan::{Plan, Rate, Run, RunKind, Workload};
use crate::work::{Backend, EngineSupport, HostTraits, LunKind};

/// Most lanes that an SD has on a host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Lanes {
    /// On all its workers together.
    host: u32,
    /// On one of them.
    worker: u32,
}

/// What all runs do with the SDs.
struct Demand {
    /// By SD: whether a measured run goes through the page cache.
    cached: Vec<bool>,
    /// By SD: whether a measured run issues by due times.
    paced: Vec<bool>,
    /// By SD and host.
    lanes: HashMap<(usize, usize), Lanes>,
}

/// All that is known of the luns.
pub(crate) struct Known<'a> {
    pub(crate) plan: &'a Plan,
    /// By SD; `None` where it is not used.
    pub(crate) luns: &'a [Option<Lun>],
    /// By SD: what the hosts say.
    pub(crate) by_sd: &'a [Vec<Sighting<'a>>],
    /// By host; one that is not there has all back ends.
    pub(crate) hosts: &'a [HostTraits],
}

/// Chooses for all SDs that are used, and warns of devices that take fewer I/Os at once than they are given.
pub(crate) fn choose_all(
    known: &Known,
    problems: &mut Vec<SetupProblem>,
    notices: &mut Vec<SetupNotice>,
) -> Vec<Vec<Option<Choice>>> {
    let Known { plan, luns, by_sd, hosts } = known;
    let demand = Demand::of(plan, luns);
    let asked = plan.settings.engine;
    let whole = EngineSupport::default();
    let mut engines = vec![vec![None; plan.hosts.len()]; plan.sds.len()];
    let mut crowded = Crowded::default();
    for (at, lun) in luns.iter().enumerate() {
        let Some(lun) = lun else { continue };
        if asked == Asked::Null || matches!(lun.nature, Nature::Sim(_)) {
            engines[at] = without_device(plan, at, asked);
            continue;
        }
        for seen in &by_sd[at] {
            let lanes = demand.lanes.get(&(at, seen.host)).copied().unwrap_or_default();
            let made = seen.facts.kind == LunKind::File && seen.facts.size < lun.size;
            let need = Need { direct: !demand.cached[at], lanes: lanes.worker, paced: demand.paced[at], made };
            let support = hosts.get(seen.host).map_or(&whole, |traits| &traits.engines);
            match choose(seen.facts, need, support, asked) {
                Ok(choice) => engines[at][seen.host] = Some(choice),
                Err(unavailable) => {
                    let (sd, host) = (&plan.sds[at], &plan.hosts[seen.host].label);
                    let text = format!("sd={}: host={host}: {unavailable}", sd.name);
                    problems.push(SetupProblem::setup(text, sd.span));
                }
            }
            if need.direct {
                crowded.look(at, lanes.host, seen.facts.tags);
            }
        }
    }
    notices.extend(crowded.words(plan, by_sd));
    engines
}

/// The same on all hosts that have it.
fn without_device(plan: &Plan, sd: usize, asked: Asked) -> Vec<Option<Choice>> {
    let (backend, why) = match asked {
        Asked::Null => (Backend::Null, Why::NoDevice),
        _ => (Backend::Sim, Why::Simulated),
    };
    let choice = Choice { backend, why };
    plan.sds[sd].lun.iter().map(|lun| lun.as_ref().map(|_| choice.clone())).collect()
}

impl Demand {
    fn of(plan: &Plan, luns: &[Option<Lun>]) -> Self {
        let none = vec![false; plan.sds.len()];
        let mut demand = Demand { cached: none.clone(), paced: none, lanes: HashMap::new() };
        let mut timed = HashSet::new();
        let mut flags = HashSet::new();
        let mut dealt = HashSet::new();
        for run in &plan.runs {
            for workload in run.workloads.iter().filter(|_| run.kind == RunKind::Normal) {
                let said = run.openflags.as_ref().or(workload.openflags.as_ref());
                // Without flags a block device is opened with direct I/O: an empty list is a case of its own.
                let said = said.map(|said| (said.is_empty(), said.iter().any(|f| f.is_direct())));
                if flags.insert((workload.sds.as_ptr(), said)) {
                    demand.look_at_flags(plan, luns, run, workload);
                }
                if !matches!(run.rate, Rate::Max | Rate::CurveMax) && timed.insert(workload.sds.as_ptr()) {
                    workload.sds.iter().for_each(|at| demand.paced[*at] = true);
                }
            }
            let groups = Group::of(run);
            let key: Vec<_> = groups.iter().map(|g| (g.sds.as_ptr(), g.hosts.as_ptr(), g.streams)).collect();
            if dealt.insert((run.threads, key)) {
                demand.look_at_lanes(plan, run, &groups);
            }
        }
        demand
    }

    fn look_at_flags(&mut self, plan: &Plan, luns: &[Option<Lun>], run: &Run, workload: &Workload) {
        for at in &*workload.sds {
            let Some(lun) = &luns[*at] else { continue };
            let direct = shares::flags(run, workload, &plan.sds[*at], lun).iter().any(|f| f.is_direct());
            self.cached[*at] |= !direct;
        }
    }

    /// Threads are dealt evenly over the workers that use an SD: all of its hosts for random work, one for each
    /// sequential stream.
    fn look_at_lanes(&mut self, plan: &Plan, run: &Run, groups: &[Group]) {
        let mut users: BTreeMap<usize, Users> = BTreeMap::new();
        for group in groups {
            for at in group.sds {
                let users = users.entry(*at).or_default();
                let hosts = group.hosts.iter().filter(|host| plan.sds[*at].lun[**host].is_some());
                users.all.extend(hosts.clone());
                users.streams += group.streams;
                if group.streams == 0 {
                    users.random.extend(hosts);
                }
            }
        }
        for (sd, users) in users {
            let threads = threads::requested(plan, run, sd);
            for host in &users.all {
                let lanes = users.lanes(threads, plan.hosts[*host].workers.max(1));
                let most = self.lanes.entry((sd, *host)).or_default();
                *most = Lanes { host: most.host.max(lanes.host), worker: most.worker.max(lanes.worker) };
            }
        }
    }
}

/// Workloads of a run on the same SDs and hosts.
struct Group<'a> {
    sds: &'a [usize],
    hosts: &'a [usize],
    /// How many are sequential; 0: they are all random.
    streams: u32,
}

impl<'a> Group<'a> {
    /// The groups of a run. Random workloads on the same SDs and hosts count once.
    fn of(run: &'a Run) -> Vec<Self> {
        let mut groups: BTreeMap<_, Self> = BTreeMap::new();
        for workload in run.workloads.iter() {
            let sequential = workload.seek.is_sequential();
            let group = groups.entry((workload.sds.as_ptr(), workload.hosts.as_ptr(), sequential)).or_insert(Group {
                sds: &workload.sds,
                hosts: &workload.hosts,
                streams: 0,
            });
            group.streams += u32::from(sequential);
        }
        groups.into_values().collect()
    }
}

/// Who uses an SD in a run.
#[derive(Default)]
struct Users {
    all: BTreeSet<usize>,
    /// Hosts on which some work is random.
    random: BTreeSet<usize>,
    /// Sequential workloads.
    streams: u32,
}

impl Users {
    fn lanes(&self, threads: u32, workers: u32) -> Lanes {
        match self.random.len() as u32 {
            0 => Lanes { host: threads, worker: threads.div_ceil(self.streams.max(1)) },
            hosts => {
                let host = threads.div_ceil(hosts);
                Lanes { host, worker: host.div_ceil(workers) }
            }
        }
    }
}

/// Devices with more lanes than they take I/Os at once: by lanes and tags.
#[derive(Default)]
struct Crowded(BTreeMap<(u32, u32), BTreeSet<usize>>);

impl Crowded {
    fn look(&mut self, sd: usize, lanes: u32, tags: Option<u32>) {
        if let Some(tags) = tags.filter(|tags| lanes > *tags) {
            self.0.entry((lanes, tags)).or_default().insert(sd);
        }
    }

    fn words(&self, plan: &Plan, by_sd: &[Vec<Sighting>]) -> Vec<SetupNotice> {
        let lun = |sds: &BTreeSet<usize>| {
            let lun = sds.first().and_then(|sd| by_sd[*sd].first()).map_or("", |seen| seen.lun);
            if sds.len() > 1 { "each device".to_owned() } else { lun.to_owned() }
        };
        let notice = |((lanes, tags), sds): (&(u32, u32), &BTreeSet<usize>)| SetupNotice {
            warning: true,
            code: "more-threads-than-tags",
            text: format!(
                "{}: threads {lanes} > tags {tags}: {} takes {tags} I/Os at once (queue/nr_requests); the rest waits in \
                 the kernel, and that wait is in the response times",
                notices::names(plan, sds),
                lun(sds)
            ),
        };
        self.0.iter().map(notice).collect()
    }
}

#[cfg(test)]
mod tests;
