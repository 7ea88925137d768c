//! What workers measured, over the wire and merged: nothing of it is lost, and it is small.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../examples/merge/fleet.rs"]
mod fleet;

use brunt_event::Interval;
use brunt_master::merge::{Merger, Shape};
use brunt_master::totals::{RunTimes, Totals};
use brunt_plan::work::WorkerEvent;
use brunt_proto::{Report, v1};
use brunt_stats::{Cell, Histogram, IntervalSample, OpStats, OpTimes, PairSample, PairTimes, Times, Timing};
use prost::Message;

/// design.md: one message per worker and interval, 20 KiB for 64 SDs with 1,000 I/Os each.
#[test]
fn a_message_is_small() {
    for paced in [false, true] {
        let mut worker = fleet::Worker::new(1, 64, paced);
        for number in 1..=3 {
            let length = worker.interval(number, 1_000).encoded_len();
            assert!((4_096..=20 * 1024).contains(&length), "paced {paced}, interval {number}: {length} bytes");
        }
    }
}

/// One kind of time and the sums of these I/Os.
fn recorded(bytes: u64, ns: &[u64]) -> (OpStats, Timing) {
    let (mut stats, mut hist) = (OpStats::default(), Histogram::default());
    for ns in ns {
        stats.record(bytes, *ns, false);
        hist.record(*ns);
    }
    let timing = Timing { sum_ns: stats.sum_ns, min_ns: stats.min_ns, max_ns: stats.max_ns, hist: hist.to_sparse() };
    (stats, timing)
}

/// Reads and writes of one worker on one SD, each with all parts of its time.
fn measured(interval: u32, sd: u32, reads: &[u64], writes: &[u64]) -> IntervalSample {
    let times = |ns: &[u64]| {
        let of = |more: u64| recorded(0, &ns.iter().map(|ns| ns + more).collect::<Vec<_>>()).1;
        OpTimes { service: of(0), due: of(3_000), queue: of(2_000), lateness: of(1_000) }
    };
    let times = Times { read: times(reads), write: times(writes) };
    let cell = Cell { read: recorded(4096, reads).0, write: recorded(8192, writes).0, busy_ns: 7 };
    IntervalSample {
        interval,
        start_ns: 0,
        end_ns: 1_000_000_000,
        pairs: vec![PairSample { workload: 0, sd, cell }],
        pair_times: vec![PairTimes { workload: 0, sd, times: times.clone() }],
        times,
        ..IntervalSample::default()
    }
}

/// Encodes and decodes.
fn over_the_wire(worker: u32, sample: IntervalSample) -> IntervalSample {
    let message =
        v1::WorkerMessage { worker, seq: 0, run_id: None, event: Some(WorkerEvent::Interval(Box::new(sample)).into()) };
    let back = v1::WorkerMessage::decode(message.encode_to_vec().as_slice()).unwrap();
    match <(u32, Report)>::try_from(back).unwrap() {
        (_, Report::Event(WorkerEvent::Interval(sample))) => *sample,
        other => panic!("{other:?}"),
    }
}

/// One worker on each of two hosts, each with its SD.
fn shape() -> Shape {
    Shape {
        hosts: 2,
        worker_hosts: vec![0, 1],
        active: vec![true; 2],
        sds: vec![(0, 0), (1, 1)],
        workloads: 1,
        worker_detail: true,
        ..Shape::default()
    }
}

/// Three intervals, the first of them warm-up. The second worker has slow writes and is over after the second.
fn played() -> (Vec<Interval>, RunTimes) {
    let (mut merger, mut totals) = (Merger::new(shape(), Some(3)), Totals::default());
    let mut events = Vec::new();
    for n in 1..=3 {
        merger.add(0, &over_the_wire(0, measured(n, 0, &[39_000; 900], &[45_000; 20])));
        if n < 3 {
            merger.add(1, &over_the_wire(1, measured(n, 1, &[], &[20_000_000; 100])));
        }
        if n == 2 {
            merger.finish(1);
        }
        let merged = merger.next_complete().unwrap();
        totals.add(&merged, n == 1);
        events.push(merged.event(0, n == 1, 0, merger.shape()));
    }
    let times = totals.times(merger.late());
    (events, times)
}

