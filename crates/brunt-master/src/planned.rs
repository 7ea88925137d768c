//! The head of the event stream: who takes part and what will be run.

use std::collections::{HashMap, HashSet};

use brunt_event::{AnchorSize, FilesRate, Planned, PlannedRun, PlannedSd, PlannedWorker, RateText};
use brunt_parm::ast::ReportOption;
use brunt_plan::plan::{Plan, Rate, Run, RunKind};
use brunt_plan::rate_of_percent;
use brunt_plan::tree::{Structure, Totals};

/// Numbers in the event stream: only what is used has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Numbers {
    /// By SD of the plan.
    pub(crate) sds: Vec<Option<u32>>,
    /// By WD of the plan.
    pub(crate) wds: Vec<Option<u32>>,
}

impl Numbers {
    pub(crate) fn new(plan: &Plan) -> Self {
        let mut sds = vec![false; plan.sds.len()];
        let mut wds = vec![false; plan.wds.len()];
        // Many runs share their workloads, and many workloads their SDs.
        let (mut lists, mut sets) = (HashSet::new(), HashSet::new());
        let normal = plan.runs.iter().filter(|r| r.kind == RunKind::Normal);
        for workload in normal.filter(|r| lists.insert(r.workloads.as_ptr())).flat_map(|r| r.workloads.iter()) {
            wds.get_mut(workload.wd).into_iter().for_each(|used| *used = true);
            if sets.insert(workload.sds.as_ptr()) {
                workload.sds.iter().for_each(|sd| sds.get_mut(*sd).into_iter().for_each(|used| *used = true));
            }
        }
        Self { sds: numbered(&sds), wds: numbered(&wds) }
    }
}

fn numbered(used: &[bool]) -> Vec<Option<u32>> {
    let mut next = 0..;
    used.iter().map(|used| if *used { next.next() } else { None }).collect()
}

/// Who and what takes part. With `as_vdbench` the rates are what Vdbench simulates: see [`planned_run`].
pub fn planned(plan: &Plan, as_vdbench: bool) -> Planned {
    let numbers = Numbers::new(plan);
    let used = |numbers: &[Option<u32>], n: usize| numbers.get(n).is_some_and(Option::is_some);
    let worker = |h: usize, label| PlannedWorker { label, host: h as u32 };
    let workers = plan.hosts.iter().enumerate();
    let settings = &plan.settings;
    let wds: Vec<String> =
        plan.wds.iter().enumerate().filter(|(n, _)| used(&numbers.wds, *n)).map(|(_, wd)| wd.clone()).collect();
    Planned {
        hosts: plan.hosts.iter().map(|h| h.label.clone()).collect(),
        workers: workers
            .flat_map(|(h, host)| (0..host.workers).map(move |n| worker(h, host.worker_label(n))))
            .collect(),
        sds: plan
            .sds
            .iter()
            .enumerate()
            .filter(|(n, _)| used(&numbers.sds, *n))
            .map(|(_, sd)| PlannedSd { name: sd.name.clone(), luns: sd.lun.clone() })
            .collect(),
        wd_reports: wds.len() > 1,
        wds,
        runs: planned_runs(plan, as_vdbench),
        host_detail: settings.report.contains(&ReportOption::HostDetail),
        worker_detail: settings.report.contains(&ReportOption::SlaveDetail),
        no_sd_detail: settings.report.contains(&ReportOption::NoSdDetail),
        run_totals: settings.report_run_totals,
        histogram_bounds_us: settings.histogram.bounds_us.clone(),
        histogram_suppress: settings.histogram.suppress,
        ios_per_worker: settings.ios_per_jvm,
    }
}

/// All runs. Under the name of Vdbench those of a list of rates show the first rate of their RD.
fn planned_runs(plan: &Plan, as_vdbench: bool) -> Vec<PlannedRun> {
    let mut first_of_list: HashMap<&str, &Run> = HashMap::new();
    let mut shown = Vec::with_capacity(plan.runs.len());
    for run in &plan.runs {
        let is_listed = as_vdbench && run.rate_is_loop;
        shown.push(if is_listed { *first_of_list.entry(&run.rd).or_insert(run) } else { run });
    }
    plan.runs.iter().zip(shown).map(|(run, shown)| planned_run(run, shown, as_vdbench)).collect()
}

