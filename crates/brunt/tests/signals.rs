//! What signals do to a run (`docs/vdbench/reports.md` §11).
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Starts a run of so many seconds, waits for its first interval, sends a signal and waits for the end: status and
/// what the console said after the signal.
fn run(seconds: u32, signal: Signal) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("sd=sd1,lun=sim:a\nrd=r,sd=sd1,iorate=100,elapsed={seconds},interval=1\n");
    std::fs::write(folder.path().join("p"), text).unwrap();
    let mut brunt = Command::new(env!("CARGO_BIN_EXE_brunt"));
    let brunt = brunt.args(["-f", "p"]).current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child: Child = brunt.spawn().unwrap();
    let mut console = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("           1 ") {
        line.clear();
        assert_ne!(console.read_line(&mut line).unwrap(), 0, "the run has ended before its first interval");
    }
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
    let mut rest = String::new();
    console.read_to_string(&mut rest).unwrap();
    (child.wait().unwrap().code(), rest)
}

#[test]
fn signals_end_a_run_with_their_statuses() {
    let named = [(Signal::SIGINT, 130, "CTRL-C requested"), (Signal::SIGTERM, 143, "SIGTERM received")];
    for (signal, status, words) in named {
        let (ended, console) = run(3600, signal);
        assert_eq!(ended, Some(status), "{signal}");
        assert!(console.contains(&format!("{words}. Vdbench terminating")), "{console}");
    }
}

/// B26: I/O hangs. One Ctrl-C stops what is issued, waits for the rest up to the limit, reports, and ends the whole list.
#[test]
fn one_interrupt_ends_all_runs_also_while_io_hangs() {
    let folder = tempfile::tempdir().unwrap();
    let text = "misc=(sim.a.hit=600s,drain=2)\nsd=sd1,lun=sim:a,threads=3\nwd=wd1,sd=sd1,rdpct=100\n\
                rd=default,wd=wd1,iorate=max,elapsed=3600,interval=1\nrd=first\nrd=second\n";
    std::fs::write(folder.path().join("p"), text).unwrap();
    let mut brunt = Command::new(env!("CARGO_BIN_EXE_brunt"));
    let brunt = brunt.args(["-f", "p", "-o", "out"]).current_dir(folder.path());
    let mut child = brunt.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut console = BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    while !said.contains("           2 ") {
        assert_ne!(console.read_line(&mut said).unwrap(), 0, "{said}");
    }
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGINT).unwrap();
    let from = Instant::now();
    console.read_to_string(&mut said).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    let status = child.wait().unwrap().code();
    assert!(from.elapsed() < Duration::from_secs(20), "{:?}: {said}", from.elapsed());
    assert!(said.contains("Waiting for 3 outstanding i/o; 2 seconds since the end of the run"), "{said}");
    assert!(said.contains("outstanding I/O never returned: 3 I/Os of localhost-0"), "{said}");
    assert_eq!(status, Some(130), "{said}");
    let file = |name: &str| std::fs::read_to_string(folder.path().join("out").join(name)).unwrap();
    let (summary, events) = (file("summary.html"), file("events.ndjson"));
    assert!(summary.contains("Starting RD=first") && !summary.contains("Starting RD=second"), "{summary}");
    assert!(events.contains("\"kind\":\"run_ended\"") && events.ends_with("\"complete\":false}}\n"), "{events}");
}

/// B26: I/O does not come back: the first Ctrl-C waits for it, the second leaves; the agent goes at once, not with its lease.
#[test]
fn a_second_interrupt_leaves_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let text = "misc=(sim.a.hit=600s,lease=120)\nsd=sd1,lun=sim:a,threads=3\nwd=wd1,sd=sd1,rdpct=100\n\
                rd=r,wd=wd1,iorate=max,elapsed=3600,interval=1\n";
    std::fs::write(folder.path().join("p"), text).unwrap();
    let mut brunt = Command::new(env!("CARGO_BIN_EXE_brunt"));
    let brunt = brunt.args(["-f", "p", "-o", "out"]).current_dir(folder.path());
    let mut child = brunt.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut console = BufReader::new(child.stdout.take().unwrap());
    let mut read_to = |wanted: &str| {
        let mut line = String::new();
        while !line.contains(wanted) {
            line.clear();
            assert_ne!(console.read_line(&mut line).unwrap(), 0, "{wanted}");
        }
    };
    let interrupt = || kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGINT).unwrap();
    read_to("           1 ");
    let events = std::fs::read_to_string(folder.path().join("out/events.ndjson")).unwrap();
    let agent = events.split_once("\"worker_connected\",\"worker\":0,\"pid\":").unwrap().1.split_once(',').unwrap().0;
    let agent = Pid::from_raw(agent.parse().unwrap());
    interrupt();
    read_to("Waiting for 3 outstanding i/o; 2 seconds since the end of the run");
    let from = Instant::now();
    interrupt();
    read_to("CTRL-C requested. Vdbench terminating");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(from.elapsed() < Duration::from_secs(10), "{:?}", from.elapsed());
    while kill(agent, None).is_ok() {
        assert!(from.elapsed() < Duration::from_secs(30), "the agent is left");
        std::thread::yield_now();
    }
    let events = std::fs::read_to_string(folder.path().join("out/events.ndjson")).unwrap();
    assert!(
        events.contains("\"end\":\"signal\"") && events.ends_with("\"status\":130,\"complete\":false}}\n"),
        "{events}"
    );
}

/// The terminal is gone, or the connection to it.
#[test]
fn a_hangup_ends_nothing() {
    let (ended, console) = run(2, Signal::SIGHUP);
    assert_eq!(ended, Some(0), "{console}");
    assert!(console.contains("avg_2-2"), "{console}");
}

/// Ctrl-S, a pager nobody reads on: nothing takes what the run says.
#[test]
fn a_console_that_is_stopped_keeps_no_signal_from_being_answered() {
    let folder = tempfile::tempdir().unwrap();
    let text = "misc=(sim.a.clock=virtual)\nsd=sd1,lun=sim:a\nrd=r,sd=sd1,iorate=1,elapsed=20000,interval=1,pause=1h\n\
                rd=r2,sd=sd1,iorate=1,elapsed=2,interval=1\n";
    std::fs::write(folder.path().join("p"), text).unwrap();
    let mut brunt = Command::new(env!("CARGO_BIN_EXE_brunt"));
    let brunt = brunt.args(["-f", "p", "-o", "out"]).current_dir(folder.path());
    let mut child = brunt.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let unread = child.stdout.take().unwrap();
    // The run itself goes on: it comes to its pause although a pipe holds far less than it has said.
    let log = folder.path().join("out/logfile.html");
    while !std::fs::read_to_string(&log).unwrap_or_default().contains("avg_2-20000") {
        assert!(child.try_wait().unwrap().is_none());
        std::thread::yield_now();
    }
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    drop(unread);
}
