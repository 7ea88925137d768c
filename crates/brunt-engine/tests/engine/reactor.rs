//! Many lanes in one thread, in real time and on the virtual clock.

use brunt_engine::EngineOptions;
use brunt_plan::work::{Arrivals, Backend, Conduct, Generator, SdTotals, Seek, SimSpec, Stamps, Target, Wait, Xfer};
use brunt_plan::work::{WorkerEvent, WorkerShare};

use crate::harness::*;

fn null(sd: u32, threads: u32) -> Target {
    Target { backend: Backend::Null, write: true, ..file(sd, threads, "/dev/null", 100 * M) }
}

fn real(hit_ns: u64) -> SimSpec {
    SimSpec { hit_ns, miss_ns: hit_ns, virtual_clock: false, ..spec() }
}

fn eof(target: u32) -> Generator {
    let xfer = Xfer::Fixed(4 * K);
    Generator { workload: target, seek: Seek::Eof, xfer, miss: area(0, 40 * M), read_pct: 50.0, ..generator(target) }
}

/// As fast as it goes, and by due times in each way of waiting.
fn manners(s: &WorkerShare) -> Vec<WorkerShare> {
    let mut all = vec![s.clone()];
    for wait in [Wait::Auto, Wait::Sleep, Wait::Hybrid, Wait::Spin] {
        for stamps in [Stamps::Each, Stamps::Batch] {
            let mut s = paced(s.clone(), Arrivals::Exponential);
            s.conduct = Conduct { wait, stamps, ..Conduct::default() };
            s.generators.iter_mut().for_each(|g| g.rate = 100_000.0);
            all.push(s);
        }
    }
    all
}

#[test]
fn every_io_is_done_once_over_several_reactors() {
    for targets in [vec![null(0, 7), null(1, 1), null(2, 33)], (0..3).map(|sd| sim(sd, 3, real(1_000))).collect()] {
        for s in manners(&share(None, targets, vec![eof(0), eof(1), eof(2)])) {
            let told = run_to_eof(s.clone());
            for workload in 0..3 {
                let both = told.cell(|p| p.workload == workload).both();
                assert_eq!((both.ops, both.bytes, both.errors), (10_240, 40 * M, 0));
            }
            let times = told.times();
            let due = if s.generators[0].rate > 0.0 { 3 * 10_240 } else { 0 };
            assert_eq!((times.service.count(), times.due.count()), (3 * 10_240, due));
            assert_eq!(
                times.queue.sum_ns + times.lateness.sum_ns + times.service.sum_ns,
                match due {
                    0 => times.service.sum_ns,
                    _ => times.due.sum_ns,
                }
            );
            assert_eq!(
                told.totals
                    .iter()
                    .map(|t| (t.sd, t.reads + t.writes, t.read_bytes + t.write_bytes))
                    .collect::<Vec<_>>(),
                [0, 1, 2].map(|sd| (sd, 10_240, 40 * M))
            );
        }
    }
}

#[test]
fn totals_hold_what_came_back_after_the_last_interval() {
    let mut s = share(Some(1), vec![sim(0, 3, real(SECOND / 4)), null(5, 1)], vec![generator(0)]);
    s.interval_ns = SECOND / 20;
    let told = run(s);
    assert_eq!(told.cell(|_| true).read.ops, 0);
    let nothing = SdTotals { sd: 5, ..SdTotals::default() };
    assert_eq!(told.totals, [SdTotals { sd: 0, reads: 3, read_bytes: 12 * K, ..SdTotals::default() }, nothing]);
}

#[test]
fn a_thousand_lanes_need_no_more_threads_than_cores() {
    let targets: Vec<_> = (0..100).map(|sd| sim(sd, 32, real(SECOND / 50))).collect();
    let generators = (0..100).map(generator).collect();
    let before = threads();
    let (running, events) = start(share(None, targets, generators)).unwrap();
    while running.outstanding().count < 3_200 {
        std::thread::yield_now();
    }
    let cores = std::thread::available_parallelism().unwrap().get();
    // Other tests come and go meanwhile; those of this run have names of their own.
    let mine = threads().into_iter().filter(|name| !before.contains(name)).filter(|n| n.starts_with("sim-"));
    assert!(mine.count() <= cores);
    running.stop(None);
    assert!(events.iter().any(|e| e == WorkerEvent::Drained));
    running.join();
}

