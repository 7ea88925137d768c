//! Hosts that are away for a time: what is said of them, and that they are to be told again.

use brunt_event::Event;

use crate::link::{HostLink, LinkEvent};
use crate::session::Session;

impl<L: HostLink> Session<'_, L> {
    /// Takes what is about the presence of a host, at once wherever it is heard; gives back everything else.
    pub(crate) fn presence(&mut self, host: usize, event: LinkEvent) -> Option<LinkEvent> {
        let label = self.layout.host_label(host).to_owned();
        match event {
            LinkEvent::Away { why, lease } => {
                self.set_away(host, true);
                self.under_way.forget_host(host);
                let seconds = lease.as_secs_f64();
                let text =
                    format!("host={label} is away: it {why}; its work goes on there, for {seconds} seconds at most");
                self.notice(true, "host-away", text);
            }
            LinkEvent::Back { away } => {
                self.set_away(host, false);
                self.returned.push(host);
                let seconds = away.as_secs_f64();
                let text =
                    format!("host={label} is back after {seconds:.1} seconds; what it measured meanwhile follows");
                self.notice(false, "host-back", text);
            }
            LinkEvent::Clock { ahead_ms } => {
                let (seconds, where_to) = (ahead_ms.unsigned_abs() as f64 / 1_000.0, direction(ahead_ms));
                let text = format!(
                    "host={label}: its clock is {seconds:.1} seconds {where_to} ours; that changes no result, only the \
                     times beside its log lines"
                );
                self.notice(false, "clock", text);
            }
            LinkEvent::Gap { messages } => {
                let text = format!(
                    "host={label}: {messages} messages were lost while it was away, since its memory for them was full; \
                     rows that lack its part say so"
                );
                self.notice(true, "messages-lost", text);
            }
            LinkEvent::Lost(text) => {
                self.set_away(host, false);
                self.under_way.forget_host(host);
                return Some(LinkEvent::Lost(text));
            }
            other => return Some(other),
        }
        None
    }

    fn set_away(&mut self, host: usize, is_away: bool) {
        if let Some(away) = self.away.get_mut(host) {
            *away = is_away;
        }
    }

    /// Whether a host is away.
    pub(crate) fn is_away(&self, host: usize) -> bool {
        self.away.get(host).is_some_and(|away| *away)
    }

    /// Whether all workers of a host are lost.
    pub(crate) fn is_host_lost(&self, host: usize) -> bool {
        self.layout.of_host(host).all(|w| self.lost.get(w).is_some_and(|lost| *lost))
    }

    /// Marks a worker as lost and says so, once. A host of which all are lost is given up: what it still does would
    /// count nowhere, and nobody would end it.
    pub(crate) fn lose(&mut self, worker: usize, text: &str) {
        if let Some(lost) = self.lost.get_mut(worker)
            && !std::mem::replace(lost, true)
        {
            self.emit(Event::WorkerLost { worker: worker as u32, text: text.to_owned() });
            let host =
                self.layout.workers().get(worker).map(|place| place.host).filter(|host| self.is_host_lost(*host));
            if let Some(host) = host.and_then(|host| self.fleet.hosts.get(host)) {
                host.link.abandon();
            }
        }
    }
}

fn direction(ahead_ms: i64) -> &'static str {
    if ahead_ms < 0 { "behind" } else { "ahead of" }
}
