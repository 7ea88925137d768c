//! The for-loops of a run (`docs/vdbench/raw.md` §7.1).

use super::rd_files::operations;
use super::{Draft, Parser};
use crate::ast::{Loop, LoopKind, LoopValues, Num, Rd};
use crate::diag::Diag;
use crate::problems::Problems;
use crate::source::Spanned;
use crate::values::Value;

/// The loop that a keyword is, with or without `for`.
pub(super) fn loop_kind(keyword: &str) -> Option<LoopKind> {
    Some(match keyword.strip_prefix("for").unwrap_or(keyword) {
        "xfersize" => LoopKind::Xfersize,
        "threads" => LoopKind::Threads,
        "rdpct" => LoopKind::Rdpct,
        "rhpct" => LoopKind::Rhpct,
        "whpct" => LoopKind::Whpct,
        "seekpct" => LoopKind::Seekpct,
        "hitarea" => LoopKind::Hitarea,
        "compratio" | "compression" => LoopKind::Compratio,
        "depth" => LoopKind::Depth,
        "width" => LoopKind::Width,
        "files" => LoopKind::Files,
        "sizes" => LoopKind::Sizes,
        "totalsize" => LoopKind::Totalsize,
        "wss" => LoopKind::Wss,
        "operations" if keyword.starts_with("for") => LoopKind::Operation,
        _ => return None,
    })
}

impl Parser {
    /// A for-loop: it replaces one of the same kind and becomes the innermost.
    pub(super) fn run_loop(&mut self, draft: &mut Draft<Rd>, kind: LoopKind, value: Value<'_>) {
        let values = if kind == LoopKind::Operation {
            let words = if self.of_files() { operations(value, &mut self.problems) } else { value.words() };
            words.map(|words| LoopValues::Words(words.value))
        } else {
            self.loop_numbers(kind, value).map(LoopValues::Numbers)
        };
        let Some(values) = values else { return };
        draft.value.loops.retain(|l| l.kind != kind);
        draft.value.loops.push(Loop { kind, values, span: value.param.span });
    }

    fn loop_numbers(&mut self, kind: LoopKind, value: Value<'_>) -> Option<Vec<Spanned<Num>>> {
        let problems = &mut self.problems;
        if kind == LoopKind::Seekpct {
            check_seek(value, problems)?;
        }
        let mut numbers = value.numbers(problems)?.value;
        let percents = [LoopKind::Rdpct, LoopKind::Rhpct, LoopKind::Whpct, LoopKind::Seekpct].contains(&kind);
        let compression = value.name.ends_with("compression");
        for n in &mut numbers {
            if percents || compression {
                n.value.value = value.plain_percent(*n, problems).value;
                n.value.percent = false;
            } else if n.value.percent && kind != LoopKind::Totalsize {
                problems.bad_value(value.name, n.span, &format!("{}%", n.value.value), "a number without `%`");
                return None;
            }
            if n.value.value < 0.0 && !percents {
                problems.bad_value(value.name, n.span, &n.value.value.to_string(), "a number that is not negative");
                return None;
            }
            if compression {
                n.value.value = super::general::ratio_of(value.name, *n, problems)?;
            }
        }
        Some(numbers)
    }
}

/// Words mean nothing in a loop of seekpct.
fn check_seek(value: Value<'_>, problems: &mut Problems) -> Option<()> {
    let word = value
        .param
        .items
        .iter()
        .find(|i| i.text.chars().all(|c| c.is_ascii_alphabetic()) && !i.text.eq_ignore_ascii_case("d"));
    if let Some(word) = word {
        let text = word.text.to_ascii_lowercase();
        let number = match text.chars().next() {
            Some('s') => "0",
            Some('r') => "100",
            _ => "-1",
        };
        problems.push(
            Diag::error(
                "seekpct-word",
                format!("`{}=` in a run takes numbers, not `{}`", value.name, word.text),
                word.span,
            )
            .label("words belong to a workload (`wd=`)")
            .help("0 is sequential, 100 random, -1 sequential to the end")
            .fix(word.span, number),
        );
        return None;
    }
    if value.name == "seekpct" && value.param.list {
        problems.once(
            "seekpct",
            Diag::note("seekpct-list", "`seekpct=(…)` in a run is refused by Vdbench", value.param.key_span)
                .label("`forseekpct=` works in both")
                .fix(value.param.key_span, "forseekpct"),
        );
    }
    Some(())
}
