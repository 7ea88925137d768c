//! Storage (`docs/vdbench/raw.md` §5).

use super::{Draft, Parser};
use crate::ast::{Opt, Sd};
use crate::diag::Diag;
use crate::keywords::Keyword;
use crate::problems::Problems;
use crate::source::Spanned;
use crate::values::{Value, whole};

impl Parser {
    /// A parameter of an SD.
    pub(super) fn sd(&mut self, draft: &mut Draft<Sd>, keyword: &'static Keyword, value: Value<'_>) {
        let first = draft.first(keyword.name);
        let is_default = draft.is_default;
        let sd = &mut draft.value;
        let problems = &mut self.problems;
        match keyword.name {
            "host" => {
                if first {
                    sd.hosts.clear();
                }
                sd.hosts.extend(value.words());
            }
            "lun" if is_default => problems.push(
                Diag::error("lun-in-default", "`lun=` is not allowed in `sd=default`", value.param.span)
                    .label("each SD has a lun of its own"),
            ),
            "lun" => sd.luns.extend(lun(value, problems)),
            "count" => sd.count = count(value, problems).or(sd.count.take()),
            "size" => sd.size = size(value, problems),
            "threads" => sd.threads = threads(value, problems),
            "hitarea" => sd.hitarea = value.whole(0, problems),
            "offset" => sd.offset = value.sectors(problems),
            "align" => sd.align = value.sectors(problems),
            "range" => sd.range = value.pair(problems),
            "openflags" => sd.openflags = value.words(),
            "journal" => sd.journal = value.text(problems),
            "replay" => sd.replay = value.words(),
            _ => sd.other.push(value.setting()),
        }
    }

    /// Ends an SD: it has a lun, and hosts and luns go in pairs.
    pub(super) fn finish_sd(&mut self, draft: Draft<Sd>) {
        if draft.is_default {
            self.defaults.sd = draft.value;
            return;
        }
        let (name, sd) = (&draft.name, &draft.value);
        let (luns, hosts) = (sd.luns.len(), sd.hosts.len());
        if luns == 0 {
            if !draft.own.contains(&"lun") {
                self.problems.push(
                    Diag::error("no-lun", format!("SD `{}` has no `lun=`", name.value), name.span)
                        .label("needs a device or a file")
                        .help(format!("write `sd={},lun=PATH`", name.value)),
                );
            }
        } else if (luns > 1 || hosts > 1) && luns != hosts {
            self.problems.push(
                Diag::error(
                    "lun-host-pairs",
                    format!("SD `{}` has {luns} `lun=` and {hosts} `host=`", name.value),
                    name.span,
                )
                .label("several luns go in pairs with hosts")
                .help("write `lun=A,host=h1,lun=B,host=h2`"),
            );
        }
        if draft.keep {
            self.file.sds.push(draft.value);
        }
    }
}

fn lun(value: Value<'_>, problems: &mut Problems) -> Opt<String> {
    let lun = value.text(problems)?;
    if lun.value.contains('\\') {
        problems.push(
            Diag::error("backslash", format!("lun `{}` has a backslash in it", lun.value), lun.span)
                .label("paths are written with `/`"),
        );
    }
    Some(lun)
}

/// `count=(start,n)`.
pub(super) fn count(value: Value<'_>, problems: &mut Problems) -> Opt<(u64, u64)> {
    let numbers = value.numbers(problems)?;
    let parts: Vec<Option<u64>> = numbers.value.iter().map(|n| crate::values::whole(n.value.value)).collect();
    match parts.as_slice() {
        [Some(start), Some(n)] if (1..=100_000).contains(n) && *start < 1 << 60 => {
            Some(Spanned::new((*start, *n), numbers.span))
        }
        [_, _] => {
            problems.push(
                Diag::error(
                    "count",
                    "`count=(start,n)` needs a start of at least 0 and an n of at least 1",
                    numbers.span,
                )
                .label("not that many"),
            );
            None
        }
        _ => {
            problems.push(
                Diag::error("count", "`count=` needs two values, `(start,n)`", numbers.span)
                    .label(format!("has {}", parts.len())),
            );
            None
        }
    }
}

/// `size=bytes` or `size=(bytes,divisor)`. Negative numbers and percents mean nothing.
fn size(value: Value<'_>, problems: &mut Problems) -> Opt<u64> {
    let (size, divisor) = divided(value, problems)?;
    if size.value.percent || size.value.value < 0.0 {
        problems.push(
            Diag::warning("no-size", "this size is ignored: the real size is used", size.span)
                .label("neither percents nor negative numbers mean anything here"),
        );
        return None;
    }
    let Some(bytes) = whole(size.value.value / divisor) else {
        let diag = Diag::error("size", "`size=` is beyond what any file or device can hold", size.span);
        problems.push(diag.label("at most 8 EiB, 8388608t"));
        return None;
    };
    Some(size.map(|_| bytes))
}

/// `threads=n` or `threads=(n,divisor)`; at least 1 after division.
fn threads(value: Value<'_>, problems: &mut Problems) -> Opt<i64> {
    let (threads, divisor) = divided(value, problems)?;
    let is_divided = value.param.items.len() > 1;
    Some(threads.map(|n| {
        let n = (n.value / divisor) as i64;
        if is_divided { n.max(1) } else { n }
    }))
}

/// A number and what it is divided by.
pub(super) fn divided(value: Value<'_>, problems: &mut Problems) -> Option<(Spanned<crate::ast::Num>, f64)> {
    let numbers = value.numbers(problems)?;
    match numbers.value.as_slice() {
        [n] => Some((*n, 1.0)),
        [n, divisor] if divisor.value.value >= 1.0 => Some((*n, divisor.value.value)),
        _ => {
            problems.push(
                Diag::error(
                    "divisor",
                    format!("`{}=` takes a number, or `(number,divisor)`", value.name),
                    numbers.span,
                )
                .label("expected one value, or two of which the second is at least 1"),
            );
            None
        }
    }
}
