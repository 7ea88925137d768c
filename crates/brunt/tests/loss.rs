//! Workers, agents and masters that die or hang, as real processes: what is said, what is kept, and who is left.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "loss/running.rs"]
mod running;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use running::{Running, await_end, is_there};

/// Two workers on as many hosts of this machine, in real time.
fn two_hosts(misc: &str, seconds: u32) -> String {
    format!(
        "misc=({misc},sim.a.hit=1m)\nhd=left,system=localhost\nhd=right,system=localhost\n\
         sd=sd1,lun=sim:a,threads=2\nwd=wd1,sd=sd1,xfersize=4k,rdpct=100\n\
         rd=rd1,wd=wd1,iorate=200,elapsed={seconds},interval=1\n"
    )
}

#[test]
fn a_killed_agent_is_named_and_what_was_measured_is_reported() {
    let mut running = Running::start(&two_hosts("lease=0", 3600));
    running.until_row(2);
    let (left, right) = (running.worker(0), running.worker(1));
    kill(right, Signal::SIGKILL).unwrap();
    let ended = running.end();
    assert_eq!(ended.status, Some(7), "{}", ended.said);
    let lost = "Slave right-0 aborting: the agent of host right has ended (killed by signal 9) (rd=rd1, in interval";
    assert!(ended.said.contains(lost), "{}", ended.said);
    assert!(ended.said.contains("Slave right-0 prematurely terminated."), "{}", ended.said);
    let partial = "warning: rd=rd1 is partial: its last complete interval is ";
    assert!(ended.said.contains(partial) && ended.summary.contains(partial), "{}", ended.said);
    assert!(ended.rows().starts_with(&[1, 2]), "{}", ended.summary);
    assert!(ended.events.contains("\"end\":\"worker_lost\",\"complete\":false"), "{}", ended.said);
    assert!(ended.events.lines().last().unwrap().contains("\"status\":7"));
    assert!(!is_there(left), "the other agent is gone too");
}

#[test]
fn called_vdbench_it_ends_as_vdbench_does() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("vdbench");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_brunt"), &program).unwrap();
    let mut running = Running::start_as(&program, folder, &two_hosts("lease=0", 3600));
    running.until_row(1);
    kill(running.worker(0), Signal::SIGKILL).unwrap();
    let ended = running.end();
    assert_eq!(ended.status, Some(157), "{}", ended.said);
    assert!(ended.said.contains("RuntimeException: Slave left-0 prematurely terminated."), "{}", ended.said);
}

#[test]
fn a_killed_worker_of_several_ends_the_run() {
    let parm = "misc=(sim.a.hit=1m)\nhd=default,jvms=2\nhd=localhost\nsd=sd1,lun=sim:a,threads=2\n\
                wd=wd1,sd=sd1,xfersize=4k,rdpct=100\nrd=rd1,wd=wd1,iorate=200,elapsed=3600,interval=1\n";
    let mut running = Running::start(parm);
    running.until_row(2);
    let (first, second) = (running.worker(0), running.worker(1));
    kill(second, Signal::SIGKILL).unwrap();
    let ended = running.end();
    assert_eq!(ended.status, Some(7), "{}", ended.said);
    assert!(ended.said.contains("Slave localhost-1 aborting: worker localhost-1 (process "), "{}", ended.said);
    assert!(!is_there(first) && !is_there(second));
}

/// One of two workers hangs: the end comes all the same, and soon, with what was measured.
#[test]
fn an_interrupt_ends_a_run_in_which_a_worker_hangs() {
    let parm = "misc=(sim.a.hit=1m,lease=30)\nhd=default,jvms=2\nhd=localhost\nsd=sd1,lun=sim:a,threads=2\n\
                wd=wd1,sd=sd1,xfersize=4k,rdpct=100\nrd=rd1,wd=wd1,iorate=200,elapsed=3600,interval=1\n";
    let hangs = || {
        let mut running = Running::start(parm);
        running.until_row(3);
        kill(running.worker(1), Signal::SIGSTOP).unwrap();
        running
    };
    // The second one leaves now.
    let mut running = hangs();
    let hung = running.worker(1);
    running.interrupt();
    running.until("outstanding i/o");
    let from = Instant::now();
    running.interrupt();
    assert_eq!(running.end().status, Some(130));
    assert!(from.elapsed() < Duration::from_secs(5), "{:?}", from.elapsed());
    // It was stopped by this test, and ends by itself as soon as it can.
    kill(hung, Signal::SIGCONT).unwrap();
    await_end(hung);

    let running = hangs();
    let (first, second) = (running.worker(0), running.worker(1));
    let from = Instant::now();
    running.interrupt();
    let ended = running.end();
    let named = "warning: localhost-1 does not stop; waiting up to 180 seconds, Ctrl-C again leaves now";
    assert!(ended.said.contains(named), "{}", ended.said);
    assert_eq!(ended.status, Some(130), "{}", ended.said);
    assert!(from.elapsed() < Duration::from_secs(25), "{:?}: {}", from.elapsed(), ended.said);
    let lost = format!("worker localhost-1 (process {second}) has ended: it was told to stop, was silent for 1");
    assert!(ended.said.contains(&lost), "{}", ended.said);
    assert!(ended.rows().starts_with(&[1, 2, 3]), "{}", ended.summary);
    assert!(ended.events.contains("\"end\":\"signal\",\"complete\":false"), "{}", ended.said);
    assert!(!is_there(first) && !is_there(second));
}

