//! What the program says about parameter files and devices, as people and as editors see it (`docs/diagnostics.md`).
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::process::Command;

/// Two mistakes, something ignored, and a short form.
const MISTAKES: &str = "sd=sd1,lun=/x,el=3\nwd=w,sd=*, rdpct=3\nrd=r,wd=w,io=100,elapsed=2,bana=7\n";

fn with(text: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("p"), text).unwrap();
    // No other host is there: the program that would lead to it is not.
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.args(arguments).current_dir(folder.path()).env("BRUNT_SSH", "/nonexistent/ssh");
    let done = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (done.status.code(), text(done.stdout), text(done.stderr))
}

#[test]
fn all_mistakes_are_shown_and_counted_without_colour() {
    let (status, stdout, stderr) = with(MISTAKES, &["-f", "p", "-s"]);
    assert_eq!(status, Some(3));
    assert_eq!(stderr.matches("error[unknown-keyword]").count(), 2, "{stderr}");
    assert!(stderr.ends_with("\n2 errors, 1 warning\n"), "{stderr}");
    assert!(!stderr.contains('\u{1b}') && !stdout.contains("unknown keyword"), "{stderr}\n{stdout}");
}

#[test]
fn strict_counts_no_warning() {
    let (status, _, stderr) = with("sd=sd1,lun=/x\nrd=r,sd=sd1,iorate=1, elapsed=4\n", &["-f", "p", "-s", "--strict"]);
    assert_eq!(status, Some(3));
    assert!(stderr.ends_with("\n1 error\n"), "{stderr}");
}

#[test]
fn editors_get_one_object_a_line() {
    let (status, _, stderr) = with(MISTAKES, &["-f", "p", "-s", "--message-format", "json"]);
    assert_eq!(status, Some(3));
    let problems: Vec<serde_json::Value> = stderr.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let seen: Vec<_> = problems.iter().map(|p| (p["code"].as_str().unwrap(), p["line"].as_u64().unwrap())).collect();
    assert_eq!(seen, [("unknown-keyword", 1), ("ignored-text", 2), ("short-form", 3), ("unknown-keyword", 3)]);
    assert!(problems.iter().all(|p| p["file"] == "p"));
    assert_eq!(problems[2]["fix"]["text"], "iorate");
}

#[test]
fn problems_of_devices_are_shown_at_their_definitions() {
    let text = "sd=sd1,lun=/dev/brunt-no-such\nsd=sd2,lun=/dev/brunt-neither\nrd=r,sd=sd*,iorate=10,elapsed=2\n";
    let (status, stdout, stderr) = with(text, &["-f", "p"]);
    assert_eq!(status, Some(4));
    assert!(stderr.contains("error[setup]: sd=sd1") && stderr.contains(" --> p:1:"), "{stderr}");
    assert!(stderr.contains("error[setup]: sd=sd2") && stderr.contains(" --> p:2:"), "{stderr}");
    assert!(stderr.ends_with("\n2 errors\n"), "told once: {stderr}");
    assert!(!stdout.contains("brunt-no-such"), "{stdout}");

    let (_, _, stderr) = with(text, &["-f", "p", "--message-format=json"]);
    let problems: Vec<serde_json::Value> = stderr.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(problems.iter().map(|p| p["line"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn a_host_that_cannot_be_reached_is_told_as_a_problem() {
    let text = "hd=far,system=192.0.2.1\nsd=sd1,lun=/dev/x\nrd=r,sd=sd1,iorate=10,elapsed=2\n";
    let (status, _, stderr) = with(text, &["-f", "p"]);
    assert_eq!(status, Some(4));
    let told = "error[setup]: host=far: the agent cannot be started: ssh 192.0.2.1: `/nonexistent/ssh` cannot be run";
    assert!(stderr.contains(told), "{stderr}");
    assert!(stderr.ends_with("\n1 error\n"), "told once: {stderr}");
}
