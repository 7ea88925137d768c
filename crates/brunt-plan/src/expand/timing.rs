//! Elapsed time, interval and warm-up of an RD.

use brunt_parm::ast::{Opt, Rd};
use brunt_parm::{Diag, Severity, Span};

use super::log::Log;
use crate::options::Options;

/// Seconds of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timing {
    pub(crate) elapsed: u32,
    pub(crate) interval: u32,
    pub(crate) warmup: u32,
    pub(crate) pause: u32,
}

/// The times of an RD after `-e`, `-i` and `-w`, checked (`docs/vdbench/raw.md` §7).
pub(crate) fn of_rd(rd: &Rd, options: &Options, log: &mut Log) -> Option<Timing> {
    const DEFAULT_ELAPSED: u32 = 30;
    const LONGEST_DEFAULT_INTERVAL: u32 = 60;
    let name = rd.name.as_ref().map(|n| n.span);
    let elapsed = seconds("elapsed", &rd.elapsed, options.elapsed, log)?.unwrap_or(DEFAULT_ELAPSED);
    let interval = match seconds("interval", &rd.interval, options.interval, log)? {
        None => 1,
        Some(0) => (elapsed / 2).clamp(1, LONGEST_DEFAULT_INTERVAL),
        Some(given) => given,
    };
    let warmup = seconds("warmup", &rd.warmup, options.warmup, log)?.unwrap_or(0);
    let pause = seconds("pause", &rd.pause, None, log)?.unwrap_or(0);

    let place = |field: &Opt<u64>, option: Option<u32>| match field {
        Some(written) if option.unwrap_or(0) == 0 => Some(written.span),
        _ => name,
    };
    let mut fail = |code, message: String, help: String, span: Option<Span>| {
        log.push(Diag::new(Severity::Error, code, message, span).help(help));
    };
    let at_elapsed = place(&rd.elapsed, options.elapsed);
    if elapsed / interval < 2 {
        let message = format!("elapsed={elapsed} is too short for interval={interval}");
        fail(
            "elapsed",
            message,
            format!("a run needs two intervals: elapsed={}", interval.saturating_mul(2)),
            at_elapsed,
        );
        return None;
    }
    if elapsed % interval != 0 {
        let message = format!("elapsed={elapsed} is not a multiple of interval={interval}");
        fail("elapsed", message, format!("use elapsed={}", elapsed - elapsed % interval), at_elapsed);
        return None;
    }
    if warmup % interval != 0 {
        let message = format!("warmup={warmup} is not a multiple of interval={interval}");
        let help = format!("use warmup={}", (warmup / interval + 1).saturating_mul(interval));
        fail("warmup", message, help, place(&rd.warmup, options.warmup));
        return None;
    }
    Some(Timing { elapsed, interval, warmup, pause })
}

/// The seconds of one field, an option of the command line first. `None` outside: it is too long.
fn seconds(name: &str, field: &Opt<u64>, option: Option<u32>, log: &mut Log) -> Option<Option<u32>> {
    if let Some(n) = option.filter(|n| *n > 0) {
        return Some(Some(n));
    }
    let Some(written) = field else { return Some(None) };
    let seconds = u32::try_from(written.value).ok();
    if seconds.is_none() {
        log.push(Diag::error("too-long", format!("{name}= is longer than 136 years"), written.span));
    }
    seconds.map(Some)
}
