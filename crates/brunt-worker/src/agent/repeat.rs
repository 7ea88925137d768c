//! Calls that may come twice and have their effect once.

use std::future::Future;
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;
use tokio::task::AbortHandle;

/// What a call gives.
type Answer<T> = Result<T, String>;

struct Last<K, T> {
    key: K,
    answer: watch::Receiver<Option<Answer<T>>>,
    task: AbortHandle,
}

/// The last call of a kind. It goes on when its caller is gone; who asks for the same again gets its answer.
pub struct Repeat<K, T> {
    last: Mutex<Option<Last<K, T>>>,
}

impl<K, T> Default for Repeat<K, T> {
    fn default() -> Self {
        Self { last: Mutex::new(None) }
    }
}

impl<K: PartialEq, T: Clone + Send + Sync + 'static> Repeat<K, T> {
    /// Runs `call`, unless the last call had this key: then it waits for that one's answer. A call that failed is made
    /// again.
    pub async fn run<F>(&self, key: K, call: impl FnOnce() -> F) -> Answer<T>
    where
        F: Future<Output = Answer<T>> + Send + 'static,
    {
        let mut answer = self.answer_to(key, call);
        match answer.wait_for(Option::is_some).await {
            Ok(answer) => answer.clone().unwrap_or_else(gone),
            Err(_) => gone(),
        }
    }

    fn answer_to<F>(&self, key: K, call: impl FnOnce() -> F) -> watch::Receiver<Option<Answer<T>>>
    where
        F: Future<Output = Answer<T>> + Send + 'static,
    {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = &*last
            && last.key == key
            && !matches!(&*last.answer.borrow(), Some(Err(_)))
        {
            return last.answer.clone();
        }
        let (done, answer) = watch::channel(None);
        let call = call();
        let task = tokio::spawn(async move {
            done.send_replace(Some(call.await));
        });
        *last = Some(Last { key, answer: answer.clone(), task: task.abort_handle() });
        answer
    }

    /// What comes next is no repetition.
    pub fn forget(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The key of the last call.
    pub fn last_key(&self) -> Option<K>
    where
        K: Clone,
    {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|last| last.key.clone())
    }

    /// Gives the last call up, if it goes on.
    pub fn abort(&self) {
        if let Some(last) = &*self.last.lock().unwrap_or_else(PoisonError::into_inner) {
            last.task.abort();
        }
    }
}

fn gone<T>() -> Answer<T> {
    Err("the call was given up".to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    use tokio::sync::Semaphore;

    #[tokio::test]
    async fn a_call_outlives_its_caller_and_is_made_once() {
        let repeat = Arc::new(Repeat::<u32, u32>::default());
        let (calls, gate) = (Arc::new(AtomicU32::new(0)), Arc::new(Semaphore::new(0)));
        let ask = |key| {
            let (repeat, calls, gate) = (Arc::clone(&repeat), Arc::clone(&calls), Arc::clone(&gate));
            tokio::spawn(async move {
                let call = || async move {
                    drop(gate.acquire().await);
                    Ok(calls.fetch_add(1, Relaxed) + 1)
                };
                repeat.run(key, call).await
            })
        };
        let first = ask(7);
        tokio::task::yield_now().await;
        first.abort();
        assert!(first.await.unwrap_err().is_cancelled());
        let again = ask(7);
        tokio::task::yield_now().await;
        gate.add_permits(1);
        assert_eq!(again.await.unwrap(), Ok(1));
        assert_eq!(ask(7).await.unwrap(), Ok(1));
        assert_eq!(ask(8).await.unwrap(), Ok(2));
        repeat.forget();
        assert_eq!(ask(8).await.unwrap(), Ok(3));
    }

    #[tokio::test]
    async fn what_failed_is_tried_again_and_what_was_given_up_says_so() {
        let repeat = Repeat::<u32, u32>::default();
        assert_eq!(repeat.run(1, || async { Err("busy".to_owned()) }).await, Err("busy".to_owned()));
        assert_eq!(repeat.run(1, || async { Ok(5) }).await, Ok(5));
        let waiting = repeat.run(2, std::future::pending);
        tokio::pin!(waiting);
        tokio::select! {
            biased;
            _ = &mut waiting => unreachable!(),
            () = std::future::ready(()) => repeat.abort(),
        }
        assert_eq!(waiting.await, Err("the call was given up".to_owned()));
    }
}
