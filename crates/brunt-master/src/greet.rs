//! The greeting of all agents: they are started and asked who they are, all at once.

use std::time::Duration;

use brunt_event::Event;
use brunt_plan::{SetupKind, SetupProblem};

use crate::link::HostLink;
use crate::session::Session;
use crate::setup::SetupEnd;

/// A host that is not there by then is named; it is waited for all the same.
const LATE: Duration = Duration::from_secs(10);
/// How long an agent may take to be there, its program copied over a slow link included.
const LIMIT: Duration = Duration::from_secs(600);

impl<L: HostLink> Session<'_, L> {
    /// Greets all agents.
    ///
    /// # Errors
    /// All hosts that are not there, each with its reason; an interrupt.
    pub(crate) async fn greet(&mut self) -> Result<(), SetupEnd> {
        let fleet = self.fleet;
        let hellos = fleet.hosts.iter().enumerate().map(|(h, host)| {
            let limited = tokio::time::timeout(LIMIT, host.link.hello());
            (h, async move { limited.await.unwrap_or_else(|_| Err(silent())) })
        });
        let answers = self.call_naming(hellos.collect(), LATE, Self::name_late).await?;
        self.catch_up();
        let mut problems = Vec::new();
        for (host, answer) in answers {
            let hello = match answer {
                Ok(hello) => hello,
                Err(why) => {
                    let text = format!("host={}: {why}", self.layout.host_label(host));
                    problems.push(SetupProblem { kind: SetupKind::Setup, text, vdbench: None, span: None });
                    continue;
                }
            };
            for (worker, pid) in self.layout.of_host(host).zip(hello.worker_pids) {
                let master_pid = std::process::id();
                self.emit(Event::WorkerConnected { worker: worker as u32, pid, master_pid });
            }
        }
        if !problems.is_empty() {
            return Err(SetupEnd::Problems(problems));
        }
        self.emit(Event::WorkersConnected);
        Ok(())
    }

    fn name_late(&mut self, hosts: &[usize]) {
        for host in hosts {
            let (label, seconds) = (self.layout.host_label(*host), LATE.as_secs());
            let text = format!("host={label} is not there after {seconds} seconds; it is waited for, Ctrl-C ends that");
            self.notice(true, "host-late", text);
        }
    }
}

fn silent() -> crate::link::LinkError {
    crate::link::LinkError::Broken(format!("it was not there after {} seconds", LIMIT.as_secs()))
}
