//! [`OwnError`] and [`Spread`].

use brunt_stats::{OwnError, Spread};

use crate::v1;

impl From<Spread> for v1::Spread {
    fn from(spread: Spread) -> Self {
        let Spread { n, min_ns, p50_ns, p99_ns, max_ns } = spread;
        Self { n, min_ns, p50_ns, p99_ns, max_ns }
    }
}

impl From<v1::Spread> for Spread {
    fn from(spread: v1::Spread) -> Self {
        let v1::Spread { n, min_ns, p50_ns, p99_ns, max_ns } = spread;
        Self { n, min_ns, p50_ns, p99_ns, max_ns }
    }
}

impl From<OwnError> for v1::OwnError {
    fn from(error: OwnError) -> Self {
        Self {
            clocksource: error.clocksource,
            clock: error.clock.map(Into::into),
            empty_response: error.empty_response.map(Into::into),
            empty_io: error.empty_io.map(Into::into),
            wake: error.wake.map(Into::into),
            timer: error.timer.map(Into::into),
            record: error.record.map(Into::into),
            step_ns: error.step_ns,
        }
    }
}

impl From<v1::OwnError> for OwnError {
    fn from(error: v1::OwnError) -> Self {
        Self {
            clocksource: error.clocksource,
            clock: error.clock.map(Into::into),
            empty_response: error.empty_response.map(Into::into),
            empty_io: error.empty_io.map(Into::into),
            wake: error.wake.map(Into::into),
            timer: error.timer.map(Into::into),
            record: error.record.map(Into::into),
            step_ns: error.step_ns,
        }
    }
}
