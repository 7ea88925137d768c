//! Run definitions: sets of SDs, loops and rates multiplied out.

use std::collections::HashMap;
use std::sync::Arc;

use brunt_parm::ast::{LoopKind, Rd};
use brunt_parm::{Diag, ParmFile, Span};

use super::checks;
use super::flags;
use super::hosts::Hosts;
use super::log::Log;
use super::loops;
use super::rates::{self, PlannedRate};
use super::sds::Sds;
use super::sets::{self, SdSet};
use super::timing::{self, Timing};
use super::workloads::{Selected, Wds};
use crate::options::Options;
use crate::plan::{LoopValue, Rate, Run, RunKind, Workload};

/// The runs as they grow.
pub(crate) struct Runs<'a> {
    options: &'a Options,
    sds: &'a Sds,
    wds: Wds<'a>,
    runs: Vec<Run>,
    names: HashMap<&'a str, Span>,
    /// Workloads before any loop, made once for all runs that do the same; with the set of SDs they were made for.
    known: HashMap<Asked, Made>,
    /// Workloads before and after loops. What they were before is kept, so that its address stays its own.
    looped: HashMap<(usize, loops::Changes), [Workloads; 2]>,
}

/// The workloads of a run, shared by all that do the same.
type Workloads = Arc<[Workload]>;
/// Workloads with the set of SDs that the run named, if any.
type Made = (Option<Arc<[usize]>>, Workloads);

/// What the workloads of a run are made of.
#[derive(PartialEq, Eq, Hash)]
struct Asked {
    wds: Vec<usize>,
    /// The address of the set of SDs of the run.
    sds: Option<usize>,
    /// Whether a loop sets the transfer size.
    sized: bool,
}

/// On which SDs an RD runs, and how often.
enum Targets {
    /// Those of its WDs, or the ones it names.
    One(Option<Arc<[usize]>>),
    /// Several sets, one after the other.
    Sets(Vec<SdSet>),
}

impl<'a> Runs<'a> {
    /// Begins.
    pub(crate) fn new(file: &'a ParmFile, options: &'a Options, hosts: &'a Hosts, sds: &'a Sds, log: &mut Log) -> Self {
        let wds = Wds::new(file, hosts, sds, log);
        let (known, looped) = (HashMap::new(), HashMap::new());
        Self { options, sds, wds, runs: Vec::new(), names: HashMap::new(), known, looped }
    }

    /// The runs and the names of all WDs.
    pub(crate) fn finish(self) -> (Vec<Run>, Vec<String>) {
        (self.runs, self.wds.into_names())
    }

    /// Adds all runs of an RD. Every part is looked at even when another has an error, so that all are reported.
    pub(crate) fn add(&mut self, rd: &'a Rd, log: &mut Log) {
        let Some(name) = &rd.name else { return };
        if let Some(first) = self.names.insert(&name.value, name.span) {
            log.push(
                Diag::error("duplicate-rd", format!("rd `{}` is defined twice", name.value), name.span)
                    .related(first, "first defined here"),
            );
        }
        note_unsupported(rd, log);
        let selected = self.wds.select(rd, log);
        let timing = timing::of_rd(rd, self.options, log);
        let rates = timing.and_then(|t| rates::of_rd(rd, t, log));
        let combinations = loops::combinations(rd, false, log);
        let Some(selected) = selected else { return };
        let Some(targets) = self.targets(rd, &selected, log) else { return };
        let priorities = checks::priorities(&name.value, &selected, log);
        let (Some(timing), Some(rates), Some(combinations)) = (timing, rates, combinations) else {
            self.workloads(rd, &selected, None, log);
            return;
        };
        checks::streams(&name.value, &selected, &rates.iter().map(|r| &r.rate).collect::<Vec<_>>(), log);
        let template = template(rd, timing, log);
        let sets = match targets {
            Targets::One(sds) => vec![(String::new(), sds)],
            Targets::Sets(sets) => sets.into_iter().map(|s| (s.suffix, Some(s.sds))).collect(),
        };
        if loops::too_many(rd, &[sets.len(), combinations.len(), rates.len()], log) {
            return;
        }
        for (suffix, sds) in sets {
            let Some(workloads) = self.workloads(rd, &selected, sds.as_ref(), log).filter(|_| priorities) else {
                return;
            };
            let named = Run { name: format!("{}{suffix}", name.value), ..template.clone() };
            for values in &combinations {
                self.push(&named, &workloads, values, &rates);
            }
        }
    }

