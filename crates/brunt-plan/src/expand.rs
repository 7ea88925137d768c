//! From the definitions of a parameter file to every run.

mod checks;
mod count;
mod exclusive;
mod flags;
mod fs;
mod fsds;
mod hosts;
mod log;
mod loops;
mod misc;
pub(crate) mod names;
mod rates;
mod replay;
mod restart;
mod runs;
mod sds;
mod sets;
mod settings;
mod skew;
mod timing;
mod unused;
mod workloads;

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use brunt_parm::{Diag, ParmFile, Severity};

use self::fs::FsRuns;
use self::fsds::Fsds;
use self::hosts::Hosts;
use self::log::Log;
pub use self::misc::seconds;
use self::runs::Runs;
use self::sds::Sds;
use crate::options::Options;
use crate::plan::{Host, Plan};

/// Makes the plan of everything that needs no device. All problems are added to `diags`; an error at a place that
/// already has one there is not repeated. `None` exactly when there was an error.
pub fn expand(file: &ParmFile, options: &Options, diags: &mut Vec<Diag>) -> Option<Plan> {
    let mut log = Log::new(diags);
    let hosts = Hosts::expand(file, options, &mut log);
    let sds = Sds::expand(file, &hosts, &mut log);
    let mut settings = settings::expand(file, options, &sds, &mut log);
    if file.rds.is_empty() {
        log.push(Diag::new(Severity::Error, "no-rd", "there is no rd=, nothing to run", None));
    }
    replay::check(file, &mut log);
    let fsds = Fsds::expand(file, &mut log);
    let (mut runs, wds, fwds) = if file.is_of_files() {
        collisions(file, &hosts, &fsds, &mut log);
        let mut expansion = FsRuns::new(file, options, &hosts, &fsds, &mut log);
        file.rds.iter().for_each(|rd| expansion.add(rd, &mut log));
        let (runs, fwds) = expansion.finish(&mut log);
        (runs, Vec::new(), fwds)
    } else {
        shared_reports(file, &hosts, &sds, &mut log);
        exclusive::check(file, &mut log);
        let mut expansion = Runs::new(file, options, &hosts, &sds, &mut log);
        file.rds.iter().for_each(|rd| expansion.add(rd, &mut log));
        let (runs, wds) = expansion.finish();
        if !log.failed() {
            unused::note(file, &sds.list, &wds, &runs, &mut log);
        }
        (runs, wds, Vec::new())
    };
    if let Some(name) = options.restart_at.as_deref().filter(|n| !n.is_empty() && !log.failed()) {
        runs = restart::restart(runs, name, &mut log);
    }
    let failed = log.failed();
    settings.unsupported = log.unsupported;
    (!failed).then_some(Plan { settings, hosts: hosts.list, sds: sds.list, wds, fsds: fsds.list, fwds, runs })
}

/// The hosts of a file alone, for a visit before there is anything to run. `None` exactly when there was an error.
pub fn hosts(file: &ParmFile, options: &Options, diags: &mut Vec<Diag>) -> Option<Vec<Host>> {
    let mut log = Log::new(diags);
    let hosts = Hosts::expand(file, options, &mut log);
    (!log.failed()).then_some(hosts.list)
}

/// Names of reports that every execution has.
const OWN_REPORTS: [&str; 15] = [
    "anchors",
    "config",
    "errorlog",
    "events",
    "flatfile",
    "histogram",
    "logfile",
    "parmfile",
    "parmscan",
    "skew",
    "status",
    "summary",
    "swat_mon",
    "totals",
    "totals_optional",
];

/// The longest name with which all files of a definition can be made: file names have 255 bytes, and the longest ending
/// is `-1023.stdout.html`.
const LONGEST_NAME: usize = 238;

/// Hosts, workers, SDs and WDs have a report of their name each, so that names must differ (`docs/vdbench/reports.md`
/// §2.1): in Vdbench as here an error.
fn shared_reports(file: &ParmFile, hosts: &Hosts, sds: &Sds, log: &mut Log) {
    if log.failed() {
        return; // the number of workers may be one that was refused
    }
    let mut taken: HashSet<String> = hosts.report_names().collect();
    let sds = sds.list.iter().map(|sd| (&sd.name, sd.span));
    let wds = file.wds.iter().filter_map(|wd| wd.name.as_ref()).map(|name| (&name.value, Some(name.span)));
    let hosts = hosts.list.iter().map(|host| (&host.label, None));
    for (name, span) in hosts.chain(sds).chain(wds) {
        if OWN_REPORTS.contains(&name.as_str()) || name.contains('/') || name.len() > LONGEST_NAME {
            let text = format!("`{name}` cannot be the name of a report: give the definition another name");
            log.unsupported(span, text);
        }
        if span.is_some() && !taken.insert(name.clone()) {
            let text =
                format!("`{name}` names two things of hosts, storage and workloads: each has a report of its name");
            log.push(Diag::new(Severity::Error, "report-name", text, span).help("give it a name of its own"));
        }
    }
}

/// What keeps a file system execution from running: that this version has no engine for it, and names that would be
/// those of one report.
fn collisions(file: &ParmFile, hosts: &Hosts, fsds: &Fsds, log: &mut Log) {
    let first = file.fsds.iter().find_map(|f| f.name.as_ref()).map(|n| n.span);
    log.unsupported(first, "file system workloads are not run by this version");
    if log.failed() {
        return; // the number of workers may be one that was refused
    }
    let mut taken: HashSet<String> = hosts.report_names().map(|name| name.to_lowercase()).collect();
    let fsds = fsds.list.iter().map(|f| (&f.name, f.span));
    let fwds = file.fwds.iter().filter_map(|f| f.name.as_ref()).map(|n| (&n.value, Some(n.span)));
    for (name, span) in fsds.chain(fwds) {
        if !taken.insert(name.to_lowercase()) {
            log.unsupported(
                span,
                format!(
                    "`{name}` names two things of hosts, file systems and workloads: each has a report of its name"
                ),
            );
        }
    }
}
