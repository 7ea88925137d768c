//! The workloads of a run: FWDs found, with their file systems and hosts (`docs/vdbench/filesystem.md` §2, §3.1).

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use brunt_parm::ast::{Fwd, List, NameItem, Rd};
use brunt_parm::{Diag, ParmFile, Severity, Span, Spanned};

use super::super::fsds::Fsds;
use super::super::hosts::{Hosts, listed};
use super::super::log::Log;
use super::super::names::Names;

/// An FWD that an RD selected.
pub(crate) struct Picked<'a> {
    /// Index in the plan's names.
    pub(crate) fwd: usize,
    /// Its definition.
    pub(crate) def: &'a Fwd,
    /// Its name, for messages.
    pub(crate) name: String,
    /// Its file systems, as indices.
    pub(crate) fsds: Arc<[usize]>,
    /// Its hosts, as indices.
    pub(crate) hosts: Arc<[usize]>,
    /// Where it is defined, or selected.
    pub(crate) span: Option<Span>,
}

/// The FWDs and how they are found.
pub(crate) struct Fwds<'a> {
    file: &'a ParmFile,
    hosts: &'a Hosts,
    fsds: &'a Fsds,
    names: Names,
    defs: Vec<&'a Fwd>,
    /// Whether a run uses `fwd=default`.
    uses_default: bool,
    /// By FWD, when its run names no file systems: its own, and its hosts.
    known: HashMap<usize, Option<Users>>,
    /// What wildcards and ranges that stand alone select: many workloads say `fsd=*`.
    lists: RefCell<HashMap<NameItem, Arc<[usize]>>>,
    /// Every set once, so that equal ones are kept and compared in one place.
    sets: RefCell<HashSet<Arc<[usize]>>>,
}

/// File systems and hosts.
pub(crate) type Users = (Arc<[usize]>, Arc<[usize]>);

impl<'a> Fwds<'a> {
    /// Reads the names.
    pub(crate) fn new(file: &'a ParmFile, hosts: &'a Hosts, fsds: &'a Fsds, log: &mut Log) -> Self {
        let mut fwds = Self {
            file,
            hosts,
            fsds,
            names: Names::default(),
            defs: Vec::new(),
            uses_default: false,
            known: HashMap::new(),
            lists: RefCell::default(),
            sets: RefCell::default(),
        };
        for def in &file.fwds {
            let Some(name) = &def.name else { continue };
            match fwds.names.add(&name.value) {
                Ok(_) => fwds.defs.push(def),
                Err(_) => {
                    log.push(Diag::error("duplicate-fwd", format!("fwd `{}` is defined twice", name.value), name.span));
                }
            }
        }
        fwds
    }

    /// The names of all FWDs, `default` last when it is used.
    pub(crate) fn into_names(self) -> Vec<String> {
        let default = self.uses_default.then(|| "default".to_owned());
        self.names.list().iter().cloned().chain(default).collect()
    }

