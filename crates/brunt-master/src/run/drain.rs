//! Waiting for I/O that has not returned.

use std::time::Duration;

use brunt_event::{AbortCause, Event, RunEnd};
use tokio::time::Instant;

use crate::link::HostLink;
use crate::run::Run;
use crate::session::Halt;

/// How long an agent may take to answer a call that ends something.
pub(crate) const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// How much later than planned the last samples may come before we say that we wait.
const GRACE: Duration = Duration::from_secs(2);

/// Seconds since the end after which it is said who does not stop.
const NAMED_AFTER: u64 = 5;

/// An I/O is called young when it was issued so long after the end at least: ends are not the same to the second.
const YOUNG_NS: u64 = 2_000_000_000;

/// The clock of the drain.
#[derive(Debug)]
pub(crate) struct Drain {
    from: Option<Instant>,
    /// Seconds since the end of the run that were told.
    pub(crate) seconds: u64,
    limit: Duration,
    /// Somebody who is away keeps the run from ending: nothing can be told of I/O then.
    held: bool,
}

impl Drain {
    /// For a run that is planned to end so long after now, if it is.
    pub(crate) fn new(planned: Option<Duration>, limit: Duration) -> Self {
        Self { from: planned.map(|p| Instant::now() + p + GRACE), seconds: 0, limit, held: false }
    }

    /// The run ends in so many seconds.
    pub(crate) fn begin(&mut self, seconds: u32) {
        let from = Instant::now() + Duration::from_secs(u64::from(seconds));
        if self.from.is_none_or(|f| from < f) {
            *self = Self { from: Some(from), seconds: 0, ..*self };
        }
    }

    /// Stands still while somebody is away. One who is back has some time to tell.
    pub(crate) fn hold(&mut self, held: bool) {
        let back = std::mem::replace(&mut self.held, held) && !held;
        let soon = Instant::now() + GRACE;
        if back && self.from.is_some_and(|from| from < soon) {
            *self = Self { from: Some(soon), seconds: 0, ..*self };
        }
    }

    /// How long what is out is waited for.
    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }

    /// Whether it stands still.
    pub(crate) fn is_held(&self) -> bool {
        self.held
    }

    /// When to look next.
    pub(crate) fn next_tick(&self) -> Option<Instant> {
        Some(self.from? + Duration::from_secs(self.seconds + 1)).filter(|_| !self.held)
    }
}

/// I/O of a worker that has not returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outstanding {
    /// Seconds after the end when it was told.
    pub(crate) seconds: u64,
    pub(crate) count: u64,
    pub(crate) oldest_ns: u64,
    /// Where the oldest went.
    pub(crate) lun: Option<String>,
}

impl Outstanding {
    /// Whether the oldest was issued after the end: then its worker is at work still.
    fn is_young(&self) -> bool {
        self.oldest_ns.saturating_add(YOUNG_NS) < self.seconds.saturating_mul(1_000_000_000)
    }
}

impl<L: HostLink> Run<'_, '_, L> {
    /// Another second has passed since the run should have ended. Says whether it is enough.
    pub(super) fn drain_tick(&mut self) -> bool {
        self.drain.seconds += 1;
        let out = |w: usize| self.workers.get(w).and_then(|w| w.outstanding.as_ref()).map_or(1, |o| o.count.max(1));
        let outstanding = self.merger.unfinished().map(out).sum();
        let seconds = self.drain.seconds;
        self.session.emit(Event::Draining { outstanding, seconds });
        if seconds >= NAMED_AFTER {
            self.name_who_does_not_stop();
        }
        if Duration::from_secs(seconds) < self.drain.limit {
            return false;
        }
        let text = self.stuck_text();
        match self.is_cut_short() {
            false => self.halt = Some(Halt::abort(AbortCause::Stuck, text)),
            // The cause of the end is another one, and what hangs is told all the same.
            true => self.session.notice(true, "stuck", text),
        }
        self.end = Some(RunEnd::Stuck);
        true
    }

    /// Names what never returned, as far as it is known, and who was still at work: there every I/O is young.
    fn stuck_text(&self) -> String {
        let still_at_work =
            |w: &usize| self.workers.get(*w).and_then(|w| w.outstanding.as_ref()).is_some_and(Outstanding::is_young);
        let (at_work, stuck): (Vec<usize>, Vec<usize>) = self.merger.unfinished().partition(still_at_work);
        let stuck: Vec<String> = stuck.into_iter().map(|w| self.out_on(w)).collect();
        let at_work: Vec<&str> = at_work.into_iter().map(|w| self.session.layout.label(w)).collect();
        let (what, seconds) = (never_ended(&stuck, &at_work), self.drain.seconds);
        format!("{what}; given up {seconds} seconds after the end of rd={}", self.name)
    }

    /// What is known of the I/O that a worker has out.
    pub(super) fn out_on(&self, worker: usize) -> String {
        let (label, state) = (self.session.layout.label(worker), self.workers.get(worker));
        let luns = || state.map(|s| s.luns.join(" ")).unwrap_or_default();
        match state.and_then(|s| s.outstanding.as_ref()) {
            Some(Outstanding { count, oldest_ns, lun: Some(lun), .. }) => {
                let seconds = oldest_ns / 1_000_000_000;
                format!("{count} I/Os of {label} (the oldest to lun {lun}, {seconds} seconds old)")
            }
            Some(Outstanding { count, oldest_ns, lun: None, .. }) => {
                let seconds = oldest_ns / 1_000_000_000;
                format!("{count} I/Os of {label} (lun {}, the oldest {seconds} seconds old)", luns())
            }
            None => format!("{label} (lun {})", luns()),
        }
    }
}

fn never_ended(stuck: &[String], at_work: &[&str]) -> String {
    let hang = (!stuck.is_empty()).then(|| format!("outstanding I/O never returned: {}", stuck.join(", ")));
    let busy = (!at_work.is_empty()).then(|| {
        let labels = at_work.join(", ");
        format!("{labels} still started I/O behind the end of the run: more threads than its processors can serve")
    });
    hang.into_iter().chain(busy).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_still_starts_io_is_not_said_to_hang() {
        let out = |seconds, oldest_ns| Outstanding { seconds, count: 3000, oldest_ns, lun: None };
        assert!(out(5, 40_000_000).is_young());
        // As old as the end, or told too early to know.
        assert!(!out(5, 5_000_000_000).is_young() && !out(5, 3_500_000_000).is_young() && !out(1, 0).is_young());
        let hangs = ["3 I/Os of localhost-0".to_owned()];
        assert_eq!(never_ended(&hangs, &[]), "outstanding I/O never returned: 3 I/Os of localhost-0");
        assert_eq!(
            never_ended(&hangs, &["localhost-1"]),
            "outstanding I/O never returned: 3 I/Os of localhost-0; localhost-1 still started I/O behind the end of the \
             run: more threads than its processors can serve"
        );
    }
}
