//! What a host adds to a measurement, in a line for the log.

use brunt_stats::{OwnError, Spread};

use crate::number::nanoseconds;

/// `host=localhost: what the generator itself adds, …`; what was not measured is not said.
pub(crate) fn line(host: &str, error: &OwnError) -> String {
    let clock = match &error.clocksource {
        Some(name) => format!("reading the clock ({name})"),
        None => "reading the clock".to_owned(),
    };
    let parts = [
        (clock.as_str(), error.clock),
        ("an empty I/O is reported as", error.empty_response),
        ("and takes, from one to the next", error.empty_io),
        ("recording a time", error.record),
        ("waking a thread", error.wake),
        ("a timer is late by", error.timer),
    ];
    let said = parts.into_iter().filter_map(|(what, spread)| Some(format!("{what} {}", numbers(&spread?))));
    let said: Vec<String> = said.collect();
    format!(
        "host={host}: what the generator itself adds, p50 (p99) in ns: {}; a step of the histogram at 39 µs is {}",
        said.join("; "),
        error.step_ns
    )
}

fn numbers(spread: &Spread) -> String {
    let high = match spread.p99() {
        Some(p99_ns) => nanoseconds(p99_ns),
        None => format!("max {}", nanoseconds(spread.max_ns)),
    };
    format!("{} ({high})", nanoseconds(spread.p50_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_measured_is_said() {
        let error = OwnError {
            clocksource: Some("tsc".into()),
            clock: Spread::of((0..100).map(|n| if n < 98 { 27.25 } else { 31.0 })),
            timer: Spread::of([52_000.0, 58_100.4]),
            step_ns: 128,
            ..OwnError::default()
        };
        assert_eq!(
            line("localhost", &error),
            "host=localhost: what the generator itself adds, p50 (p99) in ns: reading the clock (tsc) 27.3 (31.0); \
             a timer is late by 52,000 (max 58,100); a step of the histogram at 39 µs is 128"
        );
    }
}
