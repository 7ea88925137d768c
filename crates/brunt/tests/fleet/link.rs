//! Cables that are pulled, sshds that die, links that are slow: what is said, what is kept, and that nothing is lost that
//! need not be.

use std::fs;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::lab::Lab;
use crate::pass::{Pass, Work};
use crate::run::{Ended, Running};

/// Cuts the cable while two runs go on, one of which has no need of it; seconds of the run, and how long it is down.
fn outage(work: Work, seconds: u64, down: Duration) {
    let Some(lab) = Lab::of(2) else { return };
    let of = |hosts| Pass { hosts, work, rate: 100, blocks: 100 * seconds };
    let (cut, whole) = (of(&["h1"]), of(&["h2"]));
    cut.luns(&lab);
    whole.luns(&lab);
    let other = lab.start_brunt("whole", &whole.parm(""));
    let mut running = lab.start_brunt("cut", &cut.parm(""));
    running.until_row(2);
    lab.cut(lab.host(1));
    let from = Instant::now();
    running.until("host=h1 is away: ");
    std::thread::sleep(down.saturating_sub(from.elapsed()));
    lab.mend(lab.host(1));
    running.until("host=h1 is back after");
    let (done, other) = (running.end(), other.end());
    cut.assert_whole(&lab, &done);
    whole.assert_whole(&lab, &other);
    assert!(!other.said.contains("is away"), "{}", other.said);
    assert_eq!(done.total_bytes("rd1"), other.total_bytes("rd1"));
    lab.hosts().iter().for_each(|host| {
        host.await_no_brunts();
    });
}

#[test]
fn a_link_that_was_down_for_a_while_costs_no_interval() {
    outage(Work::Read, 25, Duration::from_secs(12));
}

/// Half of the lease of 30 s that is the rule where anything is written.
#[test]
fn a_link_that_was_down_while_much_was_written_costs_no_interval() {
    outage(Work::Write, 28, Duration::from_secs(15));
}

#[test]
#[ignore = "slow: 100 s; .ci/run runs it"]
fn a_link_that_was_down_for_a_minute_costs_no_interval() {
    outage(Work::Read, 85, Duration::from_secs(60));
}

/// A job of an hour on all hosts, ready for trouble; so many percent are reads.
fn long_job(lab: &Lab, misc: &str, rdpct: u32) -> Running {
    lab.hosts().iter().for_each(|host| host.lun("a", 1 << 20));
    let hosts: String = (1..=lab.hosts().len()).map(|host| format!("hd=h{host}\n")).collect();
    let parm = format!(
        "misc=({misc})\nhd=default,shell=ssh,vdbench=/mnt/bin\n{hosts}sd=sd1,lun=/mnt/luns/a,threads=6\n\
         wd=wd1,sd=sd1,xfersize=4k,rdpct={rdpct}\nrd=rd1,wd=wd1,iorate=300,elapsed=3600,interval=1\n"
    );
    lab.start_brunt("job", &parm)
}

/// What a lun holds that is written to.
fn contents(lab: &Lab, host: usize) -> Vec<u8> {
    fs::read(lab.host(host).path("luns/a")).unwrap()
}

/// The last complete interval of `rd1`, as is said of one that is partial; and whose rows are there.
fn assert_partial(done: &Ended) -> u64 {
    let complete = done.said.split("warning: rd=rd1 is partial: its last complete interval is ").nth(1);
    let complete = complete.unwrap_or_else(|| panic!("nothing is partial: {}", done.said));
    let complete: u64 = complete.lines().next().unwrap().trim().parse().unwrap();
    let numbers: Vec<u64> = done.run("rd1").iter().map(|row| row.0).collect();
    assert!(numbers.starts_with(&(1..=complete).collect::<Vec<_>>()), "{}", done.said);
    let whole = done.of("interval").take(usize::try_from(complete).unwrap());
    for interval in whole {
        let hosts = interval["hosts"].as_array().unwrap();
        let worked = |host: &Value| host["cell"]["write"]["ops"].as_u64().is_some_and(|ops| ops > 0);
        assert!(interval["missing_workers"] == 0 && hosts.iter().all(worked), "{interval}");
    }
    for file in ["summary.html", "logfile.html"] {
        assert!(done.file(file).contains("rd=rd1 is partial: its last complete interval is "), "{file}");
    }
    complete
}

