//! The kernel as a witness, on real raw devices: loop devices over sparse files. Only reads.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use serde_json::Value;

/// A loop device that is let go when dropped.
struct Loop(String);

impl Loop {
    fn new(backing: &Path) -> Option<Self> {
        fs::File::create(backing).unwrap().set_len(16 << 20).unwrap();
        let made = Command::new("losetup").args(["--find", "--show"]).arg(backing).output().ok()?;
        let device = String::from_utf8(made.stdout).ok()?.trim().to_owned();
        (made.status.success() && device.starts_with("/dev/loop")).then_some(Self(device))
    }

    fn setting(&self, name: &str, value: &str) {
        let queue = Path::new("/sys/block").join(self.name()).join("queue");
        fs::write(queue.join(name), value).unwrap();
    }

    fn name(&self) -> &str {
        self.0.trim_start_matches("/dev/")
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

/// A device and a folder to work in; `None` where there are no loop devices. In CI that is a failure.
fn bench() -> Option<(tempfile::TempDir, Loop)> {
    let folder = tempfile::tempdir().unwrap();
    let device = Loop::new(&folder.path().join("disk"));
    if device.is_none() {
        assert!(std::env::var_os("BRUNT_TEST_NO_SKIP").is_none(), "no loop devices (root and losetup are needed)");
        eprintln!("skipped: no loop devices (root and losetup are needed)");
    }
    Some((folder, device?))
}

struct Outcome {
    /// What was found at the only device.
    device: Value,
    console: String,
    log: String,
}

/// Runs reads of the device for two seconds.
fn run(folder: &Path, device: &Loop, flags: &str, workload: &str) -> Outcome {
    let file = format!(
        "hd=default,jvms=2\nhd=localhost\nsd=sd1,lun={},threads=4{flags}\nwd=wd1,sd=sd1,rdpct=100,seekpct=100,{workload}\n\
         rd=rd1,wd=wd1,iorate=max,elapsed=2,interval=1\n",
        device.0
    );
    fs::write(folder.join("parm"), file).unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_brunt"))
        .current_dir(folder)
        .args(["-f", "parm", "-o", "out"])
        .output()
        .unwrap();
    let console = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{console}");
    let read = |name: &str| fs::read_to_string(PathBuf::from(folder).join("out").join(name)).unwrap();
    let events = read("events.ndjson");
    let mut found = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["event"].clone());
    let witnessed = found.find(|event| event["kind"] == "witnessed").unwrap_or_else(|| panic!("{console}"));
    let [device] = witnessed["devices"].as_array().unwrap().as_slice() else { panic!("{witnessed}") };
    Outcome { device: device.clone(), console, log: read("logfile.html") }
}

#[test]
fn a_clean_run_is_what_the_kernel_counted() {
    let Some((folder, device)) = bench() else { return };
    let found = run(folder.path(), &device, ",openflags=o_direct", "xfersize=4k");
    assert_eq!(found.device["device"], device.name());
    for direction in ["read", "write"] {
        assert!(found.device[direction]["difference"].is_null(), "{}", found.device);
    }
    assert!(found.device["read"]["ios"].as_u64().unwrap() > 100, "{}", found.device);
    let line = format!("rd=rd1: the kernel counted the same I/Os at {} of host=localhost", device.name());
    assert!(found.log.contains(&line), "{}", found.log);
    assert!(!found.console.contains("the kernel counted"), "{}", found.console);
}

#[test]
fn large_transfers_are_split() {
    let Some((folder, device)) = bench() else { return };
    device.setting("max_sectors_kb", "128");
    let found = run(folder.path(), &device, ",openflags=o_direct", "xfersize=1m");
    assert_eq!(found.device["read"]["difference"], "split", "{}", found.device);
    assert_eq!(found.device["max_sectors_kb"], 128);
    let [ios, commands] = ["ios", "kernel_commands"].map(|name| found.device["read"][name].as_u64().unwrap());
    assert!(commands.abs_diff(8 * ios) <= ios / 100 + 100, "{}", found.device);
    assert!(found.console.contains("I/Os were split, a command holds at most 128 KiB"), "{}", found.console);
}

#[test]
fn the_page_cache_is_named() {
    let Some((folder, device)) = bench() else { return };
    // Without any flag a raw device gets o_direct.
    let found = run(folder.path(), &device, ",openflags=fsync", "xfersize=8k");
    assert_eq!(found.device["read"]["difference"], "page_cache", "{}", found.device);
    assert!(found.console.contains("the page cache took the rest"), "{}", found.console);
}

/// Reads a device over and over, until dropped.
struct Reader(Child);

impl Reader {
    fn of(device: &Loop) -> Self {
        let script = "while dd if=$0 of=/dev/null bs=64k iflag=direct 2>/dev/null; do :; done";
        Self(Command::new("sh").args(["-c", script, &device.0]).process_group(0).spawn().unwrap())
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-9", "--", &format!("-{}", self.0.id())]).status();
        let _ = self.0.wait();
    }
}

#[test]
fn somebody_else_at_the_device_is_named() {
    let Some((folder, device)) = bench() else { return };
    let reader = Reader::of(&device);
    let found = run(folder.path(), &device, ",openflags=o_direct", "xfersize=4k");
    drop(reader);
    assert_eq!(found.device["read"]["difference"], "foreign", "{}", found.device);
    assert!(found.device["write"]["difference"].is_null(), "{}", found.device);
    assert!(found.console.contains("somebody else uses the device"), "{}", found.console);
}
