//! General parameters: what holds for the whole execution.

use brunt_parm::ast::{DataErrors, Opt};
use brunt_parm::{Diag, ParmFile, Spanned};

use super::log::Log;
use super::names::nearest;
use super::sds::Sds;
use crate::options::Options;
use crate::plan::Settings;
use crate::sim;

/// Errors that end an execution when `data_errors=` says nothing (`docs/vdbench/raw.md` §3).
const DEFAULT_ERRORS: u64 = 50;
/// Keys of `misc=` (`docs/vdbench/decisions.md`), without those of simulated devices.
const MISC_KEYS: [&str; 6] = ["cpus", "drain", "hook_failure", "allow_in_use", "overwrite", "identity"];
/// Keys that later versions will follow. A file may have them already.
const LATER_MISC_KEYS: [&str; 8] =
    ["engine", "cpu_latency", "wait", "lease", "retry", "on_worker_loss", "become", "array_cache"];

/// Makes the settings; `unsupported` is filled in at the end of the expansion.
pub(crate) fn expand(file: &ParmFile, options: &Options, sds: &Sds, log: &mut Log) -> Settings {
    let general = &file.general;
    for (key, value) in &general.misc {
        check_misc(key, value, sds, log);
    }
    note_unsupported(file, log);
    let text = |field: &Opt<String>| field.as_ref().map(|f| f.value.clone());
    let words = |list: &brunt_parm::ast::List<String>| {
        list.as_ref().map_or_else(Vec::new, |l| l.value.iter().map(|w| w.value.clone()).collect())
    };
    Settings {
        data_errors: general
            .data_errors
            .as_ref()
            .map_or(DataErrors::Limit { count: DEFAULT_ERRORS, seconds: None }, |d| d.value.clone()),
        data_errors_given: general.data_errors.is_some(),
        startcmd: general.startcmd.iter().map(|h| h.value.clone()).collect(),
        endcmd: general.endcmd.iter().map(|h| h.value.clone()).collect(),
        format_xfersize: general.formatxfersize.as_ref().map(|f| f.value),
        format_sds: general.formatsds.as_ref().map(|f| f.value),
        report: general.report.as_ref().map_or_else(Vec::new, |r| r.value.iter().map(|o| o.value).collect()),
        report_run_totals: general.report_run_totals.as_ref().is_some_and(|r| r.value),
        histogram: general.histogram.as_ref().map_or_else(Default::default, |h| h.value.clone()),
        monitor: text(&general.monitor),
        abort_failed_skew: general.abort_failed_skew.as_ref().map(|a| a.value),
        repeat: options.repeat.or(general.repeat.as_ref().map(|r| r.value)),
        ios_per_jvm: general.ios_per_jvm.as_ref().map(|i| i.value),
        timeout: words(&general.timeout),
        misc: general.misc.iter().map(|(k, v)| (k.value.clone(), v.value.clone())).collect(),
        seed: options.seed,
        unsupported: Vec::new(),
    }
}

fn check_misc(key: &Spanned<String>, value: &Spanned<String>, sds: &Sds, log: &mut Log) {
    if let Some((_, field)) = sim::split_key(&key.value) {
        check_sim(key, field, value, log);
        return;
    }
    match key.value.as_str() {
        "identity" if !matches!(value.value.as_str(), "warn" | "error") => {
            log.push(Diag::error("misc-value", "identity= is warn or error", value.span));
        }
        "hook_failure" if !matches!(value.value.as_str(), "warn" | "error") => {
            log.push(Diag::error("misc-value", "hook_failure= is warn or error", value.span));
        }
        "allow_in_use" | "overwrite" if sds.names.matching(&value.value).is_empty() => {
            let diag = Diag::warning("unknown-sd", format!("no sd matches `{}`", value.value), value.span);
            log.push(match sds.names.nearest(&value.value) {
                Some(near) => diag.help(format!("did you mean `{near}`?")),
                None => diag,
            });
        }
        "fifo" => {}
        known if MISC_KEYS.contains(&known) => {}
        later if LATER_MISC_KEYS.contains(&later) => log.push(
            Diag::warning("later-misc", format!("misc=({later}=…) has no effect in this version"), key.span)
                .help("leave it out, or keep it for a later version"),
        ),
        unknown => {
            let diag = Diag::warning("unknown-misc", format!("misc= has no key `{unknown}`"), key.span)
                .label("ignored, as in Vdbench");
            log.push(match nearest(unknown, MISC_KEYS.into_iter()) {
                Some(near) => diag.help(format!("did you mean `{near}`?")).fix(key.span, near),
                None => diag,
            });
        }
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

/// Where data validation is asked for, if it is.
pub(crate) fn validates(file: &ParmFile) -> Option<brunt_parm::Span> {
    let general = &file.general;
    let lists = [&general.validate, &general.journal];
    lists.into_iter().flatten().find(|l| l.value.iter().any(|w| w.value != "no")).map(|l| l.span)
}

/// What the general section asks for and this version cannot run.
fn note_unsupported(file: &ParmFile, log: &mut Log) {
    let general = &file.general;
    if let Some(yes) = general.concatenatesds.as_ref().filter(|c| c.value) {
        log.unsupported(Some(yes.span), "concatenatesds=yes is not run by this version");
    }
    for (keyword, list) in [("validate", &general.validate), ("journal", &general.journal)] {
        if let Some(list) = list.as_ref().filter(|l| l.value.iter().any(|w| w.value != "no")) {
            log.unsupported(Some(list.span), format!("{keyword}= is not run by this version"));
        }
    }
    if let Some(pattern) = &general.pattern {
        log.unsupported(Some(pattern.span), "pattern= is not run by this version; data is random");
    }
    if let Some(ratio) = general.compratio.as_ref().filter(|c| c.value > 1.0) {
        log.unsupported(
            Some(ratio.span),
            format!("compratio={} is not run by this version; data is incompressible", ratio.value),
        );
    }
    if let Some(yes) = general.showlba.as_ref().filter(|s| s.value) {
        log.warning("showlba", "showlba=yes has no effect in this version", Some(yes.span));
    }
    for setting in &general.other {
        if setting.keyword.starts_with("dedup") || setting.keyword == "auxreport" {
            log.unsupported(Some(setting.span), format!("{}= is not run by this version", setting.keyword));
        }
    }
}
