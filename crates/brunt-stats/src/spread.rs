//! How a quantity of nanoseconds is spread, in five numbers, and what a host adds to a measurement.

use serde::{Deserialize, Serialize};

use crate::histogram::{bucket_low, bucket_of};
use crate::timing::Timing;

/// A distribution in five numbers. They have fractions: a time of 27.3 ns comes of a thousand readings in a row.
/// A difference of two times can be negative.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// How many there were.
    pub n: u64,
    /// Smallest.
    pub min_ns: f64,
    /// The middle one.
    pub p50_ns: f64,
    /// 99 of 100 are not larger.
    pub p99_ns: f64,
    /// Largest.
    pub max_ns: f64,
}

/// Of fewer values the 99th percentile is the largest one, or a guess.
const ENOUGH_FOR_P99: u64 = 100;

impl Spread {
    /// The 99th percentile, where there are values enough for one.
    pub fn p99(&self) -> Option<f64> {
        (self.n >= ENOUGH_FOR_P99).then_some(self.p99_ns)
    }

    /// Of these values; `None` without one. Values that are no number are left out.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let at = |quantile: f64| {
            let rank = (quantile * values.len() as f64).ceil() as usize;
            values.get(rank.clamp(1, values.len().max(1)) - 1).copied()
        };
        Some(Self { n: values.len() as u64, min_ns: at(0.0)?, p50_ns: at(0.5)?, p99_ns: at(0.99)?, max_ns: at(1.0)? })
    }

    /// Of times that were recorded; `None` without one. The percentiles are the upper ends of their buckets.
    pub fn of_timing(timing: &Timing) -> Option<Self> {
        let at = |quantile: f64| timing.hist.quantile(quantile, timing.min_ns, timing.max_ns).map(|ns| ns as f64);
        Some(Self {
            n: timing.hist.count(),
            min_ns: timing.min_ns as f64,
            p50_ns: at(0.5)?,
            p99_ns: at(0.99)?,
            max_ns: timing.max_ns as f64,
        })
    }
}

/// What a host and this build add to every measurement, measured when an execution begins. `None`: it could not be
/// measured there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnError {
    /// The kernel's clock source, such as `tsc`.
    pub clocksource: Option<String>,
    /// One reading of the clock.
    pub clock: Option<Spread>,
    /// What is reported as the response time of an I/O that takes no time: `null` through the whole engine.
    pub empty_response: Option<Spread>,
    /// Wall time of such an I/O from one to the next, a mean for each interval.
    pub empty_io: Option<Spread>,
    /// From the call that wakes a sleeping thread until that thread runs.
    pub wake: Option<Spread>,
    /// How late a thread comes that slept until a due time.
    pub timer: Option<Spread>,
    /// Recording one time.
    pub record: Option<Spread>,
    /// Width of the bucket that a time of 39 µs falls into, ns.
    pub step_ns: u64,
}

/// Width of the bucket that a time falls into, ns.
pub fn step_at(ns: u64) -> u64 {
    let bucket = bucket_of(ns);
    bucket_low(bucket + 1) - bucket_low(bucket)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn five_numbers_of_known_values() {
        let spread = Spread::of((1..=200).rev().map(f64::from)).unwrap();
        assert_eq!(spread, Spread { n: 200, min_ns: 1.0, p50_ns: 100.0, p99_ns: 198.0, max_ns: 200.0 });
        assert_eq!(Spread::of([f64::NAN]), None);
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([-3.0]).unwrap().p99_ns, -3.0);
        let of = |n: u32| Spread::of((1..=n).map(f64::from)).unwrap().p99();
        assert_eq!([of(15), of(99), of(100)], [None, None, Some(99.0)]);
    }

    #[test]
    fn recorded_times_give_the_same_within_a_bucket() {
        let mut timing = Timing::default();
        assert_eq!(Spread::of_timing(&timing), None);
        let mut hist = crate::Histogram::default();
        (1..=1000).for_each(|n| hist.record(n));
        (timing.min_ns, timing.max_ns, timing.hist) = (1, 1000, hist.to_sparse());
        let spread = Spread::of_timing(&timing).unwrap();
        assert_eq!((spread.n, spread.min_ns, spread.max_ns), (1000, 1.0, 1000.0));
        assert!((spread.p50_ns - 500.0).abs() < 8.0 && (spread.p99_ns - 990.0).abs() < 8.0, "{spread:?}");
    }

    #[test]
    fn steps_are_those_of_the_histogram() {
        assert_eq!([500, 39_000, 5_000_000].map(step_at), [8, 128, 65_536]);
    }

    proptest! {
        #[test]
        fn they_rise(values in proptest::collection::vec(-1e12..1e12f64, 1..300)) {
            let s = Spread::of(values.iter().copied()).unwrap();
            prop_assert_eq!(s.n, values.len() as u64);
            prop_assert!(s.min_ns <= s.p50_ns && s.p50_ns <= s.p99_ns && s.p99_ns <= s.max_ns);
            prop_assert!(values.contains(&s.p50_ns) && values.contains(&s.p99_ns));
        }
    }
}