    /// The workloads of an RD. `None` after an error.
    pub(crate) fn pick(&mut self, rd: &Rd, log: &mut Log) -> Option<Vec<Picked<'a>>> {
        let name = rd.name.as_ref()?;
        let Some(list) = &rd.fwds else { return self.anonymous(rd, name, log).map(|p| vec![p]) };
        let selection = self.names.select(&list.value);
        for item in &selection.missing {
            log.push(self.unknown_fwd(item));
        }
        for (span, at) in &selection.twice {
            let fwd = &self.names.list()[*at];
            log.warning("fwd-twice", format!("fwd `{fwd}` is selected twice and runs once"), Some(*span));
        }
        let mut picked = Vec::with_capacity(selection.found.len());
        for at in &selection.found {
            let def = self.defs[*at];
            picked.push(self.picked(*at, def, def.name.as_ref().map(|n| n.span), rd, log));
        }
        let picked: Option<Vec<Picked>> = picked.into_iter().collect();
        picked.filter(|_| selection.missing.is_empty())
    }

    /// The workload of a run that names file systems only: `fwd=default` as it is at the end.
    fn anonymous(&mut self, rd: &Rd, name: &Spanned<String>, log: &mut Log) -> Option<Picked<'a>> {
        let Some(fsds) = &rd.fsds else {
            log.push(
                Diag::error("no-fwd", format!("run `{}` has neither fwd= nor fsd=", name.value), name.span)
                    .help("add fwd= with the workloads to run"),
            );
            return None;
        };
        self.uses_default = true;
        log.note_once(
            "default-workload",
            format!("run `{}` names no fwd=: it uses `fwd=default`", name.value),
            fsds.span,
        );
        self.picked(self.names.list().len(), &self.file.fwd_default, Some(fsds.span), rd, log)
    }

    fn picked(&mut self, fwd: usize, def: &'a Fwd, span: Option<Span>, rd: &Rd, log: &mut Log) -> Option<Picked<'a>> {
        let name = def.name.as_ref().map_or_else(|| "default".to_owned(), |n| n.value.clone());
        let users = match (&rd.fsds, self.known.get(&fwd)) {
            (None, Some(known)) => known.clone(),
            (None, None) => {
                let users = self.users(&name, def, def.fsds.as_ref(), span, log);
                self.known.insert(fwd, users.clone());
                users
            }
            (Some(list), _) => self.users(&name, def, Some(list), span, log),
        };
        let (fsds, hosts) = users?;
        Some(Picked { fwd, def, name, fsds, hosts, span })
    }

    /// The file systems and hosts of a workload. `None` after an error.
    fn users(
        &self,
        name: &str,
        def: &Fwd,
        list: Option<&Spanned<Vec<Spanned<NameItem>>>>,
        span: Option<Span>,
        log: &mut Log,
    ) -> Option<Users> {
        let fsds = self.fsds_of(name, list, span, log);
        let hosts = self.hosts_of(&def.hosts, log);
        let (fsds, hosts) = (fsds?, hosts?);
        self.check_shared(name, def, &fsds, &hosts, span, log)?;
        Some((fsds, self.shared(hosts)))
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

    fn fsds_of(
        &self,
        fwd: &str,
        list: Option<&Spanned<Vec<Spanned<NameItem>>>>,
        span: Option<Span>,
        log: &mut Log,
    ) -> Option<Arc<[usize]>> {
        let Some(list) = list else {
            let message = format!("fwd `{fwd}` has no fsd=, nor has its run");
            log.push(
                Diag::new(Severity::Error, "no-fsd", message, span)
                    .help("add fsd= with the file systems to use, here or in `fwd=default`"),
            );
            return None;
        };
        let only = match list.value.as_slice() {
            [only] => Some(&only.value),
            _ => None,
        };
        if let Some(known) = only.and_then(|item| self.lists.borrow().get(item).cloned()) {
            return Some(known);
        }
        let selection = self.fsds.names.select(&list.value);
        for item in &selection.missing {
            log.push(self.unknown_fsd(item));
        }
        let fine = selection.missing.is_empty() && !selection.found.is_empty();
        let found = fine.then(|| self.shared(selection.found))?;
        if let Some(item) = only {
            self.lists.borrow_mut().insert(item.clone(), Arc::clone(&found));
        }
        Some(found)
    }

    /// The hosts of a workload, all without `host=`.
    fn hosts_of(&self, list: &List<String>, log: &mut Log) -> Option<Vec<usize>> {
        let Some(list) = list else { return Some((0..self.hosts.list.len()).collect()) };
        if let Some(wild) = list.value.iter().find(|h| h.value.contains('*')) {
            log.push(
                Diag::error("host-wildcard", "`host=` of an FWD takes no wildcards", wild.span)
                    .label("name the hosts")
                    .help("without `host=` a workload runs on all hosts"),
            );
            return None;
        }
        let found = self.hosts.select(&list.value, log);
        (!found.is_empty()).then_some(found)
    }

    /// Several hosts need file systems that are shared.
    fn check_shared(
        &self,
        name: &str,
        def: &Fwd,
        fsds: &[usize],
        hosts: &[usize],
        span: Option<Span>,
        log: &mut Log,
    ) -> Option<()> {
        if hosts.len() < 2 {
            return Some(());
        }
        let own = fsds.iter().map(|f| &self.fsds.list[*f]).find(|f| !f.shared);
        let Some(own) = own else { return Some(()) };
        let place = def.hosts.as_ref().map(|h| h.span).or(span);
        let message = format!("fwd `{name}` uses fsd `{}` from {} hosts, which is not shared", own.name, hosts.len());
        let diag = Diag::new(Severity::Error, "not-shared", message, place)
            .help("add shared=yes to the fsd when all hosts see the same directory, else name one host for each fwd");
        log.push(match own.span {
            Some(fsd) => diag.related(fsd, "needs shared=yes"),
            None => diag,
        });
        None
    }

    fn unknown_fwd(&self, item: &Spanned<String>) -> Diag {
        let diag =
            Diag::error("unknown-fwd", format!("no fwd matches `{}`", item.value), item.span).label("no such workload");
        with_hint(diag, item, &self.names)
    }

    fn unknown_fsd(&self, item: &Spanned<String>) -> Diag {
        let diag = Diag::error("unknown-fsd", format!("no fsd matches `{}`", item.value), item.span)
            .label("no such file system");
        // The name before `count=` put numbers behind it.
        let counted =
            self.file.fsds.iter().find(|f| f.count.is_some() && f.name.as_ref().is_some_and(|n| n.value == item.value));
        match counted {
            Some(_) => diag
                .help(format!("count= made others of it: `{}*` are all of them", item.value))
                .fix(item.span, format!("{}*", item.value)),
            None => with_hint(diag, item, &self.fsds.names),
        }
    }
}

/// What was probably meant.
fn with_hint(diag: Diag, item: &Spanned<String>, names: &Names) -> Diag {
    match names.nearest(&item.value) {
        Some(near) if item.value.ends_with('*') => {
            diag.help(format!("did you mean `{near}`? names are case-sensitive"))
        }
        Some(near) => diag.help(format!("did you mean `{near}`?")).fix(item.span, near),
        None => diag.help(format!("defined are {}", listed(names.list()))),
    }
}
