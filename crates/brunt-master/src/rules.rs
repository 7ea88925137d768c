//! What the plan and the caller say about how an execution is led.

use std::path::PathBuf;
use std::time::Duration;

use brunt_plan::plan::{OnLoss, Settings};
use brunt_plan::work::LunFacts;

use crate::idle::IdleRule;

/// How to execute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Whether the program was called by the name `vdbench`: a hook that fails only warns then.
    pub as_vdbench: bool,
    /// The output directory, for `$output` in hooks.
    pub output: PathBuf,
    /// A file whose existence ends everything: `/tmp/vdbench.shutdown.<pid>`.
    pub shutdown_file: PathBuf,
    /// Time from the start call to the common start of all workers.
    pub start_delay: Duration,
}

impl Options {
    /// The usual ones of this process.
    pub fn new(as_vdbench: bool, output: impl Into<PathBuf>) -> Self {
        Self {
            as_vdbench,
            output: output.into(),
            shutdown_file: PathBuf::from(format!("/tmp/vdbench.shutdown.{}", std::process::id())),
            start_delay: Duration::from_millis(20),
        }
    }
}

/// A controller that fails over answers late and is not stuck (decisions.md "Execution").
const DRAIN_LIMIT: Duration = Duration::from_secs(180);
/// So many times the system may try a command again before an I/O comes back.
const TRIES: u32 = 4;

/// [`Options`] and [`Settings`] in the form that the execution needs.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    output: String,
    pub(crate) shutdown_file: PathBuf,
    pub(crate) start_delay: Duration,
    pub(crate) as_vdbench: bool,
    /// A hook that fails only warns.
    pub(crate) hook_failure_warns: bool,
    /// How long a hook may take; `None`: as long as it likes, since it may copy a whole array.
    pub(crate) hook_limit: Option<Duration>,
    /// The hook that failed and was let pass: what comes after it is not what was asked for.
    pub(crate) failed_hook: Option<String>,
    /// Runs go on without lost workers.
    pub(crate) goes_on_without_lost: bool,
    /// How long outstanding I/O is waited for.
    pub(crate) drain_limit: Duration,
    /// Whether `misc=(drain=)` says so.
    drain_given: bool,
    /// `timeout=`.
    pub(crate) idle: Option<IdleRule>,
}

impl Rules {
    /// # Errors
    /// A setting that means nothing, in a sentence.
    pub(crate) fn new(options: &Options, settings: &Settings) -> Result<Self, String> {
        let misc = |key: &str| settings.misc.iter().rev().find(|(k, _)| k == key).map(|(_, v)| v.as_str());
        let drain_limit = match misc("drain") {
            None => DRAIN_LIMIT,
            Some(text) => {
                let seconds = text.strip_suffix('s').unwrap_or(text).parse();
                Duration::from_secs(seconds.map_err(|_| format!("misc=(drain={text}) is not a number of seconds"))?)
            }
        };
        let hook_failure_warns = match misc("hook_failure") {
            None => options.as_vdbench,
            Some("warn") => true,
            Some("error") => false,
            Some(text) => return Err(format!("misc=(hook_failure={text}) is neither warn nor error")),
        };
        let hook_limit = match misc("hook_limit") {
            None => None,
            Some(text) => {
                let wrong = || format!("misc=(hook_limit={text}) is not a time above 0 in seconds, or with s, m or h");
                let seconds = brunt_plan::seconds(text).filter(|seconds| *seconds > 0).ok_or_else(wrong)?;
                Some(Duration::from_secs(seconds.into()))
            }
        };
        Ok(Self {
            output: options.output.display().to_string(),
            shutdown_file: options.shutdown_file.clone(),
            start_delay: options.start_delay,
            as_vdbench: options.as_vdbench,
            hook_failure_warns,
            hook_limit,
            failed_hook: None,
            goes_on_without_lost: settings.fleet.on_loss == OnLoss::Continue,
            drain_limit,
            drain_given: misc("drain").is_some(),
            idle: IdleRule::parse(&settings.timeout)?,
        })
    }

    /// Waits for outstanding I/O as long as the slowest device takes to give commands up, unless the user has said how
    /// long (decisions.md "Execution").
    pub(crate) fn wait_for_devices<'f>(&mut self, luns: impl IntoIterator<Item = &'f LunFacts>) {
        let longest = luns.into_iter().filter_map(|lun| lun.timeout_s).max().unwrap_or(0);
        if !self.drain_given {
            self.drain_limit = DRAIN_LIMIT.max(Duration::from_secs(longest.into()) * TRIES);
        }
    }

    /// A command with `$output` filled in.
    pub(crate) fn filled(&self, command: &str) -> String {
        command.replace("$output", &self.output)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testing::{facts, plan};

    fn limit(drain: Option<&str>, timeouts: &[Option<u32>]) -> u64 {
        let mut settings = plan(vec![]).settings;
        settings.misc.extend(drain.map(|value| ("drain".to_owned(), value.to_owned())));
        let mut rules = Rules::new(&Options::new(false, "/out"), &settings).unwrap();
        let luns: Vec<LunFacts> = timeouts.iter().map(|t| LunFacts { timeout_s: *t, ..facts(0) }).collect();
        rules.wait_for_devices(&luns);
        rules.drain_limit.as_secs()
    }

    #[test]
    fn the_slowest_device_decides_how_long_outstanding_io_is_waited_for() {
        assert_eq!([limit(None, &[]), limit(None, &[None, Some(30)])], [180, 180]);
        assert_eq!(limit(None, &[Some(30), Some(90), None]), 360);
        assert_eq!([limit(Some("2"), &[Some(90)]), limit(Some("600s"), &[])], [2, 600]);
    }

    #[test]
    fn hooks_have_the_time_that_is_written() {
        let of = |value: Option<&str>| {
            let mut settings = plan(vec![]).settings;
            settings.misc.extend(value.map(|value| ("hook_limit".to_owned(), value.to_owned())));
            Rules::new(&Options::new(false, "/out"), &settings)
                .map(|rules| rules.hook_limit.map(|limit| limit.as_secs()))
        };
        assert_eq!([of(None), of(Some("90"))], [Ok(None), Ok(Some(90))]);
        assert_eq!([of(Some("90s")), of(Some("10m")), of(Some("2h"))], [Ok(Some(90)), Ok(Some(600)), Ok(Some(7200))]);
        for wrong in ["0", "", "m", "-1", "1d"] {
            let text = format!("misc=(hook_limit={wrong}) is not a time above 0 in seconds, or with s, m or h");
            assert_eq!(of(Some(wrong)), Err(text));
        }
    }
}
