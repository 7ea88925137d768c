//! `brunt luns` with a host that does not answer.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

#[test]
fn a_host_that_does_not_answer_is_named_and_the_others_are_listed_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let (ssh, gate) = (folder.path().join("ssh"), folder.path().join("gate"));
    nix::unistd::mkfifo(&gate, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let script =
        format!("#!/bin/sh\nread -r line <{}\necho 'ssh: connect to host: gone' >&2\nexit 255\n", gate.display());
    fs::write(&ssh, script).unwrap();
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o700)).unwrap();
    let listed = Command::new(env!("CARGO_BIN_EXE_brunt")).args(["luns", "--host", "localhost"]).output().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_brunt"))
        .args(["luns", "--host", "dead.lab", "--host", "localhost"])
        .env("BRUNT_SSH", &ssh)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut console = BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    while !said.contains("warning: not there after 10 seconds: host=dead.lab") {
        assert_ne!(errors.read_line(&mut said).unwrap(), 0, "{said}");
    }
    // As many lines as without it, before it has answered: else this would wait for ever.
    let count = String::from_utf8(listed.stdout).unwrap().lines().count();
    for _ in 0..count {
        assert_ne!(console.read_line(&mut String::new()).unwrap(), 0);
    }
    assert!(child.try_wait().unwrap().is_none());
    fs::write(&gate, "gone\n").unwrap();
    errors.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(4), "{said}");
    assert!(said.contains("error: host=dead.lab: "), "{said}");
}
