//! What serves the I/Os of each SD, a line for every back end and reason.

use std::collections::{BTreeMap, BTreeSet};

use brunt_event::{EngineChoice, Planned};

/// Parts of a list of SDs that are named.
const SHOWN: usize = 4;

/// `engine: uring for 12 SDs (sd1-sd12): a block device, …`. A host is named where an SD has another back end, or the
/// same for another reason, on another host.
pub(crate) fn lines(planned: &Planned, choices: &[EngineChoice]) -> Vec<String> {
    let mut reasons: BTreeMap<u32, BTreeSet<(&str, &str)>> = BTreeMap::new();
    for choice in choices {
        for sd in &choice.sds {
            reasons.entry(*sd).or_default().insert((&choice.backend, &choice.why));
        }
    }
    let mut groups: BTreeMap<(&str, &str, Option<u32>), BTreeSet<u32>> = BTreeMap::new();
    for choice in choices {
        for sd in &choice.sds {
            let alike = reasons.get(sd).is_none_or(|reasons| reasons.len() == 1);
            let host = if alike { None } else { Some(choice.host) };
            groups.entry((&choice.backend, &choice.why, host)).or_default().insert(*sd);
        }
    }
    let host_name = |host: u32| planned.hosts.get(host as usize).map_or("unknown", String::as_str);
    let line = |((backend, why, host), sds): (&(&str, &str, Option<u32>), &BTreeSet<u32>)| {
        let host = host.map_or_else(String::new, |host| format!(" on host={}", host_name(host)));
        format!("engine: {backend} for {}{host}: {why}", names(planned, sds))
    };
    groups.iter().map(line).collect()
}

/// `sd1`, `3 SDs (sd1-sd3)`: SDs that are planned one behind the other as a range.
fn names(planned: &Planned, sds: &BTreeSet<u32>) -> String {
    let name = |sd: u32| planned.sds.get(sd as usize).map_or("unknown", |sd| &sd.name);
    let all: Vec<u32> = sds.iter().copied().collect();
    let ranges: Vec<String> = all
        .chunk_by(|a, b| a.checked_add(1) == Some(*b))
        .filter_map(|range| match range {
            [] => None,
            [one] => Some(name(*one).to_owned()),
            [first, second] => Some(format!("{}, {}", name(*first), name(*second))),
            [first, .., last] => Some(format!("{}-{}", name(*first), name(*last))),
        })
        .collect();
    let mut shown = ranges.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if ranges.len() > SHOWN {
        shown.push_str(", …");
    }
    if all.len() == 1 { shown } else { format!("{} SDs ({shown})", all.len()) }
}

#[cfg(test)]
mod tests {
    use brunt_event::PlannedSd;

    use super::*;

    fn planned(sds: usize) -> Planned {
        Planned {
            hosts: vec!["a".into(), "b".into()],
            sds: (1..=sds).map(|n| PlannedSd { name: format!("sd{n}"), luns: Vec::new() }).collect(),
            ..Planned::default()
        }
    }

    fn choice(host: u32, backend: &str, why: &str, sds: &[u32]) -> EngineChoice {
        EngineChoice { host, backend: backend.into(), why: why.into(), sds: sds.to_vec() }
    }

    #[test]
    fn a_line_for_each_back_end_and_reason() {
        let all: Vec<u32> = (0..12).collect();
        let disks = [choice(0, "uring", "a block device", &all), choice(1, "uring", "a block device", &all)];
        let rest = [choice(0, "sync", "page cache", &[12]), choice(1, "sync", "page cache", &[12])];
        assert_eq!(
            lines(&planned(13), &[disks, rest].concat()),
            ["engine: sync for sd13: page cache", "engine: uring for 12 SDs (sd1-sd12): a block device"]
        );
    }

    #[test]
    fn a_host_is_named_where_it_differs() {
        let choices = [
            choice(0, "uring", "x", &[0, 1]),
            choice(1, "aio", "x; not uring: y", &[0]),
            choice(1, "uring", "x", &[1]),
        ];
        assert_eq!(
            lines(&planned(2), &choices),
            [
                "engine: aio for sd1 on host=b: x; not uring: y",
                "engine: uring for sd2: x",
                "engine: uring for sd1 on host=a: x"
            ]
        );
    }

    #[test]
    fn long_lists_are_cut() {
        let named = |sds: &[u32]| names(&planned(20), &sds.iter().copied().collect());
        assert_eq!(named(&[0, 1]), "2 SDs (sd1, sd2)");
        assert_eq!(named(&[0, 2, 4, 5, 6, 9]), "6 SDs (sd1, sd3, sd5-sd7, sd10)");
        assert_eq!(named(&[0, 2, 4, 6, 8]), "5 SDs (sd1, sd3, sd5, sd7, …)");
    }
}
