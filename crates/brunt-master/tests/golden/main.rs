//! Whole executions from parameter files: the states of `status.html` and the lines of the console, in the order of the
//! reference's outputs, from the events.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod player;

use std::sync::Mutex;

use brunt_event::{Event, PlannedRun, RateText};
use brunt_master::{Control, Fleet, FleetHost, Options, Outcome, execute};
use brunt_parm::source::ReadError;
use brunt_parm::{Input, Reader};
use brunt_plan::plan::Plan;
use tokio::sync::mpsc;

use player::{Oddities, Player};

/// A reader of one text.
struct Text(String);

impl Reader for Text {
    fn read(&self, _path: &str) -> Result<String, ReadError> {
        Ok(self.0.clone())
    }

    fn absolute(&self, path: &str) -> String {
        format!("/{path}")
    }
}

fn plan(text: &str, options: brunt_plan::Options) -> Plan {
    let input = Input { files: vec!["parmfile".into()], ..Input::default() };
    let parsed = brunt_parm::parse(&input, &Text(text.to_owned()));
    let mut diags = parsed.diags;
    let plan = brunt_plan::expand(&parsed.file, &options, &mut diags);
    plan.unwrap_or_else(|| panic!("{diags:?}"))
}

struct Played {
    events: Vec<Event>,
    outcome: Outcome,
}

async fn play(plan: Plan, oddities: Oddities, react: &mut dyn FnMut(&Event) -> Option<Control>) -> Played {
    let (to, inbox) = mpsc::channel(100_000);
    let (control, control_inbox) = mpsc::channel(10);
    let player = |(host, h): (usize, &brunt_plan::plan::Host)| FleetHost {
        commands: vec![],
        link: Player {
            host,
            workers: h.workers,
            oddities,
            events: to.clone(),
            shares: Mutex::default(),
            rest: Mutex::default(),
        },
    };
    let fleet = Fleet { hosts: plan.hosts.iter().enumerate().map(player).collect() };
    let mut events = Vec::new();
    let mut sink = |event: Event| {
        react(&event).into_iter().for_each(|c| control.try_send(c).unwrap());
        events.push(event);
    };
    let options = Options::new(true, "/out");
    let outcome = execute(plan, fleet, options, inbox, control_inbox, &mut sink).await;
    Played { events, outcome }
}

async fn simple(text: &str) -> Played {
    play(plan(text, brunt_plan::Options::default()), Oddities::default(), &mut |_| None).await
}

/// The states as `status.html` names them, and in braces what the console says in between.
fn states(events: &[Event]) -> Vec<String> {
    let mut run = String::new();
    let mut out = Vec::new();
    for event in events {
        let of_run = |state: &str| format!("{state} {run}");
        out.push(match event {
            Event::WorkersConnected => "Slaves connected".to_owned(),
            Event::QueryStarted => "Query host configuration started".to_owned(),
            Event::QueryCompleted { .. } => "Query host configuration completed".to_owned(),
            Event::RunStarted(started) => {
                run = format!("rd={} For loops: {}", started.plan.name, loops(&started.plan));
                format!("Starting {run} {{{}}}", rate(&started.plan.rate))
            }
            Event::WarmupDone { .. } => of_run("Warmup done"),
            Event::WorkloadDone { .. } => of_run("Workload done"),
            Event::WorkersDone { .. } => of_run("Slaves done"),
            Event::FormatNeeded { lun, .. } => format!("{{lun={lun}}}"),
            Event::SequentialDone => "{sequential done}".to_owned(),
            Event::EarlyEnd { scope } => format!("User requested early end of {scope:?}"),
            Event::Interrupted { .. } => "Ctrl-C found".to_owned(),
            Event::IoFailed(_) => "I/O error".to_owned(),
            Event::MonitorWatched { .. } => "{monitor}".to_owned(),
            Event::Aborted { text, .. } => format!("Abort requested: {text}"),
            Event::RunEnded(ended) => format!("{{avg {}, {} intervals}}", ended.complete, ended.intervals),
            _ => continue,
        });
    }
    out
}

