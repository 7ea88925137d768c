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

/// The clock of the drain.
#[derive(Debug)]
pub(crate) struct Drain {
    from: Option<Instant>,
    seconds: u64,
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
    pub(crate) count: u64,
    pub(crate) oldest_ns: u64,
    /// Where the oldest went.
    pub(crate) lun: Option<String>,
}

impl<L: HostLink> Run<'_, '_, L> {
    /// Another second has passed since the run should have ended. Says whether it is enough.
    pub(super) fn drain_tick(&mut self) -> bool {
        self.drain.seconds += 1;
        let out = |w: usize| self.workers.get(w).and_then(|w| w.outstanding.as_ref()).map_or(1, |o| o.count.max(1));
        let outstanding = self.merger.unfinished().map(out).sum();
        let seconds = self.drain.seconds;
        self.session.emit(Event::Draining { outstanding, seconds });
        if Duration::from_secs(seconds) < self.drain.limit {
            return false;
        }
        if !self.is_cut_short() {
            self.halt = Some(Halt::abort(AbortCause::Stuck, self.stuck_text()));
        }
        self.end = Some(RunEnd::Stuck);
        true
    }

    /// Names what never returned, as far as it is known.
    fn stuck_text(&self) -> String {
        let one = |w: usize| {
            let (label, state) = (self.session.layout.label(w), self.workers.get(w));
            let luns = state.map(|s| s.luns.join(" ")).unwrap_or_default();
            match state.and_then(|s| s.outstanding.as_ref()) {
                Some(Outstanding { count, oldest_ns, lun: Some(lun) }) => {
                    let seconds = oldest_ns / 1_000_000_000;
                    format!("{count} I/Os of {label} (the oldest to lun {lun}, {seconds} seconds old)")
                }
                Some(Outstanding { count, oldest_ns, lun: None }) => {
                    format!(
                        "{count} I/Os of {label} (lun {luns}, the oldest {} seconds old)",
                        oldest_ns / 1_000_000_000
                    )
                }
                None => format!("{label} (lun {luns})"),
            }
        };
        let all: Vec<String> = self.merger.unfinished().map(one).collect();
        let (what, seconds) = (all.join(", "), self.drain.seconds);
        format!("outstanding I/O never returned: {what}; given up {seconds} seconds after the end of rd={}", self.name)
    }
}
