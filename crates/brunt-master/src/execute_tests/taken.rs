//! Masters that are killed: another one goes on behind any event as if nothing had been.

use brunt_event::Event;
use brunt_parm::ast::{Hook, HookOutput, HookTarget};
use brunt_plan::plan::{Plan, Rate};
use brunt_stats::Times;

use crate::execute_tests::lost::two_hosts;
use crate::link::LinkEvent;
use crate::testing::{Script, Stage, drained, failure, plan, run, sample, seconds, short, whole};

fn hook(command: &str, target: Option<HookTarget>) -> Hook {
    Hook { commands: vec![command.into()], output: HookOutput::Log, target }
}

/// A curve, whose point hangs on its maximum, with hooks all around; and what its agent does.
fn curve() -> (Plan, Vec<Script>) {
    let mut plan =
        plan(vec![run("crv", Rate::CurveMax, 4), run("crv_(50%)", Rate::CurvePoint { percent: 50.0, of_run: 0 }, 3)]);
    plan.settings.startcmd = vec![hook("true begin", None)];
    plan.settings.endcmd = vec![hook("true end", None)];
    for r in &mut plan.runs {
        r.startcmd = vec![hook("before", None), hook("true here", Some(HookTarget::Master))];
        r.endcmd = vec![hook("after", None)];
    }
    (plan, vec![whole(4, 730), whole(3, 365)])
}

/// Whether behind these events somebody can go on.
fn can_go_on(told: &[Event]) -> bool {
    let is = |wanted: fn(&Event) -> bool| told.iter().any(wanted);
    is(|e| matches!(e, Event::RunStarted(_))) && !is(|e| matches!(e, Event::Aborted { .. }))
}

/// The scripts of the runs that are not over, from the one that goes on: a gap where none does.
fn left(told: &[Event], scripts: &[Script]) -> Vec<Script> {
    let count = |wanted: fn(&Event) -> bool| told.iter().filter(|e| wanted(e)).count();
    let started = count(|e| matches!(e, Event::RunStarted(_)));
    let ended = count(|e| matches!(e, Event::RunEnded(_)));
    let gap = (started == ended).then(Script::default);
    gap.into_iter().chain(scripts.iter().skip(ended).cloned()).collect()
}

fn ends(events: &[Event]) -> Vec<(Times, Vec<Times>)> {
    let ended = |event: &Event| match event {
        Event::RunEnded(ended) => Some((ended.times.clone(), ended.sd_times.clone())),
        _ => None,
    };
    events.iter().filter_map(ended).collect()
}

fn order(told: &[Event], new: &[Event]) -> Vec<String> {
    told.iter().chain(new).map(short).collect()
}

// In real time: a command here is a process.
#[tokio::test]
async fn behind_every_event_another_master_goes_on_as_the_first_would_have() {
    let (plan, scripts) = curve();
    let whole = Stage::new(plan, vec![scripts.clone()]).play().await;
    assert!(whole.outcome.complete);
    let mut cuts = 0;
    for cut in 1..=whole.events.len() {
        let told = &whole.events[..cut];
        if !can_go_on(told) {
            continue;
        }
        cuts += 1;
        let rest = Stage::new(curve().0, vec![left(told, &scripts)]).take_over(told).await;
        assert_eq!(order(told, &rest.events), whole.order(), "behind {:?}", told.last().map(short));
        assert_eq!(ends(&[told, &rest.events].concat()), ends(&whole.events));
        assert_eq!((rest.outcome.complete, rest.outcome.runs), (true, whole.outcome.runs));
        let prepared = rest.calls.iter().filter(|call| call.contains("prepare")).count();
        let started = told.iter().filter(|e| matches!(e, Event::RunStarted(_))).count();
        assert_eq!(prepared, 2 - started, "what was handed out is not handed out again");
    }
    assert!(cuts > 15, "{cuts}");
}

