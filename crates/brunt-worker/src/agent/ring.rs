//! What the workers reported and the client has not yet confirmed, in order, within a bound.
//!
//! A message gets its number when it comes, from 1 without gaps. When the bound is reached, what was sent already goes
//! first, then what the client does without best: the oldest samples, then lines of logs, then reports of single I/O
//! errors. In the place of the first that is dropped stands a warning that counts them; the numbers of the others are
//! missing. Totals, ends, warnings and what is fatal are never dropped.

use std::collections::VecDeque;

use brunt_proto::v1::{WorkerMessage, worker_message::Event};
use prost::Message;

/// Bound of what is kept, bytes.
pub const LIMIT: usize = 64 << 20;

/// What a message takes beside what is encoded of it, bytes.
const OVERHEAD: usize = size_of::<Kept>();

/// What is dropped when there is no room, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    Sample,
    Line,
    Failure,
    Everything,
}

fn worth(message: &WorkerMessage) -> Worth {
    match &message.event {
        Some(Event::Interval(_)) => Worth::Sample,
        Some(Event::Log(_) | Event::Stderr(_) | Event::Outstanding(_)) => Worth::Line,
        Some(Event::Failure(_)) => Worth::Failure,
        _ => Worth::Everything,
    }
}

/// What was dropped since the warning that says so was sent.
#[derive(Debug, Default)]
struct Dropped {
    /// Number of the warning.
    seq: u64,
    samples: u64,
    /// First and last interval of the samples.
    intervals: Option<(u32, u32)>,
    lines: u64,
    failures: u64,
}

#[derive(Debug)]
struct Kept {
    message: WorkerMessage,
    bytes: usize,
}

/// The ring.
#[derive(Debug)]
pub struct Ring {
    limit: usize,
    /// Whether what was sent is kept until it is confirmed.
    keeps: bool,
    next: u64,
    kept: VecDeque<Kept>,
    bytes: usize,
    /// The last message that was sent over the present stream.
    sent: u64,
    /// The last message that was given up although it was not confirmed.
    forgotten: u64,
    dropped: Option<Dropped>,
}

impl Ring {
    /// An empty ring for so many bytes. At first what was sent is not kept, see [`Ring::keep`].
    pub fn new(limit: usize) -> Self {
        Self { limit, keeps: false, next: 1, kept: VecDeque::new(), bytes: 0, sent: 0, forgotten: 0, dropped: None }
    }

    /// From now on what was sent stays until [`Ring::taken`]: the client may come again over another connection.
    pub fn keep(&mut self) {
        self.keeps = true;
    }

    /// Takes a message and gives it its number.
    pub fn push(&mut self, worker: u32, event: Event) -> u64 {
        let seq = self.next;
        self.next += 1;
        self.put(WorkerMessage { worker, seq, event: Some(event) });
        if self.bytes > self.limit {
            self.make_room();
        }
        seq
    }

    fn put(&mut self, message: WorkerMessage) {
        let bytes = message.encoded_len() + OVERHEAD;
        self.bytes += bytes;
        self.kept.push_back(Kept { message, bytes });
    }

    /// The first message behind number `after`; it counts as sent.
    pub fn next_after(&mut self, after: u64) -> Option<WorkerMessage> {
        let at = self.kept.partition_point(|kept| kept.message.seq <= after);
        let kept = self.kept.get(at)?;
        self.sent = kept.message.seq;
        if self.dropped.as_ref().is_some_and(|dropped| dropped.seq <= self.sent) {
            // What is dropped from now on needs a warning of its own.
            self.dropped = None;
        }
        if self.keeps {
            return Some(kept.message.clone());
        }
        // Everything before it was sent as well.
        self.kept.drain(..at).for_each(|kept| self.bytes -= kept.bytes);
        self.kept.pop_front().map(|kept| {
            self.bytes -= kept.bytes;
            kept.message
        })
    }

