//! The ring of messages and its reader: the event stream of the present connection.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use brunt_proto::bound::Bound;
use brunt_proto::v1::{WorkerMessage, worker_message::Event};
use tokio::sync::{mpsc, watch};
use tonic::Status;

use super::ring::{self, Ring};

/// Messages that may be on their way to the connection.
const AHEAD: usize = 4;

struct State {
    ring: Ring,
    /// Number of the reader that is served; others have ended.
    reader: u64,
    closed: bool,
}

struct Shared {
    state: Mutex<State>,
    /// Rung when anything has changed.
    news: watch::Sender<()>,
    bound: Bound,
}

/// Takes messages from any thread, without waiting.
#[derive(Clone)]
pub struct Outbox(Arc<Shared>);

impl Default for Outbox {
    fn default() -> Self {
        let state = State { ring: Ring::new(ring::LIMIT), reader: 0, closed: false };
        Self(Arc::new(Shared { state: Mutex::new(state), news: watch::Sender::new(()), bound: Bound::default() }))
    }
}

impl Outbox {
    /// Takes a message of no run.
    pub fn push(&self, worker: u32, event: Event) {
        self.push_of(None, worker, event);
    }

    /// Takes a message of that run.
    pub fn push_of(&self, run_id: Option<u32>, worker: u32, event: Event) {
        self.state().ring.push_of(run_id, worker, event);
        self.0.news.send_replace(());
    }

    /// What all that prints on this host shares: without it lines of logs would drive out samples.
    pub fn bound(&self) -> Bound {
        self.0.bound.clone()
    }

    /// Keeps what was sent until it is confirmed.
    pub fn keep(&self) {
        self.state().ring.keep();
    }

    /// The client has everything up to this number.
    pub fn taken(&self, seq: u64) {
        self.state().ring.taken(seq);
    }

    /// Ends the stream behind what was taken so far.
    pub fn close(&self) {
        self.state().closed = true;
        self.0.news.send_replace(());
    }

    /// Begins to read behind number `after`. A reader that there was has ended.
    pub fn reader(&self, after: u64) -> Reader {
        let mut state = self.state();
        state.ring.rewind(after);
        state.reader += 1;
        let reader = Reader { outbox: self.clone(), number: state.reader, after, news: self.0.news.subscribe() };
        drop(state);
        self.0.news.send_replace(());
        reader
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads messages in order.
pub struct Reader {
    outbox: Outbox,
    number: u64,
    after: u64,
    news: watch::Receiver<()>,
}

/// Nothing more comes for a reader.
struct End;

impl Reader {
    /// The next message; `None` at the end, or when there is another reader.
    pub async fn next(&mut self) -> Option<WorkerMessage> {
        loop {
            match self.look() {
                Ok(Some(message)) => return Some(message),
                // The sender lives in the outbox.
                Ok(None) => self.news.changed().await.ok()?,
                Err(End) => return None,
            }
        }
    }

    /// The next message, if it is there.
    #[cfg(test)]
    pub fn try_next(&mut self) -> Option<WorkerMessage> {
        self.look().ok().flatten()
    }

    fn look(&mut self) -> Result<Option<WorkerMessage>, End> {
        // What comes from now on rings again.
        self.news.mark_unchanged();
        let mut state = self.outbox.state();
        if state.reader != self.number {
            return Err(End);
        }
        let next = state.ring.next_after(self.after);
        match &next {
            Some(message) => self.after = message.seq,
            None if state.closed => return Err(End),
            None => {}
        }
        Ok(next)
    }

    /// Sends all messages to a stream, until either ends.
    pub fn into_stream(mut self) -> mpsc::Receiver<Result<WorkerMessage, Status>> {
        let (to, stream) = mpsc::channel(AHEAD);
        tokio::spawn(async move {
            loop {
                let message = tokio::select! {
                    biased;
                    message = self.next() => message,
                    () = to.closed() => None,
                };
                let Some(message) = message else { return };
                if to.send(Ok(message)).await.is_err() {
                    return;
                }
            }
        });
        stream
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_new_reader_ends_the_one_before_and_begins_where_it_wants() {
        let outbox = Outbox::default();
        outbox.keep();
        let mut first = outbox.reader(0);
        let waits = tokio::spawn(async move {
            let seen = [first.next().await.unwrap().seq, first.next().await.unwrap().seq];
            (seen, first.next().await)
        });
        outbox.push(0, Event::Log("a".into()));
        outbox.push(0, Event::Log("b".into()));
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        let mut second = outbox.reader(1);
        let (seen, end) = waits.await.unwrap();
        assert_eq!((seen, end), ([1, 2], None));
        assert_eq!(second.next().await.unwrap().seq, 2);
        outbox.push(3, Event::Log("c".into()));
        outbox.close();
        assert_eq!(second.next().await.unwrap().seq, 3);
        assert_eq!(second.next().await, None);
    }
}
