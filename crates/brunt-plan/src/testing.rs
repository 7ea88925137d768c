//! Definitions built by hand for tests. Each value gets a place of its own, so that a test can tell them apart.

#![allow(clippy::panic)]

use std::sync::atomic::{AtomicU32, Ordering};

use brunt_parm::ast::NameItem;
use brunt_parm::ast::{Arrivals, Distribution, Hd, IoRate, List, Loop, LoopKind, LoopValues, Num, Opt, ParmFile, Rd};
use brunt_parm::ast::{Sd, SeekPct, Wd, XferSize};
use brunt_parm::{FileId, Span, Spanned};

use crate::options::Options;
use crate::plan::Plan;
use crate::resolve::Resolved;
use crate::work::{LunFacts, LunKind, LunQuery};

/// A place that no other value has.
pub(crate) fn place() -> Span {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let start = NEXT.fetch_add(1, Ordering::Relaxed);
    Span { file: FileId(0), start, end: start + 1 }
}

/// A value with a place.
pub(crate) fn at<T>(value: T) -> Spanned<T> {
    Spanned::new(value, place())
}

/// A field that is there.
pub(crate) fn some<T>(value: T) -> Opt<T> {
    Some(at(value))
}

/// A list of words.
pub(crate) fn words(list: &[&str]) -> List<String> {
    some(list.iter().map(|w| at((*w).to_owned())).collect())
}

/// A list of names.
pub(crate) fn names(list: &[&str]) -> List<NameItem> {
    some(list.iter().map(|w| at(NameItem::One((*w).to_owned()))).collect())
}

/// A file without hosts.
pub(crate) fn file(sds: Vec<Sd>, wds: Vec<Wd>, rds: Vec<Rd>) -> ParmFile {
    ParmFile { sds, wds, rds, ..ParmFile::default() }
}

/// `hd=name,jvms=n`.
pub(crate) fn hd(name: &str, jvms: u32) -> Hd {
    Hd { name: some(name.to_owned()), jvms: some(jvms), ..Hd::default() }
}

/// `sd=name,lun=lun`.
pub(crate) fn sd(name: &str, lun: &str) -> Sd {
    Sd { name: some(name.to_owned()), luns: vec![at(lun.to_owned())], ..Sd::default() }
}

/// `sd=name,lun=/f/name,size=bytes`.
pub(crate) fn sized(name: &str, bytes: u64) -> Sd {
    Sd { size: some(bytes), ..sd(name, &format!("/f/{name}")) }
}

/// `sd=name,lun=/f/name,size=10m,threads=n`.
pub(crate) fn threaded(name: &str, threads: i64) -> Sd {
    Sd { threads: some(threads), ..sized(name, 10 << 20) }
}

/// `wd=name,sd=(…)`.
pub(crate) fn wd(name: &str, sds: &[&str]) -> Wd {
    Wd { name: some(name.to_owned()), sds: names(sds), ..Wd::default() }
}

/// `wd=name,sd=(…),skew=percent`.
pub(crate) fn skewed(name: &str, sds: &[&str], skew: f64) -> Wd {
    Wd { skew: some(skew), ..wd(name, sds) }
}

/// `wd=name,sd=(…),xfersize=bytes,seekpct=…`.
pub(crate) fn moving(name: &str, sds: &[&str], bytes: u64, seek: SeekPct) -> Wd {
    Wd { xfersize: some(XferSize::Fixed(bytes)), seekpct: some(seek), ..wd(name, sds) }
}

/// `rd=name,wd=(…),iorate=…,elapsed=10,interval=1`.
pub(crate) fn rd(name: &str, wds: &[&str], rate: IoRate) -> Rd {
    Rd {
        name: some(name.to_owned()),
        wds: names(wds),
        iorate: some(vec![at(rate)]),
        elapsed: some(10),
        interval: some(1),
        ..Rd::default()
    }
}

/// The same with a list of rates.
pub(crate) fn rd_rates(name: &str, wds: &[&str], rates: &[IoRate]) -> Rd {
    Rd { iorate: some(rates.iter().map(|r| at(*r)).collect()), iorate_is_list: true, ..rd(name, wds, IoRate::Max) }
}

/// A loop over numbers.
pub(crate) fn looping(kind: LoopKind, values: &[f64]) -> Loop {
    let values = values.iter().map(|v| at(Num { value: *v, percent: false })).collect();
    Loop { kind, values: LoopValues::Numbers(values), span: place() }
}

/// `distribution=variable` with its steps.
pub(crate) fn rd_steps(name: &str, wds: &[&str], steps: &[f64]) -> Rd {
    Rd {
        iorate: None,
        bursts: some(steps.iter().map(|v| at(Num { value: *v, percent: false })).collect()),
        distribution: some(Distribution { arrivals: Arrivals::Exponential, variable: true, spike: false }),
        ..rd(name, wds, IoRate::Max)
    }
}

/// The plan of a file that is right.
pub(crate) fn planned(file: &ParmFile) -> Plan {
    let mut diags = Vec::new();
    let plan = crate::expand(file, &Options { seed: 7, ..Options::default() }, &mut diags);
    plan.unwrap_or_else(|| panic!("{diags:#?}"))
}

/// A lun that is there and may be used.
pub(crate) fn facts(query: &LunQuery, kind: LunKind, size: u64) -> LunFacts {
    LunFacts { size, readable: kind != LunKind::Missing, writable: true, ..LunFacts::silent(query.sd, kind) }
}

/// The answers of all hosts, as one function of host and query.
pub(crate) fn answers(plan: &Plan, answer: impl Fn(usize, &LunQuery) -> LunFacts) -> Vec<Vec<LunFacts>> {
    (0..plan.hosts.len()).map(|host| plan.lun_queries(host).iter().map(|q| answer(host, q)).collect()).collect()
}

/// A file resolved, every lun a file of 10 MiB.
pub(crate) fn resolved(file: &ParmFile) -> Resolved {
    resolved_as(file, LunKind::File, 10 << 20)
}

/// A file resolved, every lun of that kind and size.
pub(crate) fn resolved_as(file: &ParmFile, kind: LunKind, size: u64) -> Resolved {
    let plan = planned(file);
    let facts = answers(&plan, |_, query| facts(query, kind, size));
    plan.resolve(&facts, &[]).unwrap_or_else(|problems| panic!("{problems:#?}"))
}