fn loops(run: &PlannedRun) -> String {
    if run.loops.is_empty() { "None".to_owned() } else { run.loops.join(" ") }
}

fn rate(rate: &RateText) -> String {
    if let RateText::Fixed(rate) = rate { rate.to_string() } else { format!("{rate:?}") }
}

const SET_UP: [&str; 3] =
    ["Slaves connected", "Query host configuration started", "Query host configuration completed"];

/// The states of a run that ends as planned.
fn whole(run: &str, rate: &str, intervals: u32) -> Vec<String> {
    vec![
        format!("Starting rd={run} {{{rate}}}"),
        format!("Warmup done rd={run}"),
        format!("Workload done rd={run}"),
        format!("Slaves done rd={run}"),
        format!("{{avg true, {intervals} intervals}}"),
    ]
}

fn after_set_up(parts: Vec<Vec<String>>) -> Vec<String> {
    SET_UP.iter().map(|s| (*s).to_owned()).chain(parts.into_iter().flatten()).collect()
}

#[tokio::test(start_paused = true)]
async fn case_01_random_read() {
    let played = simple(
        "sd=sd1,lun=./f1,size=8m,threads=2\n\
         wd=wd1,sd=sd1,xfersize=4k,rdpct=100,seekpct=random\n\
         rd=rd1,wd=wd1,iorate=100,elapsed=4,interval=1\n",
    )
    .await;
    assert_eq!(states(&played.events), after_set_up(vec![whole("rd1 For loops: None", "100", 4)]));
    assert!(played.outcome.complete);
}

#[tokio::test(start_paused = true)]
async fn case_03_seekpct_eof() {
    let played = simple(
        "sd=sd1,lun=./f1,size=8m,threads=1\n\
         wd=wd1,sd=sd1,xfersize=64k,rdpct=100,seekpct=eof\n\
         rd=onepass,wd=wd1,iorate=40,elapsed=60,interval=1\n",
    )
    .await;
    let mut expected = whole("onepass For loops: None", "40", 4);
    expected.insert(2, "{sequential done}".to_owned());
    assert_eq!(states(&played.events), after_set_up(vec![expected]));
}

#[tokio::test(start_paused = true)]
async fn case_04_skew_two_wds() {
    let played = simple(
        "sd=sd1,lun=./f1,size=8m,threads=2\nsd=sd2,lun=./f2,size=8m,threads=2\n\
         wd=hot,sd=sd1,xfersize=4k,rdpct=70,skew=80\nwd=cold,sd=sd2,xfersize=8k,rdpct=70,skew=20\n\
         rd=mix,wd=*,iorate=200,elapsed=4,interval=1\n",
    )
    .await;
    assert_eq!(states(&played.events), after_set_up(vec![whole("mix For loops: None", "200", 4)]));
    let ops = played.events.iter().rev().find_map(|e| match e {
        Event::Interval(i) => Some(i.wds.iter().map(|c| c.both().ops).collect::<Vec<_>>()),
        _ => None,
    });
    assert_eq!(ops, Some(vec![160, 40]));
}

#[tokio::test(start_paused = true)]
async fn case_05_iorate_list() {
    let played = simple(
        "sd=sd1,lun=./f1,size=8m,threads=2\nwd=wd1,sd=sd1,xfersize=4k,rdpct=100\n\
         rd=steps,wd=wd1,iorate=(50,100,200),elapsed=2,interval=1\n",
    )
    .await;
    let of = |rate: &str| whole(&format!("steps For loops: iorate={rate}"), rate, 2);
    assert_eq!(states(&played.events), after_set_up(vec![of("50"), of("100"), of("200")]));
}

#[tokio::test(start_paused = true)]
async fn case_07_curve() {
    let played = simple(
        "sd=sd1,lun=./f1,size=8m,threads=1\nwd=wd1,sd=sd1,xfersize=8k,rdpct=100\n\
         rd=crv,wd=wd1,iorate=curve,curve=(10,50),elapsed=2,interval=1\n",
    )
    .await;
    let of = |name: &str, rate: &str| whole(&format!("{name} For loops: None"), rate, 2);
    let expected = vec![of("crv", "UncontrolledCurve"), of("crv_(10%)", "500"), of("crv_(50%)", "2500")];
    assert_eq!(states(&played.events), after_set_up(expected));
}

