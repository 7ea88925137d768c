//! Lists and ranges inside parentheses (`docs/vdbench/raw.md` §1.5).

use crate::ast::{NameItem, Num};
use crate::lexer::Item;
use crate::number::{self, Number, Suffix};
use crate::source::{Span, Spanned};

/// How many values a list may have.
const MOST: usize = 100_000;

/// What is worth saying about a list that is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remark {
    /// `10s`, which Vdbench refuses.
    Seconds,
    /// `1d`, which is 1 and not a day.
    Java,
    /// `(64,1,d)`, which is in the guide and which Vdbench refuses.
    GuideDoubling,
    /// `(1-10)`, a range without a step.
    NoStep,
    /// `(sd01-sd03)`, which loses its zeros.
    Zeros,
}

/// Why a list is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// A word where a number belongs.
    Word(String),
    /// A step that never arrives.
    Step,
    /// More values than anybody means.
    TooMany,
    /// Not a range of names.
    NameRange(String),
    /// The second name does not follow the first.
    Descending(String),
}

/// A list with the remarks about it, or what is wrong with it and where.
pub(crate) type Listed<T> = Result<(Vec<Spanned<T>>, Vec<(Remark, Span)>), (Flaw, Span)>;

/// The numbers of a list, ranges expanded.
pub(crate) fn numbers(items: &[Item], time: bool) -> Listed<Num> {
    let mut list = Numbers { time, out: Vec::new(), remarks: Vec::new() };
    let mut at = 0;
    while at < items.len() {
        at += list.take(&items[at..])?;
        if list.out.len() > MOST {
            return Err((Flaw::TooMany, items[at - 1].span));
        }
    }
    Ok((list.out, list.remarks))
}

struct Numbers {
    time: bool,
    out: Vec<Spanned<Num>>,
    remarks: Vec<(Remark, Span)>,
}

impl Numbers {
    fn number(&mut self, text: &str, span: Span) -> Option<Num> {
        let Number { num, suffix } = number::number(text, self.time)?;
        match suffix {
            Suffix::Seconds => self.remarks.push((Remark::Seconds, span)),
            Suffix::Java => self.remarks.push((Remark::Java, span)),
            _ => {}
        }
        Some(num)
    }

    /// Takes one number or one range; says how many items it used.
    fn take(&mut self, items: &[Item]) -> Result<usize, (Flaw, Span)> {
        let (item, span) = (&items[0], items[0].span);
        if let Some(num) = self.number(&item.text, span) {
            self.out.push(Spanned::new(num, span));
            return Ok(1);
        }
        if item.text.eq_ignore_ascii_case("d") && self.out.len() >= 2 {
            // The form of the guide: the two numbers before it are the ends.
            let (to, from) = (self.out.pop(), self.out.pop());
            if let (Some(from), Some(to)) = (from, to) {
                self.remarks.push((Remark::GuideDoubling, span));
                self.double(from.value, to.value, from.span)?;
            }
            return Ok(1);
        }
        let ends = item.dashes.iter().find_map(|&dash| {
            let (from, to) = (&item.text[..dash], &item.text[dash + 1..]);
            Some((number::number(from, self.time)?.num, number::number(to, self.time)?.num))
        });
        let Some((from, to)) = ends else { return Err((Flaw::Word(item.text.clone()), span)) };
        let Some(next) = items.get(1) else {
            self.remarks.push((Remark::NoStep, span));
            return self.step(from, to, 1.0, span).map(|()| 1);
        };
        if next.text.eq_ignore_ascii_case("d") {
            return self.double(from, to, span).map(|()| 2);
        }
        match self.number(&next.text, next.span) {
            Some(step) => self.step(from, to, step.value, span).map(|()| 2),
            None => {
                self.remarks.push((Remark::NoStep, span));
                self.step(from, to, 1.0, span).map(|()| 1)
            }
        }
    }

