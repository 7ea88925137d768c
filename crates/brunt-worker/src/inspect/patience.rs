//! Questions to devices that may never answer.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Questions asked side by side.
const SIDE_BY_SIDE: usize = 32;
/// When nothing has come for so long, the threads that are there are taken for stuck, and more are made.
const STUCK: Duration = Duration::from_secs(1);

/// Works that are not begun yet, with their numbers, the first at the end.
type Queue<W> = Arc<Mutex<Vec<(usize, W)>>>;

/// Does all works side by side and gives their results in order. `None`: it was not done within `limit`, which is for
/// all together (the thread of one that hangs stays behind). However many hang, the others are done.
pub fn in_time<T: Send + 'static, W: FnOnce() -> T + Send + 'static>(
    limit: Duration,
    works: impl Iterator<Item = W>,
) -> Vec<Option<T>> {
    let mut works: Vec<(usize, W)> = works.enumerate().collect();
    works.reverse();
    let mut results: Vec<Option<T>> = works.iter().map(|_| None).collect();
    let mut left = results.len();
    let queue = Arc::new(Mutex::new(works));
    let (answer, answers) = channel();
    let deadline = Instant::now() + limit;
    hire(left, &queue, &answer);
    while left > 0 {
        let patience = deadline.saturating_duration_since(Instant::now());
        match answers.recv_timeout(patience.min(STUCK)) {
            Ok((number, result)) => {
                left -= 1;
                if let Some(slot) = results.get_mut(number) {
                    *slot = Some(result);
                }
            }
            Err(RecvTimeoutError::Timeout) if patience > STUCK => {
                let waiting = queue.lock().unwrap_or_else(PoisonError::into_inner).len();
                hire(waiting, &queue, &answer);
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    // Those that hang shall not go on with others when nobody listens any more.
    queue.lock().unwrap_or_else(PoisonError::into_inner).clear();
    results
}

/// Makes threads that do what is in the queue, no more of them than there is work.
fn hire<T: Send + 'static, W: FnOnce() -> T + Send + 'static>(
    work: usize,
    queue: &Queue<W>,
    answer: &Sender<(usize, T)>,
) {
    for _ in 0..work.min(SIDE_BY_SIDE) {
        let (queue, answer) = (Arc::clone(queue), answer.clone());
        // Without a thread now there may be one later.
        let _ = thread::Builder::new().name("inspect".to_owned()).spawn(move || {
            while let Some((number, work)) = next(&queue) {
                if answer.send((number, work())).is_err() {
                    break;
                }
            }
        });
    }
}

fn next<W>(queue: &Queue<W>) -> Option<(usize, W)> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).pop()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order() {
        let results = in_time(Duration::from_secs(60), (0..100).map(|n| move || n * n));
        assert_eq!(results, (0..100).map(|n| Some(n * n)).collect::<Vec<_>>());
    }

    /// Works of which those below `hanging` wait until the test is over.
    fn mixed(count: usize, hanging: usize, limit: Duration) -> Vec<Option<usize>> {
        let (held, never) = channel::<()>();
        let never = Arc::new(Mutex::new(never));
        let works = (0..count).map(|n| {
            let never = Arc::clone(&never);
            move || {
                if n < hanging {
                    let _ = never.lock().unwrap_or_else(PoisonError::into_inner).recv();
                }
                n
            }
        });
        let results = in_time(limit, works);
        drop(held);
        results
    }

    #[test]
    fn one_that_hangs_keeps_nobody() {
        assert_eq!(mixed(3, 1, Duration::from_millis(500)), [None, Some(1), Some(2)]);
    }

    #[test]
    fn more_that_hang_than_are_asked_side_by_side_keep_nobody() {
        let hanging = 2 * SIDE_BY_SIDE;
        let results = mixed(hanging + 10, hanging, Duration::from_secs(6));
        assert!(results[..hanging].iter().all(Option::is_none));
        assert_eq!(results[hanging..], (hanging..hanging + 10).map(Some).collect::<Vec<_>>());
    }
}
