//! An SD that is taken out of a run.

use brunt_engine::{Engine, EngineOptions};
use brunt_plan::work::{Arrivals, Generator, Seek, SimSpec, WorkerEvent, WorkerShare, Xfer};

use crate::harness::*;

fn real(hit_ns: u64) -> SimSpec {
    SimSpec { hit_ns, virtual_clock: false, ..spec() }
}

/// Runs a share without the SD of index 0 from the start on, to the end of its data or of its intervals.
fn run_without_first(s: WorkerShare) -> Vec<WorkerEvent> {
    let (tx, rx) = std::sync::mpsc::channel();
    let prepared =
        Engine::prepare(s, EngineOptions::default(), Box::new(move |event| tx.send(event).unwrap())).unwrap();
    prepared.drop_sd(0);
    let running = prepared.start(std::time::Instant::now());
    let mut told = Vec::new();
    for event in rx {
        if event == WorkerEvent::SequentialDone {
            running.stop(None);
        }
        told.push(event);
    }
    running.join();
    told
}

fn ops(told: &[WorkerEvent], sd: u32) -> u64 {
    let samples = told.iter().filter_map(|e| if let WorkerEvent::Interval(s) = e { Some(s) } else { None });
    samples.flat_map(|s| &s.pairs).filter(|p| p.sd == sd).map(|p| p.cell.both().ops).sum()
}

#[test]
fn the_others_go_on_as_if_it_had_never_been_there() {
    let targets = || vec![sim(0, 2, spec()), sim(1, 2, spec())];
    let free = share(Some(2), targets(), vec![generator(0), generator(1)]);
    let rate = |target| Generator { rate: 5_000.0, ..generator(target) };
    let at_rate = paced(share(Some(2), targets(), vec![rate(0), rate(1)]), Arrivals::Deterministic);
    for s in [free, at_rate] {
        let expected =
            ops(&run(s.clone()).samples.into_iter().map(|s| WorkerEvent::Interval(Box::new(s))).collect::<Vec<_>>(), 1);
        let told = run_without_first(s);
        assert_eq!((ops(&told, 0), ops(&told, 1)), (0, expected));
    }
}

#[test]
fn a_run_to_the_end_of_the_data_ends_with_the_others() {
    let eof = |target, high| Generator { seek: Seek::Eof, miss: area(0, high), ..generator(target) };
    let s = share(None, vec![sim(0, 1, spec()), sim(1, 1, spec())], vec![eof(0, 50 * M), eof(1, M)]);
    for virtual_clock in [true, false] {
        let mut s = s.clone();
        let quick = SimSpec { virtual_clock, hit_ns: 1_000, miss_ns: 1_000, ..spec() };
        s.targets.iter_mut().for_each(|t| t.sim = Some(quick));
        assert_eq!(ops(&run_without_first(s.clone()), 1), 256);
        // With nothing left at all it ends at once.
        s.targets.truncate(1);
        s.generators.truncate(1);
        assert_eq!(ops(&run_without_first(s), 0), 0);
    }
}

#[test]
fn a_full_queue_of_it_no_longer_holds_the_others_back() {
    let rate = |target, rate| Generator { rate, ..generator(target) };
    let targets = vec![sim(0, 1, real(SECOND / 3)), sim(1, 2, real(1_000))];
    let mut s = paced(share(None, targets, vec![rate(0, 50_000.0), rate(1, 2_000.0)]), Arrivals::Deterministic);
    s.interval_ns = SECOND / 10;
    let (mut before, mut late) = (0, 0);
    let told = run_watched(s, |event, running| {
        let WorkerEvent::Interval(sample) = event else { return };
        let done = |sd| sample.pairs.iter().filter(|p| p.sd == sd).map(|p| p.cell.read.ops).sum::<u64>();
        if sample.interval == 2 {
            before = done(1);
            running.drop_sd(0);
        } else if sample.interval > 2 {
            late += done(0);
            // 2,000 arrivals of the first make room for 80 of the second, and then for none.
            if done(1) > 100 || sample.interval == 600 {
                running.stop(None);
            }
        }
    });
    assert!(before < 100, "{before}");
    assert!(late <= 1, "only what was in flight comes back: {late}");
    assert!(told.cell(|p| p.sd == 1).read.ops > 180);
}

#[test]
fn lanes_end_in_the_middle_of_an_uncontrolled_run() {
    let seq = Generator { seek: Seek::Percent(0.0), xfer: Xfer::Fixed(4 * K), ..generator(0) };
    for first in [generator(0), seq] {
        let mut s = share(None, vec![sim(0, 2, real(100_000)), sim(1, 2, real(100_000))], vec![first, generator(1)]);
        s.interval_ns = SECOND / 20;
        let (mut before, mut dropped_in, mut after) = ([0, 0], None, [0, 0]);
        run_watched(s, |event, running| {
            let WorkerEvent::Interval(sample) = event else { return };
            let mut sum = [0, 0];
            sample.pairs.iter().for_each(|p| sum[p.sd as usize] += p.cell.read.ops);
            match dropped_in {
                None => {
                    before = [before[0] + sum[0], before[1] + sum[1]];
                    if before.iter().all(|ops| *ops > 0) {
                        running.drop_sd(0);
                        dropped_in = Some(sample.interval);
                    }
                }
                // In the interval that had begun some were done before.
                Some(n) if sample.interval > n + 1 => {
                    after = [after[0] + sum[0], after[1] + sum[1]];
                    if after[1] > 50 {
                        running.stop(None);
                    }
                }
                Some(_) => {}
            }
        });
        assert!(after[0] <= 2, "only what was in flight comes back: {after:?}");
    }
}
