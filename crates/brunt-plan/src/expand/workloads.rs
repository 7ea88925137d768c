//! The workloads of a run: WDs found, their SDs and hosts selected, their parameters read.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use brunt_parm::ast::{NameItem, Rd, SeekPct, Wd, XferSize};
use brunt_parm::{Diag, ParmFile, Severity, Span, Spanned};

use super::exclusive;
use super::flags;
use super::hosts::{Hosts, listed};
use super::log::Log;
use super::names::Names;
use super::sds::Sds;
use crate::plan::Workload;
use crate::work::{Seek, Xfer};

/// Transfer size of a WD that says nothing, bytes (`docs/vdbench/raw.md` §6).
const DEFAULT_XFER: u64 = 4096;

/// A WD that an RD selected.
#[derive(Clone, Copy)]
pub(crate) struct Selected<'a> {
    /// Index in the plan's names.
    pub(crate) wd: usize,
    /// Its definition.
    pub(crate) def: &'a Wd,
    /// Where it was selected.
    pub(crate) span: Option<Span>,
}

/// The WDs and what was found out about them once for all runs.
pub(crate) struct Wds<'a> {
    file: &'a ParmFile,
    hosts: &'a Hosts,
    sds: &'a Sds,
    /// Names of defined WDs; anonymous ones are added behind them.
    names: Names,
    defs: Vec<&'a Wd>,
    anonymous: Vec<String>,
    /// By WD: hosts, and SDs when the WD has any of its own.
    known_hosts: HashMap<usize, Option<Arc<[usize]>>>,
    known_sds: HashMap<usize, Option<Arc<[usize]>>>,
    /// Every set once, so that equal ones are kept and compared in one place.
    sets: RefCell<HashSet<Arc<[usize]>>>,
    /// What wildcards and ranges that stand alone select: many workloads say `sd=*`.
    lists: RefCell<HashMap<NameItem, Arc<[usize]>>>,
    /// By the places of a set of SDs and one of hosts: the SDs that any of those hosts has got.
    visible: HashMap<(usize, usize), Option<Arc<[usize]>>>,
}

impl<'a> Wds<'a> {
    /// Reads the names.
    pub(crate) fn new(file: &'a ParmFile, hosts: &'a Hosts, sds: &'a Sds, log: &mut Log) -> Self {
        let mut wds = Self {
            file,
            hosts,
            sds,
            names: Names::default(),
            defs: Vec::new(),
            anonymous: Vec::new(),
            known_hosts: HashMap::new(),
            known_sds: HashMap::new(),
            sets: RefCell::default(),
            lists: RefCell::default(),
            visible: HashMap::new(),
        };
        for def in &file.wds {
            let Some(name) = &def.name else { continue };
            match wds.names.add(&name.value) {
                Ok(_) => wds.defs.push(def),
                Err(first) => {
                    let diag = Diag::error("duplicate-wd", format!("wd `{}` is defined twice", name.value), name.span);
                    log.push(match &wds.defs[first].name {
                        Some(first) => diag.related(first.span, "first defined here"),
                        None => diag,
                    });
                }
            }
        }
        wds
    }

    /// The names of all WDs, anonymous ones last.
    pub(crate) fn into_names(self) -> Vec<String> {
        let mut names = self.names.list().to_vec();
        names.extend(self.anonymous);
        names
    }

