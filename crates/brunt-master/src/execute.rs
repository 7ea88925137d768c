//! An execution, from the greeting of the agents to their farewell.

use std::collections::BTreeMap;
use std::time::Duration;

use brunt_event::{AbortCause, Event, HookDestination};
use brunt_parm::ast::{Repeat, ReportOption};
use brunt_plan::plan::{Plan, Run, RunKind};
use brunt_plan::{Resolved, SetupKind, SetupProblem};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::fleet::{Control, Fleet, Layout, refusals};
use crate::hooks::HookLevel;
use crate::idle::LongestIdle;
use crate::link::{HostLink, LinkEvent};
use crate::monitor::Monitor;
use crate::outcome::Outcome;
use crate::past::PastRun;
use crate::planned::{Numbers, planned};
use crate::rates::{Observed, Speed};
use crate::rules::{Options, Rules};
use crate::run::RunReport;
use crate::run::start::{Common, Dealt};
use crate::run::taken::rest_of_pause;
use crate::session::{Halt, Patience, Session, now_ms};
use crate::setup::problems_halt;
use crate::totals::Totals;

/// How long the agents' farewell is waited for: an agent is given 15 seconds to end.
const FAREWELL: Duration = Duration::from_secs(16);
/// How long when somebody is in a hurry, or I/O that never returns keeps the agents from ending.
const SHORT_FAREWELL: Duration = Duration::from_secs(1);

/// Executes a plan over a fleet, in the order of design.md: greeting, inspection of all hosts, then run by run
/// prepare, start, samples, end. Every event goes to `sink` in order, [`Event::Planned`] first; opening and closing the
/// stream is the caller's.
///
/// `events` brings what the agents report, with the number of the host; `control` what the outside wants.
pub async fn execute<L: HostLink>(
    plan: Plan,
    fleet: Fleet<L>,
    options: Options,
    events: mpsc::Receiver<(usize, LinkEvent)>,
    control: mpsc::Receiver<Control>,
    sink: &mut dyn FnMut(Event),
) -> Outcome {
    let rules = match Rules::new(&options, &plan.settings) {
        Ok(rules) => rules,
        Err(text) => return refuse(text, sink),
    };
    let refused = refusals(&plan);
    if !refused.is_empty() {
        return refuse_all(refused, sink);
    }
    sink(Event::Planned(planned(&plan, options.as_vdbench)));
    let (layout, numbers) = (Layout::new(&plan), Numbers::new(&plan));
    let mut session = Session::new(&fleet, layout, numbers, rules, events, control, sink);
    let mut execution = Execution::default();
    let (halt, problems) = match session.set_up(plan).await {
        Ok(resolved) => {
            let (halt, problems) = execution.all(&mut session, &resolved).await;
            (halt.or_else(|| session.losses()), problems)
        }
        Err(end) => {
            let (halt, problems) = end.parts(session.rules.as_vdbench);
            (Some(halt), problems)
        }
    };
    finish(&mut session, halt, problems, execution.runs).await
}

/// Says how it ended, and ends the agents.
pub(crate) async fn finish<L: HostLink>(
    session: &mut Session<'_, L>,
    halt: Option<Halt>,
    problems: Vec<SetupProblem>,
    runs: u32,
) -> Outcome {
    let outcome = session.conclude(halt, problems, runs);
    session.farewell(&outcome).await;
    outcome
}

/// The end before the beginning, for a reason in a sentence.
pub(crate) fn refuse(text: String, sink: &mut dyn FnMut(Event)) -> Outcome {
    refuse_all(vec![SetupProblem { kind: SetupKind::Setup, text, vdbench: None, span: None }], sink)
}

fn refuse_all(problems: Vec<SetupProblem>, sink: &mut dyn FnMut(Event)) -> Outcome {
    let text = problems.first().map(|p| p.text.clone()).unwrap_or_default();
    sink(Event::Aborted { cause: AbortCause::Setup, text, io_errors: 0 });
    Outcome { abort: Some(AbortCause::Setup), problems, ..Outcome::default() }
}

