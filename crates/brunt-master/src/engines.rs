//! The back ends of an execution for the event stream.

use std::collections::BTreeMap;

use brunt_event::EngineChoice;
use brunt_plan::Resolved;

use crate::planned::Numbers;

/// The back ends of all SDs that have a number, grouped by host, back end and reason.
pub(crate) fn choices(resolved: &Resolved, numbers: &Numbers) -> Vec<EngineChoice> {
    let mut groups: BTreeMap<_, Vec<u32>> = BTreeMap::new();
    for (hosts, number) in resolved.engines.iter().zip(&numbers.sds) {
        let Some(number) = number else { continue };
        for (host, choice) in hosts.iter().enumerate() {
            if let Some(choice) = choice {
                groups.entry((host, choice.backend.name(), &choice.why)).or_default().push(*number);
            }
        }
    }
    let choice = |((host, backend, why), sds): ((usize, &str, &brunt_plan::engine::Why), Vec<u32>)| EngineChoice {
        host: host as u32,
        backend: backend.to_owned(),
        why: why.to_string(),
        sds,
    };
    groups.into_iter().map(choice).collect()
}
