//! What goes wrong on devices, through the whole program: master, agent, worker and engine as real processes.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn brunt(folder: &Path, parm: &str) -> Output {
    fs::write(folder.join("p.parm"), parm).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.current_dir(folder).args(["-f", "p.parm", "-o", "out"]).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn io_that_never_returns_is_given_up_and_the_reports_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let parm = "misc=(drain=2,sim.a.hit=600s)\n\
                sd=sd1,lun=sim:a,threads=3\n\
                wd=wd1,sd=sd1,xfersize=4k,rdpct=100\n\
                rd=rd1,wd=wd1,iorate=max,elapsed=2,interval=1\n\
                rd=rd2,wd=wd1,iorate=max,elapsed=2,interval=1\n";
    let done = brunt(folder.path(), parm);
    let (console, errors) = (text(&done.stdout), text(&done.stderr));
    assert_eq!(done.status.code(), Some(9), "{console}{errors}");
    for seconds in [1, 2] {
        let row = format!("Waiting for 3 outstanding i/o; {seconds} seconds since the end of the run");
        assert!(console.contains(&row), "{console}");
    }
    let said = "outstanding I/O never returned: 3 I/Os of localhost-0 (the oldest to lun sim:a, ";
    assert!(errors.contains(said) && errors.contains("given up 2 seconds after the end of rd=rd1"), "{errors}");
    let summary = fs::read_to_string(folder.path().join("out/summary.html")).unwrap();
    assert!(summary.contains("avg_2-2") && !summary.contains("Starting RD=rd2"), "{summary}");
    let flat = fs::read_to_string(folder.path().join("out/flatfile.html")).unwrap();
    assert!(flat.lines().any(|line| line.contains("avg_2-2")), "{flat}");
    let events = fs::read_to_string(folder.path().join("out/events.ndjson")).unwrap();
    assert!(events.lines().last().unwrap().contains("\"status\":9"), "{events}");
}

#[test]
fn a_failing_sd_is_removed_and_the_other_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let parm = "data_errors=remove_device\n\
                misc=(sim.a.hit=10m,sim.a.errors=1,sim.b.hit=10m)\n\
                sd=sd1,lun=sim:a,threads=1\n\
                sd=sd2,lun=sim:b,threads=1\n\
                wd=wd1,sd=sd*,xfersize=4k,rdpct=100\n\
                rd=rd1,wd=wd1,iorate=max,elapsed=4,interval=1\n";
    let done = brunt(folder.path(), parm);
    let console = text(&done.stdout) + &text(&done.stderr);
    assert_eq!(done.status.code(), Some(5), "{console}");
    assert!(console.contains("data_errors=remove_device: sd=sd1 gets no more I/O, the other SDs go on"), "{console}");
    let rows = |sd: &str| {
        let report = fs::read_to_string(folder.path().join(format!("out/{sd}.html"))).unwrap();
        let row = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let interval = words.get(1)?.parse::<u32>().ok()?;
            Some((interval, words.get(2)?.parse::<f64>().ok()?))
        };
        report.lines().filter_map(row).collect::<Vec<_>>()
    };
    let (removed, other) = (rows("sd1"), rows("sd2"));
    assert_eq!(other.len(), 4, "{console}");
    assert!(removed.iter().all(|(n, rate)| *n < 3 || *rate == 0.0), "{removed:?}");
    assert!(other.iter().all(|(_, rate)| *rate > 0.0), "{other:?}");
}

#[test]
fn cores_that_cannot_be_had_are_told_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let said = |cores: &str| {
        let parm = format!(
            "* cores\nmisc=(cpus={cores})\nsd=sd1,lun=sim:a\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=max,elapsed=2,interval=1\n"
        );
        let done = brunt(folder.path(), &parm);
        assert!(!done.status.success());
        text(&done.stderr)
    };
    let no_range = said("3-1");
    assert!(no_range.contains("cpus= is a core or a range of cores, such as 3 or 0-3, not `3-1`"), "{no_range}");
    // A core that no machine has: only the agent knows.
    let missing = said("60000");
    assert!(missing.contains("error[setup]: host=localhost: core 60000 of misc=(cpus=) is not among"), "{missing}");
    assert!(no_range.contains("p.parm:2:7") && missing.contains("p.parm:2:7"), "{no_range}{missing}");
}

#[test]
fn too_few_open_files_are_refused_with_a_cure() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("p.parm"),
        "sd=sd1,lun=sim:a\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=max,elapsed=2,interval=1\n",
    )
    .unwrap();
    let limited = |limit: &str| {
        let call = format!("ulimit {limit}; exec '{}' -f p.parm -o out -s", env!("CARGO_BIN_EXE_brunt"));
        Command::new("sh").args(["-c", &call]).current_dir(folder.path()).output().unwrap()
    };
    let done = limited("-n 20");
    let errors = text(&done.stderr);
    assert!(errors.starts_with("error: this process may have 20 files open, and 64 are needed at least"), "{errors}");
    assert!(errors.contains("ulimit -n 1024") && errors.lines().count() == 1, "{errors}");
    assert_eq!(done.status.code(), Some(4));
    // A soft limit is raised.
    assert!(limited("-S -n 20").status.success());
}
