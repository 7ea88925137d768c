//! Workloads (`docs/vdbench/raw.md` §6).

use super::rates::note_rate;
use super::{Draft, Parser};
use crate::ast::{Num, Opt, SeekPct, Wd, XferSize};
use crate::diag::Diag;
use crate::keywords::Keyword;
use crate::number;
use crate::problems::Problems;
use crate::source::Spanned;
use crate::values::{Value, whole};

impl Parser {
    /// A parameter of a WD.
    pub(super) fn wd(&mut self, draft: &mut Draft<Wd>, keyword: &'static Keyword, value: Value<'_>) {
        draft.first(keyword.name);
        let wd = &mut draft.value;
        let problems = &mut self.problems;
        match keyword.name {
            "sd" => wd.sds = value.names(problems),
            "host" => wd.hosts = value.words(),
            "xfersize" => wd.xfersize = xfersize(value, problems),
            "rdpct" => wd.rdpct = value.percent(problems).map(|n| n.map(f64::trunc)),
            "writepct" => wd.rdpct = value.percent(problems).map(|n| n.map(|n| (100.0 - n).trunc())),
            "range" => wd.range = value.pair(problems),
            "hotband" => wd.hotband = value.pair(problems),
            "seekpct" => wd.seekpct = seekpct(value, problems),
            "stride" => wd.stride = stride(value, problems),
            "priority" => wd.priority = value.small(1, problems),
            "iorate" => {
                if value.param.items.len() > 1 {
                    problems.push(
                        Diag::error("one-value", "`iorate=` of a WD takes one value", value.param.value_span)
                            .label("a workload has one fixed rate")
                            .help("a list of rates belongs to a run (`rd=`)"),
                    );
                    return;
                }
                wd.iorate = value.float(0.0, problems);
                note_rate(value, problems);
            }
            "skew" => wd.skew = value.percent(problems),
            "rhpct" => wd.rhpct = value.percent(problems),
            "whpct" => wd.whpct = value.percent(problems),
            "openflags" => wd.openflags = value.words(),
            "user" => wd.user = value.text(problems),
            "threads" => {
                if !self.file.general.concatenatesds.is_some_and(|c| c.value) {
                    problems.push(
                        Diag::error("wd-threads", "`threads=` in a WD needs `concatenatesds=yes`", value.param.span)
                            .label("threads belong to an SD or to a run")
                            .help("move it to `sd=` (outstanding I/Os of that SD) or to `rd=` (of each SD)"),
                    );
                    return;
                }
                wd.threads = value.whole(0, problems);
            }
            "streams" => wd.streams = streams(value, problems),
            _ => {}
        }
    }

    /// Ends a WD.
    pub(super) fn finish_wd(&mut self, draft: Draft<Wd>) {
        let wd = &draft.value;
        if let (Some(rate), Some(skew)) = (&wd.iorate, &wd.skew)
            && skew.value != 0.0
            && rate.value != 0.0
        {
            let (late, early) = if rate.span.start > skew.span.start { (rate, skew) } else { (skew, rate) };
            self.problems.push(
                Diag::error(
                    "iorate-and-skew",
                    format!("WD `{}` has both `iorate=` and `skew=`", draft.name.value),
                    late.span,
                )
                .label("a fixed rate and a share exclude each other")
                .related(early.span, "the other one"),
            );
        }
        if draft.is_default {
            self.defaults.wd = draft.value;
        } else if draft.keep {
            self.file.wds.push(draft.value);
        }
    }
}

fn streams(value: Value<'_>, problems: &mut Problems) -> Opt<u64> {
    if value.param.items.len() < 2 {
        return value.whole(2, problems);
    }
    let numbers = value.numbers(problems)?;
    let first = numbers.value.first()?;
    match whole(first.value.value) {
        Some(n) if n >= 2 => Some(Spanned::new(n, first.span)),
        _ => {
            problems.push(
                Diag::error("too-small", "`streams=` must be at least 2", first.span).label("one stream is no stream"),
            );
            None
        }
    }
}

