//! `flatfile.html`: a row per interval and per average, for programs (`docs/vdbench/reports.md` §7).

use brunt_event::RunStarted;

use crate::context::Context;
use crate::figures::{CpuShares, Figures};
use crate::layout::Layout;
use crate::number::{fixed, trimmed};

/// What a row is made of.
pub(crate) struct Row<'a> {
    pub run: &'a RunStarted,
    /// The interval's number, or the label of an average.
    pub label: &'a str,
    pub average: bool,
    pub figures: &'a Figures,
}

/// A field.
enum Field {
    Text(String),
    Whole(u64),
    Real(f64),
    Missing,
}

impl From<Option<f64>> for Field {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::Missing, Self::Real)
    }
}

/// A column: its name, its meaning, whether 5.04.07 added it, its field.
struct Column {
    name: &'static str,
    meaning: &'static str,
    added: bool,
    field: fn(&Row) -> Field,
}

const fn column(name: &'static str, meaning: &'static str, field: fn(&Row) -> Field) -> Column {
    Column { name, meaning, added: false, field }
}

const fn added(name: &'static str, meaning: &'static str, field: fn(&Row) -> Field) -> Column {
    Column { name, meaning, added: true, field }
}

const COLUMNS: [Column; 32] = [
    column("Run", "Name of the run", |r| Field::Text(r.run.plan.name.clone())),
    column("Interval", "Number of the interval, or avg_A-B", interval),
    column("reqrate", "Rate asked for; 9999988 for max, 9999977 for a curve's max", |r| {
        Field::Real(r.run.requested_rate)
    }),
    column("rate", "I/Os per second", |r| Field::Real(r.figures.rate)),
    column("MB/sec", "Megabytes per second", |r| Field::Real(r.figures.mb)),
    column("bytes/io", "Average size of an I/O in bytes", |r| Field::Whole(r.figures.bytes)),
    column("read%", "Percent reads", |r| Field::Real(r.figures.read_pct)),
    column("resp", "Response time in milliseconds", |r| Field::Real(r.figures.resp)),
    column("read_resp", "Response time of reads", |r| Field::Real(r.figures.read_resp)),
    column("write_resp", "Response time of writes", |r| Field::Real(r.figures.write_resp)),
    column("resp_max", "Largest response time", |r| Field::Real(r.figures.resp_max())),
    added("read_max", "Largest response time of reads", |r| Field::Real(r.figures.read_max)),
    added("write_max", "Largest response time of writes", |r| Field::Real(r.figures.write_max)),
    column("resp_std", "Standard deviation of response times", |r| Field::Real(r.figures.resp_std)),
    added("read_std", "Standard deviation of reads", |r| Field::Real(r.figures.read_std)),
    added("write_std", "Standard deviation of writes", |r| Field::Real(r.figures.write_std)),
    column("xfersize", "Transfer size asked for, the first of a distribution", |r| {
        r.run.requested.xfersize.map_or(Field::Missing, Field::Whole)
    }),
    column("threads", "Threads per SD asked for", threads),
    column("rdpct", "Percent reads asked for", |r| r.run.requested.rdpct.into()),
    column("rhpct", "Percent read hits asked for", |r| r.run.requested.rhpct.into()),
    column("whpct", "Percent write hits asked for", |r| r.run.requested.whpct.into()),
    column("seekpct", "100 random, 0 sequential, asked for", |r| r.run.requested.seekpct.into()),
    column("lunsize", "Gigabytes (1024**3) of all SDs of the run", |r| {
        Field::Real(r.run.requested.lun_bytes as f64 / (1u64 << 30) as f64)
    }),
    column("version", "Not used", |_| Field::Missing),
    column("compratio", "Compression ratio asked for", |r| r.run.requested.compratio.into()),
    column("dedupratio", "Deduplication ratio asked for", |_| Field::Missing),
    column("queue_depth", "Outstanding I/Os on average", |r| Field::Real(r.figures.queue)),
    column("cpu_used", "Percent processor time, user and system", |r| cpu(r, CpuShares::used)),
    column("cpu_user", "Percent processor time, user", |r| cpu(r, |c| c.user)),
    column("cpu_kernel", "Percent processor time, system", |r| cpu(r, |c| c.system)),
    column("cpu_wait", "Percent processor time, waiting for I/O", |r| cpu(r, |c| c.wait)),
    column("cpu_idle", "Percent processor time, idle", |r| cpu(r, |c| c.idle)),
];

