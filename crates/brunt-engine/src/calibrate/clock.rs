//! What reading `CLOCK_MONOTONIC` costs, and in which steps it goes.

use std::hint::black_box;

use brunt_stats::Spread;

use crate::clock::now_ns;

/// Readings of which one cost is made: one alone is shorter than what the clock can tell.
const BATCH: u64 = 64;

/// The cost of one reading, over so many batches.
pub fn reading(batches: u32) -> Option<Spread> {
    batches_of(batches, || {
        black_box(now_ns());
    })
}

/// The cost of one reading through the system call, as it is where the vDSO cannot serve the clock source (vdso(7)).
pub fn system_call(batches: u32) -> Option<Spread> {
    batches_of(batches, || {
        let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `t` is a valid place for a timespec; the call is clock_gettime(2) itself.
        black_box(unsafe { libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, &raw mut t) });
    })
}

fn batches_of(batches: u32, mut read: impl FnMut()) -> Option<Spread> {
    let mut batch = || {
        let began = now_ns();
        (0..BATCH).for_each(|_| read());
        now_ns().saturating_sub(began) as f64 / BATCH as f64
    };
    // The first touches what the others find warm.
    batch();
    Spread::of((0..batches).map(|_| batch()))
}

/// The steps between readings that differ: the resolution as it can be seen, over so many readings.
pub fn steps(readings: u32) -> Option<Spread> {
    let mut last = now_ns();
    let step = |_| {
        let now = now_ns();
        let step = now.saturating_sub(last);
        last = now;
        (step > 0).then_some(step as f64)
    };
    Spread::of((0..readings).filter_map(step))
}

/// The resolution that the system claims (clock_getres(2)), ns.
pub fn resolution_ns() -> Option<u64> {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is a valid place for a timespec.
    let got = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC, &mut t) };
    (got == 0).then_some(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

/// CPU time of this process so far, of all its threads, ns.
pub fn cpu_ns() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is a valid place for a timespec, and every process has this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Length of a tick of `/proc/PID/stat`, ns (proc_pid_stat(5)).
pub fn tick_ns() -> u64 {
    // SAFETY: asks for a number, touches no memory.
    let hz = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    1_000_000_000 / u64::try_from(hz).unwrap_or(0).max(1)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn readings_cost_something_and_come_in_order() {
        for spread in [reading(50).unwrap(), system_call(50).unwrap()] {
            assert_eq!(spread.n, 50);
            assert!(spread.min_ns > 0.0 && spread.min_ns <= spread.p50_ns && spread.p99_ns <= spread.max_ns);
        }
    }

    #[test]
    fn steps_are_whole_and_not_below_the_resolution() {
        let steps = steps(10_000).unwrap();
        assert!(steps.n <= 10_000 && steps.min_ns >= 1.0 && steps.min_ns.fract() == 0.0, "{steps:?}");
        assert!(resolution_ns().unwrap() >= 1);
    }

    #[test]
    fn cpu_time_grows() {
        let before = cpu_ns();
        while cpu_ns() == before {
            std::hint::spin_loop();
        }
        assert!(cpu_ns() > before);
    }
}
