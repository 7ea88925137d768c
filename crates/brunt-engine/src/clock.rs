//! The monotonic clock, in nanoseconds.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// `CLOCK_MONOTONIC`, through the vDSO: no system call.
#[inline]
pub fn now_ns() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is a valid place for a timespec, and the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// The time of [`now_ns`] at an instant, which is of the same clock.
pub fn ns_of(at: Instant) -> u64 {
    let (instant, now) = (Instant::now(), now_ns());
    match at.checked_duration_since(instant) {
        Some(ahead) => now.saturating_add(ahead.as_nanos() as u64),
        None => now.saturating_sub(instant.duration_since(at).as_nanos() as u64),
    }
}

/// Sleeps until the clock shows `ns`. Returns at once when that is past.
pub fn sleep_until(ns: u64) {
    let t = timespec(ns);
    // SAFETY: `t` is a valid timespec; the remaining time is not asked for with an absolute one.
    while unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &t, std::ptr::null_mut()) }
        == libc::EINTR
    {}
}

/// A time of this clock as the kernel takes it.
pub fn timespec(ns: u64) -> libc::timespec {
    libc::timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ }
}

/// Milliseconds since the epoch by the wall clock: a label only.
pub fn wall_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as i64)
}
