//! The workloads of a run, each with its threads and its share (`docs/vdbench/filesystem.md` §4.1, §4.5, §4.6).

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use brunt_parm::ast::{FileIo, Fwd, Operation, Order, Rd, XferSize};
use brunt_parm::{Diag, ParmFile, Severity, Span};

use super::super::flags;
use super::super::fsds::Fsds;
use super::super::hosts::Hosts;
use super::super::log::Log;
use super::loops;
use super::select::{Picked, Users};
use crate::plan::fs::{Action, FsWorkload};
use crate::plan::{LoopValue, Run};
use crate::work::Xfer;

/// Threads of a format run for each file system.
const FORMAT_THREADS: u32 = 8;
/// Transfer size of a format run, bytes.
const FORMAT_XFER: u64 = 128 << 10;
/// Transfer size of a workload, bytes.
const DEFAULT_XFER: u64 = 4096;
/// What skews may miss of 100.
const SKEW_SLACK: f64 = 0.0001;

/// What is said about threads that do not divide.
pub(crate) struct Threads {
    /// Where `fwd_thread_adjust=no` stands.
    exact: Option<Span>,
}

impl Threads {
    pub(crate) fn new(file: &ParmFile) -> Self {
        let setting = file.general.other.iter().find(|s| s.keyword == "fwd_thread_adjust");
        let exact = setting.filter(|s| s.values.first().is_some_and(|v| v.value == "no")).map(|s| s.span);
        Self { exact }
    }

    /// Threads of each of `parts` pieces of work. `None` after an error.
    fn split(&self, picked: &Picked, asked: u32, parts: usize, log: &mut Log) -> Option<u32> {
        let parts = u32::try_from(parts).unwrap_or(u32::MAX).max(1);
        let each = (asked / parts).max(1);
        let used = each.saturating_mul(parts);
        let place = picked.def.threads.as_ref().map(|t| t.span).or(picked.span);
        let (Some(place), true) = (place, used != asked) else { return Some(each) };
        let message = format!(
            "fwd `{}`: {asked} threads over {parts} pieces of work (file systems, hosts, operations) become {used}",
            picked.name
        );
        let Some(exact) = self.exact else {
            log.note_once("threads-adjusted", message, place);
            return Some(each);
        };
        log.push(
            Diag::error("threads-adjusted", message, place)
                .label(format!("needs a multiple of {parts}"))
                .related(exact, "no other number is wanted")
                .help(format!("use threads={}, or fwd_thread_adjust=yes", used.max(parts)))
                .vdbench("User requested 'fwd_thread_adjust=no'"),
        );
        None
    }
}

/// Makes the workloads of a run.
pub(crate) struct Maker<'a> {
    pub(crate) rd: &'a Rd,
    pub(crate) template: &'a Run,
    pub(crate) hosts: &'a Hosts,
    pub(crate) fsds: &'a Fsds,
    pub(crate) values: &'a [LoopValue],
}