fn interval(row: &Row) -> Field {
    // The reference writes a second blank before the label of an average.
    Field::Text(if row.average { format!(" {}", row.label) } else { row.label.to_owned() })
}

/// A whole number, but real where it comes from a loop, which shows in the older layout.
fn threads(row: &Row) -> Field {
    match row.run.requested.threads {
        None => Field::Missing,
        Some(threads) if threads < 0.0 || row.run.plan.loops.iter().any(|l| l.starts_with("threads=")) => {
            Field::Real(threads)
        }
        Some(threads) => Field::Whole(threads as u64),
    }
}

fn cpu(row: &Row, share: fn(&CpuShares) -> f64) -> Field {
    row.figures.cpu.as_ref().map(share).into()
}

fn columns(layout: Layout) -> impl Iterator<Item = &'static Column> {
    COLUMNS.iter().filter(move |c| !c.added || !layout.is_old())
}

/// What stands before the first row: an explanation in lines that begin with `*`, and the names of the columns.
pub(crate) fn intro(context: &Context) -> Vec<String> {
    let mut lines = ["*", "* One line for each interval and each average, fields separated by blanks.", "*"]
        .map(str::to_owned)
        .to_vec();
    lines.extend(columns(context.layout).map(|c| format!("* {:<16}: {}", c.name, c.meaning)));
    lines.push(format!("* {:<16}: {}", "'n/a'", "not known, or not the same for all workloads"));
    lines.push("* ".to_owned());
    lines.push(titles(context.layout));
    lines
}

fn titles(layout: Layout) -> String {
    let width = if layout.is_old() { 10 } else { 0 };
    let names: String = columns(layout).map(|c| format!("{:>width$} ", c.name)).collect();
    format!("{:>12} {:>23} {names}", "tod", "timestamp")
}

/// A row.
pub(crate) fn line(context: &Context, at_ms: i64, row: &Row) -> String {
    let (tod, stamp) = (context.clock.tod(at_ms), context.clock.stamp(at_ms));
    let fields: String = columns(context.layout).map(|c| text(context.layout, (c.field)(row)) + " ").collect();
    format!("{tod} {stamp:>23} {fields}")
}

fn text(layout: Layout, field: Field) -> String {
    if layout.is_old() {
        return match field {
            Field::Text(text) => format!("{:>10}", text.trim_start()),
            Field::Whole(number) => format!("{number:>10}"),
            Field::Real(number) => format!("{:>10}", fixed(number, 4)),
            Field::Missing => format!("{:>10}", "n/a"),
        };
    }
    match field {
        Field::Text(text) => text,
        Field::Whole(number) => number.to_string(),
        Field::Real(number) => trimmed(number, 4),
        Field::Missing => "n/a".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_differ_in_four_columns() {
        assert_eq!(titles(Layout::V50407).split_whitespace().count(), 34);
        assert_eq!(titles(Layout::V50406).split_whitespace().count(), 30);
    }

    #[test]
    fn titles_are_those_of_the_reference() {
        assert_eq!(
            titles(Layout::V50407),
            "         tod               timestamp Run Interval reqrate rate MB/sec bytes/io read% resp read_resp write_resp \
             resp_max read_max write_max resp_std read_std write_std xfersize threads rdpct rhpct whpct seekpct lunsize \
             version compratio dedupratio queue_depth cpu_used cpu_user cpu_kernel cpu_wait cpu_idle "
        );
    }

    #[test]
    fn fields_are_padded_in_the_older_layout_only() {
        assert_eq!(text(Layout::V50407, Field::Real(102.333_33)), "102.3333");
        assert_eq!(text(Layout::V50406, Field::Real(100.0)), "  100.0000");
        assert_eq!(text(Layout::V50406, Field::Missing), "       n/a");
        assert_eq!(text(Layout::V50406, Field::Text(" avg_2-4".into())), "   avg_2-4");
        assert_eq!(text(Layout::V50407, Field::Text(" avg_2-4".into())), " avg_2-4");
    }
}