    /// `a`, `a+s`, … up to `b`; only `a` when it is beyond.
    fn step(&mut self, from: Num, to: Num, step: f64, span: Span) -> Result<(), (Flaw, Span)> {
        if step <= 0.0 {
            return Err((Flaw::Step, span));
        }
        let count = ((to.value - from.value) / step + 1e-9).floor().max(0.0);
        if count >= MOST as f64 {
            return Err((Flaw::TooMany, span));
        }
        for n in 0..=count as u64 {
            self.push(from.value + n as f64 * step, from.percent, span);
        }
        Ok(())
    }

    /// `a`, `2a`, `4a`, … up to `b`, or `a`, `a/2`, … down to it.
    fn double(&mut self, from: Num, to: Num, span: Span) -> Result<(), (Flaw, Span)> {
        if from.value <= 0.0 || to.value <= 0.0 {
            return Err((Flaw::Step, span));
        }
        let up = from.value <= to.value;
        let mut value = from.value;
        while if up { value <= to.value } else { value >= to.value } {
            self.push(value, from.percent, span);
            value = if up { value * 2.0 } else { value / 2.0 };
        }
        Ok(())
    }

    fn push(&mut self, value: f64, percent: bool, span: Span) {
        self.out.push(Spanned::new(Num { value, percent }, span));
    }
}

/// The names of a list, ranges `sd1-sd5` as such.
pub(crate) fn names(items: &[Item]) -> Listed<NameItem> {
    let (mut out, mut remarks) = (Vec::with_capacity(items.len()), Vec::new());
    let mut count = 0usize;
    for item in items {
        if item.dashes.is_empty() {
            out.push(Spanned::new(NameItem::One(item.text.clone()), item.span));
            continue;
        }
        let (prefix, from, to, padded) = name_range(item).ok_or((Flaw::NameRange(item.text.clone()), item.span))?;
        if from >= to {
            return Err((Flaw::Descending(item.text.clone()), item.span));
        }
        count = count.saturating_add(usize::try_from(to - from).unwrap_or(usize::MAX));
        if count >= MOST {
            return Err((Flaw::TooMany, item.span));
        }
        if padded {
            remarks.push((Remark::Zeros, item.span));
        }
        let first = item.text[..item.dashes[0]].to_owned();
        out.push(Spanned::new(NameItem::Range { first, prefix: prefix.to_owned(), from, to }, item.span));
    }
    Ok((out, remarks))
}

