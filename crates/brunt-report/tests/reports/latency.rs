//! `latency.html`, and the table after a paced run.

use brunt_event::{Compat, Event, Record, RunEnded};
use brunt_stats::{Histogram, OpStats, OpTimes, Times, Timing};

use crate::reader::output;
use crate::stream::{Measured, Stream, planned, planned_run, reads, writes};

/// Times of I/Os.
pub fn timing(ns: &[u64]) -> Timing {
    let (mut stats, mut hist) = (OpStats::default(), Histogram::default());
    for ns in ns {
        stats.record(0, *ns, false);
        hist.record(*ns);
    }
    Timing { sum_ns: stats.sum_ns, min_ns: stats.min_ns, max_ns: stats.max_ns, hist: hist.to_sparse() }
}

/// Of a paced run: an I/O of 39 µs each, as long after its due time as `waits` says: in the queue, then late.
fn paced(waits: &[(u64, u64)]) -> OpTimes {
    const SERVICE: u64 = 39_000;
    let of = |part: fn(&(u64, u64)) -> u64| timing(&waits.iter().map(part).collect::<Vec<_>>());
    OpTimes {
        service: of(|_| SERVICE),
        due: of(|(queue, late)| SERVICE + queue + late),
        queue: of(|(queue, _)| *queue),
        lateness: of(|(_, late)| *late),
    }
}

fn ended(records: &mut [Record]) -> &mut RunEnded {
    let mut ends = records.iter_mut().filter_map(|record| match &mut record.event {
        Event::RunEnded(ended) => Some(ended.as_mut()),
        _ => None,
    });
    ends.next().unwrap()
}

/// A run of two hosts and two SDs in which one write waited 3 ms for a stalled device.
pub fn paced_run(as_vdbench: bool) -> Vec<Record> {
    let run = planned_run("rd1", &[]);
    let plan = planned(&[("left", 1), ("right", 1)], &["sd1", "sd2"], &["wd1"], std::slice::from_ref(&run));
    let mut stream = Stream::new(Compat::V50407, plan);
    if let Some(Record { event: Event::Opened(opened), .. }) = stream.records.first_mut() {
        opened.as_vdbench = as_vdbench;
    }
    stream.set_up();
    let ios = [reads(0, 0, 0, 3), writes(1, 0, 1, 2)].concat();
    stream.run(&run, 1, &[Measured::second(ios.clone()), Measured::second(ios)]);
    let read = Times { read: paced(&[(0, 500), (0, 900), (15_000, 100)]), write: OpTimes::default() };
    let write = Times { read: OpTimes::default(), write: paced(&[(0, 700), (3_000_000, 0)]) };
    let mut all = read.clone();
    all.merge(&write);
    let end = ended(&mut stream.records);
    (end.times, end.wd_times) = (all.clone(), vec![all]);
    (end.host_times, end.sd_times) = (vec![read.clone(), write.clone()], vec![read, write]);
    stream.close(0)
}

#[test]
fn a_paced_run_shows_where_the_time_went() {
    let out = output(&paced_run(false));
    insta::assert_snapshot!("page", out.file("latency.html"));
    let table: Vec<&str> = out.console.lines().skip_while(|line| !line.contains("Latency in ms")).take(5).collect();
    insta::assert_snapshot!("console", table.join("\n"));
}

#[test]
fn programs_that_know_the_console_do_not_see_the_table() {
    let out = output(&paced_run(true));
    assert!(!out.console.contains("Latency in ms"));
    assert!(out.file("logfile.html").contains("Latency in ms"));
    assert!(!out.file("summary.html").contains("Latency in ms"));
}

#[test]
fn an_uncontrolled_run_has_response_times_only() {
    let run = planned_run("rd1", &[]);
    let mut stream =
        Stream::new(Compat::V50407, planned(&[("one", 1)], &["sd1"], &["wd1"], std::slice::from_ref(&run)));
    stream.set_up();
    stream.run(&run, 1, &[Measured::second(reads(0, 0, 0, 3)), Measured::second(reads(0, 0, 0, 3))]);
    let out = output(&stream.close(0));
    let rows = out.file("latency.html").lines().filter(|line| line.contains("issued to done  ")).count();
    assert_eq!(rows, 1, "one host, SD and workload are the total");
    assert!(!out.file("logfile.html").contains("Latency in ms"));
}

/// B22: an hour of waiting must not read as the end of a scale.
#[test]
fn what_is_beyond_the_range_is_told() {
    let hour = 3_600_000_000_000;
    let mut records = paced_run(true);
    let end = ended(&mut records);
    end.times.read.service = timing(&[39_000, hour, hour]);
    let out = output(&records);
    let told = "2 I/Os took longer than 18 minutes, the longest 3600 seconds; percentiles among them show the longest.";
    for place in [&out.console, out.file("summary.html"), out.file("logfile.html")] {
        assert!(place.contains(told), "{place}");
    }
    let row = out.file("latency.html").lines().find(|line| line.contains("beyond")).unwrap();
    assert!(row.ends_with("3600000.0000  2 beyond 18 minutes"), "{row}");
}
