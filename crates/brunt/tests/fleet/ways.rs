//! How hosts are reached: logins of all kinds, the program that goes along, and a job over three hosts.

use std::fs;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::host::Setup;
use crate::lab::Lab;

/// Two seconds of little work on these hosts, each with a lun of its own. `more` goes to the hosts.
fn little(hosts: &[&str], more: &str) -> String {
    let each = |line: &dyn Fn(&str) -> String| hosts.iter().map(|host| line(host)).collect::<String>();
    let hds = each(&|host| format!("hd={host}\n"));
    let sds = each(&|host| format!("sd=sd_{host},host={host},lun=/mnt/luns/a,threads=2\n"));
    format!(
        "hd=default,shell=ssh{more}\n{hds}{sds}wd=wd1,sd=*,xfersize=4k,rdpct=100\n\
         rd=rd1,wd=wd1,iorate=200,elapsed=2,interval=1\n"
    )
}

/// With Brunt on the hosts.
const THERE: &str = ",vdbench=/mnt/bin";

/// Gives each host its lun.
fn with_luns(lab: Lab) -> Lab {
    lab.hosts().iter().for_each(|host| host.lun("a", 1 << 20));
    lab
}

#[test]
fn each_host_is_a_host_of_its_own() {
    let Some(lab) = Lab::of(3) else { return };
    for host in lab.hosts() {
        let name = host.name();
        let said = lab.ssh(&name, "hostname; pwd; cat /proc/sys/kernel/random/boot_id; touch /tmp/was-here").unwrap();
        assert_eq!(said, format!("{name}\n/root\n00000000-0000-4000-8000-{:0>12}\n", &name[1..]));
        assert_eq!(lab.listeners(&name), ["tcp 00000000:0016", "tcp6 00000000000000000000000000000000:0016"]);
    }
    assert_eq!(lab.listeners("m"), [""; 0]);
    assert!(!std::path::Path::new("/tmp/was-here").exists());
    assert_eq!(lab.ssh("bench@h1", "id -un; pwd").unwrap(), "bench\n/home/bench\n");
    lab.cut(lab.host(2));
    lab.ssh("h2", "echo there").unwrap_err();
    lab.mend(lab.host(2));
    assert_eq!(lab.ssh("h2", "echo back").unwrap(), "back\n");
}

#[test]
fn three_hosts_of_twelve_workers_hit_the_cache() {
    let Some(lab) = Lab::of(3) else { return };
    for (host, lun) in lab.hosts().iter().flat_map(|host| (1..=16).map(move |lun| (host, lun))) {
        host.lun(&format!("vsp{lun:02}"), 2 << 20);
    }
    // parmfiles/vsp5600/cache-hit.parm in small.
    let parm = "hd=default,shell=ssh,vdbench=/mnt/bin,jvms=12\nhd=h1\nhd=h2\nhd=h3\n\
                sd=default,hitarea=1m,threads=1\nsd=vsp%02d,lun=/mnt/luns/vsp%02d,count=(1,16)\n\
                wd=touch,sd=vsp*,xfersize=8k,rdpct=100,seekpct=eof,range=(0,1m)\n\
                wd=hits,sd=vsp*,xfersize=8k,rdpct=100,rhpct=100,seekpct=100\n\
                rd=touch,wd=touch,iorate=max,elapsed=60,interval=1\n\
                rd=sweep,wd=hits,iorate=max,elapsed=2,interval=1,forthreads=3\n\
                rd=paced,wd=hits,iorate=(500,1000),elapsed=4,interval=1,forthreads=3\n";
    let mut running = lab.start_brunt("job", parm);
    running.until("Starting RD=paced");
    running.until_row(2);
    for host in lab.hosts() {
        let name = host.name();
        assert_eq!(lab.listeners(&name), ["tcp 00000000:0016", "tcp6 00000000000000000000000000000000:0016"]);
        let sessions = host.log().matches("Accepted publickey").count();
        assert_eq!(sessions, 1, "one session per host, not per worker: {}", host.log());
        assert_eq!(host.brunts().len(), 13, "an agent and its workers");
    }
    assert_eq!(lab.listeners("m"), [""; 0], "nothing listens on the master's machine");
    let done = running.end();
    done.ends_with(0);
    assert_eq!(done.of("worker_connected").count(), 36);
    // Each block of each hit area once, whoever reads it.
    let touched: u64 = done.run("touch").iter().map(|interval| interval.1).sum();
    assert_eq!(touched, 16 * 128, "{}", done.said);
    for (rate, rows) in [500, 1000].into_iter().zip(done.run("paced").chunks(4)) {
        assert_eq!(rows.iter().map(|row| row.0).collect::<Vec<_>>(), [1, 2, 3, 4], "{}", done.said);
        let sum: u64 = rows.iter().map(|row| row.1).sum();
        assert!(sum.abs_diff(4 * rate) < 2 * rate, "{sum} of {}\n{}", 4 * rate, done.said);
    }
    for host in lab.hosts() {
        host.await_no_brunts();
    }
}

