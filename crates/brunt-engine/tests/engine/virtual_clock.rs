//! On the virtual clock every result is exact.

use brunt_engine::address::AddressStream;
use brunt_engine::{EngineError, EngineOptions};
use brunt_plan::work::{
    Area, Arrivals, Control, Generator, IoErrorKind, Seek, SimSpec, Target, WorkerEvent, Wrap, Xfer,
};

use brunt_stats::{Cell, Times};
use proptest::prelude::*;

use crate::harness::*;

#[test]
fn one_lane_of_hits_is_39_microseconds_in_every_number() {
    let told = run(share(Some(3), vec![sim(0, 1, spec())], vec![generator(0)]));
    assert_eq!(told.samples.len(), 3);
    let mut done = 0;
    for (sample, n) in told.samples.iter().zip(1u64..) {
        assert_eq!((sample.start_ns, sample.end_ns, sample.idle), ((n - 1) * SECOND, n * SECOND, false));
        let [pair] = &sample.pairs[..] else { panic!("{sample:?}") };
        let read = pair.cell.read;
        done += read.ops;
        assert_eq!(done, n * SECOND / 39_000, "interval {n}");
        assert_eq!((read.min_ns, read.max_ns, read.sum_ns), (39_000, 39_000, read.ops * 39_000));
        assert_eq!(read.sum_sq_ns, u128::from(read.ops) * 39_000 * 39_000);
        assert_eq!((read.bytes, read.errors, pair.cell.write.ops), (read.ops * 4 * K, 0, 0));
        assert_eq!(sample.times.read.service.quantile(0.5), Some(39_000));
        // The lane is never idle, boundaries included.
        assert_eq!(pair.cell.busy_ns, SECOND);
        assert!(sample.times.read.due.is_empty() && sample.times.write.is_empty());
    }
}

#[test]
fn half_hits_give_exactly_two_modes() {
    let told = run(share(Some(2), vec![sim(0, 4, spec())], vec![half_hits(0)]));
    let read = told.cell(|_| true).read;
    let hist = told.reads();
    assert_eq!((hist.buckets.len(), hist.count()), (2, read.ops));
    assert_eq!(hist.quantile(0.25, read.min_ns, read.max_ns), hist.quantile(0.01, read.min_ns, read.max_ns));
    assert_eq!((read.min_ns, read.max_ns), (39_000, 200_000));
    let (hits, misses) = (hist.buckets[0].1, hist.buckets[1].1);
    assert_eq!(read.sum_ns, hits * 39_000 + misses * 200_000);
    let share = hits as f64 / read.ops as f64;
    assert!((share - 0.5).abs() < 0.01, "{share}");
    assert_eq!(told.cell(|_| true).busy_ns, 4 * 2 * SECOND);
}

#[test]
fn littles_law_holds_exactly_for_deterministic_arrivals() {
    let generator = brunt_plan::work::Generator { rate: 10_000.0, ..generator(0) };
    let told = run(paced(share(Some(3), vec![sim(0, 8, spec())], vec![generator]), Arrivals::Deterministic));
    for sample in &told.samples[1..] {
        let cell = sample.pairs[0].cell;
        // Due at 100 µs, 200 µs…; the one due at the end of the second is done in the next.
        assert_eq!((cell.read.ops, cell.busy_ns), (10_000, 390_000_000));
    }
    assert_eq!(told.samples[0].pairs[0].cell.read.ops, 9_999);
    let (read, due) = (told.cell(|_| true).read, told.dues());
    assert_eq!((read.min_ns, read.max_ns, due.count()), (39_000, 39_000, read.ops));
    assert_eq!(due, told.reads());
}

#[test]
fn a_queue_forms_when_more_is_due_than_one_lane_can_do() {
    let generator = brunt_plan::work::Generator { rate: 50_000.0, ..generator(0) };
    let told = run(paced(share(Some(1), vec![sim(0, 1, spec())], vec![generator]), Arrivals::Deterministic));
    let read = told.cell(|_| true).read;
    // The first is due after 20 µs.
    assert_eq!((read.ops, read.max_ns), ((SECOND - 20_000) / 39_000, 39_000));
    let longest = told.dues().quantile(1.0, 0, u64::MAX).unwrap();
    // The last one done waited since 20 µs · its number.
    let wanted = 20_000 + read.ops * 39_000 - read.ops * 20_000;
    assert!(longest.abs_diff(wanted) * 64 < wanted, "{longest} {wanted}");
}

