//! An agent that listens, a run on it, and what strangers can do to it meanwhile: nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "listen/lab.rs"]
mod lab;

#[path = "fleet/proxy.rs"]
mod proxy;
#[path = "loss/running.rs"]
mod running;
#[path = "listen/strangers.rs"]
mod strangers;

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use lab::{Lab, certificates, listening};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use running::{Running, await_end, is_there};
use strangers::{Flood, HalfOpen, knock, noise};

/// A run that goes on while something is done to its agent, and its agent's log. All its intervals came, each with its
/// I/Os, and the agent serves the next run.
fn during_a_run(what: impl FnOnce(&Lab)) -> String {
    let lab = Lab::new();
    let mut run = lab.start_run(3600);
    run.wait_for_rows(2);
    what(&lab);
    run.wait_for_rows(2);
    run.interrupt();
    let (status, text) = lab.short_run();
    assert_eq!(status, Some(0), "{text}");
    lab.end()
}

#[test]
fn somebody_without_a_certificate_is_not_served_and_stops_no_run() {
    let log = during_a_run(|lab| {
        assert!(lab::without_certificate(lab.address()).contains("CertificateRequired"));
    });
    assert!(log.contains("it showed no certificate"), "{log}");
}

#[test]
fn a_master_of_another_ca_is_not_served_and_stops_no_run() {
    let log = during_a_run(|lab| {
        let other = certificates();
        let (status, text) = lab.second_run(other.path());
        assert_eq!(status, Some(4), "{text}");
        assert!(text.contains("it was issued by another CA (Brunt CA "), "{text}");
    });
    assert!(log.contains("it refused this agent's certificate"), "{log}");
}

#[test]
fn plain_text_is_not_served_and_stops_no_run() {
    let log = during_a_run(|lab| {
        knock(lab.address(), b"GET / HTTP/1.1\r\n\r\n");
        knock(lab.address(), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
    });
    assert!(log.contains("it does not speak TLS"), "{log}");
}

#[test]
fn ten_thousand_bytes_of_noise_are_not_served_and_stop_no_run() {
    during_a_run(|lab| (1..20).for_each(|seed| knock(lab.address(), &noise(seed, 10_000))));
}

#[test]
fn half_open_connections_are_thrown_out_and_stop_no_run() {
    during_a_run(|lab| {
        let mut strangers = HalfOpen::new(lab.address());
        strangers.fill(200);
        strangers.await_end();
    });
}

#[test]
#[ignore = "it takes a minute"]
fn two_hundred_half_open_connections_for_a_minute_stop_no_run() {
    let lab = Lab::new();
    let mut run = lab.start_run(3600);
    run.wait_for_rows(2);
    let (began, mut strangers) = (Instant::now(), HalfOpen::new(lab.address()));
    while began.elapsed() < Duration::from_secs(60) {
        strangers.fill(200);
        run.wait_for_rows(1);
    }
    assert!(strangers.ended > 1000, "{}", strangers.ended);
    // Whoever has a certificate is answered in the midst of them.
    let (status, text) = lab.second_run(lab.certificates());
    assert_eq!(status, Some(4), "{text}");
    assert!(text.contains("this agent serves another master: "), "{text}");
    strangers.await_end();
    run.interrupt();
    let (status, text) = lab.short_run();
    assert_eq!(status, Some(0), "{text}");
    lab.end();
}

#[test]
fn a_flood_from_some_addresses_keeps_no_master_out() {
    let lab = Lab::new();
    let began = Instant::now();
    let flood = Flood::from(2..6, lab.address());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (way, target) = (listener.local_addr().unwrap(), lab.address().to_string());
    // It ends with the test.
    thread::spawn(move || proxy::lead(&listener, &target, Duration::from_millis(100)));
    // A handshake of several round trips takes most of a second.
    let (status, text) = lab.run_by(way);
    assert_eq!(status, Some(0), "{text}");
    let (opened, seconds) = (flood.end(), began.elapsed().as_secs() as usize + 1);
    assert!(opened > 1000, "{opened}");
    let log = lab.end();
    // One line for the first of each second, and one for the number of all others.
    for source in 2..6 {
        let of_source = log.lines().filter(|line| line.starts_with(&format!("127.0.0.{source}:")));
        let lines: Vec<&str> = of_source.filter(|line| line.contains("too many from there were at it")).collect();
        assert!(!lines.is_empty() && lines.len() <= 2 * seconds, "{seconds} s: {log}");
        assert!(lines.iter().any(|line| line.contains(" more were not let in: ")), "{log}");
    }
}

#[test]
fn a_second_master_is_told_who_is_served_and_stops_no_run() {
    let lab = Lab::new();
    let mut run = lab.start_run(3600);
    run.wait_for_rows(2);
    let (status, text) = lab.second_run(lab.certificates());
    assert_eq!(status, Some(4), "{text}");
    assert!(text.contains("this agent serves another master: "), "{text}");
    run.wait_for_rows(2);
    // One port of the agent, none of the master's.
    assert_eq!(listening(lab.agent()), [lab.address().port()]);
    assert!(listening(run.process()).is_empty());
    run.interrupt();
    lab.end();
}

#[test]
fn a_master_that_is_killed_is_followed_by_another() {
    let lab = Lab::new();
    let mut run = lab.start_run(6);
    run.wait_for_rows(2);
    run.kill();
    let (status, text, events) = lab.attach();
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("note: the master was killed; process "), "{text}");
    for interval in 1..=6 {
        assert_eq!(events.matches(&format!("\"run\":0,\"interval\":{interval},")).count(), 1, "{events}");
    }
    // The agent is free again.
    let (status, text) = lab.short_run();
    assert_eq!(status, Some(0), "{text}");
    lab.end();
}