/// B11: a switch dies in mid-run. Who is lost, where and why is one line, the rest is stopped and kept, and whoever is
/// alone writes no longer than for its lease.
#[test]
fn a_link_that_is_down_for_longer_than_the_lease_ends_the_run() {
    let Some(lab) = Lab::of(3) else { return };
    let mut running = long_job(&lab, "lease=8", 0);
    running.until_row(3);
    lab.cut(lab.host(2));
    let cut = Instant::now();
    running.until("host=h2 is away: ");
    // Nobody has told it: it ends by its lease.
    lab.host(2).await_no_brunts();
    let alone = cut.elapsed();
    assert!(alone > Duration::from_secs(7) && alone < Duration::from_secs(23), "{alone:?}");
    let left = contents(&lab, 2);
    let done = running.end();
    done.ends_with(7);
    let lost = done.said.lines().find(|line| line.contains("Slave h2-0 aborting: the agent of host h2 "));
    let lost = lost.unwrap_or_else(|| panic!("nobody is lost: {}", done.said));
    assert!(lost.contains("was away longer than its lease of 8 seconds"), "{lost}");
    let complete = assert_partial(&done);
    let interval = format!("(rd=rd1, in interval {})", complete + 1);
    assert!(complete >= 3 && lost.contains(&interval), "{interval} is not in: {lost}");
    assert!(cut.elapsed() < Duration::from_secs(30), "{:?}: {}", cut.elapsed(), done.said);
    for host in [1, 3] {
        lab.host(host).await_no_brunts();
    }
    assert!(done.file("flatfile.html").contains("rd1"));
    assert!(contents(&lab, 2) == left, "somebody has written to h2 meanwhile");
}

/// B11, where the rest is to go on.
#[test]
fn the_rest_goes_on_without_a_host_that_is_cut_off_where_that_is_asked_for() {
    let Some(lab) = Lab::of(2) else { return };
    let mut running = long_job(&lab, "lease=6,on_worker_loss=continue", 0);
    running.until_row(3);
    lab.cut(lab.host(2));
    let said = running.until("on the rows of rd=rd1 stand for 1 of 2 workers");
    let from: u32 = said.split("from interval ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    lab.host(2).await_no_brunts();
    let left = contents(&lab, 2);
    running.until_row(from + 3);
    running.signal(Signal::SIGINT);
    let done = running.end();
    for interval in done.of("interval") {
        let missing = u64::from(interval["interval"].as_u64().unwrap() >= u64::from(from));
        assert_eq!(interval["missing_workers"], missing, "{interval}");
    }
    assert!(done.file("summary.html").contains("stand for 1 of 2 workers"));
    assert!(contents(&lab, 2) == left, "somebody has written to h2 meanwhile");
    lab.host(1).await_no_brunts();
}

#[test]
fn without_a_lease_a_cut_ends_the_work_at_once() {
    let Some(lab) = Lab::of(2) else { return };
    let mut running = long_job(&lab, "lease=0", 100);
    running.until_row(2);
    lab.host(2).signal_sshd(Signal::SIGKILL);
    let from = Instant::now();
    lab.host(2).await_no_brunts();
    assert!(from.elapsed() < Duration::from_secs(15), "{:?}", from.elapsed());
    let done = running.end();
    done.ends_with(7);
    done.says("Slave h2-0 aborting: ");
    lab.host(1).await_no_brunts();
}

#[test]
fn an_sshd_that_is_killed_and_started_again_costs_no_interval() {
    let Some(mut lab) = Lab::of(1) else { return };
    let pass = Pass { hosts: &["h1"], work: Work::Write, rate: 100, blocks: 1500 };
    pass.luns(&lab);
    let mut running = lab.start_brunt("job", &pass.parm(""));
    running.until_row(2);
    lab.host(1).signal_sshd(Signal::SIGKILL);
    running.until("host=h1 is away: ");
    assert!(!lab.host(1).brunts().is_empty(), "the agent goes on");
    lab.host_mut(1).reap_sshd();
    lab.host_mut(1).start_sshd();
    running.until("host=h1 is back after");
    let done = running.end();
    pass.assert_whole(&lab, &done);
}

#[test]
fn a_slow_link_costs_no_interval() {
    let Some(lab) = Lab::of(2) else { return };
    lab.slow(lab.host(1));
    let pass = Pass { hosts: &["h1"], work: Work::Read, rate: 100, blocks: 1000 };
    pass.luns(&lab);
    let done = lab.brunt("job", &pass.parm(""));
    pass.assert_whole(&lab, &done);
}

#[test]
fn a_long_way_costs_no_interval_and_hosts_start_together() {
    const WAY: Duration = Duration::from_millis(300);
    let Some(lab) = Lab::of(2) else { return };
    lab.delay(lab.host(1), WAY);
    lab.hosts().iter().for_each(|host| host.lun("a", 1 << 20));
    let parm = "hd=default,shell=ssh,vdbench=/mnt/bin\nhd=h1,system=far\nhd=h2\nsd=sd1,lun=/mnt/luns/a,threads=4\n\
                wd=wd1,sd=sd1,xfersize=4k,rdpct=100\nrd=rd1,wd=wd1,iorate=200,elapsed=6,interval=1\n";
    let done = lab.brunt("job", parm);
    done.ends_with(0);
    assert_eq!(done.run("rd1").iter().map(|row| row.0).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6], "{}", done.said);
    for interval in done.of("interval") {
        for host in interval["hosts"].as_array().unwrap() {
            let ops = host["cell"]["read"]["ops"].as_u64().unwrap_or(0);
            assert!((20..=180).contains(&ops), "{interval}");
        }
    }
    // The way is long, but always the same: the start is exact to a part of it.
    let ended = done.of("run_ended").next().unwrap();
    let skew = ended["start_skew_ns"].as_array().unwrap().iter().map(|host| host.as_u64().unwrap()).max().unwrap();
    assert!(Duration::from_nanos(skew) < WAY / 2, "{skew} ns");
}

