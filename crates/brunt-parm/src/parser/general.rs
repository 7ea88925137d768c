//! General parameters (`docs/vdbench/raw.md` §3).

use super::Parser;
use super::hook::hook;
use crate::ast::{DataErrors, HistogramSpec, Num, Opt, Repeat, ReportOption};
use crate::diag::Diag;
use crate::keywords::Keyword;
use crate::lexer::Item;
use crate::misc;
use crate::number;
use crate::problems::Problems;
use crate::source::{Span, Spanned};
use crate::values::{Value, whole};

impl Parser {
    /// A general parameter.
    pub(super) fn general(&mut self, keyword: &'static Keyword, value: Value<'_>) {
        let general = &mut self.file.general;
        let problems = &mut self.problems;
        match keyword.name {
            "compratio" => general.compratio = value.float(1.0, problems),
            "compression" => general.compratio = compression(value, problems),
            "port" => general.port = port(value, problems),
            "pattern" => {
                if general.pattern.is_some() {
                    problems
                        .push(Diag::error("twice", "`pattern=` is allowed only once", value.param.span).label("again"));
                }
                general.pattern = value.text(problems);
            }
            "data_errors" => general.data_errors = data_errors(value, problems),
            "validate" => general.validate = validate(value, problems),
            "journal" => general.journal = value.words(),
            "startcmd" => general.startcmd.push(hook(value)),
            "endcmd" => general.endcmd.push(hook(value)),
            "debug" => {
                let numbers = value.numbers(problems).map_or(Vec::new(), |n| n.value);
                general.debug.extend(numbers.into_iter().map(|n| n.map(|n| n.value as i64)));
            }
            "unix2windows" if value.param.items.len() != 2 => problems.push(
                Diag::error("two-values", "`unix2windows=` needs two values", value.param.span)
                    .label("expected `(unixprefix,winprefix)`"),
            ),
            "formatxfersize" => general.formatxfersize = value.whole(1, problems),
            "create_anchors" => general.create_anchors = value.yes_no(problems),
            "formatsds" => general.formatsds = format_sds(value, problems),
            "report" => report(value, &mut general.report, problems),
            "report_run_totals" => general.report_run_totals = value.yes_no(problems),
            "histogram" => general.histogram = histogram(value, problems),
            "monitor" => general.monitor = value.text(problems),
            "concatenatesds" => general.concatenatesds = value.yes_no(problems),
            "messagescan" => general.messagescan = value.words(),
            "abort_failed_skew" => general.abort_failed_skew = value.float(0.0, problems),
            "misc" => miscellany(value, &mut general.misc, problems),
            "showlba" => general.showlba = value.yes_no(problems),
            "loop" => general.repeat = repeat(value, problems),
            "ios_per_jvm" => general.ios_per_jvm = value.float(1.0, problems),
            "timeout" => general.timeout = timeout(value, problems),
            _ => general.other.push(value.setting()),
        }
    }
}

/// The ratio that `compression=n` percent is.
pub(super) fn ratio_of(keyword: &str, percent: Spanned<Num>, problems: &mut Problems) -> Option<f64> {
    if percent.value.value <= 0.0 || percent.value.value > 100.0 {
        problems.bad_value(keyword, percent.span, &percent.value.value.to_string(), "percent above 0, up to 100");
        return None;
    }
    let ratio = 100.0 / percent.value.value;
    problems.once(
        keyword,
        Diag::note("obsolete", format!("`{keyword}=` is obsolete"), percent.span)
            .label(format!("the same as `{}={ratio}`", keyword.replace("compression", "compratio"))),
    );
    Some(ratio)
}

fn compression(value: Value<'_>, problems: &mut Problems) -> Opt<f64> {
    let num = value.num(problems)?;
    ratio_of("compression", num, problems).map(|ratio| Spanned::new(ratio, num.span))
}

fn port(value: Value<'_>, problems: &mut Problems) -> Opt<u16> {
    let n = value.whole(1, problems)?;
    match u16::try_from(n.value) {
        Ok(port) => Some(Spanned::new(port, n.span)),
        Err(_) => {
            problems.bad_value("port", n.span, &n.value.to_string(), "a port, up to 65535");
            None
        }
    }
}

