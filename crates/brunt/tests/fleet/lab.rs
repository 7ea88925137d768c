//! The lab of one test: a namespace for the master, one for the switch, one for each host, and all that belongs to them.
//! Nothing of it is left when it is dropped; what a killed test has left, the next one removes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tempfile::TempDir;

use crate::host::{Host, Setup};
use crate::proxy;

/// Labs of this process so far: their names differ.
static LABS: AtomicU32 = AtomicU32::new(0);

/// Where network namespaces have their names.
const NAMESPACES: &str = "/run/netns";

/// Where labs have their folders.
const FOLDERS: &str = env!("CARGO_TARGET_TMPDIR");

/// A master's machine and hosts around a switch.
pub struct Lab {
    /// What the names of its namespaces begin with: `brunt-PID-NUMBER`.
    name: String,
    hosts: Vec<Host>,
    folder: TempDir,
}

/// Why a test cannot run here. In CI a skip is a failure.
pub fn skip(why: &str) {
    assert!(std::env::var_os("BRUNT_TEST_NO_SKIP").is_none(), "must not skip here: {why}");
    eprintln!("skipped: {why}");
}

/// Whether everything is here that a lab is made of; if not, that is said.
fn possible() -> bool {
    if !nix::unistd::geteuid().is_root() {
        skip("network namespaces need root");
        return false;
    }
    let tools = ["ip", "ssh", "ssh-keygen", "nsenter", "unshare", "flock"];
    let missing = tools.iter().find(|tool| !answers(tool)).copied();
    let missing = missing.or((!Path::new("/usr/sbin/sshd").exists()).then_some("sshd"));
    if let Some(tool) = missing {
        skip(&format!("there is no {tool} here"));
    }
    missing.is_none()
}

/// Whether a tool can be started.
fn answers(tool: &str) -> bool {
    Command::new(tool).arg("-V").stdin(Stdio::null()).output().is_ok()
}

/// Lines that make a namespace. The first of a machine mounts their folder, which must not happen twice at once.
fn add(name: &str) -> String {
    format!("mkdir -p /run/lock\nflock /run/lock/brunt-netns ip netns add {name}\nip -n {name} link set dev lo up\n")
}

/// Runs lines of shell; what they said when they fail.
pub fn shell(lines: &str) -> Result<String, String> {
    let done = Command::new("/bin/sh").args(["-ec", lines]).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    if done.status.success() { Ok(said) } else { Err(said + &String::from_utf8_lossy(&done.stderr)) }
}

impl Lab {
    /// Makes a lab with a host for each setup: `h1`, `h2` and so on. `None`: that cannot be had here, which was said.
    pub fn start(setups: &[Setup]) -> Option<Self> {
        if !possible() {
            return None;
        }
        sweep();
        let number = LABS.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("lab-{}-", std::process::id());
        let folder = tempfile::Builder::new().prefix(&prefix).tempdir_in(FOLDERS).unwrap();
        // A login that is not root's must come through.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let mut lab = Self { name: format!("brunt-{}-{number}", std::process::id()), hosts: Vec::new(), folder };
        if let Err(why) = shell(&add(&lab.namespace("s"))) {
            skip(&format!("network namespaces cannot be made here: {}", why.trim()));
            return None;
        }
        shell(&lab.wiring(setups.len())).unwrap();
        shell(&format!("ssh-keygen -q -t ed25519 -N '' -f {}", lab.path("client_key").display())).unwrap();
        for (at, setup) in setups.iter().enumerate() {
            let namespace = lab.namespace(&format!("h{}", at + 1));
            lab.hosts.push(Host::prepare(at + 1, namespace, lab.folder.path(), setup));
        }
        lab.configure_client();
        // All at once: each waits for its own.
        std::thread::scope(|scope| {
            for host in &mut lab.hosts {
                scope.spawn(|| host.boot());
            }
        });
        Some(lab)
    }

    /// A lab of so many usual hosts.
    pub fn of(hosts: usize) -> Option<Self> {
        let setups: Vec<Setup> = (0..hosts).map(|_| Setup::default()).collect();
        Self::start(&setups)
    }

    /// Lines that make namespaces, and cables between them and the switch.
    fn wiring(&self, hosts: usize) -> String {
        let (master, switch) = (self.namespace("m"), self.namespace("s"));
        let cable = |name: &str, port: &str, address: u32| {
            format!(
                "ip -n {switch} link add name {port} type veth peer name eth0 netns {name}\n\
                 ip -n {switch} link set dev {port} master br0 up\n\
                 ip -n {name} address add 10.77.0.{address}/24 dev eth0\n\
                 ip -n {name} link set eth0 up\n"
            )
        };
        let mut lines = add(&master);
        lines += &format!(
            "ip -n {switch} link add name br0 type bridge forward_delay 0\nip -n {switch} link set dev br0 up\n"
        );
        lines += &cable(&master, "m", 1);
        for at in 1..=hosts {
            let host = self.namespace(&format!("h{at}"));
            lines += &add(&host);
            lines += &cable(&host, &format!("h{at}"), 10 + u32::try_from(at).unwrap());
        }
        lines
    }

    /// The network namespace of a machine of this lab, `m` being the master's.
    pub fn network(&self, machine: &str) -> PathBuf {
        Path::new(NAMESPACES).join(self.namespace(machine))
    }

    fn namespace(&self, part: &str) -> String {
        format!("{}-{part}", self.name)
    }

