//! Runs (`docs/vdbench/raw.md` §7).

use super::hook::hook;
use super::wd::note_rate;
use super::{Draft, Parser};
use crate::ast::{Arrivals, Distribution, IoRate, List, Loop, LoopKind, LoopValues, MaxDataKind, Num, Opt, Rd};
use crate::diag::Diag;
use crate::keywords::{Keyword, Status};
use crate::problems::Problems;
use crate::source::Spanned;
use crate::values::Value;

impl Parser {
    /// A parameter of an RD.
    pub(super) fn rd(&mut self, draft: &mut Draft<Rd>, keyword: &'static Keyword, value: Value<'_>) {
        let first = draft.first(keyword.name);
        if let Some(kind) = loop_kind(keyword.name) {
            return self.run_loop(draft, kind, value);
        }
        let rd = &mut draft.value;
        let problems = &mut self.problems;
        match keyword.name {
            "wd" => {
                once_per_run(rd.wds.as_ref(), value, problems);
                rd.wds = value.names(problems);
            }
            "sd" => rd.sds = value.names(problems),
            "iorate" => iorate(rd, value, first, problems),
            "maxdata" => max_data(rd, MaxDataKind::Both, value, problems),
            "maxdataread" => max_data(rd, MaxDataKind::Read, value, problems),
            "maxdatawritten" => max_data(rd, MaxDataKind::Written, value, problems),
            "curve" => rd.curve = curve(value, problems),
            "stopcurve" => rd.stopcurve = value.float(0.0, problems),
            "elapsed" => rd.elapsed = value.whole(0, problems),
            "interval" => rd.interval = value.whole(0, problems),
            "warmup" => rd.warmup = value.whole(0, problems),
            "pause" => rd.pause = value.whole(0, problems),
            "distribution" => rd.distribution = distribution(value, problems),
            "openflags" => rd.openflags = value.words(),
            "startcmd" | "endcmd" => {
                let list = if keyword.name == "startcmd" { &mut rd.startcmd } else { &mut rd.endcmd };
                if first {
                    list.clear();
                }
                list.push(hook(value));
            }
            "fsd" | "fwd" | "fwdrate" => {
                draft.files = true;
                rd.other.push(value.setting());
            }
            "format" if draft.is_default => problems.push(
                Diag::error("format-in-default", "`format=` is not allowed in `rd=default`", value.param.span)
                    .label("give it to the runs that need it"),
            ),
            _ => rd.other.push(value.setting()),
        }
    }

