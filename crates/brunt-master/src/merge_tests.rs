//! Merging: sums of parts are the whole, in any order.

use brunt_stats::{CpuTicks, Histogram, OpStats, OpTimes, PairTimes, Times, Timing};
use proptest::prelude::*;

use super::*;

const HOSTS: usize = 2;
const WORKERS: usize = 3;
const SDS: [(u32, u32); 2] = [(4, 0), (7, 1)];

fn shape() -> Shape {
    Shape {
        hosts: HOSTS,
        worker_hosts: vec![0, 0, 1],
        active: vec![true; WORKERS],
        sds: SDS.to_vec(),
        workloads: 2,
        host_detail: true,
        worker_detail: true,
        watched: false,
    }
}

/// (worker, workload, sd, read, bytes, ns)
type Io = (usize, u32, usize, bool, u64, u64);

fn pair(workload: u32, sd: u32, ios: &[Io]) -> (PairSample, PairTimes) {
    let mut cell = Cell::default();
    let (mut reads, mut writes) = (Histogram::default(), Histogram::default());
    for (_, _, _, read, bytes, ns) in ios {
        let (op, hist) = if *read { (&mut cell.read, &mut reads) } else { (&mut cell.write, &mut writes) };
        op.record(*bytes, *ns, false);
        hist.record(*ns);
        cell.busy_ns += ns;
    }
    let times = |ops: OpStats, hist: &Histogram| {
        let service = Timing { sum_ns: ops.sum_ns, min_ns: ops.min_ns, max_ns: ops.max_ns, hist: hist.to_sparse() };
        OpTimes { service, ..OpTimes::default() }
    };
    let times = Times { read: times(cell.read, &reads), write: times(cell.write, &writes) };
    (PairSample { workload, sd, cell }, PairTimes { workload, sd, times })
}

fn samples(ios: &[Io]) -> Vec<(usize, IntervalSample)> {
    (0..WORKERS)
        .map(|worker| {
            let (pairs, pair_times): (_, Vec<PairTimes>) = (0..2u32)
                .flat_map(|wd| SDS.iter().enumerate().map(move |(s, (sd, _))| (wd, s, *sd)))
                .map(|(wd, s, sd)| {
                    let own: Vec<Io> = ios.iter().filter(|i| i.0 == worker && i.1 == wd && i.2 == s).copied().collect();
                    pair(wd, sd, &own)
                })
                .filter(|(p, _)| p.cell.both().ops > 0)
                .unzip();
            let mut times = Times::default();
            pair_times.iter().for_each(|pair| times.merge(&pair.times));
            let cpu = Some(CpuTicks { user: worker as u64 + 1, ..CpuTicks::default() });
            let end_ns = 1_000 + worker as u64;
            let rest = IntervalSample::default();
            (worker, IntervalSample { interval: 1, start_ns: 0, end_ns, pairs, times, pair_times, cpu, ..rest })
        })
        .collect()
}

fn merged(samples: &[(usize, IntervalSample)]) -> Merged {
    let mut merger = Merger::new(shape(), Some(1));
    for (w, s) in samples {
        merger.add(*w, s);
    }
    merger.next_complete().expect("all workers reported")
}

fn sum<'a>(cells: impl Iterator<Item = &'a Cell>) -> Cell {
    let mut all = Cell::default();
    cells.for_each(|c| all.merge(c));
    all
}

fn ios() -> impl Strategy<Value = Vec<Io>> {
    prop::collection::vec((0..WORKERS, 0u32..2, 0usize..2, any::<bool>(), 1u64..1 << 20, 1u64..1 << 32), 0..60)
}

proptest! {
    #[test]
    fn the_parts_make_the_total(ios in ios()) {
        let e = merged(&samples(&ios)).event(0, false, 0, &shape());
        prop_assert_eq!(sum(e.hosts.iter().map(|h| &h.cell)), e.total);
        prop_assert_eq!(sum(e.workers.iter()), e.total);
        prop_assert_eq!(sum(e.sds.iter()), e.total);
        prop_assert_eq!(sum(e.wds.iter()), e.total);
        prop_assert_eq!(sum(e.host_sds.iter().map(|x| &x.2)), e.total);
        prop_assert_eq!(sum(e.worker_sds.iter().map(|x| &x.2)), e.total);
        prop_assert_eq!(e.times.read.service.count(), e.total.read.ops);
        prop_assert_eq!(e.times.write.service.count(), e.total.write.ops);
        prop_assert_eq!(e.hosts.iter().map(|h| h.times.read.service.count()).sum::<u64>(), e.total.read.ops);
        prop_assert_eq!(e.total.both().ops, ios.len() as u64);
    }

    #[test]
    fn the_order_of_arrival_never_shows(ios in ios(), order in Just(vec![0usize, 1, 2]).prop_shuffle()) {
        let samples = samples(&ios);
        let shuffled: Vec<_> = order.iter().map(|i| samples[*i].clone()).collect();
        prop_assert_eq!(merged(&samples), merged(&shuffled));
    }

    #[test]
    fn histograms_of_sds_and_workloads_hold_every_io(ios in ios()) {
        let m = merged(&samples(&ios));
        for sums in [&m.pairs.sds, &m.pairs.workloads(), &m.worker_times] {
            let n: u64 = sums.iter().map(TimesSum::count).sum();
            prop_assert_eq!(n, ios.len() as u64);
        }
    }
}

