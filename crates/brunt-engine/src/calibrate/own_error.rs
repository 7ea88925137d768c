//! The short form: what this host adds, in some 5 ms and without a device, for every result.
//!
//! It runs beside the inspection of the luns, which waits for devices and not for the CPU, so that it costs the start of
//! an execution next to nothing. It is measured anew each time, and not kept from boot to boot: what matters is this
//! host now, with its governor, its neighbours and its load.

use std::thread;

use brunt_stats::OwnError;
use brunt_stats::spread::step_at;

use super::{REFERENCE_NS, clock, empty, host, record, timer, wake};

/// Batches of readings and recordings: 0.2 ms of each.
const BATCHES: u32 = 100;
/// Sleeps until a due time, and calls to a sleeper: 2 ms of each, side by side.
const SLEEPS: u32 = 16;
/// How far ahead the due time is, and how long a sleeper sleeps.
const AHEAD_NS: u64 = 100_000;
/// Intervals of empty I/O.
const INTERVALS: u32 = 5;
/// Their length.
const INTERVAL_NS: u64 = 400_000;

/// Measures it. What cannot be measured here is `None`.
pub fn measure(roots: &host::Roots) -> OwnError {
    let clocksource = host::clocksource(roots);
    // Alone first: these two are of nanoseconds.
    let (clock, record) = (clock::reading(BATCHES), record::recording(BATCHES));
    let empty = empty::run(1, INTERVALS, INTERVAL_NS).ok();
    // The two that sleep do so at the same time.
    let (timer, wake) = thread::scope(|scope| {
        let timer = thread::Builder::new()
            .spawn_scoped(scope, || timer::lateness(SLEEPS, AHEAD_NS, Some(timer::FINE_SLACK_NS)));
        let wake = wake::delay(SLEEPS, AHEAD_NS);
        (timer.ok().and_then(|thread| thread.join().ok()).flatten(), wake)
    });
    OwnError {
        clocksource,
        clock,
        empty_response: empty.map(|e| e.response),
        empty_io: empty.map(|e| e.wall),
        wake,
        timer,
        record,
        step_ns: step_at(REFERENCE_NS),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_needs_no_device_is_there() {
        let error = measure(&host::Roots::default());
        assert_eq!(error.step_ns, 128);
        for spread in [error.clock, error.record, error.timer, error.wake] {
            let s = spread.unwrap();
            assert!(s.n > 0 && s.min_ns <= s.p50_ns && s.p50_ns <= s.p99_ns && s.p99_ns <= s.max_ns, "{error:?}");
        }
    }
}
