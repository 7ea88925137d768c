//! A plan as data: hosts, storage, areas, the format and the runs. `--json` prints it; its fields are in
//! `docs/plan.md`.

use std::collections::{BTreeMap, BTreeSet};

use brunt_event::{FilesRate, PlannedRun, RateText};
use brunt_parm::ast::{MaxDataKind, Repeat};
use brunt_plan::SetupProblem;
use brunt_plan::plan::{Plan, Rate, Run, RunKind};
use brunt_plan::work::{Area, Backend};
use serde::Serialize;

use super::deals::Deals;
use super::files::{self, FsdOutline};
use super::known::Known;

/// Number of the schema; it rises when a field changes its meaning or goes.
const SCHEMA: u32 = 1;

/// Everything that would be done.
#[derive(Debug, Serialize)]
pub struct Outline {
    schema: u32,
    /// Hosts in order.
    pub hosts: Vec<HostOutline>,
    /// SDs that some run uses.
    pub sds: Vec<SdOutline>,
    /// File systems that some run uses, every different structure once.
    pub fsds: Vec<FsdOutline>,
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
    /// What serves its I/Os by host label; a host that was not looked at is not among them, unless no device matters.
    pub engines: BTreeMap<String, EngineOutline>,
}

/// What serves the I/Os of an SD.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct EngineOutline {
    /// `sync`, `aio`, `uring`, `sim` or `null`.
    pub engine: Backend,
    /// Why, the end of a sentence.
    pub why: String,
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

/// What is made before a run: the file of an SD, or the files below an anchor.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct FormatOutline {
    /// Run that makes it.
    pub run: String,
    /// SD or FSD.
    pub definition: String,
    /// Path or anchor.
    pub path: String,
    /// Host that writes it; null: all hosts of the run.
    pub host: Option<String>,
    /// Whether what is there is deleted first.
    pub deletes: bool,
    /// Directories.
    pub directories: u64,
    /// Files; with `restart` those that are there are not made again.
    pub files: u64,
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
                match &plan_now.runs[run].files {
                    Some(files) => deals.add_files(plan_now, run, files),
                    None => deals.add(resolved, run, known),
                }
            }
        }
        deals.formats.extend(files::formats(plan_now));
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
            sds: sds(plan_now, known, &deals, here),
            fsds: files::file_systems(plan_now),
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

fn sds(plan: &Plan, known: &Known, deals: &Deals, here: &[bool]) -> Vec<SdOutline> {
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
            threads: of_sd(deals, at),
            engines: engines(plan, known, at, here),
        })
    };
    used.into_iter().filter_map(sd).collect()
}

/// The back ends of an SD on the hosts of which it is known.
fn engines(plan: &Plan, known: &Known, at: usize, here: &[bool]) -> BTreeMap<String, EngineOutline> {
    let chosen = known.resolved.iter().flat_map(|r| r.engines.get(at)).flatten();
    let chosen = chosen.zip(&plan.hosts).zip(here).filter_map(|((choice, host), here)| {
        let choice = choice.as_ref()?;
        let known = *here || matches!(choice.backend, Backend::Sim | Backend::Null);
        known.then(|| (host.label.clone(), EngineOutline { engine: choice.backend, why: choice.why.to_string() }))
    });
    chosen.collect()
}

/// The lanes of an SD by host.
fn of_sd(deals: &Deals, at: usize) -> BTreeMap<String, Lanes> {
    let lanes = deals.lanes.range((at, String::new())..(at + 1, String::new()));
    lanes.map(|((_, host), lanes)| (host.clone(), *lanes)).collect()
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
    let mut wds: Vec<String> = run.workloads.iter().filter_map(|w| plan.wds.get(w.wd).cloned()).collect();
    let format = run.kind == RunKind::Format || run.files.as_ref().is_some_and(|f| f.format.is_some());
    wds.extend(run.files.iter().flat_map(|f| f.workloads.iter()).filter_map(|w| plan.fwds.get(w.fwd?).cloned()));
    RunOutline {
        run: run.name.clone(),
        rd: run.rd.clone(),
        format,
        rate: rate(&shown.rate),
        iorate: if let Rate::Fixed(rate) = run.rate { Some(rate) } else { None },
        loops: run.loop_texts(),
        wds: if format { Vec::new() } else { wds },
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
