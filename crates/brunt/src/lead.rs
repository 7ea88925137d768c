//! From a plan to the exit status: the way to the agents, the execution, and what it leaves to whoever would go on with it.

use std::time::Duration;

use brunt_event::{AbortCause, Event, NoticeLevel};
use brunt_master::launch::way::{self, Way};
use brunt_master::launch::{self, Here};
use brunt_master::link::HostFacts;
use brunt_master::tether::{Keepsake, Kept, Terms};
use brunt_master::{Control, Fleet, FleetHost, GrpcLink, LinkEvent, Options, Outcome, Past};
use brunt_plan::plan::Plan;
use brunt_worker::control;
use tokio::sync::mpsc;

use crate::arguments::Arguments;
use crate::diagnostics::{self, Shower};
use crate::exit;
use crate::invocation::Invocation;
use crate::prepare::Prepared;
use crate::session::Session;
use crate::signals::{self, Interrupted};
use crate::testament::{self, Testament};

/// Events of agents that may wait for the master before they wait themselves.
const EVENTS: usize = 4096;

/// Leads one execution.
pub struct Leading<'a> {
    /// How the program was called.
    pub invocation: &'a Invocation,
    /// The words behind its name.
    pub arguments: &'a Arguments,
    /// Where events go.
    pub session: &'a mut Session,
    /// Whether a signal has come.
    pub interrupted: &'a mut Interrupted,
}

/// The channels of a master.
struct Ears {
    from_agents: mpsc::Receiver<(usize, LinkEvent)>,
    asked: mpsc::Receiver<Control>,
}

impl Leading<'_> {
    /// Carries a plan out. `leave` makes of the sessions what another master needs; it is left from the first run on.
    pub fn execute(
        mut self,
        Prepared { plan, sources }: Prepared,
        leave: impl FnOnce(&[Kept]) -> Testament,
    ) -> (i32, bool) {
        let mut held = Vec::new();
        let lasting = Terms::of(&plan).iter().any(|terms| terms.lease > Duration::ZERO);
        let done = self.on_threads(async |this| {
            let (fleet, ears) = this.launch(&plan, None)?;
            let keepsakes: Vec<Keepsake> = fleet.hosts.iter().map(|host| host.link.keepsake()).collect();
            let options = Options::new(this.invocation.as_vdbench, this.session.directory());
            let mut leave = Some(leave).filter(|_| lasting);
            let session = &mut *this.session;
            let sink = &mut |event: Event| {
                if matches!(event, Event::RunStarted(_))
                    && let Some(leave) = leave.take()
                {
                    leave_word(session, &keepsakes, leave);
                }
                match held.is_empty() && !ends_set_up(&event) {
                    true => pass(session, event),
                    false => held.push(event),
                }
            };
            Ok(brunt_master::execute(plan, fleet, options, ears.from_agents, ears.asked, sink).await)
        });
        if let Ok(outcome) = &done {
            let shower = Shower::new(self.arguments.message_format);
            let session = &mut *self.session;
            shower.show(&diagnostics::of_setup(&outcome.problems), &sources, &mut |event| session.emit(event));
        }
        held.into_iter().for_each(|event| self.session.emit(event));
        self.end(done)
    }

    /// Goes on with what another master began: its plan, its past, and what it knew of the hosts.
    pub fn go_on(mut self, plan: Plan, past: Past, facts: Vec<HostFacts>, kept: &[Kept]) -> (i32, bool) {
        let done = self.on_threads(async |this| {
            let (fleet, ears) = this.launch(&plan, Some(kept))?;
            let options = Options::new(this.invocation.as_vdbench, this.session.directory());
            let session = &mut *this.session;
            let sink = &mut |event| pass(session, event);
            let past = (past, facts);
            Ok(brunt_master::take_over(plan, fleet, options, past, ears.from_agents, ears.asked, sink).await)
        });
        self.end(done)
    }

    fn on_threads<T>(&mut self, work: impl AsyncFnOnce(&mut Self) -> Result<T, String>) -> Result<T, String> {
        let runtime = control::runtime().map_err(|error| format!("cannot start threads: {error}"))?;
        control::come_first();
        runtime.block_on(work(self))
    }

    fn end(self, done: Result<Outcome, String>) -> (i32, bool) {
        let as_vdbench = self.invocation.as_vdbench;
        match done {
            Ok(outcome) => (status(&outcome, as_vdbench), outcome.complete),
            Err(text) => {
                self.session.emit(Event::Aborted { cause: AbortCause::Setup, text, io_errors: 0 });
                (exit::of_abort(AbortCause::Setup, as_vdbench), false)
            }
        }
    }

    /// The ways to the agents of all hosts, unless the plan is not for this version, which the master then says. Nothing
    /// is started before the master greets them, all at once. `kept`: their sessions, where another master began them.
    fn launch(&mut self, plan: &Plan, kept: Option<&[Kept]>) -> Result<(Fleet<GrpcLink>, Ears), String> {
        let (events, from_agents) = mpsc::channel(EVENTS);
        let mut hosts = Vec::new();
        if brunt_master::refusals(plan).is_empty() {
            let program = &self.invocation.program;
            let (mut here, terms) = (Here::of(program, &plan.hosts, &plan.settings.misc)?, Terms::of(plan));
            here.port = self.arguments.port.unwrap_or(here.port);
            for (code, text) in way::notes(&plan.hosts, &here.payload).into_iter().filter(|_| kept.is_none()) {
                self.session.emit(Event::Notice { level: NoticeLevel::Note, code: code.to_owned(), text });
            }
            for ((n, host), terms) in plan.hosts.iter().enumerate().zip(terms) {
                let dial = launch::dial(host, &here)?;
                let called = match Way::of(host)? {
                    Way::Local => program.display().to_string(),
                    Way::Ssh | Way::Listen => format!("{} brunt", dial.name()),
                };
                let words = |w| format!("{called} SlaveJvm -m localhost -l {}", host.worker_label(w));
                let commands = (0..host.workers).map(words).collect();
                let link = GrpcLink::over(n, here.crew(host), dial, terms, events.clone());
                let link = match kept.and_then(|kept| kept.get(n)) {
                    Some(kept) => link.of_session(kept),
                    None => link,
                };
                hosts.push(FleetHost { link, commands });
            }
        }
        let (control, asked) = mpsc::channel(4);
        *self.interrupted = signals::watch(control);
        Ok((Fleet { hosts }, Ears { from_agents, asked }))
    }
}

