//! Runs of file systems (`docs/vdbench/filesystem.md` §3).

mod entries;
mod format;
mod loops;
mod select;
mod size;
mod validated;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use brunt_parm::ast::{LoopKind, Operation, Rd};
use brunt_parm::{Diag, ParmFile, Span};

use self::entries::Threads;
use self::format::Formatting;
use self::select::{Fwds, Picked};
use self::size::Sizes;
use super::fsds::Fsds;
use super::hosts::Hosts;
use super::log::Log;
use super::loops as combine;
use super::rates::{self, PlannedRate};
use super::runs::template;
use super::settings::validates;
use super::timing;
use crate::options::Options;
use crate::plan::fs::{Changes, Format, FsRun, FsWorkload, Make};
use crate::plan::{LoopValue, Rate, Run, RunKind};

/// The runs as they grow.
pub(crate) struct FsRuns<'a> {
    file: &'a ParmFile,
    options: &'a Options,
    hosts: &'a Hosts,
    fsds: &'a Fsds,
    fwds: Fwds<'a>,
    threads: Threads,
    sizes: Sizes,
    runs: Vec<Run>,
    names: HashMap<&'a str, Span>,
    /// Workloads that were made before.
    known: HashMap<Asked, Arc<[FsWorkload]>>,
    /// Sets of file systems, by their places, and changes that were found in order.
    checked: HashSet<(usize, loops::Structural)>,
}

/// What the workloads of a run are made of: FWDs with the places of their sets, loops and operations of the run, the
/// place of its openflags, whether it is a format.
type Asked = (Vec<(usize, usize)>, Vec<(LoopKind, u64, Option<Operation>)>, Option<Span>, bool);

/// An RD with all that is made once for its runs.
struct Part<'a> {
    rd: &'a Rd,
    template: Run,
    picked: Vec<Picked<'a>>,
    rates: Vec<PlannedRate>,
    formatting: Formatting,
}

impl Part<'_> {
    fn openflags_place(&self) -> Option<Span> {
        self.rd.openflags.as_ref().map(|o| o.span)
    }

    /// `operations=` as parts of a key.
    fn operations(&self) -> impl Iterator<Item = (LoopKind, u64, Option<Operation>)> + '_ {
        let words = self.rd.operations.as_ref().map_or(&[][..], |o| o.value.as_slice());
        words.iter().map(|w| (LoopKind::Fwdrate, 0, Operation::from_word(&w.value)))
    }
}

/// FWDs with the places of their sets of file systems, which are kept once.
fn picked_key(picked: &[Picked]) -> Vec<(usize, usize)> {
    picked.iter().map(|p| (p.fwd, p.fsds.as_ptr() as usize)).collect()
}

impl<'a> FsRuns<'a> {
    /// Begins.
    pub(crate) fn new(
        file: &'a ParmFile,
        options: &'a Options,
        hosts: &'a Hosts,
        fsds: &'a Fsds,
        log: &mut Log,
    ) -> Self {
        let fwds = Fwds::new(file, hosts, fsds, log);
        let threads = Threads::new(file);
        Self {
            file,
            options,
            hosts,
            fsds,
            fwds,
            threads,
            sizes: Sizes::default(),
            runs: Vec::new(),
            names: HashMap::new(),
            known: HashMap::new(),
            checked: HashSet::new(),
        }
    }

    /// The runs and the names of all workloads.
    pub(crate) fn finish(self, log: &mut Log) -> (Vec<Run>, Vec<String>) {
        if validates(self.file).is_some() {
            validated::check(&self.runs, self.fsds, log);
        }
        (self.runs, self.fwds.into_names())
    }