    /// The WDs of an RD: those of `wd=`, or an anonymous one for `sd=` alone. `None` after an error.
    pub(crate) fn select(&mut self, rd: &Rd, log: &mut Log) -> Option<Vec<Selected<'a>>> {
        let name = rd.name.as_ref()?;
        let Some(list) = &rd.wds else {
            let Some(sds) = &rd.sds else {
                log.push(
                    Diag::error("no-wd", format!("run `{}` has neither wd= nor sd=", name.value), name.span)
                        .help("add wd= with the workloads to run"),
                );
                return None;
            };
            self.anonymous.push(format!("rd={}", name.value));
            let wd = self.names.list().len() + self.anonymous.len() - 1;
            return Some(vec![Selected { wd, def: &self.file.wd_default, span: Some(sds.span) }]);
        };
        let selection = self.names.select(&list.value);
        for item in &selection.missing {
            log.push(self.unknown_wd(item, &name.value));
        }
        for (span, at) in &selection.twice {
            let wd = &self.names.list()[*at];
            log.push(
                Diag::error(
                    "duplicate-wd-in-rd",
                    format!("wd `{wd}` is selected twice by run `{}`", name.value),
                    *span,
                )
                .help("name each workload once"),
            );
        }
        if !selection.missing.is_empty() || !selection.twice.is_empty() {
            return None;
        }
        let select = |wd: usize| Selected { wd, def: self.defs[wd], span: Some(list.span) };
        Some(selection.found.into_iter().map(select).collect())
    }

    fn unknown_wd(&self, item: &Spanned<String>, rd: &str) -> Diag {
        let diag = Diag::error("unknown-wd", format!("no wd matches `{}`", item.value), item.span)
            .vdbench(format!("Could not find WD={} for RD={rd}", item.value))
            .label("no such workload");
        match self.names.nearest(&item.value) {
            Some(near) if item.value.ends_with('*') => {
                diag.help(format!("did you mean `{near}`? names are case-sensitive"))
            }
            Some(near) => diag.help(format!("did you mean `{near}`?")).fix(item.span, near),
            None => diag.help(format!("defined are {}", listed(self.names.list()))),
        }
    }

    /// The name of a selected WD.
    fn name(&self, selected: &Selected) -> String {
        match self.names.list().get(selected.wd) {
            Some(name) => name.clone(),
            None => self.anonymous.get(selected.wd - self.names.list().len()).cloned().unwrap_or_default(),
        }
    }

    /// The one copy of a set.
    pub(crate) fn shared(&self, set: Vec<usize>) -> Arc<[usize]> {
        let mut sets = self.sets.borrow_mut();
        if let Some(known) = sets.get(set.as_slice()) {
            return Arc::clone(known);
        }
        let set: Arc<[usize]> = set.into();
        sets.insert(Arc::clone(&set));
        set
    }

    /// The SDs of a list, for messages in the name of a WD. `None` after an error.
    pub(crate) fn find_sds(
        &self,
        selected: &Selected,
        list: &Spanned<Vec<Spanned<NameItem>>>,
        log: &mut Log,
    ) -> Option<Arc<[usize]>> {
        let only = match list.value.as_slice() {
            [only] => Some(&only.value),
            _ => None,
        };
        if let Some(known) = only.and_then(|item| self.lists.borrow().get(item).cloned()) {
            return Some(known);
        }
        let selection = self.sds.names.select(&list.value);
        for item in &selection.missing {
            log.push(self.unknown_sd(selected, item));
        }
        for (span, at) in &selection.twice {
            let (sd, wd) = (&self.sds.names.list()[*at], self.name(selected));
            log.push(
                Diag::error("duplicate-sd-in-wd", format!("sd `{sd}` is selected twice by wd `{wd}`"), *span)
                    .help("name each SD once"),
            );
        }
        let fine = selection.missing.is_empty() && selection.twice.is_empty() && !selection.found.is_empty();
        let found = fine.then(|| self.shared(selection.found))?;
        if let Some(item) = only {
            self.lists.borrow_mut().insert(item.clone(), Arc::clone(&found));
        }
        Some(found)
    }

    fn unknown_sd(&self, selected: &Selected, item: &Spanned<String>) -> Diag {
        let hosts = selected.def.hosts.as_ref().and_then(|h| self.hosts.first_matching(&h.value)).unwrap_or(0);
        let host = self.hosts.list.get(hosts).map_or("localhost", |h| h.label.as_str());
        let diag = Diag::error("unknown-sd", format!("no sd matches `{}`", item.value), item.span)
            .vdbench(format!("Could not find sd={} for wd={},host={host}", item.value, self.name(selected)))
            .label("no such SD");
        match self.sds.names.nearest(&item.value) {
            Some(near) if item.value.ends_with('*') => {
                diag.help(format!("did you mean `{near}`? names are case-sensitive"))
            }
            Some(near) => diag.help(format!("did you mean `{near}`?")).fix(item.span, near),
            None => diag.help(format!("defined are {}", listed(self.sds.names.list()))),
        }
    }

    /// The hosts of a WD, all without `host=`.
    fn hosts_of(&mut self, selected: &Selected, log: &mut Log) -> Option<Arc<[usize]>> {
        if let Some(known) = self.known_hosts.get(&selected.wd) {
            return known.clone();
        }
        let found: Vec<usize> = match &selected.def.hosts {
            None => (0..self.hosts.list.len()).collect(),
            Some(list) => self.hosts.select(&list.value, log),
        };
        let found: Option<Arc<[usize]>> = (!found.is_empty()).then(|| self.shared(found));
        self.known_hosts.insert(selected.wd, found.clone());
        found
    }

    fn sds_of(&mut self, selected: &Selected, log: &mut Log) -> Option<Arc<[usize]>> {
        if let Some(known) = self.known_sds.get(&selected.wd) {
            return known.clone();
        }
        let found = match &selected.def.sds {
            Some(list) => self.find_sds(selected, list, log),
            None => {
                let span = selected.def.name.as_ref().map(|n| n.span).or(selected.span);
                log.error("no-sd", format!("wd `{}` has no sd=, nor has its run", self.name(selected)), span);
                None
            }
        };
        self.known_sds.insert(selected.wd, found.clone());
        found
    }

    /// The workload of a selected WD, on the SDs of the RD when it names any. `None` after an error.
    pub(crate) fn workload(
        &mut self,
        selected: &Selected<'a>,
        sds: Option<&Arc<[usize]>>,
        log: &mut Log,
    ) -> Option<Workload> {
        let hosts = self.hosts_of(selected, log);
        let sds = match sds {
            Some(sds) => Some(Arc::clone(sds)),
            None => self.sds_of(selected, log),
        };
        let def = selected.def;
        let xfer = xfer_of(def, log);
        let (hosts, sds, xfer) = (hosts?, sds?, xfer?);
        let sds = self.visible(selected, sds, &hosts, log)?;
        note_unsupported(def, log);
        exclusive::stride_without_seeks(def, log);
        Some(Workload {
            wd: selected.wd,
            sds,
            hosts,
            skew: None,
            skew_given: def.skew.as_ref().is_some_and(|s| s.value != 0.0),
            iorate: def.iorate.as_ref().map(|i| i.value).filter(|i| *i > 0.0),
            priority: def.priority.as_ref().map(|p| p.value),
            read_pct: def.rdpct.as_ref().map_or(100.0, |r| r.value),
            read_hit_pct: def.rhpct.as_ref().map_or(0.0, |r| r.value),
            write_hit_pct: def.whpct.as_ref().map_or(0.0, |w| w.value),
            xfer,
            seek: def.seekpct.as_ref().map_or(Seek::Percent(100.0), |s| seek_of(s.value)),
            hit_area: None,
            range: def.range.as_ref().map(|r| r.value),
            hotband: def.hotband.as_ref().map(|h| h.value),
            stride: def.stride.as_ref().map(|s| s.value),
            streams: def.streams.as_ref().map(|s| u32::try_from(s.value).unwrap_or(u32::MAX)),
            openflags: flags::parse(&def.openflags, log),
        })
    }

    /// Leaves out SDs that none of the workload's hosts has got.
    fn visible(
        &mut self,
        selected: &Selected,
        sds: Arc<[usize]>,
        hosts: &Arc<[usize]>,
        log: &mut Log,
    ) -> Option<Arc<[usize]>> {
        // Sets are kept once, so that their places tell them.
        let key = (sds.as_ptr() as usize, hosts.as_ptr() as usize);
        let left = match self.visible.get(&key) {
            Some(known) => known.clone(),
            None => {
                let left = self.left(&sds, hosts);
                self.visible.insert(key, left.clone());
                left
            }
        };
        // After another error the reason may be that one.
        if left.is_none() && !log.failed() {
            let message = format!("wd `{}` is not used: none of its hosts has any of its SDs", self.name(selected));
            log.push(Diag::new(Severity::Error, "wd-not-used", message, selected.span));
        }
        left
    }

    /// The SDs that any of these hosts has got; `None` without any.
    fn left(&self, sds: &Arc<[usize]>, hosts: &[usize]) -> Option<Arc<[usize]>> {
        let seen = |sd: &usize| hosts.iter().any(|h| self.sds.list[*sd].lun[*h].is_some());
        if sds.iter().all(seen) {
            return Some(Arc::clone(sds));
        }
        let left: Vec<usize> = sds.iter().copied().filter(seen).collect();
        (!left.is_empty()).then(|| self.shared(left))
    }
}

