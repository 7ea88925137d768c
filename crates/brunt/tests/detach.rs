//! Executions in the background: `--detach`, and `brunt attach` with real processes.
#![allow(clippy::unwrap_used)]

#[path = "detach/lab.rs"]
mod lab;

use std::fs;
use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use lab::{Lab, parameters, text};

/// Field n of `/proc/PID/stat`, from 1.
fn stat(pid: Pid, field: usize) -> String {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(')').unwrap().1.split_whitespace().nth(field - 3).unwrap().to_owned()
}

#[test]
fn a_detached_execution_is_seen_from_its_directory_and_stopped_there() {
    let lab = Lab::new(&parameters(3600));
    let started = lab.detach();
    let (said, errors) = (text(&started.stdout), text(&started.stderr));
    assert_eq!((started.status.code(), errors.as_str()), (Some(0), ""), "{said}");
    assert!(said.contains("Starting RD=r"), "{said}");
    let pid = lab.master();
    let told = format!("in the background as process {pid}. `brunt attach {}` shows it", lab.out().display());
    assert!(said.contains(&told), "{said}");
    // A session of its own, nothing of ours, and the end of a terminal is nothing to it.
    assert_eq!(stat(pid, 6), pid.to_string());
    for (fd, file) in [("0", Path::new("/dev/null")), ("1", &lab.out().join("console.txt"))] {
        assert_eq!(fs::read_link(format!("/proc/{pid}/fd/{fd}")).unwrap(), file);
    }
    kill(pid, Signal::SIGHUP).unwrap();
    // Two look at once; one leaves, which ends nothing; the other stops it.
    let (first, second) = (lab.attached(&["attach", "out"]), lab.attached(&["attach", "out"]));
    kill(Pid::from_raw(i32::try_from(first.child.id()).unwrap()), Signal::SIGINT).unwrap();
    let (status, _, errors) = first.end();
    assert_eq!(status, Some(130));
    assert!(errors.contains("The execution goes on; `brunt attach"), "{errors}");
    let again = lab.brunt(&["-f", "p", "-o", "out"]).output().unwrap();
    assert_eq!(again.status.code(), Some(4));
    assert!(text(&again.stderr).contains("is that of an execution that still goes on"), "{}", text(&again.stderr));
    let stopped = lab.brunt(&["attach", "--stop", "out"]).output().unwrap();
    assert_eq!(stopped.status.code(), Some(130));
    let (status, seen, _) = second.end();
    assert_eq!(status, Some(130));
    assert!(seen.contains("CTRL-C requested. Vdbench terminating"), "{seen}");
    assert_eq!(text(&stopped.stdout), seen);
    // What it would have shown itself is the same text.
    assert_eq!(fs::read_to_string(lab.out().join("console.txt")).unwrap(), seen);
}

#[test]
fn a_finished_execution_is_shown_with_its_status() {
    let lab = Lab::new(&parameters(2));
    let run = lab.brunt(&["-f", "p", "-o", "out"]).output().unwrap();
    assert_eq!(run.status.code(), Some(0));
    for words in [&["attach", "out"][..], &["attach", "out", "--stop"]] {
        let shown = lab.brunt(words).output().unwrap();
        assert_eq!((shown.status.code(), text(&shown.stdout)), (Some(0), text(&run.stdout)));
    }
}

