//! How exactly paced runs meet their rate, how late they are, and what they cost.

use brunt_plan::work::{Arrivals, Control};

use crate::run::{run, share};

/// Measures and prints.
pub fn rates(path: &str, size: u64, lanes: u32) {
    println!("{lanes} lanes, 4 s each; lateness: due to done less the response, medians; the last is controlled max");
    for rate in [1_000.0, 10_000.0, 100_000.0, 9_999_988.0] {
        let done = run(share(path, lanes, size, Control::Paced, Arrivals::Deterministic, rate, 4));
        let seconds = done.length_ns as f64 / 1e9;
        let got = done.read.ops as f64 / seconds;
        let p50 = |h: &brunt_stats::SparseHistogram| h.quantile(0.5, 0, u64::MAX).unwrap_or(0) as f64 / 1e3;
        let (due, response) = (p50(&done.due_to_done), p50(&done.response));
        let cpu = done.cpu_ns / 1e7 / seconds;
        let each = done.cpu_ns / done.read.ops as f64;
        let off = (got / rate - 1.0) * 100.0;
        println!(
            "{rate:7.0}/s: {got:9.1} ({off:+.3} %)  CPU {cpu:5.1} %  ({each:.0} ns per I/O)  late {:6.1} us",
            due - response
        );
    }
}
