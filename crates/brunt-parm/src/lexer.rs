//! A logical line becomes parameters: `keyword=value`, separated by commas
//! (`docs/vdbench/raw.md` §1.2, §1.3, §1.5).

use std::ops::Range;

use crate::diag::Diag;
use crate::problems::Problems;
use crate::source::Span;
use crate::suggest;
use crate::text::Mapped;

/// One value, or one item of a list, without its quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    /// The text.
    pub(crate) text: String,
    /// Where its unquoted dashes are, in bytes of the text.
    pub(crate) dashes: Vec<usize>,
    /// Its place.
    pub(crate) span: Span,
}

/// A parameter.
#[derive(Debug, Clone)]
pub(crate) struct Param {
    /// The keyword, in lower case.
    pub(crate) key: String,
    /// Place of the keyword.
    pub(crate) key_span: Span,
    /// The whole parameter as it stands, for `parmscan.html`.
    pub(crate) raw: String,
    /// Its values: one, or those in the parentheses.
    pub(crate) items: Vec<Item>,
    /// Whether the value was in parentheses.
    pub(crate) list: bool,
    /// Place of the value.
    pub(crate) value_span: Span,
    /// Place of the whole parameter.
    pub(crate) span: Span,
}

/// Splits a logical line into parameters; what is none is reported and left out.
pub(crate) fn params(line: &Mapped, problems: &mut Problems) -> Vec<Param> {
    Lexer { line, text: line.as_str(), problems, at: 0, complained: false }.run()
}

struct Lexer<'a> {
    line: &'a Mapped,
    text: &'a str,
    problems: &'a mut Problems,
    at: usize,
    /// Whether this line was already said to hold something that is no parameter.
    complained: bool,
}

