//! Histograms, counters, interval samples, merging and percentiles.
//!
//! Everything merges by addition, so the order of merging never shows in a result. Times are
//! nanoseconds, sizes bytes.

mod flat;
pub mod gather;
pub mod histogram;
pub mod packed;
pub mod sample;
pub mod spread;
pub mod timing;
mod wide;

pub use gather::TimesSum;
pub use histogram::{Histogram, SparseHistogram};
pub use sample::{Cell, CpuTicks, IntervalSample, OpStats, PairSample, PairTimes};
pub use spread::{OwnError, Spread};
pub use timing::{OpTimes, QUANTILES, Summary, Times, Timing};
