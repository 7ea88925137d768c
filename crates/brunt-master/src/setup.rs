//! Before the first run: greeting the agents, and asking all hosts about their devices before anything is written.

use std::time::Duration;

use brunt_event::{AbortCause, Event};
use brunt_plan::plan::Plan;
use brunt_plan::work::{HostTraits, LunFacts};
use brunt_plan::{Resolved, SetupKind, SetupProblem};

use crate::engines;
use crate::link::{HostFacts, HostLink};
use crate::session::{Halt, Session};
use crate::slow::within;

/// How long a host may take to look at its luns: longer than it waits for those itself.
const INSPECT_LIMIT: Duration = Duration::from_secs(60);
/// A host that lets the others wait so long is named.
const SLOW: Duration = Duration::from_secs(10);

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
    /// Announces the workers, greets all agents and asks those that are there about their devices, all at the same time.
    /// What is wrong on any host is told of all of them together.
    ///
    /// # Errors
    /// Agents of another version or without an answer, problems of devices, an interrupt.
    pub(crate) async fn set_up(&mut self, plan: Plan) -> Result<Resolved, SetupEnd> {
        self.announce_workers();
        let mut absent = self.greet(plan.settings.cores.as_ref()).await?;
        if absent.iter().all(Option::is_some) && !absent.is_empty() {
            return Err(SetupEnd::Problems(absent.into_iter().flatten().collect()));
        }
        self.emit(Event::QueryStarted);
        let (facts, hosts) = self.inspect(&plan, &mut absent).await?;
        let absent: Vec<SetupProblem> = absent.into_iter().flatten().collect();
        self.rules.wait_for_devices(facts.iter().flatten());
        let resolved = match plan.resolve(&facts, &hosts) {
            Ok(resolved) if absent.is_empty() => resolved,
            Ok(_) => return Err(SetupEnd::Problems(absent)),
            Err(problems) => return Err(SetupEnd::Problems([absent, problems].concat())),
        };
        let used = self.numbers.sds.iter().zip(&resolved.sd_sizes).filter(|(number, _)| number.is_some());
        let sd_sizes = used.map(|(_, size)| *size).collect();
        self.emit(Event::QueryCompleted { sd_sizes });
        self.announce_formats(&resolved);
        let choices = engines::choices(&resolved, &self.numbers);
        if !choices.is_empty() {
            self.emit(Event::Engines { choices });
        }
        self.plan_notices(&resolved.notices);
        self.look_for_hooks(&resolved.plan).await?;
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

    /// What the hosts that are there say of their luns and of themselves, all asked at the same time; those that do not
    /// answer have a problem from then on.
    async fn inspect(
        &mut self,
        plan: &Plan,
        absent: &mut [Option<SetupProblem>],
    ) -> Result<(Vec<Vec<LunFacts>>, Vec<HostTraits>), Halt> {
        let fleet = self.fleet;
        let hosts = fleet.hosts.iter().enumerate().filter(|(h, _)| absent[*h].is_none());
        let queries = hosts.map(|(h, host)| (h, within(INSPECT_LIMIT, host.link.inspect(plan.lun_queries(h)))));
        let name_slow =
            |session: &mut Self, slow: &[usize]| session.name_slow("inspect", slow, SLOW, Some(INSPECT_LIMIT));
        let answers = self.call_naming(queries.collect(), SLOW, name_slow).await?;
        self.catch_up();
        let mut luns = vec![Vec::new(); fleet.hosts.len()];
        let mut traits = vec![HostTraits { silent: true, ..HostTraits::default() }; fleet.hosts.len()];
        for (h, answer) in answers {
            let facts = match answer {
                Ok(facts) => facts,
                Err(error) => {
                    let text = format!("host={}: inspect: {error}", self.layout.host_label(h));
                    absent[h] = Some(SetupProblem { kind: SetupKind::Setup, text, vdbench: None, span: None });
                    continue;
                }
            };
            let HostFacts { luns: of_host, inventory, engines, own_error, machine } = facts;
            if !inventory.is_empty() {
                self.emit(Event::HostConfig { host: h as u32, text: inventory });
            }
            if let Some(error) = own_error {
                self.emit(Event::OwnError { host: h as u32, error: Box::new(error) });
            }
            luns[h] = of_host;
            traits[h] = HostTraits { engines, machine, silent: false };
        }
        Ok((luns, traits))
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