impl Lexer<'_> {
    fn run(mut self) -> Vec<Param> {
        let mut params = Vec::new();
        while self.at < self.text.len() {
            let start = self.at;
            if let Some(param) = self.param() {
                params.push(param);
            }
            // A parameter ends at its comma.
            if self.text[self.at..].starts_with(',') {
                self.at += 1;
            }
            debug_assert!(self.at > start, "every round takes something");
            self.at = self.at.max(start + 1);
        }
        params
    }

    fn span(&self, range: Range<usize>) -> Span {
        self.line.span(range)
    }

    fn param(&mut self) -> Option<Param> {
        let start = self.at;
        let key_end = self.text[start..].find(['=', ',']).map_or(self.text.len(), |n| start + n);
        if !self.text[key_end..].starts_with('=') {
            self.at = key_end;
            self.not_a_parameter(start..key_end);
            return None;
        }
        let key = &self.text[start..key_end];
        self.at = key_end + 1;
        let value = self.value();
        let end = self.at;
        if key.len() < 2 {
            self.short_key(key, start..end);
            return None;
        }
        let (items, list, range) = value?;
        if items.is_empty() || (items.len() == 1 && items[0].text.is_empty() && range.len() < 2) {
            self.problems.push(
                Diag::error("no-value", format!("`{key}=` has no value"), self.span(start..end))
                    .label("expected a value right behind the `=`, without a blank"),
            );
            return None;
        }
        Some(Param {
            key: key.to_ascii_lowercase(),
            key_span: self.span(start..key_end),
            raw: self.text[start..end].to_owned(),
            items,
            list,
            value_span: self.span(range),
            span: self.span(start..end),
        })
    }

    fn not_a_parameter(&mut self, range: Range<usize>) {
        if std::mem::replace(&mut self.complained, true) {
            return;
        }
        let found = &self.text[range.clone()];
        if found.is_empty() {
            self.problems.push(
                Diag::error(
                    "empty-parameter",
                    "two commas without a parameter between them",
                    self.span(range.start..range.start + 1),
                )
                .label("nothing before this comma")
                .fix(self.span(range.start..range.start + 1), ""),
            );
            return;
        }
        let mut diag =
            Diag::error("no-keyword", format!("expected `keyword=value`, found `{found}`"), self.span(range.clone()))
                .label("no `=` behind it");
        diag = match suggest::missing_equals(found) {
            Some(mended) => diag.fix(self.span(range), mended).help("put an `=` between keyword and value"),
            None => diag.help("a comment begins with `*`, `#` or `/`, on each of its lines; no blanks around `=`"),
        };
        self.problems.push(diag);
    }

    fn short_key(&mut self, key: &str, range: Range<usize>) {
        let message = if key.is_empty() {
            "there is no keyword before the `=`".to_owned()
        } else {
            format!("`{key}` is too short: a keyword has at least two characters")
        };
        self.problems.push(Diag::error("short-keyword", message, self.span(range)).label("expected `keyword=value`"));
    }

    /// The value at the current place, which is left at its end.
    fn value(&mut self) -> Option<(Vec<Item>, bool, Range<usize>)> {
        let start = self.at;
        if self.text[start..].starts_with('(') {
            return self.list();
        }
        let mut scan = Scan::default();
        let mut end = self.text.len();
        for (n, c) in self.text[start..].char_indices() {
            let at = start + n;
            if scan.depth == 0 && c == ')' && !scan.quoted {
                self.at = self.next_comma(at);
                self.unmatched(at);
                return None;
            }
            if c == ',' && scan.outside() {
                end = at;
                break;
            }
            scan.take(c, at);
        }
        if scan.depth > 0 && !self.unclosed(scan.opened) {
            return None;
        }
        self.at = end;
        Some((vec![self.item(start..end)], false, start..end))
    }

    fn list(&mut self) -> Option<(Vec<Item>, bool, Range<usize>)> {
        let start = self.at;
        let mut scan = Scan::default();
        let mut items = Vec::new();
        let mut item = start + 1;
        for (n, c) in self.text[start..].char_indices() {
            let at = start + n;
            if c == ',' && scan.depth == 1 && !scan.quoted {
                items.push(self.item(item..at));
                item = at + 1;
            }
            scan.take(c, at);
            if scan.depth == 0 && !scan.quoted {
                if at > item || !items.is_empty() {
                    items.push(self.item(item..at));
                }
                self.at = at + 1;
                return self.after_list(items, start..at + 1);
            }
        }
        if !self.unclosed(start) {
            return None;
        }
        let end = self.text.len();
        if item < end {
            items.push(self.item(item..end));
        }
        self.after_list(items, start..end)
    }

    /// Checks what stands behind a closed list, and that no item of it is empty.
    fn after_list(&mut self, items: Vec<Item>, range: Range<usize>) -> Option<(Vec<Item>, bool, Range<usize>)> {
        let rest = self.text[range.end..].chars().next();
        if rest.is_some_and(|c| c != ',') {
            let end = self.next_comma(range.end);
            self.at = end;
            let code = if rest == Some(')') { "unmatched-parenthesis" } else { "text-after-list" };
            self.problems.push(
                Diag::error(
                    code,
                    format!("unexpected `{}` behind a list", &self.text[range.end..end]),
                    self.span(range.end..end),
                )
                .label("expected a comma or the end of the line"),
            );
            return None;
        }
        if items.len() > 1
            && let Some(empty) = items.iter().find(|i| i.text.is_empty() && i.span.start == i.span.end)
        {
            self.problems.push(
                Diag::error("empty-item", "a list has an item that is empty", empty.span)
                    .label("nothing between the commas"),
            );
            return None;
        }
        Some((items, true, range))
    }

    fn unmatched(&mut self, at: usize) {
        self.problems.push(
            Diag::error("unmatched-parenthesis", "there is no `(` for this `)`", self.span(at..at + 1))
                .label("closes nothing")
                .fix(self.span(at..at + 1), ""),
        );
    }

    /// Reports a parenthesis that is never closed.
    ///
    /// With nothing behind it on its line the value is complete; else this goes on at the next
    /// `keyword=` and says so by `false`.
    fn unclosed(&mut self, opened: usize) -> bool {
        let resume = self.next_keyword(opened);
        let complete = resume == self.text.len();
        self.at = resume;
        let close = if complete { self.text.trim_end_matches(',').len() } else { resume };
        let new = if complete { Diag::warning } else { Diag::error };
        let place = self.span(opened..opened + 1);
        if complete && close < self.text.len() && self.problems.has_behind("ignored-text", place) {
            // A comma at the end of the input: what followed it was cut off, and that was said.
            return true;
        }
        self.problems.push(
            new("unclosed-parenthesis", "this `(` is never closed".to_owned(), place)
                .label("no `)` on this line")
                .help("a list goes on in the next line only when a comma ends this one")
                .fix(self.span(close..close), ")"),
        );
        complete
    }

    /// The comma before the next thing that looks like `keyword=`, or the end.
    fn next_keyword(&self, from: usize) -> usize {
        let commas = self.text[from..].match_indices(',').map(|(n, _)| from + n);
        commas
            .into_iter()
            .find(|&at| {
                let word = self.text[at + 1..].split(['=', ',', '(', ')']).next().unwrap_or_default();
                let is_word = word.len() >= 2 && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
                is_word && self.text[at + 1 + word.len()..].starts_with('=')
            })
            .unwrap_or(self.text.len())
    }

    fn next_comma(&self, from: usize) -> usize {
        self.text[from..].find(',').map_or(self.text.len(), |n| from + n)
    }

    fn item(&self, range: Range<usize>) -> Item {
        let raw = &self.text[range.clone()];
        let span = self.span(range);
        let mut item = Item { text: String::with_capacity(raw.len()), dashes: Vec::new(), span };
        let mut quoted = false;
        for c in raw.chars() {
            match c {
                '"' => quoted = !quoted,
                c => {
                    if c == '-' && !quoted {
                        item.dashes.push(item.text.len());
                    }
                    item.text.push(c);
                }
            }
        }
        item
    }
}

