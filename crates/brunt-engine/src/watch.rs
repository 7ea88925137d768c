//! How a thread of a paced run waits for a due time (`misc=(wait=…)`).
//!
//! A sleep ends some 50 µs late: the kernel's timer, and a core that wakes from an idle state. Watching the clock is exact
//! and takes a core. The hybrid way sleeps until a little before and watches the rest: so long that four of five sleeps
//! end in time, and 60 µs at most. To watch for the latest of all sleeps would take most of the CPU and help few I/Os.

use brunt_plan::work::{Control, Wait, WorkerShare};

/// The hybrid way never watches longer.
const LONGEST_NS: u64 = 60_000;
/// And never shorter.
const SHORTEST_NS: u64 = 2_000;
/// A sleep that was later than the watch makes it longer by so much,
const LONGER_NS: u64 = 2_000;
/// any other shorter by a quarter of that: it settles where one of five is later.
const SHORTER_NS: u64 = LONGER_NS / 4;

/// Below this rate a finer timer costs little and saves 50 µs of lateness.
const FINE_TIMER_RATE: f64 = 5000.0;

/// The highest rate of a share, I/Os per second.
pub fn highest_rate(share: &WorkerShare) -> f64 {
    let highest = match &share.control {
        Control::Stepped { steps, .. } => steps.iter().map(|(rate, _)| *rate).fold(0.0, f64::max),
        Control::Uncontrolled | Control::Paced => 1.0,
    };
    highest * share.generators.iter().map(|g| g.rate).filter(|r| r.is_finite()).sum::<f64>()
}

/// Whether a thread that keeps time for a share shall set the finer timer.
pub fn wants_fine_timer(share: &WorkerShare) -> bool {
    share.control != Control::Uncontrolled && highest_rate(share) < FINE_TIMER_RATE
}

/// Sets the finest timer for the calling thread: the default slack is 50 µs. Best effort.
pub fn set_fine_timer() {
    // SAFETY: sets a number of the calling thread, touches no memory.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
}

/// How to come to a due time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Sleep until then.
    Sleep(u64),
    /// Watch the clock until it is due.
    Watch,
}

/// Decides how a thread waits.
#[derive(Debug, Clone)]
pub struct Watch {
    wait: Wait,
    watch_ns: u64,
}

/// Whether each of so many threads that keep time has a core to itself, one more being left for all others. Bound to
/// cores of its worker, or with plenty of them: twice as many as threads.
pub fn has_core(threads: usize, cores: usize, bound: bool) -> bool {
    threads < cores && (bound || cores >= 2 * threads)
}

impl Watch {
    /// In this way; `own_core` decides where it is left open.
    pub fn new(wait: Wait, own_core: bool) -> Self {
        let wait = match wait {
            Wait::Auto if own_core => Wait::Hybrid,
            Wait::Auto => Wait::Sleep,
            wait => wait,
        };
        Self { wait, watch_ns: LONGEST_NS }
    }

    /// What to do at `now_ns` until `due_ns`.
    #[inline]
    pub fn step(&self, now_ns: u64, due_ns: u64) -> Step {
        match self.wait {
            Wait::Auto | Wait::Sleep => Step::Sleep(due_ns),
            Wait::Spin => Step::Watch,
            Wait::Hybrid => match due_ns.saturating_sub(self.watch_ns) {
                from if now_ns < from => Step::Sleep(from),
                _ => Step::Watch,
            },
        }
    }

    /// A sleep until `wanted_ns` ended at `now_ns` of its own.
    #[inline]
    pub fn slept(&mut self, wanted_ns: u64, now_ns: u64) {
        let late = now_ns.saturating_sub(wanted_ns);
        let watch_ns = match late > self.watch_ns {
            true => self.watch_ns + LONGER_NS,
            false => self.watch_ns - SHORTER_NS,
        };
        self.watch_ns = watch_ns.clamp(SHORTEST_NS, LONGEST_NS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_watches_only_with_a_core_of_its_own() {
        let step = |wait, own| Watch::new(wait, own).step(0, 1_000_000);
        assert_eq!(step(Wait::Auto, false), Step::Sleep(1_000_000));
        assert_eq!(step(Wait::Auto, true), Step::Sleep(940_000));
        assert_eq!(step(Wait::Hybrid, false), Step::Sleep(940_000));
        assert_eq!(step(Wait::Sleep, true), Step::Sleep(1_000_000));
        assert_eq!(step(Wait::Spin, false), Step::Watch);
        let cores = [(1, 1, true), (1, 2, true), (1, 2, false), (2, 3, true), (2, 3, false), (2, 4, false)];
        assert_eq!(cores.map(|(t, c, b)| has_core(t, c, b)), [false, true, true, true, false, true]);
    }

    #[test]
    fn it_watches_as_long_as_four_of_five_sleeps_are_late() {
        let mut watch = Watch::new(Wait::Hybrid, true);
        // Nine of ten are 20 µs late at most, the tenth is far off.
        (0..2000u64).for_each(|n| watch.slept(0, if n % 10 == 0 { 300_000 } else { 17_000 + n % 4 * 1_000 }));
        assert!((17_000..24_000).contains(&watch.watch_ns), "{}", watch.watch_ns);
        assert_eq!(watch.step(90_000, 100_000), Step::Watch);
        (0..1000).for_each(|_| watch.slept(0, 4_000_000));
        assert_eq!(watch.step(0, 100_000), Step::Sleep(100_000 - LONGEST_NS));
        (0..1000).for_each(|_| watch.slept(0, 0));
        assert_eq!(watch.step(0, 100_000), Step::Sleep(100_000 - SHORTEST_NS));
    }
}
