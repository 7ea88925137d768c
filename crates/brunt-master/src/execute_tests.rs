//! The order of events, against the order of lines in the outputs of the reference.

use brunt_event::{AbortCause, Event};
use brunt_plan::plan::Rate;

use crate::testing::{Stage, plan, run, whole};

mod away;
mod control;
mod curves;
mod early;
mod errors;
mod extras;
mod hooks;
mod inspection;
mod judged;
mod lost;
mod taken;

#[tokio::test(start_paused = true)]
async fn a_fixed_rate_from_greeting_to_farewell() {
    let played = Stage::new(plan(vec![run("rd1", Rate::Fixed(100.0), 4)]), vec![vec![whole(4, 100)]]).play().await;
    let expected = [
        "planned 1 runs",
        "worker 0 starting",
        "worker 0 connected, pid 1000",
        "connected",
        "query",
        "config of 0",
        "sizes [Some(8388608)]",
        "engine sync on 0 for [0]",
        "run 0 rd1 100",
        "interval 1 warmup: 100 in 1000 ms",
        "warmup done",
        "interval 2: 100 in 1000 ms",
        "interval 3: 100 in 1000 ms",
        "interval 4: 100 in 1000 ms",
        "workload done",
        "workers done",
        "end Elapsed complete=true intervals=4 errors=0",
    ];
    assert_eq!(played.order(), expected);
    assert_eq!(played.calls, ["0 hello", "0 inspect", "0 prepare 100", "0 start", "0 shutdown"]);
    assert!(played.outcome.complete);
    assert_eq!((played.outcome.abort, played.outcome.runs), (None, 1));
}

#[tokio::test(start_paused = true)]
async fn a_list_of_rates_runs_one_after_the_other_with_pauses_between() {
    let rates = [50.0, 100.0, 200.0];
    let mut runs: Vec<_> = rates.map(|r| run("steps", Rate::Fixed(r), 2)).into();
    runs.iter_mut().for_each(|r| (r.rate_is_loop, r.pause) = (true, 3));
    let scripts = rates.map(|r| whole(2, r as u64)).into();
    let started = tokio::time::Instant::now();
    let played = Stage::new(plan(runs), vec![scripts]).play().await;
    let of_run = |n: usize, rate: u64| {
        vec![
            format!("run {n} steps {rate}"),
            format!("interval 1 warmup: {rate} in 1000 ms"),
            "warmup done".into(),
            format!("interval 2: {rate} in 1000 ms"),
            "workload done".into(),
            "workers done".into(),
            "end Elapsed complete=true intervals=2 errors=0".into(),
        ]
    };
    let pause = || vec!["pausing 3".to_owned()];
    assert_eq!(played.order_of_runs(), [of_run(0, 50), pause(), of_run(1, 100), pause(), of_run(2, 200)].concat());
    assert_eq!(started.elapsed().as_secs(), 6, "no pause after the last run");
    let loops: Vec<_> = played
        .events
        .iter()
        .filter_map(|e| if let Event::RunStarted(r) = e { Some(&r.plan.loops) } else { None })
        .collect();
    assert_eq!(loops, [&["iorate=50"], &["iorate=100"], &["iorate=200"]]);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_cannot_prepare_ends_it() {
    let mut script = whole(2, 1);
    script.refuse = Some("sd1: /f1: permission denied".into());
    let played = Stage::new(plan(vec![run("rd1", Rate::Max, 2)]), vec![vec![script]]).play().await;
    let expected = "aborted Setup 0: host=localhost: sd1: /f1: permission denied";
    assert_eq!(played.order().last().map(String::as_str), Some(expected));
    assert_eq!(played.outcome.abort, Some(AbortCause::Setup));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_run_yet_is_refused_before_anything_starts() {
    let mut remote = plan(vec![run("rd1", Rate::Max, 2)]);
    remote.hosts[0].system = "db7.example".into();
    remote.hosts[0].shell = Some("telnet".into());
    let mut unsupported = plan(vec![run("rd1", Rate::Max, 2)]);
    unsupported.settings.unsupported.push((None, "validate= is not supported yet".into()));
    let mut setting = plan(vec![run("rd1", Rate::Max, 2)]);
    setting.settings.misc = vec![("drain".into(), "soon".into())];
    let mut hook = plan(vec![run("rd1", Rate::Max, 2)]);
    hook.settings.misc = vec![("hook_failure".into(), "ignore".into())];
    for (plan, sentence) in [
        (setting, "misc=(drain=soon) is not a number of seconds"),
        (hook, "misc=(hook_failure=ignore) is neither warn nor error"),
        (remote, "host localhost: shell=telnet is no way to a host; it is ssh or vdbench"),
        (unsupported, "validate= is not supported yet"),
    ] {
        let played = Stage::new(plan, vec![vec![]]).play().await;
        assert_eq!(played.order(), [format!("aborted Setup 0: {sentence}")]);
        assert!(played.calls.is_empty());
        assert_eq!(played.outcome.problems.len(), 1);
    }
}
