//! Several hosts, as labels of this machine with real agents: what is wrong is told of all of them before anything is
//! written, and commands run on each.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::Path;
use std::process::Command;

const HOSTS: &str = "hd=default,system=localhost\nhd=w1\nhd=w2\nhd=w3\n";

struct Done {
    status: Option<i32>,
    /// What it said on both ways.
    said: String,
}

fn brunt(folder: &Path, parm: &str) -> Done {
    fs::write(folder.join("p.parm"), parm).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    let done = command.current_dir(folder).args(["-f", "p.parm", "-o", "out", "--seed", "7"]).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    Done { status: done.status.code(), said }
}

/// Made of 42s, so that a write would show.
fn file(path: &Path, bytes: usize) {
    fs::write(path, vec![42; bytes]).unwrap();
}

fn assert_untouched(path: &Path) {
    assert!(fs::read(path).unwrap().iter().all(|byte| *byte == 42), "{} was written to", path.display());
}

/// B25: what is wrong on two of three hosts is one list, before any I/O on any of them.
#[test]
fn a_lun_that_is_missing_and_one_that_is_too_small_are_told_together() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    file(&at("large"), 8 << 20);
    file(&at("small"), 1 << 20);
    let parm = format!(
        "{HOSTS}sd=s,host=w1,lun={large},host=w2,lun={missing},host=w3,lun={small},range=(0,4m)\n\
         wd=w,sd=s,xfersize=4k,rdpct=0,seekpct=100\nrd=r,wd=w,iorate=max,elapsed=10,interval=1\n",
        large = at("large").display(),
        missing = at("none/missing").display(),
        small = at("small").display()
    );
    let done = brunt(folder.path(), &parm);
    assert_eq!(done.status, Some(4), "{}", done.said);
    let missing = format!("sd=s: lun={} does not exist on host=w2 and has no size=", at("none/missing").display());
    let small = format!("lun={} on host=w3", at("small").display());
    let place = |text: &str| done.said.find(text).unwrap_or_else(|| panic!("no {text} in\n{}", done.said));
    place(&missing);
    place(&format!("{small} are not: one has 8388608 bytes, the other 1048576"));
    place(&format!("range=(0,4194304) reaches beyond its 1048576 bytes ({small})"));
    assert!(!done.said.contains("Starting RD"), "{}", done.said);
    assert_untouched(&at("large"));
    assert_untouched(&at("small"));
}

#[test]
fn a_device_that_no_host_has_is_told_of_each() {
    let folder = tempfile::tempdir().unwrap();
    let parm = format!(
        "{HOSTS}sd=s,lun=wwn:0x60050768018087a5b0000000ffffff99,openflags=o_direct\n\
         wd=w,sd=s\nrd=r,wd=w,iorate=max,elapsed=2,interval=1\n"
    );
    let done = brunt(folder.path(), &parm);
    assert_eq!(done.status, Some(4), "{}", done.said);
    for host in ["w1", "w2", "w3"] {
        let text = format!(
            "sd=s: lun=wwn:0x60050768018087a5b0000000ffffff99 on host={host}: there is no device with the identity \
             wwid:naa.60050768018087a5b0000000ffffff99"
        );
        assert!(done.said.contains(&text), "{}", done.said);
    }
}

#[test]
fn one_file_through_several_labels_is_one_lun() {
    let folder = tempfile::tempdir().unwrap();
    file(&folder.path().join("f"), 4 << 20);
    let lun = folder.path().join("f").display().to_string();
    let parm = format!(
        "{HOSTS}sd=s1,host=(w1,w2),lun={lun},threads=2\nsd=s2,host=w3,lun={lun},threads=2\n\
         wd=w,sd=*,rdpct=100\nrd=r,wd=w,iorate=300,elapsed=2,interval=1\n"
    );
    let done = brunt(folder.path(), &parm);
    assert_eq!(done.status, Some(0), "{}", done.said);
    let note = format!("note: sd=s1 (lun={lun} on host=w1) and sd=s2 (lun={lun} on host=w3) are the same file");
    assert!(done.said.contains(&note), "{}", done.said);
    assert_untouched(&folder.path().join("f"));
}

