//! Signals, and I/O that does not return.

use std::time::Duration;

use brunt_event::AbortCause;
use brunt_parm::ast::DataErrors;
use brunt_plan::plan::Rate;
use brunt_plan::work::WorkerEvent;

use crate::Control;
use crate::execute_tests::lost::two_hosts;
use crate::testing::{Script, Stage, drained, failure, from, plan, run, sample, seconds, stopped, whole};

fn stage(script: Script) -> Stage {
    Stage::new(plan(vec![run("rd1", Rate::Fixed(100.0), 30), run("rd2", Rate::Fixed(1.0), 2)]), vec![vec![script]])
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_ends_the_run_in_order() {
    let mut stage = stage(stopped(seconds(0, 1..=2, 100), vec![sample(0, 3, 300, &[(0, 0, 30)])]));
    stage.controls = vec![("interval 2", Control::Interrupt(2))];
    let played = stage.play().await;
    let expected = [
        "run 0 rd1 100",
        "interval 1 warmup: 100 in 1000 ms",
        "warmup done",
        "interval 2: 100 in 1000 ms",
        "end Signal complete=false intervals=2 errors=0",
        "interrupted 2",
    ];
    assert_eq!(played.order_of_runs(), expected);
    assert_eq!((played.outcome.interrupted, played.outcome.abort, played.outcome.complete), (Some(2), None, false));
    assert_eq!(played.calls.last().map(String::as_str), Some("0 shutdown"));
}

#[tokio::test(start_paused = true)]
async fn a_second_interrupt_leaves_at_once() {
    let mut stage = stage(Script { start: seconds(0, 1..=2, 100), ..Script::default() });
    stage.controls = vec![("interval 2", Control::Interrupt(15)), ("draining 1 for 3", Control::Interrupt(15))];
    let order = stage.play().await.order_of_runs();
    let expected = [
        "interval 2: 100 in 1000 ms",
        "draining 1 for 1",
        "draining 1 for 2",
        "draining 1 for 3",
        "end Signal complete=false intervals=2 errors=0",
        "interrupted 15",
    ];
    assert_eq!(order[3..], expected);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_does_not_answer_keeps_nobody_from_leaving() {
    let start = [seconds(0, 1..=2, 100), vec![failure(0, 0)]].concat();
    let mut stage = stage(Script { start, ..Script::default() });
    stage.plan.settings.data_errors = DataErrors::Limit { count: 1, seconds: None };
    stage.deaf = vec![0];
    stage.controls = vec![("failed", Control::Interrupt(2))];
    let started = tokio::time::Instant::now();
    let played = stage.play().await;
    let order = played.order_of_runs();
    let expected = [
        "failed /f1 0",
        "end Errors complete=false intervals=2 errors=1",
        "aborted IoErrorLimit 1: 'data_errors=1' requested. Abort rd=rd1 after last error.",
    ];
    assert_eq!(order[order.len() - 3..], expected);
    assert!(started.elapsed().as_secs() < 2);
    assert_eq!(played.calls.last().map(String::as_str), Some("0 shutdown"));
}

#[tokio::test(start_paused = true)]
async fn one_that_does_not_stop_is_named_and_holds_up_nobody_elses_messages() {
    let left = Script { start: seconds(0, 1..=3, 10), ..Script::default() };
    let right = Script { start: seconds(0, 1..=2, 5), ..Script::default() };
    let mut stage = Stage::new(two_hosts(), vec![vec![left], vec![right]]);
    stage.deaf = vec![1];
    stage.controls = vec![("interval 2", Control::Interrupt(2))];
    let gone = from(0, WorkerEvent::Fatal("it was killed".into()));
    stage.later =
        vec![(2_500, 0, from(0, WorkerEvent::Log("on its way out".into()))), (3_500, 0, drained(0)), (10_500, 1, gone)];
    let started = tokio::time::Instant::now();
    let played = stage.play().await;
    let order = played.order_of_runs();
    let expected = [
        "interval 2: 15 in 1000 ms",
        "draining 2 for 1",
        "draining 2 for 2",
        "log 0 on its way out",
        "draining 2 for 3",
        "draining 1 for 4",
        "draining 1 for 5",
        "end-waits: right-0 does not stop; waiting up to 240 seconds, Ctrl-C again leaves now",
        "draining 1 for 6",
    ];
    assert_eq!(order[3..3 + expected.len()], expected);
    assert!(order.contains(&"lost 1 it was killed (rd=rd1, in interval 3)".to_owned()), "{order:?}");
    assert_eq!(played.outcome.interrupted, Some(2));
    assert!(started.elapsed() < Duration::from_secs(11), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn the_outside_can_abort() {
    let mut stage = stage(stopped(seconds(0, 1..=2, 100), vec![]));
    let text = "output directory: no space left on device".to_owned();
    stage.controls = vec![("interval 2", Control::Abort { cause: AbortCause::Output, text })];
    let played = stage.play().await;
    assert_eq!(
        played.order().last().map(String::as_str),
        Some("aborted Output 0: output directory: no space left on device")
    );
    assert_eq!(played.outcome.abort, Some(AbortCause::Output));
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_during_set_up_or_a_pause_counts() {
    let mut first = stage(whole(30, 1));
    first.controls = vec![("planned", Control::Interrupt(2))];
    let played = first.play().await;
    assert_eq!(played.order(), ["planned 2 runs", "worker 0 starting", "interrupted 2"]);

    let mut paused = stage(whole(30, 1));
    paused.plan.runs[0].pause = 1000;
    paused.controls = vec![("pausing", Control::Interrupt(2))];
    let started = tokio::time::Instant::now();
    let order = paused.play().await.order();
    assert_eq!(order[order.len() - 2..], ["pausing 1000", "interrupted 2"]);
    assert_eq!(started.elapsed().as_secs(), 0);
}

#[tokio::test(start_paused = true)]
async fn io_that_never_returns_is_given_up_and_what_was_measured_is_reported() {
    let out = from(0, WorkerEvent::Outstanding { count: 3, oldest_ns: 7_900_000_000, lun: Some("/f1".into()) });
    let mut stage = stage(Script { start: [seconds(0, 1..=30, 100), vec![out]].concat(), ..Script::default() });
    stage.plan.settings.misc = vec![("drain".into(), "5".into())];
    let played = stage.play().await;
    let order = played.order_of_runs();
    let expected = [
        "interval 30: 100 in 1000 ms",
        "workload done",
        "draining 3 for 1",
        "draining 3 for 2",
        "draining 3 for 3",
        "draining 3 for 4",
        "draining 3 for 5",
        "end Stuck complete=true intervals=30 errors=0",
        "aborted Stuck 0: outstanding I/O never returned: 3 I/Os of localhost-0 (the oldest to lun /f1, 7 seconds old); given up 5 seconds after the end of rd=rd1",
    ];
    assert_eq!(order[order.len() - expected.len()..], expected);
    assert_eq!(played.outcome.abort, Some(AbortCause::Stuck));
}
