//! How the clock of an agent runs beside ours, by round trips: only durations are compared, so it matters to nobody where
//! either clock began.

use std::time::Duration;

use tokio::time::Instant;

/// What a few round trips have shown.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Clocks {
    trips: Option<Trips>,
}

#[derive(Debug, Clone, Copy)]
struct Trips {
    shortest: Duration,
    longest: Duration,
    /// In the middle of the shortest one: our clock, and the agent's, nanoseconds; 0: it did not tell.
    here: Instant,
    there_ns: u64,
}

impl Clocks {
    /// A round trip that began at `sent` and is over, with what the agent's clock showed meanwhile.
    pub(super) fn trip(&mut self, sent: Instant, there_ns: u64) {
        let trip = sent.elapsed();
        let new = Trips { shortest: trip, longest: trip, here: sent + trip / 2, there_ns };
        self.trips = Some(match self.trips {
            None => new,
            Some(old) if trip < old.shortest => Trips { longest: old.longest, ..new },
            Some(old) => Trips { longest: old.longest.max(trip), ..old },
        });
    }

    /// The longest round trip.
    pub(super) fn longest(&self) -> Duration {
        self.trips.map_or(Duration::ZERO, |trips| trips.longest)
    }

    /// The way to the agent: half of the shortest round trip.
    pub(super) fn way(&self) -> Duration {
        self.trips.map_or(Duration::ZERO, |trips| trips.shortest / 2)
    }

    /// How far off `at` a start may be that is at `begins_ns` of the agent's clock, as it says (0: it does not): what lies
    /// between them, and half the spread of the round trips, since ways there and back may differ. `trip`: that of the
    /// call; where nothing better is known it may all have been the way there.
    pub(super) fn off(&self, at: Instant, begins_ns: u64, trip: Duration) -> Duration {
        let Some(Trips { shortest, longest, here, there_ns }) = self.trips else { return trip };
        if begins_ns == 0 || there_ns == 0 {
            return longest.max(trip).saturating_sub(shortest);
        }
        let wanted = match at.checked_duration_since(here) {
            Some(ahead) => there_ns.saturating_add(nanos(ahead)),
            None => there_ns.saturating_sub(nanos(here - at)),
        };
        Duration::from_nanos(begins_ns.abs_diff(wanted)) + (longest - shortest) / 2
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
