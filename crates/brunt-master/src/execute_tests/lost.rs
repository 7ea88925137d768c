//! Workers and hosts that are lost.

use std::time::Duration;

use brunt_event::AbortCause;
use brunt_plan::plan::{OnLoss, Plan, Rate};
use brunt_plan::work::{Seek, WorkerEvent};

use crate::Control;
use crate::link::LinkEvent;
use crate::testing::{Script, Stage, drained, from, plan, run, seconds, stopped, workloads_of};

pub(super) fn two_hosts() -> Plan {
    let mut two = plan(vec![run("rd1", Rate::Max, 9), run("rd2", Rate::Max, 9)]);
    let mut right = two.hosts[0].clone();
    right.label = "right".into();
    two.hosts.push(right);
    two.sds[0].lun.push(Some("/f1".into()));
    two.runs.iter_mut().for_each(|r| workloads_of(r)[0].hosts = [0, 1].into());
    two
}

#[tokio::test(start_paused = true)]
async fn a_lost_host_ends_the_run_with_what_was_measured() {
    let left = stopped(seconds(0, 1..=3, 10), vec![]);
    let right = Script {
        start: [seconds(0, 1..=2, 5), vec![LinkEvent::Lost("broken pipe".into())]].concat(),
        ..Script::default()
    };
    let played = Stage::new(two_hosts(), vec![vec![left], vec![right]]).play().await;
    let expected = [
        "run 0 rd1 UncontrolledMax",
        "interval 1 warmup: 15 in 1000 ms",
        "warmup done",
        "interval 2: 15 in 1000 ms",
        "lost 1 broken pipe (rd=rd1, in interval 3)",
        "interval 3: 10 in 1000 ms missing 1",
        "partial: rd=rd1 is partial: its last complete interval is 2",
        "end WorkerLost complete=false intervals=3 errors=0",
        "aborted WorkerLost 0: Slave right-0 prematurely terminated. ",
    ];
    assert_eq!(played.order_of_runs(), expected);
    assert_eq!(played.outcome.abort, Some(AbortCause::WorkerLost));
}

