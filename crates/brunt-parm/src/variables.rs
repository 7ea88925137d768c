//! `key=value` arguments: `$key` and `!key` in the files (`docs/vdbench/raw.md` §1.7).

use std::ops::Range;

use crate::diag::Diag;
use crate::keywords::{self, Section};
use crate::problems::Problems;
use crate::source::Span;
use crate::suggest;
use crate::text::Mapped;

struct Variable {
    key: String,
    value: String,
    span: Span,
    used: bool,
}

/// All variables of the command line.
#[derive(Default)]
pub(crate) struct Variables {
    /// Longest key first, so that the longest name wins.
    list: Vec<Variable>,
    lax: bool,
}

impl Variables {
    /// The variables with the places of their arguments; `lax` turns off the checks (`-d98`).
    pub(crate) fn new(arguments: Vec<(String, String, Span)>, lax: bool) -> Self {
        let mut list: Vec<Variable> = Vec::new();
        for (key, value, span) in arguments.into_iter().filter(|(key, ..)| !key.is_empty()) {
            match list.iter_mut().find(|v| v.key == key) {
                Some(same) => *same = Variable { key, value, span, used: false },
                None => list.push(Variable { key, value, span, used: false }),
            }
        }
        list.sort_by_key(|v| std::cmp::Reverse(v.key.len()));
        Self { list, lax }
    }

    /// Replaces the variables in a text; `None` when there is none in it.
    pub(crate) fn apply(&mut self, text: &Mapped) -> Option<Mapped> {
        let mut found: Vec<(Range<usize>, usize)> = Vec::new();
        let mut done = 0;
        for at in signs(text.as_str()) {
            let rest = &text.as_str()[at + 1..];
            if at < done {
                continue;
            }
            if let Some(index) = self.list.iter().position(|v| rest.starts_with(&v.key)) {
                self.list[index].used = true;
                done = at + 1 + self.list[index].key.len();
                found.push((at..done, index));
            }
        }
        if found.is_empty() {
            return None;
        }
        Some(text.replaced(found.iter().map(|(range, index)| (range.clone(), self.list[*index].value.as_str()))))
    }

    /// Reports variables that are used and not given.
    pub(crate) fn check_unknown(&self, text: &Mapped, problems: &mut Problems) {
        let line = text.as_str();
        if self.lax || line.contains("$host") || line.contains("!host") {
            return;
        }
        for at in signs(line).filter(|&at| line[..at].ends_with('=')) {
            let name: String = line[at + 1..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let end = at + 1 + name.len();
            let sign = &line[at..=at];
            let mut diag =
                Diag::error("unknown-variable", format!("variable `{sign}{name}` has no value"), text.span(at..end))
                    .label("not given on the command line");
            diag = if name.is_empty() {
                diag.help("a `$` or `!` right behind an `=` begins a variable")
            } else {
                match suggest::nearest(&name, self.list.iter().map(|v| v.key.as_str())) {
                    Some(near) => {
                        diag.fix(text.span(at..end), format!("{sign}{near}")).help(format!("`{near}` is given"))
                    }
                    None => diag.help(format!("add `{name}=VALUE` to the command line")),
                }
            };
            problems.push(diag);
        }
    }

    /// Reports variables that are given and not used.
    pub(crate) fn check_unused(&self, problems: &mut Problems) {
        for variable in self.list.iter().filter(|v| !v.used && !self.lax) {
            let key = &variable.key;
            let mut diag =
                Diag::error("unused-variable", format!("`${key}` is used nowhere in the files"), variable.span)
                    .label("has nothing to replace");
            if let Some(keyword) = keywords::lookup(Section::Rd, &key.to_ascii_lowercase()) {
                let option = match keyword.name {
                    "elapsed" => format!("`-e {}` or ", variable.value),
                    "interval" => format!("`-i {}` or ", variable.value),
                    "warmup" => format!("`-w {}` or ", variable.value),
                    _ => String::new(),
                };
                diag = diag.help(format!("to change every run, use {option}`+{key}={}`", variable.value));
            } else {
                diag = diag.help(format!("write `${key}` or `!{key}` where the value belongs, or leave it out"));
            }
            problems.push(diag);
        }
    }
}

/// Where a variable could begin.
fn signs(text: &str) -> impl Iterator<Item = usize> {
    text.bytes().enumerate().filter(|(_, b)| matches!(b, b'$' | b'!')).map(|(at, _)| at)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::FileId;

    fn span() -> Span {
        Span { file: FileId(0), start: 0, end: 100 }
    }

    fn apply(list: &[(&str, &str)], text: &str) -> String {
        let list = list.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned(), span())).collect();
        let line = Mapped::verbatim(text, span());
        Variables::new(list, false).apply(&line).map_or_else(|| text.to_owned(), |m| m.as_str().to_owned())
    }

    #[test]
    fn every_use_is_replaced_and_the_longest_name_wins() {
        assert_eq!(apply(&[("io", "5"), ("iops", "200")], "iorate=$iops,x=!io$io"), "iorate=200,x=55");
        assert_eq!(apply(&[("x", "elapsed=4")], "rd=rd1,$x"), "rd=rd1,elapsed=4");
        assert_eq!(apply(&[("x", "$x")], "a=$x"), "a=$x", "a value is not looked at again");
        assert_eq!(apply(&[("x", "1")], "a=$y"), "a=$y");
    }
}
