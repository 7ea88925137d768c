//! `totals_optional.html`: the sums of everything so far, rewritten after every interval
//! (`docs/vdbench/reports.md` §9.3).

use brunt_event::Interval;
use brunt_stats::Cell;

use crate::context::Context;
use crate::number::fixed;
use crate::page;

/// Name of the file.
pub(crate) const FILE: &str = "totals_optional.html";

const GIGABYTE: f64 = (1u64 << 30) as f64;

/// Sums over all intervals of all runs, warm-up included.
#[derive(Debug, Default)]
pub(crate) struct Overall {
    cell: Cell,
    length_ns: u64,
}

impl Overall {
    /// Adds an interval.
    pub(crate) fn add(&mut self, interval: &Interval) {
        self.cell.merge(&interval.total);
        self.length_ns += interval.length_ns;
    }

    /// The whole file.
    pub(crate) fn text(&self, context: &Context, at_ms: i64, interval: u32) -> String {
        let (read, write, both) = (self.cell.read, self.cell.write, self.cell.both());
        let line = |name: &str, value: String| format!("{name:<24}{value:>12}");
        let seconds = self.length_ns as f64 / 1e9;
        let iops = if seconds > 0.0 { both.ops as f64 / seconds } else { 0.0 };
        let read_pct = if both.ops > 0 { 100.0 * read.ops as f64 / both.ops as f64 } else { 0.0 };
        let gigabytes = |bytes: u64| fixed(bytes as f64 / GIGABYTE, 2);
        let lines = [
            page::head(&context.directory, FILE),
            String::new(),
            "Written anew after each interval.".to_owned(),
            format!("Last reported interval is interval #{interval} on {}", context.clock.long(at_ms)),
            String::new(),
            String::new(),
            "Overall execution totals logical i/o: ".to_owned(),
            line("Total iops:", fixed(iops, 2)),
            line("Total reads+writes:", both.ops.to_string()),
            line("Total gigabytes:", gigabytes(both.bytes)),
            line("Total gigabytes read:", gigabytes(read.bytes)),
            line("Total gigabytes write:", gigabytes(write.bytes)),
            line("Total reads:", read.ops.to_string()),
            line("Total writes:", write.ops.to_string()),
            line("Total readpct:", fixed(read_pct, 2)),
            line("Total I/O or DV errors:", both.errors.to_string()) + &per_gigabyte(both.errors, both.bytes),
            String::new(),
        ];
        lines.join("\n") + "\n"
    }
}

/// Errors per gigabyte; zero has no digit before the point.
fn per_gigabyte(errors: u64, bytes: u64) -> String {
    let text = match bytes {
        0 => fixed(0.0, 12),
        _ => fixed(errors as f64 * GIGABYTE / bytes as f64, 12),
    };
    let text = text.strip_prefix('0').unwrap_or(&text);
    format!(" ({text} errors per GB)")
}
