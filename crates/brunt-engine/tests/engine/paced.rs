//! Paced runs in real time.

use brunt_plan::work::{Arrivals, Generator, Seek, SimSpec, WorkerEvent, Xfer};

use brunt_engine::Outstanding;

use crate::harness::*;

fn real() -> SimSpec {
    SimSpec { virtual_clock: false, ..spec() }
}

#[test]
fn a_rate_is_followed_and_never_exceeded() {
    let generator = Generator { rate: 2_000.0, ..generator(0) };
    let mut s = paced(share(None, vec![sim(0, 4, real())], vec![generator]), Arrivals::Deterministic);
    s.interval_ns = SECOND / 10;
    let mut done = 0;
    let told = run_watched(s, |event, running| {
        if let WorkerEvent::Interval(sample) = event {
            done += sample.pairs.iter().map(|p| p.cell.read.ops).sum::<u64>();
            if done >= 1_000 {
                running.stop(None);
            }
        }
    });
    // Never ahead of time, however late a busy machine makes it.
    let (last, read) = (told.samples.last().unwrap(), told.cell(|_| true).read);
    assert!(read.ops <= last.end_ns / 500_000, "{} in {}", read.ops, last.end_ns);
    let times = told.times();
    for timing in [&times.due, &times.queue, &times.lateness] {
        assert_eq!(timing.count(), read.ops);
    }
    assert_eq!(times.due.sum_ns, times.queue.sum_ns + times.lateness.sum_ns + times.service.sum_ns);
    assert!(read.min_ns >= 39_000, "{}", read.min_ns);
}

#[test]
fn a_paced_eof_run_goes_through_all_data_once() {
    let seq = Generator {
        rate: 9_999_988.0,
        seek: Seek::Eof,
        xfer: Xfer::Fixed(4 * K),
        miss: area(0, 20 * M),
        ..generator(0)
    };
    let fast = SimSpec { hit_ns: 1_000, miss_ns: 1_000, ..real() };
    let told = run_to_eof(paced(share(None, vec![sim(0, 4, fast)], vec![seq]), Arrivals::Exponential));
    let read = told.cell(|_| true).read;
    assert_eq!((read.ops, read.bytes), (5_120, 20 * M));
    assert!(told.sequential_done.is_some());
}

#[test]
fn idle_lanes_and_a_waiting_dispatcher_hear_the_stop() {
    // The next arrival is hours away, or never comes.
    for rate in [0.0, 0.0001] {
        let generator = Generator { rate, ..generator(0) };
        let s = paced(share(None, vec![sim(0, 4, real())], vec![generator]), Arrivals::Deterministic);
        let (running, events) = start(s).unwrap();
        running.stop(None);
        let all: Vec<WorkerEvent> = events.iter().collect();
        running.join();
        let [WorkerEvent::Interval(sample), WorkerEvent::Totals(_), WorkerEvent::Drained] = &all[..] else {
            panic!("{all:?}")
        };
        assert!(sample.pairs.is_empty());
    }
}

#[test]
fn a_full_queue_lets_lanes_run_at_their_speed() {
    let generator = Generator { rate: 9_999_988.0, ..generator(0) };
    let mut s = paced(share(None, vec![sim(0, 2, real())], vec![generator]), Arrivals::Exponential);
    s.interval_ns = SECOND / 20;
    let mut done = 0;
    let told = run_watched(s, |event, running| {
        if let WorkerEvent::Interval(sample) = event {
            done += sample.pairs.iter().map(|p| p.cell.read.ops).sum::<u64>();
            // More than the queue ever held: it was filled again.
            if done > 5_000 {
                running.stop(None);
            }
        }
    });
    let length = told.samples.last().unwrap().end_ns;
    let done = told.cell(|_| true).read.ops;
    assert!(done <= 2 * length / 39_000 + 2, "{done}");
}

#[test]
fn outstanding_shows_an_io_that_takes_long() {
    let slow = SimSpec { hit_ns: SECOND / 3, ..real() };
    let (running, events) = start(share(None, vec![sim(0, 3, slow)], vec![generator(0)])).unwrap();
    let mut seen = running.outstanding();
    while seen.count < 3 {
        seen = running.outstanding();
        std::thread::yield_now();
    }
    assert!(seen.oldest < std::time::Duration::from_secs(1));
    assert_eq!(seen.on, Some((0, "sim:a".into())));
    running.stop(None);
    assert_eq!(events.iter().last(), Some(WorkerEvent::Drained));
    assert_eq!(running.outstanding(), Outstanding::default());
    running.join();
}

#[test]
fn a_slow_device_stalls_no_sample_and_its_time_is_not_lost() {
    let slow = SimSpec { hit_ns: SECOND / 2, ..real() };
    let mut s = share(Some(4), vec![sim(0, 3, slow)], vec![generator(0)]);
    s.interval_ns = SECOND / 20;
    let told = run(s);
    assert_eq!(told.samples.len(), 4);
    for sample in &told.samples[1..] {
        let cell = sample.pairs[0].cell;
        // All three lanes were busy the whole time, though nothing was done.
        assert_eq!((cell.read.ops, cell.busy_ns), (0, 3 * (sample.end_ns - sample.start_ns)));
    }
}

#[test]
fn a_run_can_be_stopped_before_its_start() {
    let (tx, rx) = std::sync::mpsc::channel();
    let events = Box::new(move |event| tx.send(event).unwrap());
    let s = share(Some(1), vec![sim(0, 2, real())], vec![generator(0)]);
    let prepared = brunt_engine::Engine::prepare(s, Default::default(), events).unwrap();
    let running = prepared.start(std::time::Instant::now() + std::time::Duration::from_secs(3600));
    running.stop(None);
    let told: Vec<_> = rx.iter().collect();
    assert!(matches!(&told[..], [WorkerEvent::Totals(_), WorkerEvent::Drained]), "{told:?}");
    running.join();
}
