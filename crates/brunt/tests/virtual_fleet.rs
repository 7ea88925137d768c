//! Several workers on virtual clocks, as real processes on two hosts: every result is exact, so that two executions with
//! the same seed say the same.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::Path;
use std::process::Command;

const PARM: &str = "\
misc=(sim.a.hit=39u,sim.a.clock=virtual,sim.a.size=300m,sim.a.raw=no)
misc=(sim.b.hit=200u,sim.b.jitter=50u,sim.b.clock=virtual,sim.b.size=100m,sim.b.raw=no)
hd=default,jvms=2,system=localhost
hd=one
hd=two
sd=sd1,lun=sim:a,threads=4,hitarea=300m
sd=sd2,lun=sim:b,threads=4,hitarea=100m
wd=rnd,sd=(sd1,sd2),xfersize=4k,rdpct=70
wd=seq1,sd=sd1,xfersize=64k,seekpct=eof,rdpct=100
wd=seq2,sd=sd2,xfersize=4k,seekpct=eof,rdpct=100
rd=free,wd=rnd,iorate=max,elapsed=3,interval=1
rd=paced,wd=rnd,iorate=4000,elapsed=3,interval=1
rd=eof,wd=seq*,iorate=max,elapsed=100,interval=1
rd=both,wd=(rnd,seq2),iorate=max,elapsed=100,interval=1
rd=data,wd=rnd,iorate=max,elapsed=100,interval=1,maxdata=500m
";

/// Rows of a report: what stands behind the time of day, without the two columns of CPU.
fn rows(out: &Path, report: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(out.join(report)).unwrap();
    let row = |line: &str| {
        let words: Vec<String> = line.split_whitespace().skip(1).map(str::to_owned).collect();
        let is_row = words.len() > 11 && (words[0].parse::<u32>().is_ok() || words[0].starts_with("avg_"));
        is_row.then(|| words[..12].to_vec())
    };
    text.lines().filter_map(row).collect()
}

fn execution(folder: &Path, out: &str) -> Vec<Vec<Vec<String>>> {
    fs::write(folder.join("p.parm"), PARM).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    let done = command.current_dir(folder).args(["-f", "p.parm", "-o", out, "--seed", "7"]).output().unwrap();
    assert!(
        done.status.success(),
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
    let reports = ["summary.html", "sd1.html", "sd2.html", "one.html", "two.html", "one-0.html", "two-1.html"];
    reports.iter().map(|report| rows(&folder.join(out), report)).collect()
}

#[test]
fn all_workers_go_through_the_same_intervals_every_time() {
    let folder = tempfile::tempdir().unwrap();
    let reports = execution(folder.path(), "a");
    assert_eq!(reports, execution(folder.path(), "b"));
    let summary = &reports[0];
    let column = |n: usize| summary.iter().map(|row| row[n].as_str()).collect::<Vec<&str>>();
    let (intervals, rates) = (column(0), column(1));
    assert_eq!(intervals[..8], ["1", "2", "3", "avg_2-3", "1", "2", "3", "avg_2-3"]);
    // 300 MiB in blocks of 64k and 100 MiB in blocks of 4k: each is read once, the last in the second interval.
    assert_eq!(intervals[8..11], ["1", "2", "avg_2-2"]);
    let read: f64 = rates[8..10].iter().map(|rate| rate.parse::<f64>().unwrap()).sum();
    assert_eq!(read, 4_800.0 + 25_600.0);
    // 479 MiB a second: the limit of 500 is reached in the second interval behind the warm-up, and one more is run.
    assert_eq!(intervals[intervals.len() - 5..], ["1", "2", "3", "4", "avg_2-4"]);
}