#[test]
fn a_set_up_that_fails_is_shown_with_its_status() {
    let lab = Lab::new("sd=sd1,lun=/dev/no-such-disk\nrd=r,sd=sd1,iorate=100,elapsed=2,interval=1\n");
    let (detached, run) = (lab.detach(), lab.brunt(&["-f", "p", "-o", "other"]).output().unwrap());
    assert_eq!((detached.status.code(), run.status.code()), (Some(4), Some(4)));
    assert_eq!(text(&detached.stderr), text(&run.stderr));
    assert!(text(&run.stderr).contains("/dev/no-such-disk"), "{}", text(&run.stderr));
    // Wrong from the start: no directory is made.
    let wrong = lab.brunt(&["-f", "p", "--detach", "-o", "/proc/no"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(4));
    assert!(text(&wrong.stderr).contains("cannot use output directory '/proc/no'"), "{}", text(&wrong.stderr));
    let simulated = lab.brunt(&["-f", "p", "-s", "--detach"]).output().unwrap();
    assert_eq!(simulated.status.code(), Some(0));
    assert!(text(&simulated.stdout).contains("Vdbench simulation completed successfully"));
}

/// Nothing is left that could go on: without a lease the agents have ended with their master.
#[test]
fn reports_of_a_master_that_was_killed_are_completed_as_partial() {
    let lab = Lab::new(&format!("misc=(lease=0)\n{}", parameters(3600)));
    assert_eq!(lab.detach().status.code(), Some(0));
    let mut shown = lab.attached(&["attach", "out"]);
    shown.read_to("           2 ");
    kill(lab.master(), Signal::SIGKILL).unwrap();
    let (status, seen, errors) = shown.end();
    assert_eq!(status, Some(7), "{errors}");
    let last = lab.events("interval").last().unwrap()["interval"].as_u64().unwrap();
    let told = format!(
        "the master (process {}) has ended without a word; no run is complete, rd=r is partial: its last complete \
         interval is {last}",
        lab.master()
    );
    assert!(seen.contains(&told) && errors.contains(&told), "{seen}");
    // All reports have all that the events have.
    let summary = fs::read_to_string(lab.out().join("summary.html")).unwrap();
    assert_eq!(summary.lines().filter(|l| l.contains("    4096 100.00 ")).count() as u64, last, "{summary}");
    assert_eq!(lab.events("closed").len(), 1);
    let again = lab.brunt(&["attach", "out"]).output().unwrap();
    assert_eq!((again.status.code(), text(&again.stdout)), (Some(7), seen));
}

#[test]
fn what_is_no_execution_is_refused() {
    let lab = Lab::new("");
    fs::create_dir(lab.out()).unwrap();
    for (words, status, why) in [
        (&["attach", "out"][..], 4, "is not the output directory of an execution"),
        (&["attach", "none"], 4, "is not the output directory of an execution"),
        (&["attach"], 2, "which execution?"),
    ] {
        let told = lab.brunt(words).output().unwrap();
        assert_eq!(told.status.code(), Some(status));
        assert!(text(&told.stderr).contains(why), "{}", text(&told.stderr));
    }
}

#[test]
fn a_process_of_the_same_number_is_not_the_master() {
    let lab = Lab::new(&parameters(3600));
    let run = lab.attached(&["-f", "p", "-o", "out"]);
    let events = lab.out().join("events.ndjson");
    let (written, birth) = (fs::read_to_string(&events).unwrap(), lab.events("opened")[0]["birth"]["ticks"].clone());
    // As if the number had been given out again: the execution of a copy of the directory.
    let copy = lab.0.path().join("copy");
    fs::create_dir(&copy).unwrap();
    let other = written.replacen(&format!("\"ticks\":{birth}"), "\"ticks\":1", 1);
    fs::write(copy.join("events.ndjson"), other).unwrap();
    let held = nix::fcntl::Flock::lock(fs::File::open(&copy).unwrap(), nix::fcntl::FlockArg::LockExclusiveNonblock);
    let told = lab.brunt(&["attach", "copy", "--stop"]).output().unwrap();
    drop(held);
    assert_eq!(told.status.code(), Some(4));
    assert!(text(&told.stderr).contains("is not a process of this machine that can be seen from here"));
    // It was not touched.
    kill(Pid::from_raw(i32::try_from(run.child.id()).unwrap()), Signal::SIGTERM).unwrap();
    assert_eq!(run.end().0, Some(143));
}
