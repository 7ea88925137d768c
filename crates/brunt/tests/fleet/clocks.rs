//! Hosts whose wall clocks are wrong, and jump: that changes nothing but a note.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::lab::{Lab, skip};
use crate::pass::{Pass, Work};

/// Moves the wall clock of a process by as many seconds as its file says, and no other clock.
const SHIFT: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, time);
    FILE *file = clock == CLOCK_REALTIME ? fopen("/mnt/clock", "r") : NULL;
    if (file) {
        long seconds = 0;
        if (fscanf(file, "%ld", &seconds) == 1) time->tv_sec += seconds;
        fclose(file);
    }
    return result;
}
"#;

/// Puts it on all hosts; `None`: that cannot be had here, which was said.
fn with_clocks(lab: &Lab) -> Option<()> {
    let (source, library) = (lab.path("shift.c"), lab.path("shift.so"));
    fs::write(&source, SHIFT).unwrap();
    let made = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).arg("-ldl").output();
    match made {
        Ok(made) if made.status.success() => {}
        Ok(made) => panic!("{}", String::from_utf8_lossy(&made.stderr)),
        Err(_) => {
            skip("there is no C compiler here");
            return None;
        }
    }
    for host in lab.hosts() {
        fs::copy(&library, host.path("shift.so")).unwrap();
        set(host.path("clock"), 0);
    }
    Some(())
}

/// Sets a clock: it is never seen half written.
fn set(clock: PathBuf, seconds: i64) {
    let new = clock.with_extension("new");
    fs::write(&new, seconds.to_string()).unwrap();
    fs::rename(new, clock).unwrap();
}

#[test]
fn clocks_that_differ_by_minutes_and_jump_change_nothing_but_a_note() {
    let Some(lab) = Lab::of(2) else { return };
    if with_clocks(&lab).is_none() {
        return;
    }
    set(lab.host(1).path("clock"), 7 * 60);
    let pass = Pass { hosts: &["h1", "h2"], work: Work::Write, rate: 100, blocks: 1200 };
    pass.luns(&lab);
    let mut running = lab.start_brunt("job", &pass.parm("misc=(become=\"env LD_PRELOAD=/mnt/shift.so\")\n"));
    running.until("host=h1: its clock is 4");
    running.until_row(4);
    set(lab.host(1).path("clock"), -3 * 3600);
    set(lab.host(2).path("clock"), 11 * 60);
    let done = running.end();
    pass.assert_whole(&lab, &done);
    for (host, seconds, way) in [("h1", 7 * 60, "ahead of"), ("h1", 3 * 3600, "behind"), ("h2", 11 * 60, "ahead of")] {
        let is_about = |line: &str| {
            let told = line.split(&format!("note: host={host}: its clock is ")).nth(1)?;
            let (number, rest) = told.split_once(' ')?;
            let off = (number.parse::<f64>().ok()? - f64::from(seconds)).abs();
            (off < 5.0 && rest.starts_with(&format!("seconds {way} ours; that changes no result"))).then_some(())
        };
        assert!(done.said.lines().any(|line| is_about(line).is_some()), "{host} {seconds}: {}", done.said);
    }
    for worse in ["warning", "is away", "late"] {
        assert!(!done.said.lines().any(|line| line.contains(worse) && line.contains("host=")), "{}", done.said);
    }
    // All intervals are of a second, and no host is out of step.
    for interval in done.of("interval") {
        let length = interval["length_ns"].as_u64().unwrap();
        let last = interval["interval"] == done.run("rd1").last().unwrap().0;
        assert!(last || length.abs_diff(1_000_000_000) < 200_000_000, "{interval}");
    }
}
