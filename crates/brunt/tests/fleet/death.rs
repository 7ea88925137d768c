//! Masters, agents and workers on hosts that die or hang: who is named, what is kept, and that nobody is left.

use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::lab::Lab;
use crate::run::Running;

/// Time for an end, on a machine that has much else to do. The shortest lease that is the rule is 30 s.
const SLACK: Duration = Duration::from_secs(15);

/// A job of an hour on hosts of two workers each.
fn long_job(lab: &Lab, misc: &str) -> Running {
    lab.hosts().iter().for_each(|host| host.lun("a", 1 << 20));
    let hosts: String = (1..=lab.hosts().len()).map(|host| format!("hd=h{host}\n")).collect();
    let parm = format!(
        "misc=({misc})\nhd=default,shell=ssh,vdbench=/mnt/bin,jvms=2\n{hosts}sd=sd1,lun=/mnt/luns/a,threads=8\n\
         wd=wd1,sd=sd1,xfersize=4k,rdpct=100\nrd=rd1,wd=wd1,iorate=200,elapsed=3600,interval=1\n"
    );
    lab.start_brunt("job", &parm)
}

fn all_gone(lab: &Lab) {
    for host in lab.hosts() {
        host.await_no_brunts();
    }
}

#[test]
fn agents_of_a_killed_master_go_on_for_their_lease_and_no_longer() {
    let Some(lab) = Lab::of(2) else { return };
    let mut running = long_job(&lab, "lease=6");
    running.until_row(3);
    running.signal(Signal::SIGKILL);
    let from = Instant::now();
    // The work goes on: the kernel counts its reads.
    for host in lab.hosts() {
        assert_eq!(host.brunts().len(), 3);
        let reads = |pid: &Pid| std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap();
        let workers = host.brunts();
        let before: Vec<String> = workers.iter().map(reads).collect();
        while workers.iter().map(reads).eq(before.iter().cloned()) {
            std::thread::yield_now();
        }
    }
    assert!(from.elapsed() < Duration::from_secs(6), "{:?}", from.elapsed());
    all_gone(&lab);
    let alone = from.elapsed();
    assert!(alone > Duration::from_secs(4) && alone < Duration::from_secs(6) + SLACK, "{alone:?}");
    // Nothing of the session is left but why it ended.
    for host in lab.hosts() {
        let left = host.shell("ls /tmp/brunt-0");
        assert!(left.trim().ends_with(".ended") && left.lines().count() == 1, "{left}");
        let why = host.shell("cat /tmp/brunt-0/*.ended");
        assert!(why.contains("nothing came from its master for the lease of 6 s"), "{why}");
    }
}

#[test]
fn without_a_lease_agents_end_with_their_master() {
    let Some(lab) = Lab::of(2) else { return };
    let mut running = long_job(&lab, "lease=0");
    running.until_row(2);
    running.signal(Signal::SIGKILL);
    let from = Instant::now();
    all_gone(&lab);
    assert!(from.elapsed() < SLACK, "{:?}", from.elapsed());
}

#[test]
fn without_a_lease_workers_of_an_agent_that_hangs_end_within_seconds() {
    let Some(lab) = Lab::of(1) else { return };
    let mut running = long_job(&lab, "lease=0");
    running.until_row(2);
    let workers = [running.worker(0), running.worker(1)];
    let host = &lab.hosts()[0];
    let agent = host.brunts().into_iter().find(|pid| !workers.contains(pid)).expect("an agent");
    kill(agent, Signal::SIGSTOP).unwrap();
    let from = Instant::now();
    // Nobody waits for the ends of its children, so that there is no event here either.
    while host.brunts() != [agent] {
        assert!(from.elapsed() < Duration::from_secs(6) + SLACK, "{:?}", host.brunts());
        std::thread::sleep(Duration::from_millis(20));
    }
    kill(agent, Signal::SIGKILL).unwrap();
    running.end().ends_with(7);
    all_gone(&lab);
}

#[test]
fn an_interrupt_of_the_master_ends_a_run_in_order() {
    let Some(lab) = Lab::of(2) else { return };
    let mut running = long_job(&lab, "lease=30");
    running.until_row(2);
    running.signal(Signal::SIGINT);
    let done = running.end();
    done.ends_with(130);
    assert!(done.run("rd1").len() >= 2, "{}", done.said);
    assert!(lab.hosts().iter().all(|host| host.brunts().is_empty()), "they have said goodbye");
}

/// B25: one that fails after the start ends all within an interval, and the good part is kept.
#[test]
fn a_killed_worker_is_named_with_its_host_and_the_others_stop() {
    let Some(lab) = Lab::of(3) else { return };
    let mut running = long_job(&lab, "lease=30");
    running.until_row(3);
    // The second of the second host.
    kill(running.worker(3), Signal::SIGKILL).unwrap();
    let done = running.end();
    done.ends_with(7);
    done.says("Slave h2-1 aborting: worker h2-1 (process ");
    done.says("(rd=rd1, in interval ");
    let complete = done.said.split("rd=rd1 is partial: its last complete interval is ").nth(1).expect("it is partial");
    let complete: usize = complete.lines().next().unwrap().trim().parse().unwrap();
    let rows = done.run("rd1").len();
    assert!(
        complete >= 3 && (complete..=complete + 2).contains(&rows),
        "{rows} rows, {complete} complete: {}",
        done.said
    );
    all_gone(&lab);
    assert!(done.file("summary.html").contains("rd=rd1 is partial"));
}

#[test]
fn the_rest_goes_on_without_a_killed_worker_where_that_is_asked_for() {
    let Some(lab) = Lab::of(3) else { return };
    let mut running = long_job(&lab, "on_worker_loss=continue");
    running.until_row(3);
    kill(running.worker(3), Signal::SIGKILL).unwrap();
    running.until("on the rows of rd=rd1 stand for 5 of 6 workers");
    running.until_row(7);
    running.signal(Signal::SIGINT);
    let done = running.end();
    assert!(done.of("interval").any(|event| event["missing_workers"] == 1), "{}", done.said);
    all_gone(&lab);
}

#[test]
fn a_worker_that_hangs_is_waited_for_and_then_named() {
    let Some(lab) = Lab::of(2) else { return };
    let mut running = long_job(&lab, "lease=30");
    running.until_row(3);
    let worker = running.worker(1);
    kill(worker, Signal::SIGSTOP).unwrap();
    std::thread::sleep(Duration::from_secs(5));
    kill(worker, Signal::SIGCONT).unwrap();
    // It has missed nothing that it would not have measured: rows go on, and are whole.
    running.until_row(10);
    kill(worker, Signal::SIGSTOP).unwrap();
    let from = Instant::now();
    running.until("warning: worker h1-1 has reported nothing since interval ");
    let done = running.end();
    done.ends_with(7);
    assert!(from.elapsed() < Duration::from_secs(60) + SLACK, "{:?}: {}", from.elapsed(), done.said);
    done.says("Slave h1-1 aborting: ");
    done.says("warning: rd=rd1 is partial: its last complete interval is ");
    let rows: Vec<u64> = done.run("rd1").iter().map(|row| row.0).collect();
    assert_eq!(rows, (1..=rows.len() as u64).collect::<Vec<_>>(), "{}", done.said);
    assert!(done.of("interval").take(10).all(|event| event["missing_workers"] == 0), "{}", done.said);
    all_gone(&lab);
}
