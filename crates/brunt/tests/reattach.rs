//! Connections that break in mid-run, over ssh and over TLS: the run goes on, and no interval is missing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

#[path = "reattach/cable.rs"]
mod cable;
#[path = "listen/lab.rs"]
mod lab;
#[path = "loss/running.rs"]
mod running;
#[path = "ssh/sshd.rs"]
mod sshd;

use std::path::Path;

use brunt_event::{Event, Record};
use cable::Cable;
use lab::Lab;
use nix::sys::signal::{Signal, kill};
use running::{Ended, Running, await_end};
use sshd::Sshd;

/// Intervals of a run.
const INTERVALS: u32 = 12;
/// I/Os a second.
const RATE: f64 = 200.0;
/// Lanes of all workers.
const IN_FLIGHT: u64 = 4;

fn start(hosts: &str, environment: &[(&str, &str)]) -> Running {
    let parm = format!(
        "misc=(lease=60,sim.a.hit=1m)\n{hosts}\nsd=sd1,lun=sim:a,threads=4\nwd=wd1,sd=sd1,xfersize=4k,rdpct=100\n\
         rd=rd1,wd=wd1,iorate={RATE},elapsed={INTERVALS},interval=1\n"
    );
    let program = Path::new(env!("CARGO_BIN_EXE_brunt"));
    Running::start_with(program, tempfile::tempdir().unwrap(), &parm, environment)
}

/// All intervals are there, each once and with all its I/Os.
fn assert_whole(ended: &Ended) {
    assert_eq!(ended.status, Some(0), "{}", ended.said);
    let (mut intervals, mut measured, mut done) = (Vec::new(), 0, 0);
    for line in ended.events.lines() {
        match serde_json::from_str::<Record>(line).unwrap().event {
            Event::Interval(interval) => {
                let ops = interval.total.both().ops;
                assert!(ops > 0 && interval.missing_workers == 0, "{}", ended.summary);
                intervals.push(interval.interval);
                measured += ops;
            }
            Event::RunEnded(run) => done += run.totals.iter().map(|sd| sd.reads + sd.writes).sum::<u64>(),
            _ => {}
        }
    }
    assert_eq!(intervals, (1..=INTERVALS).collect::<Vec<u32>>(), "{}", ended.summary);
    assert_eq!(ended.rows(), intervals, "{}", ended.summary);
    // What workers did is what they told by intervals, but for what was in flight at the end.
    assert!((measured..=measured + IN_FLIGHT).contains(&done), "{measured} {done}: {}", ended.summary);
    // Arrivals are random: their number has a deviation of its root.
    let expected = RATE * f64::from(INTERVALS);
    assert!((done as f64 - expected).abs() < 6.0 * expected.sqrt(), "{done}: {}", ended.summary);
}

#[test]
fn a_killed_ssh_is_followed_by_another() {
    let Some(sshd) = Sshd::start("") else { return };
    let hosts = "hd=one,shell=ssh,system=hosta\nhd=two,shell=ssh,system=hosta";
    let mut running = start(hosts, &[("BRUNT_SSH", &sshd.client())]);
    running.until_row(2);
    let agents = [running.worker(0), running.worker(1)];
    // The one that began an agent, and then the one that came back to it.
    for _ in 0..2 {
        let ssh = running.child_with("hosta").expect("an ssh");
        kill(ssh, Signal::SIGKILL).unwrap();
        let away = running.until(" is away: it ");
        let host = away.split("host=").nth(1).unwrap().split(' ').next().unwrap();
        running.until(&format!("host={host} is back after"));
    }
    let ended = running.end();
    assert_whole(&ended);
    agents.into_iter().for_each(await_end);
}

#[test]
fn certificates_that_are_wrong_for_a_while_end_no_session() {
    let (lab, other) = (Lab::new(), lab::certificates());
    let cable = Cable::to(lab.address());
    let hosts = format!("hd=hosta,system={},shell=vdbench", cable.address());
    let certificates = lab.certificates().to_str().unwrap().to_owned();
    let mut running = start(&hosts, &[("BRUNT_CERTS", &certificates)]);
    running.until_row(2);
    cable.cut();
    running.until("host=hosta is away: it ");
    let kept = tempfile::tempdir().unwrap();
    let files = |from: &Path, to: &Path| {
        for file in ["ca.pem", "master.pem", "master.key"] {
            std::fs::copy(from.join(file), to.join(file)).unwrap();
        }
    };
    files(lab.certificates(), kept.path());
    files(other.path(), lab.certificates());
    cable.mend();
    // Whichever side says it.
    lab.await_log("it refused this agent's certificate");
    files(kept.path(), lab.certificates());
    running.until("host=hosta is back after");
    assert_whole(&running.end());
    lab.end();
}

#[test]
fn a_broken_tls_connection_is_followed_by_another() {
    let lab = Lab::new();
    let cable = Cable::to(lab.address());
    let hosts = format!("hd=hosta,system={},shell=vdbench", cable.address());
    let certificates = lab.certificates().to_str().unwrap().to_owned();
    let mut running = start(&hosts, &[("BRUNT_CERTS", &certificates)]);
    running.until_row(2);
    let agent = running.worker(0);
    cable.cut();
    running.until("host=hosta is away: it ");
    // It tries in vain for a while.
    cable.wait_for_knocks(2);
    cable.mend();
    running.until("host=hosta is back after");
    // And one that is there again at once.
    cable.cut();
    cable.mend();
    running.until("host=hosta is back after");
    let ended = running.end();
    assert_whole(&ended);
    await_end(agent);
    lab.end();
}