/// A limit, `remove_device`, `stop`, or a command.
fn data_errors(value: Value<'_>, problems: &mut Problems) -> Opt<DataErrors> {
    let items = &value.param.items;
    let span = value.param.value_span;
    let first = items.first()?;
    if first.text.starts_with("re") && "remove_device".starts_with(first.text.as_str()) {
        if let Some(second) = items.get(1) {
            problems.push(
                Diag::warning("remove-seconds", "an SD that was removed stays removed", second.span)
                    .label("ignored; Vdbench would end at the first error"),
            );
        }
        return Some(Spanned::new(DataErrors::RemoveDevice, span));
    }
    if number::number(&first.text, false).is_none() {
        let errors = if first.text.starts_with("stop") {
            DataErrors::Limit { count: 1, seconds: None }
        } else {
            DataErrors::Command(first.text.clone())
        };
        return Some(Spanned::new(errors, span));
    }
    let numbers = value.numbers(problems)?;
    let wholes: Vec<Option<u64>> = numbers.value.iter().map(|n| whole(n.value.value)).collect();
    match wholes.as_slice() {
        [Some(count)] => Some(Spanned::new(DataErrors::Limit { count: *count, seconds: None }, span)),
        [Some(count), seconds @ Some(_)] => {
            Some(Spanned::new(DataErrors::Limit { count: *count, seconds: *seconds }, span))
        }
        _ => {
            problems.push(
                Diag::error(
                    "data-errors",
                    "`data_errors=` takes a limit, `(limit,seconds)`, `remove_device` or a command",
                    span,
                )
                .label("none of these"),
            );
            None
        }
    }
}

/// The words of `validate=`, each by its beginning.
fn validate(value: Value<'_>, problems: &mut Problems) -> crate::ast::List<String> {
    const WORDS: [&str; 7] =
        ["yes", "no", "read_after_write", "no_preread", "time", "ignore_zero_reads", "reportdedupsets"];
    let unknown = value.param.items.iter().find(|i| i.text.is_empty() || !WORDS.iter().any(|w| w.starts_with(&i.text)));
    if let Some(item) = unknown {
        problems.bad_value("validate", item.span, &item.text, &WORDS.join(", "));
        return None;
    }
    value.words()
}

fn format_sds(value: Value<'_>, problems: &mut Problems) -> Opt<bool> {
    let word = value.text(problems)?;
    if word.value.starts_with(['y', 'Y', 'n', 'N']) {
        return Some(word.map(|w| w.starts_with(['y', 'Y'])));
    }
    problems.bad_value("formatsds", word.span, &word.value, "`yes` or `no`");
    None
}

/// Report options, each by its beginning.
fn report(value: Value<'_>, list: &mut crate::ast::List<ReportOption>, problems: &mut Problems) {
    const OPTIONS: [(&str, ReportOption); 4] = [
        ("host_detail", ReportOption::HostDetail),
        ("slave_detail", ReportOption::SlaveDetail),
        ("no_sd_detail", ReportOption::NoSdDetail),
        ("no_fsd_detail", ReportOption::NoFsdDetail),
    ];
    let mut options = Vec::new();
    for item in &value.param.items {
        match OPTIONS.iter().find(|(name, _)| !item.text.is_empty() && name.starts_with(item.text.as_str())) {
            Some((_, option)) => options.push(Spanned::new(*option, item.span)),
            None => problems.push(
                Diag::error("bad-value", format!("`report=` does not take `{}`", item.text), item.span)
                    .label("expected host_detail, slave_detail, no_sd_detail or no_fsd_detail")
                    .vdbench(format!("Invalid 'reports=' parameter: {}", item.text)),
            ),
        }
    }
    *list = Some(Spanned::new(options, value.param.value_span));
}

/// `histogram=(default,bounds…)` or `(default,suppress)`.
fn histogram(value: Value<'_>, problems: &mut Problems) -> Opt<HistogramSpec> {
    let (first, rest) = value.param.items.split_first()?;
    let span = value.param.value_span;
    if first.text != "default" {
        problems.bad_value("histogram", first.span, &first.text, "`(default,…)`");
        return None;
    }
    if let [only] = rest
        && only.text == "suppress"
    {
        return Some(Spanned::new(HistogramSpec { bounds_us: Vec::new(), suppress: true }, span));
    }
    let bounds_us = bounds(rest, problems)?;
    Some(Spanned::new(HistogramSpec { bounds_us, suppress: false }, span))
}

