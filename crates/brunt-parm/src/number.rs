//! Numbers with their suffixes (`docs/vdbench/raw.md` §1.4).

use nom::bytes::complete::take_while1;
use nom::character::complete::char;
use nom::combinator::opt;
use nom::number::complete::recognize_float;
use nom::{IResult, Parser};

use crate::ast::Num;

/// The suffix a number was written with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suffix {
    /// None.
    None,
    /// `d` or `f`, which Java reads as part of the number.
    Java,
    /// `k`, `m`, `g`, `t`: powers of 1024.
    Binary,
    /// `m` of a time.
    Minutes,
    /// `h`.
    Hours,
    /// `s` of a time, which Vdbench refuses.
    Seconds,
    /// `%`.
    Percent,
}

/// A number as written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Number {
    /// Its value, suffix applied.
    pub(crate) num: Num,
    /// Its suffix.
    pub(crate) suffix: Suffix,
}

/// Reads a number; `time` says that the keyword takes a time, where `m` means minutes.
///
/// `None`: the text is a word.
pub(crate) fn number(text: &str, time: bool) -> Option<Number> {
    let (rest, digits) = float(text).ok()?;
    let value: f64 = digits.parse().ok()?;
    let (suffix, factor) = suffix(rest, time)?;
    let value = value * factor;
    value.is_finite().then_some(Number { num: Num { value, percent: suffix == Suffix::Percent }, suffix })
}

fn float(text: &str) -> IResult<&str, &str> {
    recognize_float(text)
}

fn suffix(text: &str, time: bool) -> Option<(Suffix, f64)> {
    let lower = text.to_ascii_lowercase();
    const K: f64 = 1024.0;
    Some(match lower.as_str() {
        "" => (Suffix::None, 1.0),
        "d" | "f" => (Suffix::Java, 1.0),
        "h" => (Suffix::Hours, 3600.0),
        "m" if time => (Suffix::Minutes, 60.0),
        "s" if time => (Suffix::Seconds, 1.0),
        "%" => (Suffix::Percent, 1.0),
        "k" | "kb" => (Suffix::Binary, K),
        "m" | "mb" => (Suffix::Binary, K * K),
        "g" | "gb" => (Suffix::Binary, K * K * K),
        "t" | "tb" => (Suffix::Binary, K * K * K * K),
        _ => return None,
    })
}

/// A count with a unit, as `loop=10m`: the digits and the rest.
pub(crate) fn count_and_unit(text: &str) -> Option<(u64, &str)> {
    let digits: IResult<&str, &str> = take_while1(|c: char| c.is_ascii_digit()).parse(text);
    let (rest, digits) = digits.ok()?;
    Some((digits.parse().ok()?, rest))
}

/// The prefix and the number of a name such as `sd12`.
pub(crate) fn name_and_number(text: &str) -> Option<(&str, u64)> {
    let prefix = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = text[prefix.len()..].parse().ok()?;
    (!prefix.is_empty()).then_some((prefix, number))
}

/// A time in µs with `u`, `m` or `s` behind it, as in `histogram=`.
pub(crate) fn microseconds(text: &str) -> Option<u64> {
    let parsed: IResult<&str, (&str, Option<char>)> = (float, opt(char('u'))).parse(text);
    let (rest, (digits, micro)) = parsed.ok()?;
    let value: f64 = digits.parse().ok()?;
    let factor = match (micro, rest.to_ascii_lowercase().as_str()) {
        (_, "") => 1.0,
        (None, "m") => 1e3,
        (None, "s") => 1e6,
        _ => return None,
    };
    let us = value * factor;
    (0.0..1e15).contains(&us).then_some(us.round() as u64)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value(text: &str) -> Option<f64> {
        number(text, false).map(|n| n.num.value)
    }

    #[test]
    fn suffixes_are_binary_and_case_does_not_matter() {
        assert_eq!(value("4k"), Some(4096.0));
        assert_eq!(value("10mb"), Some(10.0 * 1048576.0));
        assert_eq!(value("1KB"), Some(1024.0));
        assert_eq!(value("0.5k"), Some(512.0));
        assert_eq!(value("1t"), Some(1024f64.powi(4)));
        assert_eq!(value("1h"), Some(3600.0), "for every keyword");
        assert_eq!(value("1e3"), Some(1000.0));
        assert_eq!(value("-1"), Some(-1.0));
        assert_eq!(value("100d"), Some(100.0));
        for word in ["lots", "", "k", "10s", "0x10", "1kk", "inf", "nan", "4k,", "1 ", "1e999"] {
            assert_eq!(value(word), None, "{word}");
        }
    }

    #[test]
    fn times_have_minutes_and_seconds() {
        let time = |t| number(t, true).map(|n| (n.num.value, n.suffix));
        assert_eq!(time("2m"), Some((120.0, Suffix::Minutes)));
        assert_eq!(time("10s"), Some((10.0, Suffix::Seconds)));
        assert_eq!(time("1k"), Some((1024.0, Suffix::Binary)));
        assert_eq!(time("1d"), Some((1.0, Suffix::Java)), "not a day");
    }

    #[test]
    fn percent_is_remembered() {
        let n = number("50%", false).unwrap();
        assert!(n.num.percent);
        assert_eq!(n.num.value, 50.0);
    }

    #[test]
    fn microseconds_have_units() {
        assert_eq!(microseconds("20"), Some(20));
        assert_eq!(microseconds("20u"), Some(20));
        assert_eq!(microseconds("5m"), Some(5000));
        assert_eq!(microseconds("2s"), Some(2_000_000));
        assert_eq!(microseconds("5x"), None);
        assert_eq!(microseconds("5um"), None);
    }

    proptest! {
        #[test]
        fn whole_numbers_keep_their_value(n in 0u32.., suffix in 0usize..4) {
            let text = format!("{n}{}", ["", "k", "M", "gb"][suffix]);
            prop_assert_eq!(value(&text), Some(f64::from(n) * 1024f64.powi(suffix as i32)));
        }

        #[test]
        fn never_panics(text in ".*") {
            let _ = number(&text, true);
            let _ = microseconds(&text);
            let _ = name_and_number(&text);
            let _ = count_and_unit(&text);
        }
    }
}
