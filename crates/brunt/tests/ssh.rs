//! Hosts over the system's OpenSSH, with a real sshd on this machine.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

#[path = "ssh/sshd.rs"]
mod sshd;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use brunt_master::dial::{Dial, DialError, Dialed, Purpose};
use brunt_master::launch::payload::Payload;
use brunt_master::launch::ssh::{SshDial, SshHost};
use brunt_proto::v1::agent_client::AgentClient;
use brunt_proto::{PROTOCOL, v1};
use sshd::{Sshd, skip};
use tokio::io::AsyncReadExt;
use tokio::sync::mpsc;

const BRUNT: &str = env!("CARGO_BIN_EXE_brunt");
/// After so long what is awaited will not come.
const PATIENCE: Duration = Duration::from_secs(60);

fn host(system: &str) -> SshHost {
    SshHost {
        label: "hosta".to_owned(),
        system: system.to_owned(),
        user: None,
        install_dir: None,
        workers: 1,
        cores: None,
        privileges: Vec::new(),
    }
}

fn way(sshd: &Sshd, host: SshHost) -> SshDial {
    let payload = Arc::new(Payload::find(Path::new(BRUNT)).unwrap());
    SshDial::new(host, payload).with_client(&sshd.client())
}

/// Dials; what is logged meanwhile comes too.
async fn dial(way: &SshDial) -> (Result<Dialed, DialError>, Vec<String>) {
    let (log, mut lines) = mpsc::channel(1000);
    let result = way.dial(Purpose::Begin, log).await;
    let mut logged = Vec::new();
    while let Ok(line) = lines.try_recv() {
        logged.push(line);
    }
    // What comes later is of no interest; the agent must not wait for a reader.
    tokio::spawn(async move { while lines.recv().await.is_some() {} });
    (result, logged)
}

/// Greets an agent and says goodbye: version, and how what carried it has ended.
async fn meet(way: &SshDial) -> (String, Vec<String>) {
    let (result, logged) = dial(way).await;
    let Dialed { channel, carrier } = result.unwrap_or_else(|error| panic!("{error}: {logged:?}"));
    let mut client = AgentClient::new(channel);
    let request = v1::HelloRequest { protocol: PROTOCOL, ..Default::default() };
    let hello = client.hello(request).await.unwrap().into_inner();
    assert_eq!(hello.protocol, PROTOCOL);
    let _ = client.shutdown(v1::ShutdownRequest {}).await;
    let ended = carrier.unwrap().wait().await.unwrap();
    assert!(ended.success(), "{ended}");
    (hello.version, logged)
}

async fn fails(way: &SshDial) -> DialError {
    dial(way).await.0.map(|_| "a connection").unwrap_err()
}

#[tokio::test]
async fn a_host_without_brunt_gets_it_once() {
    let Some(sshd) = Sshd::start("") else { return };
    let way = way(&sshd, host("hosta"));
    let (version, logged) = meet(&way).await;
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
    assert!(logged.iter().any(|line| line.starts_with("brunt: copying ")), "{logged:?}");
    let copies: Vec<_> = std::fs::read_dir(sshd.path("cache/brunt")).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(copies.len(), 1, "{copies:?}");
    let own = Command::new(BRUNT).arg("build").output().unwrap();
    let own = String::from_utf8(own.stdout).unwrap();
    let name = copies[0].file_name().unwrap().to_str().unwrap().replace("brunt-", "sha256 ");
    assert!(own.trim_end().ends_with(&name), "{own} {name}");
    let (_, logged) = meet(&way).await;
    assert!(!logged.iter().any(|line| line.contains("copying")), "{logged:?}");
    // The user's own connection master was neither used nor made.
    let masters = std::fs::read_dir(sshd.path(""))
        .unwrap()
        .filter(|e| e.as_ref().unwrap().file_name().to_string_lossy().starts_with("master-"));
    assert_eq!(masters.count(), 0);
}

#[tokio::test]
async fn any_login_shell_will_do() {
    for shell in ["/bin/sh", "/bin/bash", "/bin/csh", "/usr/bin/tcsh", "/usr/bin/fish"] {
        if !Path::new(shell).exists() {
            if shell == "/bin/csh" {
                skip("no csh here");
            }
            continue;
        }
        // As sshd runs a login shell, with chatter before and a prompt without a line end.
        let force = format!("ForceCommand printf 'Welcome\\n%% '; exec {shell} -c \"$SSH_ORIGINAL_COMMAND\"");
        let Some(sshd) = Sshd::start(&force) else { return };
        let (_, logged) = meet(&way(&sshd, host("hosta"))).await;
        assert_eq!(logged[..2], ["Welcome", "% "], "{shell}");
    }
}