impl<L: HostLink> Session<'_, L> {
    /// The end of an execution that went on without lost workers: everything else was done.
    pub(crate) fn losses(&self) -> Option<Halt> {
        let lost = self.lost.iter().enumerate().filter(|(_, lost)| **lost).map(|(w, _)| self.layout.label(w));
        let labels: Vec<&str> = lost.collect();
        self.went_on.then(|| {
            let text = format!(
                "on_worker_loss=continue: {} of {} workers were lost ({}); the results since then are partial",
                labels.len(),
                self.lost.len(),
                labels.join(", ")
            );
            Halt::abort(AbortCause::WorkerLost, text)
        })
    }

    /// Says how it ended.
    fn conclude(&mut self, halt: Option<Halt>, problems: Vec<SetupProblem>, runs: u32) -> Outcome {
        let io_errors = self.io_errors;
        let mut outcome = Outcome { runs, io_errors, problems, ..Outcome::default() };
        match halt {
            None | Some(Halt::Ended) => outcome.complete = true,
            Some(Halt::Interrupted(signal)) => {
                outcome.interrupted = Some(signal);
                self.emit(Event::Interrupted { signal });
            }
            Some(Halt::Aborted { cause, text }) => {
                outcome.abort = Some(cause);
                self.emit(Event::Aborted { cause, text, io_errors });
            }
        }
        outcome
    }

    /// Ends the agents. An interrupt ends the wait for them.
    async fn farewell(&mut self, outcome: &Outcome) {
        let fleet = self.fleet;
        let hosts = fleet.hosts.iter().enumerate();
        let calls = hosts.map(|(h, host)| (h, host.link.shutdown())).collect();
        let hurry = self.hurry || outcome.abort == Some(AbortCause::Stuck);
        let limit = if hurry { SHORT_FAREWELL } else { FAREWELL };
        for (host, answer) in self.call_anyway(calls, limit, Patience::UntilControl).await {
            if let Err(error) = answer {
                tracing::warn!(host, %error, "the agent did not say goodbye");
            }
        }
        self.last_words();
    }
}

/// The runs of an execution.
#[derive(Default)]
pub(crate) struct Execution {
    /// Runs started.
    runs: u32,
    observed: Observed,
    longest_idle: LongestIdle,
    /// `pause=` of the run before.
    pause: u32,
    problems: Vec<SetupProblem>,
    /// Runs that another master has started.
    past: BTreeMap<u32, PastRun>,
    /// How long ago the first of them began.
    since: Duration,
}

impl Execution {
    /// One that goes on behind these runs.
    pub(crate) fn after(past: BTreeMap<u32, PastRun>, since: Duration) -> Self {
        Self { past, since, ..Self::default() }
    }

    /// Runs started so far.
    pub(crate) fn runs(&self) -> u32 {
        self.runs
    }

    /// All passes over all runs, between the general hooks. The hooks after the last run also follow a failure, but not
    /// an interrupt (`docs/vdbench/raw.md` §3).
    pub(crate) async fn all<L: HostLink>(
        &mut self,
        session: &mut Session<'_, L>,
        resolved: &Resolved,
    ) -> (Option<Halt>, Vec<SetupProblem>) {
        let settings = &resolved.plan.settings;
        let mut halt = match self.begin(session, resolved).await {
            Ok(monitor) => {
                let common = Common {
                    resolved,
                    numbers: session.numbers.clone(),
                    monitor: &monitor,
                    host_detail: settings.report.contains(&ReportOption::HostDetail),
                    worker_detail: settings.report.contains(&ReportOption::SlaveDetail),
                };
                let halt = self.passes(session, &common).await.err();
                self.report_idle(session, &common);
                halt
            }
            Err(halt) => return (Some(halt), Vec::new()),
        };
        if !matches!(halt, Some(Halt::Interrupted(_))) {
            let end = session.run_hooks("endcmd", &settings.endcmd, HookLevel::Execution).await;
            if halt.is_none() || halt == Some(Halt::Ended) {
                halt = end.err().or(halt);
            }
        }
        (halt, std::mem::take(&mut self.problems))
    }

    async fn begin<L: HostLink>(&mut self, session: &mut Session<'_, L>, resolved: &Resolved) -> Result<Monitor, Halt> {
        let settings = &resolved.plan.settings;
        let file = settings.monitor.as_deref();
        let monitor = Monitor::start(file, &session.rules.shutdown_file).map_err(|error| {
            let file = file.unwrap_or_default();
            Halt::abort(AbortCause::Setup, format!("monitor={file} cannot be written: {error}"))
        })?;
        if let Some(file) = file {
            session.emit(Event::MonitorWatched { file: file.to_owned() });
        }
        // They were run before the first run.
        if self.past.is_empty() {
            session.run_hooks("startcmd", &settings.startcmd, HookLevel::Execution).await?;
        }
        Ok(monitor)
    }

    async fn passes<L: HostLink>(&mut self, session: &mut Session<'_, L>, common: &Common<'_>) -> Result<(), Halt> {
        let repeat = common.resolved.plan.settings.repeat;
        let started = Instant::now();
        let since = self.since;
        for pass in 1.. {
            if repeat.is_some() {
                session.emit(Event::LoopStarted { pass });
            }
            self.pass(session, common, pass).await?;
            let more = match repeat {
                None => false,
                Some(Repeat::Passes(passes)) => pass < passes,
                Some(Repeat::Seconds(seconds)) => since + started.elapsed() < Duration::from_secs(seconds),
                Some(Repeat::Forever) => true,
            };
            if !more {
                break;
            }
            self.observed.next_pass();
        }
        Ok(())
    }