fn name_range(item: &Item) -> Option<(&str, u64, u64, bool)> {
    let &[dash] = item.dashes.as_slice() else { return None };
    let (left, right) = (&item.text[..dash], &item.text[dash + 1..]);
    let (prefix, from) = number::name_and_number(left)?;
    let (other, to) = number::name_and_number(right)?;
    let padded = left[prefix.len()..].starts_with('0') && left.len() > prefix.len() + 1;
    (prefix == other).then_some((prefix, from, to, padded))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::borrow::Cow;

    use proptest::prelude::*;

    use super::*;
    use crate::FileId;

    fn items(text: &str) -> Vec<Item> {
        let span = Span { file: FileId(0), start: 0, end: 0 };
        text.split(',')
            .map(|t| Item { text: t.to_owned(), dashes: t.match_indices('-').map(|(n, _)| n).collect(), span })
            .collect()
    }

    fn values(text: &str) -> Vec<f64> {
        numbers(&items(text), false).unwrap().0.iter().map(|n| n.value.value).collect()
    }

    fn named(text: &str) -> Vec<String> {
        let list = names(&items(text)).unwrap().0;
        list.iter().flat_map(|n| n.value.names().map(Cow::into_owned)).collect()
    }

    #[test]
    fn the_worked_examples_of_the_spec() {
        assert_eq!(values("1,2-4,1,8-32,d"), [1.0, 2.0, 3.0, 4.0, 8.0, 16.0, 32.0]);
        assert_eq!(values("100-350,100"), [100.0, 200.0, 300.0]);
        assert_eq!(values("1k-10k,d"), [1024.0, 2048.0, 4096.0, 8192.0]);
        assert_eq!(values("16k-1k,d"), [16384.0, 8192.0, 4096.0, 2048.0, 1024.0]);
        assert_eq!(values("10-30,10"), [10.0, 20.0, 30.0]);
        assert_eq!(values("5-1,1"), [5.0], "only the first");
    }

    #[test]
    fn the_forms_of_the_guide_work() {
        assert_eq!(values("64,1,d"), [64.0, 32.0, 16.0, 8.0, 4.0, 2.0, 1.0]);
        assert_eq!(values("1-5"), [1.0, 2.0, 3.0, 4.0, 5.0]);
        let (_, remarks) = numbers(&items("64,1,d"), false).unwrap();
        assert_eq!(remarks[0].0, Remark::GuideDoubling);
        assert_eq!(numbers(&items("1-5"), false).unwrap().1[0].0, Remark::NoStep);
    }

    #[test]
    fn signs_are_not_ranges() {
        assert_eq!(values("-1,5,1e-1"), [-1.0, 5.0, 0.1]);
    }

    #[test]
    fn what_never_ends_is_refused() {
        for (text, flaw) in [
            ("1-10,0", Flaw::Step),
            ("0-10,d", Flaw::Step),
            ("1-1t,1", Flaw::TooMany),
            ("1,lots", Flaw::Word("lots".into())),
            ("d", Flaw::Word("d".into())),
        ] {
            assert_eq!(numbers(&items(text), false).unwrap_err().0, flaw, "{text}");
        }
    }

    #[test]
    fn name_ranges_expand_without_zeros() {
        assert_eq!(named("sd1-sd3,x*"), ["sd1", "sd2", "sd3", "x*"]);
        assert_eq!(named("sd01-sd03"), ["sd01", "sd2", "sd3"]);
        assert_eq!(names(&items("sd1-5")).unwrap_err().0, Flaw::NameRange("sd1-5".into()));
        assert_eq!(names(&items("sd5-sd1")).unwrap_err().0, Flaw::Descending("sd5-sd1".into()));
        assert_eq!(names(&items("a1-b2")).unwrap_err().0, Flaw::NameRange("a1-b2".into()));
    }

    proptest! {
        #[test]
        fn stepping_stays_inside(a in 0u32..1000, n in 0u32..500, s in 1u32..50) {
            let b = a + n;
            let got = values(&format!("{a}-{b},{s}"));
            let wanted: Vec<f64> = (a..=b).step_by(s as usize).map(f64::from).collect();
            prop_assert_eq!(got, wanted);
        }

        #[test]
        fn doubling_mirrors_halving(a in 1u32..100, k in 0u32..20) {
            let b = u64::from(a) << k;
            let up = values(&format!("{a}-{b},d"));
            let mut down = values(&format!("{b}-{a},d"));
            down.reverse();
            prop_assert_eq!(up.len() as u32, k + 1);
            prop_assert_eq!(up, down);
        }

        #[test]
        fn name_ranges_are_as_long_as_they_say(from in 0u64..50, n in 1u64..200) {
            let got = named(&format!("sd{from}-sd{}", from + n));
            prop_assert_eq!(got.len() as u64, n + 1);
            prop_assert_eq!(got.last().cloned(), Some(format!("sd{}", from + n)));
        }

        #[test]
        fn a_list_is_its_parts_one_behind_the_other(parts in prop::collection::vec((0u8..3, 1u32..50, 1u32..50), 1..6)) {
            let one = |(kind, a, b): &(u8, u32, u32)| match kind {
                0 => a.to_string(),
                1 => format!("{a}-{},{b}", a + 3 * b),
                _ => format!("{a}-{},d", a * 8),
            };
            let texts: Vec<String> = parts.iter().map(one).collect();
            let apart: Vec<f64> = texts.iter().flat_map(|t| values(t)).collect();
            prop_assert_eq!(values(&texts.join(",")), apart);
        }

        #[test]
        fn never_panics(text in "[-0-9dksmh%.,é]*") {
            let _ = numbers(&items(&text), true);
            let _ = names(&items(&text));
        }
    }
}
