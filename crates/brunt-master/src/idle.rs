//! `timeout=`: SDs that complete nothing (`docs/vdbench/raw.md` §3).

use std::collections::BTreeMap;

use brunt_stats::Cell;

/// What to do when an SD was idle for too long.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Action {
    Warn,
    Abort,
    AbortAfter(u64),
    Script(String),
}

/// The rule of `timeout=`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IdleRule {
    /// Seconds until the first warning, and between warnings; `None`: only the report at the end.
    seconds: Option<u64>,
    /// Periods shorter than this are not in the report at the end.
    least: u64,
    action: Action,
}

impl IdleRule {
    /// Reads the values of `timeout=`; `None` when there are none.
    ///
    /// # Errors
    /// Values that mean nothing, in a sentence.
    pub(crate) fn parse(values: &[String]) -> Result<Option<Self>, String> {
        let bad = || {
            format!(
                "timeout={} means nothing: write report, (report,n), n, (n,abort), (n,m) or (n,script)",
                values.join(",")
            )
        };
        let rule = |seconds, least, action| Ok(Some(Self { seconds, least, action }));
        match values {
            [] => Ok(None),
            [report] if is_report(report) => rule(None, 0, Action::Warn),
            [report, least] if is_report(report) => rule(None, least.parse().map_err(|_| bad())?, Action::Warn),
            [n] => rule(Some(seconds(n).ok_or_else(bad)?), 0, Action::Warn),
            [n, what] => {
                let action = match (seconds(what), what.as_str()) {
                    (Some(m), _) => Action::AbortAfter(m),
                    (None, "abort") => Action::Abort,
                    (None, script) => Action::Script(script.to_owned()),
                };
                rule(Some(seconds(n).ok_or_else(bad)?), 0, action)
            }
            _ => Err(bad()),
        }
    }
}

fn is_report(word: &str) -> bool {
    word.len() >= 2 && "report".starts_with(word)
}

fn seconds(text: &str) -> Option<u64> {
    text.parse().ok().filter(|n| *n > 0)
}

/// A period without completions of one SD on one worker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Idle {
    now: u64,
    warned: u64,
}

/// What an interval showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TooLong {
    /// Index in the reports.
    pub(crate) worker: u32,
    /// Index in the reports.
    pub(crate) sd: u32,
    /// Seconds without a completion.
    pub(crate) seconds: u64,
    /// What is to be done.
    pub(crate) consequence: Consequence,
}

/// What follows from an idle SD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Consequence {
    /// Say so.
    Warn,
    /// End everything.
    Abort,
    /// Ask this script.
    Ask(String),
}

/// The longest idle period of an SD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Longest {
    /// Seconds.
    pub(crate) seconds: u64,
    /// Unix milliseconds at its beginning.
    pub(crate) from_ms: i64,
    /// At its end.
    pub(crate) to_ms: i64,
}

/// Watches one run.
#[derive(Debug)]
pub(crate) struct IdleWatch {
    rule: IdleRule,
    pairs: BTreeMap<(u32, u32), Idle>,
}

/// The longest idle periods of a whole execution, by SD.
pub(crate) type LongestIdle = BTreeMap<u32, Longest>;

impl IdleWatch {
    /// Watches these (worker, SD) pairs.
    pub(crate) fn new(rule: IdleRule, pairs: impl IntoIterator<Item = (u32, u32)>) -> Self {
        Self { rule, pairs: pairs.into_iter().map(|p| (p, Idle::default())).collect() }
    }

    /// An SD is out of the run: that it does nothing is no news.
    pub(crate) fn forget(&mut self, sd: u32) {
        self.pairs.retain(|(_, other), _| *other != sd);
    }

    /// A worker is lost: likewise.
    pub(crate) fn forget_worker(&mut self, worker: u32) {
        self.pairs.retain(|(other, _), _| *other != worker);
    }

