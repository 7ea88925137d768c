//! `brunt calibrate` as a user calls it. How large numbers are is the machine's business: asserted is what must always
//! hold.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

fn brunt(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    fs::create_dir_all(folder.join("tmp")).unwrap();
    command.env("TMPDIR", folder.join("tmp"));
    // Without a PATH there is neither fio nor modprobe.
    command.current_dir(folder).env("PATH", "/nonexistent").args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The five numbers of a row. The fourth is `-` where there are too few values.
fn numbers(line: &str) -> Option<[f64; 5]> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let last: [&str; 5] = words[words.len().checked_sub(5)?..].try_into().ok()?;
    let number = |word: &str| word.replace(',', "").parse::<f64>().ok();
    let (n, max) = (number(last[0])?, number(last[4])?);
    let p99 = if last[3] == "-" && n < 100.0 { max } else { number(last[3])? };
    Some([n, number(last[1])?, number(last[2])?, p99, max])
}

/// Says which rows there are, and that their numbers rise.
fn rows(page: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for line in page.lines().filter(|line| line.starts_with("  ")) {
        if let Some([n, min, p50, p99, max]) = numbers(line) {
            assert!(n >= 1.0 && min <= p50 && p50 <= p99 && p99 <= max, "{line}");
            names.push(line.get(2..46).unwrap_or(line).trim_end());
        }
    }
    names
}

fn file(folder: &Path) -> String {
    let path = folder.join("lun");
    let bytes: Vec<u8> = (0..1u32 << 20).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    fs::write(&path, bytes).unwrap();
    path.display().to_string()
}

#[test]
fn this_host_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let done = brunt(folder.path(), &["calibrate"]);
    let page = text(&done.stdout);
    assert_eq!((done.status.code(), text(&done.stderr).as_str()), (Some(0), ""), "{page}");
    for title in ["\nClock ", "\nRecording ", "\nAn I/O that takes no time (null)", "\nSleeping ", "\nIdle states\n"] {
        assert!(page.contains(title), "{title} is missing: {page}");
    }
    let rows = rows(&page);
    for row in ["a reading by system call", "a time into sums and histogram", "late by the timer, slack 1 ns"] {
        assert!(rows.contains(&row), "{row} is missing: {page}");
    }
    assert!(page.contains("a bucket of 128 ns") && page.contains("it needs a LUN that completes later"), "{page}");
    assert_eq!(page.contains("this is a debug build"), cfg!(debug_assertions), "{page}");
}

#[test]
fn a_lun_is_measured_and_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let lun = file(folder.path());
    let before = (fs::read(&lun).unwrap(), fs::metadata(&lun).unwrap().modified().unwrap());
    let done = brunt(folder.path(), &["calibrate", &lun]);
    let page = text(&done.stdout);
    assert_eq!(done.status.code(), Some(0), "{page}{}", text(&done.stderr));
    assert!(rows(&page).contains(&"sync: added to the response"), "{page}");
    assert!(page.contains(&format!("Random reads of 8192 bytes of {lun}")), "{page}");
    assert_eq!((fs::read(&lun).unwrap(), fs::metadata(&lun).unwrap().modified().unwrap()), before);
}

#[test]
fn a_kernel_without_the_module_is_told() {
    if Path::new("/sys/module/null_blk").exists() {
        // It is there: then there is nothing to tell.
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let done = brunt(folder.path(), &["calibrate", "--device"]);
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(4), "{said}");
    assert!(said.starts_with("error: this kernel has no module null_blk") && said.contains("needs root"), "{said}");
}

#[test]
fn mistakes_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let said = |arguments: &[&str]| {
        let done = brunt(folder.path(), arguments);
        (done.status.code(), text(&done.stderr))
    };
    let (status, error) = said(&["calibrate", "--rounds", "x"]);
    assert_eq!((status, error.contains("`x` is not a number")), (Some(2), true), "{error}");
    let (status, error) = said(&["calibrate", "/no/such/lun"]);
    assert_eq!((status, error.starts_with("error: cannot read /no/such/lun: ")), (Some(4), true), "{error}");
}

/// Prints what Vdbench prints, with times of the day and rows as `docs/vdbench/reports.md` §4 describes them.
const PRETENDER: &str = "#!/bin/sh
row() { echo \"12:11:0$1.372 $2 100000.0 781.25 8192 100.00 0.010 0.010 0.000 1.25 0.00 0.004 1.0 45.1 30.2\"; }
row 1 1; row 2 2; row 3 3; row 3 avg_2-3
";

#[test]
fn tools_are_compared_and_missing_ones_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let lun = file(folder.path());
    let tool = folder.path().join("vdbench");
    fs::write(&tool, PRETENDER).unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let against = format!("vdbench={},fio,vdbench=/no/such", folder.path().display());
    let arguments = ["calibrate", "--against", &against, &lun, "--threads", "1", "--seconds", "2", "--rounds", "1"];
    let done = brunt(folder.path(), &arguments);
    let page = text(&done.stdout);
    assert_eq!(done.status.code(), Some(0), "{page}{}", text(&done.stderr));
    assert!(page.contains("\nless brunt\n"), "{page}");
    let row = page.lines().find(|line| line.starts_with("  vdbench ")).unwrap();
    let words: Vec<&str> = row.split_whitespace().collect();
    // It was too quick for its CPU time to be known.
    let expected = ["vdbench", "100,000", "[100,000..100,000]", "10.000", "[10.000..10.000]", "-", "-"];
    assert_eq!(words, expected, "{page}");
    assert!(page.contains("threads=1: fio psync is left out: fio cannot be started"), "{page}");
    assert!(page.contains("threads=1: vdbench is left out: there is no /no/such/vdbench"), "{page}");
    assert_eq!(page.matches("vdbench: whole microseconds").count(), 1, "{page}");
    assert_eq!(fs::read_dir(folder.path().join("tmp")).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn every_result_has_the_generators_own_error() {
    let folder = tempfile::tempdir().unwrap();
    file(folder.path());
    let run = |parm: &str| {
        fs::write(folder.path().join("p.parm"), parm).unwrap();
        let done = brunt(folder.path(), &["-f", "p.parm", "-o", "out"]);
        assert_eq!(done.status.code(), Some(0), "{}{}", text(&done.stdout), text(&done.stderr));
        let read = |name: &str| fs::read_to_string(folder.path().join("out").join(name)).unwrap();
        (read("logfile.html"), read("events.ndjson"))
    };
    let rest = "wd=wd1,sd=sd1,xfersize=4k,rdpct=100\nrd=rd1,wd=wd1,iorate=100,elapsed=2,interval=1\n";
    let (log, events) = run(&format!("sd=sd1,lun=./lun,threads=1\n{rest}"));
    assert!(
        log.contains("host=localhost: what the generator itself adds, p50 (p99) in ns: reading the clock"),
        "{log}"
    );
    assert_eq!(events.matches(r#""kind":"own_error""#).count(), 1);
    // Where time is not real, there is nothing to be wrong about.
    let (log, events) = run(&format!("misc=(sim.a.clock=virtual)\nsd=sd1,lun=sim:a,threads=1\n{rest}"));
    assert!(!log.contains("the generator itself adds") && !events.contains("own_error"), "{log}");
}
