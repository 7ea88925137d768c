//! A plan as data: hosts, storage, areas, the format and the runs. `--json` prints it; its fields are in
//! `docs/plan.md`.

use std::collections::{BTreeMap, BTreeSet};

use brunt_event::{FilesRate, PlannedRun, RateText};
use brunt_parm::ast::{MaxDataKind, Repeat};
use brunt_plan::plan::{Plan, Rate, Run, RunKind};
use brunt_plan::work::{Area, Generator, Target, WorkerShare};
use brunt_plan::{Resolved, SetupProblem};
use serde::Serialize;

use super::known::Known;

/// Number of the schema; it rises when a field changes its meaning or goes.
const SCHEMA: u32 = 1;
/// Rate that stands for one that only a run before will tell, I/Os per second.
const UNTOLD: f64 = 1_000_000.0;

/// Everything that would be done.
#[derive(Debug, Serialize)]
pub struct Outline {
    schema: u32,
    /// Hosts in order.
    pub hosts: Vec<HostOutline>,
    /// SDs that some run uses.
    pub sds: Vec<SdOutline>,
    /// Where I/Os go: every different area once.
    pub areas: Vec<AreaOutline>,
    /// What is made before the first run.
    pub formats: Vec<FormatOutline>,
    /// The runs of one pass, the format first.
    pub runs: Vec<RunOutline>,
    /// How long it takes.
    pub time: TimeOutline,
    /// What is worth knowing, a sentence each.
    pub notes: Vec<String>,
    /// What does not fit in a run.
    #[serde(skip)]
    pub problems: Vec<SetupProblem>,
}

/// A host.
#[derive(Debug, Serialize)]
pub struct HostOutline {
    /// Label.
    pub host: String,
    /// Network name.
    pub system: String,
    /// Whether it is this machine, so that its luns were looked at.
    pub here: bool,
    /// Worker processes.
    pub workers: u32,
    /// Outstanding I/Os at most, in the run that has most.
    pub threads: u64,
    /// Bytes of buffers that these need.
    pub buffer_bytes: u64,
}

/// A storage definition.
#[derive(Debug, Serialize)]
pub struct SdOutline {
    /// Name.
    pub sd: String,
    /// Path by host label.
    pub luns: BTreeMap<String, String>,
    /// `raw`, `file` or `simulated`; null when no run could be worked out.
    pub kind: Option<&'static str>,
    /// Usable bytes; null when neither known nor given.
    pub size: Option<u64>,
    /// `range=` as written.
    pub range: Option<(f64, f64)>,
    /// Outstanding I/Os by host label, the least and the most of all runs.
    pub threads: BTreeMap<String, Lanes>,
}

/// Outstanding I/Os over all runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Lanes {
    /// In the run that has least.
    pub least: u32,
    /// In the run that has most.
    pub most: u32,
}

/// Bytes of an SD, from `low` up to but not with `high`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Bytes {
    /// First byte.
    pub low: u64,
    /// One past the last byte; beyond `wraps_at` the addresses go on at the beginning.
    pub high: u64,
    /// How many.
    pub bytes: u64,
    /// Where addresses wrap.
    pub wraps_at: Option<u64>,
}

impl From<Area> for Bytes {
    fn from(area: Area) -> Self {
        let bytes = area.high.saturating_sub(area.low);
        Self { low: area.low, high: area.high, bytes, wraps_at: area.wrap.map(|w| w.at) }
    }
}

/// Where the I/Os of a workload on an SD go.
#[derive(Debug, Serialize)]
pub struct AreaOutline {
    /// SD.
    pub sd: String,
    /// Workload.
    pub wd: String,
    /// Misses, or all I/Os when there are no hits; null when the size is unknown.
    pub miss: Option<Bytes>,
    /// Hits.
    pub hit: Option<Bytes>,
    /// The runs that do so.
    pub runs: BTreeSet<String>,
}

/// A file that is made or extended.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct FormatOutline {
    /// SD.
    pub sd: String,
    /// Path.
    pub lun: String,
    /// Host that writes it.
    pub host: String,
    /// Bytes that are written.
    pub bytes: u64,
}

/// A run.
#[derive(Debug, Serialize)]
pub struct RunOutline {
    /// Name.
    pub run: String,
    /// Its run definition.
    pub rd: String,
    /// Whether it makes files.
    pub format: bool,
    /// Rate in words.
    pub rate: String,
    /// Rate in I/Os per second, when the file tells it.
    pub iorate: Option<f64>,
    /// Values of its loops, `name=value`, the outermost first.
    pub loops: Vec<String>,
    /// Workloads.
    pub wds: Vec<String>,
    /// Outstanding I/Os over all hosts; null when it cannot be worked out.
    pub threads: Option<u64>,
    /// Seconds measured; null: until the data ends.
    pub elapsed: Option<u32>,
    /// Seconds before that.
    pub warmup: u32,
    /// Seconds of an interval.
    pub interval: u32,
    /// Seconds between this run and the next.
    pub pause: u32,
    /// Limits of data in bytes, as `maxdata=n`; `maxdata=unknown` where it depends on an unknown size.
    pub max_data: Vec<String>,
}

