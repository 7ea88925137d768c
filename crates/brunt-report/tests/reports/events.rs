//! The schema: every kind of event survives the way through JSON, and `docs/events.md` tells all of it.

use std::collections::BTreeSet;

use brunt_event::{
    AbortCause, AnchorSize, Birth, Compared, Compat, Difference, EndScope, EngineChoice, Event, FilesRate,
    HookDestination, IoFailed, Limit, NoticeLevel, PlannedRun, RateText, Record, RunEnd, RunWorkload, Witnessed,
    WitnessedDevice,
};
use brunt_stats::{OwnError, Spread};
use serde_json::Value;

use crate::latency::paced_run;
use crate::stream::{Measured, START_MS, Stream, opened, planned, planned_run, reads, writes};

const PAGE: &str = include_str!("../../../../docs/events.md");

/// Every kind at least once, every field filled.
fn every_kind() -> Vec<Record> {
    let run = planned_run("rd1", &["threads=2"]);
    let mut plan = planned(&[("one", 1)], &["sd1"], &["wd1"], std::slice::from_ref(&run));
    (plan.host_detail, plan.worker_detail) = (true, true);
    let mut stream = Stream::new(Compat::V50407, plan);
    stream.set_up();
    stream.run(&run, 1, &[Measured::second([reads(0, 0, 0, 3), writes(0, 0, 0, 3)].concat())]);
    for event in messages() {
        stream.push(event);
    }
    let paced = paced_run(true).into_iter().filter(|record| matches!(record.event, Event::RunEnded(_)));
    stream.records.extend(paced);
    stream.close(0)
}

/// The kinds that are not part of an ordinary run.
fn messages() -> Vec<Event> {
    let io = IoFailed {
        worker: 0,
        worker_ms: START_MS,
        read: false,
        lun: "/dev/sdb".into(),
        lba: 1 << 40,
        xfer: 8192,
        errno: Some(5),
        got: None,
    };
    let text = || "a sentence".to_owned();
    let spread = Spread::of([27.25, 31.0]);
    let error = OwnError {
        clocksource: Some("tsc".into()),
        clock: spread,
        empty_response: spread,
        empty_io: spread,
        wake: spread,
        timer: spread,
        record: spread,
        step_ns: 128,
    };
    vec![
        Event::OwnError { host: 0, error: Box::new(error) },
        Event::Usage,
        Event::Simulated { run: 0 },
        Event::SimulationTotal { runs: 1, seconds: 4 },
        Event::AnchorSizes {
            anchors: vec![AnchorSize { anchor: "./tree".into(), directories: 1, files: 8, bytes: 131_072 }],
        },
        Event::FormatNeeded { sd: 0, lun: "./sd1".into(), host: 0 },
        Event::Engines {
            choices: vec![EngineChoice { host: 0, backend: "aio".into(), why: "a block device".into(), sds: vec![0] }],
        },
        Event::LoopStarted { pass: 2 },
        witnessed(),
        Event::Limited {
            run: 0,
            limits: vec![
                Limit::GeneratorShort { asked: 1000.0, reached: 950.5, lanes: 8, busy_lanes: 0.5 },
                Limit::GeneratorLate { lateness_ns: 60_000, service_ns: 39_000, ios: 9_505 },
                Limit::HostCpu { host: 0, busy_percent: 97.5, steal_percent: 1.25 },
            ],
        },
        Event::SequentialDone,
        Event::MaxDataReached { run: 0, limit: 1 << 30 },
        Event::Draining { outstanding: 3, seconds: 1 },
        Event::Pausing { seconds: 5 },
        Event::MonitorWatched { file: "mon.txt".into() },
        Event::EarlyEnd { scope: EndScope::Run },
        Event::IoFailed(io.clone()),
        Event::IoFailed(IoFailed { errno: None, got: Some(512), ..io }),
        Event::Hook {
            command: "true".into(),
            place: "master".into(),
            status: None,
            lines: vec![text()],
            to: HookDestination::Summary,
        },
        Event::WorkerLog { worker: 0, worker_ms: START_MS, text: text() },
        Event::Notice { level: NoticeLevel::Warning, code: "page-cache".into(), text: text() },
        Event::Diagnostic { text: text(), fatal: true },
        Event::Interrupted { signal: 15 },
        Event::WorkerLost { worker: 0, text: text() },
        Event::TakenOver {
            pid: 4713,
            birth: Some(Birth { ticks: 816, boot: "b007".to_owned(), host: "db7".to_owned() }),
        },
        Event::Aborted { cause: AbortCause::Stuck, text: text(), io_errors: 2 },
    ]
}

/// A device that split reads.
fn witnessed() -> Event {
    let compared = |kernel_commands, difference| Compared {
        ios: 1_000,
        bytes: 1_000 << 20,
        kernel_commands,
        kernel_merges: 0,
        kernel_bytes: 1_000 << 20,
        difference,
    };
    let device = WitnessedDevice {
        host: 0,
        device: "sdb".into(),
        sds: vec![0],
        max_sectors_kb: Some(128),
        max_segments: None,
        read: compared(8_000, Some(Difference::Split)),
        write: compared(1_000, None),
    };
    Event::Witnessed(Witnessed { run: 0, devices: vec![device] })
}

fn to_json(record: &Record) -> Value {
    serde_json::to_value(record).unwrap()
}

/// Names of all fields, at any depth.
fn fields(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            into.insert(name.clone());
            fields(value, into);
        }),
        Value::Array(values) => values.iter().for_each(|value| fields(value, into)),
        _ => {}
    }
}