    /// The workloads of an RD on one set of SDs, before any loop. `None` after an error.
    fn workloads(
        &mut self,
        rd: &Rd,
        selected: &[Selected<'a>],
        sds: Option<&Arc<[usize]>>,
        log: &mut Log,
    ) -> Option<Arc<[Workload]>> {
        let asked = Asked {
            wds: selected.iter().map(|s| s.wd).collect(),
            sds: sds.map(|set| set.as_ptr() as usize),
            sized: rd.loops.iter().any(|l| l.kind == LoopKind::Xfersize),
        };
        if let Some((_, known)) = self.known.get(&asked) {
            return Some(Arc::clone(known));
        }
        let said = log.said();
        let found: Vec<Option<Workload>> = selected.iter().map(|s| self.wds.workload(s, sds, log)).collect();
        let mut workloads: Vec<Workload> = found.into_iter().collect::<Option<_>>()?;
        let name = rd.name.as_ref().map_or("", |n| n.value.as_str());
        let mut ok = checks::share_skew(name, selected, &mut workloads, log);
        if !asked.sized {
            ok &= checks::alignment(selected, &workloads, self.sds, log);
        }
        let workloads: Option<Arc<[Workload]>> = ok.then(|| workloads.into());
        // What was said names the run, and is to be said of others too.
        if let Some(workloads) = workloads.as_ref().filter(|_| log.said() == said) {
            self.known.insert(asked, (sds.cloned(), Arc::clone(workloads)));
        }
        workloads
    }

    /// The workloads after the loops of a run.
    fn looped(&mut self, workloads: &Arc<[Workload]>, values: &[LoopValue]) -> Arc<[Workload]> {
        let changes = loops::changes(values);
        if changes.is_empty() {
            return Arc::clone(workloads);
        }
        let key = (workloads.as_ptr() as usize, changes);
        let [_, looped] = self.looped.entry(key).or_insert_with(|| {
            let mut changed = workloads.to_vec();
            loops::apply(values, &mut changed);
            [Arc::clone(workloads), changed.into()]
        });
        Arc::clone(looped)
    }

    /// The SDs that the RD names. `None` after an error.
    fn targets(&self, rd: &Rd, selected: &[Selected], log: &mut Log) -> Option<Targets> {
        let Some(list) = &rd.sds else { return Some(Targets::One(None)) };
        if let [word] = list.value.as_slice()
            && let Some(sets) = sets::of_word(word.value.first(), self.sds)
        {
            let kept = |set: SdSet| SdSet { sds: self.wds.shared(set.sds.to_vec()), ..set };
            return Some(Targets::Sets(sets.into_iter().map(kept).collect()));
        }
        let sds = self.wds.find_sds(selected.first()?, list, log)?;
        Some(Targets::One(Some(sds)))
    }

    /// Adds one run for each rate.
    fn push(&mut self, named: &Run, workloads: &Arc<[Workload]>, values: &[LoopValue], rates: &[PlannedRate]) {
        let workloads = self.looped(workloads, values);
        let threads = loops::threads(values);
        for planned in rates {
            let rate = match &planned.rate {
                Rate::CurvePoint { percent, .. } => {
                    Rate::CurvePoint { percent: *percent, of_run: self.runs.len() - planned.behind_max }
                }
                other => other.clone(),
            };
            self.runs.push(Run {
                name: format!("{}{}", named.name, planned.suffix),
                rate,
                rate_is_loop: planned.is_loop,
                loops: values.to_vec(),
                threads,
                workloads: Arc::clone(&workloads),
                ..named.clone()
            });
        }
    }
}

/// Everything of a run but its name, loops, rate and workloads.
pub(crate) fn template(rd: &Rd, timing: Timing, log: &mut Log) -> Run {
    let name = rd.name.as_ref();
    let distribution = rd.distribution.as_ref().map(|d| d.value).unwrap_or_default();
    Run {
        name: String::new(),
        rd: name.map_or_else(String::new, |n| n.value.clone()),
        kind: RunKind::Normal,
        rate: Rate::Max,
        rate_is_loop: false,
        loops: Vec::new(),
        elapsed: Some(timing.elapsed),
        interval: timing.interval,
        warmup: timing.warmup,
        pause: timing.pause,
        stop_curve_ms: rd.stopcurve.as_ref().map(|s| s.value),
        max_data: rd.maxdata.iter().map(|(kind, limit)| (*kind, limit.value)).collect(),
        arrivals: distribution.arrivals,
        spike: distribution.spike,
        threads: None,
        openflags: flags::parse(&rd.openflags, log),
        workloads: Arc::default(),
        files: None,
        replay: rd.replay.as_ref().and_then(|r| r.value.first()).map(|file| file.value.clone()),
        startcmd: rd.startcmd.iter().map(|h| h.value.clone()).collect(),
        endcmd: rd.endcmd.iter().map(|h| h.value.clone()).collect(),
        span: name.map(|n| n.span),
    }
}

/// What parses and cannot be run yet.
pub(crate) fn note_unsupported(rd: &Rd, log: &mut Log) {
    if let Some(replay) = &rd.replay {
        log.unsupported(Some(replay.span), "replay= in a run is not run by this version");
    }
    if let Some(mount) = &rd.mount {
        log.unsupported(Some(mount.span), "mount= in a run is not run by this version");
    }
    for of_rd in &rd.loops {
        if matches!(of_rd.kind, LoopKind::Compratio) {
            log.unsupported(Some(of_rd.span), "compratio= in a run is not run by this version; data is incompressible");
        }
    }
}
