//! Rules between the workloads of one run.

use brunt_parm::{Diag, Severity};

use super::log::Log;
use super::sds::Sds;
use super::skew::{Claim, shares};
use super::workloads::Selected;
use crate::plan::{Rate, Workload};
use crate::work::Xfer;

/// Gives each workload its share. `false` after an error.
pub(crate) fn share_skew(rd: &str, selected: &[Selected], workloads: &mut [Workload], log: &mut Log) -> bool {
    let claims: Vec<Claim> = selected
        .iter()
        .map(|s| Claim {
            skew: s.def.skew.as_ref().map(|k| k.value),
            own_rate: s.def.iorate.as_ref().is_some_and(|i| i.value > 0.0),
        })
        .collect();
    match shares(&claims) {
        Ok(found) => {
            for (workload, share) in workloads.iter_mut().zip(found) {
                workload.skew = share;
            }
            warn_of_idle(rd, selected, workloads, log);
            true
        }
        Err(total) => {
            log.push(bad_total(rd, total, selected));
            false
        }
    }
}

fn bad_total(rd: &str, total: f64, selected: &[Selected]) -> Diag {
    let mut places = selected.iter().filter_map(|s| s.def.skew.as_ref()).map(|skew| (skew.span, skew.value));
    let first = places.next();
    let span = first.map(|(span, _)| span).or_else(|| selected.first().and_then(|s| s.span));
    let mut diag = Diag::new(
        Severity::Error,
        "skew-total",
        format!("the skews of run `{rd}` add up to {total:.2}, not to 100"),
        span,
    )
    .vdbench(format!("rd={rd}: Total skew must add up to 100: {total:.2}"))
    .help("make them add up to 100, or leave one workload without skew= for the rest");
    if let Some((_, value)) = first {
        diag = diag.label(format!("skew {value}"));
    }
    for (span, value) in places {
        diag = diag.related(span, format!("skew {value}"));
    }
    diag
}

fn warn_of_idle(rd: &str, selected: &[Selected], workloads: &[Workload], log: &mut Log) {
    for (selected, workload) in selected.iter().zip(workloads) {
        if workload.skew.is_some_and(|s| s <= 0.0) {
            let name = selected.def.name.as_ref();
            log.warning(
                "skew-nothing-left",
                format!(
                    "wd `{}` does no I/O in run `{rd}`: the other skews leave it nothing",
                    name.map_or("", |n| n.value.as_str())
                ),
                name.map(|n| n.span).or(selected.span),
            );
        }
    }
}

/// The rules of `priority=` and `iorate=` of WDs (`docs/vdbench/raw.md` §6). `false` after an error.
pub(crate) fn priorities(rd: &str, selected: &[Selected], log: &mut Log) -> bool {
    let any = selected.iter().any(|s| s.def.priority.is_some() || s.def.iorate.is_some());
    if !any {
        return true;
    }
    let before = log.failed();
    let mut ok = true;
    let mut seen: Vec<(u32, usize)> = Vec::new();
    for (n, item) in selected.iter().enumerate() {
        let name = item.def.name.as_ref();
        let named = name.map_or("", |n| n.value.as_str());
        if let (Some(rate), Some(_)) = (&item.def.iorate, &item.def.skew) {
            log.push(Diag::error("iorate-and-skew", format!("wd `{named}` has both iorate= and skew="), rate.span));
            ok = false;
        }
        let Some(priority) = &item.def.priority else {
            let span = item.def.iorate.as_ref().map(|i| i.span).or(name.map(|n| n.span)).or(item.span);
            let message =
                format!("wd `{named}` needs a priority=, since others of run `{rd}` have priority= or iorate=");
            let message =
                if item.def.iorate.is_some() { format!("wd `{named}` has iorate= but no priority=") } else { message };
            log.push(Diag::new(Severity::Error, "priority-missing", message, span).help("add priority=1 or higher"));
            ok = false;
            continue;
        };
        if priority.value == 0 {
            log.push(Diag::error("priority", "priority=0: the highest priority is 1", priority.span));
            ok = false;
        } else if let Some((_, other)) = seen.iter().find(|(p, _)| *p == priority.value) {
            let mut diag = Diag::error(
                "priority-twice",
                format!("two workloads of run `{rd}` have priority={}", priority.value),
                priority.span,
            );
            if let Some(first) = &selected[*other].def.priority {
                diag = diag.related(first.span, "the other one");
            }
            log.push(diag);
            ok = false;
        } else {
            seen.push((priority.value, n));
        }
    }
    ok &= own_rates_come_first(rd, selected, log);
    if ok && !before {
        gaps(rd, selected, seen, log);
    }
    ok
}