impl Maker<'_> {
    /// The workloads, after the loops. `None` after an error.
    pub(crate) fn workloads(&self, picked: &[Picked], threads: &Threads, log: &mut Log) -> Option<Vec<FsWorkload>> {
        self.check_skew(picked, log)?;
        let mut workloads = Vec::with_capacity(picked.len());
        for one in picked {
            let actions = self.actions(one, log)?;
            let target = self.target(one, log)?;
            let asked = loops::threads(self.values).or(one.def.threads.as_ref().map(|t| limited(t.value))).unwrap_or(1);
            let threads = threads.split(one, asked, one.fsds.len() * one.hosts.len() * actions.len(), log)?;
            workloads.push(FsWorkload {
                fwd: Some(one.fwd),
                fsds: Arc::clone(&one.fsds),
                hosts: Arc::clone(&one.hosts),
                actions,
                threads,
                skew: one.def.skew.as_ref().map(|s| s.value).filter(|s| *s != 0.0),
                select: one.def.fileselect.as_ref().map(|s| s.value).unwrap_or_default(),
                io: one.def.fileio.as_ref().map(|i| i.value).unwrap_or_default(),
                xfer: loops::xfer(self.values).unwrap_or_else(|| xfer_of(one.def, DEFAULT_XFER)),
                stop_after: one.def.stopafter.as_ref().map(|s| s.value),
                openflags: self.template.openflags.clone().or_else(|| flags::parse(&one.def.openflags, log)),
                target,
            });
        }
        self.check_total(&workloads, log);
        Some(workloads)
    }

    /// What a workload does: the run's operations before its own. `None` after an error.
    fn actions(&self, picked: &Picked, log: &mut Log) -> Option<Vec<Action>> {
        let own = picked.def.rdpct.as_ref();
        if let Some(percent) = loops::rdpct(self.values).or(own.map(|r| r.value)) {
            let io = picked.def.fileio.as_ref();
            if io.map(|i| i.value.order).unwrap_or_default() != Order::Random {
                log.push(self.mix_in_order(picked, io.map(|i| i.span)));
                return None;
            }
            let mixes = self.rd.operations.as_ref().map_or(1, |o| o.value.len());
            return Some(vec![Action::Mix(percent); mixes]);
        }
        if let Some(list) = &self.rd.operations {
            let words = list.value.iter().filter_map(|w| Operation::from_word(&w.value));
            return Some(words.map(Action::One).collect());
        }
        let own = picked.def.operation.as_ref().map_or(Operation::Read, |o| o.value);
        Some(vec![Action::One(loops::operation(self.values).unwrap_or(own))])
    }

    fn mix_in_order(&self, picked: &Picked, io: Option<Span>) -> Diag {
        let of_run = self.rd.loops.iter().find(|l| l.kind == brunt_parm::ast::LoopKind::Rdpct).map(|l| l.span);
        let place = of_run.or(picked.def.rdpct.as_ref().map(|r| r.span));
        let message = format!("fwd `{}`: `rdpct=` needs `fileio=random`", picked.name);
        let diag = Diag::new(Severity::Error, "rdpct-sequential", message, place)
            .label("a mix of reads and writes has no order")
            .help("add fileio=random, or use operation=read or operation=write in place of rdpct=");
        match io {
            Some(io) => diag.related(io, "sequential"),
            None => diag.related_if(picked.span, "sequential, the default of fileio="),
        }
    }

    /// Where `copy` and `move` go. `None` after an error.
    fn target(&self, picked: &Picked, log: &mut Log) -> Option<Option<usize>> {
        let Some(target) = &picked.def.target else {
            let operation = picked.def.operation.as_ref();
            if let Some(copy) = operation.filter(|o| matches!(o.value, Operation::Copy | Operation::Move)) {
                log.unsupported(Some(copy.span), format!("operation={} needs target=", copy.value.word()));
            }
            return Some(None);
        };
        let Some(at) = self.fsds.names.matching(&target.value).first().copied() else {
            log.push(
                Diag::error("unknown-fsd", format!("no fsd is called `{}`", target.value), target.span)
                    .label("no such file system"),
            );
            return None;
        };
        let to = &self.fsds.list[at];
        let differs = picked.fsds.iter().map(|f| &self.fsds.list[*f]).find(|f| f.structure != to.structure);
        if let Some(from) = differs {
            log.push(
                Diag::error(
                    "target-differs",
                    format!("fsd `{}` has another structure than fsd `{}`", to.name, from.name),
                    target.span,
                )
                .label("each file needs its place there")
                .help("give both the same depth, width, files and sizes"),
            );
            return None;
        }
        Some(Some(at))
    }

    /// Workloads with a skew need the same hosts, of one worker each.
    fn check_skew(&self, picked: &[Picked], log: &mut Log) -> Option<()> {
        let Some(skew) = picked.iter().find_map(|p| p.def.skew.filter(|s| s.value != 0.0)) else { return Some(()) };
        let hosts = &picked.first()?.hosts;
        if let Some(other) = picked.iter().find(|p| p.hosts != *hosts) {
            log.push(
                Diag::error("skew-hosts", "workloads with `skew=` must run on the same hosts", skew.span)
                    .label("a share of what all hosts do")
                    .related_if(other.span, "runs on other hosts"),
            );
            return None;
        }
        if let Some(host) = hosts.iter().map(|h| &self.hosts.list[*h]).find(|h| h.workers > 1) {
            log.push(
                Diag::error("skew-jvms", "`skew=` of a file system workload needs hosts with one worker", skew.span)
                    .label(format!("host `{}` has {}", host.label, host.workers))
                    .help("leave out jvms="),
            );
            return None;
        }
        Some(())
    }

    /// Where there are skews they total 100, or leave something to workloads without; Vdbench finds it when the run
    /// starts. All run on the same hosts, of one worker each.
    fn check_total(&self, workloads: &[FsWorkload], log: &mut Log) {
        let sum: f64 = workloads.iter().filter_map(|w| w.skew).sum();
        let rest = workloads.iter().any(|w| w.skew.is_none());
        if sum > 0.0 && (sum - 100.0).abs() > SKEW_SLACK && (!rest || sum > 100.0) {
            let name = self.rd.name.as_ref();
            log.unsupported(
                name.map(|n| n.span),
                format!("the skews of run `{}` add up to {sum:.2}, not to 100", name.map_or("", |n| n.value.as_str())),
            );
        }
    }
}

