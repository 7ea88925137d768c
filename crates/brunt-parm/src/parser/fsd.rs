//! File systems (`docs/vdbench/filesystem.md` §1).

use super::sd::{count, divided};
use super::{Draft, Parser};
use crate::ast::{FileSizes, Fsd, Num, Opt, Spread};
use crate::diag::Diag;
use crate::keywords::Keyword;
use crate::problems::Problems;
use crate::source::Spanned;
use crate::values::{Value, whole};

/// Most files in a directory.
const MOST_FILES: u64 = 10_000_000;

impl Parser {
    /// A parameter of an FSD.
    pub(super) fn fsd(&mut self, draft: &mut Draft<Fsd>, keyword: &'static Keyword, value: Value<'_>) {
        draft.first(keyword.name);
        let fsd = &mut draft.value;
        let problems = &mut self.problems;
        match keyword.name {
            "anchor" => fsd.anchor = value.text(problems),
            "journal" => fsd.journal = value.text(problems),
            "width" => fsd.width = levels(value, "directories", problems),
            "depth" => fsd.depth = levels(value, "levels", problems),
            "sizes" => fsd.sizes = sizes(value, problems),
            "shared" => fsd.shared = value.yes_no(problems),
            "wss" => fsd.wss = amount(value, problems),
            "totalsize" => fsd.totalsize = amount(value, problems),
            "files" => fsd.files = files(value, problems),
            "distribution" => fsd.distribution = spread(value, problems),
            "openflags" => fsd.openflags = value.words(),
            "log" => fsd.log = value.yes_no(problems),
            "count" => fsd.count = count(value, problems).or(fsd.count.take()),
            "mask" => fsd.mask = mask(value, problems),
            _ => {}
        }
    }

    /// Ends an FSD: it has an anchor.
    pub(super) fn finish_fsd(&mut self, draft: Draft<Fsd>) {
        if draft.is_default {
            self.defaults.fsd = draft.value;
            return;
        }
        if draft.value.anchor.is_none() && !draft.own.contains(&"anchor") {
            self.problems.push(
                Diag::error("no-anchor", format!("FSD `{}` has no `anchor=`", draft.name.value), draft.name.span)
                    .label("needs a directory")
                    .help(format!("write `fsd={},anchor=DIRECTORY`", draft.name.value)),
            );
        }
        if draft.keep {
            self.file.fsds.push(draft.value);
        }
    }
}

/// `width=` or `depth=`. 0 is accepted, as in Vdbench, where a run fails on it.
fn levels(value: Value<'_>, what: &str, problems: &mut Problems) -> Opt<u64> {
    let n = value.whole(0, problems)?;
    if n.value == 0 {
        problems.push(
            Diag::warning("no-directories", format!("`{}=0` makes no {what}", value.name), n.span)
                .label("nothing can be done in it")
                .help("the least that makes sense is 1"),
        );
    }
    Some(n)
}

fn files(value: Value<'_>, problems: &mut Problems) -> Opt<u64> {
    let n = value.whole(1, problems)?;
    if n.value > MOST_FILES && n.value % 1_000_000 != 777 {
        problems.push(
            Diag::error("too-many-files", format!("`files={}` is too many for one directory", n.value), n.span)
                .label("10,000,000 at most")
                .help("spread them over more directories with `width=` and `depth=`"),
        );
        return None;
    }
    Some(n)
}

/// Bytes, or `(bytes,divisor)`.
fn amount(value: Value<'_>, problems: &mut Problems) -> Opt<u64> {
    let (bytes, divisor) = divided(value, problems)?;
    if bytes.value.percent {
        problems.push(
            Diag::error("percent-of-nothing", format!("`{}=` of an FSD takes bytes", value.name), bytes.span)
                .label("percent of what?")
                .help("percents are for runs: `rd=…,fortotalsize=(50%,100%)` takes them of this value"),
        );
        return None;
    }
    if bytes.value.value < 0.0 {
        problems.bad_value(value.name, bytes.span, &bytes.value.value.to_string(), "bytes");
        return None;
    }
    Some(bytes.map(|n| (n.value / divisor) as u64))
}