#[tokio::test]
async fn an_installed_program_is_used() {
    let Some(sshd) = Sshd::start("") else { return };
    let mut host = host("hosta");
    host.install_dir = Some(Path::new(BRUNT).parent().unwrap().to_str().unwrap().to_owned());
    host.workers = 2;
    let (_, logged) = meet(&way(&sshd, host)).await;
    assert!(!logged.iter().any(|line| line.contains("copying")), "{logged:?}");
    assert!(!sshd.path("cache/brunt").exists());
}

#[tokio::test]
async fn keys_decide_who_is_who() {
    let Some(sshd) = Sshd::start("") else { return };
    let DialError::Never(text) = fails(&way(&sshd, host("stranger"))).await else { panic!("{}", sshd.log()) };
    assert!(text.starts_with("ssh stranger: ") && text.contains("Permission denied (publickey"), "{text}");
    let DialError::Never(text) = fails(&way(&sshd, host("unknown"))).await else { panic!("{}", sshd.log()) };
    assert!(
        text.starts_with("ssh unknown: the key of the host is not known: No ED25519 host key is known for "),
        "{text}"
    );
    let DialError::Never(text) = fails(&way(&sshd, host("changed"))).await else { panic!("{}", sshd.log()) };
    let place = format!("Offending ED25519 key in {}:2", sshd.path("changed").display());
    assert!(text.contains("is not the one that is known") && text.contains(&place), "{text}");
}

#[tokio::test]
async fn a_host_that_is_not_there_is_named() {
    let Some(sshd) = Sshd::start("") else { return };
    let DialError::Never(text) = fails(&way(&sshd, host("nosuch.invalid"))).await else {
        // Without any name service the failure is one of the moment.
        return skip("no name service that knows that nosuch.invalid is no name");
    };
    assert!(text.starts_with("ssh nosuch.invalid: Could not resolve hostname nosuch.invalid: "), "{text}");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let closed = way(&sshd, host("127.0.0.1")).with_client(&format!("ssh -F none -p {port}"));
    let DialError::NotNow(text) = fails(&closed).await else { panic!("{}", sshd.log()) };
    assert!(text.contains("Connection refused"), "{text}");
}

#[tokio::test]
async fn an_agent_ends_with_its_connection() {
    // The agent inherits one end of a pipe: no child of this process, it has ended when the other end says so.
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("alive");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let mut alive = tokio::net::unix::pipe::OpenOptions::new().open_receiver(&pipe).unwrap();
    let force = format!("ForceCommand exec 7>{}; exec /bin/sh -c \"$SSH_ORIGINAL_COMMAND\"", pipe.display());
    let Some(sshd) = Sshd::start(&force) else { return };
    let (result, logged) = dial(&way(&sshd, host("hosta"))).await;
    let Dialed { channel, carrier } = result.unwrap_or_else(|error| panic!("{error}: {logged:?}"));
    let mut client = AgentClient::new(channel.clone());
    let request = v1::HelloRequest { protocol: PROTOCOL, ..Default::default() };
    let hello = client.hello(request).await.unwrap().into_inner();
    assert_eq!(std::fs::read_link(format!("/proc/{}/fd/7", hello.worker_pids[0])).unwrap(), pipe);
    drop((carrier, client, channel));
    // With no lease the agent ends at once.
    let ended = tokio::time::timeout(PATIENCE, alive.read_u8()).await.expect("the agent ends");
    assert_eq!(ended.unwrap_err().kind(), std::io::ErrorKind::UnexpectedEof);
}