#[tokio::test(start_paused = true)]
async fn case_12_auto_format() {
    let text = "sd=sd1,lun=./newfile,size=4m,threads=2\nwd=wd1,sd=sd1,xfersize=4k,rdpct=100\n\
                rd=rd1,wd=wd1,iorate=100,elapsed=2,interval=1\n";
    let mut twice = plan(text, brunt_plan::Options::default());
    twice.settings.repeat = Some(brunt_parm::ast::Repeat::Passes(2));
    let oddities = Oddities { missing: true, ..Oddities::default() };
    let played = play(twice, oddities, &mut |_| None).await;
    let name = "SD_format For loops: threads=2 iorate=max";
    let mut format = whole(name, "UncontrolledMax", 1);
    format.insert(1, "{sequential done}".to_owned());
    let run = || whole("rd1 For loops: None", "100", 2);
    let expected = after_set_up(vec![vec!["{lun=./newfile}".to_owned()], format, run(), run()]);
    assert_eq!(states(&played.events), expected, "a second pass does not format again");
    let starts: Vec<_> =
        played.events.iter().filter_map(|e| if let Event::RunStarted(r) = e { Some(r) } else { None }).collect();
    assert_eq!(starts.iter().map(|r| r.run).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!((starts[0].workloads[0].wd, starts[1].workloads[0].wd), (None, Some(0)));
    assert_eq!((starts[0].plan.format, starts[0].plan.elapsed), (true, None));
}

#[tokio::test(start_paused = true)]
async fn case_15_two_hosts_three_workers() {
    let played = simple(
        "hd=default,shell=vdbench\nhd=left,system=localhost,jvms=2\nhd=right,system=localhost,jvms=1\n\
         sd=sd1,lun=./f1,size=8m,threads=6\nsd=sd2,lun=./f2,size=8m,threads=6\n\
         wd=wd1,sd=sd*,host=*,xfersize=4k,rdpct=100\nrd=rd1,wd=wd1,iorate=120,elapsed=3,interval=1\n",
    )
    .await;
    assert_eq!(states(&played.events), after_set_up(vec![whole("rd1 For loops: None", "120", 3)]));
    let Some(Event::Planned(planned)) = played.events.first() else { panic!("planned comes first") };
    let labels: Vec<_> = planned.workers.iter().map(|w| w.label.as_str()).collect();
    assert_eq!(labels, ["left-0", "left-1", "right-0"]);
    let total = played
        .events
        .iter()
        .rev()
        .find_map(|e| if let Event::Interval(i) = e { Some(i.total.both().ops) } else { None });
    assert_eq!(total, Some(120));
}

const ONE_RUN: &str = "sd=sd1,lun=./f1,size=8m,threads=2\nwd=wd1,sd=sd1,xfersize=4k,rdpct=100\n\
                       rd=rd1,wd=wd1,iorate=100,elapsed=15,interval=1\n";

#[tokio::test(start_paused = true)]
async fn case_43_io_error() {
    let text = format!("data_errors=5\n{ONE_RUN}");
    // Of interval 3, in which the errors come, nothing is complete when they do.
    let oddities = Oddities { failures: 9, halt_after: Some(3), ..Oddities::default() };
    let played = play(plan(&text, brunt_plan::Options::default()), oddities, &mut |_| None).await;
    let run = "rd=rd1 For loops: None";
    let mut expected = vec![format!("Starting {run} {{100}}"), format!("Warmup done {run}")];
    expected.extend(vec!["I/O error".to_owned(); 5]);
    expected.push("{avg false, 2 intervals}".to_owned());
    expected.push("Abort requested: 'data_errors=5' requested. Abort rd=rd1 after last error.".to_owned());
    assert_eq!(states(&played.events), after_set_up(vec![expected]));
}

#[tokio::test(start_paused = true)]
async fn case_44_ctrl_c() {
    let oddities = Oddities { halt_after: Some(2), ..Oddities::default() };
    let mut react = |event: &Event| match event {
        Event::Interval(i) if i.interval == 2 => Some(Control::Interrupt(2)),
        _ => None,
    };
    let played = play(plan(ONE_RUN, brunt_plan::Options::default()), oddities, &mut react).await;
    let run = "rd=rd1 For loops: None";
    let expected = [
        format!("Starting {run} {{100}}"),
        format!("Warmup done {run}"),
        "{avg false, 2 intervals}".to_owned(),
        "Ctrl-C found".to_owned(),
    ];
    assert_eq!(states(&played.events), after_set_up(vec![expected.into()]));
    assert_eq!(played.outcome.interrupted, Some(2));
}

#[tokio::test(start_paused = true)]
async fn case_47_monitor_stop() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("mon.txt");
    let text = format!(
        "monitor={}\nsd=sd1,lun=./f1,size=8m,threads=2\nwd=wd1,sd=sd1,xfersize=4k,rdpct=100\n\
         rd=rd1,wd=wd1,iorate=100,elapsed=60,interval=1\nrd=rd2,wd=wd1,iorate=100,elapsed=60,interval=1\n",
        file.display()
    );
    let oddities = Oddities { halt_after: Some(8), ..Oddities::default() };
    let mut react = |event: &Event| {
        if matches!(event, Event::Interval(i) if i.interval == 7) {
            std::fs::write(&file, "end_vdbench\n").unwrap();
        }
        None
    };
    let played = play(plan(&text, brunt_plan::Options::default()), oddities, &mut react).await;
    let mut expected = whole("rd1 For loops: None", "100", 8);
    expected.insert(0, "{monitor}".to_owned());
    expected.insert(3, "User requested early end of Execution".to_owned());
    assert_eq!(states(&played.events), after_set_up(vec![expected]));
    assert!(played.outcome.complete);
}

