//! What was found under each path, which every run compares with what is there then.

use super::Sighting;
use crate::plan::Plan;
use crate::work::Sight;

/// By SD and host; `None` where a host was not asked.
pub(super) fn of_all(plan: &Plan, by_sd: &[Vec<Sighting>]) -> Vec<Vec<Option<Sight>>> {
    let of_sd = |(sd, sightings): (&crate::plan::Sd, &Vec<Sighting>)| {
        let mut sights = vec![None; plan.hosts.len()];
        for seen in sightings {
            if let Some(sight) = sights.get_mut(seen.host) {
                *sight = Some(Sight {
                    kind: seen.facts.kind,
                    identity: seen.facts.identity.clone(),
                    size: seen.facts.size,
                    allow_in_use: plan.waives("allow_in_use", &sd.name),
                    overwrite: plan.waives("overwrite", &sd.name),
                    node: None,
                });
            }
        }
        sights
    };
    plan.sds.iter().zip(by_sd).map(of_sd).collect()
}
