//! The ears and the mouth of an execution: agents, control and sink in one place.
//!
//! While a call is under way everything else is still listened to: what agents report is kept for later, a lost agent
//! fails its call, and an interrupt ends the wait.

use std::collections::{HashSet, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use brunt_event::{AbortCause, Event, NoticeLevel};
use brunt_plan::SetupNotice;
use brunt_plan::work::WorkerEvent;
use tokio::sync::mpsc::Receiver;
use tokio::time::{Instant, sleep_until};

use crate::fleet::{Control, Fleet, Layout};
use crate::link::{HostLink, LinkError, LinkEvent};
use crate::planned::Numbers;
use crate::rules::Rules;
use crate::under_way::UnderWay;

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

/// How long the answers to calls are waited for, besides their limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Not when control comes, and not those of a host that goes away: it is told again when it is back.
    Brief,
    /// Not when control comes.
    UntilControl,
    /// Whatever comes, and those of a host that is away for longer than the limit.
    Full,
}

/// How a wait for calls ended.
enum Finish {
    Done,
    Control(Control),
    /// The time given is over.
    Late,
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

/// Calls to several hosts: each with its host, running or done.
struct Calls<T, F> {
    running: Vec<(usize, Option<Pin<Box<F>>>)>,
    done: Vec<Option<Result<T, LinkError>>>,
}

impl<T, F: Future<Output = Result<T, LinkError>>> Calls<T, F> {
    fn new(calls: Vec<(usize, F)>) -> Self {
        let done = calls.iter().map(|_| None).collect();
        Self { running: calls.into_iter().map(|(h, f)| (h, Some(Box::pin(f)))).collect(), done }
    }

