//! The pieces of work of a run of file systems: which worker does them, and its share
//! (`docs/vdbench/filesystem.md` §4.1, §4.6).

use std::collections::HashMap;

use crate::plan::Host;
use crate::plan::fs::{Entry, FsRun};

impl FsRun {
    /// The pieces of work, each on its worker with its share of what that worker does.
    pub fn entries(&self, hosts: &[Host]) -> Vec<Entry> {
        let mut entries = Vec::new();
        let mut given = Vec::new();
        for (at, workload) in self.workloads.iter().enumerate() {
            let parts = (workload.fsds.len() * workload.actions.len()).max(1) as f64;
            let skew = workload.skew.filter(|s| *s != 0.0).map(|s| s / parts);
            for (fsd, host) in workload.fsds.iter().flat_map(|f| workload.hosts.iter().map(move |h| (*f, *h))) {
                for action in &workload.actions {
                    entries.push(Entry { workload: at, fsd, host, worker: 0, action: *action, skew: 0.0 });
                    given.push(skew);
                }
            }
        }
        place(&mut entries, hosts);
        share(&mut entries, &given);
        entries
    }
}

/// Gives all work on an anchor to one worker of each host, the one that has the least so far.
fn place(entries: &mut [Entry], hosts: &[Host]) {
    let mut chosen: HashMap<(usize, usize), u32> = HashMap::new();
    let mut load: HashMap<usize, Vec<u32>> = HashMap::new();
    for entry in entries {
        let workers = hosts.get(entry.host).map_or(1, |h| h.workers).max(1);
        let of_host = load.entry(entry.host).or_insert_with(|| vec![0; workers as usize]);
        let least = || (0u32..).zip(of_host.iter()).min_by_key(|(_, n)| **n).map_or(0, |(worker, _)| worker);
        entry.worker = *chosen.entry((entry.host, entry.fsd)).or_insert_with(least);
        if let Some(n) = of_host.get_mut(entry.worker as usize) {
            *n += 1;
        }
    }
}

/// Those without a skew share what the others of their worker leave.
fn share(entries: &mut [Entry], given: &[Option<f64>]) {
    let mut of_worker: HashMap<(usize, u32), (f64, u32)> = HashMap::new();
    for (entry, skew) in entries.iter().zip(given) {
        let (sum, without) = of_worker.entry((entry.host, entry.worker)).or_default();
        match skew {
            Some(skew) => *sum += skew,
            None => *without += 1,
        }
    }
    for (entry, skew) in entries.iter_mut().zip(given) {
        let (sum, without) = of_worker.get(&(entry.host, entry.worker)).copied().unwrap_or_default();
        entry.skew = skew.unwrap_or_else(|| (100.0 - sum) / f64::from(without.max(1)));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use brunt_parm::ast::Operation;
    use proptest::prelude::*;

    use super::*;
    use crate::plan::fs::{Action, Changes, FsWorkload};
    use crate::work::Xfer;

    fn host(workers: u32) -> Host {
        let label = "h".to_owned();
        Host { system: label.clone(), label, shell: None, user: None, install_dir: None, workers }
    }

    fn workload(fsds: &[usize], hosts: &[usize], skew: Option<f64>) -> FsWorkload {
        FsWorkload {
            fwd: Some(0),
            fsds: fsds.into(),
            hosts: hosts.into(),
            actions: vec![Action::One(Operation::Read)],
            threads: 1,
            skew,
            select: Default::default(),
            io: Default::default(),
            xfer: Xfer::Fixed(4096),
            stop_after: None,
            openflags: None,
            target: None,
        }
    }

    fn run(workloads: Vec<FsWorkload>) -> FsRun {
        FsRun {
            format: None,
            assume_complete: false,
            fsds: Arc::default(),
            changes: Changes::default(),
            workloads: workloads.into(),
        }
    }

    fn shares(run: &FsRun, hosts: &[Host]) -> Vec<(usize, usize, u32, f64)> {
        run.entries(hosts).iter().map(|e| (e.workload, e.fsd, e.worker, e.skew)).collect()
    }

    #[test]
    fn two_workers_share_as_in_the_specification() {
        // jvms=2, fwd1 on fsd1 and fsd2, fwd2 on fsd1: slave 0 runs both on fsd1 at half its rate, slave 1 the rest.
        let run = run(vec![workload(&[0, 1], &[0], None), workload(&[0], &[0], None)]);
        assert_eq!(shares(&run, &[host(2)]), [(0, 0, 0, 50.0), (0, 1, 1, 100.0), (1, 0, 0, 50.0)]);
    }

    #[test]
    fn without_skew_each_piece_counts_alike() {
        // fwd1 over 2 FSDs, fwd2 over 1: 2:1 in all.
        let run = run(vec![workload(&[0, 1], &[0], None), workload(&[2], &[0], None)]);
        let all = run.entries(&[host(1)]);
        assert!(all.iter().all(|e| (e.skew - 100.0 / 3.0).abs() < 1e-9));
    }

    #[test]
    fn a_skew_is_divided_by_file_systems_and_not_by_hosts() {
        let run = run(vec![workload(&[0, 1], &[0, 1], Some(70.0)), workload(&[0], &[0, 1], None)]);
        let all = run.entries(&[host(1), host(1)]);
        let skews: Vec<f64> = all.iter().map(|e| e.skew).collect();
        assert_eq!(skews, [35.0, 35.0, 35.0, 35.0, 30.0, 30.0]);
    }

    proptest! {
        #[test]
        fn the_shares_of_a_worker_total_100(
            spec in prop::collection::vec((prop::collection::btree_set(0usize..6, 1..5), prop::option::of(1u32..30)), 1..4),
            workers in 1u32..4,
        ) {
            let mut list: Vec<FsWorkload> = spec
                .into_iter()
                .map(|(fsds, skew)| workload(&fsds.into_iter().collect::<Vec<_>>(), &[0], skew.map(f64::from)))
                .collect();
            // One on all file systems without a skew takes the rest, whatever worker they are on.
            list.push(workload(&[0, 1, 2, 3, 4, 5], &[0], None));
            let run = run(list);
            let mut sums: HashMap<u32, f64> = HashMap::new();
            let entries = run.entries(&[host(workers)]);
            for entry in &entries {
                *sums.entry(entry.worker).or_default() += entry.skew;
                prop_assert!(entries.iter().all(|e| e.fsd != entry.fsd || e.worker == entry.worker));
            }
            for sum in sums.values() {
                prop_assert!((sum - 100.0).abs() < 1e-6);
            }
        }
    }
}