#[test]
fn skew_is_kept_at_controlled_max() {
    let targets = vec![sim(0, 1, spec()), sim(1, 4, SimSpec { hit_ns: 100_000, ..spec() })];
    let one = |target, workload, skew: f64| brunt_plan::work::Generator {
        workload,
        rate: 9_999_988.0 * skew,
        ..generator(target)
    };
    let told = run(paced(share(Some(4), targets, vec![one(0, 0, 0.3), one(1, 1, 0.7)]), Arrivals::Exponential));
    let of = |workload| told.cell(|p| p.workload == workload).read.ops as f64;
    // SD 2 can do 40,000 a second and is the bottleneck; its full queue holds both back.
    assert!((of(1) / 4.0 - 40_000.0).abs() < 10.0, "{}", of(1));
    let share = of(0) / (of(0) + of(1));
    assert!((share - 0.3).abs() < 0.02, "{share}");
}

#[test]
fn uncontrolled_workloads_share_an_sd_and_sds_run_at_their_own_speed() {
    let targets = vec![sim(0, 1, spec()), sim(1, 1, SimSpec { hit_ns: 100_000, ..spec() })];
    let one = |target, workload, stream| brunt_plan::work::Generator { workload, stream, ..generator(target) };
    let told = run(share(Some(1), targets, vec![one(0, 0, 1), one(0, 1, 2), one(1, 0, 3)]));
    let of = |workload, sd| told.cell(|p| p.workload == workload && p.sd == sd).read.ops;
    assert_eq!(of(0, 0) + of(1, 0), SECOND / 39_000);
    assert!(of(0, 0).abs_diff(of(1, 0)) <= 1);
    assert_eq!(of(0, 1), 10_000);
}

/// B21: what is paced is operations, whatever their sizes.
#[test]
fn mixed_sizes_keep_the_rate_and_the_mix() {
    let sizes = vec![(4 * K, 50.0), (16 * K, 30.0), (64 * K, 20.0)];
    let generator =
        Generator { rate: 400.0, read_pct: 90.0, xfer: Xfer::Weighted(sizes), miss: area(0, 100 * M), ..generator(0) };
    for arrivals in [Arrivals::Exponential, Arrivals::Uniform, Arrivals::Deterministic] {
        let told = run(paced(
            share(Some(60), vec![Target { write: true, ..sim(0, 16, spec()) }], vec![generator.clone()]),
            arrivals,
        ));
        let cell = told.cell(|_| true);
        let ops = (cell.read.ops + cell.write.ops) as f64;
        // Three standard deviations: of a Poisson count, and of a binomial share.
        let wide = if arrivals == Arrivals::Exponential { 3.0 * ops.sqrt() } else { 0.01 * ops };
        assert!((ops - 24_000.0).abs() <= wide, "{arrivals:?} {ops}");
        let reads = cell.read.ops as f64 / ops;
        assert!((reads - 0.9).abs() <= 3.0 * (0.09 / ops).sqrt(), "{arrivals:?} {reads}");
        let mean = (cell.read.bytes + cell.write.bytes) as f64 / ops / 1024.0;
        assert!((mean - 19.6).abs() <= 3.0 * 22.8 / ops.sqrt(), "{arrivals:?} {mean}");
    }
}

#[test]
fn priorities_are_strict() {
    let one = |workload: u32, rate| brunt_plan::work::Generator {
        workload,
        stream: u64::from(workload),
        rate,
        priority: Some(workload + 1),
        ..generator(0)
    };
    let both = |first: f64| {
        let generators = vec![one(0, first), one(1, 9_999_988.0 / 2.0)];
        let told = run(paced(share(Some(2), vec![sim(0, 1, spec())], generators), Arrivals::Exponential));
        [0, 1].map(|w| told.cell(|p| p.workload == w).read.ops)
    };
    // Both as fast as it goes: the lower one gets nothing but the lane's time before the first arrival.
    let [high, low] = both(9_999_988.0 / 2.0);
    assert!(low <= 1 && high + low == 2 * SECOND / 39_000, "{high} {low}");
    // The higher one at a rate: the lower one gets the rest.
    let [high, low] = both(3_000.0);
    assert!((high as f64 - 6_000.0).abs() < 240.0, "{high}");
    assert!((high + low).abs_diff(2 * SECOND / 39_000) <= 1, "{high} {low}");
}

