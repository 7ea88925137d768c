//! Which LUN is it: one SD is one device on all hosts, and no other SD is the same one.

use std::collections::HashMap;

use super::{SetupNotice, SetupProblem, Sighting};
use crate::plan::Plan;
use crate::work::LunKind;

/// Compares the identities of devices over hosts and SDs (`docs/vdbench/decisions.md`). Files are left out: two SDs may
/// name the same one, and their numbers mean nothing on another host. `misc=(identity=warn)` makes it a warning.
pub(crate) fn check(
    plan: &Plan,
    by_sd: &[Vec<Sighting>],
    problems: &mut Vec<SetupProblem>,
    notices: &mut Vec<SetupNotice>,
) {
    let lenient = plan.settings.misc.iter().rev().find(|(k, _)| k == "identity").is_some_and(|(_, v)| v == "warn");
    let mut tell = |text: String, sd: usize| {
        if lenient {
            notices.push(SetupNotice { warning: true, code: "identity", text });
        } else {
            let text = format!("{text}; misc=(identity=warn) allows it");
            problems.push(SetupProblem::safety(text, plan.sds[sd].span));
        }
    };
    let mut owners: HashMap<&str, usize> = HashMap::new();
    for (at, sightings) in by_sd.iter().enumerate() {
        let mut known = sightings
            .iter()
            .filter(|s| matches!(s.facts.kind, LunKind::Block | LunKind::Character))
            .filter_map(|s| s.facts.identity.as_deref().map(|identity| (s, identity)));
        let Some((first, identity)) = known.next() else { continue };
        if let Some((other, differs)) = known.find(|(_, other)| *other != identity) {
            let label = |s: &Sighting| plan.hosts[s.host].label.as_str();
            tell(
                format!(
                    "sd={} is two devices: lun={} on host={} is {identity}, lun={} on host={} is {differs}",
                    plan.sds[at].name,
                    first.lun,
                    label(first),
                    other.lun,
                    label(other)
                ),
                at,
            );
        }
        match owners.get(identity) {
            None => {
                owners.insert(identity, at);
            }
            Some(owner) => {
                let (a, b) = (&plan.sds[*owner].name, &plan.sds[at].name);
                tell(format!("sd={a} and sd={b} are one device ({identity}), perhaps two paths to it"), at);
            }
        }
    }
}
