//! Workers that report nothing while others do: rows wait for them, so somebody at the console must know for whom.
//!
//! A host that is away as a whole is told of elsewhere.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;

use crate::link::HostLink;
use crate::run::Run;

/// So much later than others' samples its own may be, seconds.
const LATE_S: u32 = 10;

/// Time for hosts to tell what they have kept, when some are back or another master goes on: who tells it first is
/// ahead of the rest by all of it.
const REPLAY: Duration = Duration::from_secs(5);

/// Who is late.
#[derive(Debug)]
pub(super) struct Laggards {
    /// When hosts last began to tell what they have kept.
    replayed: Instant,
    /// The newest interval of which anybody has reported.
    newest: u32,
    /// Workers that were named and have not caught up.
    late: BTreeSet<usize>,
}

impl Laggards {
    pub(super) fn new() -> Self {
        Self { replayed: Instant::now(), newest: 0, late: BTreeSet::new() }
    }

    /// Hosts are back, and tell what they have kept.
    pub(super) fn expect_replay(&mut self) {
        self.replayed = Instant::now();
    }
}

impl<L: HostLink> Run<'_, '_, L> {
    /// A worker has reported an interval.
    pub(super) fn note_pace(&mut self, worker: usize, interval: u32) {
        if interval >= self.laggards.newest && self.laggards.late.remove(&worker) {
            let text = format!("worker {} reports again; what it measured meanwhile counts", self.label(worker));
            self.session.notice(false, "worker-late", text);
        }
        if interval <= self.laggards.newest {
            return;
        }
        self.laggards.newest = interval;
        if self.laggards.replayed.elapsed() < REPLAY {
            return;
        }
        let allowed = LATE_S.div_ceil(self.interval.max(1)).max(2);
        let late: Vec<usize> = self.merger.unfinished().filter(|w| self.is_late(*w, allowed)).collect();
        for w in late {
            self.laggards.late.insert(w);
            let (label, reported) = (self.label(w), self.merger.reported(w));
            let text = format!(
                "worker {label} has reported nothing since interval {reported}, others are at {interval}; rows wait for it. \
                 Its process hangs or gets no processor time"
            );
            self.session.notice(true, "worker-late", text);
        }
    }

    fn is_late(&self, worker: usize, allowed: u32) -> bool {
        let host = self.session.layout.workers().get(worker).map(|place| place.host);
        let is_away = host.is_some_and(|host| self.session.is_away(host));
        let behind = self.laggards.newest.saturating_sub(self.merger.reported(worker));
        behind > allowed
            && !is_away
            && !self.session.lost.get(worker).is_some_and(|lost| *lost)
            && !self.laggards.late.contains(&worker)
    }

    fn label(&self, worker: usize) -> String {
        self.session.layout.label(worker).to_owned()
    }
}