/// The process that has started another.
fn parent(process: Pid) -> Pid {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    Pid::from_raw(stat.rsplit(')').next().unwrap().split_whitespace().nth(1).unwrap().parse().unwrap())
}

#[test]
fn an_agent_that_hangs_is_named_to_masters_and_killed_when_its_lease_is_over() {
    let lab = Lab::new();
    let parm = format!(
        "misc=(lease=15)\nhd=hosta,system={},shell=vdbench,jvms=2\nsd=sd1,lun=sim:a,threads=4\n\
         wd=wd1,sd=sd1,xfersize=4k,rdpct=100\nrd=rd1,wd=wd1,iorate=200,elapsed=3600,interval=1\n",
        lab.address()
    );
    let (program, certificates) = (Path::new(env!("CARGO_BIN_EXE_brunt")), lab.certificates().to_str().unwrap());
    let mut running =
        Running::start_with(program, tempfile::tempdir().unwrap(), &parm, &[("BRUNT_CERTS", certificates)]);
    running.until_row(2);
    let workers = [running.worker(0), running.worker(1)];
    let agent = parent(workers[0]);
    assert_eq!(parent(agent).as_raw(), i32::try_from(lab.agent()).unwrap());
    kill(agent, Signal::SIGSTOP).unwrap();
    let from = Instant::now();
    running.until("host=hosta is away: ");

    let asked = Instant::now();
    let (status, text) = lab.second_run(lab.certificates());
    assert_eq!(status, Some(4), "{text}");
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
    for part in [
        format!("the agent here (process {agent}) hangs: no sign of it for "),
        ", serving ".to_owned(),
        " UTC; it is killed in ".to_owned(),
        format!(" s, when its lease is over, or now by `kill -9 {agent}`"),
    ] {
        assert!(text.contains(&part), "{part}: {text}");
    }
    assert!(is_there(agent));
    [agent].into_iter().chain(workers).for_each(await_end);
    let alone = from.elapsed();
    assert!((14..30).contains(&alone.as_secs()), "{alone:?}");
    let ended = running.end();
    assert_eq!(ended.status, Some(7), "{}", ended.said);
    // Whichever comes first.
    let why = format!("its agent (process {agent}) hung, and was killed when its lease was over");
    let late = "and was away longer than its lease of 15 seconds; the last try to reach it: ";
    assert!(ended.said.contains(&why) || ended.said.contains(late), "{}", ended.said);
    let (status, text) = lab.short_run();
    assert_eq!(status, Some(0), "{text}");
    let log = lab.end();
    let killed = format!("the agent (process {agent}) hangs and is killed with its workers: no sign of it for 1");
    assert!(log.contains(&killed), "{log}");
}

#[test]
fn an_agent_that_cannot_be_started_is_told_to_the_master() {
    let lab = Lab::new();
    // A folder in the place of its socket.
    let socket = format!("listen-{}.sock", lab.address().to_string().replace(':', "-"));
    let socket = Path::new("/tmp").join(format!("brunt-{}", nix::unistd::geteuid())).join(socket);
    fs::create_dir_all(socket.join("x")).unwrap();
    let (status, text) = lab.second_run(lab.certificates());
    fs::remove_dir_all(&socket).unwrap();
    assert_eq!(status, Some(4), "{text}");
    assert!(
        text.contains("the agent cannot be started here: it ended before it was ready (exit status 4); see its log"),
        "{text}"
    );
    let (status, text) = lab.short_run();
    assert_eq!(status, Some(0), "{text}");
    lab.end();
}

#[test]
fn what_is_missing_is_told_with_its_cure() {
    let lab = Lab::new();
    let none = tempfile::tempdir().unwrap();
    let (status, text) = lab.second_run(none.path());
    assert_eq!(status, Some(4), "{text}");
    assert!(text.contains("brunt certs init, brunt certs issue --master"), "{text}");
    // Nothing listens there any more.
    let certificates = lab.certificates().to_owned();
    let (status, text) = lab.without_agent(&certificates);
    assert_eq!(status, Some(4), "{text}");
    assert!(text.contains("nothing listens at 127.0.0.1:"), "{text}");
}
