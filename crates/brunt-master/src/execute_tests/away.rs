//! Hosts that cannot be reached for a time.

use std::time::Duration;

use brunt_event::{AbortCause, Event};

use crate::Control;
use crate::execute_tests::lost::two_hosts;
use crate::link::LinkEvent;
use crate::testing::{Script, Stage, drained, seconds, stopped};

fn away() -> LinkEvent {
    LinkEvent::Away { why: "has closed its stream".into(), lease: Duration::from_secs(120) }
}

fn back() -> LinkEvent {
    LinkEvent::Back { away: Duration::from_millis(39_500) }
}

fn whole(ops: u64) -> Script {
    Script { start: [seconds(0, 1..=9, ops), vec![drained(0)]].concat(), ..Script::default() }
}

/// Both hosts in one run; the right one goes away behind its second interval.
fn stage(left: Script, right: Vec<LinkEvent>) -> Stage {
    let mut plan = two_hosts();
    plan.runs.truncate(1);
    Stage::new(plan, vec![vec![left], vec![Script { start: right, stop: vec![drained(0)], refuse: None }]])
}

#[tokio::test(start_paused = true)]
async fn rows_wait_for_a_host_that_is_away_and_nothing_is_missing() {
    let mut stage = stage(whole(10), [seconds(0, 1..=2, 5), vec![away()]].concat());
    let rest = [vec![back()], seconds(0, 3..=9, 5), vec![drained(0)]].concat();
    // Long behind the planned end: what is out there cannot be told then, and is not.
    stage.later = rest.into_iter().zip(40_000..).map(|(event, ms)| (ms, 1, event)).collect();
    let played = stage.play().await;
    let mut expected = vec![
        "run 0 rd1 UncontrolledMax".to_owned(),
        "interval 1 warmup: 15 in 1000 ms".to_owned(),
        "warmup done".to_owned(),
        "interval 2: 15 in 1000 ms".to_owned(),
        "host-away: host=right is away: it has closed its stream; its work goes on there, for 120 seconds at most"
            .to_owned(),
        "host-back: host=right is back after 39.5 seconds; what it measured meanwhile follows".to_owned(),
    ];
    expected.extend((3..=9).map(|n| format!("interval {n}: 15 in 1000 ms")));
    let end = ["workload done", "workers done", "end Elapsed complete=true intervals=9 errors=0"];
    expected.extend(end.map(str::to_owned));
    assert_eq!(played.order_of_runs(), expected);
    assert!(played.outcome.complete);
}

