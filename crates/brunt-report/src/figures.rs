//! The numbers of a row, computed once from sums (`docs/vdbench/reports.md` §4.6).

use brunt_stats::{CpuTicks, OpStats};

use crate::tally::Tally;

const NS_PER_SECOND: f64 = 1e9;
const NS_PER_MS: f64 = 1e6;

/// Shares of processor time in percent. All 0 where no tick went by, as all numbers without I/O.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CpuShares {
    pub user: f64,
    pub system: f64,
    pub wait: f64,
    pub idle: f64,
}

impl CpuShares {
    /// User and system together.
    pub(crate) fn used(&self) -> f64 {
        self.user + self.system
    }

    fn of(ticks: &CpuTicks) -> Self {
        let all = (ticks.user + ticks.nice + ticks.system + ticks.idle + ticks.iowait) as f64;
        let share = |part: u64| ratio(100.0 * part as f64, all);
        Self {
            user: share(ticks.user),
            system: share(ticks.system),
            wait: share(ticks.iowait),
            idle: share(ticks.idle),
        }
    }
}

/// The numbers of a row. Times are milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Figures {
    /// I/Os per second.
    pub rate: f64,
    /// Megabytes per second.
    pub mb: f64,
    /// Average transfer size in bytes.
    pub bytes: u64,
    /// Percent reads.
    pub read_pct: f64,
    pub resp: f64,
    pub read_resp: f64,
    pub write_resp: f64,
    pub read_max: f64,
    pub write_max: f64,
    pub resp_std: f64,
    pub read_std: f64,
    pub write_std: f64,
    /// Outstanding I/Os on average.
    pub queue: f64,
    /// `None` where hosts do not tell.
    pub cpu: Option<CpuShares>,
}

impl Figures {
    /// Of what was measured.
    pub(crate) fn of(tally: &Tally, decimal_mb: bool) -> Self {
        let (read, write, both) = (&tally.cell.read, &tally.cell.write, tally.cell.both());
        let seconds = tally.length_ns as f64 / NS_PER_SECOND;
        let megabyte = if decimal_mb { 1_000_000.0 } else { 1_048_576.0 };
        Self {
            rate: ratio(both.ops as f64, seconds),
            mb: ratio(both.bytes as f64 / megabyte, seconds),
            bytes: both.bytes.checked_div(both.ops).unwrap_or(0),
            read_pct: ratio(100.0 * read.ops as f64, both.ops as f64),
            resp: mean_ms(&both),
            read_resp: mean_ms(read),
            write_resp: mean_ms(write),
            read_max: read.max_ns as f64 / NS_PER_MS,
            write_max: write.max_ns as f64 / NS_PER_MS,
            resp_std: deviation_ms(&both),
            read_std: deviation_ms(read),
            write_std: deviation_ms(write),
            queue: ratio(tally.cell.busy_ns as f64, tally.length_ns as f64),
            cpu: tally.cpu.as_ref().map(CpuShares::of),
        }
    }

    /// The larger of both maxima.
    pub(crate) fn resp_max(&self) -> f64 {
        self.read_max.max(self.write_max)
    }
}

/// `part / whole`, 0 without a whole.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn mean_ms(stats: &OpStats) -> f64 {
    ratio(stats.sum_ns as f64 / NS_PER_MS, stats.ops as f64)
}

/// The sample standard deviation: the root of (nΣx² − (Σx)²) / (n(n−1)).
fn deviation_ms(stats: &OpStats) -> f64 {
    if stats.ops < 2 {
        return 0.0;
    }
    let n = u128::from(stats.ops);
    let square = u128::from(stats.sum_ns) * u128::from(stats.sum_ns);
    let spread = match n.checked_mul(stats.sum_sq_ns) {
        Some(product) => product.saturating_sub(square) as f64,
        None => (n as f64 * stats.sum_sq_ns as f64 - square as f64).max(0.0),
    };
    (spread / (n as f64 * (n - 1) as f64)).sqrt() / NS_PER_MS
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_stats::Cell;
    use proptest::prelude::*;

    fn stats(times_ns: &[u64]) -> OpStats {
        let mut stats = OpStats::default();
        times_ns.iter().for_each(|ns| stats.record(4096, *ns, false));
        stats
    }

    #[test]
    fn deviation_is_of_the_sample() {
        // 2, 4, 4, 4, 5, 5, 7, 9 ms: the sum of squared differences is 32, over 7.
        let times = [2, 4, 4, 4, 5, 5, 7, 9].map(|ms| ms * 1_000_000);
        let expected = (32.0f64 / 7.0).sqrt();
        assert!((deviation_ms(&stats(&times)) - expected).abs() < 1e-12);
        assert_eq!(deviation_ms(&stats(&[5_000_000])), 0.0);
        assert_eq!(deviation_ms(&stats(&[39_000; 100])), 0.0);
    }

    #[test]
    fn sums_beyond_128_bits_do_not_panic() {
        let huge = OpStats { ops: u64::MAX, sum_ns: u64::MAX, sum_sq_ns: u128::MAX, ..OpStats::default() };
        assert!(deviation_ms(&huge).is_finite());
    }

    #[test]
    fn rates_use_the_measured_length() {
        let cell = Cell { read: stats(&[1_000_000; 100]), busy_ns: 500_000_000, ..Cell::default() };
        let figures = Figures::of(&Tally { cell, length_ns: 2_000_000_000, cpu: None }, false);
        assert_eq!((figures.rate, figures.bytes, figures.read_pct), (50.0, 4096, 100.0));
        assert_eq!((figures.resp, figures.queue), (1.0, 0.25));
        assert_eq!(figures.mb, 50.0 * 4096.0 / 1_048_576.0);
    }

    #[test]
    fn steal_is_left_out_and_nice_only_divides() {
        let ticks = CpuTicks { user: 20, nice: 10, system: 30, idle: 35, iowait: 5, steal: 900 };
        let shares = CpuShares::of(&ticks);
        assert_eq!((shares.user, shares.system, shares.used()), (20.0, 30.0, 50.0));
        assert_eq!((shares.wait, shares.idle), (5.0, 35.0));
    }

    proptest! {
        #[test]
        fn both_lies_between_reads_and_writes(
            reads in prop::collection::vec(1u64..1 << 32, 1..50),
            writes in prop::collection::vec(1u64..1 << 32, 1..50),
        ) {
            let cell = Cell { read: stats(&reads), write: stats(&writes), busy_ns: 0 };
            let figures = Figures::of(&Tally { cell, length_ns: 1_000_000_000, cpu: None }, false);
            let (low, high) = (figures.read_resp.min(figures.write_resp), figures.read_resp.max(figures.write_resp));
            prop_assert!(figures.resp >= low - 1e-9 && figures.resp <= high + 1e-9);
            prop_assert!(figures.resp_max() >= figures.resp - 1e-9);
        }
    }
}