    /// Adds all runs of an RD, each with the format it asks for. Every part is looked at even when another has an
    /// error, so that all are reported.
    pub(crate) fn add(&mut self, rd: &'a Rd, log: &mut Log) {
        let Some(name) = &rd.name else { return };
        if let Some(first) = self.names.insert(&name.value, name.span) {
            log.push(
                Diag::error("duplicate-rd", format!("rd `{}` is defined twice", name.value), name.span)
                    .related(first, "first defined here"),
            );
        }
        note_unsupported(rd, log);
        check_limits(rd, log);
        let picked = self.fwds.pick(rd, log);
        let timing = timing::of_rd(rd, self.options, log);
        let rates = rates::of_files(rd, log);
        let combinations = combine::combinations(rd, true, log);
        let formatting = format::of_rd(rd, self.options, log);
        let (Some(picked), Some(timing), Some(rates)) = (picked, timing, rates) else { return };
        let (Some(combinations), Some(formatting)) = (combinations, formatting) else { return };
        if combine::too_many(rd, &[2, combinations.len(), rates.len()], log) {
            return;
        }
        let part = Part { rd, template: template(rd, timing, log), picked, rates, formatting };
        for (n, values) in combinations.iter().enumerate() {
            if self.add_one(&part, values, n, log).is_none() {
                return;
            }
        }
    }

    /// Adds the runs for one combination of the loops, the n-th. `None` after an error.
    fn add_one(&mut self, part: &Part<'a>, values: &[LoopValue], n: usize, log: &mut Log) -> Option<()> {
        let Part { rd, template, picked, formatting, .. } = part;
        let changes = loops::changes(values);
        let fsds = self.used(picked);
        self.check(rd, &fsds, values, &changes, log)?;
        if formatting.is_due(n)
            && let Some(format) = formatting.format(template.elapsed)
        {
            self.note_shared(rd, &format, &fsds, log);
            let key = (picked_key(picked), Vec::new(), part.openflags_place(), true);
            let workloads = match self.known.get(&key) {
                Some(known) => Arc::clone(known),
                None => entries::of_format(self.file, template, picked, &fsds, log).into(),
            };
            self.known.insert(key, Arc::clone(&workloads));
            let files =
                FsRun { format: Some(format), assume_complete: false, fsds: Arc::clone(&fsds), changes, workloads };
            self.runs.push(Run {
                name: format!("format_for_{}", template.rd),
                kind: RunKind::Format,
                loops: values.to_vec(),
                elapsed: None,
                warmup: 0,
                files: Some(Arc::new(files)),
                ..template.clone()
            });
        }
        if formatting.only {
            return Some(());
        }
        let workloads = self.workloads(part, values, log)?;
        let files = FsRun { format: None, assume_complete: formatting.complete, fsds, changes, workloads };
        self.push(part, values, Arc::new(files));
        Some(())
    }

    /// The workloads after the loops, made once for all runs that do the same. `None` after an error.
    fn workloads(&mut self, part: &Part<'a>, values: &[LoopValue], log: &mut Log) -> Option<Arc<[FsWorkload]>> {
        let Part { rd, template, picked, .. } = part;
        let mut key = (picked_key(picked), loops::key(values), part.openflags_place(), false);
        key.1.extend(part.operations());
        if let Some(known) = self.known.get(&key) {
            return Some(Arc::clone(known));
        }
        let said = (log.said(), log.unsupported.len());
        let maker = entries::Maker { rd, template, hosts: self.hosts, fsds: self.fsds, values };
        let workloads: Arc<[FsWorkload]> = maker.workloads(picked, &self.threads, log)?.into();
        // What was said names the run, and is to be said of others too.
        if said == (log.said(), log.unsupported.len()) {
            self.known.insert(key, Arc::clone(&workloads));
        }
        Some(workloads)
    }

    /// Adds one run for each rate.
    fn push(&mut self, part: &Part, values: &[LoopValue], files: Arc<FsRun>) {
        let of_loop = values.iter().find(|v| v.kind == LoopKind::Fwdrate);
        for planned in &part.rates {
            let rate = match (&planned.rate, of_loop) {
                (_, Some(v)) if v.percent || v.value < 0.0 => Rate::PercentOfPrevious(v.value.abs()),
                (_, Some(v)) => Rate::Fixed(v.value),
                (Rate::CurvePoint { percent, .. }, None) => {
                    Rate::CurvePoint { percent: *percent, of_run: self.runs.len() - planned.behind_max }
                }
                (other, None) => other.clone(),
            };
            self.runs.push(Run {
                name: format!("{}{}", part.template.rd, planned.suffix),
                rate,
                loops: values.to_vec(),
                threads: loops::threads(values),
                files: Some(Arc::clone(&files)),
                ..part.template.clone()
            });
        }
    }

