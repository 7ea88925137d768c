//! The command line of ssh.

use std::process::Stdio;

use tokio::process::Command;

use super::SshHost;
use crate::dial::Purpose;

/// What is asked of ssh whatever its configuration says: no terminal, no question that nobody would answer, a dead
/// connection noticed within 15 s, its error messages, no forwarding that would fail for the second host, and no master
/// process that would stay.
const OPTIONS: [&str; 10] = [
    "BatchMode=yes",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
    "ControlMaster=no",
    "ControlPath=none",
    "ClearAllForwardings=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    "PermitLocalCommand=no",
    "LogLevel=INFO",
];

/// The remote command. The login shell runs it, whichever it is: sh, bash, csh and fish read it alike.
const REMOTE: &str = "exec /bin/sh";

/// The program and its first options, which win over ours: those of `BRUNT_SSH`, divided at blanks, else `ssh`.
pub(super) fn client(asked: Option<&str>) -> Vec<String> {
    let words: Vec<String> = asked.unwrap_or_default().split_whitespace().map(str::to_owned).collect();
    if words.is_empty() { vec!["ssh".to_owned()] } else { words }
}

/// Time for an answer of sshd, seconds. A host that is only busy is waited for before a run; in one the lease runs, and
/// the next try comes soon.
fn patience(purpose: &Purpose) -> &'static str {
    match purpose {
        Purpose::Begin => "ConnectTimeout=30",
        Purpose::Attach { .. } => "ConnectTimeout=10",
    }
}

/// All words of the command.
fn words(client: &[String], host: &SshHost, purpose: &Purpose) -> Vec<String> {
    let mut words = client.to_vec();
    words.push("-T".to_owned());
    words.extend(OPTIONS.iter().chain([&patience(purpose)]).flat_map(|option| ["-o".to_owned(), (*option).to_owned()]));
    words.extend(host.user.iter().flat_map(|user| ["-l".to_owned(), user.clone()]));
    // A name that begins with a dash is a name.
    words.extend(["--".to_owned(), address(&host.system).to_owned(), REMOTE.to_owned()]);
    words
}

/// An IPv6 address without its brackets.
fn address(system: &str) -> &str {
    system.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(system)
}

/// The command, with pipes and a process group of its own; killed when dropped.
pub(super) fn command(client: &[String], host: &SshHost, purpose: &Purpose) -> Command {
    let words = words(client, host, purpose);
    let (program, arguments) = words.split_first().map_or(("ssh", &[][..]), |(first, rest)| (first.as_str(), rest));
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).kill_on_drop(true);
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::ssh::tests::host;

    #[test]
    fn options_of_the_environment_come_first() {
        assert_eq!(client(None), ["ssh"]);
        assert_eq!(client(Some("  ")), ["ssh"]);
        assert_eq!(client(Some("/opt/ssh -F  /tmp/config")), ["/opt/ssh", "-F", "/tmp/config"]);
    }

    #[test]
    fn user_and_host_cannot_be_options() {
        let mut host = host();
        host.system = "-oProxyCommand=touch /tmp/x".to_owned();
        host.user = Some("-v".to_owned());
        let words = words(&client(Some("ssh -4")), &host, &Purpose::Begin);
        assert_eq!(words[..3], ["ssh", "-4", "-T"]);
        assert_eq!(words[words.len() - 5..], ["-l", "-v", "--", "-oProxyCommand=touch /tmp/x", "exec /bin/sh"]);
    }

    #[test]
    fn brackets_are_not_part_of_an_address() {
        assert_eq!([address("[fe80::1]"), address("db7"), address("[x")], ["fe80::1", "db7", "[x"]);
    }
}