/// Quotes and parentheses on the way.
#[derive(Default)]
struct Scan {
    quoted: bool,
    depth: u32,
    opened: usize,
}

impl Scan {
    fn outside(&self) -> bool {
        !self.quoted && self.depth == 0
    }

    fn take(&mut self, c: char, at: usize) {
        match c {
            '"' => self.quoted = !self.quoted,
            '(' if !self.quoted => {
                if self.depth == 0 {
                    self.opened = at;
                }
                self.depth += 1;
            }
            ')' if !self.quoted => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::FileId;

    fn lex(text: &str) -> (Vec<(String, Vec<String>)>, Vec<&'static str>) {
        let mut problems = Problems::default();
        let line = Mapped::verbatim(text, Span { file: FileId(0), start: 0, end: text.len() as u32 });
        let params = params(&line, &mut problems)
            .into_iter()
            .map(|p| (p.key, p.items.into_iter().map(|i| i.text).collect()))
            .collect();
        (params, problems.finish().iter().map(|d| d.code).collect())
    }

    fn one(key: &str, items: &[&str]) -> (String, Vec<String>) {
        (key.to_owned(), items.iter().map(|&i| i.to_owned()).collect())
    }

    #[test]
    fn lines_split_at_commas_outside_parentheses() {
        let (params, codes) = lex("rd=rd1,iorate=(1,2-4,1),XferSize=4K,elapsed=5,");
        assert_eq!(
            params,
            [one("rd", &["rd1"]), one("iorate", &["1", "2-4", "1"]), one("xfersize", &["4K"]), one("elapsed", &["5"])]
        );
        assert!(codes.is_empty());
    }

    #[test]
    fn quotes_protect_and_go() {
        let (params, codes) = lex("lun=\"/a b,c=d-e\",host=(\"h-1\",h\"2\"),x=\"(\"");
        assert_eq!(params[0], one("lun", &["/a b,c=d-e"]));
        assert_eq!(params[1], one("host", &["h-1", "h2"]));
        assert_eq!(codes, ["short-keyword"], "x is too short; the quoted parenthesis is not an error");
    }

    #[test]
    fn one_mistake_is_one_error_and_the_rest_is_read() {
        for (text, code, keys) in [
            ("prose with, words", "no-keyword", vec![]),
            ("a=5,bb=6", "short-keyword", vec!["bb"]),
            ("=5,bb=6", "short-keyword", vec!["bb"]),
            ("aa=5,,bb=6", "empty-parameter", vec!["aa", "bb"]),
            ("aa=,bb=6", "no-value", vec!["bb"]),
            ("aa=(),bb=6", "no-value", vec!["bb"]),
            ("aa=5),bb=6", "unmatched-parenthesis", vec!["bb"]),
            ("aa=(5)),bb=6", "unmatched-parenthesis", vec!["bb"]),
            ("aa=(5,6,bb=6", "unclosed-parenthesis", vec!["bb"]),
            ("aa=x(5,bb=6", "unclosed-parenthesis", vec!["bb"]),
            ("aa=(5)x,bb=6", "text-after-list", vec!["bb"]),
            ("aa=(5,,6),bb=6", "empty-item", vec!["bb"]),
            ("bb=6,aa=(5,6", "unclosed-parenthesis", vec!["bb", "aa"]),
            ("bb=6,aa=(5,6,", "unclosed-parenthesis", vec!["bb", "aa"]),
            ("bb=6,aa=x(5", "unclosed-parenthesis", vec!["bb", "aa"]),
        ] {
            let (params, codes) = lex(text);
            assert_eq!(codes, [code], "{text}");
            assert_eq!(params.iter().map(|p| p.0.as_str()).collect::<Vec<_>>(), keys, "{text}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in "[a-z=(),\"é-]*|.*") {
            let _ = lex(&text);
        }

        #[test]
        fn what_was_joined_comes_apart(items in proptest::collection::vec("[a-z0-9*./]{1,8}", 1..6)) {
            let (params, codes) = lex(&format!("key=({}),other=1", items.join(",")));
            prop_assert!(codes.is_empty());
            prop_assert_eq!(&params[0].1, &items);
        }
    }
}