/// One size, sizes with percentages, or `(min,max,align)`.
fn xfersize(value: Value<'_>, problems: &mut Problems) -> Opt<XferSize> {
    let numbers = value.numbers(problems)?;
    let span = numbers.span;
    if let Some(bad) = numbers.value.iter().find(|n| n.value.value <= 0.0 || n.value.value > 2f64.powi(40)) {
        problems.push(
            Diag::error("bad-size", format!("`{}` is not a transfer size", bad.value.value), bad.span)
                .label("expected bytes, such as 4k"),
        );
        return None;
    }
    let bytes = |n: &Spanned<Num>| n.value.value as u64;
    match numbers.value.as_slice() {
        [size] => Some(Spanned::new(XferSize::Fixed(bytes(size)), span)),
        [min, max, align] => {
            let range = XferSize::Range { min: bytes(min), max: bytes(max), align: bytes(align) };
            let fault = if bytes(min) >= bytes(max) {
                Some((min.span, "min must be below max".to_owned()))
            } else if !bytes(align).is_multiple_of(512) {
                Some((align.span, "align must be a multiple of 512".to_owned()))
            } else {
                None
            };
            let Some((place, why)) = fault else { return Some(Spanned::new(range, span)) };
            problems.push(
                Diag::error("bad-size-range", "`xfersize=(min,max,align)` does not fit", place).label(why).help(
                    "three values are the smallest size, the largest, and the step between them; sizes with percentages come in pairs",
                ),
            );
            None
        }
        list if list.len() % 2 == 1 => {
            problems.push(
                Diag::error("xfersize-pairs", "`xfersize=(size,percent,…)` needs pairs", span)
                    .label(format!("has {} values", list.len())),
            );
            None
        }
        list => weighted(list, problems).map(|sizes| Spanned::new(XferSize::Weighted(sizes), span)),
    }
}

/// Sizes with percentages: multiples of 512, 100 percent in all when rounded.
fn weighted(list: &[Spanned<Num>], problems: &mut Problems) -> Option<Vec<(u64, f64)>> {
    let mut sizes = Vec::with_capacity(list.len() / 2);
    let mut total = 0.0;
    for pair in list.chunks_exact(2) {
        let (size, percent) = (pair[0], pair[1]);
        let bytes = size.value.value as u64;
        if !bytes.is_multiple_of(512) {
            problems.push(
                Diag::error("not-512", "a transfer size in a list must be a multiple of 512", size.span)
                    .label(format!("{bytes} is not"))
                    .help("a list holds sizes and percentages in turn: `(4k,60,8k,40)`"),
            );
            return None;
        }
        total += percent.value.value;
        sizes.push((bytes, percent.value.value));
    }
    if total.round() == 100.0 {
        return Some(sizes);
    }
    let span = list.last().map(|last| last.span)?;
    problems.push(
        Diag::error("xfersize-total", format!("the percentages of `xfersize=` total {total}, not 100"), span)
            .label("expected 100 in all"),
    );
    None
}

/// Percent, a word by its beginning, or `(poisson,mid)`.
fn seekpct(value: Value<'_>, problems: &mut Problems) -> Opt<SeekPct> {
    let (first, rest) = value.param.items.split_first()?;
    let span = value.param.value_span;
    let word = first.text.as_str();
    let begins = |full: &str| !word.is_empty() && full.starts_with(word);
    if begins("poisson") {
        let mid = match rest {
            [] => 3.0,
            [mid, ..] => match number::number(&mid.text, false) {
                Some(n) if n.num.value > 0.0 => n.num.value,
                _ => {
                    problems.bad_value("seekpct", mid.span, &mid.text, "the midpoint of poisson, a number above 0");
                    return None;
                }
            },
        };
        return Some(Spanned::new(SeekPct::Poisson { mid }, span));
    }
    if let Some(n) = number::number(word, false).filter(|n| !n.num.percent) {
        if n.num.value == 1.0 {
            problems.push(
                Diag::note("one-percent", "`seekpct=1` is 1 % random: every hundredth I/O seeks", first.span)
                    .label("percent, not yes or no")
                    .help("`seekpct=100` is all random, `seekpct=0` sequential"),
            );
        }
        let value = if n.num.value < 0.0 { SeekPct::Eof } else { SeekPct::Percent(n.num.value) };
        return Some(Spanned::new(value, span));
    }
    let seek = if begins("sequential") {
        SeekPct::Percent(0.0)
    } else if begins("random") {
        SeekPct::Percent(100.0)
    } else if !word.is_empty() && "eof".starts_with(&word.to_ascii_lowercase()) {
        SeekPct::Eof
    } else {
        let wanted =
            if word.ends_with('%') { "percent without the `%`" } else { "percent, random, sequential, eof or poisson" };
        problems.bad_value("seekpct", first.span, word, wanted);
        return None;
    };
    Some(Spanned::new(seek, span))
}

/// `stride=(min,max)` in bytes.
fn stride(value: Value<'_>, problems: &mut Problems) -> Opt<(u64, u64)> {
    let pair = value.pair(problems)?;
    let (min, max) = pair.value;
    if min > max {
        problems.push(
            Diag::error("stride", "`stride=(min,max)` needs a max that is not below min", pair.span)
                .label(format!("{max} is below {min}")),
        );
        return None;
    }
    Some(pair.map(|(min, max)| (min as u64, max as u64)))
}