/// B14: the total over two hosts of unequal rates is their sum, by every cut.
#[test]
fn the_total_over_hosts_is_their_sum() {
    let (events, _) = played();
    let ops = |cells: Vec<Cell>| cells.iter().map(|c| c.both().ops).collect::<Vec<_>>();
    for (event, second) in events.iter().zip([100, 100, 0]) {
        assert_eq!(event.total.both().ops, 920 + second);
        assert_eq!(ops(event.hosts.iter().map(|h| h.cell).collect()), [920, second]);
        assert_eq!(ops(event.workers.clone()), [920, second]);
        assert_eq!(ops(event.sds.clone()), [920, second]);
        assert_eq!(ops(event.wds.clone()), [920 + second]);
        assert_eq!(event.total.both().bytes, 900 * 4096 + (20 + second) * 8192);
        assert_eq!(event.times.read.service.count() + event.times.write.service.count(), 920 + second);
    }
}

/// B16: each operation keeps every kind of its times over the wire and through merging.
#[test]
fn every_time_of_every_operation_survives() {
    let (_, times) = played();
    let all = [&times.all].into_iter().chain([&times.wds[0]]);
    for times in all.chain([&times.hosts[0], &times.sds[0], &times.workers[0]]) {
        let (read, write) = (&times.read, &times.write);
        for (op, least) in [(read, 39_000), (write, 45_000)] {
            let parts = [&op.service, &op.lateness, &op.queue, &op.due];
            let found = parts.map(|timing| timing.min_ns);
            assert_eq!(found, [least, least + 1_000, least + 2_000, least + 3_000]);
            assert!(parts.iter().all(|timing| timing.count() == op.service.count() && timing.count() >= 40));
        }
        assert_eq!((read.service.count(), read.service.sum_ns), (1_800, 1_800 * 39_000), "counted intervals only");
    }
    assert!(times.hosts[1].read.is_empty());
    assert_eq!(times.hosts[1], times.sds[1]);
}

/// B29: percentiles of two hosts come from all their I/Os, and the host that was over early is among them.
#[test]
fn percentiles_are_of_all_ios_and_early_finishers_count() {
    let (_, times) = played();
    let both = times.all.both().service;
    let hosts: Vec<Timing> = times.hosts.iter().map(|h| h.both().service).collect();
    assert_eq!((both.count(), hosts[1].count()), (1_940, 100), "of two seconds and of one");
    // 5.2% of all took 20 ms: the slowest 5% of all are the second host's alone.
    let p95 = |timing: &Timing| timing.quantile(0.95).unwrap();
    assert_eq!([p95(&hosts[0]), p95(&hosts[1]), p95(&both)], [39_039, 20_000_000, 20_000_000]);
    let mean_of_percentiles = (p95(&hosts[0]) + p95(&hosts[1])) / 2;
    assert!(p95(&both) > mean_of_percentiles + 9_000_000);
    assert_eq!(both.quantile(0.94), Some(45_055), "below the second host's share");
}

/// Times of pairs that a worker still owes when it is ended come behind the last interval, and are not lost.
#[test]
fn what_is_owed_at_an_early_end_is_not_lost() {
    let (mut merger, mut totals) =
        (Merger::new(Shape { active: vec![true, false], ..shape() }, None), Totals::default());
    let with = |n, ios: &[u64], told: &[u64]| {
        let pair_times = measured(n, 0, told, &[]).pair_times;
        over_the_wire(0, IntervalSample { pair_times, ..measured(n, 0, ios, &[]) })
    };
    for (n, ios, told) in [(1, 10, 10), (2, 20, 0), (3, 30, 0)] {
        merger.add(0, &with(n, &vec![39_000; ios], &vec![39_000; told]));
        totals.add(&merger.next_complete().unwrap(), n == 1);
    }
    merger.end_at(3);
    merger.add(0, &with(4, &[39_000; 4], &[39_000; 54]));
    merger.finish(0);
    assert!(merger.next_complete().is_none());
    let times = totals.times(merger.late());
    assert_eq!(times.all.read.service.count(), 50, "exactly the counted intervals");
    assert_eq!(times.sds[0].read.service.count(), 54, "and the four of the interval that was cut");
}
