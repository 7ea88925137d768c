//! What OpenSSH says when it fails (8.0 to 10.0: `sshconnect.c`, `ssh.c`, `packet.c`, `readconf.c`), and what helps.

use super::{Hope, LIMITS};
use crate::launch::ssh::talk::Phase;

/// The cure for options that are none.
const OPTIONS: &str = "mend BRUNT_SSH: it is divided at blanks, and quotes are none";

/// The cure for what is not known.
const BY_HAND: &str = "connect once by hand to see why (ssh -v)";

/// What ssh says of its peer when that is a command of its configuration.
const OF_PROXY: &str = "UNKNOWN port 65535";

/// Words of ssh that mean something else with a proxy.
const THROUGH_PROXY: [&str; 4] =
    ["kex_exchange_identification", "Connection closed by", "Connection reset by", "Could not resolve hostname"];

/// Words of ssh, whether there is hope, and a cure. The first row that fits any line counts.
pub(super) const TABLE: &[(&str, Hope, &str)] = &[
    (
        "IDENTIFICATION HAS CHANGED",
        Hope::None,
        "if the host was installed anew, remove that line (ssh-keygen -R), else somebody may be in between",
    ),
    (
        "Host key verification failed",
        Hope::None,
        "connect once by hand to check and accept it, or put it into ~/.ssh/known_hosts (ssh-keyscan)",
    ),
    ("command-line", Hope::None, OPTIONS),
    ("unknown option -- ", Hope::None, OPTIONS),
    ("option requires an argument -- ", Hope::None, OPTIONS),
    ("Bad configuration option", Hope::None, "mend the configuration of ssh"),
    ("Bad owner or permissions", Hope::None, "mend the configuration of ssh"),
    ("Bad port ", Hope::None, "mend BRUNT_SSH or the configuration of ssh"),
    ("contains invalid characters", Hope::None, "write system= and user= without them"),
    ("terminating, ", Hope::None, "mend the configuration of ssh"),
    ("Can't open user config file", Hope::None, "mend BRUNT_SSH or the file"),
    ("Unable to negotiate", Hope::None, "allow what the host offers in ~/.ssh/config, or renew its sshd"),
    (
        "Too many authentication failures",
        Hope::Later,
        "name the right key with IdentityFile and IdentitiesOnly in ~/.ssh/config",
    ),
    (
        "Permission denied (",
        Hope::Later,
        "put your key there for that user (ssh-copy-id), load it into the agent, or name another user with user=",
    ),
    ("Temporary failure in name resolution", Hope::Now, "look at the name service of this machine"),
    (
        "Could not resolve hostname",
        Hope::Later,
        "write system= with a name or address that ssh here knows, or add a Host entry to ~/.ssh/config",
    ),
    ("Connection refused", Hope::Now, "is sshd running there, on this port?"),
    ("No route to host", Hope::Now, "is the host up, and the network between?"),
    ("Network is unreachable", Hope::Now, "is the network of this machine up?"),
    (
        "timed out",
        Hope::Now,
        "is the host up, and does a firewall drop what comes? A host that is only slow: ConnectTimeout in BRUNT_SSH",
    ),
    ("not responding", Hope::Now, "is the host up, and the network between?"),
    ("stdio forwarding failed", Hope::Now, "the jump host cannot reach it"),
    (
        "kex_exchange_identification",
        Hope::Now,
        "sshd there, or what stands before it, closed the connection: too many logins at once (MaxStartups), or load",
    ),
    ("Connection closed by", Hope::Now, "sshd there closed the connection"),
    ("Connection reset by", Hope::Now, "the host, or what stands before it, reset the connection"),
    ("closed by remote host", Hope::Now, "sshd there ended"),
    ("Broken pipe", Hope::Now, "is the host up, and the network between?"),
];

/// A sentence from what ssh said, for a connection that came as far as `phase`.
pub(super) fn explain(said: &[String], system: &str, phase: Phase) -> (Hope, String) {
    let row = TABLE.iter().find_map(|row| said.iter().rev().find(|line| line.contains(row.0)).map(|line| (row, line)));
    let Some(((words, hope, cure), line)) = row else {
        return (Hope::Now, unknown(said, phase));
    };
    if THROUGH_PROXY.contains(words) && said.iter().any(|line| line.contains(OF_PROXY)) {
        return (*hope, proxy(said));
    }
    let text = match *words {
        "IDENTIFICATION HAS CHANGED" => changed(said),
        "Host key verification failed" => not_known(said, system),
        _ => clean(line).to_owned(),
    };
    (*hope, format!("{text}; {cure}"))
}

/// Of another key than before ssh says in which file and line that one is.
fn changed(said: &[String]) -> String {
    let offending = said.iter().find(|line| line.starts_with("Offending "));
    let place = offending.map(|line| format!(": {}", clean(line))).unwrap_or_default();
    format!("the key of the host is not the one that is known{place}")
}

fn not_known(said: &[String], system: &str) -> String {
    match said.iter().find(|line| line.contains("host key is known for")) {
        Some(line) => format!("the key of the host is not known: {}", clean(line)),
        None => format!("the key of host {system} is not known"),
    }
}

/// A ProxyCommand, or the ssh to a jump host, has failed: its words stand before those of ssh.
fn proxy(said: &[String]) -> String {
    let of_ssh = |line: &&str| line.starts_with("kex_exchange_identification") || line.contains(OF_PROXY);
    let words = said.iter().rev().map(|line| clean(line)).find(|line| !line.is_empty() && !of_ssh(line));
    format!(
        "what ssh goes through ended before there was a connection: {}; look at ProxyCommand and ProxyJump in ~/.ssh/config \
         and BRUNT_SSH",
        words.unwrap_or("it said nothing")
    )
}

/// ssh ended without words that are known.
fn unknown(said: &[String], phase: Phase) -> String {
    let last = said.iter().rev().map(|line| clean(line)).find(|line| !line.is_empty());
    match (last, phase) {
        (Some(last), _) => format!("ssh failed: {last}; {BY_HAND}"),
        (None, Phase::Login) => format!("ssh failed without a word; {BY_HAND}"),
        (None, _) => format!("the connection, or what ran there, ended without a word; {LIMITS}"),
    }
}

/// A line without what only repeats.
fn clean(line: &str) -> &str {
    line.trim().trim_start_matches("ssh: ").trim_end_matches('.')
}