#[test]
fn any_login_will_do() {
    let chatty = "printf 'echo \"* bench lab, no smoking *\"\\nprintf \"\\\\0\\\\377half a line\"\\n' >/root/.bashrc\n\
                  cp /root/.bashrc /root/.profile";
    let csh = Setup {
        login_shell: Some("/bin/csh"),
        lines: "echo 'echo welcome to csh' >/root/.cshrc".to_owned(),
        ..Setup::default()
    };
    let Some(lab) = Lab::start(&[Setup::with(chatty), csh]) else { return };
    assert!(lab.ssh("h1", "true").unwrap().contains("no smoking"));
    assert_eq!(lab.ssh("h2", "echo $shell").unwrap(), "welcome to csh\n/bin/csh\n");
    let lab = with_luns(lab);
    let done = lab.brunt("job", &little(&["h1", "h2"], THERE));
    done.ends_with(0);
    assert!(done.file("h1-0.stdout.html").contains("no smoking"), "{}", done.file("h1-0.stdout.html"));
    assert!(done.file("h2-0.stdout.html").contains("welcome to csh"), "{}", done.file("h2-0.stdout.html"));
}

#[test]
fn the_program_goes_where_it_fits_and_executes() {
    let noexec = "mount -o remount,noexec /root\nmount -o remount,noexec /tmp";
    let full = "mount -o remount,size=1m /root\nhead -c 900000 /dev/zero >/root/full";
    let nowhere = "for dir in /root /var/tmp /dev/shm; do mount -o remount,size=1m $dir; done\n\
                   mount -o remount,noexec /run";
    let setups = [Setup::default(), Setup::with(noexec), Setup::with(full), Setup::with(nowhere)];
    let Some(lab) = Lab::start(&setups).map(with_luns) else { return };
    let done = lab.brunt("copied", &little(&["h1", "h2", "h3"], ""));
    done.ends_with(0);
    for (host, folder) in [(1, "/root/.cache/brunt"), (2, "/var/tmp/brunt-0"), (3, "/var/tmp/brunt-0")] {
        let files = lab.host(host).shell(&format!("ls {folder}"));
        assert!(files.starts_with("brunt-") && files.lines().count() == 1, "h{host}: {files}");
        assert!(done.file(&format!("h{host}-0.stdout.html")).contains("copying"));
    }
    assert_eq!(lab.host(3).shell("ls -A /root/.cache/brunt"), "", "nothing half is left");
    // It is there now, and a host that has no room at all is told with what is wrong with each folder.
    let again = lab.brunt("again", &little(&["h1"], ""));
    again.ends_with(0);
    assert!(!again.file("h1-0.stdout.html").contains("copying"));
    let refused = lab.brunt("refused", &little(&["h1", "h4"], ""));
    refused.ends_with(4);
    refused
        .says("host=h4: the agent cannot be started: ssh h4: no folder there takes and runs a copy of the program (");
    for reason in ["/root/.cache/brunt: No space left on device", "/dev/shm/brunt-0: No space left on device"] {
        refused.says(reason);
    }
    refused.says("/run/user/0/brunt: ");
}

#[test]
fn another_version_is_refused_with_both() {
    let Some(lab) = Lab::of(1).map(with_luns) else { return };
    let program = fs::read(env!("CARGO_BIN_EXE_brunt")).unwrap();
    let ours = env!("CARGO_PKG_VERSION").as_bytes();
    let other: Vec<u8> = ours.iter().map(|byte| if *byte == b'.' { b'.' } else { b'9' }).collect();
    let mut older = program.clone();
    for at in 0..program.len() - ours.len() {
        if &program[at..at + ours.len()] == ours {
            older[at..at + ours.len()].copy_from_slice(&other);
        }
    }
    lab.host(1).shell("mkdir /mnt/older");
    fs::write(lab.host(1).path("older/brunt"), older).unwrap();
    lab.host(1).shell("chmod 755 /mnt/older/brunt");
    let done = lab.brunt("job", &little(&["h1"], ",vdbench=/mnt/older"));
    done.ends_with(4);
    done.says("master and agent do not match");
    done.says(env!("CARGO_PKG_VERSION"));
    done.says(std::str::from_utf8(&other).unwrap());
    lab.host(1).await_no_brunts();
}

