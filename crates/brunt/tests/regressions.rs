//! Real files that are written in odd ways, as their authors ran them: shortened keywords, dangling commas.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::Command;

/// What `-s` says of a text: its runs, and what stands on standard error.
fn simulate(text: &str, more: &[&str]) -> (Vec<String>, String) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("p"), text).unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_brunt"))
        .args(["-f", "p", "-o", "out"])
        .args(more)
        .current_dir(folder.path())
        .output()
        .unwrap();
    let out = String::from_utf8(done.stdout).unwrap();
    let runs = out.lines().filter_map(|l| l.split_once(" RD=")).map(|(_, run)| run.to_owned()).collect();
    (runs, String::from_utf8(done.stderr).unwrap())
}

#[test]
fn shortened_keywords_mean_the_long_ones() {
    let short = "data_err=1,messagescan=no\nhd=w1,system=localhost\n\
        sd=a,hd=w1,lun=/dev/TGT0,openf=o_direct,thr=16\nsd=b,hd=w1,lun=/dev/TGT1,openf=o_direct,thr=4\n\
        wd=w,sd=(a,b),seek=1,xfer=8k,rdp=70\nrd=r,wd=w,sd=*,iorate=max,elap=20,int=1\n";
    let long = "data_errors=1,messagescan=no\nhd=w1,system=localhost\n\
        sd=a,host=w1,lun=/dev/TGT0,openflags=o_direct,threads=16\n\
        sd=b,host=w1,lun=/dev/TGT1,openflags=o_direct,threads=4\n\
        wd=w,sd=(a,b),seekpct=1,xfersize=8k,rdpct=70\nrd=r,wd=w,sd=*,iorate=max,elapsed=20,interval=1\n";
    let (runs, said) = simulate(short, &["-s"]);
    assert_eq!(runs, simulate(long, &["-s"]).0);
    assert_eq!(runs, ["r; I/O rate: Uncontrolled MAX; elapsed=20; For loops: None"]);
    for keyword in ["data_errors", "openflags", "threads", "seekpct", "xfersize", "rdpct", "elapsed", "interval"] {
        assert!(said.contains(&format!("is short for `{keyword}=`")), "{keyword}: {said}");
    }
    assert!(said.contains("`seekpct=1` is 1 % random"), "{said}");
}

#[test]
fn a_run_does_not_preach_about_short_keywords() {
    let text = "misc=(sim.a.clock=virtual)\nsd=a,lun=sim:a\nwd=w,sd=a,xf=8k\nrd=r,wd=w,io=10,el=2,in=1\n";
    assert!(simulate(text, &["-s"]).1.contains("short for"));
    let (runs, said) = simulate(text, &[]);
    assert_eq!(runs, ["r; I/O rate: 10; elapsed=2; For loops: None"]);
    assert_eq!(said, "");
}

#[test]
fn dangling_commas_join_lines_and_are_noted() {
    let text = "sd=default,threads=8,openflags=o_direct,\nsd=s0,lun=/dev/TGT0\nwd=w1,sd=s*,rdpct=30,seekpct=100,\n\
        rd=r1,wd=w*,iorate=max,elapsed=20,interval=2,forxfersize=(64k-4k,d),\n";
    let (runs, said) = simulate(text, &["-s"]);
    let sizes: Vec<&str> = runs.iter().map(|r| r.rsplit('=').next().unwrap()).collect();
    assert_eq!(sizes, ["64k", "32k", "16k", "8k", "4k"]);
    assert_eq!(said.matches("joins the next").count(), 4, "two notes, each with its mark: {said}");

    // The twin: a blank behind a comma hides the rest of the line.
    let (_, said) =
        simulate("sd=s0,lun=/x,size=1m\nwd=w1,sd=s*,rdpct=30, seekpct=0\nrd=r1,wd=w1,iorate=1,elapsed=2\n", &["-s"]);
    assert!(said.contains("seekpct=0"), "{said}");
}

#[test]
fn definitions_that_no_run_uses_are_noted() {
    let text = "misc=(sim.a.clock=virtual)\nsd=sd1,lun=sim:a\nsd=sd2,lun=/y,size=1m\nwd=wd1,sd=sd1\nwd=wd2,sd=sd1\n\
        wd=wd3,sd=sd1\nrd=r,wd=wd1,iorate=1,elapsed=2\n";
    let (_, said) = simulate(text, &["-s"]);
    assert!(said.contains("no run uses storage definition `sd2`"), "{said}");
    assert!(said.contains("no run uses 2 workload definitions: wd2, wd3"), "{said}");
    assert_eq!(simulate(text, &[]).1, "");
}