    /// The client has everything up to this number.
    pub fn taken(&mut self, seq: u64) {
        while self.kept.front().is_some_and(|kept| kept.message.seq <= seq) {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        if let Some(kept) = self.kept.pop_front() {
            self.bytes -= kept.bytes;
        }
    }

    /// A new stream begins behind number `after`. When messages behind it are gone, a warning says so. What is before it
    /// and not confirmed stays: another master may ask for it.
    pub fn rewind(&mut self, after: u64) {
        self.sent = after;
        if self.forgotten > after {
            let count = self.forgotten - after;
            let text = format!(
                "{count} messages that were on their way when the connection broke are lost: the agent had no room to keep them"
            );
            self.push(0, Event::Warning(text));
            self.forgotten = after;
        }
    }

    /// How many bytes are in use.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The number of the last message.
    pub fn last(&self) -> u64 {
        self.next - 1
    }

    /// Drops until there is room again for an eighth of the bound, so that this is seldom done.
    fn make_room(&mut self) {
        let target = self.limit - self.limit / 8;
        while self.bytes > target && self.kept.front().is_some_and(|kept| kept.message.seq <= self.sent) {
            self.forgotten = self.kept.front().map_or(self.forgotten, |kept| kept.message.seq);
            self.forget_first();
        }
        for worth in [Worth::Sample, Worth::Line, Worth::Failure] {
            if self.bytes > target {
                self.drop_oldest(worth, target);
            }
        }
    }

    /// Drops the oldest that are worth no more than that, except the newest message.
    fn drop_oldest(&mut self, least: Worth, target: usize) {
        let mut dropped = self.dropped.take().unwrap_or_default();
        let mut bytes = self.bytes;
        let (sent, newest) = (self.sent, self.next - 1);
        self.kept.retain_mut(|kept| {
            let seq = kept.message.seq;
            if bytes <= target || worth(&kept.message) != least || seq <= sent || seq == newest {
                return true;
            }
            bytes -= kept.bytes;
            dropped.count(&kept.message);
            if dropped.seq != 0 {
                return false;
            }
            // Its place is that of the warning, whose text comes at the end.
            dropped.seq = seq;
            kept.message.event = Some(Event::Warning(String::new()));
            kept.bytes = OVERHEAD;
            bytes += kept.bytes;
            true
        });
        self.bytes = bytes;
        if dropped.seq == 0 {
            return;
        }
        if let Ok(at) = self.kept.binary_search_by_key(&dropped.seq, |kept| kept.message.seq)
            && let Some(kept) = self.kept.get_mut(at)
        {
            kept.message.event = Some(Event::Warning(dropped.text(self.limit)));
            self.bytes -= kept.bytes;
            kept.bytes = kept.message.encoded_len() + OVERHEAD;
            self.bytes += kept.bytes;
        }
        self.dropped = Some(dropped);
    }
}

impl Dropped {
    fn count(&mut self, message: &WorkerMessage) {
        match &message.event {
            Some(Event::Interval(sample)) => {
                self.samples += 1;
                let (first, last) = self.intervals.unwrap_or((sample.interval, sample.interval));
                self.intervals = Some((first.min(sample.interval), last.max(sample.interval)));
            }
            Some(Event::Failure(_)) => self.failures += 1,
            _ => self.lines += 1,
        }
    }