#[test]
fn it_goes_on_without_a_lost_host_where_that_is_asked_for() {
    let mut running = Running::start(&two_hosts("lease=0,on_worker_loss=continue", 6));
    running.until_row(2);
    kill(running.worker(1), Signal::SIGKILL).unwrap();
    let ended = running.end();
    assert_eq!(ended.status, Some(7), "{}", ended.said);
    let note = "on the rows of rd=rd1 stand for 1 of 2 workers";
    assert!(ended.said.contains(note) && ended.summary.contains(note), "{}", ended.said);
    assert_eq!(ended.rows(), [1, 2, 3, 4, 5, 6], "{}", ended.summary);
    assert!(ended.summary.contains("avg_2-6"), "{}", ended.summary);
    assert!(ended.events.contains("\"missing_workers\":1"));
    let said = "on_worker_loss=continue: 1 of 2 workers were lost (right-0); the results since then are partial";
    assert!(ended.said.contains(said), "{}", ended.said);
}

#[test]
fn a_host_that_hangs_is_away_and_comes_back_with_all_its_intervals() {
    let mut running = Running::start(&two_hosts("lease=60", 12));
    running.until_row(2);
    let right = running.worker(1);
    kill(right, Signal::SIGSTOP).unwrap();
    running.until("host=right is away: it has not answered for");
    kill(right, Signal::SIGCONT).unwrap();
    running.until("host=right is back after");
    // What carries the new connection dies, which the agent survives.
    let bridge = running.child_with("--attach").expect("a bridge");
    kill(bridge, Signal::SIGKILL).unwrap();
    running.until("host=right is away: it");
    running.until("host=right is back after");
    let ended = running.end();
    assert_eq!(ended.status, Some(0), "{}", ended.said);
    assert_eq!(ended.rows(), (1..=12).collect::<Vec<u32>>(), "{}", ended.summary);
    assert!(!ended.events.contains("\"missing_workers\":1"), "{}", ended.said);
    assert!(!is_there(right));
}

#[test]
fn a_host_that_hangs_beyond_its_lease_is_lost_and_nothing_of_it_is_left() {
    let mut running = Running::start(&two_hosts("lease=8", 3600));
    running.until_row(2);
    let (left, right) = (running.worker(0), running.worker(1));
    kill(right, Signal::SIGSTOP).unwrap();
    let ended = running.end();
    assert_eq!(ended.status, Some(7), "{}", ended.said);
    assert!(ended.said.contains("and was away longer than its lease of 8 seconds"), "{}", ended.said);
    assert!(!is_there(left) && !is_there(right), "{}", ended.said);
}

#[test]
fn agents_of_a_killed_master_end_with_their_lease() {
    let mut running = Running::start(&two_hosts("lease=2", 3600));
    running.until_row(2);
    let agents = [running.worker(0), running.worker(1)];
    running.kill();
    agents.into_iter().for_each(await_end);
}

/// B26: nobody can stop them any more, their I/O hangs, and they end all the same.
#[test]
fn agents_of_a_killed_master_end_with_their_lease_while_io_hangs() {
    let mut running = Running::start(&two_hosts("lease=2", 3600).replace("sim.a.hit=1m", "sim.a.hit=600s"));
    running.until_row(2);
    let agents = [running.worker(0), running.worker(1)];
    running.kill();
    agents.into_iter().for_each(await_end);
}

/// Ends threads that burn, also where their test fails.
struct Quench<'a>(&'a AtomicBool);

impl Drop for Quench<'_> {
    fn drop(&mut self) {
        self.0.store(false, Relaxed);
    }
}

/// B19: more lanes than there are cores, large writes, and others that take the cores as well. Busy is not lost.
#[test]
fn hosts_without_idle_time_are_not_taken_for_lost_ones() {
    const BURNERS: usize = 8;
    const ROWS: u32 = 8;
    let luns = tempfile::tempdir_in("/dev/shm").unwrap();
    let parm = format!(
        "hd=left,system=localhost\nhd=right,system=localhost\nsd=default,size=64m,threads=24\n\
         sd=a,host=left,lun={0}/a\nsd=b,host=right,lun={0}/b\nwd=wd1,sd=*,xfersize=4m,rdpct=0\n\
         rd=rd1,wd=wd1,iorate=max,elapsed={ROWS},interval=1\n",
        luns.path().display()
    );
    let burning = AtomicBool::new(true);
    let ended = std::thread::scope(|scope| {
        for _ in 0..BURNERS {
            scope.spawn(|| {
                while burning.load(Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let stop = Quench(&burning);
        let ended = Running::start(&parm).end();
        drop(stop);
        ended
    });
    assert_eq!(ended.status, Some(0), "{}", ended.said);
    // Files that are not there are formatted first, in rows of their own.
    let rows = ended.rows();
    assert!(rows.ends_with(&(1..=ROWS).collect::<Vec<_>>()), "{}", ended.summary);
    for wrong in [" is away: ", "has reported nothing", "aborting"] {
        assert!(!ended.said.contains(wrong), "{}", ended.said);
    }
    assert!(!ended.events.contains("\"missing_workers\":1"), "{}", ended.said);
}

#[test]
fn a_host_whose_agent_cannot_start_is_told_with_all_the_others() {
    let folder = tempfile::tempdir().unwrap();
    // Agents are started with the program's own name: one that is no agent.
    let parm = two_hosts("retry=0,cpus=9999", 2);
    let running = Running::start_as(Path::new(env!("CARGO_BIN_EXE_brunt")), folder, &parm);
    let ended = running.end();
    assert_eq!(ended.status, Some(4), "{}", ended.said);
    for host in ["left", "right"] {
        assert!(ended.said.contains(&format!("host={host}: ")), "{}", ended.said);
    }
    assert!(ended.said.contains("2 errors"), "{}", ended.said);
}