    /// What the master's ssh has to know.
    fn configure_client(&self) {
        let at = self.folder.path().display();
        let mut config = String::new();
        let mut known = String::new();
        for host in &self.hosts {
            config += &format!("Host {}\n  HostName {}\n", host.name(), host.address());
            known += &format!("{} {}", host.address(), host.public_key());
        }
        // The first value counts: others may come before.
        config += &format!(
            "Host *\n  User root\n  IdentityFile {at}/client_key\n  IdentitiesOnly yes\n  IdentityAgent none\n  \
             GlobalKnownHostsFile /dev/null\n  UserKnownHostsFile {at}/known_hosts\n  StrictHostKeyChecking yes\n"
        );
        fs::write(self.path("ssh_config"), config).unwrap();
        fs::write(self.path("known_hosts"), known).unwrap();
    }

    pub fn host_mut(&mut self, number: usize) -> &mut Host {
        &mut self.hosts[number - 1]
    }

    /// A host, by its number from 1.
    pub fn host(&self, number: usize) -> &Host {
        &self.hosts[number - 1]
    }

    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// A file of this lab, on the master's machine.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// How the master is to call ssh.
    pub fn client(&self) -> String {
        format!("ssh -F {}", self.path("ssh_config").display())
    }

    /// A command on the master's machine. It has the process number of this child.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={NAMESPACES}/{}", self.namespace("m"))).args(["--", program]);
        command
    }

    /// Runs a command on a host over ssh, as anybody would: what it said.
    pub fn ssh(&self, host: &str, command: &str) -> Result<String, String> {
        let mut ssh = self.command("ssh");
        ssh.arg("-F").arg(self.path("ssh_config")).args(["-oBatchMode=yes", "-oConnectTimeout=2", host, command]);
        let done = ssh.stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        if done.status.success() { Ok(said) } else { Err(said + &String::from_utf8_lossy(&done.stderr)) }
    }

    /// Pulls the cable of a host out of the switch: nobody is told, nothing comes through.
    pub fn cut(&self, host: &Host) {
        self.port(&host.name(), "down");
    }

    /// Puts it in again.
    pub fn mend(&self, host: &Host) {
        self.port(&host.name(), "up");
    }

    /// Pulls the cable of the master out of the switch.
    pub fn unplug_master(&self) {
        self.port("m", "down");
    }

    /// Puts it in again.
    pub fn plug_master(&self) {
        self.port("m", "up");
    }

    fn port(&self, port: &str, state: &str) {
        shell(&format!("ip -n {} link set dev {port} {state}", self.namespace("s"))).unwrap();
    }

    /// Lets 256 kbit/s through the cable of a host, both ways.
    pub fn slow(&self, host: &Host) {
        let shape = "root tbf rate 256kbit burst 8kb latency 500ms";
        let switch = self.namespace("s");
        shell(&format!(
            "tc -n {switch} qdisc add dev {} {shape}\ntc -n {} qdisc add dev eth0 {shape}",
            host.name(),
            host.namespace()
        ))
        .unwrap();
    }

    /// Makes `far` a name for a host to which all bytes take so long, each way.
    pub fn delay(&self, host: &Host, delay: Duration) {
        let port = proxy::start(&self.network("m"), format!("{}:22", host.address()), delay);
        let far = format!("Host far\n  HostName 127.0.0.1\n  Port {port}\n  HostKeyAlias {}\n", host.address());
        let config = fs::read_to_string(self.path("ssh_config")).unwrap();
        fs::write(self.path("ssh_config"), far + &config).unwrap();
    }

    /// Addresses on which anything listens on a machine of this lab, `m` being the master's: kind and local address as
    /// `/proc/net` has them.
    pub fn listeners(&self, machine: &str) -> Vec<String> {
        let within = format!("nsenter --net={}", self.network(machine).display());
        let mut found = Vec::new();
        for (kind, listening) in [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")] {
            let table = shell(&format!("{within} cat /proc/thread-self/net/{kind}")).unwrap();
            let words = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
            let ours = words.filter(|words| words.get(3) == Some(&listening));
            found.extend(ours.map(|words| format!("{kind} {}", words[1])));
        }
        found
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        remove(&format!("{}-", self.name));
        for host in &mut self.hosts {
            host.reap();
        }
    }
}

/// Ends what is in the namespaces whose names begin so, and removes them.
fn remove(prefix: &str) {
    for name in names(NAMESPACES).into_iter().filter(|name| name.starts_with(prefix)) {
        loop {
            let processes = inside(&name);
            if processes.is_empty() {
                break;
            }
            for pid in processes {
                let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL);
            }
            std::thread::yield_now();
        }
        let _ = Command::new("ip").args(["netns", "delete", &name]).status();
    }
}

/// Removes what killed tests have left: their process number is in the names.
fn sweep() {
    let is_left = |name: &str, before: &str| {
        let owner = name.strip_prefix(before).and_then(|rest| rest.split('-').next());
        owner.and_then(|pid| pid.parse::<u32>().ok()).is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists())
    };
    names(NAMESPACES).iter().filter(|name| is_left(name, "brunt-")).for_each(|name| remove(name));
    for folder in names(FOLDERS).iter().filter(|name| is_left(name, "lab-")) {
        // Another test may do the same.
        let _ = fs::remove_dir_all(Path::new(FOLDERS).join(folder));
    }
}

/// What there is in a folder.
fn names(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned())).collect()
}

/// Processes that are in a namespace and have not ended.
pub fn inside(namespace: &str) -> Vec<i32> {
    use std::os::unix::fs::MetadataExt;
    let key = |path: &Path| fs::metadata(path).map(|facts| (facts.dev(), facts.ino())).ok();
    let Some(wanted) = key(&Path::new(NAMESPACES).join(namespace)) else { return Vec::new() };
    let all = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    // One that has ended has no namespace any more.
    all.filter(|pid| key(Path::new(&format!("/proc/{pid}/ns/net"))) == Some(wanted)).collect()
}
