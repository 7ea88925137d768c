//! Runs that end before their time: end of data, maxdata, monitor files.

use brunt_parm::ast::MaxDataKind;
use brunt_plan::plan::Rate;
use brunt_plan::work::{Seek, WorkerEvent};

use crate::testing::{Script, Stage, drained, from, plan, run, sample, sd, seconds, stopped, whole, workloads_of};

#[tokio::test(start_paused = true)]
async fn the_end_of_data_ends_the_run_with_its_last_interval() {
    let mut rd = run("onepass", Rate::Fixed(40.0), 60);
    workloads_of(&mut rd)[0].seek = Seek::Eof;
    let start = [seconds(0, 1..=3, 40), vec![from(0, WorkerEvent::SequentialDone)]].concat();
    let script = stopped(start, vec![sample(0, 4, 470, &[(0, 0, 20)])]);
    let played = Stage::new(plan(vec![rd]), vec![vec![script]]).play().await;
    let expected = [
        "run 0 onepass 40",
        "interval 1 warmup: 40 in 1000 ms",
        "warmup done",
        "interval 2: 40 in 1000 ms",
        "interval 3: 40 in 1000 ms",
        "sequential done",
        "interval 4: 20 in 470 ms",
        "workload done",
        "workers done",
        "end EndOfData complete=true intervals=4 errors=0",
    ];
    assert_eq!(played.order_of_runs(), expected);
    assert!(played.calls.contains(&"0 stop".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_worker_on_a_virtual_clock_may_be_far_past_the_end_of_data() {
    let mut rd = run("onepass", Rate::Max, 60);
    workloads_of(&mut rd)[0].seek = Seek::Eof;
    let mut start = vec![from(0, WorkerEvent::SequentialDone)];
    start.splice(0..0, [sample(0, 1, 1000, &[(0, 0, 5)])]);
    start.extend(seconds(0, 2..=40, 0));
    let played = Stage::new(plan(vec![rd]), vec![vec![stopped(start, vec![])]]).play().await;
    let intervals: Vec<_> = played.order().into_iter().filter(|e| e.starts_with("interval")).collect();
    assert_eq!(intervals, ["interval 1 warmup: 5 in 1000 ms", "interval 2: 0 in 1000 ms"]);
}

#[tokio::test(start_paused = true)]
async fn all_workers_with_data_must_reach_its_end() {
    let mut two = plan(vec![run("fill", Rate::Max, 60)]);
    two.hosts[0].workers = 2;
    two.sds.push(sd("sd2", "/f2"));
    workloads_of(&mut two.runs[0])[0].sds = [0, 1].into();
    workloads_of(&mut two.runs[0])[0].seek = Seek::Eof;
    let mut script = stopped(
        vec![
            sample(1, 1, 1000, &[(0, 1, 2)]),
            from(1, WorkerEvent::SequentialDone),
            sample(1, 2, 1000, &[]),
            sample(1, 3, 1000, &[]),
            sample(0, 1, 1000, &[(0, 0, 4)]),
            sample(0, 2, 1000, &[(0, 0, 4)]),
            from(0, WorkerEvent::SequentialDone),
        ],
        vec![sample(0, 3, 500, &[(0, 0, 1)])],
    );
    script.stop.push(drained(1));
    let played = Stage::new(two, vec![vec![script]]).play().await;
    let expected = [
        "run 0 fill UncontrolledMax",
        "interval 1 warmup: 6 in 1000 ms",
        "warmup done",
        "interval 2: 4 in 1000 ms",
        "sequential done",
        "interval 3: 1 in 750 ms",
        "workload done",
        "workers done",
        "end EndOfData complete=true intervals=3 errors=0",
    ];
    assert_eq!(played.order_of_runs(), expected);
}

#[tokio::test(start_paused = true)]
async fn maxdata_lets_one_more_interval_run() {
    let mut rd = run("rd1", Rate::Fixed(10.0), 60);
    rd.max_data = vec![(MaxDataKind::Written, 1e9), (MaxDataKind::Both, 80.0 * 1024.0)];
    let script = stopped(seconds(0, 1..=3, 10), seconds(0, 4..=6, 10));
    let played = Stage::new(plan(vec![rd]), vec![vec![script]]).play().await;
    let expected = [
        "run 0 rd1 10",
        "interval 1 warmup: 10 in 1000 ms",
        "warmup done",
        "interval 2: 10 in 1000 ms",
        "interval 3: 10 in 1000 ms",
        "maxdata 81920",
        "interval 4: 10 in 1000 ms",
        "workload done",
        "workers done",
        "end MaxData complete=true intervals=4 errors=0",
    ];
    assert_eq!(played.order_of_runs(), expected, "bytes of the warm-up do not count");
    assert!(played.calls.contains(&"0 stop after 4".to_owned()));
}

/// An order that is late must not come into the next run.
#[tokio::test(start_paused = true)]
async fn the_next_run_waits_for_the_answer_to_a_stop_but_not_for_ever() {
    let mut rd = run("rd1", Rate::Fixed(10.0), 60);
    rd.max_data = vec![(MaxDataKind::Both, 80.0 * 1024.0)];
    let plan = plan(vec![rd, run("rd2", Rate::Fixed(10.0), 2)]);
    let script = Script { start: seconds(0, 1..=3, 10), ..Script::default() };
    let mut stage = Stage::new(plan, vec![vec![script, whole(2, 10)]]);
    stage.deaf = vec![0];
    stage.later = vec![(500, 0, sample(0, 4, 1000, &[(0, 0, 10)])), (501, 0, drained(0))];
    let started = tokio::time::Instant::now();
    let played = stage.play().await;
    assert!(played.outcome.complete, "{:?}", played.order_of_runs());
    let waited = started.elapsed().as_secs();
    assert!((30..33).contains(&waited), "{waited}");
}

#[tokio::test(start_paused = true)]
async fn small_maxdata_is_a_multiple_of_the_sds() {
    let mut rd = run("rd1", Rate::Fixed(1024.0), 60);
    rd.max_data = vec![(MaxDataKind::Read, 0.5)];
    let script = stopped(seconds(0, 1..=2, 1024), seconds(0, 3..=3, 1024));
    let played = Stage::new(plan(vec![rd]), vec![vec![script]]).play().await;
    assert!(played.order().contains(&"maxdata 4194304".to_owned()), "half of 8 MiB");
}

/// The monitor file is written while interval 2 is under way.
async fn monitored(words: &'static str) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("mon.txt");
    let mut plan = plan(vec![run("rd1", Rate::Fixed(10.0), 60), run("rd2", Rate::Fixed(10.0), 2)]);
    plan.settings.monitor = file.to_str().map(str::to_owned);
    let rd1 = stopped(seconds(0, 1..=3, 10), vec![]);
    let mut stage = Stage::new(plan, vec![vec![rd1, whole(2, 10)]]);
    let mut written = false;
    stage.watch = Box::new(move |event| {
        if matches!(event, brunt_event::Event::WarmupDone { .. }) && !std::mem::replace(&mut written, true) {
            std::fs::write(&file, words).unwrap();
        }
    });
    let played = stage.play().await;
    assert!(played.outcome.complete);
    assert_eq!(played.outcome.abort, None);
    played.order().into_iter().skip_while(|e| e != "monitor").collect()
}

#[tokio::test(start_paused = true)]
async fn end_vdbench_ends_everything() {
    let expected = [
        "monitor",
        "run 0 rd1 10",
        "interval 1 warmup: 10 in 1000 ms",
        "warmup done",
        "early end of Execution",
        "interval 2: 10 in 1000 ms",
        "workload done",
        "workers done",
        "end Monitor complete=true intervals=2 errors=0",
    ];
    assert_eq!(monitored("END_VDBENCH\n").await, expected);
}

#[tokio::test(start_paused = true)]
async fn end_rd_ends_the_run_and_the_next_follows() {
    let order = monitored("shutdown").await;
    let around: Vec<_> = order.iter().skip_while(|e| !e.starts_with("early")).take(6).map(String::as_str).collect();
    let expected = [
        "early end of Run",
        "interval 2: 10 in 1000 ms",
        "workload done",
        "workers done",
        "end Monitor complete=true intervals=2 errors=0",
        "run 1 rd2 10",
    ];
    assert_eq!(around, expected);
    assert_eq!(order.last().map(String::as_str), Some("end Elapsed complete=true intervals=2 errors=0"));
}
