//! I/O errors.

use brunt_event::AbortCause;
use brunt_parm::ast::DataErrors;
use brunt_plan::plan::{Plan, Rate};

use crate::testing::{Played, Script, Stage, drained, failure, plan, run, seconds, stopped};

fn with(rule: DataErrors) -> Plan {
    let mut plan = plan(vec![run("rd1", Rate::Fixed(100.0), 4), run("rd2", Rate::Fixed(100.0), 4)]);
    plan.settings.data_errors = rule;
    plan
}

fn limit(count: u64, seconds: Option<u64>) -> DataErrors {
    DataErrors::Limit { count, seconds }
}

async fn play(rule: DataErrors, script: Script) -> Played {
    Stage::new(with(rule), vec![vec![script]]).play().await
}

#[tokio::test(start_paused = true)]
async fn the_nth_error_ends_it_at_once() {
    let start = [seconds(0, 1..=2, 100), (0..3).map(|n| failure(0, n)).collect()].concat();
    let script = stopped(start, vec![failure(0, 8), failure(0, 9), crate::testing::sample(0, 3, 400, &[(0, 0, 5)])]);
    let played = play(limit(3, None), script).await;
    let expected = [
        "run 0 rd1 100",
        "interval 1 warmup: 100 in 1000 ms",
        "warmup done",
        "interval 2: 100 in 1000 ms",
        "failed /f1 0",
        "failed /f1 1",
        "failed /f1 2",
        "end Errors complete=false intervals=2 errors=5",
        "aborted IoErrorLimit 5: 'data_errors=3' requested. Abort rd=rd1 after last error.",
    ];
    assert_eq!(played.order_of_runs(), expected);
    assert_eq!(played.calls.last().map(String::as_str), Some("0 shutdown"));
    assert_eq!(played.outcome.abort, Some(AbortCause::IoErrorLimit));
}

#[tokio::test(start_paused = true)]
async fn fewer_errors_let_the_run_end_and_no_other_begin() {
    let start = [vec![failure(0, 512)], seconds(0, 1..=4, 100), vec![drained(0)]].concat();
    let played = play(limit(50, None), Script { start, ..Script::default() }).await;
    let expected = [
        "workload done",
        "workers done",
        "end Elapsed complete=true intervals=4 errors=1",
        "aborted IoErrors 1: Vdbench terminating due to Data Validation or I/O errors. See errorlog.html.",
    ];
    let order = played.order_of_runs();
    assert_eq!(order[order.len() - 4..], expected);
    assert_eq!(played.outcome.abort, Some(AbortCause::IoErrors));
    assert!(!played.outcome.complete);
}

#[tokio::test(start_paused = true)]
async fn a_quiet_time_after_the_last_error_ends_it_too() {
    let start = [vec![failure(0, 512)], seconds(0, 1..=2, 100)].concat();
    let played = play(limit(50, Some(2)), stopped(start, vec![])).await;
    let expected = [
        "end Errors complete=false intervals=2 errors=1",
        "aborted IoErrorLimit 1: 'data_errors=(50,2)' requested. Abort rd=rd1 after last error.",
    ];
    let order = played.order_of_runs();
    assert_eq!(order[order.len() - 2..], expected);
}

// In real time: a command here is a process.
#[tokio::test]
async fn a_command_runs_on_the_machine_of_the_master_before_the_end() {
    let rule = DataErrors::Command("echo $output $lun $lba $size".into());
    let mut stage = Stage::new(with(rule), vec![vec![stopped(vec![failure(0, 512), failure(0, 1024)], vec![])]]);
    stage.options.output = "/o".into();
    let order = stage.play().await.order_of_runs();
    let expected = [
        "run 0 rd1 100",
        "failed /f1 512",
        "end Errors complete=false intervals=0 errors=2",
        "hook echo /o /f1 512 4096 on master: Some(0)",
        "aborted IoErrorLimit 2: 'data_errors=echo $output $lun $lba $size' requested. Abort rd=rd1 after last error.",
    ];
    assert_eq!(order, expected);
}

#[tokio::test(start_paused = true)]
async fn remove_device_drops_the_sd_once_and_goes_on() {
    let start = [vec![failure(0, 512), failure(0, 1024)], seconds(0, 1..=4, 100), vec![drained(0)]].concat();
    let script = Script { start, ..Script::default() };
    let mut plan = with(DataErrors::RemoveDevice);
    plan.settings.timeout = vec!["2".into()];
    let mut stage = Stage::new(plan, vec![vec![script]]);
    stage.deaf = vec![0];
    let played = stage.play().await;
    let order = played.order_of_runs();
    let expected = [
        "run 0 rd1 100",
        "failed /f1 512",
        "remove-device: data_errors=remove_device: sd=sd1 gets no more I/O, the other SDs go on",
        "remove-device: data_errors=remove_device: the failing SD stays in use on localhost: no answer from the agent: it is deaf",
        "failed /f1 1024",
    ];
    assert_eq!(order[..5], expected);
    assert!(order.contains(&"end Elapsed complete=true intervals=4 errors=2".to_owned()));
    assert_eq!(played.calls.iter().filter(|c| c.as_str() == "0 drop sd 0").count(), 1);
}
