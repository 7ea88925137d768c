//! Rates of a run: lists, curves and bursts (`docs/vdbench/raw.md` §7.1–§7.3).

use crate::ast::{Arrivals, Distribution, IoRate, List, Num, Opt, Rd};
use crate::diag::Diag;
use crate::lexer::{Item, Param};
use crate::number;
use crate::problems::Problems;
use crate::source::Spanned;
use crate::values::Value;

/// `iorate=1k` is 1024; says so, for WD and RD.
pub(super) fn note_rate(value: Value<'_>, problems: &mut Problems) {
    for item in &value.param.items {
        let Some(n) = number::number(&item.text, false) else { continue };
        let what = match n.suffix {
            number::Suffix::Binary => "suffixes are binary, also for rates",
            number::Suffix::Hours => "`h` multiplies by 3600, also for rates",
            _ => continue,
        };
        problems.once(
            &item.text,
            Diag::note("rate-suffix", format!("`{}` is {} I/Os per second", item.text, n.num.value), item.span)
                .label(what),
        );
    }
}

/// `iorate=`: a list is a loop, and a later single rate ends it.
pub(super) fn iorate(rd: &mut Rd, value: Value<'_>, first: bool, problems: &mut Problems) {
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
pub(super) fn rates(value: Value<'_>, problems: &mut Problems) -> List<IoRate> {
    let items = &value.param.items;
    let word = |text: &str| match text {
        "curve" => Some(IoRate::Curve),
        text if text.eq_ignore_ascii_case("max") => Some(IoRate::Max),
        _ => None,
    };
    let is_other = |i: &&Item| i.text.starts_with(|c: char| c.is_alphabetic()) && !i.text.eq_ignore_ascii_case("d");
    if let Some(item) = items.iter().filter(|i| word(&i.text).is_none()).find(is_other) {
        problems.bad_value(value.name, item.span, &item.text, "a number, `max` or `curve`");
        return None;
    }
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
            let part = Param { items: numbers.to_vec(), ..value.param.clone() };
            let part = Value { param: &part, ..value }.numbers(problems)?;
            out.extend(part.value.into_iter().map(|n| Spanned::new(rate_of(n.value), n.span)));
        }
        if let Some(last) = last {
            if word(&last.text) == Some(IoRate::Curve) {
                problems.push(
                    Diag::error("curve-in-list", "`curve` cannot be one of several rates", last.span)
                        .label("must stand alone")
                        .help(format!("write a run of its own with `{}=curve`", value.name)),
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

/// The points of a curve, in percent.
pub(super) fn curve(value: Value<'_>, problems: &mut Problems) -> List<f64> {
    let numbers = value.numbers(problems)?;
    if let Some(bad) = numbers.value.iter().find(|n| n.value.value <= 0.0) {
        problems.bad_value(value.name, bad.span, &bad.value.value.to_string(), "percent above 0");
        return None;
    }
    let points = numbers.value.into_iter().map(|n| value.plain_percent(n, problems)).collect();
    Some(Spanned::new(points, numbers.span))
}

/// A list of words by their beginnings.
pub(super) fn distribution(value: Value<'_>, problems: &mut Problems) -> Opt<Distribution> {
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
pub(super) fn bursts(rd: &mut Rd, name: &Spanned<String>, problems: &mut Problems) {
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