    async fn pass<L: HostLink>(
        &mut self,
        session: &mut Session<'_, L>,
        common: &Common<'_>,
        pass: u64,
    ) -> Result<(), Halt> {
        for (index, run) in common.resolved.plan.runs.iter().enumerate() {
            // A format is made once (`docs/vdbench/raw.md` §8.9).
            if run.kind == RunKind::Format && pass > 1 {
                continue;
            }
            let (rate, mix) = match self.observed.speed(run) {
                Speed::Go { rate, mix } => (rate, mix),
                Speed::Stopped => continue,
                Speed::TooSlow => {
                    let text = format!("rd={} is not run: it would be less than 10 I/Os per second", run.name);
                    session.notice(false, "curve-point-too-slow", text);
                    continue;
                }
            };
            let past = self.past.remove(&self.runs);
            match &past {
                Some(past) if past.name != run.name => {
                    let text = format!("rd={} would come where rd={} was: this is another plan", run.name, past.name);
                    return Err(Halt::abort(AbortCause::Setup, text));
                }
                Some(PastRun { ended_ms: Some(ended_ms), totals, uncontrolled, .. }) => {
                    self.ended(session, index, run, *uncontrolled, totals);
                    self.runs += 1;
                    // What comes behind a run may not have been done behind the last one.
                    if self.past.is_empty() {
                        session.run_hooks("endcmd", &run.endcmd, HookLevel::Run).await?;
                        self.pause = rest_of_pause(run.pause, *ended_ms, now_ms());
                    }
                    continue;
                }
                Some(_) => {}
                None => self.wait(session).await?,
            }
            let mut deal = common.resolved.deal(index, self.runs, rate, mix.as_deref()).map_err(|problems| {
                self.problems = problems;
                problems_halt(&self.problems, session.rules.as_vdbench)
            })?;
            let absent = if past.is_some() { Vec::new() } else { session.without_lost(&run.name, &mut deal)? };
            let dealt = Dealt { plan: run, index, number: self.runs, rate, deal, absent };
            self.run(session, common, &dealt, past).await?;
        }
        Ok(())
    }

    /// `pause=` of the run before.
    async fn wait<L: HostLink>(&mut self, session: &mut Session<'_, L>) -> Result<(), Halt> {
        let seconds = std::mem::take(&mut self.pause);
        if seconds > 0 {
            session.emit(Event::Pausing { seconds });
            session.pause(Duration::from_secs(u64::from(seconds))).await?;
        }
        Ok(())
    }

    async fn run<L: HostLink>(
        &mut self,
        session: &mut Session<'_, L>,
        common: &Common<'_>,
        dealt: &Dealt<'_>,
        past: Option<PastRun>,
    ) -> Result<(), Halt> {
        let running = match past {
            None => session.start_run(common, dealt, &mut self.longest_idle).await?,
            Some(past) => session.take_up_run(common, dealt, &mut self.longest_idle, past).await?,
        };
        self.runs += 1;
        let RunReport { totals, orderly, halt, error_command } = running.lead().await;
        if let Some(command) = error_command {
            let command = session.rules.filled(&command);
            session.run_here("data_errors=", &command, HookDestination::Log).await?;
        }
        if orderly {
            session.run_hooks("endcmd", &dealt.plan.endcmd, HookLevel::Run).await?;
        }
        if let Some(halt) = halt {
            return Err(halt);
        }
        session.check_mix(common, dealt, &totals)?;
        self.ended(session, dealt.index, dealt.plan, dealt.deal.uncontrolled, &totals);
        self.pause = dealt.plan.pause;
        Ok(())
    }

    /// What a run achieved matters to those behind it.
    fn ended<L>(&mut self, session: &mut Session<'_, L>, index: usize, run: &Run, uncontrolled: bool, totals: &Totals) {
        self.observed.ended(index, run, uncontrolled, totals);
        if let Some(ms) = self.observed.stop_curve(run, totals) {
            let text = format!("stopcurve=: rd={} answered in {ms:.3} ms, the curve ends here", run.name);
            session.notice(false, "stopcurve", text);
        }
    }

    /// Every form of `timeout=` tells of the longest idle period of each SD at the end.
    fn report_idle<L: HostLink>(&self, session: &mut Session<'_, L>, common: &Common<'_>) {
        for (sd, longest) in &self.longest_idle {
            let number = session.numbers.sds.iter().position(|n| *n == Some(*sd));
            let name = number.and_then(|n| common.resolved.plan.sds.get(n)).map_or("?", |sd| &sd.name);
            let text = format!(
                "timeout=: the longest time in which no I/O of sd={name} was completed was {} seconds (Unix time {} to {} ms)",
                longest.seconds, longest.from_ms, longest.to_ms
            );
            session.notice(false, "timeout-report", text);
        }
    }
}
