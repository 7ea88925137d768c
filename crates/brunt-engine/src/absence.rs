//! When the generator was not there: something was due, a lane of its target was idle, and nobody released it. A timer
//! that is late, a thread without a core, a process that was stopped.
//!
//! What is overdue is then released at once, and most of it waits for a lane. That wait is not the device's doing: had
//! the arrivals come in time, idle lanes would have taken them, each so much earlier as the generator was away. So the
//! time away is part of the lateness of whatever was due meanwhile, and what remains of its wait is the queue.

/// The last absence for one target.
#[derive(Debug, Clone, Copy, Default)]
pub struct Absence {
    from_ns: u64,
    to_ns: u64,
}

impl Absence {
    /// At `now_ns` something is released that was wanted at `wanted_ns`; a lane is idle since `idle_ns`.
    #[inline]
    pub fn note(&mut self, wanted_ns: u64, idle_ns: u64, now_ns: u64) {
        let from_ns = wanted_ns.max(idle_ns);
        if from_ns >= now_ns {
            return;
        }
        // Not all of what was due was released the last time: it goes on.
        if from_ns > self.to_ns {
            self.from_ns = from_ns;
        }
        self.to_ns = now_ns;
    }

    /// Of what is due at `due_ns` and released later: how much of the absence it has seen, and when that was over.
    #[inline]
    pub fn seen_by(&self, due_ns: u64) -> (u64, u64) {
        (self.to_ns.saturating_sub(due_ns.max(self.from_ns)), self.to_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_was_due_meanwhile_has_seen_the_rest_of_it() {
        let mut absence = Absence::default();
        assert_eq!(absence.seen_by(10).0, 0);
        // The first arrival is due at 100, a lane idles since 130, the generator comes at 1000.
        absence.note(100, 130, 1000);
        assert_eq!(
            [50, 100, 130, 500, 999, 1000, 2000].map(|due| absence.seen_by(due).0),
            [870, 870, 870, 500, 1, 0, 0]
        );
    }

    #[test]
    fn it_goes_on_while_the_same_lane_is_idle_and_something_is_overdue() {
        let mut absence = Absence::default();
        absence.note(100, 0, 1000);
        absence.note(600, 0, 1010);
        assert_eq!(absence.seen_by(700), (310, 1010));
        // In time, and no lane idle before now.
        absence.note(1500, 0, 1500);
        absence.note(1400, 1500, 1500);
        assert_eq!(absence.seen_by(700), (310, 1010));
        absence.note(1600, 0, 1650);
        assert_eq!([700, 1600, 1620].map(|due| absence.seen_by(due).0), [50, 50, 30]);
    }
}
