//! What dealing out every run tells: lanes, buffers, areas and formats.

use std::collections::{BTreeMap, BTreeSet};

use brunt_plan::plan::fs::FsRun;
use brunt_plan::plan::{Plan, Rate, Run, RunKind};
use brunt_plan::work::{Area, Generator, Target, WorkerShare};
use brunt_plan::{Resolved, SetupProblem};

use super::known::Known;
use super::outline::{AreaOutline, Bytes, FormatOutline, Lanes};

/// Rate that stands for one that only a run before will tell, I/Os per second.
const UNTOLD: f64 = 1_000_000.0;

/// What dealing out all runs tells.
#[derive(Default)]
pub(super) struct Deals {
    /// Lanes by run.
    pub(super) threads: BTreeMap<usize, u64>,
    /// Most lanes and most buffer bytes by host.
    pub(super) hosts: BTreeMap<usize, (u64, u64)>,
    /// By SD: what it is.
    pub(super) kinds: BTreeMap<usize, &'static str>,
    /// By SD and host label: least and most lanes.
    pub(super) lanes: BTreeMap<(usize, String), Lanes>,
    /// Runs by SD, workload and areas.
    pub(super) areas: BTreeMap<AreaKey, (String, BTreeSet<String>)>,
    pub(super) formats: BTreeSet<FormatOutline>,
    pub(super) notes: Vec<String>,
    pub(super) problems: Vec<SetupProblem>,
}

/// SD number and name, workload number, misses and hits.
type AreaKey = (u32, usize, String, Option<Bytes>, Option<Bytes>);

impl Deals {
    /// The lanes, areas and formats of a run of SDs.
    pub(super) fn add(&mut self, resolved: &Resolved, at: usize, known: &Known) {
        let plan = &resolved.plan;
        let run = &plan.runs[at];
        let rate = if let Rate::Fixed(rate) = run.rate { rate } else { UNTOLD };
        let deal = match resolved.deal(at, 0, rate, None) {
            Ok(deal) => deal,
            Err(problems) => return self.problems.extend(problems),
        };
        self.notes.extend(deal.notices.iter().map(|n| n.text.clone()));
        let mut total = 0;
        for (host, shares) in deal.shares.iter().enumerate() {
            let label = &plan.hosts[host].label;
            let (mut lanes, mut buffers) = (0, 0);
            let mut by_sd: BTreeMap<usize, u32> = BTreeMap::new();
            for share in shares.iter().flatten() {
                for (n, target) in share.targets.iter().enumerate() {
                    lanes += u64::from(target.threads);
                    buffers += u64::from(target.threads).saturating_mul(largest(share, n));
                    *by_sd.entry(target.sd as usize).or_default() += target.threads;
                    self.kinds.insert(target.sd as usize, kind(target));
                }
                for generator in &share.generators {
                    self.generator(plan, run, label, share, generator, known);
                }
            }
            for (sd, n) in by_sd {
                let seen = self.lanes.entry((sd, label.clone())).or_insert(Lanes { least: n, most: n });
                *seen = Lanes { least: seen.least.min(n), most: seen.most.max(n) };
            }
            let most = self.hosts.entry(host).or_default();
            *most = (most.0.max(lanes), most.1.max(buffers));
            total += lanes;
        }
        self.threads.insert(at, total);
    }

    /// The lanes of a run of file systems.
    pub(super) fn add_files(&mut self, plan: &Plan, at: usize, files: &FsRun) {
        let mut by_host: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
        for entry in files.entries(&plan.hosts) {
            let Some(workload) = files.workloads.get(entry.workload) else { continue };
            let lanes = u64::from(workload.threads);
            let (all, buffers) = by_host.entry(entry.host).or_default();
            *all += lanes;
            *buffers += lanes.saturating_mul(workload.xfer.largest());
        }
        self.threads.insert(at, by_host.values().map(|(lanes, _)| lanes).sum());
        for (host, (lanes, buffers)) in by_host {
            let most = self.hosts.entry(host).or_default();
            *most = (most.0.max(lanes), most.1.max(buffers));
        }
    }

    fn generator(&mut self, plan: &Plan, run: &Run, host: &str, share: &WorkerShare, g: &Generator, known: &Known) {
        let Some(target) = share.targets.get(g.target as usize) else { return };
        let unknown = known.unknown.get(target.sd as usize).copied().unwrap_or_default();
        if run.kind == RunKind::Format {
            self.formats.insert(FormatOutline {
                run: run.name.clone(),
                definition: target.name.clone(),
                path: target.lun.clone(),
                host: Some(host.to_owned()),
                deletes: false,
                directories: 0,
                files: 1,
                bytes: g.miss.high.saturating_sub(g.miss.low),
            });
            return;
        }
        let shown = |area: Area| (!unknown).then(|| Bytes::from(area));
        let Some(workload) = run.workloads.get(g.workload as usize) else { return };
        let key = (target.sd, workload.wd, target.name.clone(), shown(g.miss), g.hit.and_then(shown));
        let wd = plan.wds.get(workload.wd).cloned().unwrap_or_default();
        self.areas.entry(key).or_insert_with(|| (wd, BTreeSet::new())).1.insert(run.name.clone());
    }

    /// Every different area once.
    pub(super) fn areas(&self) -> Vec<AreaOutline> {
        let area = |((_, _, sd, miss, hit), (wd, runs)): (&AreaKey, &(String, BTreeSet<String>))| AreaOutline {
            sd: sd.clone(),
            wd: wd.clone(),
            miss: miss.clone(),
            hit: hit.clone(),
            runs: runs.clone(),
        };
        self.areas.iter().map(area).collect()
    }
}

/// The largest transfer of a worker on one of its targets.
fn largest(share: &WorkerShare, target: usize) -> u64 {
    let here = share.generators.iter().filter(|g| g.target as usize == target);
    here.map(|g| g.xfer.largest()).max().unwrap_or(0)
}

fn kind(target: &Target) -> &'static str {
    match (&target.sim, target.raw) {
        (Some(_), _) => "simulated",
        (None, true) => "raw",
        (None, false) => "file",
    }
}
