//! A real sshd on 127.0.0.1 for one test: own port, own keys, own cache folder for the program; nothing of it stays.
#![allow(dead_code)] // each file of tests uses a part of it

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use tempfile::TempDir;

const PROGRAM: &str = "/usr/sbin/sshd";
/// Where sshd of Debian wants an empty folder when it runs as root.
const SEPARATION: &str = "/run/sshd";
/// Ports that may be taken by others in the moment between.
const TRIES: usize = 5;

/// A running sshd.
pub struct Sshd {
    child: Child,
    folder: TempDir,
    log: Arc<Mutex<Vec<String>>>,
}

/// Why a test cannot run here. In CI a skip is a failure.
pub fn skip(why: &str) {
    assert!(std::env::var_os("BRUNT_TEST_NO_SKIP").is_none(), "must not skip here: {why}");
    eprintln!("skipped: {why}");
}

impl Sshd {
    /// Starts one, with more lines of configuration. `None`: it is not installed, which was said.
    pub fn start(more: &str) -> Option<Self> {
        if !Path::new(PROGRAM).exists() || Command::new("ssh").arg("-V").output().is_err() {
            skip("no sshd or no ssh here");
            return None;
        }
        if nix::unistd::geteuid().is_root() {
            fs::create_dir_all(SEPARATION).unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        for key in ["host_key", "client_key", "other_key"] {
            let mut keygen = Command::new("ssh-keygen");
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(folder.path().join(key));
            assert!(keygen.status().unwrap().success());
        }
        let path = |name: &str| folder.path().join(name);
        fs::copy(path("client_key.pub"), path("authorized")).unwrap();
        fs::create_dir(path("cache")).unwrap();
        for _ in 0..TRIES {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            configure(folder.path(), port, more);
            let mut child = Command::new(PROGRAM)
                .args(["-D", "-e", "-f"])
                .arg(path("sshd_config"))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
            let log = Arc::new(Mutex::new(Vec::new()));
            let keep = |line: &String| log.lock().unwrap().push(line.clone());
            if lines.by_ref().inspect(keep).any(|line| line.contains("Server listening")) {
                let rest = Arc::clone(&log);
                std::thread::spawn(move || lines.for_each(|line| rest.lock().unwrap().push(line)));
                return Some(Self { child, folder, log });
            }
            eprintln!("sshd has ended: {:?}", log.lock().unwrap());
            child.wait().unwrap();
        }
        panic!("no sshd after {TRIES} tries");
    }

    /// Host `hosta` of the configuration, which knows key and host key; `stranger` has another key, `changed` another
    /// host key, `unknown` none.
    pub fn client(&self) -> String {
        format!("ssh -F {}", self.path("config").display())
    }

    /// A file of this sshd.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What sshd has said.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().join("\n")
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn configure(folder: &Path, port: u16, more: &str) {
    let at = folder.display();
    let server = format!(
        "ListenAddress 127.0.0.1\nPort {port}\nHostKey {at}/host_key\nAuthorizedKeysFile {at}/authorized\nStrictModes no\n\
         PidFile none\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\n\
         SetEnv XDG_CACHE_HOME={at}/cache\n{more}\n"
    );
    fs::write(folder.join("sshd_config"), server).unwrap();
    let common = "HostName 127.0.0.1\n  IdentitiesOnly yes\n  IdentityAgent none\n  GlobalKnownHostsFile /dev/null\n  \
                  StrictHostKeyChecking yes";
    let host = |name: &str, key: &str, known: &str| {
        format!(
            "Host {name}\n  {common}\n  Port {port}\n  IdentityFile {at}/{key}\n  UserKnownHostsFile {at}/{known}\n"
        )
    };
    let config = [
        host("hosta", "client_key", "known"),
        host("stranger", "other_key", "known"),
        host("changed", "client_key", "changed"),
        host("unknown", "client_key", "none"),
        // A master that is there for other sessions, and a port that is taken: neither is used.
        format!(
            "Host *\n  ControlMaster auto\n  ControlPath {at}/master-%C\n  ControlPersist yes\n  LocalForward {port} x:1\n"
        ),
    ];
    fs::write(folder.join("config"), config.concat()).unwrap();
    let known = |file: &str, key: &str| {
        let key = fs::read_to_string(folder.join(key)).unwrap();
        fs::write(folder.join(file), format!("# known\n[127.0.0.1]:{port} {key}")).unwrap();
    };
    known("known", "host_key.pub");
    known("changed", "other_key.pub");
}
