//! The ears and the mouth of an execution: agents, control and sink in one place.
//!
//! While a call is under way everything else is still listened to: what agents report is kept for later, a lost agent
//! fails its call, and an interrupt ends the wait.

mod calls;

use std::collections::{HashSet, VecDeque};
use std::future::poll_fn;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use brunt_event::{AbortCause, Event, NoticeLevel};
use brunt_plan::SetupNotice;
use brunt_plan::work::WorkerEvent;
use tokio::sync::mpsc::Receiver;
use tokio::time::{Instant, sleep_until};

use crate::fleet::{Control, Fleet, Layout};
use crate::link::{HostLink, LinkEvent};
use crate::planned::Numbers;
use crate::rules::Rules;
use crate::under_way::UnderWay;
pub(crate) use calls::Patience;

/// Why an execution goes no further.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Halt {
    /// A signal.
    Interrupted(i32),
    /// Something is wrong.
    Aborted { cause: AbortCause, text: String },
    /// Somebody asked for the end (monitor file): nothing is wrong.
    Ended,
}

impl Halt {
    pub(crate) fn abort(cause: AbortCause, text: impl Into<String>) -> Self {
        Halt::Aborted { cause, text: text.into() }
    }
}

impl From<Control> for Halt {
    fn from(control: Control) -> Self {
        match control {
            Control::Interrupt(signal) => Halt::Interrupted(signal),
            Control::Abort { cause, text } => Halt::Aborted { cause, text },
        }
    }
}

/// What was heard.
#[derive(Debug)]
pub(crate) enum Heard {
    Control(Control),
    Link(usize, LinkEvent),
    /// A host has gone away or is back.
    Presence,
    /// The time given is over.
    Tick,
}

/// The state that lives as long as the execution.
pub(crate) struct Session<'a, L> {
    pub(crate) fleet: &'a Fleet<L>,
    pub(crate) layout: Layout,
    pub(crate) numbers: Numbers,
    pub(crate) rules: Rules,
    pub(crate) sink: &'a mut dyn FnMut(Event),
    /// I/O errors so far.
    pub(crate) io_errors: u64,
    /// Somebody wants to leave at once.
    pub(crate) hurry: bool,
    /// Workers that are gone.
    pub(crate) lost: Vec<bool>,
    /// A run went on without some of its workers (`misc=(on_worker_loss=continue)`).
    pub(crate) went_on: bool,
    /// Hosts that cannot be reached just now.
    pub(crate) away: Vec<bool>,
    /// Hosts that have come back and were not told again what is asked of them.
    pub(crate) returned: Vec<usize>,
    /// Hooks that another master has run: command and place.
    pub(crate) hooks_run: Vec<(String, String)>,
    /// What hosts were told and have not answered.
    pub(crate) under_way: UnderWay<'a>,
    inbox: Option<Receiver<(usize, LinkEvent)>>,
    backlog: VecDeque<(usize, LinkEvent)>,
    control: Option<Receiver<Control>>,
    waiting_control: VecDeque<Control>,
    noticed: HashSet<(&'static str, String)>,
}

impl<'a, L: HostLink> Session<'a, L> {
    pub(crate) fn new(
        fleet: &'a Fleet<L>,
        layout: Layout,
        numbers: Numbers,
        rules: Rules,
        inbox: Receiver<(usize, LinkEvent)>,
        control: Receiver<Control>,
        sink: &'a mut dyn FnMut(Event),
    ) -> Self {
        let (lost, away) = (vec![false; layout.workers().len()], vec![false; layout.hosts()]);
        Self {
            fleet,
            layout,
            numbers,
            rules,
            sink,
            io_errors: 0,
            hurry: false,
            lost,
            went_on: false,
            away,
            returned: Vec::new(),
            hooks_run: Vec::new(),
            under_way: UnderWay::default(),
            inbox: Some(inbox),
            backlog: VecDeque::new(),
            control: Some(control),
            waiting_control: VecDeque::new(),
            noticed: HashSet::new(),
        }
    }

    /// Sends an event out.
    pub(crate) fn emit(&mut self, event: Event) {
        (self.sink)(event);
    }

    /// Says something the user should know.
    pub(crate) fn notice(&mut self, warning: bool, code: &str, text: impl Into<String>) {
        let level = if warning { NoticeLevel::Warning } else { NoticeLevel::Note };
        self.emit(Event::Notice { level, code: code.to_owned(), text: text.into() });
    }

    /// Says what the plan found worth saying, the same only once in an execution.
    pub(crate) fn plan_notices(&mut self, notices: &[SetupNotice]) {
        for n in notices {
            if self.noticed.insert((n.code, n.text.clone())) {
                self.notice(n.warning, n.code, n.text.clone());
            }
        }
    }

