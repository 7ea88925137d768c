//! Storage definitions: `count=` expanded, a path for each host.

use std::collections::HashMap;

use brunt_parm::ast::Sd as SdDef;
use brunt_parm::{Diag, ParmFile, Span, Spanned};

use super::count::numbered;
use super::flags;
use super::hosts::Hosts;
use super::log::Log;
use super::names::Names;
use crate::identity;
use crate::plan::Sd;

/// Threads of an SD that says nothing (`docs/vdbench/raw.md` §5).
const DEFAULT_THREADS: u32 = 8;
/// Hit area of an SD that says nothing, bytes.
const DEFAULT_HIT_AREA: u64 = 1 << 20;

/// More SDs than one definition can mean.
const MOST_COUNTED: u64 = 1_000_000;

/// The SDs of the plan and how they are found.
pub(crate) struct Sds {
    /// SDs in order.
    pub(crate) list: Vec<Sd>,
    /// Their names.
    pub(crate) names: Names,
}

impl Sds {
    /// Makes the SDs.
    pub(crate) fn expand(file: &ParmFile, hosts: &Hosts, log: &mut Log) -> Self {
        let mut sds = Self { list: Vec::new(), names: Names::default() };
        let mut places = HashMap::new();
        for def in &file.sds {
            sds.add(def, hosts, &mut places, log);
        }
        sds
    }

    fn add(&mut self, def: &SdDef, hosts: &Hosts, places: &mut HashMap<usize, Span>, log: &mut Log) {
        let Some(name) = &def.name else { return };
        note_unsupported(def, log);
        check_identities(def, log);
        // Without paths it is known all the same, so that its users are not called wrong too.
        let luns = luns_by_host(def, name, hosts, log).unwrap_or_else(|| vec![None; hosts.list.len()]);
        let template = template(def, name, log);
        let numbers = match &def.count {
            None => vec![None],
            Some(count) if !(1..=MOST_COUNTED).contains(&count.value.1) => {
                let message = format!("count=(start,n) needs n from 1 to {MOST_COUNTED}");
                log.push(Diag::error("count", message, count.span));
                vec![None]
            }
            Some(count) => (0..count.value.1).map(|k| Some(count.value.0.saturating_add(k))).collect(),
        };
        for number in numbers {
            let Some(named) = with_number(&name.value, number) else {
                log.push(bad_mask(name));
                return;
            };
            let Some(lun) = number_luns(&luns, number) else {
                log.push(bad_mask(&def.luns[0]));
                return;
            };
            match self.names.add(&named) {
                Ok(at) => {
                    places.insert(at, name.span);
                    self.list.push(Sd { name: named, lun, ..template.clone() });
                }
                Err(first) => {
                    let mut diag = Diag::error("duplicate-sd", format!("sd `{named}` is defined twice"), name.span)
                        .vdbench(format!("An SD can only be defined once: sd={named}"));
                    if let Some(place) = places.get(&first) {
                        diag = diag.related(*place, "first defined here");
                    }
                    log.push(diag);
                    return;
                }
            }
        }
    }
}

fn note_unsupported(def: &SdDef, log: &mut Log) {
    for setting in &def.other {
        if setting.keyword.starts_with("dedup") {
            log.unsupported(Some(setting.span), format!("{}= on an SD is not run by this version", setting.keyword));
        }
    }
}

/// Luns that are asked for by what they are must say something that a device can be.
fn check_identities(def: &SdDef, log: &mut Log) {
    for lun in &def.luns {
        if let Some(Err(form)) = identity::wanted(&lun.value) {
            let message = format!("lun=`{}` names no device", lun.value);
            log.push(Diag::error("lun-identity", message, lun.span).help(format!("write {form}, or a path")));
        }
    }
}

/// Everything of the SD but its name and paths.
fn template(def: &SdDef, name: &Spanned<String>, log: &mut Log) -> Sd {
    let threads = match &def.threads {
        None => DEFAULT_THREADS,
        Some(threads) if threads.value < 1 => {
            log.warning("threads", format!("threads={} is taken as 1", threads.value), Some(threads.span));
            1
        }
        Some(threads) => u32::try_from(threads.value).unwrap_or(u32::MAX),
    };
    for (field, value) in [("offset", &def.offset), ("align", &def.align)] {
        if let Some(bad) = value.as_ref().filter(|v| v.value % 512 != 0) {
            log.push(Diag::error("multiple", format!("{field}= must be a multiple of 512 bytes"), bad.span));
        }
    }
    Sd {
        name: String::new(),
        lun: Vec::new(),
        size: def.size.as_ref().map(|s| s.value).filter(|s| *s > 0),
        threads,
        hit_area: def.hitarea.as_ref().map_or(DEFAULT_HIT_AREA, |h| h.value),
        offset: def.offset.as_ref().map_or(0, |o| o.value),
        align: def.align.as_ref().map(|a| a.value).filter(|a| *a > 0),
        range: def.range.as_ref().map(|r| r.value),
        openflags: flags::parse(&def.openflags, log).unwrap_or_default(),
        span: Some(name.span),
    }
}

/// The path on each host, `lun=` and `host=` paired where they are (`docs/vdbench/raw.md` §5).
fn luns_by_host<'a>(
    def: &'a SdDef,
    name: &Spanned<String>,
    hosts: &Hosts,
    log: &mut Log,
) -> Option<Vec<Option<&'a Spanned<String>>>> {
    let count = hosts.list.len();
    match (def.luns.as_slice(), def.hosts.as_slice()) {
        ([], _) => {
            log.push(
                Diag::error("no-lun", format!("sd `{}` has no lun=", name.value), name.span)
                    .help("add lun= with the path of a device or file"),
            );
            None
        }
        ([lun], []) => Some(vec![Some(lun); count]),
        (luns, lists) if luns.len() == lists.len() => {
            let mut by_host = vec![None; count];
            for (lun, list) in luns.iter().zip(lists) {
                for host in hosts.select(&list.value, log) {
                    by_host[host] = Some(lun);
                }
            }
            Some(by_host)
        }
        (luns, lists) => {
            log.push(
                Diag::error(
                    "lun-host-pairs",
                    format!("sd `{}` has {} lun= and {} host=", name.value, luns.len(), lists.len()),
                    luns[luns.len() - 1].span,
                )
                .help("each lun= needs a host= of its own: lun=a,host=h1,lun=b,host=h2"),
            );
            None
        }
    }
}

fn with_number(text: &str, number: Option<u64>) -> Option<String> {
    number.map_or_else(|| Some(text.to_owned()), |n| numbered(text, n))
}

fn number_luns(luns: &[Option<&Spanned<String>>], number: Option<u64>) -> Option<Vec<Option<String>>> {
    luns.iter().map(|lun| lun.map_or(Some(None), |lun| with_number(&lun.value, number).map(Some))).collect()
}

fn bad_mask(text: &Spanned<String>) -> Diag {
    Diag::error("count-mask", format!("`{}` has a `%` that is no mask for a number", text.value), text.span)
        .help("use a mask such as %d or %02d, or `*`")
}
