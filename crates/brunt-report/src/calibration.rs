//! The page of `brunt calibrate`: tables of five numbers each, and what there is to say about them.

mod versus;

use brunt_stats::Spread;

use crate::number::{commas, nanoseconds};

pub use versus::{Measure, Tool, Versus};

/// A page.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// Lines at the head: what was measured, and where.
    pub head: Vec<String>,
    /// Tables, in order.
    pub tables: Vec<Table>,
    /// Reasons to doubt the numbers.
    pub doubts: Vec<String>,
}

/// A table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// Its title.
    pub title: String,
    /// Rows, in order.
    pub rows: Vec<Row>,
    /// Lines below it.
    pub notes: Vec<String>,
}

/// A row.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What was measured.
    pub name: String,
    /// The numbers, or why there are none.
    pub value: Result<Spread, String>,
}

impl Table {
    /// A table without rows.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// Adds a row; `missing` says why there are no numbers.
    pub fn add(&mut self, name: impl Into<String>, value: Option<Spread>, missing: &str) {
        self.rows.push(Row { name: name.into(), value: value.ok_or_else(|| missing.to_owned()) });
    }

    fn text(&self, out: &mut String) {
        if !self.rows.is_empty() {
            let heads = ["n", "min", "p50", "p99", "max"].map(|head| format!("{head:>WIDTH$}")).concat();
            out.push_str(&format!("\n{:<NAME$}{heads}\n", self.title));
        } else {
            out.push_str(&format!("\n{}\n", self.title));
        }
        for row in &self.rows {
            let name = format!("  {}", row.name);
            match &row.value {
                Ok(s) => {
                    let p99 = s.p99().map_or_else(|| "-".to_owned(), nanoseconds);
                    let times = [nanoseconds(s.min_ns), nanoseconds(s.p50_ns), p99, nanoseconds(s.max_ns)];
                    let cells = times.map(|cell| format!("{cell:>WIDTH$}")).concat();
                    out.push_str(&format!("{name:<NAME$}{:>WIDTH$}{cells}\n", commas(s.n)));
                }
                Err(why) => out.push_str(&format!("{name:<NAME$}  not measured: {why}\n")),
            }
        }
        self.notes.iter().for_each(|note| out.push_str(&format!("  {note}\n")));
    }
}

/// Width of the first column.
const NAME: usize = 46;
/// Width of the others.
const WIDTH: usize = 11;

impl Page {
    /// The page as text.
    pub fn text(&self) -> String {
        let mut out = String::new();
        self.head.iter().for_each(|line| out.push_str(&format!("{line}\n")));
        self.tables.iter().for_each(|table| table.text(&mut out));
        if !self.doubts.is_empty() {
            out.push_str("\nDoubts\n");
            self.doubts.iter().for_each(|doubt| out.push_str(&format!("  {doubt}\n")));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_made_up_numbers() {
        let mut clock = Table::new("Clock");
        clock.add("a reading (tsc)", Spread::of([27.1, 27.4, 31.25, 900.0]), "");
        clock.add("steps between readings", Spread::of((0..100).map(f64::from)), "");
        let mut path = Table::new("Paths");
        path.add("sync, less the bare loop", Spread::of([-12.0, 24.0, 1_234.4]), "");
        path.add("uring, less the bare loop", None, "the system forbids io_uring (EPERM)");
        path.notes.push("Differences of pairs.".into());
        let page = Page {
            head: vec!["Brunt 0.1.0 on 4 CPUs; nanoseconds".into()],
            tables: vec![clock, path, Table { notes: vec!["Nothing.".into()], ..Table::new("Idle states") }],
            doubts: vec!["the load is 3".into()],
        };
        insta::assert_snapshot!(page.text(), @r"
        Brunt 0.1.0 on 4 CPUs; nanoseconds

        Clock                                                   n        min        p50        p99        max
          a reading (tsc)                                       4       27.1       27.4          -      900.0
          steps between readings                              100        0.0       49.0       98.0       99.0

        Paths                                                   n        min        p50        p99        max
          sync, less the bare loop                              3      -12.0       24.0          -      1,234
          uring, less the bare loop                     not measured: the system forbids io_uring (EPERM)
          Differences of pairs.

        Idle states
          Nothing.

        Doubts
          the load is 3
        ");
    }

    #[test]
    fn without_doubts_none_are_mentioned() {
        assert_eq!(Page { head: vec!["a".into()], ..Page::default() }.text(), "a\n");
    }
}
