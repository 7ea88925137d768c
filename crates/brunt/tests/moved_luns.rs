//! A path that means something else in a later run: nothing is written to what it means then.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

use std::fs;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const SIZE: u64 = 4 << 20;

/// A loop device that is let go when dropped.
struct Loop(String);

impl Loop {
    fn new(backing: &Path) -> Option<Self> {
        let made = Command::new("losetup").args(["--find", "--show"]).arg(backing).output().ok()?;
        let device = String::from_utf8(made.stdout).ok()?.trim().to_owned();
        (made.status.success() && device.starts_with("/dev/loop")).then_some(Self(device))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

/// Why the test cannot run here. In CI a skip is a failure.
fn skip(why: &str) {
    assert!(std::env::var_os("BRUNT_TEST_NO_SKIP").is_none(), "must not skip here: {why}");
    eprintln!("skipped: {why}");
}

/// A file of zeros.
fn zeros(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    fs::File::create(&path).unwrap().set_len(SIZE).unwrap();
    path
}

fn is_zero(path: &Path) -> bool {
    fs::read(path).unwrap().iter().all(|byte| *byte == 0)
}

/// Two runs that write to `lun`, with a command between them.
fn two_runs(folder: &Path, general: &str, lun: &Path, between: &str) -> Output {
    let parm = format!(
        "{general}sd=sd1,lun={},size=4m,threads=2\nwd=wd1,sd=sd1,xfersize=4k,rdpct=0\n\
         rd=default,wd=wd1,iorate=200,elapsed=2,interval=1\nrd=first\nrd=second,startcmd=\"{between}\"\n",
        lun.display()
    );
    fs::write(folder.join("p.parm"), parm).unwrap();
    let mut brunt = Command::new(env!("CARGO_BIN_EXE_brunt"));
    brunt.current_dir(folder).args(["-f", "p.parm", "-o", "out"]).output().unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The second run was refused, in these words.
fn refused(output: &Output, words: &[&str]) {
    let said = said(output);
    assert!(!output.status.success(), "{said}");
    for word in words {
        assert!(said.contains(word), "no `{word}` in: {said}");
    }
}

#[test]
fn a_link_that_is_turned_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    for general in ["", "hd=default,jvms=2\n"] {
        let (mine, other) = (zeros(folder.path(), "mine"), zeros(folder.path(), "other"));
        let link = folder.path().join("link");
        let _ = fs::remove_file(&link);
        symlink(&mine, &link).unwrap();
        let output = two_runs(folder.path(), general, &link, "ln -sfn other link");
        refused(
            &output,
            &["host=localhost", "sd=sd1: ", "link was the file local:file:", "and now is the file local:"],
        );
        assert!(!is_zero(&mine) && is_zero(&other));
    }
}

#[test]
fn files_that_the_runs_make_are_theirs_until_they_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("made");
    let output = two_runs(folder.path(), "", &made, "true");
    assert!(output.status.success(), "{}", said(&output));
    // It is formatted first, and not there when the hosts are asked.
    fs::remove_file(&made).unwrap();
    let output = two_runs(folder.path(), "", &made, "mv made kept; truncate -s 4m made");
    refused(&output, &["made was the file local:file:", "and now is the file local:file:"]);
    assert!(is_zero(&made) && !is_zero(&folder.path().join("kept")));
}

#[test]
fn a_device_is_looked_at_before_each_run() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["mine", "other"].map(|name| zeros(folder.path(), name));
    let (Some(mine), Some(other)) = (Loop::new(&files[0]), Loop::new(&files[1])) else {
        return skip("no loop devices (root and losetup are needed)");
    };
    let output = two_runs(folder.path(), "", Path::new(&mine.0), "true");
    assert!(output.status.success(), "{}", said(&output));

    let link = folder.path().join("disk");
    symlink(&mine.0, &link).unwrap();
    let output = two_runs(folder.path(), "", &link, &format!("ln -sfn {} disk", other.0));
    refused(&output, &["disk was the device ", "and now is the device "]);

    // The same name and number, another disk behind it.
    let turn = format!("losetup --detach {0} && losetup {0} third", mine.0);
    let third = zeros(folder.path(), "third");
    let output = two_runs(folder.path(), "", Path::new(&mine.0), &turn);
    refused(&output, &[&format!("{} was the device ", mine.0)]);
    assert!(is_zero(&third));

    // The same disk, which somebody has put to use.
    let label = "printf 'LVM2 001' | dd of=third bs=1 seek=536 conv=notrunc status=none";
    let third_device = Loop::new(&third).unwrap();
    let output = two_runs(
        folder.path(),
        "",
        Path::new(&third_device.0),
        &format!("{label}; blockdev --flushbufs {}", third_device.0),
    );
    refused(&output, &["carries an LVM physical volume", "misc=(overwrite=sd1)"]);
    drop(third_device);
    let mut label = [0; 8];
    fs::File::open(&third).unwrap().read_exact_at(&mut label, 536).unwrap();
    assert_eq!((&label, is_zero(&files[1])), (b"LVM2 001", true));
}
