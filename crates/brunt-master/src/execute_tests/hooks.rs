//! startcmd and endcmd.

use brunt_event::AbortCause;
use brunt_parm::ast::{Hook, HookOutput, HookTarget};
use brunt_plan::plan::{Plan, Rate};

use crate::Control;
use crate::testing::{Stage, failure, plan, run, stopped, whole};

fn hook(command: &str, target: Option<HookTarget>) -> Hook {
    Hook { commands: vec![command.into()], output: HookOutput::Log, target }
}

fn hooked() -> Plan {
    let mut plan = plan(vec![run("rd1", Rate::Max, 2), run("rd2", Rate::Max, 2)]);
    plan.settings.startcmd = vec![hook("echo begin in $output", None)];
    plan.settings.endcmd = vec![hook("echo all done", None)];
    plan.runs[0].startcmd = vec![hook("before", None), hook("echo here", Some(HookTarget::Master))];
    plan.runs[0].endcmd = vec![hook("after", None)];
    plan
}

fn without_intervals(order: Vec<String>) -> Vec<String> {
    order
        .into_iter()
        .filter(|e| {
            ["hook", "run ", "end ", "abort", "inter"].iter().any(|p| e.starts_with(p)) && !e.starts_with("interval")
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn hooks_run_in_their_places() {
    let played = Stage::new(hooked(), vec![vec![whole(2, 1), whole(2, 1)]]).play().await;
    let expected = [
        "hook echo begin in /out on master: Some(0)",
        "hook before on localhost: Some(0)",
        "hook echo here on master: Some(0)",
        "run 0 rd1 UncontrolledMax",
        "end Elapsed complete=true intervals=2 errors=0",
        "hook after on localhost: Some(0)",
        "run 1 rd2 UncontrolledMax",
        "end Elapsed complete=true intervals=2 errors=0",
        "hook echo all done on master: Some(0)",
    ];
    assert_eq!(without_intervals(played.order()), expected);
    let lines = played.events.iter().find_map(|e| match e {
        brunt_event::Event::Hook { lines, .. } => Some(lines.clone()),
        _ => None,
    });
    assert_eq!(lines, Some(vec!["begin in /out".to_owned()]));
}

/// Time jumps while a process is waited for.
#[tokio::test(start_paused = true)]
async fn a_command_of_the_master_that_takes_long_is_named() {
    let mut plan = hooked();
    plan.settings.startcmd = vec![hook("sleep 0.3", None)];
    let order = Stage::new(plan, vec![vec![whole(2, 1), whole(2, 1)]]).play().await.order();
    let named = "slow-hook: startcmd: `sleep 0.3` has not ended on the master within 60 seconds".to_owned();
    assert!(order.contains(&named), "{order:?}");
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_fails_stops_everything_but_the_last_hook() {
    let mut stage = Stage::new(hooked(), vec![vec![whole(2, 1), whole(2, 1)]]);
    stage.hook_status = 3;
    let played = stage.play().await;
    let expected = [
        "hook echo begin in /out on master: Some(0)",
        "hook before on localhost: Some(3)",
        "hook echo all done on master: Some(0)",
        "aborted Hook 0: startcmd failed on localhost: exit status 3: before",
    ];
    assert_eq!(without_intervals(played.order()), expected);
    assert_eq!(played.outcome.abort, Some(AbortCause::Hook));
    assert_eq!(played.outcome.runs, 0);
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_fails_may_only_warn() {
    for as_vdbench in [true, false] {
        let mut stage = Stage::new(hooked(), vec![vec![whole(2, 1), whole(2, 1)]]);
        stage.hook_status = 3;
        stage.options.as_vdbench = as_vdbench;
        if !as_vdbench {
            stage.plan.settings.misc = vec![("hook_failure".into(), "warn".into())];
        }
        let played = stage.play().await;
        let warning = "hook-failed: startcmd failed on localhost: exit status 3: before";
        assert!(played.order().contains(&warning.to_owned()), "as vdbench: {as_vdbench}");
        assert!(played.outcome.complete);
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_fails_may_stop_vdbench_too() {
    let mut stage = Stage::new(hooked(), vec![vec![whole(2, 1), whole(2, 1)]]);
    stage.hook_status = 3;
    stage.options.as_vdbench = true;
    stage.plan.settings.misc = vec![("hook_failure".into(), "error".into())];
    assert_eq!(stage.play().await.outcome.abort, Some(AbortCause::Hook));
}

#[tokio::test(start_paused = true)]
async fn the_last_hook_follows_an_abort_but_not_an_interrupt() {
    let mut plan = hooked();
    plan.settings.data_errors = brunt_parm::ast::DataErrors::Limit { count: 1, seconds: None };
    let script = || stopped(vec![failure(0, 0)], vec![]);
    let order = without_intervals(Stage::new(plan, vec![vec![script()]]).play().await.order());
    let expected = [
        "end Errors complete=false intervals=0 errors=1",
        "hook echo all done on master: Some(0)",
        "aborted IoErrorLimit 1: 'data_errors=1' requested. Abort rd=rd1 after last error.",
    ];
    assert_eq!(order[order.len() - 3..], expected);

    let mut stage = Stage::new(hooked(), vec![vec![stopped(vec![], vec![])]]);
    stage.controls = vec![("run 0", Control::Interrupt(2))];
    let order = without_intervals(stage.play().await.order());
    let expected = ["run 0 rd1 UncontrolledMax", "end Signal complete=false intervals=0 errors=0", "interrupted 2"];
    assert_eq!(order[order.len() - 3..], expected);
}

#[tokio::test(start_paused = true)]
async fn no_hook_runs_when_the_set_up_fails() {
    let mut plan = hooked();
    plan.settings.monitor = Some("/nonexistent/mon".into());
    let played = Stage::new(plan, vec![vec![]]).play().await;
    let hooks: Vec<_> = played.order().into_iter().filter(|e| e.starts_with("hook")).collect();
    assert!(hooks.is_empty(), "{hooks:?}");
    assert_eq!(played.outcome.abort, Some(AbortCause::Setup));
}

#[tokio::test(start_paused = true)]
async fn what_a_hook_leaves_in_the_background_holds_nothing_up() {
    let mut plan = hooked();
    plan.settings.startcmd = vec![hook("sleep 300 & echo $!", None)];
    let started = std::time::Instant::now();
    let played = Stage::new(plan, vec![vec![whole(2, 1), whole(2, 1)]]).play().await;
    let pid = played.events.iter().find_map(|e| match e {
        brunt_event::Event::Hook { lines, .. } => lines.first().and_then(|line| line.parse().ok()),
        _ => None,
    });
    let pid = nix::unistd::Pid::from_raw(pid.expect("the hook has told its child"));
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).expect("it still runs");
    assert!(started.elapsed().as_secs() < 150);
    assert!(played.outcome.complete);
}

fn on_three_hosts() -> Plan {
    let mut plan = hooked();
    for label in ["left", "right"] {
        let mut host = plan.hosts[0].clone();
        host.label = label.into();
        plan.hosts.push(host);
        plan.sds[0].lun.push(None);
    }
    plan
}

#[tokio::test(start_paused = true)]
async fn every_host_on_which_a_hook_failed_is_named_with_its_status() {
    let mut stage = Stage::new(on_three_hosts(), vec![vec![whole(2, 1), whole(2, 1)], vec![], vec![]]);
    stage.hook_statuses = vec![0, 7, 1];
    let played = stage.play().await;
    let order = without_intervals(played.order());
    let expected = [
        "hook before on localhost: Some(0)",
        "hook before on left: Some(7)",
        "hook before on right: Some(1)",
        "hook echo all done on master: Some(0)",
        "aborted Hook 0: startcmd failed on left: exit status 7; on right: exit status 1: before",
    ];
    assert_eq!(order[1..], expected);
}

#[tokio::test(start_paused = true)]
async fn what_comes_after_a_failed_hook_is_marked() {
    let mut stage = Stage::new(hooked(), vec![vec![whole(2, 1), whole(2, 1)]]);
    stage.plan.runs[0].startcmd.clear();
    stage.plan.settings.misc = vec![("hook_failure".into(), "warn".into())];
    stage.hook_status = 3;
    let order = stage.play().await.order();
    let marked: Vec<_> = order.iter().filter(|e| e.starts_with("run ") || e.starts_with("after-failed")).collect();
    let mark =
        "after-failed-hook: rd=rd2 comes after a command that failed: endcmd failed on localhost: exit status 3: after";
    assert_eq!(marked, ["run 0 rd1 UncontrolledMax", "run 1 rd2 UncontrolledMax", mark]);
}

// In real time: a paused clock would not wait for what is run here.
#[tokio::test]
async fn hooks_have_a_limit_where_one_is_given() {
    let mut stage = Stage::new(hooked(), vec![vec![whole(2, 1), whole(2, 1)]]);
    stage.plan.settings.misc = vec![("hook_limit".into(), "10m".into())];
    let calls = stage.play().await.calls;
    assert!(calls.contains(&"0 hook before within 600 s".to_owned()), "{calls:?}");
}

#[tokio::test]
async fn a_hook_beyond_its_limit_is_killed() {
    let mut stage = Stage::new(hooked(), vec![vec![whole(2, 1), whole(2, 1)]]);
    stage.plan.settings.misc = vec![("hook_limit".into(), "1".into())];
    stage.plan.settings.startcmd = vec![hook("sleep 300", None)];
    let started = std::time::Instant::now();
    let played = stage.play().await;
    let expected =
        "aborted Hook 0: startcmd failed on master: killed by a signal, or after 1 seconds (hook_limit): sleep 300";
    assert_eq!(played.order().last().map(String::as_str), Some(expected));
    assert!(started.elapsed().as_secs() < 150);
}

// In real time: a command here is a process.
#[tokio::test]
async fn commands_are_looked_for_before_the_first_run_and_not_run() {
    let mut stage = Stage::new(hooked(), vec![vec![whole(2, 1), whole(2, 1)]]);
    stage.plan.settings.endcmd = vec![hook("/nonexistent/flush --now", None)];
    let played = stage.play().await;
    let order = played.order();
    let warning =
        "hook-missing: startcmd=, endcmd=: on this machine there is no `/nonexistent/flush` that may be executed, yet";
    let place = |text: &str| order.iter().position(|e| e.starts_with(text));
    assert!(place(warning).is_some() && place(warning) < place("hook echo begin"), "{order:?}");
    let looked = played.calls.iter().position(|call| call.starts_with("0 hook for p in after before; do "));
    let run = played.calls.iter().position(|call| call == "0 hook before");
    assert!(looked.is_some() && looked < run, "{:?}", played.calls);
}
