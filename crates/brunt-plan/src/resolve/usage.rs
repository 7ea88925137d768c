//! What the whole execution does with each SD.

use std::collections::HashMap;
use std::sync::Arc;

use crate::plan::Plan;

/// What is done with an SD in any run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SdUse {
    /// Some workload reads.
    pub(crate) read: bool,
    /// Some workload writes.
    pub(crate) written: bool,
    /// Largest transfer size, bytes (`docs/vdbench/raw.md` §8.2).
    pub(crate) largest: u64,
}

impl SdUse {
    fn merge(&mut self, other: SdUse) {
        self.read |= other.read;
        self.written |= other.written;
        self.largest = self.largest.max(other.largest);
    }
}

/// The use of all SDs.
#[derive(Debug)]
pub(crate) struct Usage {
    /// By SD; `None`: no run uses it.
    pub(crate) by_sd: Vec<Option<SdUse>>,
    /// The distinct sets of SDs with the hosts that use them.
    groups: Vec<Group>,
    lun_on_host: Vec<Vec<bool>>,
}

#[derive(Debug)]
struct Group {
    sds: Arc<[usize]>,
    hosts: Arc<[usize]>,
    usage: SdUse,
}

impl Usage {
    /// Looks at all runs. Workloads that share their sets are looked at once.
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut groups: Vec<Group> = Vec::new();
        let mut index: HashMap<(*const usize, *const usize), usize> = HashMap::new();
        for workload in plan.runs.iter().flat_map(|r| r.workloads.iter()) {
            let usage = SdUse {
                read: workload.read_pct > 0.0,
                written: workload.read_pct < 100.0,
                largest: workload.xfer.largest(),
            };
            let key = (workload.sds.as_ptr(), workload.hosts.as_ptr());
            let at = *index.entry(key).or_insert_with(|| {
                let (sds, hosts) = (Arc::clone(&workload.sds), Arc::clone(&workload.hosts));
                groups.push(Group { sds, hosts, usage });
                groups.len() - 1
            });
            groups[at].usage.merge(usage);
        }
        let mut by_sd: Vec<Option<SdUse>> = vec![None; plan.sds.len()];
        for group in &groups {
            for sd in &*group.sds {
                by_sd[*sd].get_or_insert_default().merge(group.usage);
            }
        }
        let lun_on_host = (0..plan.hosts.len())
            .map(|host| plan.sds.iter().map(|sd| sd.lun.get(host).is_some_and(Option::is_some)).collect())
            .collect();
        Self { by_sd, groups, lun_on_host }
    }

    /// By SD: whether a host uses it.
    pub(crate) fn on_host(&self, host: usize) -> Vec<bool> {
        let mut used = vec![false; self.by_sd.len()];
        let Some(has) = self.lun_on_host.get(host) else { return used };
        for group in self.groups.iter().filter(|g| g.hosts.contains(&host)) {
            for sd in &*group.sds {
                used[*sd] = has[*sd];
            }
        }
        used
    }
}