#[tokio::test(start_paused = true)]
async fn case_50_restart_at_rd() {
    let text = "sd=sd1,lun=./f1,size=8m,threads=2\nwd=wd1,sd=sd1,xfersize=4k,rdpct=100\n\
                rd=first,wd=wd1,iorate=50,elapsed=2,interval=1\n\
                rd=second,wd=wd1,iorate=(50,100),elapsed=2,interval=1\n\
                rd=third,wd=wd1,iorate=50,elapsed=2,interval=1\n";
    let options = brunt_plan::Options { restart_at: Some("second".into()), ..brunt_plan::Options::default() };
    let played = play(plan(text, options), Oddities::default(), &mut |_| None).await;
    let expected = vec![
        whole("second For loops: iorate=50", "50", 2),
        whole("second For loops: iorate=100", "100", 2),
        whole("third For loops: None", "50", 2),
    ];
    assert_eq!(states(&played.events), after_set_up(expected));
}

#[tokio::test(start_paused = true)]
async fn case_52_timeout_stays_silent() {
    let text = "timeout=(report,5)\nios_per_jvm=200000\nsd=sd1,lun=./f1,size=8m,threads=2\n\
                wd=wd1,sd=sd1,xfersize=4k,rdpct=100\nrd=rd1,wd=wd1,iorate=100,elapsed=3,interval=1\n";
    let played = simple(text).await;
    assert_eq!(states(&played.events), after_set_up(vec![whole("rd1 For loops: None", "100", 3)]));
    let notices =
        played.events.iter().filter(|e| matches!(e, Event::Notice { code, .. } if code.starts_with("timeout")));
    assert_eq!(notices.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn case_58_eof_two_sds() {
    let played = simple(
        "sd=sd1,lun=./f1,size=4m,threads=1\nsd=sd2,lun=./f2,size=2m,threads=1\n\
         wd=wd1,sd=sd*,xfersize=64k,rdpct=0,seekpct=eof\nrd=fill,wd=wd1,iorate=32,elapsed=60,interval=1\n",
    )
    .await;
    let mut expected = whole("fill For loops: None", "32", 4);
    expected.insert(2, "{sequential done}".to_owned());
    assert_eq!(states(&played.events), after_set_up(vec![expected]));
}
