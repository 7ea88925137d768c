//! How much of what others print is passed on: a login or a worker that prints without end must fill neither memory nor
//! disk nor the connection of a master.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

/// Most lines that are passed on in each [`SPAN`].
pub const LINES: usize = 100;

/// Most bytes of them, without the ends of lines.
pub const BYTES: usize = 64 << 10;

/// Time for which the bound holds; it begins with a line.
pub const SPAN: Duration = Duration::from_secs(1);

/// The bound of one host. Clones are the same one.
#[derive(Debug, Clone, Default)]
pub struct Bound(Arc<Mutex<Count>>);

/// What came in this span.
#[derive(Debug, Default)]
struct Count {
    /// When the span ends; `None`: none has begun.
    until: Option<Instant>,
    lines: usize,
    bytes: usize,
    dropped: u64,
}

impl Bound {
    fn count(&self) -> MutexGuard<'_, Count> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Count {
    /// Begins anew when the span is over, and says what it lacked.
    fn over(&mut self, now: Instant) -> Option<String> {
        self.until.filter(|until| *until <= now)?;
        std::mem::take(self).lacked()
    }

    /// What was dropped and not yet told.
    fn lacked(&mut self) -> Option<String> {
        let dropped = std::mem::take(&mut self.dropped);
        let words = if dropped == 1 { "line was" } else { "lines were" };
        (dropped > 0).then(|| {
            format!("({dropped} {words} dropped here: a host may print {LINES} lines and {} KiB a second)", BYTES >> 10)
        })
    }

    /// Whether a line is passed on.
    fn has_room(&mut self, line: &str, now: Instant) -> bool {
        self.until.get_or_insert(now + SPAN);
        let has_room = self.lines < LINES && self.bytes + line.len() <= BYTES;
        match has_room {
            true => (self.lines, self.bytes) = (self.lines + 1, self.bytes + line.len()),
            false => self.dropped += 1,
        }
        has_room
    }
}

/// Lines within a bound. In the place of those that were dropped stands one that counts them.
#[derive(Debug)]
pub struct Bounded {
    lines: mpsc::Receiver<String>,
    bound: Bound,
    /// To be passed on next.
    ready: VecDeque<String>,
}

impl Bounded {
    /// What comes from `lines`, which is read however much it is: whoever prints must not wait.
    pub fn new(lines: mpsc::Receiver<String>, bound: Bound) -> Self {
        Self { lines, bound, ready: VecDeque::new() }
    }

    /// The next line; `None` at the end.
    pub async fn recv(&mut self) -> Option<String> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Some(line);
            }
            // Only a count that is to be told needs a look at the time.
            let due = Some(self.bound.count()).filter(|count| count.dropped > 0).and_then(|count| count.until);
            let line = match due {
                Some(due) => timeout_at(due, self.lines.recv()).await,
                None => Ok(self.lines.recv().await),
            };
            let (mut count, now) = (self.bound.count(), Instant::now());
            match line {
                Err(_) => self.ready.extend(count.over(now)),
                Ok(Some(line)) => {
                    self.ready.extend(count.over(now));
                    if count.has_room(&line, now) {
                        self.ready.push_back(line);
                    }
                }
                Ok(None) => return count.lacked(),
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// What comes of these lines, all at once.
    async fn passed(lines: Vec<String>, bound: &Bound) -> Vec<String> {
        let (to, from) = mpsc::channel(lines.len().max(1));
        lines.into_iter().for_each(|line| to.try_send(line).unwrap());
        drop(to);
        let (mut bounded, mut passed) = (Bounded::new(from, bound.clone()), Vec::new());
        while let Some(line) = bounded.recv().await {
            passed.push(line);
        }
        passed
    }

    fn dropped(count: usize) -> String {
        format!("({count} lines were dropped here: a host may print 100 lines and 64 KiB a second)")
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_little_is_passed_on() {
        let lines: Vec<String> = (0..LINES).map(|n| format!("line {n}")).collect();
        assert_eq!(passed(lines.clone(), &Bound::default()).await, lines);
        assert_eq!(passed(Vec::new(), &Bound::default()).await, [""; 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn more_lines_than_a_second_may_have_are_counted() {
        let passed = passed((0..5000).map(|n| format!("line {n}")).collect(), &Bound::default()).await;
        assert_eq!((passed.len(), &passed[99], &passed[100]), (LINES + 1, &"line 99".to_owned(), &dropped(4900)));
    }

    #[tokio::test(start_paused = true)]
    async fn more_bytes_than_a_second_may_have_are_counted() {
        let mut lines = vec!["x".repeat(BYTES / 4); 6];
        lines.push("short".to_owned());
        let passed = passed(lines, &Bound::default()).await;
        assert_eq!((passed.len(), &passed[4]), (5, &dropped(3)));
    }

    /// Whoever stops printing has the count all the same, and who goes on has it every second.
    #[tokio::test(start_paused = true)]
    async fn the_count_comes_when_the_second_is_over() {
        let (to, from) = mpsc::channel(4 * LINES);
        let mut bounded = Bounded::new(from, Bound::default());
        let start = Instant::now();
        for _ in 0..2 {
            (0..LINES + 7).for_each(|_| to.try_send("again".to_owned()).unwrap());
            for _ in 0..LINES {
                assert_eq!(bounded.recv().await.unwrap(), "again");
            }
            assert_eq!(bounded.recv().await.unwrap(), dropped(7));
        }
        let took = start.elapsed();
        assert!((2 * SPAN..2 * SPAN + SPAN / 2).contains(&took), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn two_that_print_for_one_host_share_its_bound() {
        let bound = Bound::default();
        let lines = || (0..60).map(|n| format!("line {n}")).collect::<Vec<_>>();
        assert_eq!(passed(lines(), &bound).await, lines());
        let second = passed(lines(), &bound).await;
        assert_eq!((second.len(), &second[..40], &second[40]), (41, &lines()[..40], &dropped(20)));
    }
}