/// Hands an event on. What was measured is with the system before the agents may forget a run.
fn pass(session: &mut Session, event: Event) {
    let ended = matches!(event, Event::RunEnded(_));
    session.emit(event);
    if ended {
        session.settle();
    }
}

fn leave_word(session: &mut Session, keepsakes: &[Keepsake], leave: impl FnOnce(&[Kept]) -> Testament) {
    // A host without a session that lasts, or none that could be asked: nobody can go on with that.
    let Some(kept) = keepsakes.iter().map(Keepsake::get).collect::<Option<Vec<_>>>() else { return };
    if let Err(error) = leave(&kept).write(&session.directory()) {
        let text = format!("should this process be killed nobody can go on with the execution: {error}");
        let code = "no-takeover".to_owned();
        session.emit(Event::Notice { level: NoticeLevel::Warning, code, text });
    }
}

/// Whether an event says that the set-up failed: from there on events wait until its problems are shown, which the
/// outcome holds.
fn ends_set_up(event: &Event) -> bool {
    matches!(event, Event::Aborted { cause: AbortCause::Setup | AbortCause::Safety, .. })
}

fn status(outcome: &Outcome, as_vdbench: bool) -> i32 {
    match (outcome.interrupted, outcome.abort) {
        (Some(signal), _) => exit::of_signal(signal),
        (None, Some(cause)) => exit::of_abort(cause, as_vdbench),
        (None, None) => exit::DONE,
    }
}

/// The last event; gives the status.
pub fn close(
    mut session: Session,
    interrupted: &Interrupted,
    (mut status, mut complete): (i32, bool),
    as_vdbench: bool,
) -> i32 {
    testament::burn(&session.directory());
    if let Some(error) = session.output_error().filter(|_| complete) {
        let text = format!("the reports are not complete: {error}");
        session.emit(Event::Aborted { cause: AbortCause::Output, text, io_errors: 0 });
        (status, complete) = (exit::of_abort(AbortCause::Output, as_vdbench), false);
    }
    session.emit(Event::Closed { status, complete });
    session.close(interrupted);
    status
}
