//! How long a port waits.

use crate::clock::{now_ns, sleep_until};

/// How long a thread sleeps that has nothing in flight: it looks again at times, whatever it was told.
const IDLE_NS: u64 = 1_000_000_000;

/// How long until the kernel is asked again that has no room for I/Os though none is in flight.
const ROOM_NS: u64 = 100_000;

/// The time until a deadline; none for one that never comes.
pub fn time_left(deadline_ns: u64) -> Option<u64> {
    (deadline_ns != u64::MAX).then(|| deadline_ns.saturating_sub(now_ns()))
}

/// Sleeps with nothing in flight; `unsent` when the kernel had no room for what there is.
pub fn idle_until(deadline_ns: u64, unsent: bool) {
    let longest = if unsent { ROOM_NS } else { IDLE_NS };
    sleep_until(deadline_ns.min(now_ns().saturating_add(longest)));
}
