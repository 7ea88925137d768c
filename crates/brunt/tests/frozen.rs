//! Two hosts whose files lie on a file system that stalls: what is said meanwhile, and what the numbers show of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

#[path = "loss/running.rs"]
mod running;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use brunt_event::{Event, Interval, Record};
use running::Running;

/// How long the file system stalls.
const STALL: Duration = Duration::from_secs(5);

/// Why a test cannot run here. In CI a skip is a failure.
fn skip(why: &str) {
    assert!(std::env::var_os("BRUNT_TEST_NO_SKIP").is_none(), "must not skip here: {why}");
    eprintln!("skipped: {why}");
}

fn shell(lines: &str) -> Result<(), String> {
    let done = Command::new("/bin/sh").args(["-ec", lines]).stdin(Stdio::null()).output().unwrap();
    if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).trim().to_owned()) }
}

/// An ext4 of its own, thawed and unmounted when it is dropped.
struct Mounted(tempfile::TempDir);

impl Mounted {
    fn new() -> Result<Self, String> {
        let this = Self(tempfile::tempdir().unwrap());
        let (disk, at) = (this.0.path().join("disk"), this.path());
        shell(&format!(
            "truncate -s 64m {disk}\nmkfs.ext4 -qF {disk}\nmkdir {at}\nmount -o loop {disk} {at}",
            disk = disk.display(),
            at = at.display()
        ))?;
        Ok(this)
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("at")
    }

    fn freeze(&self) -> Frozen {
        // Whoever writes now cannot be killed: if this test dies, somebody else has to thaw.
        let late = format!("sleep 60; fsfreeze --unfreeze {}", self.path().display());
        let guard = Command::new("/bin/sh").args(["-c", &late]).spawn().unwrap();
        shell(&format!("fsfreeze --freeze {}", self.path().display())).unwrap();
        Frozen { at: self.path(), guard }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = shell(&format!("umount {}", self.path().display()));
    }
}

/// A file system that is frozen until this is dropped.
struct Frozen {
    at: PathBuf,
    guard: Child,
}

impl Drop for Frozen {
    fn drop(&mut self) {
        let thawed = shell(&format!("fsfreeze --unfreeze {}", self.at.display()));
        // Its `sleep` ends by itself.
        let _ = self.guard.kill();
        let _ = self.guard.wait();
        if !std::thread::panicking() {
            thawed.unwrap();
        }
    }
}

/// B13: there is a row each second, and it shows who waits for what; afterwards the long waits are in the numbers, and the
/// run ends on time.
#[test]
fn a_file_system_that_stalls_is_seen_in_each_row() {
    let mounted = match Mounted::new() {
        Ok(mounted) => mounted,
        Err(why) => return skip(&format!("no file system can be mounted: {why}")),
    };
    let at = mounted.path();
    let parm = format!(
        "hd=w1,system=localhost\nhd=w2,system=localhost\nsd=default,size=8m,openflags=o_direct,threads=4\n\
         sd=a,host=w1,lun={0}/a\nsd=b,host=w2,lun={0}/b\nwd=wa,sd=a,xfersize=64k,rdpct=0\nwd=wb,sd=b,xfersize=64k,rdpct=0\n\
         rd=r,wd=(wa,wb),iorate=200,elapsed=14,interval=1\n",
        at.display()
    );
    let program = Path::new(env!("CARGO_BIN_EXE_brunt"));
    let mut running = Running::start_as(program, tempfile::tempdir().unwrap(), &parm);
    running.until("Starting RD=r");
    running.until_row(3);
    let frozen = mounted.freeze();
    let from = Instant::now();
    // Rows keep coming, at their times.
    running.until_row(6);
    assert!(from.elapsed() < STALL, "{:?}", from.elapsed());
    std::thread::sleep(STALL.saturating_sub(from.elapsed()));
    drop(frozen);
    let ended = running.end();
    assert_eq!(ended.status, Some(0), "{}", ended.said);
    let (mut rows, mut longest) = (Vec::<Interval>::new(), Vec::new());
    for line in ended.events.lines() {
        match serde_json::from_str::<Record>(line).unwrap().event {
            // A format comes first.
            Event::RunStarted(_) => rows.clear(),
            Event::Interval(interval) => rows.push(*interval),
            Event::RunEnded(run) => longest = run.host_times.iter().map(|times| times.write.service.max_ns).collect(),
            _ => {}
        }
    }
    assert_eq!(rows.iter().map(|row| row.interval).collect::<Vec<_>>(), (1..=14).collect::<Vec<_>>(), "{}", ended.said);
    // Nothing was completed and all lanes of both hosts were waiting.
    let still: Vec<&Interval> = rows.iter().filter(|row| row.total.both().ops == 0).collect();
    assert!(still.len() >= 3, "{}", ended.said);
    for row in &still {
        for host in &row.hosts {
            let waiting = host.cell.busy_ns as f64 / row.length_ns as f64;
            assert!((waiting - 4.0).abs() < 0.1, "{waiting} in interval {}", row.interval);
        }
    }
    let least = (STALL - Duration::from_secs(1)).as_nanos() as u64;
    assert!(longest.len() == 2 && longest.iter().all(|max| *max >= least), "{longest:?}");
}