/// Neither disk nor console of the master is theirs, and the reports show what they said as text.
#[test]
fn a_login_that_prints_without_end_is_bounded() {
    let force = "ForceCommand printf 'a <b>bold</b>\\033[2J\\n' >&2; yes again >&2 & /bin/sh -c \"$SSH_ORIGINAL_COMMAND\"; kill $!";
    let Some(sshd) = Sshd::start(force) else { return };
    let (done, said) = run(&sshd, "hd=one,shell=ssh,system=hosta", "");
    assert!(done.status.success(), "{said}\n{}", sshd.log());
    let log = std::fs::read_to_string(sshd.path("out/one-0.stdout.html")).unwrap();
    assert!(log.contains(" a &lt;b&gt;bold&lt;/b&gt;\\x1b[2J\n"), "{}", &log[..log.len().min(2000)]);
    let told = log.lines().filter(|line| line.contains(" lines were dropped here: ")).count();
    let kept = log.lines().filter(|line| line.ends_with(" again")).count();
    // A hundred a second, whatever else this machine does; each second that lacked some says so.
    assert!(told >= 3 && kept <= 100 * (told + 1), "{told} times, {kept} lines");
    assert!(!said.contains('\u{1b}'), "{said}");
}

/// Runs a parameter file with two hosts behind one sshd.
fn run(sshd: &Sshd, hosts: &str, more: &str) -> (std::process::Output, String) {
    let lun = sshd.path("lun");
    std::fs::File::create(&lun).unwrap().set_len(4 << 20).unwrap();
    let file = format!(
        "{more}hd=default,jvms=2\n{hosts}\nsd=sd1,lun={},size=4m,threads=8\nwd=wd1,sd=sd1,rdpct=100,xfersize=4k\n\
         rd=rd1,wd=wd1,iorate=200,elapsed=3,interval=1\n",
        lun.display()
    );
    std::fs::write(sshd.path("job.parm"), file).unwrap();
    let done = Command::new(BRUNT)
        .env("BRUNT_SSH", sshd.client())
        .current_dir(sshd.path(""))
        .args(["-f", "job.parm", "-o", "out"])
        .output()
        .unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    (done, said)
}

#[test]
fn a_job_runs_over_two_hosts() {
    let Some(sshd) = Sshd::start("") else { return };
    let (done, said) =
        run(&sshd, "hd=one,shell=ssh,system=hosta\nhd=two,system=hosta", "misc=(become=\"env WHO=me\")\n");
    assert!(done.status.success(), "{said}\n{}", sshd.log());
    assert!(said.contains("execution completed successfully"), "{said}");
    assert!(said.contains("host two is reached by ssh, where Vdbench uses rsh; shell=ssh says so"), "{said}");
    let files = |name: &str| std::fs::read_to_string(sshd.path("out").join(name)).unwrap();
    for worker in ["one-0", "one-1", "two-0", "two-1"] {
        assert!(files(&format!("{worker}.html")).contains("rd1"), "{worker}");
    }
    assert_eq!(files("events.ndjson").matches("\"worker_connected\"").count(), 4, "{said}");
    assert_eq!(std::fs::read_dir(sshd.path("cache/brunt")).unwrap().count(), 1, "both hosts share a home");
}

#[test]
fn all_hosts_that_cannot_be_reached_are_named_at_once() {
    let Some(sshd) = Sshd::start("") else { return };
    let hosts = "hd=one,shell=ssh,system=stranger\nhd=two,shell=ssh,system=changed\nhd=three,shell=ssh,system=hosta";
    let (done, said) = run(&sshd, hosts, "");
    assert_eq!(done.status.code(), Some(4), "{said}");
    let line = |host: &str| said.lines().find(|line| line.contains(&format!("host={host}: "))).unwrap_or_default();
    assert!(line("one").contains("ssh stranger: ") && line("one").contains("Permission denied (publickey"), "{said}");
    assert!(line("two").contains("ssh changed: the key of the host is not the one that is known"), "{said}");
    assert_eq!(line("three"), "", "{said}");
    // What ssh said is in the log of each.
    let log = std::fs::read_to_string(sshd.path("out/one-0.stdout.html")).unwrap();
    assert!(log.contains("Permission denied (publickey"), "{log}");
}

/// `brunt luns`, with the paths that it lists by host.
fn luns(sshd: &Sshd, words: &[&str]) -> (Option<i32>, BTreeSet<(String, String)>, String) {
    let mut command = Command::new(BRUNT);
    command.env("BRUNT_SSH", sshd.client()).current_dir(sshd.path("")).arg("luns").arg("--json").args(words);
    let done = command.output().unwrap();
    let rows: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let text = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap().to_owned();
    let rows = rows.as_array().unwrap().iter().map(|row| (text(row, "host"), text(row, "path"))).collect();
    (done.status.code(), rows, String::from_utf8_lossy(&done.stderr).into_owned())
}

