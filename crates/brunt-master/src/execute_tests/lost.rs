//! Workers and hosts that are lost.

use brunt_event::AbortCause;
use brunt_plan::plan::{Plan, Rate};
use brunt_plan::work::WorkerEvent;

use crate::link::LinkEvent;
use crate::testing::{Script, Stage, drained, from, plan, run, seconds, stopped, workloads_of};

fn two_hosts() -> Plan {
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
        "lost 1 broken pipe",
        "interval 3: 10 in 1000 ms missing 1",
        "end WorkerLost complete=false intervals=3 errors=0",
        "aborted WorkerLost 0: Slave right-0 prematurely terminated. ",
    ];
    assert_eq!(played.order_of_runs(), expected);
    assert_eq!(played.outcome.abort, Some(AbortCause::WorkerLost));
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_cannot_go_on_is_lost() {
    let start = [seconds(0, 1..=2, 5), vec![from(0, WorkerEvent::Fatal("out of memory".into()))]].concat();
    let stage = Stage::new(plan(vec![run("rd1", Rate::Max, 9)]), vec![vec![Script { start, ..Script::default() }]]);
    let order = stage.play().await.order_of_runs();
    let expected = [
        "lost 0 out of memory",
        "end WorkerLost complete=false intervals=2 errors=0",
        "aborted WorkerLost 0: Slave localhost-0 prematurely terminated. ",
    ];
    assert_eq!(order[order.len() - 3..], expected);
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