/// A run as it is announced before its rate is known. Vdbench shows the first rate of a list on every line, percent
/// rates and curve points for an assumed 10000, and what follows `max` in a list as `Controlled MAX`
/// (`docs/vdbench/raw.md` §10 item 10); under that name we do too (decisions.md "Command line").
pub(crate) fn planned_run(run: &Run, shown: &Run, as_vdbench: bool) -> PlannedRun {
    if run.files.is_some() {
        return PlannedRun { rate: RateText::Files(files_rate(&run.rate, as_vdbench)), ..named(run) };
    }
    if run.replay.is_some() {
        let rate = if let Rate::Fixed(rate) = shown.rate { Some(rate) } else { None };
        return PlannedRun { rate: RateText::Replay(rate), ..named(run) };
    }
    let rate = match &shown.rate {
        Rate::CurvePoint { percent, .. } if as_vdbench => RateText::Fixed(rate_of_percent(0.0, *percent)),
        Rate::CurvePoint { percent, .. } => RateText::PercentOfMax(*percent),
        Rate::PercentOfPrevious(percent) if as_vdbench => RateText::Fixed(rate_of_percent(0.0, *percent)),
        Rate::PercentOfPrevious(percent) => RateText::PercentOfPrevious(*percent),
        Rate::Fixed(rate) => RateText::Fixed(*rate),
        Rate::Steps(_) => RateText::Variable,
        // A list that begins with max.
        Rate::Max if run.rate != Rate::Max => RateText::ControlledMax,
        Rate::Max | Rate::CurveMax => max_text(&shown.rate, !shown.controlled()),
    };
    PlannedRun { rate, ..named(run) }
}

/// Everything of a run but its rate.
fn named(run: &Run) -> PlannedRun {
    PlannedRun {
        name: run.name.clone(),
        loops: run.loop_texts(),
        rate: RateText::UncontrolledMax,
        elapsed: run.elapsed,
        warmup: run.warmup,
        interval: run.interval,
        format: run.kind == RunKind::Format,
    }
}

/// The words of `fwdrate=`. Vdbench says `curve` for the points too.
fn files_rate(rate: &Rate, as_vdbench: bool) -> FilesRate {
    match rate {
        Rate::Fixed(rate) => FilesRate::Fixed(*rate),
        Rate::CurveMax => FilesRate::Curve,
        Rate::CurvePoint { .. } if as_vdbench => FilesRate::Curve,
        Rate::CurvePoint { percent, .. } => FilesRate::PercentOfMax(*percent),
        Rate::PercentOfPrevious(percent) => FilesRate::PercentOfPrevious(*percent),
        // Runs of file systems have no steps.
        Rate::Max | Rate::Steps(_) => FilesRate::Max,
    }
}

/// What there is below each anchor that a run uses, each once; structures as defined, without the loops of the runs.
pub(crate) fn anchor_sizes(plan: &Plan) -> Vec<AnchorSize> {
    let mut used = vec![false; plan.fsds.len()];
    let mut sets = HashSet::new();
    for files in plan.runs.iter().filter_map(|r| r.files.as_ref()).filter(|f| sets.insert(f.fsds.as_ptr())) {
        files.fsds.iter().for_each(|fsd| used.get_mut(*fsd).into_iter().for_each(|u| *u = true));
    }
    let mut known = HashSet::new();
    // Neighbours are often alike, and random sizes take time to add up.
    let mut last: Option<(&Structure, Option<Totals>)> = None;
    let mut sizes = Vec::new();
    for (fsd, _) in plan.fsds.iter().zip(used).filter(|(fsd, used)| *used && known.insert(fsd.anchor.as_str())) {
        let totals = match last {
            Some((before, totals)) if *before == fsd.structure => totals,
            _ => fsd.structure.totals(),
        };
        last = Some((&fsd.structure, totals));
        sizes.extend(totals.map(|totals| AnchorSize {
            anchor: fsd.anchor.clone(),
            directories: totals.directories,
            files: totals.files,
            bytes: totals.bytes,
        }));
    }
    sizes
}

/// The words of a rate that is not a number.
pub(crate) fn max_text(rate: &Rate, uncontrolled: bool) -> RateText {
    match (rate, uncontrolled) {
        (Rate::CurveMax, true) => RateText::UncontrolledCurve,
        (Rate::CurveMax, false) => RateText::ControlledCurve,
        (_, true) => RateText::UncontrolledMax,
        (_, false) => RateText::ControlledMax,
    }
}
