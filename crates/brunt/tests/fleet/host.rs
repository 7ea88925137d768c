//! A host of a lab: its sshd, its folders, its processes.
//!
//! It has the files of this machine, but a home, a `/tmp` and so on of its own; `/mnt` is its folder, which the test sees
//! too: `/mnt/bin` has Brunt (for those tests that want it to be there already), `/mnt/luns` its luns.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::lab::{inside, shell};

/// The folder of the program that is tested.
fn bin() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_brunt")).parent().unwrap()
}

/// Longest lease of a test, with time to stop and drain.
const LONGEST_END: Duration = Duration::from_secs(20);

/// How a host is made.
#[derive(Default)]
pub struct Setup {
    /// Login shell; `None`: `/bin/bash`.
    pub login_shell: Option<&'static str>,
    /// Lines of shell that run on it before sshd does, as root.
    pub lines: String,
    /// A rule of sudo for the user `bench`.
    pub sudoers: Option<&'static str>,
}

impl Setup {
    /// A usual host, but these lines run on it before sshd does.
    pub fn with(lines: &str) -> Self {
        Self { lines: lines.to_owned(), ..Self::default() }
    }
}

/// A host.
pub struct Host {
    number: usize,
    namespace: String,
    /// What it has as `/mnt`.
    folder: PathBuf,
    lines: String,
    /// What keeps its mounts while nobody else runs on it.
    keeper: Option<Child>,
    sshd: Option<Child>,
    log: Arc<Mutex<Vec<String>>>,
}

impl Host {
    /// Makes its files.
    pub fn prepare(number: usize, namespace: String, lab: &Path, setup: &Setup) -> Self {
        let folder = lab.join(format!("h{number}"));
        for part in ["etc", "etc/sudoers.d", "bin", "luns"] {
            fs::create_dir_all(folder.join(part)).unwrap();
        }
        for open in ["", "etc", "bin", "luns"] {
            fs::set_permissions(folder.join(open), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let etc = |name: &str, text: &str| fs::write(folder.join("etc").join(name), text).unwrap();
        shell(&format!("ssh-keygen -q -t ed25519 -N '' -f {}/etc/host_key", folder.display())).unwrap();
        etc("authorized", &fs::read_to_string(lab.join("client_key.pub")).unwrap());
        // The first value of a keyword counts: what this machine's own configuration says otherwise is the stock one.
        etc(
            "sshd_config",
            "HostKey /mnt/etc/host_key\nAuthorizedKeysFile /mnt/etc/authorized\nPidFile none\nPort 22\n\
             Include /etc/ssh/sshd_config\n",
        );
        let login = setup.login_shell.unwrap_or("/bin/bash");
        let accounts = fs::read_to_string("/etc/passwd").unwrap();
        let others = accounts.lines().filter(|line| !line.starts_with("root:")).collect::<Vec<_>>().join("\n");
        let own = format!("root:x:0:0::/root:{login}\n{others}\nbench:x:64999:65534::/home/bench:{login}\n");
        etc("passwd", &own);
        let secrets = fs::read_to_string("/etc/shadow").unwrap();
        etc("shadow", &format!("{}\nbench:*:19000:0:99999:7:::\n", secrets.trim_end()));
        etc("hosts", &format!("127.0.0.1 localhost h{number}\n"));
        // Hosts that say the same here are one machine.
        etc("boot_id", &format!("00000000-0000-4000-8000-{number:012}\n"));
        if let Some(rule) = setup.sudoers {
            etc("sudoers.d/bench", &format!("{rule}\n"));
            fs::set_permissions(folder.join("etc/sudoers.d/bench"), fs::Permissions::from_mode(0o440)).unwrap();
        }
        Self { number, namespace, folder, lines: setup.lines.clone(), keeper: None, sshd: None, log: Arc::default() }
    }

    /// Lines that make the host's view of this machine, in a mount namespace of its own.
    fn script(&self) -> String {
        format!(
            "hostname {name}\n\
             mount --bind {folder} /mnt\n\
             mount --bind {bin} /mnt/bin\n\
             mount -o remount,bind,ro /mnt/bin\n\
             mount -t tmpfs -o mode=755,size=16m tmpfs /run\n\
             mkdir -p /run/sshd /run/user/0\n\
             chmod 700 /run/user/0\n\
             for dir in /tmp /var/tmp /dev/shm; do mount -t tmpfs -o mode=1777,size=256m tmpfs $dir; done\n\
             mount -t tmpfs -o mode=700,size=256m tmpfs /root\n\
             mount -t tmpfs -o mode=755,size=256m tmpfs /home\n\
             mount --bind /mnt/etc/passwd /etc/passwd\n\
             mount --bind /mnt/etc/shadow /etc/shadow\n\
             mount --bind /mnt/etc/hosts /etc/hosts\n\
             mount --bind /mnt/etc/boot_id /proc/sys/kernel/random/boot_id\n\
             if [ -d /etc/sudoers.d ]; then mount --bind /mnt/etc/sudoers.d /etc/sudoers.d; fi\n\
             mkdir -m 700 /home/bench\n\
             chown 64999:65534 /home/bench\n\
             {lines}\n\
             echo up\n\
             exec sleep infinity\n",
            name = self.name(),
            folder = self.folder.display(),
            bin = bin().display(),
            lines = self.lines,
        )
    }

    /// Starts it, and its sshd.
    pub fn boot(&mut self) {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.namespace));
        command.args(["--", "unshare", "--mount", "--propagation", "private", "--uts", "--", "/bin/sh", "-ec"]);
        command.arg(self.script()).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        self.keeper = Some(child);
        assert_eq!(said, "up\n", "{} did not start", self.name());
        self.start_sshd();
    }