/// How long it takes.
#[derive(Debug, Serialize)]
pub struct TimeOutline {
    /// Seconds of all runs of one pass, warm-ups included; a run may end earlier.
    pub run_seconds: u64,
    /// Seconds of pauses between them.
    pub pause_seconds: u64,
    /// Runs without an end in time, such as the format.
    pub open_ended: usize,
    /// Passes over all runs; null when they are not counted.
    pub passes: Option<u64>,
    /// Seconds after which no pass begins.
    pub loop_seconds: Option<u64>,
}

impl Outline {
    /// Works out a plan. `here` tells by host whether it is this machine.
    pub fn new(plan: &Plan, known: &Known, here: &[bool]) -> Self {
        let plan_now = known.resolved.as_ref().map_or(plan, |r| &r.plan);
        let mut deals = Deals::default();
        if let Some(resolved) = &known.resolved {
            for run in 0..plan_now.runs.len() {
                deals.add(resolved, run, known);
            }
        }
        let planned = brunt_master::planned(plan_now, false);
        let runs: Vec<RunOutline> = plan_now
            .runs
            .iter()
            .zip(&planned.runs)
            .enumerate()
            .map(|(n, (run, shown))| run_outline(plan_now, run, shown, known, deals.threads.get(&n).copied()))
            .collect();
        let notices = known.resolved.iter().flat_map(|r| &r.notices).map(|n| n.text.clone());
        let mut notes: Vec<String> = notices.chain(std::mem::take(&mut deals.notes)).collect();
        let mut seen = BTreeSet::new();
        notes.retain(|n| seen.insert(n.clone()));
        Self {
            schema: SCHEMA,
            hosts: hosts(plan, &deals, here),
            sds: sds(plan_now, known, &deals),
            areas: deals.areas(),
            formats: std::mem::take(&mut deals.formats).into_iter().collect(),
            time: time(plan_now),
            runs,
            notes,
            problems: deals.problems,
        }
    }