fn own_rates_come_first(rd: &str, selected: &[Selected], log: &mut Log) -> bool {
    let priorities = |own: bool| {
        selected.iter().filter(move |s| s.def.iorate.is_some() == own).filter_map(|s| s.def.priority.as_ref())
    };
    let lowest_own = priorities(true).max_by_key(|p| p.value);
    let highest_other = priorities(false).min_by_key(|p| p.value);
    match (lowest_own, highest_other) {
        (Some(own), Some(other)) if own.value > other.value => {
            log.push(
                Diag::error(
                    "priority-order",
                    format!("run `{rd}`: workloads with iorate= need lower priority= numbers than those without"),
                    own.span,
                )
                .related(other.span, "this one has no iorate="),
            );
            false
        }
        _ => true,
    }
}

/// A gap is found by Vdbench when the run starts, so that a simulation accepts it.
fn gaps(rd: &str, selected: &[Selected], mut seen: Vec<(u32, usize)>, log: &mut Log) {
    seen.sort_unstable();
    for (expected, (priority, at)) in (1u32..).zip(seen) {
        if priority != expected {
            log.unsupported(
                selected[at].def.priority.as_ref().map(|p| p.span),
                format!(
                    "run `{rd}` has priority={priority} but no priority={expected}; they count from 1 without gaps"
                ),
            );
            return;
        }
    }
}

/// `xfersize=(min,max,align)` needs the same `align=` on each of its SDs. `false` after an error.
pub(crate) fn alignment(selected: &[Selected], workloads: &[Workload], sds: &Sds, log: &mut Log) -> bool {
    let mut ok = true;
    for (selected, workload) in selected.iter().zip(workloads) {
        let Xfer::Range { align, .. } = &workload.xfer else { continue };
        let differs = |sd: &&usize| sds.list[**sd].align != Some(*align);
        if let Some(sd) = workload.sds.iter().find(differs) {
            let sd = &sds.list[*sd];
            let mut diag = Diag::new(
                Severity::Error,
                "align",
                format!("xfersize=(min,max,{align}) needs align={align} on sd `{}`", sd.name),
                selected.def.xfersize.as_ref().map(|x| x.span).or(selected.span),
            );
            if let Some(span) = sd.span {
                diag =
                    diag.related(span, sd.align.map_or("it has no align=".to_owned(), |a| format!("it has align={a}")));
            }
            log.push(diag);
            ok = false;
        }
    }
    ok
}

/// What `streams=` asks of a run; Vdbench finds it when the run starts (`docs/vdbench/raw.md` §8.8).
pub(crate) fn streams(rd: &str, selected: &[Selected], rates: &[&Rate], log: &mut Log) {
    let Some(streams) = selected.iter().find_map(|s| s.def.streams.as_ref()) else { return };
    if selected.len() > 1 {
        log.unsupported(
            Some(streams.span),
            format!("run `{rd}`: a workload with streams= must be the only one of its run"),
        );
    }
    if rates.iter().any(|r| !matches!(r, Rate::Max)) {
        log.unsupported(Some(streams.span), format!("run `{rd}`: streams= needs iorate=max"));
    }
}
