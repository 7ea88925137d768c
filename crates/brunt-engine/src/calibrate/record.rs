//! What recording one time costs.

use std::hint::black_box;

use brunt_stats::{Histogram, OpStats, Spread};

use super::REFERENCE_NS;
use crate::clock::now_ns;

/// Times of which one cost is made.
const BATCH: u64 = 256;

/// Recording one time into sums and histogram, over so many batches; the times lie about 39 µs.
pub fn recording(batches: u32) -> Option<Spread> {
    let (mut hist, mut sums) = (Histogram::default(), OpStats::default());
    let mut batch = || {
        let began = now_ns();
        for n in 0..BATCH {
            let ns = black_box(REFERENCE_NS + n * 16);
            sums.record(8192, ns, false);
            hist.record(ns);
        }
        now_ns().saturating_sub(began) as f64 / BATCH as f64
    };
    // The first touches the memory.
    batch();
    let spread = Spread::of((0..batches).map(|_| batch()));
    black_box((hist, sums));
    spread
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn recording_costs_something() {
        let spread = recording(20).unwrap();
        assert!(spread.n == 20 && spread.min_ns > 0.0, "{spread:?}");
    }
}
