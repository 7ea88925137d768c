//! Whole files of small executions, as they are.

use brunt_event::{AbortCause, Compat, Event, IoFailed, NoticeLevel, Planned, Record, RunEnd};

use crate::reader::output;
use crate::stream::{Measured, START_MS, Stream, planned, planned_run, reads, writes};

/// Every file, the console and standard error, one after another.
fn everything(records: &[Record]) -> String {
    let out = output(records);
    let mut text = format!("=== console\n{}=== stderr\n{}", out.console, out.stderr);
    for (name, content) in out.files.iter().filter(|(name, _)| *name != "events.ndjson") {
        text += &format!("=== {name}\n{content}");
    }
    text
}

/// One SD, a list of two rates, histograms cut to their used part.
fn one_sd(compat: Compat) -> Vec<Record> {
    let runs = [planned_run("rd1", &["iorate=50"]), planned_run("rd1", &["iorate=100"])];
    let plan = Planned {
        histogram_suppress: true,
        run_totals: true,
        ..planned(&[("localhost", 1)], &["sd1"], &["wd1"], &runs)
    };
    let mut stream = Stream::new(compat, plan);
    stream.set_up();
    for (run, count) in runs.iter().zip([50u64, 100]) {
        let intervals = [0, 1, 2].map(|more: u64| Measured::second(reads(0, 0, 0, count + more)));
        stream.run(run, 1, &intervals);
    }
    stream.close(0)
}

/// Two hosts with three workers, two SDs, two WDs, all details; one host is busy.
fn two_hosts(compat: Compat) -> Vec<Record> {
    let run = planned_run("rd1", &[]);
    let plan = Planned {
        histogram_suppress: true,
        host_detail: true,
        worker_detail: true,
        ..planned(&[("left", 2), ("right", 1)], &["sd1", "sd2"], &["hot", "cold"], std::slice::from_ref(&run))
    };
    let mut stream = Stream::new(compat, plan);
    stream.push(Event::Notice {
        level: NoticeLevel::Warning,
        code: "page-cache".into(),
        text: "sd1 is a file without o_direct: the page cache is measured".into(),
    });
    stream.set_up();
    let ios = |more: u64| [reads(0, 0, 0, 30 + more), reads(1, 0, 1, 20), writes(2, 1, 1, 10 + more)].concat();
    let intervals = [0, 3, 5].map(|more| Measured::second(ios(more)));
    stream.run(&run, 1, &intervals);
    stream.close(0)
}

/// I/O errors up to their limit.
fn errors() -> Vec<Record> {
    let run = planned_run("rd1", &[]);
    let plan = Planned {
        histogram_suppress: true,
        ..planned(&[("localhost", 1)], &["sd1"], &["wd1"], std::slice::from_ref(&run))
    };
    let mut stream = Stream::new(Compat::V50407, plan);
    stream.set_up();
    let started = stream.start(&run, 1);
    let intervals = [0, 1].map(|more: u64| Measured::second(reads(0, 0, 0, 40 + more)));
    stream.interval(&started, 1, &intervals[0]);
    stream.interval(&started, 2, &intervals[1]);
    for (errno, got) in [(Some(5), None), (None, Some(512))] {
        stream.push(Event::IoFailed(IoFailed {
            worker: 0,
            worker_ms: START_MS,
            read: true,
            lun: "./f1".into(),
            lba: 5_718_016,
            xfer: 4096,
            errno,
            got,
        }));
    }
    stream.end(&started, &intervals, RunEnd::Errors);
    let text = "'data_errors=2' requested. Abort rd=rd1 after last error.".to_owned();
    stream.push(Event::Aborted { cause: AbortCause::IoErrorLimit, text, io_errors: 2 });
    stream.close(157)
}

#[test]
fn one_sd_50407() {
    insta::assert_snapshot!(everything(&one_sd(Compat::V50407)));
}

#[test]
fn one_sd_50406() {
    insta::assert_snapshot!(everything(&one_sd(Compat::V50406)));
}

#[test]
fn two_hosts_50407() {
    insta::assert_snapshot!(everything(&two_hosts(Compat::V50407)));
}

#[test]
fn two_hosts_50406() {
    insta::assert_snapshot!(everything(&two_hosts(Compat::V50406)));
}

#[test]
fn io_errors() {
    insta::assert_snapshot!(everything(&errors()));
}
