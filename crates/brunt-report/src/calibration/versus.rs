//! Several tools on one LUN, in turn: what each says, and how far it is from the first.

use crate::number::{commas, fixed};

/// One round of a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Measure {
    /// I/Os per second.
    pub iops: f64,
    /// Mean response time, ns.
    pub mean_ns: Option<f64>,
    /// Median response time, ns.
    pub p50_ns: Option<f64>,
    /// CPU time of all its processes per I/O, ns.
    pub cpu_ns: Option<f64>,
}

/// A tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its rounds; the n-th of every tool ran next to each other.
    pub rounds: Vec<Measure>,
}

/// The same work for all tools.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Versus {
    /// What the work was.
    pub title: String,
    /// The tools; the first is the one that others are compared with.
    pub tools: Vec<Tool>,
}

/// What is shown of a round, its unit's size in its own units, and its decimals.
type Column = (&'static str, fn(&Measure) -> Option<f64>, f64, usize);

const COLUMNS: [Column; 4] = [
    ("I/Os per s", |m| Some(m.iops), 1.0, 0),
    ("mean, µs", |m| m.mean_ns, 1e3, 3),
    ("p50, µs", |m| m.p50_ns, 1e3, 3),
    ("CPU per I/O, ns", |m| m.cpu_ns, 1.0, 0),
];

const NAME: usize = 18;
const WIDTH: usize = 32;

impl Versus {
    /// As text: the medians of all rounds with their smallest and largest, then the differences from the first tool.
    pub fn text(&self) -> String {
        let mut out = self.heading(&self.title);
        for tool in &self.tools {
            let cell = |column: &Column| tool.rounds.iter().map(column.1).collect::<Option<Vec<f64>>>();
            out.push_str(&row(&tool.name, cell, false));
        }
        let Some((first, others)) = self.tools.split_first().filter(|(_, others)| !others.is_empty()) else {
            return out;
        };
        out.push_str(&self.heading(&format!("less {}", first.name)));
        for tool in others {
            let cell = |column: &Column| {
                let pairs = tool.rounds.iter().zip(&first.rounds);
                pairs.map(|(a, b)| Some(column.1(a)? - column.1(b)?)).collect::<Option<Vec<f64>>>()
            };
            out.push_str(&row(&tool.name, cell, true));
        }
        out
    }

    fn heading(&self, title: &str) -> String {
        let heads = COLUMNS.map(|(head, ..)| format!("{head:>WIDTH$}")).concat();
        format!("\n{title}\n{:<NAME$}{heads}\n", "")
    }
}

/// A row; a cell is `-` where a round has no value.
fn row(name: &str, cell: impl Fn(&Column) -> Option<Vec<f64>>, signed: bool) -> String {
    let text = |column: &Column| {
        let values = cell(column).filter(|values| !values.is_empty());
        let text = values.map_or_else(|| "-".to_owned(), |values| spread(values, column.2, column.3, signed));
        format!("{text:>WIDTH$}")
    };
    format!("  {name:<width$}{}\n", COLUMNS.iter().map(text).collect::<String>(), width = NAME - 2)
}

/// `1.900 [1.850..2.010]`.
fn spread(mut values: Vec<f64>, unit: f64, decimals: usize, signed: bool) -> String {
    values.sort_by(f64::total_cmp);
    let number = |value: f64| {
        let value = value / unit;
        let text = match decimals {
            0 => commas(value.abs().round() as u64),
            _ => fixed(value.abs(), decimals),
        };
        // What rounds to zero has no sign.
        let zero = !text.bytes().any(|digit| (b'1'..=b'9').contains(&digit));
        let sign = match (value < 0.0, signed) {
            _ if zero => "",
            (true, _) => "-",
            (false, true) => "+",
            (false, false) => "",
        };
        format!("{sign}{text}")
    };
    let at = |place: usize| values.get(place).map_or_else(String::new, |value| number(*value));
    format!("{} [{}..{}]", at((values.len() - 1) / 2), at(0), at(values.len() - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(iops: f64, mean_ns: f64, p50_ns: Option<f64>, cpu_ns: f64) -> Measure {
        Measure { iops, mean_ns: Some(mean_ns), p50_ns, cpu_ns: Some(cpu_ns) }
    }

    #[test]
    fn made_up_tools_side_by_side() {
        let tool = |name: &str, rounds: &[Measure]| Tool { name: name.into(), rounds: rounds.to_vec() };
        let brunt = [
            measure(400_000.0, 2_100.0, Some(1_900.0), 2_100.0),
            measure(410_000.0, 2_000.0, Some(1_850.0), 2_050.0),
            measure(390_000.0, 2_300.0, Some(1_910.0), 2_200.0),
        ];
        let vdbench = [
            measure(300_000.0, 2_000.0, None, 3_100.0),
            measure(310_000.0, 3_000.0, None, 3_000.0),
            measure(290_000.0, 2_300.0, None, 3_250.0),
        ];
        let fio = [Measure { iops: 400_000.4, ..Measure::default() }];
        let tools = vec![tool("brunt", &brunt), tool("vdbench", &vdbench), tool("fio psync", &fio)];
        let text = Versus { title: "threads=1, 8192 bytes, random reads of /dev/x".into(), tools }.text();
        insta::assert_snapshot!(text, @r"
        threads=1, 8192 bytes, random reads of /dev/x
                                                I/Os per s                        mean, µs                         p50, µs                 CPU per I/O, ns
          brunt                 400,000 [390,000..410,000]            2.100 [2.000..2.300]            1.900 [1.850..1.910]            2,100 [2,050..2,200]
          vdbench               300,000 [290,000..310,000]            2.300 [2.000..3.000]                               -            3,100 [3,000..3,250]
          fio psync             400,000 [400,000..400,000]                               -                               -                               -

        less brunt
                                                I/Os per s                        mean, µs                         p50, µs                 CPU per I/O, ns
          vdbench            -100,000 [-100,000..-100,000]          0.000 [-0.100..+1.000]                               -           +1,000 [+950..+1,050]
          fio psync                               0 [0..0]                               -                               -                               -
        ");
    }

    #[test]
    fn one_tool_is_compared_with_nobody() {
        let tools = vec![Tool { name: "brunt".into(), rounds: vec![measure(1.0, 1.0, None, 1.0)] }];
        let text = Versus { title: "t".into(), tools }.text();
        assert!(!text.contains("less") && text.contains("0.001 [0.001..0.001]"), "{text}");
    }
}