/// Bounds in µs. One that does not rise is the step up to the next (`docs/vdbench/reports.md` §8).
fn bounds(items: &[Item], problems: &mut Problems) -> Option<Vec<u64>> {
    const MOST: usize = 64;
    let mut out: Vec<u64> = Vec::new();
    let mut step: Option<(u64, Span)> = None;
    for item in items {
        let Some(us) = number::microseconds(&item.text) else {
            problems.bad_value("histogram", item.span, &item.text, "a time such as 20, 20u, 5m or 1s");
            return None;
        };
        let last = out.last().copied();
        let fault = match (last, step.take()) {
            (_, _) if us == 0 => Some("a bound must be above 0"),
            (Some(last), Some(_)) if us <= last => Some("must be above the bound before the step"),
            (Some(last), Some((step, _))) => {
                let more = (us - last).div_ceil(step);
                if more as usize > MOST {
                    Some("the step makes more than 64 buckets")
                } else {
                    out.extend((1..more).map(|n| last + n * step));
                    out.push(us);
                    None
                }
            }
            (Some(last), None) if us <= last => {
                step = Some((us, item.span));
                None
            }
            _ => {
                out.push(us);
                None
            }
        };
        let fault = fault.or((out.len() > MOST).then_some("more than 64 buckets"));
        if let Some(why) = fault {
            problems.push(Diag::error("histogram", "the bounds of the histogram do not fit", item.span).label(why));
            return None;
        }
    }
    if let Some((_, span)) = step {
        problems.push(
            Diag::error("histogram", "the bounds of the histogram do not fit", span)
                .label("does not rise, so it is a step; the bound it leads to is missing"),
        );
        return None;
    }
    Some(out)
}

/// `misc=(key=value,…)`: unknown keys warn.
fn miscellany(value: Value<'_>, list: &mut Vec<(Spanned<String>, Spanned<String>)>, problems: &mut Problems) {
    for item in &value.param.items {
        let Some((key, text)) = item.text.split_once('=') else {
            problems.push(
                Diag::warning("misc-key", format!("`{}` in `misc=` is ignored", item.text), item.span)
                    .label("expected `key=value`"),
            );
            continue;
        };
        if !misc::is_known(key) {
            let near = crate::suggest::nearest(key, misc::KEYS);
            let diag = Diag::warning("misc-key", format!("unknown key `{key}` in `misc=`"), item.span).label("ignored");
            problems.push(match near {
                Some(near) => diag.fix(item.span, format!("{near}={text}")),
                None => diag,
            });
        }
        list.push((Spanned::new(key.to_owned(), item.span), Spanned::new(text.to_owned(), item.span)));
    }
}

/// `loop=n`, or with `s`, `m` or `h` behind it.
fn repeat(value: Value<'_>, problems: &mut Problems) -> Opt<Repeat> {
    let text = value.text(problems)?;
    let parsed = number::count_and_unit(&text.value).and_then(|(n, unit)| {
        Some(match unit.to_ascii_lowercase().as_str() {
            "" => Repeat::Passes(n),
            "s" => Repeat::Seconds(n),
            "m" => Repeat::Seconds(n.checked_mul(60)?),
            "h" => Repeat::Seconds(n.checked_mul(3600)?),
            _ => return None,
        })
    });
    if parsed.is_none() {
        problems.bad_value("loop", text.span, &text.value, "a number of passes, or a time such as 10m");
    }
    parsed.map(|repeat| Spanned::new(repeat, text.span))
}

/// At most two values; the first is `report` or seconds.
fn timeout(value: Value<'_>, problems: &mut Problems) -> crate::ast::List<String> {
    let items = &value.param.items;
    let first = items.first()?;
    if items.len() > 2 {
        problems.push(
            Diag::error("timeout", "`timeout=` takes at most two values", value.param.value_span)
                .label(format!("has {}", items.len())),
        );
        return None;
    }
    if first.text != "report" && number::number(&first.text, true).is_none() {
        problems.bad_value("timeout", first.span, &first.text, "`report` or seconds");
        return None;
    }
    value.words()
}