/// The work of a format: each file system from each host that uses it.
pub(super) fn of_format(
    file: &ParmFile,
    template: &Run,
    picked: &[Picked],
    used: &Arc<[usize]>,
    log: &mut Log,
) -> Vec<FsWorkload> {
    let how = file.fwd_format.as_ref();
    let threads = how.map_or(FORMAT_THREADS, |f| f.threads.as_ref().map_or(1, |t| limited(t.value)));
    let xfer = how.map_or(Xfer::Fixed(FORMAT_XFER), |f| xfer_of(f, FORMAT_XFER));
    let flags = template.openflags.clone().or_else(|| how.and_then(|f| flags::parse(&f.openflags, log)));
    // Sets are kept once, so that their places tell them.
    let first = picked.first().map(|p| &p.hosts);
    let groups: Vec<Users> = match first {
        Some(hosts) if picked.iter().all(|p| Arc::ptr_eq(&p.hosts, hosts)) => {
            vec![(Arc::clone(used), Arc::clone(hosts))]
        }
        _ => by_hosts(picked).into_iter().map(|(hosts, fsds)| (fsds.into(), hosts.into())).collect(),
    };
    groups
        .into_iter()
        .map(|(fsds, hosts)| FsWorkload {
            fwd: None,
            fsds,
            hosts,
            actions: vec![Action::One(Operation::Write)],
            threads,
            skew: None,
            select: Default::default(),
            io: FileIo::default(),
            xfer: xfer.clone(),
            stop_after: None,
            openflags: flags.clone(),
            target: None,
        })
        .collect()
}

/// The file systems of workloads, together with those that the same hosts use.
fn by_hosts(picked: &[Picked]) -> BTreeMap<Vec<usize>, Vec<usize>> {
    let mut users: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    let mut seen = HashSet::new();
    for one in picked {
        if !seen.insert((one.fsds.as_ptr(), one.hosts.as_ptr())) {
            continue;
        }
        for fsd in one.fsds.iter() {
            users.entry(*fsd).or_default().extend(one.hosts.iter());
        }
    }
    let mut groups: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
    for (fsd, hosts) in users {
        groups.entry(hosts.into_iter().collect()).or_default().push(fsd);
    }
    groups
}

fn limited(threads: u64) -> u32 {
    u32::try_from(threads).unwrap_or(u32::MAX).max(1)
}

fn xfer_of(def: &Fwd, default: u64) -> Xfer {
    match def.xfersize.as_ref().map(|x| &x.value) {
        Some(XferSize::Fixed(n)) => Xfer::Fixed(*n),
        Some(XferSize::Weighted(sizes)) => Xfer::Weighted(sizes.clone()),
        // Not a form of FWDs.
        Some(XferSize::Range { .. }) | None => Xfer::Fixed(default),
    }
}