    /// The file systems of all workloads of a run, each once, in the order of the workloads.
    fn used(&self, picked: &[Picked]) -> Arc<[usize]> {
        let mut sets = HashSet::new();
        let mut fsds = Vec::new();
        let mut known = vec![false; self.fsds.list.len()];
        for one in picked {
            // Sets are kept once, so that their places tell them.
            if sets.insert(one.fsds.as_ptr()) {
                fsds.extend(one.fsds.iter().filter(|f| !std::mem::replace(&mut known[**f], true)));
            }
        }
        self.fwds.shared(fsds)
    }

    /// Whether the file systems of a run are in order, looked at once for each set and change. `None` after an error.
    fn check(
        &mut self,
        rd: &Rd,
        fsds: &Arc<[usize]>,
        values: &[LoopValue],
        changes: &Changes,
        log: &mut Log,
    ) -> Option<()> {
        let key = (fsds.as_ptr() as usize, loops::structural(values));
        if self.checked.contains(&key) {
            return Some(());
        }
        for fsd in fsds.iter() {
            let fsd = &self.fsds.list[*fsd];
            loops::check_percent(rd, fsd, changes, log)?;
            self.sizes.check(fsd, &changes.apply(&fsd.structure), rd, log)?;
        }
        let said = log.said();
        self.one_anchor_each(rd, fsds, log);
        if said == log.said() {
            self.checked.insert(key);
        }
        Some(())
    }

    /// No two file systems of a run share an anchor; Vdbench finds it when the run starts.
    fn one_anchor_each(&self, rd: &Rd, fsds: &[usize], log: &mut Log) {
        let mut anchors: HashMap<&str, usize> = HashMap::with_capacity(fsds.len());
        for at in fsds {
            let fsd = &self.fsds.list[*at];
            let Some(first) = anchors.insert(&fsd.anchor, *at) else { continue };
            let (first, Some(name)) = (&self.fsds.list[first], &rd.name) else { return };
            let message = format!(
                "run `{}` uses anchor `{}` as fsd `{}` and as fsd `{}`; one fsd for each directory in a run",
                name.value, fsd.anchor, first.name, fsd.name
            );
            log.unsupported(Some(name.span), message.clone());
            log.warn_once("anchor-twice", message, name.span);
            return;
        }
    }

    /// Vdbench formats no shared file systems but by `restart` and `clean`.
    fn note_shared(&self, rd: &Rd, format: &Format, fsds: &[usize], log: &mut Log) {
        let shared = fsds.iter().map(|f| &self.fsds.list[*f]).find(|f| f.shared);
        let (Some(fsd), Some(words)) = (shared, &rd.format) else { return };
        if format.make != Make::Nothing && format.delete {
            log.note_once(
                "format-of-shared",
                format!(
                    "fsd `{}` is shared: Vdbench refuses this format, and takes (clean,only), then (restart,only)",
                    fsd.name
                ),
                words.span,
            );
        }
    }
}

/// What parses and cannot be run yet.
fn note_unsupported(rd: &Rd, log: &mut Log) {
    super::runs::note_unsupported(rd, log);
}

/// `maxdata=` counts bytes here, from 100 on.
fn check_limits(rd: &Rd, log: &mut Log) {
    for (_, limit) in rd.maxdata.iter().filter(|(_, limit)| limit.value < 100.0) {
        log.push(
            Diag::error("maxdata", "`maxdata=` of a file system run takes bytes, at least 100", limit.span)
                .label("only for SDs is it a multiple of their size"),
        );
    }
    if let Some(distribution) = rd.distribution.as_ref().filter(|d| d.value.variable) {
        log.error("distribution", "runs of file systems have no variable rates", Some(distribution.span));
    }
}
