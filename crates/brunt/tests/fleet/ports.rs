//! What strangers on the network find while a job runs over ssh: each sshd, and nothing else.

use std::fs::File;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::thread::JoinHandle;

use nix::sched::{CloneFlags, setns};
use nix::sys::signal::Signal;

use crate::lab::Lab;

/// Address of the master's machine.
const MASTER: &str = "10.77.0.1";

/// Knocks at all TCP ports of an address from within a network namespace: those that open.
fn scan(network: PathBuf, address: &str) -> JoinHandle<Vec<u16>> {
    let address: Ipv4Addr = address.parse().unwrap();
    // A thread of its own: it stays in that namespace.
    std::thread::spawn(move || {
        setns(File::open(network).unwrap(), CloneFlags::CLONE_NEWNET).unwrap();
        let opens = |port: &u16| match TcpStream::connect(SocketAddr::from((address, *port))) {
            Ok(_) => true,
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => false,
            Err(error) => panic!("{address}:{port}: {error}"),
        };
        (1..=u16::MAX).filter(opens).collect()
    })
}

/// Asserts that nothing but sshd listens on any machine, by the tables of the kernel and by all TCP ports.
fn assert_only_sshd(lab: &Lab) {
    let hosts = lab.hosts().iter().map(|host| (host.name(), host.address()));
    for (name, _) in hosts.clone() {
        assert_eq!(lab.listeners(&name), ["tcp 00000000:0016", "tcp6 00000000000000000000000000000000:0016"], "{name}");
    }
    assert_eq!(lab.listeners("m"), [""; 0], "the master's machine");
    let scans: Vec<_> = hosts.map(|(name, address)| (scan(lab.network("m"), &address), name)).collect();
    let of_master = scan(lab.network("h1"), MASTER);
    for (found, name) in scans {
        assert_eq!(found.join().unwrap(), [22], "{name}");
    }
    assert_eq!(of_master.join().unwrap(), [0; 0], "the master's machine");
}

#[test]
fn a_port_scan_in_mid_run_finds_sshd_and_nothing_else() {
    let Some(lab) = Lab::of(2) else { return };
    lab.hosts().iter().for_each(|host| host.lun("a", 1 << 20));
    let parm = "hd=default,shell=ssh,vdbench=/mnt/bin,jvms=2\nhd=h1\nhd=h2\nsd=sd1,lun=/mnt/luns/a,threads=4\n\
                wd=wd1,sd=sd1,xfersize=4k,rdpct=100\nrd=rd1,wd=wd1,iorate=200,elapsed=3600,interval=1\n";
    let mut running = lab.start_brunt("job", parm);
    running.until_row(2);
    assert_only_sshd(&lab);
    // Nor where an agent waits for its master, or has taken it back.
    lab.cut(lab.host(2));
    running.until("host=h2 is away: ");
    assert_eq!(lab.listeners("h2"), ["tcp 00000000:0016", "tcp6 00000000000000000000000000000000:0016"]);
    lab.mend(lab.host(2));
    running.until("host=h2 is back after");
    assert_only_sshd(&lab);
    running.signal(Signal::SIGINT);
    let done = running.end();
    done.ends_with(130);
    // The load did not mind.
    let rows = done.run("rd1");
    assert_eq!(rows.iter().map(|row| row.0).collect::<Vec<_>>(), (1..=rows.len() as u64).collect::<Vec<_>>());
    assert!(done.of("interval").all(|event| event["missing_workers"] == 0), "{}", done.said);
    lab.hosts().iter().for_each(|host| {
        host.await_no_brunts();
    });
}