#[test]
fn a_full_queue_holds_back_all_workloads() {
    let frozen = SimSpec { hit_ns: 10_000_000_000, ..spec() };
    let one = |target, workload, rate| brunt_plan::work::Generator { workload, rate, ..generator(target) };
    let generators = vec![one(0, 0, 10_000.0), one(1, 1, 10_000.0)];
    let told =
        run(paced(share(Some(2), vec![sim(0, 8, spec()), sim(1, 1, frozen)], generators), Arrivals::Deterministic));
    // SD 2 takes one and 2,000 wait. The next, its 2,002nd, is due one shift later than the 2,002nd of
    // SD 1, just when the 2,003rd of SD 1 is: that is the last one before the dispatcher stops.
    assert_eq!(told.cell(|p| p.workload == 0).read.ops, 2_003);
    assert!(told.samples[1].pairs.iter().all(|p| p.workload == 1));
    assert_eq!(told.samples[1].pairs[0].cell.busy_ns, SECOND);
}

#[test]
fn a_freeze_shows_in_due_to_done_and_is_caught_up_with() {
    let freezing = SimSpec { freeze: Some((SECOND, SECOND / 10)), ..spec() };
    let generator = brunt_plan::work::Generator { rate: 1_000.0, ..generator(0) };
    let told = run(paced(share(Some(3), vec![sim(0, 1, freezing)], vec![generator]), Arrivals::Deterministic));
    let read = told.cell(|_| true).read;
    // One lane: of each freeze one I/O sees 100 ms…
    assert_eq!(read.max_ns, SECOND / 10);
    let slow = |hist: &brunt_stats::SparseHistogram| hist.classes(&[10_000_000])[1];
    assert_eq!(slow(&told.reads()), 2);
    // …but some 95 more were due meanwhile and came late by 10 ms or more; nothing was dropped.
    assert!((180..200).contains(&slow(&told.dues())), "{}", slow(&told.dues()));
    assert_eq!(told.samples[1].pairs[0].cell.read.ops, 1_000);
}

#[test]
fn eof_tells_when_all_is_done_and_the_last_interval_counts() {
    let seq = brunt_plan::work::Generator {
        seek: Seek::Eof,
        xfer: Xfer::Fixed(64 * K),
        miss: area(0, 10 * M),
        read_pct: 0.0,
        ..generator(0)
    };
    for threads in [1, 3, 8] {
        let told = run_to_eof(share(None, vec![sim(0, threads, spec())], vec![seq.clone()]));
        let cell = told.cell(|_| true);
        assert_eq!((cell.write.ops, cell.write.bytes, cell.read.ops), (160, 10 * M, 0));
        assert_eq!((told.sequential_done, told.samples.len()), (Some(0), 1));
        // A mebibyte of hits, nine of misses; the lanes are busy all the time but for the last I/O of each.
        assert_eq!(cell.busy_ns, 16 * 39_000 + 144 * 200_000);
        let (end, lanes) = (told.samples[0].end_ns, u64::from(threads));
        assert!(end * lanes >= cell.busy_ns && end * lanes < cell.busy_ns + lanes * 200_000, "{end}");
        assert!(told.failures.is_empty());
    }
}

#[test]
fn after_the_end_of_data_come_idle_samples_until_the_stop() {
    let seq = brunt_plan::work::Generator { seek: Seek::Eof, ..generator(0) };
    let told = run_watched(share(None, vec![sim(0, 2, spec())], vec![seq]), |event, running| {
        if *event == WorkerEvent::SequentialDone {
            running.stop(Some(3));
        }
    });
    assert_eq!(told.sequential_done, Some(0));
    let shown: Vec<_> = told.samples.iter().map(|s| (s.end_ns, s.idle, s.pairs.len())).collect();
    assert_eq!(shown, [(SECOND, false, 1), (2 * SECOND, true, 0), (3 * SECOND, true, 0)]);
}

#[test]
fn a_stop_at_once_gives_a_last_sample_of_its_length() {
    // Without an end of its own the run stops only because it is told to.
    let told = run_watched(share(None, vec![sim(0, 1, spec())], vec![generator(0)]), |event, running| {
        if matches!(event, WorkerEvent::Interval(s) if s.interval == 2) {
            running.stop(None);
        }
    });
    let last = told.samples.last().unwrap();
    assert!(told.samples.len() >= 2 && last.end_ns > last.start_ns);
    assert_eq!(told.cell(|_| true).busy_ns, last.end_ns);
}

