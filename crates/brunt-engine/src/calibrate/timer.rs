//! How late a thread comes that slept until a due time.

use std::thread;

use brunt_stats::Spread;

use crate::clock::{now_ns, sleep_until};

/// The slack that the engine sets where a rate is low enough for it, ns (`PR_SET_TIMERSLACK`, prctl(2)).
pub const FINE_SLACK_NS: u64 = 1;

/// So many sleeps of `ahead_ns` until an absolute time, in a thread with that slack; `None` keeps the slack that the
/// system gives, 50 µs as a rule. `None` comes back when no thread can be made.
pub fn lateness(sleeps: u32, ahead_ns: u64, slack_ns: Option<u64>) -> Option<Spread> {
    let measure = move || {
        if let Some(ns) = slack_ns {
            set_slack(ns);
        }
        Spread::of((0..sleeps).map(|_| {
            let due = now_ns() + ahead_ns;
            sleep_until(due);
            now_ns().saturating_sub(due) as f64
        }))
    };
    // A slack belongs to its thread, so it goes with it.
    thread::Builder::new().name("calibrate".into()).spawn(measure).ok()?.join().ok()?
}

/// Best effort: without it, the thread is later.
pub(super) fn set_slack(ns: u64) {
    // SAFETY: sets a number of the calling thread, touches no memory.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, ns as libc::c_ulong, 0, 0, 0) };
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn nobody_comes_early() {
        for slack in [None, Some(FINE_SLACK_NS)] {
            let spread = lateness(5, 100_000, slack).unwrap();
            assert!(spread.n == 5 && spread.min_ns >= 0.0 && spread.max_ns > 0.0, "{spread:?}");
        }
    }
}