/// The kinds that serde knows, out of the message for one that it does not.
fn known_kinds() -> BTreeSet<String> {
    let error = serde_json::from_str::<Event>(r#"{"kind":"no such kind"}"#).unwrap_err().to_string();
    let listed = error.split("expected one of").nth(1).unwrap();
    listed.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_kind_survives_json() {
    let records = every_kind();
    for record in &records {
        let line = serde_json::to_string(record).unwrap();
        assert_eq!(&serde_json::from_str::<Record>(&line).unwrap(), record);
    }
    let kinds = records.iter().map(|record| to_json(record)["event"]["kind"].as_str().unwrap().to_owned());
    assert_eq!(kinds.collect::<BTreeSet<_>>(), known_kinds(), "the test misses a kind");
}

#[test]
fn large_sums_survive_json() {
    let mut stream = Stream::new(Compat::V50407, planned(&[("one", 1)], &["sd1"], &["wd1"], &[]));
    stream.set_up();
    let mut slow = reads(0, 0, 0, 100);
    slow.iter_mut().for_each(|io| io.ns = 900_000_000_000);
    stream.run(&planned_run("rd1", &[]), 1, &[Measured::second(slow)]);
    for record in stream.close(0) {
        let line = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), record);
    }
}

#[test]
fn words_survive_json() {
    let rates = [
        RateText::Fixed(0.5),
        RateText::UncontrolledMax,
        RateText::ControlledMax,
        RateText::UncontrolledCurve,
        RateText::ControlledCurve,
        RateText::Variable,
        RateText::PercentOfMax(10.0),
        RateText::PercentOfPrevious(50.0),
        RateText::Replay(None),
        RateText::Replay(Some(100.0)),
        RateText::Files(FilesRate::Fixed(100.0)),
        RateText::Files(FilesRate::Max),
        RateText::Files(FilesRate::Curve),
        RateText::Files(FilesRate::PercentOfMax(10.0)),
        RateText::Files(FilesRate::PercentOfPrevious(50.0)),
    ];
    for rate in rates {
        let run = PlannedRun { rate, ..planned_run("rd1", &[]) };
        let text = serde_json::to_string(&run).unwrap();
        assert_eq!(serde_json::from_str::<PlannedRun>(&text).unwrap(), run);
        let word = serde_json::to_value(rate).unwrap();
        let word = word.as_str().map(str::to_owned).or_else(|| Some(word.as_object()?.keys().next()?.clone()));
        assert!(PAGE.contains(&format!("\"{}\"", word.unwrap())), "{rate:?} is not on the page");
    }
    let generated = RunWorkload { wd: None, name: "SD_format_sd1".into(), skew: None };
    let text = serde_json::to_string(&generated).unwrap();
    assert_eq!(serde_json::from_str::<RunWorkload>(&text).unwrap(), generated);
}

#[test]
fn the_page_has_every_kind_and_every_field() {
    let headings: BTreeSet<String> =
        PAGE.lines().filter_map(|line| line.strip_prefix("### ")).map(str::to_owned).collect();
    assert_eq!(headings, known_kinds());
    let mut names = BTreeSet::new();
    every_kind().iter().for_each(|record| fields(&to_json(record), &mut names));
    names.remove("fixed"); // a rate, looked for in `words_survive_json`
    let missing: Vec<_> = names.iter().filter(|name| !PAGE.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "not on the page: {missing:?}");
}

#[test]
fn the_page_has_every_reason() {
    let ends = [
        RunEnd::Elapsed,
        RunEnd::EndOfData,
        RunEnd::MaxData,
        RunEnd::Monitor,
        RunEnd::Errors,
        RunEnd::Signal,
        RunEnd::WorkerLost,
        RunEnd::Stuck,
    ];
    let causes = [
        AbortCause::Usage,
        AbortCause::Parameters,
        AbortCause::Setup,
        AbortCause::Safety,
        AbortCause::IoErrorLimit,
        AbortCause::IoErrors,
        AbortCause::WorkerLost,
        AbortCause::MasterLost,
        AbortCause::Hook,
        AbortCause::Stuck,
        AbortCause::Skew,
        AbortCause::Output,
        AbortCause::Timeout,
    ];
    let words = ends.iter().map(|end| serde_json::to_value(end).unwrap());
    for word in words.chain(causes.iter().map(|cause| serde_json::to_value(cause).unwrap())) {
        assert!(PAGE.contains(&format!("`{}`", word.as_str().unwrap())), "{word} is not on the page");
    }
}

#[test]
fn the_page_has_every_difference_and_limit() {
    let differences = [
        Difference::Split,
        Difference::Merged,
        Difference::PageCache,
        Difference::ReadAhead,
        Difference::Failed,
        Difference::NotCounted,
        Difference::Missing,
        Difference::Foreign,
    ];
    let limits = [
        Limit::GeneratorShort { asked: 0.0, reached: 0.0, lanes: 0, busy_lanes: 0.0 },
        Limit::GeneratorLate { lateness_ns: 0, service_ns: 0, ios: 0 },
        Limit::HostCpu { host: 0, busy_percent: 0.0, steal_percent: 0.0 },
    ];
    let words = differences.iter().map(|difference| serde_json::to_value(difference).unwrap());
    for word in words.chain(limits.iter().map(|limit| serde_json::to_value(limit).unwrap()["limit"].clone())) {
        assert!(PAGE.contains(&format!("`{}`", word.as_str().unwrap())), "{word} is not on the page");
    }
}

#[test]
fn the_schema_has_its_version() {
    assert!(PAGE.contains(&format!("now {}.", opened(Compat::V50407).schema)));
}