/// Agents have no room for all: what the last master told gives the sums.
#[tokio::test(start_paused = true)]
async fn what_agents_have_no_more_comes_from_what_was_told() {
    let samples = |from: u32| (from..=6).map(|n| sample(0, n, 1000, &[(0, 0, u64::from(n) * 10)]));
    let script = |from| Script { start: samples(from).chain([drained(0)]).collect(), ..Script::default() };
    let plan = || plan(vec![run("rd1", Rate::Max, 6)]);
    let whole = Stage::new(plan(), vec![vec![script(1)]]).play().await;
    let told = whole.events.iter().take_while(|e| !short(e).starts_with("interval 5")).cloned().collect::<Vec<_>>();
    for from in 1..=5 {
        let rest = Stage::new(plan(), vec![vec![script(from)]]).take_over(&told).await;
        let note = |line: &String| line.starts_with("taken-over: ");
        let mut seen = order(&told, &rest.events);
        assert_eq!(seen.iter().filter(|line| note(line)).count(), usize::from(from > 1), "{seen:?}");
        seen.retain(|line| !note(line));
        assert_eq!(seen, whole.order(), "from {from}");
        // All times of all I/Os are in the events; those of single SDs come from the agents alone.
        let (ends, expected) = (ends(&rest.events), ends(&whole.events));
        assert_eq!(ends[0].0, expected[0].0, "from {from}");
        assert_eq!(ends[0].1 == expected[0].1, from <= 2, "from {from}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_that_is_gone_ends_the_run_with_all_that_was_told() {
    let mut plan = two_hosts();
    plan.runs.truncate(1);
    let host = |ops| Script { start: [seconds(0, 1..=9, ops), vec![drained(0)]].concat(), ..Script::default() };
    let whole = Stage::new(plan.clone(), vec![vec![host(10)], vec![host(5)]]).play().await;
    let told = whole.events.iter().take_while(|e| !short(e).starts_with("interval 6")).cloned().collect::<Vec<_>>();
    let gone = Script { refuse: Some("its session is over".into()), ..Script::default() };
    let left = Script { start: seconds(0, 1..=7, 10), stop: vec![drained(0)], refuse: None };
    for (left, right) in [(left, gone.clone()), (gone.clone(), gone)] {
        let rest = Stage::new(plan.clone(), vec![vec![left], vec![right]]).take_over(&told).await;
        let seen = order(&told, &rest.events);
        let intervals: Vec<&String> = seen.iter().filter(|line| line.starts_with("interval ")).collect();
        let expected = whole.order();
        let expected: Vec<&String> = expected.iter().filter(|line| line.starts_with("interval ")).take(5).collect();
        assert_eq!(intervals, expected);
        assert!(
            seen.iter().any(|line| line.starts_with("lost 1 ") && line.contains("its session is over")),
            "{seen:?}"
        );
        let end = "partial: rd=rd1 is partial: its last complete interval is 5";
        assert!(seen.iter().any(|line| line == end), "{seen:?}");
        assert!(seen.iter().any(|line| line == "end WorkerLost complete=false intervals=5 errors=0"), "{seen:?}");
        assert_eq!(rest.outcome.abort, Some(brunt_event::AbortCause::WorkerLost));
    }
}

/// Failures are told one by one, and count once.
#[tokio::test(start_paused = true)]
async fn failures_and_logs_that_were_told_are_not_told_again() {
    let log = |text: &str| LinkEvent::Stderr { worker: 0, line: text.to_owned() };
    let middle = vec![failure(0, 512), failure(0, 1024), log("a"), log("a")];
    let start = [seconds(0, 1..=2, 5), middle, seconds(0, 3..=4, 5), vec![failure(0, 512), drained(0)]].concat();
    let script = Script { start, ..Script::default() };
    let plan = || plan(vec![run("rd1", Rate::Max, 4)]);
    let whole = Stage::new(plan(), vec![vec![script.clone()]]).play().await;
    for cut in 1..whole.events.len() {
        let told = &whole.events[..cut];
        if !can_go_on(told) || told.iter().any(|e| matches!(e, Event::RunEnded(_))) {
            continue;
        }
        let rest = Stage::new(plan(), vec![vec![script.clone()]]).take_over(told).await;
        assert_eq!(order(told, &rest.events), whole.order(), "behind {:?}", told.last().map(short));
    }
}

/// Ctrl-C, and then the master was killed before it could report.
#[tokio::test(start_paused = true)]
async fn a_run_that_was_told_to_stop_is_not_taken_for_a_complete_one() {
    let script = |last| Script { start: [seconds(0, 1..=last, 5), vec![drained(0)]].concat(), ..Script::default() };
    let plan = || plan(vec![run("rd1", Rate::Max, 9), run("rd2", Rate::Max, 9)]);
    let whole = Stage::new(plan(), vec![vec![script(9), script(9)]]).play().await;
    let told = whole.events.iter().take_while(|e| !short(e).starts_with("interval 3")).cloned().collect::<Vec<_>>();
    let rest = Stage::new(plan(), vec![vec![script(4)]]).take_over(&told).await;
    let order = rest.order();
    let expected =
        ["interval 3: 5 in 1000 ms", "interval 4: 5 in 1000 ms", "end Signal complete=false intervals=4 errors=0"];
    assert_eq!(order[..3], expected);
    assert_eq!((rest.outcome.interrupted, rest.outcome.runs), (Some(2), 1));
}
