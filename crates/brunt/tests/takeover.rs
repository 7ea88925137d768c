//! Masters that are killed, with real agents: `brunt attach` goes on with what they began.
#![allow(clippy::unwrap_used)]

#[path = "detach/lab.rs"]
mod lab;

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{fs, thread};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use lab::{Lab, parameters, text};

/// Two agents with two workers each, two workloads, two runs with a hook between them.
fn fleet(seconds: u32) -> String {
    format!(
        "hd=default,jvms=2\nhd=one,system=localhost\nhd=two,system=127.0.0.1\nsd=sd1,lun=sim:a,threads=4\n\
         sd=sd2,lun=sim:b,threads=4\nwd=a,sd=sd*,rdpct=60\nwd=b,sd=sd*,rdpct=10\n\
         rd=r,wd=*,iorate=200,elapsed={seconds},interval=1,endcmd=(\"echo x >>hooks\",master)\n\
         rd=s,wd=*,iorate=100,elapsed=2,interval=1\n"
    )
}

fn number(event: &Value, path: &[&str]) -> u64 {
    path.iter().fold(event, |value, key| &value[*key]).as_u64().unwrap()
}

fn ops(cell: &Value) -> u64 {
    let of = |op: &str| cell[op]["ops"].as_u64().unwrap_or(0);
    of("read") + of("write")
}

fn count(times: &Value) -> u64 {
    let of = |op: &str| times[op]["service"]["count"].as_u64().unwrap_or(0);
    of("read") + of("write")
}

/// No interval is missing, none is there twice, and all sums are those of the agents.
fn check_run(lab: &Lab, run: u64, last: u64) {
    let intervals: Vec<Value> = lab.events("interval").into_iter().filter(|e| e["run"] == run).collect();
    let numbers: Vec<u64> = intervals.iter().map(|e| number(e, &["interval"])).collect();
    assert_eq!(numbers, (1..=last).collect::<Vec<_>>());
    assert!(intervals.iter().all(|e| e["missing_workers"] == 0));
    let counted: u64 = intervals.iter().filter(|e| e["warmup"] == false).map(|e| ops(&e["total"])).sum();
    let ended = lab.events("run_ended").into_iter().find(|e| e["run"] == run).unwrap();
    assert_eq!((&ended["end"], &ended["complete"]), (&Value::from("elapsed"), &Value::from(true)));
    assert_eq!(count(&ended["times"]), counted);
    // What workers counted for themselves, from the first I/O to the last.
    let by_sd = |sd: usize| intervals.iter().map(|e| ops(&e["sds"][sd])).sum::<u64>();
    for (sd, done) in ended["totals"].as_array().unwrap().iter().enumerate() {
        let done = number(done, &["reads"]) + number(done, &["writes"]);
        assert!(done >= by_sd(sd) && done <= by_sd(sd) + 16, "sd {sd}: {done} {}", by_sd(sd));
    }
    let of_sds: u64 = ended["sd_times"].as_array().unwrap().iter().map(count).sum();
    assert!(of_sds >= counted && of_sds <= counted + 64, "{of_sds} {counted}");
}

fn agents(lab: &Lab) -> Vec<Pid> {
    let pids = lab.events("worker_connected").into_iter().map(|e| number(&e, &["pid"]));
    pids.map(|pid| Pid::from_raw(i32::try_from(pid).unwrap())).collect()
}