    /// Starts its sshd, and waits until it listens.
    pub fn start_sshd(&mut self) {
        let mut command = self.command("/usr/sbin/sshd");
        command.args(["-D", "-e", "-f", "/mnt/etc/sshd_config"]).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        self.sshd = Some(child);
        let keep = |line: &String| self.log.lock().unwrap().push(line.clone());
        let up = lines.by_ref().inspect(keep).any(|line| line.contains("Server listening"));
        assert!(up, "the sshd of {} did not start: {}", self.name(), self.log());
        let log = Arc::clone(&self.log);
        std::thread::spawn(move || lines.for_each(|line| log.lock().unwrap().push(line)));
    }

    /// A command on it, not over ssh.
    fn command(&self, program: &str) -> Command {
        let keeper = self.keeper.as_ref().unwrap().id().to_string();
        let mut command = Command::new("nsenter");
        command.args(["--target", &keeper, "--mount", "--net", "--uts", "--", program]).stdin(Stdio::null());
        command
    }

    pub fn name(&self) -> String {
        format!("h{}", self.number)
    }

    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    pub fn address(&self) -> String {
        format!("10.77.0.{}", 10 + self.number)
    }

    pub fn public_key(&self) -> String {
        fs::read_to_string(self.folder.join("etc/host_key.pub")).unwrap()
    }

    /// What it has as `/mnt/NAME`.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Makes the lun `/mnt/luns/NAME` on it, of so many bytes.
    pub fn lun(&self, name: &str, bytes: u64) {
        let file = fs::File::create(self.path("luns").join(name)).unwrap();
        file.set_len(bytes).unwrap();
        fs::set_permissions(self.path("luns").join(name), fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// What its sshd has said.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().join("\n")
    }

    /// Runs lines of shell on it, not over ssh: what they said.
    pub fn shell(&self, lines: &str) -> String {
        let done = self.command("/bin/sh").args(["-ec", lines]).output().unwrap();
        assert!(done.status.success(), "{lines}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }

    /// Agents and workers on it. A program that was copied has its hash behind its name.
    pub fn brunts(&self) -> Vec<Pid> {
        let is_brunt = |pid: &i32| {
            let program = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
            program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("brunt"))
        };
        inside(&self.namespace).into_iter().filter(is_brunt).map(Pid::from_raw).collect()
    }

    /// Waits until there are none: how long that took.
    pub fn await_no_brunts(&self) -> Duration {
        let from = Instant::now();
        while !self.brunts().is_empty() {
            assert!(from.elapsed() < LONGEST_END, "on {} there is still {}", self.name(), self.told());
            // They are nobody's children here, so that there is no event to wait for.
            std::thread::sleep(Duration::from_millis(20));
        }
        from.elapsed()
    }

    /// What runs on it.
    fn told(&self) -> String {
        let pids = inside(&self.namespace).iter().map(i32::to_string).collect::<Vec<_>>();
        shell(&format!("ps -o pid,ppid,stat,wchan:20,args -p {}", pids.join(","))).unwrap_or_else(|why| why)
    }

    /// Sends a signal to its sshd, and to the processes of it that serve connections.
    pub fn signal_sshd(&self, signal: Signal) {
        let is_sshd =
            |pid: &i32| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.starts_with("sshd"));
        for pid in inside(&self.namespace).into_iter().filter(is_sshd) {
            // A connection may have ended by itself meanwhile.
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }

    /// Waits for the end of its sshd, which was killed.
    pub fn reap_sshd(&mut self) {
        if let Some(mut sshd) = self.sshd.take() {
            let _ = sshd.wait();
        }
    }

    /// Waits for the ends of all that was killed.
    pub fn reap(&mut self) {
        self.reap_sshd();
        if let Some(mut keeper) = self.keeper.take() {
            let _ = keeper.wait();
        }
    }
}
