//! Before the first run: greeting the agents, and asking all hosts about their devices before anything is written.

use std::time::Duration;

use brunt_event::{AbortCause, Event};
use brunt_parm::Spanned;
use brunt_plan::plan::Plan;
use brunt_plan::work::{EngineSupport, LunFacts};
use brunt_plan::{Resolved, SetupKind, SetupProblem};
use tokio::time::timeout;

use crate::engines;
use crate::link::{HostFacts, HostHello, HostLink, LinkError};
use crate::session::{Halt, Session};

/// How long an agent may take to answer the greeting.
const HELLO_LIMIT: Duration = Duration::from_secs(120);

/// Why no run is possible.
#[derive(Debug)]
pub(crate) enum SetupEnd {
    Halt(Halt),
    /// What the plan asks cannot be had of these devices.
    Problems(Vec<SetupProblem>),
}

impl From<Halt> for SetupEnd {
    fn from(halt: Halt) -> Self {
        SetupEnd::Halt(halt)
    }
}

impl SetupEnd {
    /// The end and the problems it stands for.
    pub(crate) fn parts(self, as_vdbench: bool) -> (Halt, Vec<SetupProblem>) {
        match self {
            SetupEnd::Halt(halt) => (halt, Vec::new()),
            SetupEnd::Problems(problems) => (problems_halt(&problems, as_vdbench), problems),
        }
    }
}

/// The end that problems of devices bring: a safety rule outweighs the others.
pub(crate) fn problems_halt(problems: &[SetupProblem], as_vdbench: bool) -> Halt {
    let safety = |p: &&SetupProblem| matches!(p.kind, SetupKind::Safety);
    let worst = problems.iter().find(safety).or(problems.first());
    let cause = if worst.as_ref().is_some_and(safety) { AbortCause::Safety } else { AbortCause::Setup };
    let text = worst.map_or_else(|| "the set-up failed".to_owned(), |p| words(p, as_vdbench));
    Halt::Aborted { cause, text }
}

fn words(problem: &SetupProblem, as_vdbench: bool) -> String {
    problem.vdbench.clone().filter(|_| as_vdbench).unwrap_or_else(|| problem.text.clone())
}

impl<L: HostLink> Session<'_, L> {
    /// Announces the workers, greets all agents and asks them about their devices.
    ///
    /// # Errors
    /// An agent of another version or without an answer, problems of devices, an interrupt.
    pub(crate) async fn set_up(&mut self, plan: Plan) -> Result<Resolved, SetupEnd> {
        self.announce_workers();
        self.greet(plan.settings.cores.as_ref()).await?;
        self.emit(Event::QueryStarted);
        let (facts, engines) = self.inspect(&plan).await?;
        self.rules.wait_for_devices(facts.iter().flatten());
        let resolved = plan.resolve(&facts, &engines).map_err(SetupEnd::Problems)?;
        let used = self.numbers.sds.iter().zip(&resolved.sd_sizes).filter(|(number, _)| number.is_some());
        let sd_sizes = used.map(|(_, size)| *size).collect();
        self.emit(Event::QueryCompleted { sd_sizes });
        self.announce_formats(&resolved);
        let choices = engines::choices(&resolved, &self.numbers);
        if !choices.is_empty() {
            self.emit(Event::Engines { choices });
        }
        self.plan_notices(&resolved.notices);
        Ok(resolved)
    }

    fn announce_workers(&mut self) {
        let mut worker = 0;
        for (h, host) in self.fleet.hosts.iter().enumerate() {
            for n in 0..self.layout.of_host(h).len() {
                let command = host.commands.get(n).cloned().unwrap_or_default();
                self.emit(Event::WorkerStarting { worker, command });
                worker += 1;
            }
        }
    }

    async fn greet(&mut self, cores: Option<&Spanned<String>>) -> Result<(), SetupEnd> {
        let fleet = self.fleet;
        let hosts = fleet.hosts.iter().enumerate();
        let hellos = hosts.map(|(h, host)| (h, hello(&host.link))).collect();
        let answers = self.call(hellos).await?;
        for (h, answer) in &answers {
            for (worker, pid) in self.layout.of_host(*h).zip(answer.iter().flat_map(|a| &a.worker_pids)) {
                let master_pid = std::process::id();
                self.emit(Event::WorkerConnected { worker: worker as u32, pid: *pid, master_pid });
            }
        }
        let problems: Vec<_> = answers.iter().filter_map(|(h, answer)| self.core_problem(*h, answer, cores)).collect();
        if !problems.is_empty() {
            self.catch_up();
            return Err(SetupEnd::Problems(problems));
        }
        self.all_agents("hello", answers)?;
        self.emit(Event::WorkersConnected);
        Ok(())
    }

    /// An agent that cannot have the cores it was told names the key in its refusal. Only the master knows where it stands.
    fn core_problem(
        &self,
        host: usize,
        answer: &Result<HostHello, LinkError>,
        cores: Option<&Spanned<String>>,
    ) -> Option<SetupProblem> {
        let (Err(LinkError::Refused(why)), Some(cores)) = (answer, cores) else { return None };
        let text = format!("host={}: {why}", self.layout.host_label(host));
        let problem = SetupProblem { kind: SetupKind::Setup, text, vdbench: None, span: Some(cores.span) };
        why.contains("misc=(cpus=)").then_some(problem)
    }

    /// What the hosts say of their luns, and which back ends they have.
    async fn inspect(&mut self, plan: &Plan) -> Result<(Vec<Vec<LunFacts>>, Vec<EngineSupport>), Halt> {
        let fleet = self.fleet;
        let hosts = fleet.hosts.iter().enumerate();
        let queries = hosts.map(|(h, host)| (h, host.link.inspect(plan.lun_queries(h)))).collect();
        let answers: Vec<(usize, Result<HostFacts, LinkError>)> = self.call(queries).await?;
        let facts = self.all_agents("inspect", answers)?;
        let (mut luns, mut support) = (Vec::with_capacity(facts.len()), Vec::with_capacity(facts.len()));
        for (h, HostFacts { luns: l, inventory, engines, own_error }) in facts.into_iter().enumerate() {
            if !inventory.is_empty() {
                self.emit(Event::HostConfig { host: h as u32, text: inventory });
            }
            if let Some(error) = own_error {
                self.emit(Event::OwnError { host: h as u32, error: Box::new(error) });
            }
            luns.push(l);
            support.push(engines);
        }
        Ok((luns, support))
    }

    /// All answers of a set-up call, where any failure is one of the set-up.
    fn all_agents<T>(&mut self, what: &str, answers: Vec<(usize, Result<T, LinkError>)>) -> Result<Vec<T>, Halt> {
        self.catch_up();
        let one = |(h, answer): (usize, Result<T, LinkError>)| {
            let label = self.layout.host_label(h);
            answer.map_err(|e| Halt::abort(AbortCause::Setup, format!("host={label}: {what}: {e}")))
        };
        answers.into_iter().map(one).collect()
    }

    fn announce_formats(&mut self, resolved: &Resolved) {
        let numbers = self.numbers.clone();
        for need in &resolved.formats {
            if let Some(sd) = numbers.sds.get(need.sd).copied().flatten() {
                self.emit(Event::FormatNeeded { sd, lun: need.lun.clone(), host: need.host as u32 });
            }
        }
    }
}

async fn hello<L: HostLink>(link: &L) -> Result<HostHello, LinkError> {
    let silent = || LinkError::Broken(format!("nothing came within {} seconds", HELLO_LIMIT.as_secs()));
    timeout(HELLO_LIMIT, link.hello()).await.unwrap_or_else(|_| Err(silent()))
}
