//! What hosts are told in the course of a run, and whose answers nobody waits for: one that hangs must hold up neither
//! the rest nor an end.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::link::{HostLink, LinkError};
use crate::run::drain::ANSWER_LIMIT;
use crate::session::{Patience, Session};
use crate::slow::within;

/// What a host is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// The end, after an interval or at once.
    Stop(Option<u32>),
    /// An interval in lockstep may begin.
    Grant(u32),
    /// An SD gets no more I/O.
    Drop(u32),
}

impl Order {
    async fn give<L: HostLink>(self, link: &L) -> Result<(), LinkError> {
        match self {
            Order::Stop(after) => link.stop(after).await,
            Order::Grant(interval) => link.grant(interval).await,
            Order::Drop(sd) => link.drop_sd(sd).await,
        }
    }
}

/// An order that has not been answered.
struct Told<'a> {
    host: usize,
    order: Order,
    answer: Pin<Box<dyn Future<Output = Result<(), LinkError>> + Send + 'a>>,
}

/// An answer.
pub(crate) struct Answered {
    host: usize,
    order: Order,
    result: Result<(), LinkError>,
}

/// Orders that have not been answered.
#[derive(Default)]
pub(crate) struct UnderWay<'a>(Vec<Told<'a>>);

impl UnderWay<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The answers that are there, if any is.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Vec<Answered>> {
        let mut answers = Vec::new();
        self.0.retain_mut(|told| match told.answer.as_mut().poll(cx) {
            Poll::Pending => true,
            Poll::Ready(result) => {
                answers.push(Answered { host: told.host, order: told.order, result });
                false
            }
        });
        if answers.is_empty() { Poll::Pending } else { Poll::Ready(answers) }
    }

    /// A host is not waited for: it is lost, or away, and is told again when it is back.
    pub(crate) fn forget_host(&mut self, host: usize) {
        self.0.retain(|told| told.host != host);
    }

    /// Nobody is waited for.
    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }
}

impl<L: HostLink> Session<'_, L> {
    /// Tells hosts something. It is on its way to all of them when this returns; the answers are heard later.
    pub(crate) async fn tell(&mut self, order: Order, hosts: &[usize]) {
        let fleet = self.fleet;
        for host in hosts {
            let Some(link) = fleet.hosts.get(*host).map(|host| &host.link) else { continue };
            if matches!(order, Order::Grant(_)) {
                // Whoever has reported an interval was given it.
                self.under_way.0.retain(|told| told.host != *host || !matches!(told.order, Order::Grant(_)));
            }
            let answer = Box::pin(within(ANSWER_LIMIT, order.give(link)));
            self.under_way.0.push(Told { host: *host, order, answer });
        }
        let answers = std::future::poll_fn(|cx| Poll::Ready(self.under_way.poll(cx))).await;
        if let Poll::Ready(answers) = answers {
            self.answered(answers);
        }
    }

    /// Takes answers.
    pub(crate) fn answered(&mut self, answers: Vec<Answered>) {
        for Answered { host, order, result } in answers {
            let Err(why) = result else { continue };
            tracing::warn!(host, ?order, %why, "an order was not obeyed");
            if matches!(order, Order::Drop(_)) {
                let label = self.layout.host_label(host);
                let text = format!("data_errors=remove_device: the failing SD stays in use on {label}: {why}");
                self.notice(true, "remove-device", text);
            }
        }
    }

    /// Waits until everything is answered, so that nothing that is late comes into the next run. An interrupt ends the
    /// wait.
    pub(crate) async fn settle(&mut self) {
        let told = std::mem::take(&mut self.under_way.0);
        let orders: Vec<Order> = told.iter().map(|told| told.order).collect();
        let calls = told.into_iter().map(|told| (told.host, told.answer)).collect();
        let results = self.call_anyway(calls, ANSWER_LIMIT, Patience::Brief).await;
        let answers = results.into_iter().zip(orders).map(|((host, result), order)| Answered { host, order, result });
        self.answered(answers.collect());
    }
}
