//! Columns for people: as wide as what is in them, numbers to the right.

use std::fmt::Write;

/// Whether a column begins or ends at the same place in all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A table with a title line for its columns.
pub struct Table {
    sides: Vec<Side>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub fn new(columns: &[(&str, Side)]) -> Self {
        Self {
            sides: columns.iter().map(|(_, side)| *side).collect(),
            rows: vec![columns.iter().map(|(title, _)| (*title).to_owned()).collect()],
        }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The text, two blanks before and between columns. A column in which nothing stands is left out.
    pub fn text(&self) -> String {
        let width = |n: usize| self.rows.iter().filter_map(|r| r.get(n)).map(|c| c.chars().count()).max().unwrap_or(0);
        let empty = |n: usize| self.rows.iter().skip(1).filter_map(|r| r.get(n)).all(String::is_empty);
        let columns: Vec<(usize, Side, usize)> =
            self.sides.iter().enumerate().filter(|(n, _)| !empty(*n)).map(|(n, side)| (n, *side, width(n))).collect();
        let mut out = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (n, side, width) in &columns {
                let cell = row.get(*n).map_or("", String::as_str);
                // Writing to a string cannot fail.
                let _ = match side {
                    Side::Left => write!(line, "  {cell:<width$}"),
                    Side::Right => write!(line, "  {cell:>width$}"),
                };
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_needed() {
        let mut table = Table::new(&[("sd", Side::Left), ("size", Side::Right), ("none", Side::Left)]);
        table.row(vec!["longer".into(), "1".into(), String::new()]);
        table.row(vec!["a".into(), "1,000,000".into(), String::new()]);
        assert_eq!(table.text(), "  sd           size\n  longer          1\n  a       1,000,000\n");
    }
}