    fn text(&self, limit: usize) -> String {
        let mut parts = Vec::new();
        if let Some((first, last)) = self.intervals {
            parts.push(format!("{} samples of the intervals {first} to {last}", self.samples));
        }
        if self.lines > 0 {
            parts.push(format!("{} lines of logs", self.lines));
        }
        if self.failures > 0 {
            parts.push(format!("{} reports of I/O errors", self.failures));
        }
        let what = parts.join(", ");
        format!("dropped here: {what}: they were not fetched, and an agent keeps no more than {} KiB", limit >> 10)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use std::ops::RangeInclusive;

    use brunt_proto::v1::{IntervalSample, IoFailure, Nothing, PairSample, Totals};

    fn sample(interval: u32) -> Event {
        Event::Interval(IntervalSample { interval, pairs: vec![PairSample::default(); 100], ..Default::default() })
    }

    fn fill(ring: &mut Ring, intervals: RangeInclusive<u32>) {
        for interval in intervals {
            ring.push(0, sample(interval));
        }
    }

    fn all(ring: &mut Ring, mut after: u64) -> Vec<WorkerMessage> {
        let mut all = Vec::new();
        while let Some(message) = ring.next_after(after) {
            after = message.seq;
            all.push(message);
        }
        all
    }

    fn warnings(messages: &[WorkerMessage]) -> Vec<(u64, &str)> {
        let text = |m: &'_ WorkerMessage| matches!(m.event, Some(Event::Warning(_)));
        let warned = messages.iter().filter(|m| text(m));
        warned
            .map(|m| match &m.event {
                Some(Event::Warning(text)) => (m.seq, text.as_str()),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn messages_stay_until_they_are_taken() {
        let mut ring = Ring::new(1 << 20);
        ring.keep();
        (1..=5).for_each(|n| assert_eq!(ring.push(0, sample(n)), u64::from(n)));
        assert_eq!(all(&mut ring, 0).len(), 5);
        ring.taken(3);
        ring.rewind(3);
        let again: Vec<u64> = all(&mut ring, 3).iter().map(|m| m.seq).collect();
        assert_eq!(again, [4, 5]);
        // Whoever has more than was confirmed leaves the rest to another master.
        ring.rewind(4);
        assert_eq!(all(&mut ring, 4).len(), 1);
        ring.rewind(0);
        assert_eq!(all(&mut ring, 0).iter().map(|m| m.seq).collect::<Vec<_>>(), [4, 5]);
        ring.taken(5);
        assert_eq!((ring.bytes(), ring.last()), (0, 5));
    }

    #[test]
    fn without_a_lease_nothing_that_was_sent_is_kept() {
        let mut ring = Ring::new(1 << 20);
        fill(&mut ring, 1..=5);
        assert_eq!(all(&mut ring, 0).len(), 5);
        assert_eq!(ring.bytes(), 0);
    }

    #[test]
    fn the_oldest_samples_go_first_and_are_counted_in_place() {
        let mut ring = Ring::new(16 << 10);
        ring.keep();
        ring.push(0, Event::Totals(Totals::default()));
        for n in 1..=1000 {
            ring.push(0, sample(n));
            ring.push(1, Event::Failure(IoFailure::default()));
            assert!(ring.bytes() <= 16 << 10, "{n}");
        }
        ring.push(0, Event::Drained(Nothing {}));
        let left = all(&mut ring, 0);
        assert!(left.windows(2).all(|w| w[0].seq < w[1].seq));
        assert!(matches!(left[0].event, Some(Event::Totals(_))));
        assert!(matches!(left.last().unwrap().event, Some(Event::Drained(_))));
        let [(2, text)] = warnings(&left)[..] else { panic!("{:?}", warnings(&left)) };
        let count = |what: fn(&Event) -> bool| left.iter().filter(|m| m.event.as_ref().is_some_and(what)).count();
        let samples = 1000 - count(|e| matches!(e, Event::Interval(_)));
        let failures = 1000 - count(|e| matches!(e, Event::Failure(_)));
        assert!(failures > 0 && samples > failures, "{samples} {failures}");
        assert!(text.starts_with(&format!("dropped here: {samples} samples of the intervals 1 to ")), "{text}");
        assert!(text.contains(&format!(", {failures} reports of I/O errors: ")), "{text}");
    }

    #[test]
    fn a_gap_behind_a_warning_that_was_sent_has_its_own() {
        let mut ring = Ring::new(16 << 10);
        ring.keep();
        fill(&mut ring, 1..=200);
        let first = ring.next_after(0).unwrap();
        assert_eq!(warnings(&[first]).len(), 1);
        fill(&mut ring, 201..=400);
        let left = all(&mut ring, 1);
        let told = warnings(&left);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].0 > 1);
    }

    #[test]
    fn what_was_sent_goes_before_what_was_not() {
        let mut ring = Ring::new(16 << 10);
        ring.keep();
        for n in 1..=500 {
            ring.push(0, sample(n));
            // A client that reads and never confirms.
            assert!(ring.next_after(u64::from(n) - 1).is_some());
        }
        assert!(ring.bytes() <= 16 << 10);
        // It comes back and has less than what was forgotten.
        ring.rewind(100);
        let left = all(&mut ring, 100);
        assert!(left[0].seq > 101);
        let told = warnings(&left);
        let lost = left[0].seq - 101;
        assert!(told[0].1.starts_with(&format!("{lost} messages that were on their way")), "{told:?}");
    }
}