#[tokio::test(start_paused = true)]
async fn hosts_that_are_back_one_after_the_other_are_not_late() {
    let mut plan = two_hosts();
    plan.runs.truncate(1);
    let gone = || Script { start: [seconds(0, 1..=2, 5), vec![away()]].concat(), ..Script::default() };
    let mut stage = Stage::new(plan, vec![vec![gone()], vec![gone()]]);
    let kept = || [seconds(0, 3..=30, 5), vec![drained(0)]].concat();
    stage.later = vec![(30_000, 0, back()), (30_000, 1, back())];
    for (host, ms) in [(0, 30_000), (1, 31_000)] {
        stage.later.extend(kept().into_iter().zip(ms..).map(|(event, ms)| (ms, host, event)));
    }
    let played = stage.play().await;
    let late: Vec<String> =
        played.order_of_runs().into_iter().filter(|event| event.starts_with("worker-late")).collect();
    assert!(late.is_empty(), "{late:?}");
    assert!(played.outcome.complete);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_is_away_is_told_to_stop_when_it_is_back() {
    let mut right = seconds(0, 1..=2, 5);
    right.insert(1, away());
    let mut stage = stage(stopped(seconds(0, 1..=2, 10), vec![]), right);
    stage.controls = vec![("interval 2", Control::Interrupt(2))];
    stage.later = vec![(20_000, 1, back())];
    let started = tokio::time::Instant::now();
    let played = stage.play().await;
    let stops: Vec<&String> = played.calls.iter().filter(|call| call.contains("stop")).collect();
    assert_eq!(stops, ["0 stop", "1 stop"]);
    assert!(started.elapsed() >= Duration::from_secs(20), "it is waited for");
    assert_eq!(played.order().last().map(String::as_str), Some("interrupted 2"));
    assert_eq!(played.outcome.interrupted, Some(2));
}

#[tokio::test(start_paused = true)]
async fn a_host_that_goes_away_behind_an_interrupt_is_named_once() {
    let mut stage = stage(stopped(seconds(0, 1..=2, 10), vec![]), seconds(0, 1..=2, 5));
    stage.deaf = vec![1];
    stage.controls = vec![("interval 2", Control::Interrupt(2))];
    stage.later =
        vec![(6_000, 1, away()), (8_000, 1, back()), (9_000, 1, away()), (20_000, 1, LinkEvent::Lost("gone".into()))];
    let order = stage.play().await.order_of_runs();
    let named =
        "end-waits: the end waits for host=right, until it is back or its lease is over; Ctrl-C then leaves at once";
    assert_eq!(order.iter().filter(|event| *event == named).count(), 1, "{order:?}");
    assert_eq!(order.last().map(String::as_str), Some("interrupted 2"));
}

#[tokio::test(start_paused = true)]
async fn a_second_interrupt_does_not_wait_for_it() {
    let mut right = seconds(0, 1..=2, 5);
    right.insert(1, away());
    let mut stage = stage(stopped(seconds(0, 1..=2, 10), vec![]), right);
    stage.controls = vec![("interval 2", Control::Interrupt(2)), ("interval 2", Control::Interrupt(2))];
    let started = tokio::time::Instant::now();
    let played = stage.play().await;
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    assert_eq!(played.outcome.interrupted, Some(2));
}

#[tokio::test(start_paused = true)]
async fn one_that_stays_away_is_lost() {
    let mut stage = stage(stopped(seconds(0, 1..=4, 10), vec![]), [seconds(0, 1..=2, 5), vec![away()]].concat());
    stage.later = vec![(30_000, 1, LinkEvent::Lost("away for too long".into()))];
    let played = stage.play().await;
    let order = played.order_of_runs();
    let expected = [
        "lost 1 away for too long (rd=rd1, in interval 3)",
        "interval 3: 10 in 1000 ms missing 1",
        "interval 4: 10 in 1000 ms missing 1",
        "partial: rd=rd1 is partial: its last complete interval is 2",
        "end WorkerLost complete=false intervals=4 errors=0",
        "aborted WorkerLost 0: Slave right-0 prematurely terminated. ",
    ];
    assert_eq!(order[order.len() - 6..], expected);
    assert_eq!(played.outcome.abort, Some(AbortCause::WorkerLost));
}

#[tokio::test(start_paused = true)]
async fn clocks_and_lost_messages_are_told_and_rows_that_lack_a_part_say_so() {
    let mut right = seconds(0, 1..=9, 5);
    right.splice(2..4, [LinkEvent::Gap { messages: 2 }, LinkEvent::Clock { ahead_ms: -65_000 }]);
    right.push(drained(0));
    let played = stage(whole(10), right).play().await;
    let order = played.order_of_runs();
    let missing: Vec<&String> = order.iter().filter(|event| event.contains("missing")).collect();
    assert_eq!(missing, ["interval 3: 10 in 1000 ms missing 1", "interval 4: 10 in 1000 ms missing 1"]);
    assert!(
        order.iter().any(|event| event.starts_with("messages-lost: host=right: 2 messages were lost")),
        "{order:?}"
    );
    assert!(order.iter().any(|event| event.starts_with("clock: host=right: its clock is 65.0 seconds behind ours")));
    let skew = played.events.iter().find_map(|event| match event {
        Event::RunEnded(ended) => Some(ended.start_skew_ns.clone()),
        _ => None,
    });
    assert_eq!(skew, Some(vec![Some(7_000), Some(7_000)]));
}
