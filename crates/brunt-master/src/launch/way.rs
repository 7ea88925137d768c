//! How each host is reached (`docs/vdbench/decisions.md`, execution).

use brunt_plan::plan::Host;

use super::payload::Payload;
use crate::fleet::is_this_machine;

/// How a host is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// It is this machine: a child process, whatever `shell=` says.
    Local,
    /// `shell=ssh`, `shell=rsh` or nothing.
    Ssh,
    /// `shell=vdbench`: an agent that listens.
    Listen,
}

impl Way {
    /// The way to a host.
    ///
    /// # Errors
    /// A `shell=` that is none, in a sentence.
    pub fn of(host: &Host) -> Result<Self, String> {
        let shell = host.shell.as_deref().unwrap_or("rsh");
        match shell.to_ascii_lowercase().as_str() {
            _ if is_this_machine(&host.system) => Ok(Self::Local),
            "ssh" | "rsh" => Ok(Self::Ssh),
            "vdbench" => Ok(Self::Listen),
            _ => Err(format!("host {}: shell={shell} is no way to a host; it is ssh or vdbench", host.label)),
        }
    }
}

/// What is worth saying about the ways to hosts, a code and a sentence each.
pub fn notes(hosts: &[Host], payload: &Payload) -> Vec<(&'static str, String)> {
    let mut notes = Vec::new();
    let by_ssh: Vec<&Host> = hosts.iter().filter(|host| Way::of(host) == Ok(Way::Ssh)).collect();
    let asked = |host: &Host| host.shell.as_deref().is_some_and(|shell| shell.eq_ignore_ascii_case("ssh"));
    let others: Vec<&str> = by_ssh.iter().filter(|host| !asked(host)).map(|host| host.label.as_str()).collect();
    if let Some((first, rest)) = others.split_first() {
        let (more, are) = match rest.len() {
            0 => (String::new(), "is"),
            1 => (" and one more".to_owned(), "are"),
            n => (format!(" and {n} more"), "are"),
        };
        notes.push((
            "rsh",
            format!("host {first}{more} {are} reached by ssh, where Vdbench uses rsh; shell=ssh says so"),
        ));
    }
    // Where `vdbench=` has none a copy is used after all: then the log of the host tells, and a failure has its cure.
    if by_ssh.iter().all(|host| host.install_dir.is_some()) {
        return notes;
    }
    notes.extend(payload.notes().into_iter().map(|text| ("linked-program", text)));
    notes
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testing::plan;

    fn host(label: &str, system: &str, shell: Option<&str>) -> Host {
        let mut host = plan(vec![]).hosts.remove(0);
        (host.label, host.system) = (label.to_owned(), system.to_owned());
        host.shell = shell.map(str::to_owned);
        host
    }

    #[test]
    fn the_shell_is_the_way() {
        let way = |shell| Way::of(&host("a", "db7.example", shell));
        assert_eq!([way(None), way(Some("rsh")), way(Some("SSH"))], [Ok(Way::Ssh), Ok(Way::Ssh), Ok(Way::Ssh)]);
        assert_eq!(way(Some("vdbench")), Ok(Way::Listen));
        assert_eq!(way(Some("telnet")).unwrap_err(), "host a: shell=telnet is no way to a host; it is ssh or vdbench");
    }

    #[test]
    fn this_machine_is_a_child_whatever_the_shell() {
        for shell in [None, Some("ssh"), Some("vdbench"), Some("telnet")] {
            assert_eq!(Way::of(&host("a", "127.0.0.1", shell)), Ok(Way::Local));
        }
    }

    #[test]
    fn of_what_is_copied_nothing_is_said_where_nothing_is() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("brunt");
        std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        std::fs::write(folder.path().join(format!("brunt-{}-linux", std::env::consts::ARCH)), "no program").unwrap();
        let payload = Payload::find(&program).unwrap();
        let mut hosts =
            vec![host("a", "db7", Some("ssh")), host("b", "db8", Some("ssh")), host("c", "db9", Some("vdbench"))];
        let codes = |hosts: &[Host]| notes(hosts, &payload).into_iter().map(|(code, _)| code).collect::<Vec<_>>();
        hosts[0].install_dir = Some("/opt/brunt".to_owned());
        assert_eq!(codes(&hosts)[0], "linked-program");
        hosts[1].install_dir = Some("~/vdbench".to_owned());
        assert_eq!(codes(&hosts), [""; 0]);
    }

    #[test]
    fn that_rsh_is_ssh_is_noted_once() {
        let mut hosts = vec![host("a", "db7", Some("ssh")), host("here", "localhost", None)];
        assert_eq!(notes(&hosts, &Payload::default()), []);
        hosts.extend([host("b", "db8", None), host("c", "db9", Some("rsh")), host("d", "db10", None)]);
        let text = "host b and 2 more are reached by ssh, where Vdbench uses rsh; shell=ssh says so".to_owned();
        assert_eq!(notes(&hosts, &Payload::default()), [("rsh", text)]);
    }
}
