//! `misc=(key=value,…)`: what its keys say of the engine and the fleet (`docs/vdbench/decisions.md`).

use brunt_parm::{Diag, Spanned, misc};

use super::log::Log;
use super::names::nearest;
use super::sds::Sds;
use crate::engine::Asked;
use crate::plan::{FleetRules, OnLoss};
use crate::sim;
use crate::work::{Conduct, Stamps, Wait};

/// Keys that later versions will follow. A file may have them already.
const LATER_KEYS: [&str; 1] = ["array_cache"];

/// The longest latency that `/dev/cpu_dma_latency` takes, µs: "no limit" in `include/linux/pm_qos.h`.
const LONGEST_LATENCY_US: u32 = 2_000_000_000;

/// The longest lease, seconds: a day.
const LONGEST_LEASE_S: u32 = 86_400;
/// A host that does not answer a hundred times is not there.
const MOST_RETRIES: u32 = 100;

/// What `misc=` says about the engine and the fleet. Of a key that comes twice the last one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Manners {
    pub(crate) engine: Asked,
    pub(crate) conduct: Conduct,
    pub(crate) fleet: FleetRules,
}

/// Checks all keys and values.
pub(crate) fn read(list: &[(Spanned<String>, Spanned<String>)], sds: &Sds, log: &mut Log) -> Manners {
    let mut manners = Manners::default();
    for (key, value) in list {
        match misc::sim_key(&key.value) {
            Some((_, field)) => check_sim(key, field, value, log),
            None => match manners.set(&key.value, &value.value) {
                Ok(true) => {}
                Ok(false) => check(key, value, sds, log),
                Err(valid) => {
                    let text = format!("{}= is {valid}, not `{}`", key.value, value.value);
                    log.push(Diag::error("misc-value", text, value.span));
                }
            },
        }
    }
    manners
}

impl Manners {
    /// Whether the key is one of the engine's or the fleet's.
    ///
    /// # Errors
    /// The values that it takes.
    fn set(&mut self, key: &str, value: &str) -> Result<bool, &'static str> {
        match key {
            "engine" => self.engine = value.parse().map_err(|()| "auto, sync, aio, uring or null")?,
            "wait" => {
                self.conduct.wait = match value {
                    "auto" => Wait::Auto,
                    "sleep" => Wait::Sleep,
                    "hybrid" => Wait::Hybrid,
                    "spin" => Wait::Spin,
                    _ => return Err("auto, sleep, hybrid or spin"),
                }
            }
            "stamps" => {
                self.conduct.stamps = match value {
                    "each" => Stamps::Each,
                    "batch" => Stamps::Batch,
                    _ => return Err("each or batch"),
                }
            }
            "cpu_latency" => {
                let us = value.parse().ok().filter(|us| *us <= LONGEST_LATENCY_US);
                let us = us.ok_or("a whole number of microseconds from 0 to 2000000000")?;
                self.conduct.cpu_latency_us = Some(us);
            }
            "lease" => {
                let seconds = seconds(value).filter(|s| *s <= LONGEST_LEASE_S);
                self.fleet.lease_s =
                    Some(seconds.ok_or("a time of whole seconds up to a day (30, 30s, 2m, 1h), or 0")?);
            }
            "retry" => {
                let times = value.parse().ok().filter(|times| *times <= MOST_RETRIES);
                self.fleet.retry = Some(times.ok_or("a whole number from 0 to 100")?);
            }
            "on_worker_loss" => {
                self.fleet.on_loss = match value {
                    "stop" => OnLoss::Stop,
                    "continue" => OnLoss::Continue,
                    _ => return Err("stop or continue"),
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// No kernel has 65,536 of them.
fn is_cores(range: &str) -> bool {
    let (from, to) = range.split_once('-').unwrap_or((range, range));
    matches!((from.parse::<u16>(), to.parse::<u16>()), (Ok(from), Ok(to)) if from <= to)
}

/// The cores of `misc=(cpus=0-3)` as one list, with the place of the first; the key may come more than once.
pub(crate) fn cores(list: &[(Spanned<String>, Spanned<String>)]) -> Option<Spanned<String>> {
    let all: Vec<&Spanned<String>> =
        list.iter().filter(|(key, _)| key.value == "cpus").map(|(_, range)| range).collect();
    let first = all.first()?;
    let value = all.iter().map(|range| range.value.as_str()).collect::<Vec<_>>().join(",");
    Some(Spanned { value, span: first.span })
}

/// A time as values of `misc=` have it, in seconds: a number that may have a unit, s, m or h.
pub fn seconds(text: &str) -> Option<u32> {
    let unit = |letter| match letter {
        's' => Some(1),
        'm' => Some(60),
        'h' => Some(3_600),
        _ => None,
    };
    let (number, unit) = match text.chars().next_back().and_then(unit) {
        Some(unit) => (text.get(..text.len() - 1)?, unit),
        None => (text, 1),
    };
    number.parse::<u32>().ok()?.checked_mul(unit)
}

fn check(key: &Spanned<String>, value: &Spanned<String>, sds: &Sds, log: &mut Log) {
    match key.value.as_str() {
        "identity" if !matches!(value.value.as_str(), "warn" | "error") => {
            log.push(Diag::error("misc-value", "identity= is warn or error", value.span));
        }
        "become" if value.value.trim().is_empty() => {
            log.push(Diag::error("misc-value", "become= is a command, such as \"sudo -n\"", value.span));
        }
        "hook_failure" if !matches!(value.value.as_str(), "warn" | "error") => {
            log.push(Diag::error("misc-value", "hook_failure= is warn or error", value.span));
        }
        "cpus" if !is_cores(&value.value) => {
            let text = format!("cpus= is a core or a range of cores, such as 3 or 0-3, not `{}`", value.value);
            log.push(Diag::error("misc-value", text, value.span));
        }
        "allow_in_use" | "overwrite" if sds.names.matching(&value.value).is_empty() => {
            let diag = Diag::warning("unknown-sd", format!("no sd matches `{}`", value.value), value.span);
            log.push(match sds.names.nearest(&value.value) {
                Some(near) => diag.help(format!("did you mean `{near}`?")),
                None => diag,
            });
        }
        later if LATER_KEYS.contains(&later) => log.push(
            Diag::warning("later-misc", format!("misc=({later}=…) has no effect in this version"), key.span)
                .help("leave it out, or keep it for a later version"),
        ),
        // What is no key at all was told where it was read.
        _ => {}
    }
}

fn check_sim(key: &Spanned<String>, field: &str, value: &Spanned<String>, log: &mut Log) {
    let Ok(mut probe) = sim::spec("", &[], None, 0) else { return };
    if let Err(why) = sim::set(&mut probe, field, &value.value) {
        let known = sim::KEYS.contains(&field);
        let mut diag = Diag::error("misc-value", why, if known { value.span } else { key.span });
        if let Some(near) = nearest(field, sim::KEYS.into_iter()).filter(|_| !known) {
            diag = diag.help(format!("did you mean `{near}`?"));
        }
        log.push(diag);
    }
}