/// Names of all threads of this process.
fn threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    tasks.filter_map(|t| std::fs::read_to_string(t.unwrap().path().join("comm")).ok()).collect()
}

#[test]
fn a_stall_shows_in_due_to_done_for_all_that_waited() {
    let stalling = SimSpec { freeze: Some((2 * SECOND, SECOND)), ..spec() };
    let generator = Generator { rate: 1_000.0, ..generator(0) };
    let told = run(paced(share(Some(4), vec![sim(0, 8, stalling)], vec![generator]), Arrivals::Deterministic));
    let times = told.times();
    let slow = |t: &brunt_stats::Timing| t.hist.classes(&[1_000_000])[1];
    // Eight lanes saw the second; a thousand I/Os were due in it, and a few while those were caught up with.
    assert_eq!((slow(&times.service), times.service.max_ns), (8, SECOND));
    assert!((990..=1_010).contains(&slow(&times.due)), "{}", slow(&times.due));
    assert_eq!(times.due.max_ns, SECOND);
    assert!(slow(&times.queue).abs_diff(slow(&times.due) - 8) <= 1);
    assert_eq!(times.lateness.max_ns, 0);
    assert_eq!(told.cell(|_| true).read.ops, 3_999);
}

#[test]
fn arrivals_at_random_wait_as_theory_says() {
    let load = 0.43;
    let generator = Generator { rate: load / 39e-6, ..generator(0) };
    let told = run(paced(share(Some(20), vec![sim(0, 1, spec())], vec![generator]), Arrivals::Exponential));
    let times = told.times();
    // M/D/1, Pollaczek and Khinchine: the mean wait is ρ / 2(1 − ρ) of a service.
    let wanted = load / (2.0 * (1.0 - load)) * 39_000.0;
    let waited = times.queue.mean_ns().unwrap();
    assert!((waited / wanted - 1.0).abs() < 0.03, "{waited} {wanted}");
    assert_eq!((times.service.min_ns, times.service.max_ns, times.lateness.max_ns), (39_000, 39_000, 0));
    // A share ρ of all arrivals finds the lane busy.
    let served_at_once = times.queue.hist.buckets.first().filter(|(b, _)| *b == 0).map_or(0, |(_, n)| *n);
    let busy = 1.0 - served_at_once as f64 / times.queue.count() as f64;
    assert!((busy - load).abs() < 0.01, "{busy}");
}

#[test]
fn skew_is_kept_over_reactors_when_one_sd_is_slow() {
    let targets = vec![sim(0, 1, real(5_000)), sim(1, 8, real(400_000))];
    let one = |target, skew: f64| Generator { workload: target, rate: 9_999_988.0 * skew, ..generator(target) };
    let mut s = paced(share(None, targets, vec![one(0, 0.3), one(1, 0.7)]), Arrivals::Exponential);
    s.interval_ns = SECOND / 20;
    let mut done = [0, 0];
    run_watched(s, |event, running| {
        let WorkerEvent::Interval(sample) = event else { return };
        sample.pairs.iter().for_each(|p| done[p.workload as usize] += p.cell.read.ops);
        if done[1] >= 30_000 {
            running.stop(None);
        }
    });
    // The slow one has up to 2,000 in its queue that the fast one did long ago, and the lead is 500 of both at most.
    let [fast, slow] = done.map(|n| n as f64);
    let most = (slow + 2_008.0) / 0.7 * 0.3 + 500.0;
    assert!(fast >= slow / 0.7 * 0.3 - 500.0 && fast <= most, "{fast} {slow}");
}

#[test]
fn what_cannot_be_had_is_named_with_its_sds() {
    let folder = tempfile::tempdir().unwrap();
    let lun = folder.path().to_str().unwrap();
    // More memory than there are addresses.
    let huge = Generator { xfer: Xfer::Fixed(u64::MAX / 2), miss: area(0, u64::MAX), ..generator(0) };
    let prepare = |targets, generators| {
        let s = share(Some(1), targets, generators);
        brunt_engine::Engine::prepare(s, EngineOptions::default(), Box::new(|_| ())).err().unwrap().to_string()
    };
    let error = prepare(vec![Target { backend: Backend::Null, ..file(0, 4, lun, M) }], vec![huge]);
    assert!(error.contains("of buffers for sd sd1: "), "{error}");
}