/// B27: a command that fails on one host of three, between two runs. It is not run before its time, the run that it was
/// for does not begin, and where it is to go on all the same, whatever comes behind is marked.
#[test]
fn a_command_that_fails_on_one_host_is_not_overlooked() {
    let folder = tempfile::tempdir().unwrap();
    // Three labels of one machine: the second that makes its folder fails. What ran before its time would be counted.
    let flush = folder.path().join("flush");
    let script = format!(
        "#!/bin/sh\ntest -f {0}/out/prep-is-over || touch {0}/too-early\nmkdir {0}/first 2>/dev/null && exit 0\n\
         mkdir {0}/second 2>/dev/null && exit 5\nexit 0\n",
        folder.path().display()
    );
    fs::write(&flush, script).unwrap();
    fs::set_permissions(&flush, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let parm = |misc: &str| {
        format!(
            "misc=({misc}sim.d.hit=1m,sim.d.clock=virtual)\n{HOSTS}sd=s,lun=sim:d\nwd=w,sd=s,xfersize=4k,rdpct=70\n\
             rd=default,wd=w,iorate=max,elapsed=2,interval=1\n\
             rd=prep,endcmd=(\"touch out/prep-is-over\",master)\nrd=test,startcmd=\"{}\"\nrd=later\n",
            flush.display()
        )
    };
    let stopped = brunt(folder.path(), &parm(""));
    assert_eq!(stopped.status, Some(8), "{}", stopped.said);
    let failed = stopped.said.lines().find(|line| line.contains("startcmd failed on w")).unwrap_or_default();
    let named = ["w1", "w2", "w3"].iter().filter(|host| failed.contains(&format!("on {host}: exit status 5"))).count();
    assert!(named == 1 && failed.ends_with(&flush.display().to_string()), "{}", stopped.said);
    assert!(stopped.said.contains("Starting RD=prep"), "{}", stopped.said);
    assert!(!stopped.said.contains("Starting RD=later"), "{}", stopped.said);
    assert!(!folder.path().join("too-early").exists(), "it was run before its time");

    for made in ["first", "second"] {
        fs::remove_dir(folder.path().join(made)).unwrap();
    }
    fs::remove_dir_all(folder.path().join("out")).unwrap();
    let warned = brunt(folder.path(), &parm("hook_failure=warn,"));
    assert_eq!(warned.status, Some(0), "{}", warned.said);
    assert!(warned.said.contains("startcmd failed on w"), "{}", warned.said);
    for file in ["summary.html", "logfile.html"] {
        let report = fs::read_to_string(folder.path().join("out").join(file)).unwrap();
        for run in ["test", "later"] {
            assert!(report.contains(&format!("rd={run} comes after a command that failed: startcmd failed on w")));
        }
        assert!(!report.contains("rd=prep comes after"), "{report}");
    }
}

#[test]
fn a_command_runs_on_each_host_and_a_failure_names_them() {
    let folder = tempfile::tempdir().unwrap();
    let misc = "misc=(sim.d.hit=1m,sim.d.clock=virtual)\n";
    let run = |start: &str| {
        format!(
            "{misc}{HOSTS}sd=s,lun=sim:d\nwd=w,sd=s\nrd=r,wd=w,iorate=max,elapsed=2,interval=1,startcmd=\"{start}\"\n"
        )
    };
    let done = brunt(folder.path(), &run("echo spoken here; exit 3"));
    assert_eq!(done.status, Some(8), "{}", done.said);
    let failed =
        "startcmd failed on w1: exit status 3; on w2: exit status 3; on w3: exit status 3: echo spoken here; exit 3";
    assert!(done.said.contains(failed), "{}", done.said);
    for host in ["w1", "w2", "w3"] {
        let log = fs::read_to_string(folder.path().join(format!("out/{host}-0.stdout.html"))).unwrap();
        assert!(log.contains("command 'echo spoken here; exit 3'") && log.contains(" spoken here\n"), "{host}: {log}");
    }
    // What is not there is told before the first run, and the run is marked when it goes on.
    let warned = brunt(folder.path(), &format!("misc=(hook_failure=warn)\n{}", run("/nonexistent/flush")));
    assert_eq!(warned.status, Some(0), "{}", warned.said);
    let place = |text: &str| warned.said.find(text).unwrap_or_else(|| panic!("no {text} in\n{}", warned.said));
    let missing = place("on host=w2 there is no `/nonexistent/flush` that may be executed, yet");
    assert!(missing < place("Starting RD=r"), "{}", warned.said);
    place("rd=r comes after a command that failed: startcmd failed on w1: exit status 127");
}
