//! The time between the end of a run and the return of its last I/O.

use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::time::{interval, sleep_until};

/// From one report to the next.
const EVERY: Duration = Duration::from_secs(1);

/// Calls `tell` once a second from a second behind the end of each run, until the end changes: the next run
/// begins. `tell` is silent when nothing is out.
pub async fn report(mut ends: watch::Receiver<Option<Instant>>, mut tell: impl FnMut()) {
    loop {
        let end = *ends.borrow_and_update();
        let over = async {
            match end.and_then(|end| end.checked_add(EVERY)) {
                Some(over) => sleep_until(over.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            changed = ends.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return,
            },
            () = over => {}
        }
        let mut ticks = interval(EVERY);
        loop {
            tokio::select! {
                biased;
                changed = ends.changed() => match changed {
                    Ok(()) => break,
                    Err(_) => return,
                },
                _ = ticks.tick() => tell(),
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use tokio::sync::mpsc;
    use tokio::time::Instant as Clock;

    #[tokio::test(start_paused = true)]
    async fn reports_come_each_second_behind_the_end() {
        let (end, ends) = watch::channel(None);
        let (told, mut reports) = mpsc::unbounded_channel();
        tokio::spawn(report(ends, move || told.send(Clock::now()).unwrap()));
        let start = Clock::now();
        end.send_replace(Some((start + Duration::from_secs(10)).into_std()));
        for second in 11..15 {
            assert_eq!((reports.recv().await.unwrap() - start).as_secs_f64().round(), f64::from(second));
        }
        end.send_replace(Some((start + Duration::from_secs(100)).into_std()));
        let next = reports.recv().await.unwrap() - start;
        assert_eq!(next.as_secs(), 101);
        drop(end);
        assert_eq!(reports.recv().await, None);
    }
}