    /// An interval of that many seconds is over, now (Unix milliseconds): a pair is idle in it when it did nothing. The
    /// time before the interval in which it fell idle makes its real period longer, so that "exceeded" is reached
    /// with the n-th idle second.
    pub(crate) fn interval(
        &mut self,
        seconds: u32,
        done: &BTreeMap<(u32, u32), Cell>,
        now_ms: i64,
        longest: &mut LongestIdle,
    ) -> Vec<TooLong> {
        let mut late = Vec::new();
        for (&(worker, sd), idle) in &mut self.pairs {
            if done.get(&(worker, sd)).is_some_and(|c| c.both().ops > 0) {
                *idle = Idle::default();
                continue;
            }
            idle.now += u64::from(seconds);
            note_longest(longest, sd, idle.now, now_ms, self.rule.least);
            if self.rule.seconds.is_some_and(|n| idle.now >= idle.warned + n) {
                idle.warned = idle.now;
                let consequence = self.rule.consequence(idle.now);
                late.push(TooLong { worker, sd, seconds: idle.now, consequence });
            }
        }
        late
    }
}

impl IdleRule {
    fn consequence(&self, idle: u64) -> Consequence {
        match &self.action {
            Action::Warn => Consequence::Warn,
            Action::Abort => Consequence::Abort,
            Action::AbortAfter(m) if idle >= *m => Consequence::Abort,
            Action::AbortAfter(_) => Consequence::Warn,
            Action::Script(script) => Consequence::Ask(script.clone()),
        }
    }
}

fn note_longest(longest: &mut LongestIdle, sd: u32, seconds: u64, now_ms: i64, least: u64) {
    if seconds >= least && longest.get(&sd).is_none_or(|l| l.seconds < seconds) {
        let from_ms = now_ms - i64::try_from(seconds).unwrap_or(i64::MAX / 1000).saturating_mul(1000);
        longest.insert(sd, Longest { seconds, from_ms, to_ms: now_ms });
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn rule(values: &[&str]) -> IdleRule {
        let values: Vec<String> = values.iter().map(|v| (*v).to_owned()).collect();
        IdleRule::parse(&values).unwrap().unwrap()
    }

    fn done(pairs: &[(u32, u32)]) -> BTreeMap<(u32, u32), Cell> {
        let mut cell = Cell::default();
        cell.read.record(512, 1, false);
        pairs.iter().map(|p| (*p, cell)).collect()
    }

    /// Seconds and consequence of the warnings of ten idle seconds.
    fn ten_seconds(values: &[&str]) -> Vec<(u64, Consequence)> {
        let mut watch = IdleWatch::new(rule(values), [(0, 0)]);
        let mut longest = LongestIdle::new();
        let tick = |_| watch.interval(1, &done(&[]), 0, &mut longest);
        (0..10).flat_map(tick).map(|t| (t.seconds, t.consequence)).collect()
    }

    #[test]
    fn forms_of_timeout() {
        use Consequence::{Abort, Ask, Warn};
        assert_eq!(ten_seconds(&["report"]), []);
        assert_eq!(ten_seconds(&["rep", "5"]), []);
        assert_eq!(ten_seconds(&["4"]), [(4, Warn), (8, Warn)]);
        assert_eq!(ten_seconds(&["9", "abort"]), [(9, Abort)]);
        assert_eq!(ten_seconds(&["3", "6"]), [(3, Warn), (6, Abort), (9, Abort)]);
        assert_eq!(ten_seconds(&["6", "./x.sh"]), [(6, Ask("./x.sh".into()))]);
        assert!(IdleRule::parse(&["x".into()]).is_err());
        assert!(IdleRule::parse(&["0".into()]).is_err());
        assert!(IdleRule::parse(&["1".into(), "2".into(), "3".into()]).is_err());
        assert_eq!(IdleRule::parse(&[]), Ok(None));
    }

    #[test]
    fn a_completion_ends_the_period_and_the_longest_is_kept() {
        let mut watch = IdleWatch::new(rule(&["report", "2"]), [(0, 0), (1, 0), (0, 1)]);
        let mut longest = LongestIdle::new();
        watch.interval(1, &done(&[(1, 0)]), 1_000, &mut longest);
        watch.interval(1, &done(&[(1, 0)]), 2_000, &mut longest);
        watch.interval(1, &done(&[(0, 0), (0, 1)]), 3_000, &mut longest);
        assert_eq!(longest.get(&0), Some(&Longest { seconds: 2, from_ms: 0, to_ms: 2_000 }));
        assert_eq!(longest.get(&1), Some(&Longest { seconds: 2, from_ms: 0, to_ms: 2_000 }));
    }
}