#[test]
fn errors_are_reported_up_to_a_limit_and_all_counted() {
    let bad = SimSpec { error_rate: 1.0, ..spec() };
    let told = run(share(Some(1), vec![sim(7, 1, bad)], vec![generator(0)]));
    let read = told.cell(|_| true).read;
    assert_eq!((read.errors, read.ops), (25_641, 25_641));
    assert_eq!(told.failures.len(), 10_000);
    // One more was in flight at the end.
    assert_eq!(told.logs, ["15642 more I/Os failed; they are counted but not listed"]);
    let first = &told.failures[0];
    assert_eq!((first.sd, first.xfer, first.read, first.error), (7, 4 * K, true, IoErrorKind::Errno(libc::EIO)));
    let some = run(share(Some(1), vec![sim(0, 1, SimSpec { error_rate: 0.01, ..spec() })], vec![generator(0)]));
    assert_eq!(some.failures.len() as u64, some.cell(|_| true).read.errors);
    assert!((200..320).contains(&some.failures.len()));
}

#[test]
fn variable_rates_show_second_by_second() {
    let mut variable = share(Some(6), vec![sim(0, 8, spec())], vec![generator(0)]);
    variable.generators[0].rate = 1.0;
    variable.arrivals = Arrivals::Deterministic;
    variable.control = Control::Stepped { steps: vec![(50.0, 2), (10.0, 1)], spike: false };
    let ops: Vec<u64> = run(variable).samples.iter().map(|s| s.pairs[0].cell.read.ops).collect();
    assert_eq!(ops, [49, 50, 10, 50, 50, 10]);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let noisy = SimSpec { jitter_ns: 10_000, error_rate: 0.001, ..spec() };
    let once = |seed| {
        let generator = brunt_plan::work::Generator { rate: 20_000.0, read_pct: 70.0, ..half_hits(0) };
        let mut s = paced(share(Some(2), vec![sim(0, 8, noisy)], vec![generator]), Arrivals::Exponential);
        s.seed = seed;
        let mut told = run(s);
        told.failures.iter_mut().for_each(|f| f.at_ms = 0);
        told
    };
    assert_eq!(once(1), once(1));
    assert_ne!(once(1), once(2));
}

#[test]
fn streams_are_dealt_to_lanes_and_covered_once() {
    let mut seq = brunt_plan::work::Generator { seek: Seek::Eof, miss: area(0, M), ..generator(0) };
    seq.streams = (0..4).map(|n| area(n * 256 * K, (n + 1) * 256 * K)).collect();
    assert_eq!(AddressStream::new(&seq, 1).count(), 256);
    let told = run_to_eof(share(None, vec![sim(0, 8, spec())], vec![seq]));
    assert_eq!(told.cell(|_| true).read.ops, 256);
    // 64 blocks a stream, two lanes each.
    assert_eq!(told.samples[0].end_ns, 32 * 39_000);
}

#[test]
fn in_lockstep_each_interval_waits_for_leave() {
    let seq = Generator { seek: Seek::Eof, miss: area(0, M), ..generator(0) };
    let mut s = share(None, vec![sim(0, 1, spec())], vec![seq]);
    s.lockstep = true;
    let (running, events) = start(s).unwrap();
    let mut told = Vec::new();
    for event in events {
        if let WorkerEvent::Interval(sample) = &event {
            // One more has begun than is over, and never another.
            assert_eq!((sample.interval as usize, sample.end_ns), (told.len(), u64::from(sample.interval) * SECOND));
            match sample.interval {
                1 | 2 => running.grant(sample.interval + 1),
                _ => running.stop(Some(3)),
            }
        }
        told.push(event);
    }
    running.join();
    // The end of the data does not end it, and stands before the sample of its interval.
    assert_eq!(told[0], WorkerEvent::SequentialDone);
    assert!(matches!(
        &told[1..],
        [
            WorkerEvent::Interval(_),
            WorkerEvent::Interval(_),
            WorkerEvent::Interval(_),
            WorkerEvent::Totals(_),
            WorkerEvent::Drained
        ]
    ));
}

#[test]
fn a_share_that_cannot_be_run_is_refused() {
    let refused = |s| start(s).err().unwrap().to_string();
    let real = SimSpec { virtual_clock: false, ..spec() };
    let mixed = share(Some(1), vec![sim(0, 1, spec()), sim(1, 1, real)], vec![]);
    assert_eq!(refused(mixed), "sd sd1 lives on the virtual clock and sd sd2 does not; one worker cannot serve both");
    let text = refused(share(Some(1), vec![sim(0, 0, spec())], vec![]));
    assert_eq!(text, "the share of worker localhost-0 cannot be run: sd sd1 has no threads");
    assert!(refused(share(Some(1), vec![], vec![generator(0)])).contains("generator 0 has no target"));
    let mut writes = share(Some(1), vec![file(0, 1, "/dev/null", M)], vec![generator(0)]);
    writes.generators[0].read_pct = 0.0;
    assert!(refused(writes).contains("open for reading"));
    let raw = Target { raw: true, ..sim(0, 1, spec()) };
    let beyond = Area { low: 90 * M, high: 110 * M, wrap: Some(Wrap { at: 100 * M, to: 0 }) };
    for miss in [area(0, M), beyond] {
        let head = share(Some(1), vec![raw.clone()], vec![Generator { miss, ..generator(0) }]);
        assert!(refused(head).contains("generator 0 touches byte 0 of raw sd sd1"));
    }
}

