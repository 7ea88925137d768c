//! What was probably meant.

use crate::keywords::{Section, is_full_name};

/// The candidate nearest to `word`, when it is near enough to be meant.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .filter(|c| c.len().abs_diff(word.len()) <= limit)
        .map(|c| (distance(word, c), c))
        .filter(|(d, _)| *d <= limit)
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

/// Edit distance in characters; two neighbours that changed places count as one edit.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let swap = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + swap);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

/// `threads4` is `threads=4` without its `=`.
pub(crate) fn missing_equals(word: &str) -> Option<String> {
    let lower = word.to_ascii_lowercase();
    let split = (2..lower.len()).rev().filter(|n| lower.is_char_boundary(*n)).find(|&n| {
        let value = &lower[n..];
        value.starts_with(|c: char| c.is_ascii_digit() || c == '(')
            && Section::ALL.into_iter().any(|s| is_full_name(s, &lower[..n]))
    })?;
    Some(format!("{}={}", &word[..split], &word[split..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let all = ["elapsed", "interval", "iorate", "threads"];
        assert_eq!(nearest("elapsd", all), Some("elapsed"));
        assert_eq!(nearest("theards", all), Some("threads"));
        assert_eq!(nearest("ioratte", all), Some("iorate"));
        assert_eq!(nearest("banana", all), None);
        assert_eq!(nearest("", all), None);
    }

    #[test]
    fn an_equals_sign_is_put_back() {
        assert_eq!(missing_equals("threads4").as_deref(), Some("threads=4"));
        assert_eq!(missing_equals("XferSize(4k").as_deref(), Some("XferSize=(4k"));
        for word in ["sizes", "4", "é4", "banana4"] {
            assert_eq!(missing_equals(word), None, "{word}");
        }
    }
}