/// A size, sizes with percentages, or `(average,0)` (`docs/vdbench/filesystem.md` §1.5).
fn sizes(value: Value<'_>, problems: &mut Problems) -> Opt<FileSizes> {
    let numbers = value.numbers(problems)?;
    let span = numbers.span;
    if let Some(bad) = numbers.value.iter().find(|n| n.value.value < 0.0 || n.value.value > 2f64.powi(60)) {
        problems.bad_value(value.name, bad.span, &bad.value.value.to_string(), "bytes, such as 64k");
        return None;
    }
    match numbers.value.as_slice() {
        [size] => Some(Spanned::new(FileSizes::Fixed(size.value.value as u64), span)),
        [average, zero] if zero.value.value == 0.0 => {
            if !(1.0..2f64.powi(31)).contains(&average.value.value) {
                problems.push(
                    Diag::error("average-size", "`sizes=(average,0)` needs an average below 2g", average.span)
                        .label("out of range"),
                );
                return None;
            }
            Some(Spanned::new(FileSizes::Average(average.value.value as u64), span))
        }
        list => weighted(value.name, list, problems).map(|sizes| Spanned::new(FileSizes::Weighted(sizes), span)),
    }
}

/// Sizes with percentages that total 100, fractions cut off.
pub(super) fn weighted(keyword: &str, list: &[Spanned<Num>], problems: &mut Problems) -> Option<Vec<(u64, f64)>> {
    let (first, last) = (list.first()?, list.last()?);
    let span = crate::Span { end: last.span.end.max(first.span.end), ..first.span };
    if list.len() % 2 == 1 {
        problems.push(
            Diag::error("size-pairs", format!("`{keyword}=(size,percent,…)` needs pairs"), span)
                .label(format!("has {} values", list.len()))
                .help("sizes and percentages in turn: `(4k,60,8k,40)`; several sizes one after the other are a loop of a run"),
        );
        return None;
    }
    let sizes: Vec<(u64, f64)> =
        list.chunks_exact(2).map(|pair| (pair[0].value.value as u64, pair[1].value.value)).collect();
    let total: f64 = sizes.iter().map(|(_, percent)| percent).sum();
    // The least errors of adding shall not turn 100 into 99.
    if whole(total + 1e-9) == Some(100) {
        return Some(sizes);
    }
    problems.push(
        Diag::error("size-total", format!("the percentages of `{keyword}=` total {total}, not 100"), span)
            .label("expected 100 in all"),
    );
    None
}

/// `bottom` or `all`, the whole word.
fn spread(value: Value<'_>, problems: &mut Problems) -> Opt<Spread> {
    let word = value.text(problems)?;
    let spread = match word.value.as_str() {
        "bottom" => Spread::Bottom,
        "all" => Spread::All,
        other => {
            problems.bad_value(value.name, word.span, other, "`bottom` or `all`, the whole word in lower case");
            return None;
        }
    };
    Some(Spanned::new(spread, word.span))
}

/// Names of files and directories (`docs/vdbench/filesystem.md` §1.3).
fn mask(value: Value<'_>, problems: &mut Problems) -> Opt<(String, String)> {
    if let Some(dashed) = value.param.items.iter().find(|i| !i.dashes.is_empty()) {
        problems.push(
            Diag::error("mask-dash", format!("the `-` in `{}` makes a range of it", dashed.text), dashed.span)
                .label("needs quotes")
                .fix(dashed.span, format!("\"{}\"", dashed.text))
                .vdbench("Parameter range value must be alphanumeric"),
        );
        return None;
    }
    let [file, directory, ..] = value.param.items.as_slice() else {
        problems.push(
            Diag::error("mask-pair", "`mask=` needs two masks, `(filemask,directorymask)`", value.param.value_span)
                .label("the mask of directories is missing")
                .help("such as `mask=(vdb_f%04d.file,vdb.%02d_%02d.dir)`"),
        );
        return None;
    };
    for (item, end, count) in [(file, ".file", 1), (directory, ".dir", 2)] {
        let text = item.text.as_str();
        let fault = if !text.starts_with("vdb") {
            "must begin with `vdb`".to_owned()
        } else if !text.ends_with(end) {
            format!("must end with `{end}`")
        } else if text.matches("%0").count() != count {
            format!("must hold {} such as `%04d`", if count == 1 { "one number" } else { "two numbers" })
        } else {
            continue;
        };
        problems.push(
            Diag::error("mask", format!("`{text}` is not a mask for names"), item.span)
                .label(fault)
                .help("such as `mask=(vdb_f%04d.file,vdb.%02d_%02d.dir)`"),
        );
        return None;
    }
    Some(Spanned::new((file.text.clone(), directory.text.clone()), value.param.value_span))
}
