//! Definitions that no run uses: not an error (`docs/vdbench/raw.md` §10 item 27), but often a slip of a name.

use std::collections::HashSet;

use brunt_parm::{Diag, ParmFile, Span};

use super::log::Log;
use crate::plan::{Run, Sd};

/// Names in one message.
const NAMED: usize = 5;

/// Notes the SDs and WDs that no run uses, each kind once, at the first of them.
pub(crate) fn note(file: &ParmFile, sds: &[Sd], wds: &[String], runs: &[Run], log: &mut Log) {
    let workloads = || runs.iter().flat_map(|run| run.workloads.iter());
    let used_sds: HashSet<usize> = workloads().flat_map(|w| w.sds.iter().copied()).collect();
    let used_wds: HashSet<&str> = workloads().filter_map(|w| wds.get(w.wd)).map(String::as_str).collect();
    let idle_sds = sds.iter().enumerate().filter(|(n, _)| !used_sds.contains(n));
    tell("storage", idle_sds.filter_map(|(_, sd)| Some((sd.name.as_str(), sd.span?))), log);
    let names = file.wds.iter().filter_map(|wd| wd.name.as_ref());
    tell("workload", names.map(|n| (n.value.as_str(), n.span)).filter(|(name, _)| !used_wds.contains(name)), log);
}

fn tell<'a>(kind: &str, idle: impl Iterator<Item = (&'a str, Span)>, log: &mut Log) {
    let idle: Vec<(&str, Span)> = idle.collect();
    let Some((first, span)) = idle.first() else { return };
    let text = match idle.len() {
        1 => format!("no run uses {kind} definition `{first}`"),
        n => {
            let names: Vec<&str> = idle.iter().take(NAMED).map(|(name, _)| *name).collect();
            let more = if n > NAMED { ", …" } else { "" };
            format!("no run uses {n} {kind} definitions: {}{more}", names.join(", "))
        }
    };
    log.push(Diag::note("unused-definition", text, *span).label("never used").help("is a name in a run mistyped?"));
}