fn wait_until(what: &str, mut is: impl FnMut() -> bool) {
    let from = Instant::now();
    while !is() {
        assert!(from.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_run_whose_master_was_killed_goes_on_with_nothing_missing() {
    let lab = Lab::new(&fleet(8));
    assert_eq!(lab.detach().status.code(), Some(0));
    let secret = lab.out().join("takeover.json");
    assert_eq!(fs::metadata(&secret).unwrap().permissions().mode() & 0o777, 0o600);
    let mut first = lab.attached(&["attach", "out"]);
    first.read_to("           3 ");
    // What the files say now is not what was run.
    fs::write(lab.0.path().join("p"), "nonsense").unwrap();
    let killed = lab.master();
    kill(killed, Signal::SIGKILL).unwrap();
    let second = lab.attached(&["attach", "out"]);
    let ((status, seen, errors), (other, seen_too, _)) = (first.end(), second.end());
    assert_eq!((status, other), (Some(0), Some(0)), "{seen}{errors}");
    assert_eq!((seen.as_str(), errors.as_str()), (seen_too.as_str(), ""));
    check_run(&lab, 0, 8);
    check_run(&lab, 1, 2);
    let taken = lab.events("taken_over");
    assert_eq!(taken.len(), 1);
    assert!(seen.contains("note: the master was killed; process") && seen.contains("completed successfully"), "{seen}");
    assert_eq!(fs::read_to_string(lab.0.path().join("hooks")).unwrap(), "x\n");
    assert!(!secret.exists());
    // All reports are those of one execution.
    let summary = fs::read_to_string(lab.out().join("summary.html")).unwrap();
    assert_eq!(summary.matches("avg_2-8").count() + summary.matches("avg_2-2").count(), 2, "{summary}");
    // The agents have ended with it.
    wait_until("agents are left", || agents(&lab).iter().all(|pid| kill(*pid, None).is_err()));
}

#[test]
fn a_taken_run_is_taken_again_and_stopped_as_any_other() {
    let lab = Lab::new(&fleet(3600));
    assert_eq!(lab.detach().status.code(), Some(0));
    let mut shown = lab.attached(&["attach", "out"]);
    shown.read_to("           2 ");
    kill(lab.master(), Signal::SIGKILL).unwrap();
    shown.read_to("goes on with what it began");
    shown.read_to("           5 ");
    let second = number(&lab.events("taken_over")[0], &["pid"]);
    kill(Pid::from_raw(i32::try_from(second).unwrap()), Signal::SIGKILL).unwrap();
    shown.read_to("           8 ");
    let stopped = lab.brunt(&["attach", "out", "--stop"]).output().unwrap();
    assert_eq!(stopped.status.code(), Some(130), "{}", text(&stopped.stderr));
    let (status, seen, _) = shown.end();
    assert_eq!((status, seen), (Some(130), text(&stopped.stdout)));
    assert_eq!(lab.events("taken_over").len(), 2);
    let intervals: Vec<u64> = lab.events("interval").iter().map(|e| number(e, &["interval"])).collect();
    assert_eq!(intervals, (1..=intervals.len() as u64).collect::<Vec<_>>());
    wait_until("agents are left", || agents(&lab).iter().all(|pid| kill(*pid, None).is_err()));
}

#[test]
fn agents_that_are_gone_leave_partial_reports() {
    let lab = Lab::new(&parameters(3600));
    assert_eq!(lab.detach().status.code(), Some(0));
    let mut shown = lab.attached(&["attach", "out"]);
    shown.read_to("           2 ");
    let (master, agents) = (lab.master(), agents(&lab));
    kill(master, Signal::SIGSTOP).unwrap();
    agents.iter().for_each(|pid| kill(*pid, Signal::SIGKILL).unwrap());
    kill(master, Signal::SIGKILL).unwrap();
    let (status, seen, errors) = shown.end();
    assert_eq!(status, Some(7), "{seen}{errors}");
    assert!(seen.contains("the agent of host localhost cannot be gone on with: "), "{seen}");
    let last = lab.events("interval").len();
    assert!(seen.contains(&format!("rd=r is partial: its last complete interval is {last}")), "{seen}");
    assert_eq!(lab.events("run_ended").len(), 1);
}

#[test]
fn between_runs_hooks_and_pauses_are_not_repeated() {
    let lab = Lab::new(
        "sd=sd1,lun=sim:a\nrd=default,sd=sd1,iorate=100,elapsed=2,interval=1\n\
         rd=r,pause=4,endcmd=(\"echo x >>hooks\",master)\nrd=s\n",
    );
    assert_eq!(lab.detach().status.code(), Some(0));
    let mut shown = lab.attached(&["attach", "out"]);
    shown.read_to("Waiting 4 seconds; requested by 'pause' parameter");
    kill(lab.master(), Signal::SIGKILL).unwrap();
    let (status, seen, errors) = shown.end();
    assert_eq!(status, Some(0), "{seen}{errors}");
    check_run(&lab, 0, 2);
    check_run(&lab, 1, 2);
    assert_eq!(fs::read_to_string(lab.0.path().join("hooks")).unwrap(), "x\n");
}

#[test]
fn what_another_user_may_have_written_is_not_followed() {
    let lab = Lab::new(&parameters(3600));
    assert_eq!(lab.detach().status.code(), Some(0));
    let mut shown = lab.attached(&["attach", "out"]);
    shown.read_to("           2 ");
    let secret: PathBuf = lab.out().join("takeover.json");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o666)).unwrap();
    let agents = agents(&lab);
    kill(lab.master(), Signal::SIGKILL).unwrap();
    let (status, seen, errors) = shown.end();
    assert_eq!(status, Some(7), "{seen}");
    assert!(errors.contains("nobody can go on with this execution") && errors.contains("is not trusted"), "{errors}");
    // They would end with their lease.
    agents.iter().for_each(|pid| kill(*pid, Signal::SIGTERM).unwrap());
    wait_until("agents are left", || agents.iter().all(|pid| kill(*pid, None).is_err()));
}