#[test]
fn length_is_the_mean_and_cpu_the_first_workers() {
    let e = merged(&samples(&[])).event(0, false, 0, &shape());
    assert_eq!(e.length_ns, 1_001);
    assert_eq!(e.hosts.iter().map(|h| h.cpu.map(|c| c.user)).collect::<Vec<_>>(), [Some(1), Some(3)]);
}

#[test]
fn an_interval_waits_for_all_who_have_work() {
    let sample = |n| IntervalSample { interval: n, start_ns: 0, end_ns: 10, ..IntervalSample::default() };
    let mut merger = Merger::new(Shape { active: vec![true, false, true], ..shape() }, None);
    merger.add(0, &sample(1));
    merger.add(0, &sample(2));
    assert!(merger.next_complete().is_none());
    merger.add(2, &sample(1));
    assert_eq!(merger.next_complete().map(|m| m.number), Some(1));
    assert!(merger.next_complete().is_none());
    merger.finish(2);
    assert_eq!(merger.next_complete().map(|m| m.number), Some(2));
    assert_eq!(merger.unfinished().collect::<Vec<_>>(), [0]);
    assert!(!merger.all_finished());
}

#[test]
fn what_lies_beyond_the_end_is_not_counted() {
    let sample = |n| IntervalSample { interval: n, start_ns: 0, end_ns: 10, ..IntervalSample::default() };
    let mut merger = Merger::new(Shape { active: vec![true, false, false], ..shape() }, Some(9));
    (1..=4).for_each(|n| merger.add(0, &sample(n)));
    merger.end_at(2);
    merger.add(0, &sample(5));
    assert_eq!([merger.next_complete(), merger.next_complete()].map(|m| m.map(|m| m.number)), [Some(1), Some(2)]);
    assert!(merger.next_complete().is_none());
    assert_eq!((merger.completed(), merger.last()), (2, Some(2)));
}

/// One read of a worker in that interval.
fn one(interval: u32) -> IntervalSample {
    let (pair, times) = pair(0, SDS[0].0, &[(0, 0, 0, true, 4096, 1_000)]);
    let rest = IntervalSample::default();
    IntervalSample { interval, end_ns: 1_000, pairs: vec![pair], pair_times: vec![times], ..rest }
}

#[test]
fn a_sample_that_comes_twice_counts_once() {
    let mut merger = Merger::new(shape(), None);
    for worker in [0, 1, 1, 0, 2] {
        merger.add(worker, &one(1));
    }
    let merged = merger.next_complete().expect("all have reported");
    assert_eq!((merged.total.read.ops, merged.length_ns()), (3, 1_000));
    assert!((0..WORKERS).all(|worker| merged.holds(worker)));
    merger.add(0, &one(1));
    assert_eq!(merger.next_complete(), None);
}

#[test]
fn an_interval_without_any_sample_does_not_hold_up_those_behind_it() {
    let mut merger = Merger::new(shape(), None);
    (0..2).for_each(|worker| merger.add(worker, &one(3)));
    assert_eq!(merger.next_complete(), None, "the third may still have the first");
    merger.add(2, &one(2));
    let merged = merger.next_complete().expect("the second has one sample");
    assert_eq!((merged.number, merged.total.read.ops), (2, 1));
    assert_eq!([0, 1, 2].map(|worker| merged.holds(worker)), [false, false, true]);
    merger.add(2, &one(3));
    assert_eq!(merger.next_complete().map(|merged| merged.number), Some(3));
}

#[test]
fn what_comes_of_a_worker_that_is_lost_or_has_no_work_does_not_count() {
    let mut merger = Merger::new(Shape { active: vec![true, true, false], ..shape() }, None);
    merger.add(1, &one(1));
    merger.finish(1);
    (1..=2).for_each(|n| [0, 1, 2].into_iter().for_each(|worker| merger.add(worker, &one(n))));
    let counted = [merger.next_complete(), merger.next_complete()].map(|merged| merged.map(|m| m.total.read.ops));
    assert_eq!(counted, [Some(2), Some(1)]);
    assert_eq!([1, 2].map(|worker| merger.reported(worker)), [1, 0]);
}