    /// The plan as JSON; ends with a newline.
    pub fn json(&self) -> String {
        // Text, numbers and lists always become JSON.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

/// What dealing out all runs tells.
#[derive(Default)]
struct Deals {
    /// Lanes by run.
    threads: BTreeMap<usize, u64>,
    /// Most lanes and most buffer bytes by host.
    hosts: BTreeMap<usize, (u64, u64)>,
    /// By SD: what it is.
    kinds: BTreeMap<usize, &'static str>,
    /// By SD and host label: least and most lanes.
    lanes: BTreeMap<(usize, String), Lanes>,
    /// Runs by SD, workload and areas.
    areas: BTreeMap<AreaKey, (String, BTreeSet<String>)>,
    formats: BTreeSet<FormatOutline>,
    notes: Vec<String>,
    problems: Vec<SetupProblem>,
}

/// SD number and name, workload number, misses and hits.
type AreaKey = (u32, usize, String, Option<Bytes>, Option<Bytes>);

impl Deals {
    fn add(&mut self, resolved: &Resolved, at: usize, known: &Known) {
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

    fn generator(&mut self, plan: &Plan, run: &Run, host: &str, share: &WorkerShare, g: &Generator, known: &Known) {
        let Some(target) = share.targets.get(g.target as usize) else { return };
        let unknown = known.unknown.get(target.sd as usize).copied().unwrap_or_default();
        if run.kind == RunKind::Format {
            self.formats.insert(FormatOutline {
                sd: target.name.clone(),
                lun: target.lun.clone(),
                host: host.to_owned(),
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

    fn areas(&self) -> Vec<AreaOutline> {
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

fn hosts(plan: &Plan, deals: &Deals, here: &[bool]) -> Vec<HostOutline> {
    let host = |(n, host): (usize, &brunt_plan::plan::Host)| {
        let (threads, buffer_bytes) = deals.hosts.get(&n).copied().unwrap_or_default();
        HostOutline {
            host: host.label.clone(),
            system: host.system.clone(),
            here: here.get(n).copied().unwrap_or_default(),
            workers: host.workers,
            threads,
            buffer_bytes,
        }
    };
    plan.hosts.iter().enumerate().map(host).collect()
}

fn sds(plan: &Plan, known: &Known, deals: &Deals) -> Vec<SdOutline> {
    let used: BTreeSet<usize> =
        plan.runs.iter().flat_map(|r| r.workloads.iter()).flat_map(|w| w.sds.iter().copied()).collect();
    let label = |n: usize| plan.hosts.get(n).map(|h| h.label.clone()).unwrap_or_default();
    let sd = |at: usize| {
        let sd = plan.sds.get(at)?;
        let unknown = known.unknown.get(at).copied().unwrap_or_default();
        let worked_out = known.resolved.as_ref().and_then(|r| r.sd_sizes.get(at).copied().flatten());
        let luns = sd.lun.iter().enumerate();
        Some(SdOutline {
            sd: sd.name.clone(),
            luns: luns.filter_map(|(n, lun)| Some((label(n), lun.clone()?))).collect(),
            kind: deals.kinds.get(&at).copied(),
            size: worked_out.or(sd.size).filter(|_| !unknown),
            range: sd.range,
            threads: deals.lanes.iter().filter(|((s, _), _)| *s == at).map(|((_, h), n)| (h.clone(), *n)).collect(),
        })
    };
    used.into_iter().filter_map(sd).collect()
}

fn run_outline(plan: &Plan, run: &Run, shown: &PlannedRun, known: &Known, threads: Option<u64>) -> RunOutline {
    let sized =
        run.workloads.iter().flat_map(|w| w.sds.iter()).all(|sd| !known.unknown.get(*sd).copied().unwrap_or(false));
    let limit = |(kind, bytes): &(MaxDataKind, f64)| {
        let name = match kind {
            MaxDataKind::Both => "maxdata",
            MaxDataKind::Read => "maxdataread",
            MaxDataKind::Written => "maxdatawritten",
        };
        if sized { format!("{name}={bytes:.0}") } else { format!("{name}=unknown") }
    };
    let wds = run.workloads.iter().filter_map(|w| plan.wds.get(w.wd).cloned());
    RunOutline {
        run: run.name.clone(),
        rd: run.rd.clone(),
        format: run.kind == RunKind::Format,
        rate: rate(&shown.rate),
        iorate: if let Rate::Fixed(rate) = run.rate { Some(rate) } else { None },
        loops: run.loop_texts(),
        wds: if run.kind == RunKind::Format { Vec::new() } else { wds.collect() },
        threads,
        elapsed: run.elapsed,
        warmup: run.warmup,
        interval: run.interval,
        pause: run.pause,
        max_data: run.max_data.iter().map(limit).collect(),
    }
}

/// A rate in words.
fn rate(rate: &RateText) -> String {
    match rate {
        RateText::Fixed(rate) => format!("{rate}/s"),
        RateText::UncontrolledMax => "max".to_owned(),
        RateText::ControlledMax => "max, skew held".to_owned(),
        RateText::UncontrolledCurve => "max of curve".to_owned(),
        RateText::ControlledCurve => "max of curve, skew held".to_owned(),
        RateText::Variable => "variable".to_owned(),
        RateText::PercentOfMax(percent) => format!("{percent}% of max"),
        RateText::PercentOfPrevious(percent) => format!("{percent}% of run before"),
        RateText::Replay(None) => "as recorded".to_owned(),
        RateText::Replay(Some(rate)) => format!("{rate}/s, replayed"),
        RateText::Files(FilesRate::Fixed(rate)) => format!("{rate} ops/s"),
        RateText::Files(FilesRate::Max) => "max".to_owned(),
        RateText::Files(FilesRate::Curve) => "max of curve".to_owned(),
        RateText::Files(FilesRate::PercentOfMax(percent)) => format!("{percent}% of max"),
        RateText::Files(FilesRate::PercentOfPrevious(percent)) => format!("{percent}% of run before"),
    }
}

fn time(plan: &Plan) -> TimeOutline {
    let seconds = |r: &Run| u64::from(r.warmup) + u64::from(r.elapsed.unwrap_or(0));
    let pauses = plan.runs.iter().rev().skip(1).map(|r| u64::from(r.pause));
    let (passes, loop_seconds) = match plan.settings.repeat {
        None => (Some(1), None),
        Some(Repeat::Passes(n)) => (Some(n), None),
        Some(Repeat::Seconds(s)) => (None, Some(s)),
        Some(Repeat::Forever) => (None, None),
    };
    TimeOutline {
        run_seconds: plan.runs.iter().map(seconds).sum(),
        pause_seconds: pauses.sum(),
        open_ended: plan.runs.iter().filter(|r| r.elapsed.is_none()).count(),
        passes,
        loop_seconds,
    }
}
