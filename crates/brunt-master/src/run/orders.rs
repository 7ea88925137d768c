//! What a run asks of its hosts on its way. A host that is away is told when it is back.

use brunt_event::RunEnd;

use crate::link::HostLink;
use crate::run::Run;
use crate::run::drain::ANSWER_LIMIT;
use crate::session::Patience;

/// What was asked so far.
#[derive(Debug, Default)]
pub(super) struct Orders {
    /// The end, after an interval or at once.
    stop: Option<Option<u32>>,
    /// The last interval that may begin.
    granted: Option<u32>,
    /// SDs that get no more I/O.
    pub(super) dropped: Vec<u32>,
}

impl<L: HostLink> Run<'_, '_, L> {
    /// Those hosts that can be told something now.
    pub(super) fn reachable(&self, hosts: &[usize]) -> Vec<usize> {
        hosts.iter().copied().filter(|h| !self.session.is_away(*h) && !self.session.is_host_lost(*h)).collect()
    }

    /// Hosts of which more is to come.
    fn unfinished_hosts(&self) -> Vec<usize> {
        let place = |w: usize| self.session.layout.workers().get(w).map(|place| place.host);
        let mut hosts: Vec<usize> = self.merger.unfinished().filter_map(place).collect();
        // Workers are numbered host by host.
        hosts.dedup();
        hosts
    }

    /// Tells the workers to end, after an interval or at once.
    pub(super) async fn stop(&mut self, end: RunEnd, after: Option<u32>) {
        self.end = Some(end);
        self.orders.stop = Some(after);
        let ahead = after.map_or(0, |n| n.saturating_sub(self.merger.completed()));
        self.drain.begin(ahead.saturating_mul(self.interval));
        let waited_for = self.unfinished_hosts();
        self.say_who_is_waited_for(&waited_for);
        self.send_stop(&self.reachable(&waited_for), after).await;
    }

    /// An end that does not come at once must not look like one that was not heard.
    fn say_who_is_waited_for(&mut self, hosts: &[usize]) {
        let away = hosts.iter().filter(|h| self.session.is_away(**h));
        let away: Vec<&str> = away.map(|h| self.session.layout.host_label(*h)).collect();
        if !away.is_empty() {
            let text = format!(
                "the end waits for host={}, until it is back or its lease is over; Ctrl-C then leaves at once",
                away.join(",")
            );
            self.session.notice(false, "end-waits", text);
        }
    }

    /// Tells a host to end of which nothing is wanted any more.
    pub(super) async fn give_up(&mut self, host: usize) {
        if !self.session.is_away(host) {
            self.send_stop(&[host], None).await;
        }
    }

    async fn send_stop(&mut self, hosts: &[usize], after: Option<u32>) {
        let fleet = self.session.fleet;
        let calls = hosts.iter().filter_map(|h| Some((*h, fleet.hosts.get(*h)?.link.stop(after)))).collect();
        for (h, result) in self.session.call_anyway(calls, ANSWER_LIMIT, Patience::Brief).await {
            if let Err(error) = result {
                tracing::warn!(host = h, %error, "stop was not answered");
            }
        }
    }

    /// Lets the workers begin an interval.
    pub(super) async fn grant(&mut self, interval: u32) {
        self.orders.granted = Some(interval);
        let hosts = self.reachable(&self.hosts);
        self.send_grant(&hosts, interval).await;
    }

    async fn send_grant(&mut self, hosts: &[usize], interval: u32) {
        let fleet = self.session.fleet;
        let calls = hosts.iter().filter_map(|h| Some((*h, fleet.hosts.get(*h)?.link.grant(interval)))).collect();
        for (h, result) in self.session.call_anyway(calls, ANSWER_LIMIT, Patience::Brief).await {
            if let Err(error) = result {
                tracing::warn!(host = h, %error, "grant was not answered");
            }
        }
    }

    /// Tells hosts that are back what they may have missed. What they know already has no effect again.
    pub(super) async fn tell_returned(&mut self) {
        // Asked behind every event, of which there may be thousands a second.
        if self.session.returned.is_empty() && !self.session.away.contains(&true) && !self.drain.is_held() {
            return;
        }
        let waited_for = self.unfinished_hosts();
        self.drain.hold(waited_for.iter().any(|h| self.session.is_away(*h)));
        let returned = std::mem::take(&mut self.session.returned);
        let hosts: Vec<usize> = returned.into_iter().filter(|h| waited_for.contains(h)).collect();
        if hosts.is_empty() {
            return;
        }
        for sd in self.orders.dropped.clone() {
            let fleet = self.session.fleet;
            let calls = hosts.iter().filter_map(|h| Some((*h, fleet.hosts.get(*h)?.link.drop_sd(sd)))).collect();
            for (h, result) in self.session.call_anyway(calls, ANSWER_LIMIT, Patience::Brief).await {
                if let Err(error) = result {
                    tracing::warn!(host = h, %error, "drop was not answered");
                }
            }
        }
        if let Some(interval) = self.orders.granted {
            self.send_grant(&hosts, interval).await;
        }
        if let Some(after) = self.orders.stop {
            self.send_stop(&hosts, after).await;
        }
    }
}
