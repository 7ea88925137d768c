//! What a run asks of its hosts on its way. A host that is away is told when it is back.

use brunt_event::RunEnd;

use crate::link::HostLink;
use crate::run::Run;
use crate::under_way::Order;

/// Workers that are named one by one.
const NAMED: usize = 8;

/// What was asked so far.
#[derive(Debug, Default)]
pub(super) struct Orders {
    /// The end, after an interval or at once.
    stop: Option<Option<u32>>,
    /// The last interval that may begin.
    granted: Option<u32>,
    /// SDs that get no more I/O.
    pub(super) dropped: Vec<u32>,
    /// Hosts that are known to be waited for.
    waited_for: Vec<usize>,
    /// It was said who does not stop.
    named: bool,
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
        self.say_who_is_waited_for();
        let hosts = self.reachable(&self.unfinished_hosts());
        self.session.tell(Order::Stop(after), &hosts).await;
    }

    /// An end that does not come at once must not look like one that was not heard.
    pub(super) fn say_who_is_waited_for(&mut self) {
        if self.orders.stop.is_none() || !self.session.away.contains(&true) {
            return;
        }
        let named = &self.orders.waited_for;
        let mut hosts = self.unfinished_hosts();
        hosts.retain(|h| self.session.is_away(*h) && !named.contains(h));
        if hosts.is_empty() {
            return;
        }
        let labels: Vec<&str> = hosts.iter().map(|h| self.session.layout.host_label(*h)).collect();
        let text = format!(
            "the end waits for host={}, until it is back or its lease is over; Ctrl-C then leaves at once",
            labels.join(",")
        );
        self.session.notice(false, "end-waits", text);
        self.orders.waited_for.extend(hosts);
    }

    /// Says once of whom nothing was heard since the end, and what is out.
    pub(super) fn name_who_does_not_stop(&mut self) {
        if !self.is_cut_short() || std::mem::replace(&mut self.orders.named, true) {
            return;
        }
        let is_away =
            |w: &usize| self.session.layout.workers().get(*w).is_some_and(|place| self.session.is_away(place.host));
        let waited_for: Vec<usize> = self.merger.unfinished().filter(|w| !is_away(w)).collect();
        let is_silent = |w: &usize| self.workers.get(*w).is_none_or(|w| w.outstanding.is_none());
        let (silent, waiting): (Vec<usize>, Vec<usize>) = waited_for.into_iter().partition(is_silent);
        let more = (silent.len() + waiting.len()).saturating_sub(NAMED);
        let silent = silent.iter().map(|w| format!("{} does not stop", self.session.layout.label(*w)));
        let waiting = waiting.iter().map(|w| format!("{} have not returned", self.out_on(*w)));
        let mut named: Vec<String> = silent.chain(waiting).take(NAMED).collect();
        if named.is_empty() {
            return;
        }
        if more > 0 {
            named.push(format!("and {more} more"));
        }
        let (named, seconds) = (named.join(", "), self.drain.limit().as_secs());
        let text = format!("{named}; waiting up to {seconds} seconds, Ctrl-C {}leaves now", self.again());
        self.session.notice(true, "end-waits", text);
    }

    /// What one more Ctrl-C is called.
    fn again(&self) -> &'static str {
        if self.end == Some(RunEnd::Signal) { "again " } else { "" }
    }

    /// Lets the workers begin an interval.
    pub(super) async fn grant(&mut self, interval: u32) {
        self.orders.granted = Some(interval);
        let hosts = self.reachable(&self.hosts);
        self.session.tell(Order::Grant(interval), &hosts).await;
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
        if !returned.is_empty() {
            self.laggards.expect_replay();
        }
        let hosts: Vec<usize> = returned.into_iter().filter(|h| waited_for.contains(h)).collect();
        if hosts.is_empty() {
            return;
        }
        for sd in self.orders.dropped.clone() {
            self.session.tell(Order::Drop(sd), &hosts).await;
        }
        if let Some(interval) = self.orders.granted {
            self.session.tell(Order::Grant(interval), &hosts).await;
        }
        if let Some(after) = self.orders.stop {
            self.session.tell(Order::Stop(after), &hosts).await;
        }
    }
}