#[test]
fn all_hosts_that_cannot_be_reached_are_in_one_list() {
    let Some(lab) = Lab::of(4).map(with_luns) else { return };
    let known = fs::read_to_string(lab.path("known_hosts")).unwrap();
    let (first, second) = (lab.host(1).public_key(), lab.host(2).public_key());
    fs::write(lab.path("known_hosts"), known.replace(first.trim(), second.trim())).unwrap();
    fs::write(lab.host(2).path("etc/authorized"), "").unwrap();
    lab.host(3).signal_sshd(Signal::SIGKILL);
    let done = lab.brunt("job", &little(&["h1", "h2", "h3", "h4"], THERE));
    done.ends_with(4);
    let line = |host: &str| {
        let begin = format!("host={host}: ");
        done.said.lines().find(|line| line.contains(&begin)).unwrap_or_default().to_owned()
    };
    assert!(line("h1").contains("the key of the host is not the one that is known"), "{}", done.said);
    assert!(line("h2").contains("Permission denied (publickey"), "{}", done.said);
    assert!(line("h3").contains("Connection refused"), "{}", done.said);
    assert_eq!(line("h4"), "", "{}", done.said);
    assert!(!done.said.contains("Starting RD"), "{}", done.said);
    // The host that was there is let go.
    lab.host(4).await_no_brunts();
}

#[test]
fn sudo_will_do_where_root_may_not_log_in() {
    if !std::path::Path::new("/usr/bin/sudo").exists() {
        return crate::lab::skip("there is no sudo here");
    }
    let allowed = Setup { sudoers: Some("bench ALL=(root) NOPASSWD: ALL"), ..Setup::default() };
    let Some(lab) = Lab::start(&[allowed, Setup::default()]).map(with_luns) else { return };
    let become_root = format!("misc=(become=\"sudo -n\")\n{}", little(&["h1"], ",user=bench,vdbench=/mnt/bin"));
    lab.brunt("job", &become_root).ends_with(0);
    let plain = lab.brunt("plain", &little(&["h1"], ",user=bench,vdbench=/mnt/bin"));
    plain.ends_with(4);
    plain.says("no permission to read");
    let refused = lab.brunt("refused", &become_root.replace("h1", "h2"));
    refused.ends_with(4);
    refused.says("host=h2: the agent cannot be started: ssh bench@h2: `sudo -n` was refused there: ");
    refused.says("allow it without a password (NOPASSWD in sudoers)");
}

#[test]
fn an_sshd_that_answers_after_20_seconds_is_named_and_waited_for() {
    const LATE: Duration = Duration::from_secs(20);
    let Some(lab) = Lab::of(2).map(with_luns) else { return };
    // Connections are taken by the kernel meanwhile, and nothing is said on them.
    lab.host(2).signal_sshd(Signal::SIGSTOP);
    let from = Instant::now();
    let mut running = lab.start_brunt("job", &little(&["h1", "h2"], THERE));
    running.until("not there after 10 seconds: host=h2;");
    std::thread::sleep(LATE.saturating_sub(from.elapsed()));
    lab.host(2).signal_sshd(Signal::SIGCONT);
    let done = running.end();
    done.ends_with(0);
    assert!(!done.said.contains("10 seconds: host=h1"), "{}", done.said);
    assert_eq!(done.run("rd1").len(), 2, "{}", done.said);
}

#[test]
fn a_host_behind_another_is_reached_by_the_configuration_of_ssh() {
    let Some(lab) = Lab::of(2).map(with_luns) else { return };
    let config = fs::read_to_string(lab.path("ssh_config")).unwrap();
    let inner = format!("Host inner\n  HostName {}\n  ProxyJump h1\n", lab.host(2).address());
    fs::write(lab.path("ssh_config"), inner + &config).unwrap();
    let done = lab.brunt("job", &little(&["h2"], THERE).replace("hd=h2\n", "hd=h2,system=inner\n"));
    done.ends_with(0);
    let from = format!("Accepted publickey for root from {} ", lab.host(1).address());
    assert_eq!(lab.host(2).log().matches(&from).count(), 1, "{}", lab.host(2).log());
    lab.host(2).await_no_brunts();
    assert_eq!(lab.host(1).brunts(), []);
}
