//! The log of an agent that listens. Whoever reads it may stop, and whoever comes may be a stranger who comes a thousand
//! times a second: neither must hold up those who serve, so a thread of its own writes what a bounded queue holds.

use std::collections::HashMap;
use std::fmt::Display;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

/// Lines that wait to be written; further ones are counted only.
const WAITING: usize = 256;

/// So long one line stands for all refusals of an address for the same reason.
const TOGETHER: Duration = Duration::from_secs(1);

/// Refusals that are told apart within that time.
const APART: usize = 64;

/// Takes lines and never waits.
#[derive(Debug, Clone)]
pub struct Log {
    lines: SyncSender<String>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Lines that found no room.
    dropped: AtomicU64,
    refusals: Mutex<Refusals>,
}

impl Log {
    /// Starts the thread that writes to `out`. It ends when the last clone of the log has gone and all is written; nobody
    /// waits for it.
    ///
    /// # Errors
    /// There is no thread.
    pub fn to(out: impl Write + Send + 'static) -> io::Result<Self> {
        let (lines, waiting) = sync_channel(WAITING);
        let shared = Arc::<Shared>::default();
        let of_thread = Arc::clone(&shared);
        thread::Builder::new().name("log".to_owned()).spawn(move || write_all(out, &waiting, &of_thread))?;
        Ok(Self { lines, shared })
    }

    /// A line.
    pub fn say(&self, line: &dyn Display) {
        if self.lines.try_send(one_line(line)).is_err() {
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A connection was not let in: a line for the first in each second from the same address and for the same reason, and
    /// the number of the others behind it.
    pub fn refuse(&self, peer: SocketAddr, reason: String) {
        let line = format!("{peer} was not let in: {reason}");
        if self.shared.refusals().take(Instant::now(), (peer.ip(), reason)) {
            self.say(&line);
        }
    }
}

impl Shared {
    fn refusals(&self) -> std::sync::MutexGuard<'_, Refusals> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is told may come from a stranger in part: its control characters are replaced.
fn one_line(text: &dyn Display) -> String {
    text.to_string().replace(|c: char| c.is_control(), "\u{fffd}")
}

fn write_all(mut out: impl Write, waiting: &Receiver<String>, shared: &Shared) {
    loop {
        let (line, ended) = match waiting.recv_timeout(TOGETHER) {
            Ok(line) => (Some(line), false),
            Err(error) => (None, error == RecvTimeoutError::Disconnected),
        };
        let now = Instant::now();
        let more = shared.refusals().over(if ended { now + TOGETHER } else { now });
        let dropped = shared.dropped.swap(0, Ordering::Relaxed);
        let counts = more.into_iter().map(|(from, more)| match from {
            Some((peer, reason)) => format!("{peer}: {more} more were not let in: {reason}"),
            None => format!("{more} more from many addresses or for many reasons were not let in"),
        });
        let dropped =
            (dropped > 0).then(|| format!("{dropped} lines of this log were dropped: nobody read it in time"));
        for line in line.into_iter().chain(counts.map(|line| one_line(&line))).chain(dropped) {
            // Nobody reads it: that is no reason to end.
            let _ = writeln!(out, "{line}");
        }
        if ended {
            return;
        }
    }
}

/// From where, and why.
type Refusal = (IpAddr, String);

/// Refusals of the last moments; those beyond [`APART`] together, as `None`.
#[derive(Debug, Default)]
struct Refusals(HashMap<Option<Refusal>, Told>);

#[derive(Debug)]
struct Told {
    /// When the first was told.
    at: Instant,
    /// How many came since.
    more: u64,
}

impl Refusals {
    /// Whether this one is to be told.
    fn take(&mut self, at: Instant, refusal: Refusal) -> bool {
        let mut key = Some(refusal);
        if self.0.len() >= APART && !self.0.contains_key(&key) {
            key = None;
        }
        let first = key.is_some() && !self.0.contains_key(&key);
        let told = self.0.entry(key).or_insert(Told { at, more: 0 });
        told.more += u64::from(!first);
        first
    }

    /// Forgets those whose time is over, and gives how many came behind the one that was told.
    fn over(&mut self, at: Instant) -> Vec<(Option<Refusal>, u64)> {
        let over = self.0.extract_if(|_, told| at.saturating_duration_since(told.at) >= TOGETHER);
        let mut more: Vec<_> = over.map(|(from, told)| (from, told.more)).filter(|(_, more)| *more > 0).collect();
        more.sort();
        more
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};

    fn from(n: u32) -> Refusal {
        (IpAddr::from((0x0a00_0000 + n).to_be_bytes()), "it is strange".to_owned())
    }

    #[test]
    fn a_log_that_nobody_reads_holds_nobody_up_and_says_what_it_lacks() {
        let (reader, writer) = io::pipe().unwrap();
        let log = Log::to(writer).unwrap();
        // Far more than a pipe and the queue hold.
        let line = "x".repeat(1 << 12);
        for _ in 0..4 * WAITING {
            log.say(&line);
        }
        let lacks = log.shared.dropped.load(Ordering::Relaxed);
        assert!(lacks > 0);
        drop(log);
        let lines: Vec<String> = BufReader::new(reader).lines().map(Result::unwrap).collect();
        let told = |line: &String| {
            line.strip_suffix(" lines of this log were dropped: nobody read it in time")?.parse::<u64>().ok()
        };
        let dropped: u64 = lines.iter().filter_map(told).sum();
        let written = lines.iter().filter(|given| **given == line).count() as u64;
        assert_eq!((written + dropped, dropped >= lacks), (4 * WAITING as u64, true));
    }

    #[test]
    fn what_strangers_say_stays_one_line() {
        let (reader, writer) = io::pipe().unwrap();
        let log = Log::to(writer).unwrap();
        log.say(&"a\nb\u{1b}[2J");
        drop(log);
        assert_eq!(io::read_to_string(reader).unwrap(), "a\u{fffd}b\u{fffd}[2J\n");
    }

    #[test]
    fn refusals_of_an_address_are_told_together() {
        let (start, mut refusals) = (Instant::now(), Refusals::default());
        let told: Vec<bool> = (0..5).map(|_| refusals.take(start, from(1))).collect();
        assert_eq!(told, [true, false, false, false, false]);
        assert!(refusals.take(start, from(2)));
        let other = (from(1).0, "it is late".to_owned());
        assert!(refusals.take(start, other));
        assert_eq!(refusals.over(start + TOGETHER / 2), []);
        assert_eq!(refusals.over(start + TOGETHER), [(Some(from(1)), 4)]);
        assert!(refusals.take(start + TOGETHER, from(1)), "and then anew");
    }

    #[test]
    fn many_strangers_take_no_more_room_than_some() {
        let (start, mut refusals) = (Instant::now(), Refusals::default());
        let told = (0..1000).filter(|n| refusals.take(start, from(*n))).count();
        assert_eq!((told, refusals.0.len()), (APART, APART + 1));
        assert_eq!(refusals.over(start + TOGETHER), [(None, 1000 - APART as u64)]);
    }
}
