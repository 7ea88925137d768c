//! Whether luns may be read and written: permissions and safety rules.

use super::lun::unusable;
use super::usage::SdUse;
use super::{SetupNotice, SetupProblem, Sighting};
use crate::plan::Plan;
use crate::work::LunKind;

/// What helps where a permission is missing.
const CURE: &str = "run brunt there as a user who may (over ssh: user=, misc=(become=…))";

/// Checks one SD on all its hosts. Safety rules count only for luns that are written; one that is not there at all is
/// told already.
pub(crate) fn check(
    plan: &Plan,
    at: usize,
    usage: SdUse,
    formatted: bool,
    sightings: &[Sighting],
    problems: &mut Vec<SetupProblem>,
    notices: &mut Vec<SetupNotice>,
) {
    let sd = &plan.sds[at];
    let writes = usage.written || formatted;
    for seen in sightings.iter().filter(|seen| unusable(plan, sd, seen).is_none()) {
        let host = &plan.hosts[seen.host].label;
        let facts = seen.facts;
        let missing = facts.kind == LunKind::Missing;
        if !missing && usage.read && !facts.readable {
            let text = format!("sd={}: no permission to read lun={} on host={host}; {CURE}", sd.name, seen.lun);
            problems.push(SetupProblem::setup(text, sd.span));
        }
        if !writes {
            continue;
        }
        if !facts.writable {
            let deed = if missing { "create" } else { "write" };
            let text = format!("sd={}: no permission to {deed} lun={} on host={host}; {CURE}", sd.name, seen.lun);
            problems.push(SetupProblem::setup(text, sd.span));
        }
        for refusal in &facts.refusals {
            let text = format!("sd={}: lun={} on host={host} is not written: {refusal}", sd.name, seen.lun);
            problems.push(SetupProblem::safety(text, sd.span));
        }
        for warning in &facts.warnings {
            notices.push(SetupNotice {
                warning: true,
                code: "lun-warning",
                text: format!("sd={}: lun={} on host={host}: {warning}", sd.name, seen.lun),
            });
        }
    }
}