#[test]
fn disks_of_hosts_are_listed() {
    let Some(sshd) = Sshd::start("") else { return };
    // Devices come and go beside this test: those count that are there before and after.
    let (_, before, _) = luns(&sshd, &[]);
    std::fs::write(sshd.path("hosts.parm"), "hd=default,shell=ssh\nhd=one,system=$lab\nhd=two,system=hosta\n").unwrap();
    let words = ["-f", "hosts.parm", "lab=hosta", "--host", "root@stranger", "--host", "localhost"];
    let (status, listed, said) = luns(&sshd, &words);
    let (_, after, _) = luns(&sshd, &[]);
    assert_eq!(status, Some(4), "{said}");
    assert!(said.contains("error: host=stranger: ssh root@stranger: ") && said.contains("Permission denied"), "{said}");
    for (_, path) in before.intersection(&after) {
        for host in ["one", "two", "localhost"] {
            assert!(listed.contains(&(host.to_owned(), path.clone())), "{host} {path}: {listed:?} {said}");
        }
    }
    assert!(!listed.iter().any(|(host, _)| host == "stranger"), "{listed:?}");
    let (_, alone, said) = luns(&sshd, &["--host=hosta"]);
    assert!(alone.iter().all(|(host, _)| host == "hosta"), "{said}");
    assert_eq!(alone.is_empty(), before.is_empty() && after.is_empty(), "{said}");
}

#[test]
fn an_installed_program_of_another_build_is_named() {
    let Some(sshd) = Sshd::start("") else { return };
    let installed = sshd.path("brunt");
    let mut program = std::fs::read(BRUNT).unwrap();
    // What is behind the end of a program changes nothing but its digest.
    program.push(0);
    std::fs::write(&installed, program).unwrap();
    std::fs::set_permissions(&installed, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let folder = sshd.path("").display().to_string();
    let hosts = format!("hd=one,shell=ssh,system=hosta,vdbench={folder}\nhd=two,shell=ssh,system=hosta");
    let (done, said) = run(&sshd, &hosts, "");
    assert!(done.status.success(), "{said}");
    let version = env!("CARGO_PKG_VERSION");
    let told = format!("host=one: another build of brunt {version} (SHA-256 ");
    assert!(said.contains(&told), "{said}");
    assert_eq!(said.matches("another build").count(), 1, "{said}");
}

/// The run goes on over new connections, and with nothing missing.
#[test]
fn a_master_that_is_killed_is_followed_by_another() {
    let Some(sshd) = Sshd::start("") else { return };
    let file = "hd=one,shell=ssh,system=hosta\nhd=two,shell=ssh,system=hosta\nsd=sd1,lun=sim:a\n\
                rd=r,sd=sd1,iorate=100,elapsed=8,interval=1\n";
    std::fs::write(sshd.path("job.parm"), file).unwrap();
    let brunt = |words: &[&str]| {
        let mut command = Command::new(BRUNT);
        command.env("BRUNT_SSH", sshd.client()).current_dir(sshd.path("")).args(words).output().unwrap()
    };
    let begun = brunt(&["-f", "job.parm", "-o", "out", "--detach"]);
    assert!(begun.status.success(), "{}{}", String::from_utf8_lossy(&begun.stdout), sshd.log());
    let events = || std::fs::read_to_string(sshd.path("out/events.ndjson")).unwrap();
    let begun = Instant::now();
    while !events().contains("\"interval\":2,") {
        assert!(begun.elapsed() < PATIENCE, "{}", events());
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = events().split_once("\"pid\":").unwrap().1.split_once(',').unwrap().0.parse().unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL).unwrap();
    let done = brunt(&["attach", "out"]);
    let said = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert_eq!(done.status.code(), Some(0), "{said}\n{}", sshd.log());
    assert!(said.contains("note: the master was killed; process "), "{said}");
    let events = events();
    for interval in 1..=8 {
        assert_eq!(events.matches(&format!("\"run\":0,\"interval\":{interval},")).count(), 1, "{said}");
    }
    assert!(events.contains("\"end\":\"elapsed\",\"complete\":true"), "{said}");
    assert!(!events.contains("\"missing_workers\":1"), "{said}");
}
