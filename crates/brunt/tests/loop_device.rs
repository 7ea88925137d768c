//! The cache-hit job of `parmfiles/vsp5600` on real raw devices: loop devices over files of zeros.
//! Written blocks are never zero, so what is zero afterwards was never written.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A loop device that is let go when dropped.
struct Loop {
    device: String,
    backing: PathBuf,
}

impl Loop {
    fn new(backing: PathBuf, bytes: u64) -> Option<Self> {
        fs::File::create(&backing).unwrap().set_len(bytes).unwrap();
        let made = Command::new("losetup").args(["--find", "--show"]).arg(&backing).output().ok()?;
        let device = String::from_utf8(made.stdout).ok()?.trim().to_owned();
        (made.status.success() && device.starts_with("/dev/loop")).then_some(Self { device, backing })
    }

    /// 8 KiB blocks from 8 KiB to 1 MiB (the area of the measurement) that are all zero.
    fn unwritten(&self) -> usize {
        let flushed = Command::new("blockdev").args(["--flushbufs", &self.device]).status().unwrap();
        assert!(flushed.success());
        let bytes = fs::read(&self.backing).unwrap();
        bytes[8192..1 << 20].chunks(8192).filter(|b| b.iter().all(|x| *x == 0)).count()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.device]).status();
    }
}

/// Why the test cannot run here. In CI a skip is a failure.
fn skip(why: &str) {
    assert!(std::env::var_os("BRUNT_TEST_NO_SKIP").is_none(), "must not skip here: {why}");
    eprintln!("skipped: {why}");
}

fn brunt(folder: &Path, file: &str, more: &[&str]) -> Output {
    let done = Command::new(env!("CARGO_BIN_EXE_brunt"))
        .current_dir(folder)
        .args(["-f", file, "-o", &format!("out.{file}"), "host=localhost", "lun=unused"])
        .args(more)
        .output()
        .unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{file}: {said}");
    done
}

/// A folder with the job's files, but with these devices for the 64 LUNs.
fn job(folder: &Path, loops: &[Loop]) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../parmfiles/vsp5600");
    for file in ["prefill.parm", "head.parm", "cache-hit.parm"] {
        // The same workloads with fewer steps.
        let text = fs::read_to_string(from.join(file)).unwrap();
        let text = text.replace("(1-32,d)", "(1-2,d)").replace("(10-100,10)", "(50)");
        fs::write(folder.join(file), text.replace("(100000-800000,100000)", "1000")).unwrap();
    }
    let sds = loops.iter().enumerate().map(|(i, l)| format!("sd=vsp{:02},lun={}\n", i + 1, l.device));
    let head = "* $host $lun\nhd=array_host,system=$host\nsd=default,openflags=o_direct,hitarea=1m,threads=1\n";
    let used = "hd=named_$lun,system=localhost\n";
    fs::write(
        folder.join("luns.parm"),
        format!("{}{}", head.replace("sd=default", &format!("{used}sd=default")), sds.collect::<String>()),
    )
    .unwrap();
}

#[test]
fn every_block_that_is_read_was_written() {
    let scratch = tempfile::tempdir().unwrap();
    let loops: Vec<Loop> =
        (0..2).filter_map(|i| Loop::new(scratch.path().join(format!("disk{i}")), 16 << 20)).collect();
    if loops.len() < 2 {
        return skip("no loop devices (root and losetup are needed)");
    }
    job(scratch.path(), &loops);

    let prefill = brunt(scratch.path(), "prefill.parm", &[]);
    let said = String::from_utf8_lossy(&prefill.stdout).into_owned() + &String::from_utf8_lossy(&prefill.stderr);
    assert!(said.contains("262144"), "the note on the unwritten head is missing: {said}");
    for l in &loops {
        assert_eq!(l.unwritten(), 31, "after the prefill alone, of 127 blocks");
    }

    brunt(scratch.path(), "head.parm", &[]);
    for l in &loops {
        assert_eq!(l.unwritten(), 0, "after prefill and head");
    }

    let measured = brunt(scratch.path(), "cache-hit.parm", &["-e", "2", "-w", "1"]);
    let said = String::from_utf8_lossy(&measured.stdout);
    assert!(said.contains("Starting RD=curve_(50%)") && said.contains("completed successfully"), "{said}");
}
