//! How long it takes from waking a thread until it runs.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::thread;

use brunt_stats::Spread;

use super::timer::{FINE_SLACK_NS, set_slack};
use crate::clock::{now_ns, sleep_until};
use crate::futex;

/// What the two threads share. The word counts the calls.
#[derive(Debug, Default)]
struct Pair {
    word: AtomicU32,
    called_ns: AtomicU64,
    answered: AtomicU32,
}

/// So many calls to a thread that sleeps on a futex (futex(2)), `idle_ns` after its last answer: the longer, the deeper
/// its CPU may sleep. Calls that found it awake do not count. `None` when no thread can be made or none counts.
pub fn delay(calls: u32, idle_ns: u64) -> Option<Spread> {
    let pair = Arc::new(Pair::default());
    let theirs = Arc::clone(&pair);
    let sleeper = thread::Builder::new().name("calibrate".into()).spawn(move || answer(&theirs, calls)).ok()?;
    let waker = thread::Builder::new().name("calibrate".into()).spawn({
        let pair = Arc::clone(&pair);
        move || call(&pair, calls, idle_ns)
    });
    // Without a waker, the sleeper is sent home at once.
    let Ok(waker) = waker else {
        pair.word.store(calls, SeqCst);
        futex::wake(&pair.word, 1);
        let _ = sleeper.join();
        return None;
    };
    let (asleep, delays) = (waker.join().ok()?, sleeper.join().ok()?);
    Spread::of(delays.into_iter().zip(asleep).filter(|(_, asleep)| *asleep).map(|(delay, _)| delay))
}

/// Calls, and says which calls found the other asleep.
fn call(pair: &Pair, calls: u32, idle_ns: u64) -> Vec<bool> {
    set_slack(FINE_SLACK_NS);
    let one = |n| {
        sleep_until(now_ns() + idle_ns);
        pair.called_ns.store(now_ns(), Release);
        pair.word.store(n, SeqCst);
        let asleep = futex::wake(&pair.word, 1) == 1;
        while pair.answered.load(Acquire) < n {
            sleep_until(now_ns() + 10_000);
        }
        asleep
    };
    (1..=calls).map(one).collect()
}

fn answer(pair: &Pair, calls: u32) -> Vec<f64> {
    let mut delays = Vec::with_capacity(calls as usize);
    for n in 1..=calls {
        while pair.word.load(SeqCst) < n {
            futex::wait_until(&pair.word, n - 1, None);
        }
        delays.push(now_ns().saturating_sub(pair.called_ns.load(Acquire)) as f64);
        pair.answered.store(n, Release);
    }
    delays
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn sleepers_are_woken_and_timed() {
        let spread = delay(20, 1_000_000).unwrap();
        assert!(spread.n >= 1 && spread.n <= 20 && spread.min_ns > 0.0, "{spread:?}");
    }
}
