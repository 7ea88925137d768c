//! Whether a paced run kept its pace, and who was waiting when it did not.

use brunt_parm::ast::Arrivals;
use brunt_plan::work::{Control, WorkerShare};

const SECOND: u64 = 1_000_000_000;

/// Lanes of an SD are idle when less than this part of their time was spent on I/O.
const BUSY: f64 = 0.95;

/// How many I/Os a run should have done by when.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked {
    /// I/Os per second and seconds, repeated.
    pub(crate) steps: Vec<(f64, u32)>,
}

impl Asked {
    /// Of the shares of a run; `None` where I/Os are not released by due times, or at the beginning of a second all at once.
    pub(crate) fn of<'s>(shares: impl Iterator<Item = &'s WorkerShare> + Clone) -> Option<Self> {
        let rates: f64 = shares.clone().flat_map(|share| &share.generators).map(|g| g.rate).sum();
        let steps = match &shares.clone().next()?.control {
            Control::Paced => vec![(rates, 1)],
            // Here a generator's rate is its part of each step.
            Control::Stepped { steps, spike: false } => steps.iter().map(|(rate, s)| (rate * rates, *s)).collect(),
            Control::Stepped { spike: true, .. } | Control::Uncontrolled => return None,
        };
        steps.iter().any(|(rate, seconds)| *rate > 0.0 && *seconds > 0).then_some(Self { steps })
    }

    /// I/Os that are due between two times of the run.
    pub(crate) fn between(&self, from_ns: u64, to_ns: u64) -> f64 {
        self.until(to_ns) - self.until(from_ns)
    }

    fn until(&self, ns: u64) -> f64 {
        let length = |seconds: u32| u64::from(seconds) * SECOND;
        let round: u64 = self.steps.iter().map(|(_, seconds)| length(*seconds)).sum();
        let in_round: f64 = self.steps.iter().map(|(rate, seconds)| rate * f64::from(*seconds)).sum();
        let mut left = ns % round.max(1);
        let mut sum = (ns / round.max(1)) as f64 * in_round;
        for (rate, seconds) in &self.steps {
            let here = left.min(length(*seconds));
            sum += rate * here as f64 / SECOND as f64;
            left -= here;
        }
        sum
    }
}

/// The course of the counted intervals of a paced run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pace {
    /// What was asked for.
    pub(crate) asked: Asked,
    /// Whether the gaps between I/Os are random, so that their number is, too.
    pub(crate) random: bool,
    /// Lanes of each SD, in the order of the run.
    lanes: Vec<u64>,
    /// Length of the counted intervals.
    pub(crate) length_ns: u64,
    /// I/Os due in them.
    pub(crate) due: f64,
    /// I/Os done in them.
    pub(crate) done: u64,
    /// How many intervals there were.
    pub(crate) intervals: u32,
    /// In how many fewer I/Os were done than due while each SD had idle lanes.
    pub(crate) short: u32,
    /// How many I/Os were missing in all intervals in which each SD had idle lanes; less than 0: some were made up.
    pub(crate) missing: f64,
    /// Time integral of outstanding I/Os.
    busy_ns: u64,
}

impl Pace {
    /// For SDs with so many lanes.
    pub(crate) fn new(asked: Asked, arrivals: Arrivals, lanes: Vec<u64>) -> Self {
        let random = arrivals != Arrivals::Deterministic;
        Self { asked, random, lanes, length_ns: 0, due: 0.0, done: 0, intervals: 0, short: 0, missing: 0.0, busy_ns: 0 }
    }

    /// Takes a counted interval in: its place in the run, the I/Os done, and the time integrals of outstanding I/Os of
    /// each SD.
    pub(crate) fn interval(&mut self, from_ns: u64, length_ns: u64, done: u64, busy_ns: &[u64]) {
        let due = self.asked.between(from_ns, from_ns + length_ns);
        self.length_ns += length_ns;
        self.due += due;
        self.done += done;
        self.intervals += 1;
        self.busy_ns += busy_ns.iter().sum::<u64>();
        let idle = |(lanes, busy): (&u64, &u64)| (*busy as f64) < *lanes as f64 * length_ns as f64 * BUSY;
        // A single SD whose lanes are all busy holds back all others, so that the skew stays what was asked.
        if self.lanes.iter().zip(busy_ns).all(idle) {
            self.missing += due - done as f64;
            self.short += u32::from((done as f64) < due);
        }
    }

    /// Lanes of all SDs.
    pub(crate) fn lanes(&self) -> u64 {
        self.lanes.iter().sum()
    }

    /// How many of them had an I/O out, on average.
    pub(crate) fn busy_lanes(&self) -> f64 {
        self.busy_ns as f64 / self.length_ns.max(1) as f64
    }

    /// I/Os per second that were asked for, and that were done.
    pub(crate) fn rates(&self) -> (f64, f64) {
        let seconds = self.length_ns.max(1) as f64 / SECOND as f64;
        (self.due / seconds, self.done as f64 / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(steps: &[(f64, u32)]) -> Asked {
        Asked { steps: steps.to_vec() }
    }

    #[test]
    fn steps_are_followed_and_repeated() {
        let asked = asked(&[(100.0, 2), (10.0, 3)]);
        assert_eq!(asked.between(0, SECOND), 100.0);
        assert_eq!(asked.between(SECOND, 4 * SECOND), 120.0);
        assert_eq!(asked.between(4 * SECOND + SECOND / 2, 5 * SECOND + SECOND / 2), 55.0);
        assert_eq!(asked.between(0, 50 * SECOND), 2300.0);
        assert_eq!(self::asked(&[(1000.0, 1)]).between(7, 7 + 5 * SECOND), 5000.0);
    }

    #[test]
    fn an_interval_in_which_one_sd_was_full_says_nothing_about_the_generator() {
        let mut pace = Pace::new(asked(&[(100.0, 1)]), Arrivals::Deterministic, vec![2, 8]);
        pace.interval(0, SECOND, 50, &[2 * SECOND, SECOND]);
        assert_eq!((pace.short, pace.missing), (0, 0.0));
        pace.interval(SECOND, SECOND, 60, &[SECOND, SECOND]);
        assert_eq!((pace.short, pace.missing), (1, 40.0));
        pace.interval(2 * SECOND, SECOND, 130, &[SECOND, SECOND]);
        assert_eq!((pace.short, pace.missing, pace.intervals), (1, 10.0, 3), "it makes up for what was missing");
        assert_eq!((pace.due, pace.done, pace.rates()), (300.0, 240, (100.0, 80.0)));
        assert_eq!((pace.lanes(), pace.busy_lanes()), (10, 7.0 / 3.0));
    }
}
