//! Whether a worker process lives: what it answers, and how long it may keep silent once it has been told to stop.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

/// When a limit is over, this is left for an answer that is there and was not read: it may be we who stood still.
const SECOND_LOOK: Duration = Duration::from_secs(1);

/// What is known of the life of a worker.
pub struct Pulse {
    heard: Mutex<Instant>,
    /// Since when it is to stop, and how long it may be silent from then on.
    stop: watch::Sender<Option<(Instant, Duration)>>,
}

impl Default for Pulse {
    fn default() -> Self {
        Self { heard: Mutex::new(Instant::now()), stop: watch::Sender::new(None) }
    }
}

impl Pulse {
    /// Something came from it.
    pub fn hear(&self) {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn heard(&self) -> Instant {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It is told to stop, and hangs when nothing comes of it for `limit`.
    pub fn stop(&self, limit: Duration) {
        self.stop.send_modify(|stop| {
            let since = stop.map_or_else(Instant::now, |(since, _)| since);
            *stop = Some((since, limit));
        });
    }

    /// It is to work, or has stopped.
    pub fn work(&self) {
        self.stop.send_replace(None);
    }

    /// Waits until it hangs, and gives for how long it has been silent.
    pub async fn hangs(&self) -> Duration {
        let mut stop = self.stop.subscribe();
        loop {
            let heard = self.heard();
            let until = stop.borrow_and_update().map(|(since, limit)| since.max(heard) + limit);
            if until.is_some_and(|until| until <= Instant::now()) {
                sleep(SECOND_LOOK).await;
                if self.heard() == heard {
                    return heard.elapsed();
                }
                continue;
            }
            let due = async {
                match until {
                    Some(until) => sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                // The sender is ours.
                _ = stop.changed() => {}
                () = due => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn only_one_that_is_to_stop_hangs_and_every_sign_of_life_counts() {
        let pulse = Pulse::default();
        let begin = Instant::now();
        let course = async {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            pulse.stop(LIMIT);
            tokio::time::sleep(Duration::from_secs(9)).await;
            pulse.hear();
            // Another stop is no news.
            pulse.stop(LIMIT);
            std::future::pending::<()>().await;
        };
        tokio::select! {
            silent = pulse.hangs() => assert_eq!(silent, LIMIT + SECOND_LOOK),
            () = course => {}
        }
        assert_eq!(begin.elapsed(), Duration::from_secs(3620));
        // An answer that is read late is one.
        let late = async {
            sleep(SECOND_LOOK / 2).await;
            pulse.hear();
            std::future::pending::<()>().await;
        };
        let begin = Instant::now();
        tokio::select! {
            silent = pulse.hangs() => assert_eq!(silent, LIMIT + SECOND_LOOK),
            () = late => {}
        }
        assert_eq!(begin.elapsed(), SECOND_LOOK / 2 + LIMIT + SECOND_LOOK);
        pulse.work();
        assert!(tokio::time::timeout(Duration::from_secs(3600), pulse.hangs()).await.is_err());
    }
}
