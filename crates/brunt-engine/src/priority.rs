//! Threads that do little and must be on time: those that end intervals and carry messages.

/// Lets the calling thread run as soon as it wakes, before all lanes: `SCHED_RR`, whose children and threads are ordinary
/// again (sched(7)). With 1,000 busy lanes on two cores it else waits for seconds, and so do the ends of intervals.
/// Needs root or `RLIMIT_RTPRIO`; without them the thread stays as it is.
///
/// Not for threads that may watch a clock: nothing else would run on their core.
pub fn come_first() {
    // SAFETY: plain numbers, all of which may be 0; there are more of them with musl than with glibc.
    let mut lowest: libc::sched_param = unsafe { std::mem::zeroed() };
    lowest.sched_priority = 1;
    // SAFETY: the parameter lives through the call, which changes nothing but how this thread is scheduled.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, &raw const lowest) };
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn policy() -> i32 {
        // SAFETY: asks for a number of the calling thread.
        unsafe { libc::sched_getscheduler(0) }
    }

    #[test]
    fn threads_of_such_a_thread_are_ordinary() {
        let (own, child) = std::thread::spawn(|| {
            come_first();
            (policy(), std::thread::spawn(policy).join().unwrap())
        })
        .join()
        .unwrap();
        assert!([libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, libc::SCHED_OTHER].contains(&own), "{own}");
        assert_eq!(child, libc::SCHED_OTHER);
    }
}
