//! The greeting of all agents: they are started and asked who they are, all at once.

use std::collections::BTreeMap;
use std::time::Duration;

use brunt_event::Event;
use brunt_parm::Spanned;
use brunt_plan::{SetupKind, SetupProblem};

use crate::link::{HostLink, LinkError};
use crate::session::{Halt, Session};

/// A host that is not there by then is named; it is waited for all the same.
const LATE: Duration = Duration::from_secs(10);
/// How long an agent may take to be there, its program copied over a slow link included.
const LIMIT: Duration = Duration::from_secs(600);

impl<L: HostLink> Session<'_, L> {
    /// Greets all agents. By host: what is wrong with those that are not there.
    ///
    /// # Errors
    /// An interrupt.
    pub(crate) async fn greet(&mut self, cores: Option<&Spanned<String>>) -> Result<Vec<Option<SetupProblem>>, Halt> {
        let fleet = self.fleet;
        let hellos = fleet.hosts.iter().enumerate().map(|(h, host)| {
            let limited = tokio::time::timeout(LIMIT, host.link.hello());
            (h, async move { limited.await.unwrap_or_else(|_| Err(silent())) })
        });
        let answers = self.call_naming(hellos.collect(), LATE, Self::name_late).await?;
        self.catch_up();
        let mut absent = vec![None; fleet.hosts.len()];
        let mut others: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
        for (host, answer) in answers {
            let hello = match answer {
                Ok(hello) => hello,
                Err(why) => {
                    let text = format!("host={}: {why}", self.layout.host_label(host));
                    // An agent that cannot have the cores it was told names the key. Only the master knows where it stands.
                    let span = cores.filter(|_| text.contains("misc=(cpus=)")).map(|list| list.span);
                    absent[host] = Some(SetupProblem { kind: SetupKind::Setup, text, vdbench: None, span });
                    continue;
                }
            };
            for (worker, pid) in self.layout.of_host(host).zip(hello.worker_pids) {
                let master_pid = std::process::id();
                self.emit(Event::WorkerConnected { worker: worker as u32, pid, master_pid });
            }
            if let Some(build) = hello.other_build {
                others.entry((build, hello.version)).or_default().push(host);
            }
        }
        if absent.iter().all(Option::is_none) {
            self.emit(Event::WorkersConnected);
        }
        for ((build, version), hosts) in others {
            self.name_build(&build, &version, &hosts);
        }
        Ok(absent)
    }

    fn name_late(&mut self, hosts: &[usize]) {
        let (labels, seconds) = (self.labels(hosts), LATE.as_secs());
        let text = format!("not there after {seconds} seconds: {labels}; Ctrl-C ends the wait");
        self.notice(true, "host-late", text);
    }

    /// Versions are the same, or there would be no agent; a build of one's own has the same one.
    fn name_build(&mut self, build: &str, version: &str, hosts: &[usize]) {
        let text = format!(
            "{}: another build of brunt {version} (SHA-256 {build}) than the {} here: what they measure may differ; \
             `brunt build` tells which a program is",
            self.labels(hosts),
            env!("CARGO_PKG_VERSION")
        );
        self.notice(true, "other-build", text);
    }
}

fn silent() -> LinkError {
    LinkError::Broken(format!("it was not there after {} seconds", LIMIT.as_secs()))
}