    /// Waits for the next thing to happen, at most until `until`.
    pub(crate) async fn hear(&mut self, until: Option<Instant>) -> Heard {
        if let Some(control) = self.waiting_control.pop_front() {
            return Heard::Control(control);
        }
        if let Some((host, event)) = self.backlog.pop_front() {
            return Heard::Link(host, event);
        }
        loop {
            tokio::select! {
                biased;
                control = next(&mut self.control) => match control {
                    Some(control) => return Heard::Control(control),
                    None => self.control = None,
                },
                answers = poll_fn(|cx| self.under_way.poll(cx)), if !self.under_way.is_empty() => self.answered(answers),
                event = next(&mut self.inbox) => match event {
                    Some((host, event)) => return match self.presence(host, event) {
                        Some(event) => Heard::Link(host, event),
                        None => Heard::Presence,
                    },
                    None => {
                        self.close_inbox();
                        if let Some((host, event)) = self.backlog.pop_front() {
                            return Heard::Link(host, event);
                        }
                    }
                },
                () = sleep_until(until.unwrap_or_else(Instant::now)), if until.is_some() => return Heard::Tick,
            }
        }
    }

    /// No link is left that could report: all hosts are lost.
    fn close_inbox(&mut self) {
        self.inbox = None;
        let lost = |h| (h, LinkEvent::Lost("its agent has gone".to_owned()));
        self.backlog.extend((0..self.layout.hosts()).map(lost));
    }

    /// Waits; lets nothing pass unheard.
    ///
    /// # Errors
    /// An interrupt.
    pub(crate) async fn pause(&mut self, time: Duration) -> Result<(), Halt> {
        let until = Instant::now() + time;
        loop {
            match self.hear(Some(until)).await {
                Heard::Tick => return Ok(()),
                Heard::Control(control) => return Err(control.into()),
                Heard::Link(host, event) => self.idle_event(host, event),
                Heard::Presence => {}
            }
        }
    }

    /// Takes what was reported while no run was going on.
    pub(crate) fn catch_up(&mut self) {
        while let Some((host, event)) = self.backlog.pop_front() {
            self.idle_event(host, event);
        }
    }

    /// Takes what was reported until the agents were told to end: that they are gone now is no news.
    pub(crate) fn last_words(&mut self) {
        while let Some((host, event)) = self.backlog.pop_front() {
            self.passive(host, event);
        }
    }

    /// A worker that is lost between runs matters when it has work again.
    fn idle_event(&mut self, host: usize, event: LinkEvent) {
        if let Some(Loss { workers, text }) = self.passive(host, event) {
            workers.for_each(|w| self.lose(w, &text));
        }
    }

    /// Handles what has no bearing on a run: lines of log. Says which workers are lost, if any.
    pub(crate) fn passive(&mut self, host: usize, event: LinkEvent) -> Option<Loss> {
        match event {
            LinkEvent::Worker { worker, event: WorkerEvent::Log(text), .. }
            | LinkEvent::Stderr { worker, line: text } => {
                if let Some(worker) = self.layout.worker(host, worker) {
                    self.emit(Event::WorkerLog { worker: worker as u32, worker_ms: now_ms(), text });
                }
                None
            }
            LinkEvent::Worker { worker, event: WorkerEvent::Warning(text), .. } => {
                if let Some(worker) = self.layout.worker(host, worker) {
                    let worker_ms = now_ms();
                    self.emit(Event::WorkerLog { worker: worker as u32, worker_ms, text: text.clone() });
                }
                let text = self.with_place(host, text);
                if self.noticed.insert(("host", text.clone())) {
                    self.notice(true, "host", text);
                }
                None
            }
            LinkEvent::Worker { worker, event: WorkerEvent::Fatal(text), .. } => {
                let w = self.layout.worker(host, worker)?;
                Some(Loss { workers: w..w + 1, text })
            }
            LinkEvent::Lost(text) => Some(Loss { workers: self.layout.of_host(host), text }),
            LinkEvent::Worker { .. } | LinkEvent::Devices { .. } => None,
            // Told where they are heard.
            LinkEvent::Away { .. } | LinkEvent::Back { .. } | LinkEvent::Clock { .. } | LinkEvent::Gap { .. } => None,
        }
    }

    /// What a host warns of, with its label where that is not plain: its log has it without.
    fn with_place(&self, host: usize, text: String) -> String {
        let label = self.layout.host_label(host);
        match self.layout.hosts() > 1 && !text.starts_with(&format!("host {label} ")) {
            true => format!("host={label}: {text}"),
            false => text,
        }
    }

    /// The end that a lost worker brings, in Vdbench's words (`docs/vdbench/reports.md` §11).
    pub(crate) fn worker_lost(&self, worker: usize) -> Halt {
        let label = self.layout.label(worker);
        Halt::abort(AbortCause::WorkerLost, format!("Slave {label} prematurely terminated. "))
    }
}

/// Workers that are lost, and why.
#[derive(Debug)]
pub(crate) struct Loss {
    pub(crate) workers: std::ops::Range<usize>,
    pub(crate) text: String,
}

async fn next<T>(receiver: &mut Option<Receiver<T>>) -> Option<T> {
    match receiver {
        Some(r) => r.recv().await,
        None => std::future::pending().await,
    }
}

/// Unix time in milliseconds; a label only.
pub(crate) fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as i64)
}
