//! The two layouts of rows of numbers, as tables: the only place that knows widths and decimals.

use brunt_event::Compat;

use crate::figures::Figures;
use crate::number::fixed;

/// Where a column's text comes from.
#[derive(Clone, Copy)]
enum Value {
    /// The interval's number or the label of an average.
    Label,
    /// A whole number.
    Whole(fn(&Figures) -> u64),
    /// A number with decimals.
    Real(usize, fn(&Figures) -> f64),
    /// A share of processor time; the column is left out where hosts do not tell.
    Cpu(fn(&Figures) -> Option<f64>),
}

/// A column: its width, its title in two lines, its text.
#[derive(Clone, Copy)]
struct Column {
    width: usize,
    titles: [&'static str; 2],
    value: Value,
}

const fn column(width: usize, upper: &'static str, lower: &'static str, value: Value) -> Column {
    Column { width, titles: [upper, lower], value }
}

/// Stands for the unit of megabytes, which `-mb` changes.
const MEGABYTE: &str = "1024**2";

const MB: Column = column(8, "MB/sec", MEGABYTE, Value::Real(2, |f| f.mb));
const BYTES: Column = column(7, "bytes", "i/o", Value::Whole(|f| f.bytes));
const READ_PCT: Column = column(6, "read", "pct", Value::Real(2, |f| f.read_pct));
const RESP: Column = column(8, "resp", "time", Value::Real(3, |f| f.resp));
const READ_RESP: Column = column(8, "read", "resp", Value::Real(3, |f| f.read_resp));
const WRITE_RESP: Column = column(8, "write", "resp", Value::Real(3, |f| f.write_resp));
const STDDEV: Column = column(8, "resp", "stddev", Value::Real(3, |f| f.resp_std));
const CPU_USED: Column = column(5, "cpu%", "sys+u", Value::Cpu(|f| f.cpu.map(|c| c.used())));
const CPU_SYS: Column = column(5, "cpu%", "sys", Value::Cpu(|f| f.cpu.map(|c| c.system)));

/// 5.04.07: 13 numbers, 132 characters with the time (`docs/vdbench/reports.md` §4.2).
const COLUMNS_50407: [Column; 14] = [
    column(12, "interval", "", Value::Label),
    column(10, "i/o", "rate", Value::Real(1, |f| f.rate)),
    MB,
    BYTES,
    READ_PCT,
    RESP,
    READ_RESP,
    WRITE_RESP,
    column(8, "read", "max", Value::Real(2, |f| f.read_max)),
    column(8, "write", "max", Value::Real(2, |f| f.write_max)),
    STDDEV,
    column(6, "queue", "depth", Value::Real(1, |f| f.queue)),
    CPU_USED,
    CPU_SYS,
];

/// 5.04.06 and before: 12 numbers, 120 characters with the time (`docs/vdbench/reports.md` §4.5).
const COLUMNS_50406: [Column; 13] = [
    column(10, "interval", "", Value::Label),
    column(10, "i/o", "rate", Value::Real(2, |f| f.rate)),
    MB,
    BYTES,
    READ_PCT,
    RESP,
    READ_RESP,
    WRITE_RESP,
    column(8, "resp", "max", Value::Real(3, Figures::resp_max)),
    STDDEV,
    column(5, "queue", "depth", Value::Real(1, |f| f.queue)),
    CPU_USED,
    CPU_SYS,
];

/// A layout of the report files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// 5.04.07.
    V50407,
    /// 5.04.06 and before.
    V50406,
}

impl From<Compat> for Layout {
    fn from(compat: Compat) -> Self {
        match compat {
            Compat::V50407 => Self::V50407,
            Compat::V50406 => Self::V50406,
        }
    }
}

impl Layout {
    /// Whether it is the older one.
    pub(crate) fn is_old(self) -> bool {
        self == Self::V50406
    }

    /// The words of the banner that scripts read: the third is the version (`docs/vdbench/consumers.md`).
    pub(crate) fn distribution(self) -> &'static str {
        match self {
            Self::V50407 => "vdbench50407 Tue June 05  9:49:29 MDT 2018",
            Self::V50406 => "vdbench50406",
        }
    }

    /// Width of the counts of a histogram.
    pub(crate) fn histogram_count_width(self) -> usize {
        if self.is_old() { 12 } else { 13 }
    }

    fn columns(self) -> &'static [Column] {
        match self {
            Self::V50407 => &COLUMNS_50407,
            Self::V50406 => &COLUMNS_50406,
        }
    }

    /// The two title lines; the first begins with the date (12 characters).
    pub(crate) fn titles(self, date: &str, with_cpu: bool, decimal_mb: bool) -> [String; 2] {
        let line = |start: &str, which: usize| {
            let titles = self.shown(with_cpu).map(|c| pad_left(title(c, which, decimal_mb), c.width));
            format!("{start:<12}{}", joined(titles, with_cpu))
        };
        [line(date, 0), line("", 1)]
    }

    /// A row of numbers after its time (12 characters). Numbers that are too wide make the line longer.
    pub(crate) fn row(self, time: &str, label: &str, figures: &Figures) -> String {
        let with_cpu = figures.cpu.is_some();
        let values = self.shown(with_cpu).map(|c| pad_left(&text(c, label, figures), c.width));
        format!("{time}{}", joined(values, with_cpu))
    }

    fn shown(self, with_cpu: bool) -> impl Iterator<Item = &'static Column> {
        self.columns().iter().filter(move |c| with_cpu || !matches!(c.value, Value::Cpu(_)))
    }
}

/// Columns with a blank between; without processor columns a blank ends the line (`docs/vdbench/reports.md` §4.2).
fn joined(columns: impl Iterator<Item = String>, with_cpu: bool) -> String {
    let mut line = columns.collect::<Vec<_>>().join(" ");
    if !with_cpu {
        line.push(' ');
    }
    line
}

fn title(column: &Column, which: usize, decimal_mb: bool) -> &'static str {
    match column.titles[which] {
        MEGABYTE if decimal_mb => "1000**2",
        title => title,
    }
}

fn text(column: &Column, label: &str, figures: &Figures) -> String {
    match column.value {
        Value::Label => label.to_owned(),
        Value::Whole(of) => of(figures).to_string(),
        Value::Real(decimals, of) => fixed(of(figures), decimals),
        Value::Cpu(of) => of(figures).map(|share| fixed(share, 1)).unwrap_or_default(),
    }
}

/// Right-adjusts; never cuts.
pub(crate) fn pad_left(text: &str, width: usize) -> String {
    format!("{text:>width$}")
}

/// The columns of `skew.html`, in both versions those of the older layout between label and processors
/// (`docs/vdbench/reports.md` §9.1).
fn skew_columns() -> &'static [Column] {
    &COLUMNS_50406[1..11]
}

/// One of the two title lines of a table of `skew.html`, after the name column.
pub(crate) fn skew_title(which: usize, decimal_mb: bool) -> String {
    joined(skew_columns().iter().map(|c| pad_left(title(c, which, decimal_mb), c.width)), false)
}

/// The numbers of a row of `skew.html`.
pub(crate) fn skew_row(figures: &Figures) -> String {
    joined(skew_columns().iter().map(|c| pad_left(&text(c, "", figures), c.width)), false)
}

#[cfg(test)]
mod tests;
