//! Times as text. The clock only formats: the times come from the records.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Formats times in the zone of the reports (`docs/vdbench/reports.md` §1).
#[derive(Debug, Clone)]
pub struct Clock {
    zone: TimeZone,
}

impl Clock {
    /// A clock of a zone, given by its IANA name or as a POSIX rule (`CET-1CEST,M3.5.0,M10.5.0/3`); UTC when it is empty
    /// or unknown here.
    pub fn new(zone: &str) -> Self {
        Self { zone: TimeZone::get(zone).or_else(|_| TimeZone::posix(zone)).unwrap_or(TimeZone::UTC) }
    }

    /// `HH:mm:ss.SSS`, 12 characters.
    pub fn tod(&self, at_ms: i64) -> String {
        self.format("%H:%M:%S%.3f", at_ms)
    }

    /// `Nov 30, 2026`, 12 characters.
    pub fn date(&self, at_ms: i64) -> String {
        self.format("%b %d, %Y", at_ms)
    }

    /// `13:30:45 Nov 30 2026 UTC`.
    pub fn header(&self, at_ms: i64) -> String {
        self.format("%H:%M:%S %b %d %Y %Z", at_ms)
    }

    /// `Mon Nov 30 13:30:45 UTC 2026`.
    pub fn long(&self, at_ms: i64) -> String {
        self.format("%a %b %d %H:%M:%S %Z %Y", at_ms)
    }

    /// `11/30/2026-13:30:45-UTC`.
    pub fn stamp(&self, at_ms: i64) -> String {
        self.format("%m/%d/%Y-%H:%M:%S-%Z", at_ms)
    }

    /// `11302026-13:30:45.000`, milliseconds always zero.
    pub fn swat(&self, at_ms: i64) -> String {
        self.format("%m%d%Y-%H:%M:%S.000", at_ms)
    }

    /// `261130.133045`, for directories named by their time.
    pub fn directory(&self, at_ms: i64) -> String {
        self.format("%y%m%d.%H%M%S", at_ms)
    }

    fn format(&self, pattern: &str, at_ms: i64) -> String {
        // A time out of the calendar's range cannot come from a clock; the epoch stands for it.
        let at = Timestamp::from_millisecond(at_ms).unwrap_or(Timestamp::UNIX_EPOCH);
        at.to_zoned(self.zone.clone()).strftime(pattern).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: i64 = 1_796_045_445_042; // 2026-11-30 13:30:45.042 UTC

    #[test]
    fn utc() {
        let clock = Clock::new("");
        assert_eq!(clock.tod(AT), "13:30:45.042");
        assert_eq!(clock.date(AT), "Nov 30, 2026");
        assert_eq!(clock.header(AT), "13:30:45 Nov 30 2026 UTC");
        assert_eq!(clock.stamp(AT), "11/30/2026-13:30:45-UTC");
        assert_eq!(clock.swat(AT), "11302026-13:30:45.000");
        assert_eq!(clock.directory(AT), "261130.133045");
        assert_eq!(clock.long(AT), "Mon Nov 30 13:30:45 UTC 2026");
    }

    #[test]
    fn whole_seconds_keep_their_decimals() {
        assert_eq!(Clock::new("").tod(AT - 42), "13:30:45.000");
    }

    #[test]
    fn other_zones_have_their_names() {
        let clock = Clock::new("Europe/Berlin");
        assert_eq!(clock.tod(AT), "14:30:45.042");
        assert_eq!(clock.stamp(AT), "11/30/2026-14:30:45-CET");
    }

    #[test]
    fn rules_are_zones_too() {
        assert_eq!(Clock::new("CET-1CEST,M3.5.0,M10.5.0/3").stamp(AT), "11/30/2026-14:30:45-CET");
        assert_eq!(Clock::new("no such zone").stamp(AT), "11/30/2026-13:30:45-UTC");
    }

    #[test]
    fn times_out_of_range_do_not_panic() {
        assert_eq!(Clock::new("").tod(i64::MAX), "00:00:00.000");
    }
}
