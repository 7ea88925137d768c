//! Masters that are killed while hosts work for them: another one goes on over new ssh, and nothing is missing.

use crate::host::Host;
use crate::lab::Lab;
use crate::pass::{Pass, Work};

/// Logins that an sshd has let in.
fn logins(lab: &Lab, host: usize) -> usize {
    lab.host(host).log().matches("Accepted publickey").count()
}

#[test]
fn a_killed_master_is_followed_by_whoever_attaches_and_costs_no_interval() {
    let Some(lab) = Lab::of(2) else { return };
    let pass = Pass { hosts: &["h1", "h2"], work: Work::Write, rate: 100, blocks: 1800 };
    pass.luns(&lab);
    let mut running = lab.start_brunt("job", &pass.parm("").replace("/mnt/bin", "/mnt/bin,jvms=2"));
    running.until_row(3);
    let agents: Vec<_> = lab.hosts().iter().map(Host::brunts).collect();
    assert!(agents.iter().all(|of_host| of_host.len() == 3), "{agents:?}");
    running.kill();
    assert!(lab.path("job/out/takeover.json").exists());
    let mut attached = lab.attach("job");
    attached.until("note: the master was killed; process ");
    // It is begun with again while the run goes on.
    attached.until_row(10);
    for (host, were) in lab.hosts().iter().zip(&agents) {
        let are = host.brunts();
        assert!(were.iter().all(|pid| are.contains(pid)), "{are:?} are not {were:?}: the same processes go on");
    }
    let done = attached.end();
    pass.assert_whole(&lab, &done);
    assert_eq!(done.of("taken_over").count(), 1, "{}", done.said);
    assert_eq!((logins(&lab, 1), logins(&lab, 2)), (2, 2), "one for each master");
    done.says("execution completed successfully");
    assert_eq!(done.file("summary.html").matches("Starting RD=rd1").count(), 1, "{}", done.file("summary.html"));
    assert!(!lab.path("job/out/takeover.json").exists(), "the tokens are gone with the sessions");
    lab.hosts().iter().for_each(|host| {
        host.await_no_brunts();
    });
}

/// Both at once: the master dies while the cable of a host is out, and its successor waits for that host.
#[test]
fn a_successor_waits_for_a_host_that_is_away() {
    let Some(lab) = Lab::of(2) else { return };
    let pass = Pass { hosts: &["h1", "h2"], work: Work::Write, rate: 100, blocks: 2200 };
    pass.luns(&lab);
    let mut running = lab.start_brunt("job", &pass.parm(""));
    running.until_row(2);
    lab.cut(lab.host(2));
    running.until("host=h2 is away: ");
    running.kill();
    let mut attached = lab.attach("job");
    attached.until("note: the master was killed; process ");
    lab.mend(lab.host(2));
    let done = attached.end();
    pass.assert_whole(&lab, &done);
    lab.hosts().iter().for_each(|host| {
        host.await_no_brunts();
    });
}