#[test]
fn a_run_that_never_starts_ends_quietly() {
    for virtual_clock in [true, false] {
        let s = share(Some(1), vec![sim(0, 4, SimSpec { virtual_clock, ..spec() })], vec![generator(0)]);
        let prepared =
            brunt_engine::Engine::prepare(s, EngineOptions::default(), Box::new(|event| panic!("{event:?}")));
        assert!(matches!(prepared.map(drop), Ok::<(), EngineError>(())));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// What every sample keeps, whatever runs.
    #[test]
    fn sums_histograms_and_time_agree(
        threads in prop::collection::vec(1u32..9, 1..4), generators in 1usize..6, controlled: bool, seed: u64,
        rate in 1.0f64..60_000.0, jitter_ns in 0u64..39_000, error_rate in 0.0f64..0.01,
    ) {
        let device = SimSpec { jitter_ns, error_rate, freeze: Some((SECOND / 7, SECOND / 70)), ..spec() };
        let targets: Vec<_> = threads.iter().zip(0..).map(|(t, sd)| sim(sd, *t, device)).collect();
        let one = |n: usize| brunt_plan::work::Generator {
            workload: n as u32,
            stream: n as u64,
            rate: rate * (n + 1) as f64,
            read_pct: 20.0 * n as f64,
            ..half_hits((n % targets.len()) as u32)
        };
        let mut s = share(Some(3), targets.clone(), (0..generators).map(one).collect());
        (s.seed, s.interval_ns) = (seed, SECOND / 20);
        s.control = if controlled { Control::Paced } else { Control::Uncontrolled };
        let samples = run(s).samples;
        // What is owed of pairs is sent in turn, and nothing stays owed at the end.
        let (mut done, mut sent) = ([(0, 0); 6], [(0, 0); 6]);
        for sample in samples {
            prop_assert_eq!((sample.start_ns, sample.end_ns - sample.start_ns), (
                u64::from(sample.interval - 1) * SECOND / 20, SECOND / 20));
            let mut all = Cell::default();
            for pair in &sample.pairs {
                let Cell { read, write, .. } = pair.cell;
                all.merge(&pair.cell);
                let done = &mut done[pair.workload as usize];
                *done = (done.0 + read.ops, done.1 + write.ops);
                prop_assert!([read, write].iter().all(|o| o.min_ns * o.ops <= o.sum_ns && o.sum_ns <= o.max_ns * o.ops));
                prop_assert!([read, write].iter().all(|o| o.errors <= o.ops && o.bytes == o.ops * 4 * K));
            }
            let count = |times: &Times| (times.read.service.count(), times.write.service.count());
            prop_assert_eq!(count(&sample.times), (all.read.ops, all.write.ops));
            prop_assert_eq!(sample.times.read.service.sum_ns, all.read.sum_ns);
            let both = sample.times.both();
            for timing in [&both.due, &both.queue, &both.lateness] {
                prop_assert_eq!(timing.count(), if controlled { both.service.count() } else { 0 });
            }
            prop_assert_eq!(both.due.sum_ns, if controlled {
                both.queue.sum_ns + both.lateness.sum_ns + both.service.sum_ns } else { 0 });
            // A lane that is free takes what is due at once.
            prop_assert_eq!(both.lateness.max_ns, 0);
            for times in &sample.pair_times {
                let ((r, w), sent) = (count(&times.times), &mut sent[times.workload as usize]);
                *sent = (sent.0 + r, sent.1 + w);
            }
            if sample.interval <= 1 {
                prop_assert_eq!(sent, done);
            }
            for target in &targets {
                let busy: u64 = sample.pairs.iter().filter(|p| p.sd == target.sd).map(|p| p.cell.busy_ns).sum();
                let all = u64::from(target.threads) * SECOND / 20;
                let used = (0..generators).any(|n| n % targets.len() == target.sd as usize);
                prop_assert!(if controlled { busy <= all } else { busy == if used { all } else { 0 } }, "{} {}", busy, all);
            }
        }
        prop_assert_eq!(sent, done);
    }
}
