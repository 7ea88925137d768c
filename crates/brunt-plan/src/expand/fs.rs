//! Runs of file systems (`docs/vdbench/filesystem.md` §3).

mod entries;
mod format;
mod loops;
mod select;
mod size;

use std::collections::HashMap;
use std::sync::Arc;

use brunt_parm::ast::{LoopKind, Rd};
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
use super::timing;
use crate::options::Options;
use crate::plan::fs::{Format, FsRun, Make, Tree};
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
        }
    }

    /// The runs and the names of all workloads.
    pub(crate) fn finish(self) -> (Vec<Run>, Vec<String>) {
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
        let template = Run { rate: Rate::Max, ..template(rd, timing, log) };
        for (n, values) in combinations.iter().enumerate() {
            let formats = formatting.is_due(n);
            if self.add_one(rd, &template, &picked, values, &rates, &formatting, formats, log).is_none() {
                return;
            }
        }
    }

    /// Adds the runs for one combination of the loops. `None` after an error.
    #[allow(clippy::too_many_arguments, reason = "the parts of an RD, each made once for all combinations")]
    fn add_one(
        &mut self,
        rd: &Rd,
        template: &Run,
        picked: &[Picked<'a>],
        values: &[LoopValue],
        rates: &[PlannedRate],
        formatting: &Formatting,
        formats: bool,
        log: &mut Log,
    ) -> Option<()> {
        let trees = self.trees(rd, picked, values, log)?;
        if formats && let Some(format) = formatting.format(template.elapsed) {
            let mut entries = entries::of_format(self.file, template, picked, &trees, self.fsds, log);
            entries::place(&mut entries, |host| self.hosts.list[host].workers);
            self.note_shared(rd, &format, &trees, log);
            let files = FsRun { format: Some(format), assume_complete: false, trees: trees.clone(), entries };
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
        let entries = self.entries(rd, template, picked, &trees, values, log)?;
        let files = FsRun { format: None, assume_complete: formatting.complete, trees, entries };
        self.push(template, values, rates, Arc::new(files));
        Some(())
    }

    /// Adds one run for each rate.
    fn push(&mut self, template: &Run, values: &[LoopValue], rates: &[PlannedRate], files: Arc<FsRun>) {
        let of_loop = values.iter().find(|v| v.kind == LoopKind::Fwdrate);
        for planned in rates {
            let rate = match (&planned.rate, of_loop) {
                (_, Some(v)) if v.percent || v.value < 0.0 => Rate::PercentOfPrevious(v.value.abs()),
                (_, Some(v)) => Rate::Fixed(v.value),
                (Rate::CurvePoint { percent, .. }, None) => {
                    Rate::CurvePoint { percent: *percent, of_run: self.runs.len() - planned.behind_max }
                }
                (other, None) => other.clone(),
            };
            self.runs.push(Run {
                name: format!("{}{}", template.rd, planned.suffix),
                rate,
                loops: values.to_vec(),
                threads: loops::threads(values),
                files: Some(Arc::clone(&files)),
                ..template.clone()
            });
        }
    }

    /// The file systems of a run, changed by its loops and checked. `None` after an error.
    fn trees(&mut self, rd: &Rd, picked: &[Picked], values: &[LoopValue], log: &mut Log) -> Option<Vec<Tree>> {
        let mut trees: Vec<Tree> = Vec::new();
        let mut known = vec![false; self.fsds.list.len()];
        for fsd in picked.iter().flat_map(|p| p.fsds.iter().copied()) {
            if std::mem::replace(&mut known[fsd], true) {
                continue;
            }
            let structure = loops::structure(rd, &self.fsds.list[fsd], values, log)?;
            self.sizes.check(&self.fsds.list[fsd], &structure, rd, log)?;
            trees.push(Tree { fsd, structure });
        }
        self.one_anchor_each(rd, &trees, log);
        Some(trees)
    }

    /// No two file systems of a run share an anchor; Vdbench finds it when the run starts.
    fn one_anchor_each(&self, rd: &Rd, trees: &[Tree], log: &mut Log) {
        let mut anchors: HashMap<&str, usize> = HashMap::with_capacity(trees.len());
        for tree in trees {
            let fsd = &self.fsds.list[tree.fsd];
            let Some(first) = anchors.insert(&fsd.anchor, tree.fsd) else { continue };
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
    fn note_shared(&self, rd: &Rd, format: &Format, trees: &[Tree], log: &mut Log) {
        let shared = trees.iter().map(|t| &self.fsds.list[t.fsd]).find(|f| f.shared);
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

    fn entries(
        &mut self,
        rd: &Rd,
        template: &Run,
        picked: &[Picked<'a>],
        trees: &[Tree],
        values: &[LoopValue],
        log: &mut Log,
    ) -> Option<Vec<crate::plan::fs::Entry>> {
        let made = entries::Maker { rd, template, hosts: self.hosts, fsds: self.fsds, trees, values };
        made.entries(picked, &mut self.threads, log)
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
