//! The words of a run: its loop values as printed behind `For loops:`.

use brunt_parm::ast::LoopKind;

use crate::plan::{LoopValue, Rate, Run};

impl Run {
    /// The loop values as `name=value`, in nesting order, the rate last when it is a loop; empty for `None`
    /// (`docs/vdbench/reports.md` §5).
    pub fn loop_texts(&self) -> Vec<String> {
        let mut texts: Vec<String> = self.loops.iter().map(loop_text).collect();
        if self.rate_is_loop {
            texts.push(format!("iorate={}", rate_text(&self.rate)));
        }
        texts
    }

    /// Whether a run without a rate of its own (`max`, the maximum run of a curve) is paced all the same, because
    /// some workload has a skew, a priority or a rate (`docs/vdbench/raw.md` §8.1).
    pub fn controlled(&self) -> bool {
        matches!(self.rate, Rate::Max | Rate::CurveMax)
            && self.workloads.iter().any(|w| w.skew_given || w.priority.is_some() || w.iorate.is_some())
    }
}

fn loop_text(value: &LoopValue) -> String {
    let name = loop_name(value.kind);
    let number = if value.kind == LoopKind::Fwdrate { whole } else { number };
    match &value.word {
        Some(word) => format!("{name}={word}"),
        None if value.percent || value.value < 0.0 => format!("{name}={}%", number(value.value.abs())),
        None => format!("{name}={}", number(value.value)),
    }
}

fn loop_name(kind: LoopKind) -> &'static str {
    match kind {
        LoopKind::Xfersize => "xfersize",
        LoopKind::Threads => "threads",
        LoopKind::Rdpct => "rdpct",
        LoopKind::Rhpct => "rhpct",
        LoopKind::Whpct => "whpct",
        LoopKind::Seekpct => "seekpct",
        LoopKind::Hitarea => "hitarea",
        LoopKind::Compratio => "comp",
        LoopKind::Depth => "depth",
        LoopKind::Width => "width",
        LoopKind::Files => "files",
        LoopKind::Sizes => "sizes",
        LoopKind::Totalsize => "totalsize",
        LoopKind::Wss => "wss",
        LoopKind::Operation => "operation",
        LoopKind::Fwdrate => "fwdrate",
    }
}

fn rate_text(rate: &Rate) -> String {
    match rate {
        Rate::Fixed(n) => whole(*n),
        Rate::Max => "max".to_owned(),
        Rate::CurveMax => "curve".to_owned(),
        Rate::CurvePoint { percent, .. } | Rate::PercentOfPrevious(percent) => format!("{}%", number(*percent)),
        Rate::Steps(_) => "variable".to_owned(),
    }
}

/// A rate: a whole number without a unit (`docs/vdbench/raw.md` §7.1, `filesystem.md` §3.2).
fn whole(n: f64) -> String {
    format!("{:.0}", n.trunc())
}

/// A number as Vdbench prints loop values: whole and without its fraction below 1024, else with the largest of k, m, g,
/// t, p and three decimals, of which `.000` is dropped.
pub(crate) fn number(n: f64) -> String {
    const UNITS: [(f64, char); 5] = [
        (1_125_899_906_842_624.0, 'p'),
        (1_099_511_627_776.0, 't'),
        (1_073_741_824.0, 'g'),
        (1_048_576.0, 'm'),
        (1024.0, 'k'),
    ];
    match UNITS.iter().find(|(unit, _)| n >= *unit) {
        None => format!("{:.0}", n.trunc()),
        Some((unit, letter)) => {
            let text = format!("{:.3}", n / unit);
            format!("{}{letter}", text.strip_suffix(".000").unwrap_or(&text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_use_binary_suffixes_and_drop_zero_decimals() {
        let texts: Vec<String> =
            [0.0, 83.94, 512.0, 1023.0, 1024.0, 1536.0, 4096.0, 1_048_576.0, 10_485_760.0, 1_099_511_627_776.0]
                .into_iter()
                .map(number)
                .collect();
        assert_eq!(texts, ["0", "83", "512", "1023", "1k", "1.500k", "4k", "1m", "10m", "1t"]);
    }

    #[test]
    fn negative_values_and_percentages_end_in_a_percent_sign() {
        let value = |value, percent| LoopValue { kind: LoopKind::Seekpct, value, percent, word: None };
        assert_eq!(loop_text(&value(-1.0, false)), "seekpct=1%");
        assert_eq!(loop_text(&value(50.0, true)), "seekpct=50%");
        assert_eq!(loop_text(&value(50.0, false)), "seekpct=50");
    }

    #[test]
    fn rates_have_no_unit() {
        let value = |kind| LoopValue { kind, value: 10_000.0, percent: false, word: None };
        assert_eq!(loop_text(&value(LoopKind::Fwdrate)), "fwdrate=10000");
        assert_eq!(loop_text(&value(LoopKind::Wss)), "wss=9.766k");
        assert_eq!(rate_text(&Rate::Fixed(10_000.0)), "10000");
    }

    #[test]
    fn the_compression_ratio_is_called_comp() {
        let value = LoopValue { kind: LoopKind::Compratio, value: 2.0, percent: false, word: None };
        assert_eq!(loop_text(&value), "comp=2");
    }
}