    /// A for-loop: it replaces one of the same kind and becomes the innermost.
    fn run_loop(&mut self, draft: &mut Draft<Rd>, kind: LoopKind, value: Value<'_>) {
        let values = if kind == LoopKind::Operation {
            value.words().map(|words| LoopValues::Words(words.value))
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

    /// Ends a run.
    pub(super) fn finish_rd(&mut self, mut draft: Draft<Rd>) {
        if draft.is_default {
            self.defaults.rd = draft.value;
            return;
        }
        if draft.files {
            // A run of file system workloads: its definitions were passed over, and that was said.
            let span = draft.name.span;
            self.problems.once(
                "files",
                Diag::error("not-yet", "file system workloads are not in this version yet", span)
                    .label("this run is passed over, and those like it"),
            );
            return;
        }
        for setting in &draft.value.other {
            if let Some(keyword) = crate::keywords::lookup(super::Section::Rd, setting.keyword)
                && let Status::Accepted(why) = keyword.status
            {
                self.problems.once(
                    keyword.name,
                    Diag::note("no-effect", format!("`{}=` has no effect here", keyword.name), setting.span).label(why),
                );
            }
        }
        bursts(&mut draft.value, &draft.name, &mut self.problems);
        if draft.value.wds.is_none() && draft.value.sds.is_none() && !draft.own.iter().any(|k| ["wd", "sd"].contains(k))
        {
            self.problems.push(
                Diag::error(
                    "no-workload",
                    format!("run `{}` has neither `wd=` nor `sd=`", draft.name.value),
                    draft.name.span,
                )
                .label("nothing to run")
                .help("name workloads with `wd=`, or storage with `sd=` for a workload made of `wd=default`"),
            );
        }
        if draft.keep {
            self.file.rds.push(draft.value);
        }
    }
}

fn loop_kind(keyword: &str) -> Option<LoopKind> {
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

fn once_per_run(before: Option<&Spanned<Vec<Spanned<String>>>>, value: Value<'_>, problems: &mut Problems) {
    let Some(before) = before else { return };
    problems.push(
        Diag::error("wd-twice", "`wd=` is allowed only once in a run", value.param.span)
            .label("the second one")
            .related(before.span, "the first one; `rd=default` counts too")
            .help("name several workloads in one list, `wd=(wd1,wd2)`; a workload definition stands above the first `rd=`"),
    );
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

/// `iorate=`: a list is a loop, and a later single rate ends it.
fn iorate(rd: &mut Rd, value: Value<'_>, first: bool, problems: &mut Problems) {
    let Some(rates) = rates(value, problems) else { return };
    note_rate(value, problems);
    let is_list = rates.value.len() > 1;
    if rd.iorate_is_list && !is_list {
        let mut diag = Diag::note("list-cancelled", "this rate takes the place of a list", value.param.span)
            .label("Vdbench would still run the list");
        if let Some(list) = &rd.iorate {
            diag = diag.related(list.span, if first { "the list, inherited" } else { "the list" });
        }
        problems.push(diag);
    }
    rd.iorate_is_list = is_list;
    rd.iorate = Some(rates);
}

/// The rates; numbers, percents, `max` and `curve`.
fn rates(value: Value<'_>, problems: &mut Problems) -> List<IoRate> {
    let items = &value.param.items;
    let word = |text: &str| match text {
        "max" | "MAX" => Some(IoRate::Max),
        "curve" => Some(IoRate::Curve),
        _ => None,
    };
    if let [only] = items.as_slice()
        && let Some(rate) = word(&only.text)
    {
        return Some(Spanned::new(vec![Spanned::new(rate, only.span)], value.param.value_span));
    }
    let mut out = Vec::new();
    // Between the words `max` stand numbers, ranges among them.
    for part in items.split_inclusive(|i| word(&i.text).is_some()) {
        let (last, numbers) = match part.split_last() {
            Some((last, before)) if word(&last.text).is_some() => (Some(last), before),
            _ => (None, part),
        };
        if !numbers.is_empty() {
            let part = crate::lexer::Param { items: numbers.to_vec(), ..value.param.clone() };
            let part = Value { param: &part, ..value }.numbers(problems)?;
            out.extend(part.value.into_iter().map(|n| Spanned::new(rate_of(n.value), n.span)));
        }
        if let Some(last) = last {
            if word(&last.text) == Some(IoRate::Curve) {
                problems.push(
                    Diag::error("curve-in-list", "`curve` cannot be one of several rates", last.span)
                        .label("must stand alone")
                        .help("write a run of its own with `iorate=curve`"),
                );
                return None;
            }
            out.push(Spanned::new(IoRate::Max, last.span));
        }
    }
    Some(Spanned::new(out, value.param.value_span))
}

/// A negative rate is the percentage of its amount, as in Vdbench.
fn rate_of(n: Num) -> IoRate {
    if n.percent || n.value < 0.0 { IoRate::Percent(n.value.abs()) } else { IoRate::Fixed(n.value) }
}

fn curve(value: Value<'_>, problems: &mut Problems) -> List<f64> {
    let numbers = value.numbers(problems)?;
    if let Some(bad) = numbers.value.iter().find(|n| n.value.value <= 0.0) {
        problems.bad_value(value.name, bad.span, &bad.value.value.to_string(), "percent above 0");
        return None;
    }
    let points = numbers.value.into_iter().map(|n| value.plain_percent(n, problems)).collect();
    Some(Spanned::new(points, numbers.span))
}

fn max_data(rd: &mut Rd, kind: MaxDataKind, value: Value<'_>, problems: &mut Problems) {
    if let Some(n) = value.float(0.0, problems) {
        rd.maxdata.retain(|(k, _)| *k != kind);
        rd.maxdata.push((kind, n));
    }
}

/// A list of words by their beginnings.
fn distribution(value: Value<'_>, problems: &mut Problems) -> Opt<Distribution> {
    let mut out = Distribution::default();
    for item in &value.param.items {
        let word = item.text.to_ascii_lowercase();
        let begins = |full: &str| !word.is_empty() && full.starts_with(&word);
        if begins("exponential") {
            out.arrivals = Arrivals::Exponential;
        } else if begins("uniform") {
            out.arrivals = Arrivals::Uniform;
        } else if begins("deterministic") {
            out.arrivals = Arrivals::Deterministic;
        } else if begins("variable") {
            out.variable = true;
        } else if begins("spike") {
            (out.variable, out.spike) = (true, true);
        } else {
            let wanted = "exponential, uniform, deterministic, variable or spike";
            problems.bad_value(value.name, item.span, &item.text, wanted);
            return None;
        }
    }
    Some(Spanned::new(out, value.param.value_span))
}

/// With `distribution=variable` the rates are pairs of rate and seconds.
fn bursts(rd: &mut Rd, name: &Spanned<String>, problems: &mut Problems) {
    let Some(distribution) = rd.distribution.filter(|d| d.value.variable) else { return };
    let Some(rates) = rd.iorate.take() else {
        problems.push(
            Diag::error(
                "no-bursts",
                format!("run `{}` has no `iorate=` for `distribution=variable`", name.value),
                distribution.span,
            )
            .label("needs pairs of rate and seconds")
            .help("write `iorate=(rate,seconds,rate,seconds,…)`"),
        );
        return;
    };
    rd.iorate_is_list = false;
    let mut numbers = Vec::with_capacity(rates.value.len());
    for rate in &rates.value {
        let num = match rate.value {
            IoRate::Fixed(value) => Num { value, percent: false },
            IoRate::Percent(value) => Num { value, percent: true },
            IoRate::Max | IoRate::Curve => {
                problems.push(
                    Diag::error("burst-word", "`distribution=variable` needs rates that are numbers", rate.span)
                        .label("not a number"),
                );
                return;
            }
        };
        numbers.push(Spanned::new(num, rate.span));
    }
    if numbers.len() % 2 == 1 {
        problems.push(
            Diag::error("odd-bursts", "the rates of `distribution=variable` are not pairs", rates.span)
                .label(format!("has {} values", numbers.len()))
                .help("write `iorate=(rate,seconds,rate,seconds,…)`"),
        );
        return;
    }
    let seconds: f64 = numbers.iter().skip(1).step_by(2).filter(|n| !n.value.percent).map(|n| n.value.value).sum();
    if seconds > 3600.0 {
        problems.push(
            Diag::error("long-bursts", format!("the bursts take {seconds} seconds"), rates.span)
                .label("more than 3600 in all"),
        );
        return;
    }
    rd.bursts = Some(Spanned::new(numbers, rates.span));
}
