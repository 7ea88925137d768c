//! Questions to devices that may never answer.

use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Questions asked side by side.
const SIDE_BY_SIDE: usize = 32;

/// Does all works, each on a thread of its own, and gives their results in order. `None`: it took longer than
/// `limit` (its thread stays behind), or no thread could be made.
pub fn in_time<T: Send + 'static, W: FnOnce() -> T + Send + 'static>(
    limit: Duration,
    works: impl Iterator<Item = W>,
) -> Vec<Option<T>> {
    let mut works = works.peekable();
    let mut results = Vec::new();
    while works.peek().is_some() {
        let deadline = Instant::now() + limit;
        let asked: Vec<_> = works.by_ref().take(SIDE_BY_SIDE).map(ask).collect();
        let wait = |answer: Receiver<T>| answer.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok();
        results.extend(asked.into_iter().map(|answer| answer.and_then(wait)));
    }
    results
}

fn ask<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<Receiver<T>> {
    let (answer, answered) = channel();
    let asked = thread::Builder::new().name("inspect".to_owned()).spawn(move || {
        // Too late otherwise.
        let _ = answer.send(work());
    });
    asked.ok().map(|_| answered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order() {
        let results = in_time(Duration::from_secs(60), (0..100).map(|n| move || n * n));
        assert_eq!(results, (0..100).map(|n| Some(n * n)).collect::<Vec<_>>());
    }

    #[test]
    fn one_that_hangs_keeps_nobody() {
        let (_held, never) = channel::<()>();
        let mut never = Some(never);
        let works = (0..3).map(|n| {
            let never = (n == 1).then(|| never.take()).flatten();
            move || {
                if let Some(never) = never {
                    let _ = never.recv();
                }
                n
            }
        });
        assert_eq!(in_time(Duration::from_millis(100), works), [Some(0), None, Some(2)]);
    }
}