#[test]
fn the_cable_of_the_master_costs_no_interval_on_any_host() {
    let Some(lab) = Lab::of(4) else { return };
    lab.hosts().iter().for_each(|host| host.lun("a", 1 << 20));
    let parm = "hd=default,shell=ssh,vdbench=/mnt/bin\nhd=h1\nhd=h2\nhd=h3\nhd=h4\nsd=sd1,lun=/mnt/luns/a,threads=4\n\
                wd=wd1,sd=sd1,xfersize=4k,rdpct=100\nrd=rd1,wd=wd1,iorate=400,elapsed=20,interval=1\n";
    let mut running = lab.start_brunt("job", parm);
    running.until_row(2);
    lab.unplug_master();
    for _ in lab.hosts() {
        running.until(" is away: ");
    }
    lab.plug_master();
    let done = running.end();
    done.ends_with(0);
    for host in lab.hosts() {
        done.says(&format!("host={} is back after", host.name()));
    }
    let rows = done.run("rd1");
    assert_eq!(rows.iter().map(|row| row.0).collect::<Vec<_>>(), (1..=20).collect::<Vec<_>>(), "{}", done.said);
    assert!(done.of("interval").all(|event| event["missing_workers"] == 0), "{}", done.said);
    let sum: u64 = rows.iter().map(|row| row.1).sum();
    assert!(sum.abs_diff(20 * 400) < 800, "{sum}: {}", done.said);
}

#[test]
fn an_interrupt_waits_for_a_host_that_is_away_and_a_second_one_does_not() {
    let Some(lab) = Lab::of(2) else { return };
    let mut running = long_job(&lab, "lease=20", 100);
    running.until_row(2);
    lab.cut(lab.host(2));
    running.until("host=h2 is away: ");
    running.signal(Signal::SIGINT);
    running.until("the end waits for host=h2, until it is back or its lease is over");
    running.signal(Signal::SIGINT);
    let from = Instant::now();
    let done = running.end();
    done.ends_with(130);
    assert!(from.elapsed() < Duration::from_secs(10), "{:?}: {}", from.elapsed(), done.said);
    assert!(!lab.host(2).brunts().is_empty(), "it has not heard of it: {}", done.said);
    lab.hosts().iter().for_each(|host| {
        host.await_no_brunts();
    });
}