    fn poll(&mut self, cx: &mut std::task::Context<'_>) -> Poll<()> {
        for ((_, future), done) in self.running.iter_mut().zip(&mut self.done) {
            if let Some(f) = future
                && let Poll::Ready(result) = f.as_mut().poll(cx)
            {
                *done = Some(result);
                *future = None;
            }
        }
        if self.running.iter().all(|(_, f)| f.is_none()) { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Gives up the calls to a host, or to all.
    fn fail(&mut self, host: Option<usize>, why: &str) {
        for ((h, future), done) in self.running.iter_mut().zip(&mut self.done) {
            if future.is_some() && host.is_none_or(|host| host == *h) {
                *future = None;
                *done = Some(Err(LinkError::Broken(why.to_owned())));
            }
        }
    }

    /// Hosts that have not answered.
    fn unanswered(&self) -> Vec<usize> {
        self.running.iter().filter(|(_, future)| future.is_some()).map(|(host, _)| *host).collect()
    }

    fn results(self) -> Vec<(usize, Result<T, LinkError>)> {
        let hosts = self.running.into_iter().map(|(h, _)| h);
        hosts.zip(self.done.into_iter().flatten()).collect()
    }
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

    /// Makes calls to hosts at the same time and waits for all answers.
    ///
    /// # Errors
    /// An interrupt or abort that came first; the calls are given up then.
    pub(crate) async fn call<T, F>(
        &mut self,
        calls: Vec<(usize, F)>,
    ) -> Result<Vec<(usize, Result<T, LinkError>)>, Halt>
    where
        F: Future<Output = Result<T, LinkError>>,
    {
        if let Some(control) = self.waiting_control.pop_front() {
            return Err(control.into());
        }
        let mut calls = Calls::new(calls);
        match self.finish(&mut calls, None, Patience::UntilControl).await {
            Finish::Control(control) => Err(control.into()),
            Finish::Done | Finish::Late => Ok(calls.results()),
        }
    }

    /// As [`Session::call`]; `late` is told, once, of the hosts that have not answered after that time.
    ///
    /// # Errors
    /// As [`Session::call`].
    pub(crate) async fn call_naming<T, F>(
        &mut self,
        calls: Vec<(usize, F)>,
        after: Duration,
        late: impl FnMut(&mut Self, &[usize]),
    ) -> Result<Vec<(usize, Result<T, LinkError>)>, Halt>
    where
        F: Future<Output = Result<T, LinkError>>,
    {
        self.call_within(calls, after, None, late).await
    }

    /// As [`Session::call_naming`]; calls to hosts that are there and have not answered after `limit` are given up. One
    /// that is away is back or lost when its lease is over, and not before.
    ///
    /// # Errors
    /// As [`Session::call`].
    pub(crate) async fn call_within<T, F>(
        &mut self,
        calls: Vec<(usize, F)>,
        after: Duration,
        limit: Option<Duration>,
        mut late: impl FnMut(&mut Self, &[usize]),
    ) -> Result<Vec<(usize, Result<T, LinkError>)>, Halt>
    where
        F: Future<Output = Result<T, LinkError>>,
    {
        if let Some(control) = self.waiting_control.pop_front() {
            return Err(control.into());
        }
        let mut calls = Calls::new(calls);
        let (began, mut named) = (Instant::now(), false);
        let mut until = Some(began + after);
        loop {
            match self.finish(&mut calls, until, Patience::UntilControl).await {
                Finish::Control(control) => return Err(control.into()),
                Finish::Done => return Ok(calls.results()),
                Finish::Late if named => {
                    let why =
                        limit.map_or_else(String::new, |l| format!("nothing came within {} seconds", l.as_secs()));
                    let there = calls.unanswered().into_iter().filter(|host| !self.is_away(*host));
                    there.for_each(|host| calls.fail(Some(host), &why));
                    until = limit.map(|limit| Instant::now() + limit);
                }
                Finish::Late => {
                    named = true;
                    until = limit.map(|limit| began + limit);
                    late(self, &calls.unanswered());
                }
            }
        }
    }

    /// As [`Session::call`], for calls that must be made whatever comes: control is heard afterwards. Waits for answers
    /// for at most `limit`, and as `patience` says.
    pub(crate) async fn call_anyway<T, F>(
        &mut self,
        calls: Vec<(usize, F)>,
        limit: Duration,
        patience: Patience,
    ) -> Vec<(usize, Result<T, LinkError>)>
    where
        F: Future<Output = Result<T, LinkError>>,
    {
        let mut calls = Calls::new(calls);
        // All are on their way before anything else is looked at.
        if poll_fn(|cx| Poll::Ready(calls.poll(cx))).await.is_pending() {
            let mut until = Instant::now() + limit;
            loop {
                match self.finish(&mut calls, Some(until), patience).await {
                    Finish::Done => break,
                    Finish::Late => {
                        // One that is away is back or lost when its lease is over, and not before.
                        let waits = |host: &usize| patience == Patience::Full && self.is_away(*host);
                        let late = calls.unanswered().into_iter().filter(|host| !waits(host));
                        late.for_each(|host| calls.fail(Some(host), "it took too long"));
                        until = Instant::now() + limit;
                    }
                    Finish::Control(control) => {
                        self.waiting_control.push_back(control);
                        if patience != Patience::Full {
                            calls.fail(None, "the answer was not waited for");
                        }
                    }
                }
            }
        }
        calls.results()
    }

    /// Until all calls are answered or have failed, control comes, or the time is over.
    async fn finish<T, F>(&mut self, calls: &mut Calls<T, F>, until: Option<Instant>, patience: Patience) -> Finish
    where
        F: Future<Output = Result<T, LinkError>>,
    {
        loop {
            tokio::select! {
                biased;
                control = next(&mut self.control) => match control {
                    Some(control) => return Finish::Control(control),
                    None => self.control = None,
                },
                () = poll_fn(|cx| calls.poll(cx)) => return Finish::Done,
                event = next(&mut self.inbox) => match event {
                    Some((host, event)) => {
                        match &event {
                            LinkEvent::Lost(why) => calls.fail(Some(host), why),
                            LinkEvent::Away { .. } if patience == Patience::Brief => calls.fail(Some(host), "it is away"),
                            _ => {}
                        }
                        let rest = self.presence(host, event);
                        self.backlog.extend(rest.map(|event| (host, event)));
                    }
                    None => {
                        self.close_inbox();
                        calls.fail(None, "its agent has gone");
                    }
                },
                () = sleep_until(until.unwrap_or_else(Instant::now)), if until.is_some() => return Finish::Late,
            }
        }
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
