//! The values of a parameter as the kind its keyword takes; what does not fit is reported.

use crate::ast::{List, NameItem, Num, Opt, Setting};
use crate::diag::Diag;
use crate::lexer::{Item, Param};
use crate::lists::{self, Flaw, Remark};
use crate::number::{self, Suffix};
use crate::problems::{BAD_VALUE, Problems};
use crate::source::{Span, Spanned};

/// A parameter with its full keyword.
#[derive(Clone, Copy)]
pub(crate) struct Value<'a> {
    /// The full keyword.
    pub(crate) name: &'static str,
    /// What was written.
    pub(crate) param: &'a Param,
    /// Whether `m` means minutes.
    pub(crate) time: bool,
}

impl Value<'_> {
    fn place(&self) -> Span {
        self.param.value_span
    }

    /// The only value; a warning when there are more.
    fn only(&self, problems: &mut Problems) -> Option<&Item> {
        if let [_, second, ..] = self.param.items.as_slice() {
            problems.push(
                Diag::warning(
                    "one-value",
                    format!("`{}=` takes one value; the others are ignored", self.name),
                    second.span,
                )
                .label("ignored from here"),
            );
        }
        self.param.items.first()
    }

    /// One text.
    pub(crate) fn text(&self, problems: &mut Problems) -> Opt<String> {
        self.only(problems).map(|item| Spanned::new(item.text.clone(), item.span))
    }

    /// Its values as they stand.
    pub(crate) fn words(&self) -> List<String> {
        let words = self.param.items.iter().map(|i| Spanned::new(i.text.clone(), i.span)).collect();
        Some(Spanned::new(words, self.place()))
    }

    /// Names.
    pub(crate) fn names(&self, problems: &mut Problems) -> List<NameItem> {
        let items = &self.param.items;
        let names = if self.param.list {
            match lists::names(items) {
                Ok((names, remarks)) => {
                    self.remark(&remarks, problems);
                    names
                }
                Err((flaw, span)) => {
                    self.flaw(&flaw, span, problems);
                    return None;
                }
            }
        } else {
            items.iter().map(|i| Spanned::new(NameItem::One(i.text.clone()), i.span)).collect()
        };
        let numeric = names.iter().find(|n| number::number(n.value.first(), false).is_some());
        if let Some(name) = numeric {
            problems.push(numeric_name(self.name, name.value.first(), name.span));
            return None;
        }
        Some(Spanned::new(names, self.place()))
    }

    /// Numbers; ranges are expanded.
    pub(crate) fn numbers(&self, problems: &mut Problems) -> List<Num> {
        match lists::numbers(&self.param.items, self.time) {
            Ok((numbers, remarks)) => {
                self.remark(&remarks, problems);
                Some(Spanned::new(numbers, self.place()))
            }
            Err((flaw, span)) => {
                self.flaw(&flaw, span, problems);
                None
            }
        }
    }

    /// One number; of a range the first.
    pub(crate) fn num(&self, problems: &mut Problems) -> Opt<Num> {
        let item = self.param.items.first()?;
        if self.param.list && !item.dashes.is_empty() && number::number(&item.text, self.time).is_none() {
            return self.first(problems);
        }
        let item = self.only(problems)?;
        let Some(found) = number::number(&item.text, self.time) else {
            problems.bad_value(self.name, item.span, &item.text, "a number");
            return None;
        };
        match found.suffix {
            Suffix::Seconds => self.remark(&[(Remark::Seconds, item.span)], problems),
            Suffix::Java => self.remark(&[(Remark::Java, item.span)], problems),
            _ => {}
        }
        Some(Spanned::new(found.num, item.span))
    }

    /// The first number of a range, where one is taken.
    fn first(&self, problems: &mut Problems) -> Opt<Num> {
        let numbers = self.numbers(problems)?;
        let first = *numbers.value.first()?;
        problems.push(
            Diag::warning(
                "one-value",
                format!("`{}=` takes one value; the others are ignored", self.name),
                numbers.span,
            )
            .label(format!("only {} counts", first.value.value)),
        );
        Some(first)
    }

    /// One number, not below `least`; `%` counts as the plain number where percents are meant.
    pub(crate) fn float(&self, least: f64, problems: &mut Problems) -> Opt<f64> {
        let num = self.num(problems)?;
        self.check_float(num, least, problems)
    }

    fn check_float(&self, num: Spanned<Num>, least: f64, problems: &mut Problems) -> Opt<f64> {
        if num.value.percent {
            problems.bad_value(self.name, num.span, &format!("{}%", num.value.value), "a number without `%`");
            return None;
        }
        if num.value.value < least {
            self.too_small(num.value.value, least, num.span, problems);
            return None;
        }
        Some(num.map(|n| n.value))
    }

    /// One percentage, with or without `%`.
    pub(crate) fn percent(&self, problems: &mut Problems) -> Opt<f64> {
        let num = self.num(problems)?;
        Some(self.plain_percent(num, problems))
    }

    /// A percentage as a plain number; a note when it was written with `%`.
    pub(crate) fn plain_percent(&self, num: Spanned<Num>, problems: &mut Problems) -> Spanned<f64> {
        if num.value.percent {
            problems.once(
                self.name,
                Diag::note("percent-sign", format!("`{}=` is in percent already", self.name), num.span)
                    .label(format!("read as {}; Vdbench reads it as -{}", num.value.value, num.value.value))
                    .help("leave the `%` out"),
            );
        }
        num.map(|n| n.value)
    }

    /// One whole number, not below `least`; fractions are cut off.
    pub(crate) fn whole(&self, least: u64, problems: &mut Problems) -> Opt<u64> {
        let num = self.float(f64::NEG_INFINITY, problems)?;
        match whole(num.value) {
            Some(n) if n >= least => return Some(Spanned::new(n, num.span)),
            None if num.value > 0.0 => {
                problems.bad_value(self.name, num.span, &num.value.to_string(), "a smaller number");
            }
            _ => self.too_small(num.value, least as f64, num.span, problems),
        }
        None
    }

    /// As [`Value::whole`], within 32 bits.
    pub(crate) fn small(&self, least: u64, problems: &mut Problems) -> Opt<u32> {
        let n = self.whole(least, problems)?;
        match u32::try_from(n.value) {
            Ok(small) => Some(Spanned::new(small, n.span)),
            Err(_) => {
                problems.bad_value(self.name, n.span, &n.value.to_string(), "a smaller number");
                None
            }
        }
    }

    /// Bytes that must be a multiple of 512.
    pub(crate) fn sectors(&self, problems: &mut Problems) -> Opt<u64> {
        let n = self.whole(0, problems)?;
        if n.value.is_multiple_of(512) {
            return Some(n);
        }
        let (down, up) = (n.value / 512 * 512, (n.value / 512 + 1) * 512);
        problems.push(
            Diag::error("not-512", format!("`{}=` must be a multiple of 512", self.name), n.span)
                .label(format!("{} is not; {down} and {up} are", n.value)),
        );
        None
    }

    /// Two numbers, low and high.
    pub(crate) fn pair(&self, problems: &mut Problems) -> Opt<(f64, f64)> {
        if let [only] = self.param.items.as_slice()
            && let Some((low, high)) = dashed(only)
        {
            problems.push(
                Diag::error("two-values", format!("`{}=` needs two values, `(low,high)`", self.name), self.place())
                    .label("with a dash this is a range of numbers")
                    .help("put a comma between low and high")
                    .fix(self.place(), format!("({low},{high})"))
                    .vdbench(BAD_VALUE),
            );
            return None;
        }
        let [low, high] = self.param.items.as_slice() else {
            problems.push(
                Diag::error("two-values", format!("`{}=` needs two values, `(low,high)`", self.name), self.place())
                    .label(format!("has {}", self.param.items.len())),
            );
            return None;
        };
        let low = self.pair_part(low, problems)?;
        let high = self.pair_part(high, problems)?;
        Some(Spanned::new((low, high), self.place()))
    }

    fn pair_part(&self, item: &Item, problems: &mut Problems) -> Option<f64> {
        match number::number(&item.text, self.time) {
            Some(found) => self
                .check_float(area_percent(self.name, Spanned::new(found.num, item.span)), 0.0, problems)
                .map(|n| n.value),
            None => {
                problems.bad_value(self.name, item.span, &item.text, "a number");
                None
            }
        }
    }

    /// `yes` or `no`, by the first letter.
    pub(crate) fn yes_no(&self, problems: &mut Problems) -> Opt<bool> {
        let word = self.text(problems)?;
        let first = word.value.chars().next().map(|c| c.to_ascii_lowercase());
        if !matches!(first, Some('y' | 'n')) {
            problems.push(
                Diag::warning("yes-no", format!("`{}={}` is read as no", self.name, word.value), word.span)
                    .label("expected `yes` or `no`"),
            );
        }
        Some(word.map(|_| first == Some('y')))
    }

    /// Kept as written.
    pub(crate) fn setting(&self) -> Setting {
        Setting {
            keyword: self.name,
            span: self.param.span,
            values: self.param.items.iter().map(|i| Spanned::new(i.text.clone(), i.span)).collect(),
        }
    }

    fn too_small(&self, found: f64, least: f64, span: Span, problems: &mut Problems) {
        problems.push(
            Diag::error("too-small", format!("`{}={found}` is too small", self.name), span)
                .label(format!("must be at least {least}")),
        );
    }

    fn remark(&self, remarks: &[(Remark, Span)], problems: &mut Problems) {
        for (remark, span) in remarks {
            let (code, message, label) = match remark {
                Remark::Seconds => {
                    ("seconds-suffix", "`s` for seconds is understood here and refused by Vdbench", "seconds")
                }
                Remark::Java => {
                    ("java-suffix", "a `d` or `f` behind a number means nothing", "not a day; leave the letter out")
                }
                Remark::GuideDoubling => (
                    "guide-range",
                    "this form of doubling is in Vdbench's guide and refused by Vdbench",
                    "doubles or halves between the two numbers before it; `(from-to,d)` works in both",
                ),
                Remark::NoStep => (
                    "no-step",
                    "a range without a step is refused by Vdbench",
                    "read with a step of 1; `(from-to,1)` works in both",
                ),
                Remark::Zeros => {
                    ("zeros-lost", "a range of names loses its leading zeros", "only the first name keeps them")
                }
            };
            let note = if *remark == Remark::Zeros { Diag::warning } else { Diag::note };
            problems.once(self.name, note(code, message.to_owned(), *span).label(label));
        }
    }

    fn flaw(&self, flaw: &Flaw, span: Span, problems: &mut Problems) {
        let name = self.name;
        let diag = match flaw {
            Flaw::Word(word) => {
                let mixed = self.param.items.len() > 1;
                let wanted = if mixed { "numbers only: words and numbers do not mix" } else { "a number" };
                return problems.bad_value(name, span, word, wanted);
            }
            Flaw::Step => Diag::error("bad-step", format!("the range of `{name}=` never ends"), span)
                .label("ends and step must be above 0"),
            Flaw::TooMany => Diag::error("too-many", format!("`{name}=` has more than 100000 values"), span)
                .label("from here on")
                .help("use a larger step, or `d` to double"),
            Flaw::NameRange(text) => Diag::error("bad-name-range", format!("`{text}` is not a range of names"), span)
                .label("a range is prefix and number on both sides, such as `sd1-sd5`")
                .help("quote a name that has a dash in it")
                .fix(span, format!("\"{text}\"")),
            Flaw::Descending(text) => Diag::error("bad-name-range", format!("`{text}` does not rise"), span)
                .label("the second number must be above the first"),
        };
        problems.push(diag.vdbench(BAD_VALUE));
    }
}

/// A whole number, fractions cut off; `None` when negative or beyond 2^63.
pub(crate) fn whole(value: f64) -> Option<u64> {
    (value > -1.0 && value < 9.2e18).then_some(value.max(0.0) as u64)
}

/// A name that reads as a number.
pub(crate) fn numeric_name(keyword: &str, name: &str, span: Span) -> Diag {
    Diag::error("numeric-name", format!("`{name}` cannot be a name: it reads as a number"), span)
        .label("a number")
        .help(format!(
            "begin the name with letters, as in `{keyword}={keyword}{}`",
            name.trim_start_matches(['-', '+'])
        ))
        .vdbench(BAD_VALUE)
}

/// `range=(10%,50%)` is in percent anyway.
fn area_percent(name: &str, mut num: Spanned<Num>) -> Spanned<Num> {
    if matches!(name, "range" | "hotband") {
        num.value.percent = false;
    }
    num
}

/// The two numbers of `10-20`.
fn dashed(item: &Item) -> Option<(&str, &str)> {
    item.dashes.iter().find_map(|&dash| {
        let (low, high) = (&item.text[..dash], &item.text[dash + 1..]);
        (number::number(low, false).is_some() && number::number(high, false).is_some()).then_some((low, high))
    })
}
