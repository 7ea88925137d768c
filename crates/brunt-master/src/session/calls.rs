//! Calls to several hosts at once, and how long their answers are waited for.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::{Halt, Session, next};
use crate::fleet::Control;
use crate::link::{HostLink, LinkError, LinkEvent};

/// How long the answers to calls are waited for, besides their limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Not when control comes, and not those of a host that goes away: it is told again when it is back.
    Brief,
    /// Not when control comes.
    UntilControl,
}

/// So long a call that was made whatever came is waited for once control has come.
const HURRY: Duration = Duration::from_secs(5);

/// How a wait for calls ended.
enum Finish {
    Done,
    Control(Control),
    /// The time given is over.
    Late,
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

    /// Those that have not answered too.
    fn all(self) -> Vec<(usize, Option<Result<T, LinkError>>)> {
        self.running.into_iter().map(|(h, _)| h).zip(self.done).collect()
    }

    fn results(self) -> Vec<(usize, Result<T, LinkError>)> {
        let hosts = self.running.into_iter().map(|(h, _)| h);
        hosts.zip(self.done.into_iter().flatten()).collect()
    }
}

impl<L: HostLink> Session<'_, L> {
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
                    self.give_up_there(&mut calls, &why);
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
            let until = Instant::now() + limit;
            loop {
                match self.finish(&mut calls, Some(until), patience).await {
                    Finish::Done => break,
                    Finish::Late => {
                        calls.fail(None, "it took too long");
                        break;
                    }
                    Finish::Control(control) => {
                        self.waiting_control.push_back(control);
                        calls.fail(None, "the answer was not waited for");
                    }
                }
            }
        }
        calls.results()
    }

    /// As [`Session::call_within`], for calls whose effect must be ended in order: control is heard afterwards, and ends the
    /// wait some seconds later, or at once when it comes again. An answer that was not waited for then is `None`.
    pub(crate) async fn call_through<T, F>(
        &mut self,
        calls: Vec<(usize, F)>,
        after: Duration,
        limit: Duration,
        mut late: impl FnMut(&mut Self, &[usize]),
    ) -> Vec<(usize, Option<Result<T, LinkError>>)>
    where
        F: Future<Output = Result<T, LinkError>>,
    {
        let mut calls = Calls::new(calls);
        let began = Instant::now();
        let (mut named, mut until, mut hurry) = (false, began + after, None);
        // All are on their way before anything else is looked at.
        let _ = poll_fn(|cx| Poll::Ready(calls.poll(cx))).await;
        loop {
            let next = hurry.map_or(until, |hurry: Instant| hurry.min(until));
            match self.finish(&mut calls, Some(next), Patience::UntilControl).await {
                Finish::Done => break,
                Finish::Control(control) => {
                    self.waiting_control.push_back(control);
                    if hurry.replace(Instant::now() + HURRY).is_some() {
                        break;
                    }
                }
                Finish::Late if hurry.is_some_and(|hurry| hurry <= Instant::now()) => break,
                Finish::Late if named => {
                    self.give_up_there(&mut calls, "it took too long");
                    until = Instant::now() + limit;
                }
                Finish::Late => {
                    (named, until) = (true, began + limit);
                    late(self, &calls.unanswered());
                }
            }
        }
        calls.all()
    }

    /// Gives up the calls to hosts that are there and have not answered. One that is away is back or lost when its lease is
    /// over, and not before.
    fn give_up_there<T, F>(&self, calls: &mut Calls<T, F>, why: &str)
    where
        F: Future<Output = Result<T, LinkError>>,
    {
        let there = calls.unanswered().into_iter().filter(|host| !self.is_away(*host));
        there.for_each(|host| calls.fail(Some(host), why));
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
}
