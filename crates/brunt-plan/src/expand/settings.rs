//! General parameters: what holds for the whole execution.

use brunt_parm::ParmFile;
use brunt_parm::ast::{DataErrors, Opt};

use super::log::Log;
use super::misc;
use super::sds::Sds;
use crate::options::Options;
use crate::plan::Settings;

/// Errors that end an execution when `data_errors=` says nothing (`docs/vdbench/raw.md` §3).
const DEFAULT_ERRORS: u64 = 50;
/// Makes the settings; `unsupported` is filled in at the end of the expansion.
pub(crate) fn expand(file: &ParmFile, options: &Options, sds: &Sds, log: &mut Log) -> Settings {
    let general = &file.general;
    let manners = misc::read(&general.misc, sds, log);
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
        cores: misc::cores(&general.misc),
        misc: general.misc.iter().map(|(k, v)| (k.value.clone(), v.value.clone())).collect(),
        engine: options.engine.unwrap_or(manners.engine),
        conduct: manners.conduct,
        fleet: manners.fleet,
        seed: options.seed,
        unsupported: Vec::new(),
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
