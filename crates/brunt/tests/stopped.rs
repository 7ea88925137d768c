//! A generator that does not run for a while (SIGSTOP stands for a host without processor time): the wait is its own
//! lateness, not the device's queue.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

fn events(folder: &std::path::Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("out/events.ndjson")).unwrap();
    // The last line may be on its way.
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .map(|mut line: Value| line["event"].take())
        .collect()
}

fn signal(name: &str, pid: u64) {
    assert!(Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success());
}

/// Runs 1,000 I/Os per second on a device of a few microseconds, stops the worker for a second, and gives the sums of
/// queue and lateness, in seconds.
fn stopped_for_a_second(misc: &str, lun: &str) -> (f64, f64) {
    let folder = tempfile::tempdir().unwrap();
    let parm = format!(
        "misc=({misc})\nsd=sd1,lun={lun},threads=8,size=1m\nwd=wd1,sd=sd1,xfersize=4k,rdpct=100\n\
         rd=rd1,wd=wd1,iorate=1000,elapsed=5,interval=1,distribution=deterministic\n"
    );
    fs::write(folder.path().join("p.parm"), parm).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.current_dir(folder.path()).args(["-f", "p.parm", "-o", "out"]).stdout(Stdio::piped());
    let mut brunt = command.spawn().unwrap();
    let mut rows = BufReader::new(brunt.stdout.take().unwrap()).lines().map_while(Result::ok);
    // The row of the second interval, which begins the counted ones.
    let second = |row: &String| row.split_whitespace().nth(1) == Some("2");
    rows.find(second).unwrap();
    let all = events(folder.path());
    let connected = all.iter().find(|e| e["kind"] == "worker_connected").unwrap();
    let pid = connected["pid"].as_u64().unwrap();
    signal("-STOP", pid);
    std::thread::sleep(Duration::from_secs(1));
    signal("-CONT", pid);
    rows.for_each(drop);
    assert!(brunt.wait().unwrap().success());
    let all = events(folder.path());
    let times = &all.iter().find(|e| e["kind"] == "run_ended").unwrap()["times"]["read"];
    let seconds = |part: &str| times[part]["sum_ns"].as_f64().unwrap() / 1e9;
    (seconds("queue"), seconds("lateness"))
}

#[test]
fn a_stopped_generator_is_late_and_its_device_is_not() {
    let file = tempfile::NamedTempFile::new_in("/dev/shm").unwrap();
    fs::write(file.path(), vec![1; 1 << 20]).unwrap();
    for (misc, lun) in [("sim.a.hit=20u", "sim:a"), ("engine=sync", file.path().to_str().unwrap())] {
        let (queue, lateness) = stopped_for_a_second(misc, lun);
        // A thousand arrivals, each half a second late on average. To catch up takes some time of the device.
        assert!(lateness > 400.0 && queue < 50.0, "{lun}: queue {queue}, lateness {lateness}");
    }
}
