//! The numbers of several hosts, from real agents to `events.ndjson`: every total is the sum of its parts, whichever way
//! they are cut. Simulated devices on virtual clocks, so that rates and sizes are exact.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::Path;
use std::process::Command;

use brunt_event::{Event, Interval, Record, RunEnded, RunStarted};
use brunt_stats::Cell;

/// Two hosts with unequal rates and sizes, more than one workload on one of them, more than one run in the file.
const PARM: &str = "\
misc=(sim.a.hit=100u,sim.a.clock=virtual,sim.a.size=300m,sim.b.hit=900u,sim.b.clock=virtual,sim.b.size=100m)
hd=default,system=localhost
hd=w1,jvms=2
hd=w2
sd=a,host=w1,lun=sim:a,hitarea=300m
sd=b,host=w2,lun=sim:b,hitarea=100m
sd=c,lun=sim:a,threads=6,hitarea=300m
wd=x1,sd=a,xfersize=4k,rdpct=100,iorate=200,priority=1
wd=x2,sd=a,xfersize=8k,rdpct=100,iorate=100,priority=2
wd=y,sd=b,xfersize=64k,rdpct=0,iorate=70,priority=3
wd=z,sd=c,xfersize=16k,rdpct=50,priority=4
rd=default,elapsed=4,interval=1,distribution=deterministic,threads=2
rd=r1,wd=(x1,x2,y),iorate=370
rd=r2,wd=(x1,x2),iorate=300
rd=r3,wd=(x1,x2,y,z),iorate=1370
";

/// A run with its intervals.
struct Seen {
    started: RunStarted,
    intervals: Vec<Interval>,
    ended: RunEnded,
}

fn runs(folder: &Path) -> Vec<Seen> {
    fs::write(folder.join("p.parm"), PARM).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    let done = command.current_dir(folder).args(["-f", "p.parm", "-o", "out", "--seed", "7"]).output().unwrap();
    let console = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{console}");
    let text = fs::read_to_string(folder.join("out/events.ndjson")).unwrap();
    let mut seen = Vec::new();
    let (mut started, mut intervals) = (None, Vec::new());
    for line in text.lines() {
        match serde_json::from_str::<Record>(line).unwrap().event {
            Event::RunStarted(run) => started = Some(run),
            Event::Interval(interval) => intervals.push(*interval),
            Event::RunEnded(ended) => {
                let started = started.take().unwrap();
                seen.push(Seen { started, intervals: std::mem::take(&mut intervals), ended: *ended });
            }
            _ => {}
        }
    }
    seen
}

/// What adds up: I/Os, bytes, sums of times and outstanding I/Os.
fn sums(cells: impl IntoIterator<Item = Cell>) -> [u64; 7] {
    let of = |c: Cell| [c.read.ops, c.read.bytes, c.read.sum_ns, c.write.ops, c.write.bytes, c.write.sum_ns, c.busy_ns];
    cells.into_iter().map(of).fold([0; 7], |mut all, one| {
        all.iter_mut().zip(one).for_each(|(sum, part)| *sum += part);
        all
    })
}

/// B15: more than one workload, more than one run, and every total is there.
#[test]
fn sums_agree_across_all_cuts_of_every_run() {
    let folder = tempfile::tempdir().unwrap();
    let runs = runs(folder.path());
    assert_eq!(runs.iter().map(|run| run.started.plan.name.as_str()).collect::<Vec<_>>(), ["r1", "r2", "r3"]);
    for Seen { started, intervals, ended } in &runs {
        let name = &started.plan.name;
        assert_eq!(intervals.len(), 4, "{name}");
        for interval in intervals {
            let total = sums([interval.total]);
            assert!(total[0] + total[3] > 0, "{name}: nothing was done");
            assert_eq!(total, sums(interval.hosts.iter().map(|host| host.cell)), "{name} {}: hosts", interval.interval);
            assert_eq!(total, sums(interval.workers.iter().copied()), "{name} {}: workers", interval.interval);
            assert_eq!(total, sums(interval.sds.iter().copied()), "{name} {}: SDs", interval.interval);
            assert_eq!(total, sums(interval.wds.iter().copied()), "{name} {}: WDs", interval.interval);
        }
        // The times of the counted intervals are those of their I/Os, in every cut.
        let counted = sums(intervals.iter().filter(|interval| !interval.warmup).map(|interval| interval.total));
        let reads = |times: &brunt_stats::Times| times.read.service.hist.count();
        let writes = |times: &brunt_stats::Times| times.write.service.hist.count();
        for (cut, parts) in [
            ("total", std::slice::from_ref(&ended.times)),
            ("hosts", &ended.host_times),
            ("SDs", &ended.sd_times),
            ("WDs", &ended.wd_times),
        ] {
            let sums = (parts.iter().map(reads).sum::<u64>(), parts.iter().map(writes).sum::<u64>());
            assert_eq!(sums, (counted[0], counted[3]), "{name}: times of {cut}");
        }
    }
}

#[test]
fn unequal_hosts_add_up_and_are_not_averaged() {
    let folder = tempfile::tempdir().unwrap();
    let runs = runs(folder.path());
    for interval in runs[0].intervals.iter().skip(1) {
        let [reads, read_bytes, read_ns, writes, write_bytes, write_ns, _] = sums([interval.total]);
        assert_eq!((reads, read_bytes), (300, 200 * 4096 + 100 * 8192));
        assert_eq!((writes, write_bytes), (70, 70 * 65_536));
        // 100 µs and 900 µs, weighted by I/Os.
        assert_eq!((read_ns, write_ns), (300 * 100_000, 70 * 900_000));
    }
}

/// Name, I/Os and MB a second of each run that has an average in a report.
fn averages(report: &Path) -> Vec<(String, f64, f64)> {
    let text = fs::read_to_string(report).unwrap();
    let (mut run, mut found) = (String::new(), Vec::new());
    for line in text.lines() {
        if let Some((_, rest)) = line.split_once("Starting RD=") {
            rest.split(';').next().unwrap().clone_into(&mut run);
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.get(1).is_some_and(|word| word.starts_with("avg_")) {
            found.push((run.clone(), words[2].parse().unwrap(), words[3].parse().unwrap()));
        }
    }
    found
}

/// B15: nobody has to add up by hand. The reports have an average of each run for all, each host, worker, SD and WD.
#[test]
fn totals_are_in_the_reports_by_all_cuts_of_every_run() {
    let folder = tempfile::tempdir().unwrap();
    runs(folder.path());
    let report = |name: &str| averages(&folder.path().join(format!("out/{name}.html")));
    let all = report("summary");
    assert_eq!(all.iter().map(|(run, ..)| run.as_str()).collect::<Vec<_>>(), ["r1", "r2", "r3"]);
    for cut in [&["w1", "w2"][..], &["w1-0", "w1-1", "w2-0"], &["a", "b", "c"], &["x1", "x2", "y", "z"]] {
        for (run, ios, mb) in &all {
            let parts = cut.iter().flat_map(|name| report(name)).filter(|(of, ..)| of == run);
            let (mut sum_ios, mut sum_mb) = (0.0, 0.0);
            parts.for_each(|(_, part_ios, part_mb)| (sum_ios, sum_mb) = (sum_ios + part_ios, sum_mb + part_mb));
            // Each is rounded to its last digit.
            assert!((sum_ios - ios).abs() < 0.3, "{run} of {cut:?}: {sum_ios} I/Os, {ios} in all");
            assert!((sum_mb - mb).abs() < 0.03, "{run} of {cut:?}: {sum_mb} MB, {mb} in all");
        }
    }
}
