//! Passes, skew, timeout=, several workers, simulation.

use brunt_event::{AbortCause, Event, Interval, RateText};
use brunt_parm::ast::{Repeat, ReportOption};
use brunt_plan::plan::{Plan, Rate};
use brunt_plan::work::WorkerEvent;

use crate::testing::{
    Script, Stage, drained, from, plan, run, sample, sd, seconds, stopped, whole, workload, workloads_of,
};
use crate::{planned, simulate};

#[tokio::test(start_paused = true)]
async fn loop_repeats_all_runs() {
    let mut plan = plan(vec![run("a", Rate::Max, 2), run("b", Rate::PercentOfPrevious(50.0), 2)]);
    plan.settings.repeat = Some(Repeat::Passes(2));
    let played = Stage::new(plan, vec![vec![whole(2, 100); 4]]).play().await;
    let order: Vec<_> = played.order().into_iter().filter(|e| e.starts_with("loop") || e.starts_with("run ")).collect();
    let expected =
        ["loop 1", "run 0 a UncontrolledMax", "run 1 b 50", "loop 2", "run 2 a UncontrolledMax", "run 3 b 50"];
    assert_eq!(order, expected);
}

#[tokio::test(start_paused = true)]
async fn loop_for_a_time_ends_with_the_pass_in_which_it_is_over() {
    let mut plan = plan(vec![run("a", Rate::Max, 2), run("b", Rate::Max, 2)]);
    plan.runs.iter_mut().for_each(|r| r.pause = 10);
    plan.settings.repeat = Some(Repeat::Seconds(25));
    let played = Stage::new(plan, vec![vec![whole(2, 100); 10]]).play().await;
    let passes = played.order().into_iter().filter(|e| e.starts_with("loop")).count();
    assert_eq!(passes, 2, "the first pass takes 10 seconds, the second ends after 30");
}

#[tokio::test(start_paused = true)]
async fn what_hosts_warn_of_names_them_once_each() {
    let mut plan = crate::execute_tests::lost::two_hosts();
    plan.runs.truncate(1);
    let warns = |text: &str| from(0, WorkerEvent::Warning(text.to_owned()));
    let script = |label: &str| {
        let warned = vec![warns("no room"), warns("no room"), warns(&format!("host {label} needs more"))];
        let start = [warned, seconds(0, 1..=9, 5), vec![drained(0)]].concat();
        Script { start, ..Script::default() }
    };
    let played = Stage::new(plan, vec![vec![script("localhost")], vec![script("right")]]).play().await;
    let mut warned: Vec<_> = played.order().into_iter().filter(|event| event.starts_with("host: ")).collect();
    warned.sort();
    let expected = ["host: host localhost needs more", "host: host right needs more"];
    assert_eq!(warned, [&expected[..], &["host: host=localhost: no room", "host: host=right: no room"]].concat());
}

fn skewed(limit: f64) -> Plan {
    let mut plan = plan(vec![run("mix", Rate::Fixed(100.0), 2)]);
    plan.wds.push("wd2".into());
    plan.runs[0].workloads = vec![workload(0, 0), workload(1, 0)].into();
    workloads_of(&mut plan.runs[0]).iter_mut().zip([80.0, 20.0]).for_each(|(w, s)| w.skew = Some(s));
    plan.settings.abort_failed_skew = Some(limit);
    plan
}

