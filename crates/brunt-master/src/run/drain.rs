//! Waiting for I/O that has not returned.

use std::time::Duration;

use brunt_event::{AbortCause, Event, RunEnd};
use tokio::time::Instant;

use crate::link::{HostLink, Outstanding};
use crate::run::Run;
use crate::session::Halt;

/// How long an agent may take to answer a call that ends something.
pub(crate) const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// How much later than planned the last samples may come before we say that we wait.
const GRACE: Duration = Duration::from_secs(2);

/// The clock of the drain.
#[derive(Debug)]
pub(crate) struct Drain {
    from: Option<Instant>,
    seconds: u64,
    limit: Duration,
}

impl Drain {
    /// For a run that is planned to end so long after now, if it is.
    pub(crate) fn new(planned: Option<Duration>, limit: Duration) -> Self {
        Self { from: planned.map(|p| Instant::now() + p + GRACE), seconds: 0, limit }
    }

    /// The run ends in so many seconds.
    pub(crate) fn begin(&mut self, seconds: u32) {
        let from = Instant::now() + Duration::from_secs(u64::from(seconds));
        if self.from.is_none_or(|f| from < f) {
            *self = Self { from: Some(from), seconds: 0, limit: self.limit };
        }
    }

    /// When to look next.
    pub(crate) fn next_tick(&self) -> Option<Instant> {
        Some(self.from? + Duration::from_secs(self.seconds + 1))
    }
}

impl<L: HostLink> Run<'_, '_, L> {
    /// Another second has passed since the run should have ended. Says whether it is enough.
    pub(super) async fn drain_tick(&mut self) -> bool {
        self.drain.seconds += 1;
        let fleet = self.session.fleet;
        let calls = self.hosts.iter().filter_map(|h| Some((*h, fleet.hosts.get(*h)?.link.outstanding()))).collect();
        let answers = self.session.call_to_end(calls, Duration::from_secs(1)).await;
        let known: Vec<Outstanding> = answers.into_iter().filter_map(|(_, r)| r.ok()).flatten().collect();
        let workers = self.merger.unfinished().count() as u64;
        let outstanding = known.iter().map(|o| o.ios).sum::<u64>().max(workers);
        let seconds = self.drain.seconds;
        self.session.emit(Event::Draining { outstanding, seconds });
        if Duration::from_secs(seconds) < self.drain.limit {
            return false;
        }
        let halt = Halt::abort(AbortCause::Stuck, self.stuck_text(&known, seconds));
        if !self.is_cut_short() {
            self.halt = Some(halt);
        }
        self.end = Some(RunEnd::Stuck);
        true
    }

    fn stuck_text(&self, known: &[Outstanding], seconds: u64) -> String {
        let luns: Vec<String> = known
            .iter()
            .map(|o| format!("{} I/Os on {}, the oldest for {} seconds", o.ios, o.lun, o.oldest.as_secs()))
            .collect();
        let labels: Vec<&str> = self.merger.unfinished().map(|w| self.session.layout.label(w)).collect();
        let what = if luns.is_empty() { format!("I/O of {}", labels.join(", ")) } else { luns.join("; ") };
        format!("{what} never returned: given up {seconds} seconds after the end of rd={}", self.name)
    }
}
