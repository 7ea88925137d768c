//! Which back end serves an SD, through the whole program.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn brunt(folder: &Path, parm: &str, more: &[&str]) -> Output {
    fs::write(folder.join("p.parm"), parm).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.current_dir(folder).args(["-f", "p.parm", "-o", "out"]).args(more).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Reads and writes that the events tell of, by back end.
fn events(folder: &Path) -> (Vec<serde_json::Value>, u64) {
    let events = fs::read_to_string(folder.join("out/events.ndjson")).unwrap();
    let events: Vec<serde_json::Value> =
        events.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["event"].take()).collect();
    let of = |kind: &'static str| events.iter().filter(move |event| event["kind"] == kind);
    let choices = of("engines").flat_map(|event| event["choices"].as_array().unwrap().clone()).collect();
    let ops = |op: &str| of("interval").map(|i| i["total"][op]["ops"].as_u64().unwrap_or(0)).sum::<u64>();
    (choices, ops("read").min(ops("write")))
}

#[test]
fn without_a_device_nothing_is_there_afterwards_and_all_reports_say_so() {
    let folder = tempfile::tempdir().unwrap();
    // The folder of a device that does not exist, a file that would be made, and one that would be overwritten.
    fs::write(folder.path().join("kept"), "kept").unwrap();
    let parm = "formatsds=yes\n\
                sd=sd1,lun=/dev/no-such-device,size=1g,threads=4\n\
                sd=sd2,lun=made,size=16m,threads=4\n\
                sd=sd3,lun=kept,size=16m,threads=4\n\
                wd=wd1,sd=sd*,xfersize=4k,rdpct=50\n\
                rd=rd1,wd=wd1,iorate=2000,elapsed=2,interval=1\n";
    let done = brunt(folder.path(), parm, &["--engine", "null"]);
    let console = text(&done.stdout) + &text(&done.stderr);
    assert_eq!(done.status.code(), Some(0), "{console}");
    let line = "engine: null for 3 SDs (sd1-sd3): engine=null: no device is touched";
    let warning = "warning: engine=null: no device is touched";
    let file = |name: &str| fs::read_to_string(folder.path().join("out").join(name)).unwrap();
    for said in [console, file("logfile.html")] {
        assert!(said.contains(line) && said.contains(warning), "{said}");
    }
    assert!(file("summary.html").contains(warning));
    assert!(!folder.path().join("made").exists());
    assert_eq!(fs::read_to_string(folder.path().join("kept")).unwrap(), "kept");
    let (choices, ops) = events(folder.path());
    assert_eq!(choices.len(), 1);
    assert_eq!((&choices[0]["backend"], &choices[0]["sds"]), (&"null".into(), &serde_json::json!([0, 1, 2])));
    assert!(ops > 100, "{ops}");
}

#[test]
fn without_a_device_and_without_a_size_there_is_nothing_to_run() {
    let folder = tempfile::tempdir().unwrap();
    let parm = "misc=(engine=null)\n\
                sd=sd1,lun=missing\n\
                wd=wd1,sd=sd*,xfersize=4k,rdpct=100\n\
                rd=rd1,wd=wd1,iorate=max,elapsed=2,interval=1\n";
    let done = brunt(folder.path(), parm, &[]);
    let errors = text(&done.stderr);
    assert_eq!(done.status.code(), Some(4), "{errors}");
    assert!(errors.contains("has no size: engine=null needs size="), "{errors}");
}

#[test]
fn what_is_asked_for_serves_the_io_where_the_host_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let parm = "sd=sd1,lun=file,size=4m,threads=4\n\
                wd=wd1,sd=sd*,xfersize=4k,rdpct=50\n\
                rd=rd1,wd=wd1,iorate=1000,elapsed=2,interval=1\n";
    let support = brunt_worker::inspect::host(&brunt_worker::inspect::Roots::default(), &[]).engines;
    for (name, missing) in [("sync", None), ("aio", support.no_aio), ("uring", support.no_uring), ("auto", None)] {
        let done = brunt(folder.path(), parm, &["--engine", name]);
        let errors = text(&done.stderr);
        if let Some(why) = missing {
            assert_eq!(done.status.code(), Some(4), "{errors}");
            let said = format!("engine={name} does not work there: {why}; use engine=auto");
            assert!(errors.contains("sd=sd1: host=localhost: ") && errors.contains(&said), "{errors}");
            continue;
        }
        assert_eq!(done.status.code(), Some(0), "{errors}");
        let (choices, ops) = events(folder.path());
        assert_eq!(choices.len(), 1);
        let backend = if name == "auto" { "sync" } else { name };
        assert_eq!(choices[0]["backend"], backend, "{choices:?}");
        assert!(ops > 100, "{ops}");
    }
}