/// It came to its last interval as planned, but that lacks a host.
#[tokio::test(start_paused = true)]
async fn a_host_that_is_lost_in_the_last_interval_leaves_the_run_partial() {
    let right = Script {
        start: [seconds(0, 1..=8, 5), vec![LinkEvent::Lost("broken pipe".into())]].concat(),
        ..Script::default()
    };
    let left = crate::testing::whole(9, 10);
    let order = Stage::new(two_hosts(), vec![vec![left], vec![right]]).play().await.order_of_runs();
    let expected = [
        "partial: rd=rd1 is partial: its last complete interval is 8",
        "end WorkerLost complete=false intervals=9 errors=0",
        "aborted WorkerLost 0: Slave right-0 prematurely terminated. ",
    ];
    assert_eq!(order[order.len() - 3..], expected);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_cannot_go_on_is_lost() {
    let start = [seconds(0, 1..=2, 5), vec![from(0, WorkerEvent::Fatal("out of memory".into()))]].concat();
    let stage = Stage::new(plan(vec![run("rd1", Rate::Max, 9)]), vec![vec![Script { start, ..Script::default() }]]);
    let order = stage.play().await.order_of_runs();
    let expected = [
        "lost 0 out of memory (rd=rd1, in interval 3)",
        "partial: rd=rd1 is partial: its last complete interval is 2",
        "end WorkerLost complete=false intervals=2 errors=0",
        "aborted WorkerLost 0: Slave localhost-0 prematurely terminated. ",
    ];
    assert_eq!(order[order.len() - 4..], expected);
}

#[tokio::test(start_paused = true)]
async fn a_worker_lost_between_runs_matters_when_it_has_work_again() {
    let whole = |then: Vec<LinkEvent>| Script {
        start: [seconds(0, 1..=9, 5), vec![drained(0)], then].concat(),
        ..Script::default()
    };
    let mut plan = two_hosts();
    plan.runs[0].pause = 1;
    let played =
        Stage::new(plan, vec![vec![whole(vec![])], vec![whole(vec![LinkEvent::Lost("gone".into())])]]).play().await;
    let order = played.order_of_runs();
    let expected = ["pausing 1", "lost 1 gone", "aborted WorkerLost 0: Slave right-0 prematurely terminated. "];
    assert_eq!(order[order.len() - 3..], expected);
    assert!(order.contains(&"end Elapsed complete=true intervals=9 errors=0".to_owned()));
}

/// Every run goes on without its lost workers.
fn lenient() -> Plan {
    let mut plan = two_hosts();
    plan.settings.fleet.on_loss = OnLoss::Continue;
    plan
}

fn whole(ops: u64) -> Script {
    Script { start: [seconds(0, 1..=4, ops), vec![drained(0)]].concat(), ..Script::default() }
}

#[tokio::test(start_paused = true)]
async fn where_that_is_asked_for_it_goes_on_with_the_rest() {
    let mut plan = lenient();
    plan.runs.iter_mut().for_each(|run| run.elapsed = Some(4));
    let right = Script {
        start: [seconds(0, 1..=2, 5), vec![LinkEvent::Lost("broken pipe".into())]].concat(),
        ..Script::default()
    };
    let played = Stage::new(plan, vec![vec![whole(10), whole(10)], vec![right, whole(5)]]).play().await;
    let expected = [
        "run 0 rd1 UncontrolledMax",
        "interval 1 warmup: 15 in 1000 ms",
        "warmup done",
        "interval 2: 15 in 1000 ms",
        "lost 1 broken pipe (rd=rd1, in interval 3)",
        "workers-missing: on_worker_loss=continue: from interval 3 on the rows of rd=rd1 stand for 1 of 2 workers",
        "interval 3: 10 in 1000 ms missing 1",
        "interval 4: 10 in 1000 ms missing 1",
        "workload done",
        "workers done",
        "end Elapsed complete=true intervals=4 errors=0",
        "workers-missing: on_worker_loss=continue: rd=rd2 stands for 1 of 2 workers: right-0 is lost, and its part is not done by others",
        "run 1 rd2 UncontrolledMax",
        "interval 1 warmup: 10 in 1000 ms missing 1",
        "warmup done",
        "interval 2: 10 in 1000 ms missing 1",
        "interval 3: 10 in 1000 ms missing 1",
        "interval 4: 10 in 1000 ms missing 1",
        "workload done",
        "workers done",
        "end Elapsed complete=true intervals=4 errors=0",
        "aborted WorkerLost 0: on_worker_loss=continue: 1 of 2 workers were lost (right-0); the results since then are partial",
    ];
    assert_eq!(played.order_of_runs(), expected);
    assert_eq!((played.outcome.abort, played.outcome.complete), (Some(AbortCause::WorkerLost), false));
    let of_right = played.calls.iter().filter(|call| call.starts_with("1 prepare")).count();
    assert_eq!(of_right, 1, "nothing is asked of a lost host");
}

#[tokio::test(start_paused = true)]
async fn several_that_are_lost_are_named_together() {
    let mut plan = lenient();
    let mut third = plan.hosts[1].clone();
    third.label = "third".into();
    plan.hosts.push(third);
    plan.sds[0].lun.push(Some("/f1".into()));
    plan.runs.iter_mut().for_each(|r| workloads_of(r)[0].hosts = [0, 1, 2].into());
    let lost = || Script { start: vec![LinkEvent::Lost("broken pipe".into())], ..Script::default() };
    let whole = |ops| Script { start: [seconds(0, 1..=9, ops), vec![drained(0)]].concat(), ..Script::default() };
    let played = Stage::new(plan, vec![vec![whole(9), whole(9)], vec![lost()], vec![lost()]]).play().await;
    let expected = "workers-missing: on_worker_loss=continue: rd=rd2 stands for 1 of 3 workers: right-0, third-0 are lost, and \
                    their parts are not done by others";
    assert!(played.order_of_runs().contains(&expected.to_owned()), "{:?}", played.order_of_runs());
}

#[tokio::test(start_paused = true)]
async fn the_last_worker_ends_it_all_the_same() {
    let lost = |ops| Script {
        start: [seconds(0, 1..=2, ops), vec![LinkEvent::Lost("gone".into())]].concat(),
        ..Script::default()
    };
    let played = Stage::new(lenient(), vec![vec![lost(10)], vec![lost(5)]]).play().await;
    let order = played.order_of_runs();
    let expected = [
        "partial: rd=rd1 is partial: its last complete interval is 2",
        "end WorkerLost complete=false intervals=2 errors=0",
        "aborted WorkerLost 0: Slave right-0 prematurely terminated. ",
    ];
    assert_eq!(order[order.len() - 3..], expected);
}

#[tokio::test(start_paused = true)]
async fn sequential_work_of_a_lost_worker_is_not_waited_for() {
    let mut plan = lenient();
    plan.runs.truncate(1);
    workloads_of(&mut plan.runs[0])[0].seek = Seek::Eof;
    plan.sds.push(crate::testing::sd("sd2", "/f2"));
    plan.sds[1].lun.push(Some("/f2".into()));
    workloads_of(&mut plan.runs[0])[0].sds = [0, 1].into();
    // Streams are dealt over both hosts.
    let ends = |sd: u32| {
        let start = vec![crate::testing::sample(0, 1, 1000, &[(0, sd, 4)]), from(0, WorkerEvent::SequentialDone)];
        stopped(start, vec![])
    };
    let right = Script {
        start: vec![crate::testing::sample(0, 1, 1000, &[(0, 1, 4)]), LinkEvent::Lost("gone".into())],
        ..Script::default()
    };
    let played = Stage::new(plan, vec![vec![ends(0)], vec![right]]).play().await;
    let order = played.order_of_runs();
    let missing = order.iter().find(|event| event.starts_with("workers-missing")).unwrap();
    assert!(missing.ends_with("; what right-0 had still to do in sequence is not done by others"), "{missing}");
    assert!(order.contains(&"sequential done".to_owned()), "{order:?}");
    assert!(order.contains(&"end EndOfData complete=true intervals=1 errors=0".to_owned()), "{order:?}");
}

#[tokio::test(start_paused = true)]
async fn a_worker_for_which_rows_wait_is_named_once() {
    let mut plan = two_hosts();
    plan.runs = vec![run("rd1", Rate::Max, 14)];
    workloads_of(&mut plan.runs[0])[0].hosts = [0, 1].into();
    let mut stage = Stage::new(plan, vec![vec![Script::default()], vec![Script::default()]]);
    let left = [seconds(0, 1..=14, 10), vec![drained(0)]].concat();
    stage.later = left.into_iter().zip(1..).map(|(event, second)| (1_000 * second, 0, event)).collect();
    let right = [seconds(0, 1..=14, 5), vec![drained(0)]].concat();
    stage.later.extend(right.into_iter().map(|event| (15_500, 1, event)));
    let order = stage.play().await.order_of_runs();
    let expected = [
        "run 0 rd1 UncontrolledMax",
        "worker-late: worker right-0 has reported nothing since interval 0, others are at 11; rows wait for it. Its process \
         hangs or gets no processor time",
        "interval 1 warmup: 15 in 1000 ms",
    ];
    assert_eq!(order[..3], expected);
    let back = "worker-late: worker right-0 reports again; what it measured meanwhile counts".to_owned();
    assert_eq!(order.iter().filter(|event| event.starts_with("worker-late")).skip(1).collect::<Vec<_>>(), [&back]);
    assert!(order.contains(&"end Elapsed complete=true intervals=14 errors=0".to_owned()), "{order:?}");
}

/// As [`lenient`], in runs of four intervals.
fn short() -> Plan {
    let mut plan = lenient();
    plan.runs.iter_mut().for_each(|run| run.elapsed = Some(4));
    plan
}

#[tokio::test(start_paused = true)]
async fn what_a_lost_host_still_measures_counts_nowhere() {
    let right = Script {
        start: [seconds(0, 1..=2, 5), vec![LinkEvent::Lost("broken pipe".into())], seconds(0, 3..=4, 5)].concat(),
        ..Script::default()
    };
    let mut stage = Stage::new(short(), vec![vec![whole(10), Script::default()], vec![right]]);
    // In the second run, where it has no work; the left one is slow there.
    let late = [(1, seconds(0, 1..=4, 5)), (0, seconds(0, 1..=4, 10)), (0, vec![drained(0)])];
    let late = late.into_iter().flat_map(|(host, events)| events.into_iter().map(move |event| (500, host, event)));
    stage.later = late.collect();
    let played = stage.play().await;
    let order = played.order_of_runs();
    let rows: Vec<&str> = order.iter().map(String::as_str).filter(|event| event.starts_with("interval ")).collect();
    let expected = [
        "interval 1 warmup: 15 in 1000 ms",
        "interval 2: 15 in 1000 ms",
        "interval 3: 10 in 1000 ms missing 1",
        "interval 4: 10 in 1000 ms missing 1",
        "interval 1 warmup: 10 in 1000 ms missing 1",
        "interval 2: 10 in 1000 ms missing 1",
        "interval 3: 10 in 1000 ms missing 1",
        "interval 4: 10 in 1000 ms missing 1",
    ];
    assert_eq!(rows, expected);
    assert_eq!(played.calls.iter().filter(|call| *call == "1 abandon").count(), 1, "{:?}", played.calls);
}

#[tokio::test(start_paused = true)]
async fn what_belongs_to_another_run_does_not_count() {
    let mut plan = short();
    plan.runs.truncate(1);
    let of_run = |run: u32, events: Vec<LinkEvent>| {
        let mark = |event| match event {
            LinkEvent::Worker { worker, event, .. } => LinkEvent::Worker { worker, run: Some(run), event },
            other => other,
        };
        events.into_iter().map(mark).collect::<Vec<_>>()
    };
    let left = [of_run(3, [seconds(0, 1..=2, 1000), vec![drained(0)]].concat()), seconds(0, 1..=4, 10)].concat();
    let left = Script { start: [left, of_run(0, vec![drained(0)])].concat(), ..Script::default() };
    let played = Stage::new(plan, vec![vec![left], vec![whole(5)]]).play().await;
    let order = played.order_of_runs();
    assert_eq!(order[1..3], ["interval 1 warmup: 15 in 1000 ms", "warmup done"]);
    assert_eq!(order.last().map(String::as_str), Some("end Elapsed complete=true intervals=4 errors=0"));
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_had_done_its_part_is_missing_nowhere_when_it_is_lost() {
    let mut plan = short();
    plan.runs.truncate(1);
    let right = Script {
        start: [seconds(0, 1..=2, 5), vec![drained(0), LinkEvent::Lost("gone".into())]].concat(),
        ..Script::default()
    };
    let mut stage = Stage::new(plan, vec![vec![Script::default()], vec![right]]);
    let left = [seconds(0, 1..=4, 10), vec![drained(0)]].concat();
    stage.later = left.into_iter().map(|event| (500, 0, event)).collect();
    let order = stage.play().await.order_of_runs();
    assert!(order.contains(&"interval 4: 10 in 1000 ms".to_owned()), "{order:?}");
}

#[tokio::test(start_paused = true)]
async fn a_start_is_waited_for_as_long_as_the_lease() {
    let mut plan = short();
    plan.runs.truncate(1);
    let mut stage = Stage::new(plan, vec![vec![whole(10)], vec![whole(5)]]);
    stage.start_takes.insert(1, Duration::from_secs(100));
    let played = stage.play().await;
    assert!(played.outcome.complete, "{:?}", played.order_of_runs());
    assert!(!played.calls.contains(&"1 abandon".to_owned()), "{:?}", played.calls);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_never_starts_is_given_up_behind_the_lease() {
    let mut plan = short();
    plan.runs.truncate(1);
    let mut stage = Stage::new(plan, vec![vec![whole(10)], vec![whole(5)]]);
    stage.start_takes.insert(1, Duration::from_secs(1_000));
    let started = tokio::time::Instant::now();
    let played = stage.play().await;
    assert_eq!(played.outcome.abort, Some(AbortCause::WorkerLost));
    let waited = started.elapsed().as_secs();
    assert!((120..140).contains(&waited), "{waited}");
    let named =
        "slow-host: start: no answer from host=right within 10 seconds; waiting for up to 130 seconds".to_owned();
    assert!(played.order_of_runs().contains(&named), "{:?}", played.order_of_runs());
    assert!(played.calls.contains(&"1 abandon".to_owned()), "{:?}", played.calls);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_does_not_wait_for_a_host_that_never_starts() {
    for (twice, seconds) in [(false, 5..6), (true, 0..2)] {
        let right = stopped(vec![], vec![]);
        let mut stage = Stage::new(short(), vec![vec![stopped(vec![], vec![])], vec![right]]);
        stage.start_takes.insert(1, Duration::from_secs(1_000));
        stage.controls = vec![("run 0", Control::Interrupt(2)); if twice { 2 } else { 1 }];
        let started = tokio::time::Instant::now();
        let played = stage.play().await;
        assert_eq!(played.outcome.interrupted, Some(2), "{:?}", played.order_of_runs());
        assert!(seconds.contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
        // It may have started.
        assert!(played.calls.contains(&"1 stop".to_owned()), "{:?}", played.calls);
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_that_hangs_while_it_opens_its_luns_is_named_and_given_up() {
    let mut stage = Stage::new(two_hosts(), vec![vec![whole(10)], vec![whole(5)]]);
    stage.prepare_takes.insert(1, Duration::from_secs(10_000));
    let started = tokio::time::Instant::now();
    let order = stage.play().await.order();
    assert_eq!(started.elapsed().as_secs(), 60);
    let expected = [
        "slow-host: prepare: no answer from host=right within 10 seconds; waiting for up to 60 seconds",
        "aborted WorkerLost 0: host=right: prepare: no answer from the agent: nothing came within 60 seconds; it was to open \
         sd=sd1 (lun=/f1)",
    ];
    assert_eq!(order[order.len() - 2..], expected);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_is_away_may_take_its_lease_to_open_its_luns() {
    let mut stage = Stage::new(short(), vec![vec![whole(10), whole(10)], vec![whole(5), whole(5)]]);
    stage.prepare_takes.insert(1, Duration::from_secs(100));
    let away = LinkEvent::Away { why: "has closed its stream".into(), lease: Duration::from_secs(120) };
    let back = || LinkEvent::Back { away: Duration::from_secs(60) };
    stage.later = vec![(20_000, 1, away.clone()), (80_000, 1, back()), (120_000, 1, away), (180_000, 1, back())];
    let played = stage.play().await;
    assert!(played.outcome.complete, "{:?}", played.order());
}