#[tokio::test(start_paused = true)]
async fn abort_failed_skew_compares_what_was_asked_with_what_was_seen() {
    for (limit, abort) in [(4.9, Some(AbortCause::Skew)), (5.1, None)] {
        let ops = [(0, 0, 75), (1, 0, 25)];
        let start = vec![sample(0, 1, 1000, &[(0, 0, 1)]), sample(0, 2, 1000, &ops), drained(0)];
        let played = Stage::new(skewed(limit), vec![vec![Script { start, ..Script::default() }]]).play().await;
        assert_eq!(played.outcome.abort, abort, "limit {limit}");
        if abort.is_some() {
            let text = "aborted Skew 0: 'abort_failed_skew=4.9' parameter used. See file skew.html for more info.";
            assert_eq!(played.order().last().map(String::as_str), Some(text));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_workload_that_priorities_starve_is_named() {
    let mut plan = skewed(100.0);
    workloads_of(&mut plan.runs[0]).iter_mut().zip([1, 2]).for_each(|(w, p)| w.priority = Some(p));
    let played = Stage::new(plan, vec![vec![whole(2, 10)]]).play().await;
    let note = "starved: rd=mix: wd=wd2 did no I/O: workloads of higher priority took all";
    assert!(played.order().contains(&note.to_owned()));
}

#[tokio::test(start_paused = true)]
async fn timeout_names_the_idle_sd() {
    let mut plan = plan(vec![run("rd1", Rate::Fixed(1.0), 5)]);
    plan.settings.timeout = vec!["2".into(), "abort".into()];
    let start = [seconds(0, 1..=1, 5), seconds(0, 2..=5, 0)].concat();
    let played = Stage::new(plan, vec![vec![stopped(start, vec![])]]).play().await;
    let order = played.order_of_runs();
    let expected = [
        "interval 3: 0 in 1000 ms",
        "timeout: timeout=: no I/O of sd=sd1 was completed on localhost-0 for 2 seconds",
        "end Errors complete=false intervals=3 errors=0",
    ];
    assert_eq!(order[4..7], expected);
    assert!(order[7].starts_with(
        "timeout-report: timeout=: the longest time in which no I/O of sd=sd1 was completed was 2 seconds"
    ));
    assert_eq!(played.outcome.abort, Some(AbortCause::Timeout));
}

fn intervals(events: &[Event]) -> Vec<&Interval> {
    events.iter().filter_map(|e| if let Event::Interval(i) = e { Some(&**i) } else { None }).collect()
}

#[tokio::test(start_paused = true)]
async fn workers_of_several_hosts_are_merged_and_unused_sds_have_no_number() {
    let mut two = plan(vec![run("rd1", Rate::Max, 2)]);
    two.hosts[0].label = "left".into();
    two.hosts[0].workers = 2;
    let mut right = two.hosts[0].clone();
    (right.label, right.workers) = ("right".into(), 1);
    two.hosts.push(right);
    two.sds = vec![sd("unused", "/f0"), sd("sd2", "/f2"), sd("sd3", "/f3")];
    two.sds.iter_mut().for_each(|sd| sd.lun.push(Some("/f".into())));
    workloads_of(&mut two.runs[0])[0].sds = [1, 2].into();
    workloads_of(&mut two.runs[0])[0].hosts = [0, 1].into();
    two.settings.report = vec![ReportOption::HostDetail, ReportOption::SlaveDetail];
    let of = |w, n, a, b| sample(w, n, 1000, &[(0, 1, a), (0, 2, b)]);
    let left = vec![of(0, 1, 1, 2), of(0, 2, 1, 2), of(1, 1, 10, 20), drained(0), of(1, 2, 10, 20), drained(1)];
    let right = vec![of(0, 1, 100, 200), of(0, 2, 100, 200), drained(0)];
    let script = |start| vec![Script { start, ..Script::default() }];
    let played = Stage::new(two, vec![script(left), script(right)]).play().await;
    let last = *intervals(&played.events).last().unwrap();
    let ops = |cells: &[brunt_stats::Cell]| cells.iter().map(|c| c.read.ops).collect::<Vec<_>>();
    assert_eq!(ops(&last.workers), [3, 30, 300]);
    assert_eq!(ops(&last.sds), [111, 222]);
    assert_eq!(last.hosts.iter().map(|h| h.cell.read.ops).collect::<Vec<_>>(), [33, 300]);
    let detail: Vec<_> = last.host_sds.iter().map(|(h, s, c)| (*h, *s, c.read.ops)).collect();
    assert_eq!(detail, [(0, 0, 11), (0, 1, 22), (1, 0, 100), (1, 1, 200)]);
    assert_eq!(last.worker_sds.len(), 6);
    let started = played.events.iter().find_map(|e| if let Event::RunStarted(r) = e { Some(r) } else { None }).unwrap();
    assert_eq!((&started.sds[..], &started.workers[..]), (&[0, 1][..], &[0, 1, 2][..]));
    let Some(Event::Planned(planned)) = played.events.first() else { panic!("planned comes first") };
    assert_eq!(planned.sds.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["sd2", "sd3"]);
    assert_eq!(planned.workers.iter().map(|w| w.label.as_str()).collect::<Vec<_>>(), ["left-0", "left-1", "right-0"]);
}

#[tokio::test(start_paused = true)]
async fn warmup_comes_before_what_counts() {
    let mut plan = plan(vec![run("rd1", Rate::Max, 4)]);
    (plan.runs[0].warmup, plan.runs[0].interval) = (4, 2);
    let start = (1..=4).map(|n| sample(0, n, 2000, &[(0, 0, u64::from(n))])).chain([drained(0)]).collect();
    let played = Stage::new(plan, vec![vec![Script { start, ..Script::default() }]]).play().await;
    let expected = [
        "run 0 rd1 UncontrolledMax",
        "interval 1 warmup: 1 in 2000 ms",
        "interval 2 warmup: 2 in 2000 ms",
        "warmup done",
        "interval 3: 3 in 2000 ms",
        "interval 4: 4 in 2000 ms",
        "workload done",
        "workers done",
        "end Elapsed complete=true intervals=4 errors=0",
    ];
    assert_eq!(played.order_of_runs(), expected);
    let Some(Event::RunEnded(end)) = played.events.last() else { panic!("the run ended") };
    assert_eq!(end.sd_times[0].read.service.count(), 7, "counted intervals only");
    assert_eq!(end.wd_times[0].read.service.count(), 7);
}

fn listed() -> Plan {
    let mut runs = vec![
        run("list", Rate::Fixed(100.0), 10),
        run("list", Rate::Max, 10),
        run("list", Rate::PercentOfPrevious(50.0), 10),
    ];
    runs.iter_mut().for_each(|r| (r.rate_is_loop, r.warmup) = (true, 5));
    runs.push(run("crv", Rate::CurveMax, 30));
    runs.push(run("crv_(10%)", Rate::CurvePoint { percent: 10.0, of_run: 3 }, 30));
    runs.push(run("half", Rate::PercentOfPrevious(50.0), 30));
    plan(runs)
}

#[test]
fn a_simulation_shows_the_rates_of_the_reference_or_the_true_ones() {
    let rates = |as_vdbench| planned(&listed(), as_vdbench).runs.into_iter().map(|r| r.rate).collect::<Vec<_>>();
    use RateText::{Fixed, PercentOfMax, PercentOfPrevious, UncontrolledCurve, UncontrolledMax};
    let reference = [Fixed(100.0), Fixed(100.0), Fixed(100.0), UncontrolledCurve, Fixed(1000.0), Fixed(5000.0)];
    assert_eq!(rates(true), reference);
    let ours = [
        Fixed(100.0),
        UncontrolledMax,
        PercentOfPrevious(50.0),
        UncontrolledCurve,
        PercentOfMax(10.0),
        PercentOfPrevious(50.0),
    ];
    assert_eq!(rates(false), ours);
}

#[test]
fn a_simulation_counts_runs_and_seconds() {
    let mut events = Vec::new();
    simulate(&listed(), true, &mut |e| events.push(e));
    assert_eq!(events.len(), 8);
    assert_eq!(events.last(), Some(&Event::SimulationTotal { runs: 6, seconds: 45 + 90 }));
    assert!(matches!(events[6], Event::Simulated { run: 5 }));
}
