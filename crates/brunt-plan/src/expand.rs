//! From the definitions of a parameter file to every run.

mod checks;
mod count;
mod flags;
mod hosts;
mod log;
mod loops;
pub(crate) mod names;
mod rates;
mod restart;
mod runs;
mod sds;
mod sets;
mod settings;
mod skew;
mod timing;
mod workloads;

#[cfg(test)]
mod tests;

use brunt_parm::{Diag, ParmFile, Severity};

use self::hosts::Hosts;
use self::log::Log;
use self::runs::Runs;
use self::sds::Sds;
use crate::options::Options;
use crate::plan::Plan;

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
    let mut expansion = Runs::new(file, options, &hosts, &sds, &mut log);
    for rd in &file.rds {
        expansion.add(rd, &mut log);
    }
    let (mut runs, wds) = expansion.finish();
    if let Some(name) = options.restart_at.as_deref().filter(|n| !n.is_empty() && !log.failed()) {
        runs = restart::restart(runs, name, &mut log);
    }
    let failed = log.failed();
    settings.unsupported = log.unsupported;
    (!failed).then_some(Plan { settings, hosts: hosts.list, sds: sds.list, wds, runs })
}
