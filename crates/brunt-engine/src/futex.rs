//! Waiting on a word of memory, as the kernel offers it. Waking costs nothing when nobody waits only
//! if the caller keeps count; these functions do not.

use std::sync::atomic::AtomicU32;

use crate::clock::timespec;

/// Sleeps while `word` holds `expected`, at most until `deadline_ns` of the monotonic clock. May
/// return early for no reason. Says whether somebody woke it.
pub fn wait_until(word: &AtomicU32, expected: u32, deadline_ns: Option<u64>) -> bool {
    let deadline = deadline_ns.map(timespec);
    let at = deadline.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: `word` is valid for the whole call and `at` is null or points to a timespec that lives
    // through it. FUTEX_WAIT_BITSET takes absolute times of CLOCK_MONOTONIC.
    let result = unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG,
            expected,
            at,
            std::ptr::null::<u32>(),
            libc::FUTEX_BITSET_MATCH_ANY,
        )
    };
    result == 0
}

/// Wakes up to `count` sleepers of `word`, and says how many it were.
pub fn wake(word: &AtomicU32, count: u32) -> u32 {
    let count = count.min(i32::MAX as u32);
    // SAFETY: `word` is a valid address; the kernel only uses it to find sleepers.
    let woken =
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, count) };
    u32::try_from(woken).unwrap_or(0)
}
