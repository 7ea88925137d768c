//! Pages with the distribution of response times (`docs/vdbench/reports.md` §8).

use crate::context::Context;
use crate::layout::Layout;
use crate::number::{commas, fixed};
use brunt_stats::{SparseHistogram, Times};

/// Name of the file over everything.
pub(crate) const FILE: &str = "histogram.html";

/// Upper bounds in µs when nothing else is asked for.
const DEFAULT_BOUNDS_US: [u64; 26] = [
    20, 40, 60, 80, 100, 200, 400, 600, 800, 1_000, 2_000, 4_000, 6_000, 8_000, 10_000, 20_000, 40_000, 60_000, 80_000,
    100_000, 200_000, 400_000, 600_000, 800_000, 1_000_000, 2_000_000,
];

/// The lines of a run; `None`: times were not recorded for this page.
pub(crate) fn lines(context: &Context, times: Option<&Times>) -> Vec<String> {
    let Some(times) = times else { return vec!["Response times were not recorded for this report.".to_owned()] };
    let (read, write) = (&times.read.service.hist, &times.write.service.hist);
    let blocks: Vec<(&str, SparseHistogram)> = match (read.is_empty(), write.is_empty()) {
        (true, true) => return vec!["No statistics generated for this run.".to_owned()],
        (false, true) => vec![("Only reads done for this workload:", read.clone())],
        (true, false) => vec![("Only writes done for this workload:", write.clone())],
        (false, false) => {
            let mut both = read.clone();
            both.merge(write);
            vec![("Reads and writes:", both), ("Reads:", read.clone()), ("Writes:", write.clone())]
        }
    };
    blocks.iter().flat_map(|(title, histogram)| block(context, title, histogram)).collect()
}

fn block(context: &Context, title: &str, histogram: &SparseHistogram) -> Vec<String> {
    let planned = &context.planned;
    let bounds = match planned.histogram_bounds_us.as_slice() {
        [] => &DEFAULT_BOUNDS_US[..],
        given => given,
    };
    let bounds_ns: Vec<u64> = bounds.iter().map(|us| us.saturating_mul(1_000)).collect();
    let counts = histogram.classes(&bounds_ns);
    let shown = if planned.histogram_suppress { used(&counts) } else { 0..counts.len() };
    let width = context.layout.histogram_count_width() - 2;
    let mut lines = vec![title.to_owned()];
    lines.push(format!(
        " {:>8} <  {:>10}   {:>width$} {:>8} {:>8}  '+': Individual%; '+-': Cumulative%",
        "min(ms)", "max(ms)", "count", "%%", "cum%%"
    ));
    lines.push(String::new());
    let total: u64 = counts.iter().sum();
    let mut below: u64 = counts[..shown.start].iter().sum();
    for class in shown {
        let (low, high) = (class.checked_sub(1).map(|c| bounds[c]), bounds.get(class).copied());
        lines.push(row(context.layout, bound(low.or(Some(0))), bound(high), counts[class], below, total));
        below += counts[class];
    }
    lines.push(String::new());
    lines
}

/// From one empty class before the first used one to one after the last.
fn used(counts: &[u64]) -> std::ops::Range<usize> {
    let first = counts.iter().position(|count| *count > 0).unwrap_or(0);
    let last = counts.iter().rposition(|count| *count > 0).unwrap_or(0);
    first.saturating_sub(1)..(last + 2).min(counts.len())
}

/// A bound in ms, at most 8 characters.
fn bound(us: Option<u64>) -> String {
    us.map_or_else(|| "max".to_owned(), |us| fixed(us as f64 / 1_000.0, 3).chars().take(8).collect())
}

fn row(layout: Layout, low: String, high: String, count: u64, below: u64, total: u64) -> String {
    let percent = |part: u64| fixed(100.0 * part as f64 / total as f64, 4);
    let marks = |part: u64| (u128::from(part) * 50 / u128::from(total.max(1))) as usize;
    let bar = "+".repeat(marks(count)) + &"-".repeat(marks(below));
    let width = layout.histogram_count_width();
    let (count, share, sum) = (commas(count), percent(count), percent(below + count));
    format!(" {low:>8} < {high:>11} {count:>width$} {share:>8} {sum:>8}  {bar}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_of_the_reference() {
        // 5.04.07 case 01, 5.04.05 case 01
        assert_eq!(
            row(Layout::V50407, bound(Some(400)), bound(Some(600)), 1, 304, 307),
            "    0.400 <       0.600             1   0.3257  99.3485  -------------------------------------------------"
        );
        assert_eq!(
            row(Layout::V50407, bound(Some(2_000_000)), bound(None), 0, 307, 307),
            " 2000.000 <         max             0   0.0000 100.0000  --------------------------------------------------"
        );
        assert_eq!(
            row(Layout::V50406, bound(Some(20)), bound(Some(40)), 8, 347, 359),
            "    0.020 <       0.040            8   2.2284  98.8858  +------------------------------------------------"
        );
    }

    #[test]
    fn only_the_used_classes_and_one_beside() {
        assert_eq!(used(&[5, 1, 0, 0]), 0..3);
        assert_eq!(used(&[0, 0, 3, 0, 1, 0, 0]), 1..6);
        assert_eq!(used(&[0, 0, 0, 3]), 2..4);
    }

    #[test]
    fn long_bounds_are_cut() {
        assert_eq!(bound(Some(123_456_789_000)), "12345678");
    }
}
