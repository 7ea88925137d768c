//! When I/O errors end an execution (`docs/vdbench/raw.md` §3, `data.md` §1.11).

use brunt_parm::ast::DataErrors;
use brunt_plan::work::IoFailure;

/// The limit of `data_errors=remove_device`.
const REMOVE_DEVICE_LIMIT: u64 = 10_000;

/// What an error calls for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Go on.
    GoOn,
    /// Start no more I/O to its SD.
    DropSd(u32),
    /// End at once.
    Abort,
    /// End at once, then run this command.
    AbortWith(String),
}

/// Counts the errors of one run.
#[derive(Debug)]
pub(crate) struct ErrorCount {
    rule: DataErrors,
    /// Errors that were reported one by one.
    reported: u64,
    /// Errors that the samples tell of; workers stop reporting single ones at some point.
    sampled: u64,
    /// Measured time of the run at the last error.
    last_error_ns: u64,
    aborted: bool,
    dropped: Vec<u32>,
}

impl ErrorCount {
    pub(crate) fn new(rule: DataErrors) -> Self {
        Self { rule, reported: 0, sampled: 0, last_error_ns: 0, aborted: false, dropped: Vec::new() }
    }

    /// Errors so far.
    pub(crate) fn count(&self) -> u64 {
        self.reported.max(self.sampled)
    }

    /// Whether the limit was reached: further errors are counted, not shown (`docs/vdbench/data.md` §1.11).
    pub(crate) fn aborted(&self) -> bool {
        self.aborted
    }

    /// An I/O failed, `elapsed_ns` into the run.
    pub(crate) fn failed(&mut self, failure: &IoFailure, elapsed_ns: u64) -> Verdict {
        self.reported += 1;
        self.last_error_ns = elapsed_ns;
        match &self.rule {
            DataErrors::RemoveDevice if self.count() < REMOVE_DEVICE_LIMIT && !self.dropped.contains(&failure.sd) => {
                self.dropped.push(failure.sd);
                Verdict::DropSd(failure.sd)
            }
            DataErrors::Command(command) if !self.aborted => {
                self.aborted = true;
                if command.starts_with("stop") { Verdict::Abort } else { Verdict::AbortWith(filled(command, failure)) }
            }
            _ => self.judge(),
        }
    }

    /// An interval with that many errors ended `elapsed_ns` into the run.
    pub(crate) fn interval(&mut self, errors: u64, elapsed_ns: u64) -> Verdict {
        let before = self.count();
        self.sampled += errors;
        if self.count() > before {
            self.last_error_ns = elapsed_ns;
        }
        if let DataErrors::Limit { seconds: Some(seconds), .. } = self.rule
            && self.count() > 0
            && !self.aborted
            && elapsed_ns.saturating_sub(self.last_error_ns) >= seconds.saturating_mul(1_000_000_000)
        {
            self.aborted = true;
            return Verdict::Abort;
        }
        if matches!(self.rule, DataErrors::Command(_)) { Verdict::GoOn } else { self.judge() }
    }

    fn judge(&mut self) -> Verdict {
        let limit = match self.rule {
            DataErrors::Limit { count, .. } => count.max(1),
            DataErrors::RemoveDevice => REMOVE_DEVICE_LIMIT,
            DataErrors::Command(_) => 1,
        };
        if self.aborted || self.count() < limit {
            return Verdict::GoOn;
        }
        self.aborted = true;
        Verdict::Abort
    }

    /// The line that ends it, in Vdbench's words (`docs/vdbench/reports.md` §11).
    pub(crate) fn text(&self, rd: &str) -> String {
        let rule = match &self.rule {
            DataErrors::Limit { count, seconds: None } => count.to_string(),
            DataErrors::Limit { count, seconds: Some(s) } => format!("({count},{s})"),
            DataErrors::RemoveDevice => REMOVE_DEVICE_LIMIT.to_string(),
            DataErrors::Command(command) => command.clone(),
        };
        format!("'data_errors={rule}' requested. Abort rd={rd} after last error.")
    }
}

/// `$lun $lba $size` of a command; `$output` is filled in with the other hooks'.
fn filled(command: &str, failure: &IoFailure) -> String {
    command
        .replace("$lun", &failure.lun)
        .replace("$lba", &failure.lba.to_string())
        .replace("$size", &failure.xfer.to_string())
}

#[cfg(test)]
mod tests {
    use brunt_plan::work::IoErrorKind;

    use super::*;

    fn failure(sd: u32) -> IoFailure {
        let error = IoErrorKind::Errno(5);
        IoFailure { sd, lun: "/dev/x".into(), read: true, lba: 8192, xfer: 4096, error, at_ms: 0 }
    }

    fn limit(count: u64, seconds: Option<u64>) -> ErrorCount {
        ErrorCount::new(DataErrors::Limit { count, seconds })
    }

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn the_nth_error_aborts() {
        let mut e = limit(3, None);
        let verdicts: Vec<_> = (0..4).map(|_| e.failed(&failure(0), 0)).collect();
        assert_eq!(verdicts, [Verdict::GoOn, Verdict::GoOn, Verdict::Abort, Verdict::GoOn]);
        assert_eq!((e.count(), e.aborted()), (4, true));
        assert_eq!(e.text("rd1"), "'data_errors=3' requested. Abort rd=rd1 after last error.");
    }

    #[test]
    fn errors_that_only_samples_tell_count_too() {
        let mut e = limit(5, None);
        e.failed(&failure(0), 0);
        assert_eq!(e.interval(1, SECOND), Verdict::GoOn);
        assert_eq!(e.interval(4, 2 * SECOND), Verdict::Abort);
        assert_eq!(e.count(), 5);
    }

    #[test]
    fn every_error_restarts_the_clock() {
        let mut e = limit(100, Some(2));
        assert_eq!(e.interval(0, 9 * SECOND), Verdict::GoOn);
        e.failed(&failure(0), 9 * SECOND);
        assert_eq!(e.interval(1, 10 * SECOND), Verdict::GoOn);
        e.failed(&failure(0), 10 * SECOND);
        assert_eq!(e.interval(1, 11 * SECOND), Verdict::GoOn);
        assert_eq!(e.interval(0, 12 * SECOND), Verdict::Abort);
        assert_eq!(e.text("r"), "'data_errors=(100,2)' requested. Abort rd=r after last error.");
    }

    #[test]
    fn remove_device_drops_each_sd_once() {
        let mut e = ErrorCount::new(DataErrors::RemoveDevice);
        assert_eq!(e.failed(&failure(3), 0), Verdict::DropSd(3));
        assert_eq!(e.failed(&failure(3), 0), Verdict::GoOn);
        assert_eq!(e.failed(&failure(4), 0), Verdict::DropSd(4));
        assert_eq!(e.interval(9_999, SECOND), Verdict::GoOn);
        assert_eq!(e.interval(1, SECOND), Verdict::Abort);
    }

    #[test]
    fn a_command_runs_at_the_first_error() {
        let mut e = ErrorCount::new(DataErrors::Command("echo $lun $lba $size".into()));
        assert_eq!(e.failed(&failure(0), 0), Verdict::AbortWith("echo /dev/x 8192 4096".into()));
        assert_eq!(e.failed(&failure(0), 0), Verdict::GoOn);
        let mut e = ErrorCount::new(DataErrors::Command("stop".into()));
        assert_eq!(e.failed(&failure(0), 0), Verdict::Abort);
    }
}