fn note_unsupported(def: &Wd, log: &mut Log) {
    if let Some(user) = &def.user {
        log.unsupported(Some(user.span), format!("user={}: this version runs no user classes", user.value));
    }
}

fn xfer_of(def: &Wd, log: &mut Log) -> Option<Xfer> {
    let Some(size) = &def.xfersize else { return Some(Xfer::Fixed(DEFAULT_XFER)) };
    let xfer = match &size.value {
        XferSize::Fixed(n) => Xfer::Fixed(*n),
        XferSize::Weighted(sizes) => Xfer::Weighted(sizes.clone()),
        XferSize::Range { min, max, align } => Xfer::Range { min: *min, max: *max, align: *align },
    };
    let usable = match &xfer {
        Xfer::Fixed(n) => *n > 0,
        Xfer::Weighted(sizes) => !sizes.is_empty() && sizes.iter().all(|(n, _)| *n > 0),
        Xfer::Range { min, max, align } => *min > 0 && max > min && *align > 0,
    };
    if !usable {
        log.push(Diag::error("xfersize", "every transfer size must be more than 0", size.span));
    }
    usable.then_some(xfer)
}

fn seek_of(seek: SeekPct) -> Seek {
    match seek {
        SeekPct::Percent(p) if p < 0.0 => Seek::Eof,
        SeekPct::Percent(p) => Seek::Percent(p),
        SeekPct::Eof => Seek::Eof,
        SeekPct::Poisson { mid } => Seek::Poisson { mid },
    }
}
