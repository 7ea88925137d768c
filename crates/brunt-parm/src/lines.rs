//! Physical lines become logical ones: comments go, continued lines are joined, and what `+` adds
//! is put behind each run (`docs/vdbench/raw.md` §1.1, §1.2).

use crate::diag::Diag;
use crate::keywords::{self, Section};
use crate::problems::Problems;
use crate::source::Span;
use crate::text::Mapped;

/// Whether a character separates, outside quotes. Unlike in Vdbench a tab does.
fn is_blank(c: char) -> bool {
    c == ' ' || c == '\t'
}

/// A line without its leading and trailing blanks, as a range.
pub(crate) fn trimmed(line: &str) -> std::ops::Range<usize> {
    let blank = |c: char| is_blank(c) || c == '\r';
    let start = line.len() - line.trim_start_matches(blank).len();
    let end = line.trim_end_matches(blank).len().max(start);
    start..end
}

/// Whether a trimmed line is a comment.
pub(crate) fn is_comment(line: &str) -> bool {
    line.starts_with(['*', '#', '/'])
}

/// Where the part that counts ends: at the first blank outside quotes.
pub(crate) fn content_end(line: &str) -> usize {
    let mut quoted = false;
    for (at, c) in line.char_indices() {
        match c {
            '"' => quoted = !quoted,
            c if is_blank(c) && !quoted => return at,
            _ => {}
        }
    }
    line.len()
}

/// The definition keyword a line begins with, as the section it would start.
pub(crate) fn leading_section(line: &str) -> Option<Section> {
    let (key, _) = line.split_once('=')?;
    if key.len() > 4 {
        return None;
    }
    Section::General.started_by(&key.to_ascii_lowercase())
}

/// Joins lines.
#[derive(Default)]
pub(crate) struct Joiner {
    pending: Option<Mapped>,
    /// Whether text behind its comma was reported.
    reported: bool,
    /// What `+` adds, with the comma before it.
    extra: Option<Mapped>,
    done: Vec<Mapped>,
}

impl Joiner {
    /// A joiner that puts `extra` behind each run of one line.
    pub(crate) fn new(extra: Option<Mapped>) -> Self {
        Self { extra, ..Self::default() }
    }

    /// Adds a line that is neither blank nor a comment.
    pub(crate) fn push(&mut self, line: &Mapped, problems: &mut Problems) {
        let text = line.as_str();
        let end = content_end(text);
        check_quotes(line, end, problems);
        let content = &text[..end];
        let open = content.ends_with(',') && end > 0;
        let ignored = end < text.len() && check_ignored(line, end, problems);
        let mut logical = line.slice(0..end);
        if !open
            && let Some(extra) = &self.extra
            && leading_section(content) == Some(Section::Rd)
        {
            logical.append(extra, 0..extra.as_str().len());
        }
        if let Some(mut pending) = self.pending.take() {
            if !self.reported {
                check_pulled_in(&pending, &logical, problems);
            }
            pending.append(&logical, 0..logical.as_str().len());
            logical = pending;
        }
        self.reported = ignored;
        if open {
            self.pending = Some(logical);
        } else {
            self.done.push(logical);
        }
    }

    /// The logical lines.
    pub(crate) fn finish(mut self) -> Vec<Mapped> {
        self.done.extend(self.pending);
        self.done
    }
}

/// An odd number of quotes protects all that follows.
fn check_quotes(line: &Mapped, end: usize, problems: &mut Problems) {
    let content = &line.as_str()[..end];
    if content.matches('"').count() % 2 == 1
        && let Some(at) = content.rfind('"')
    {
        problems.push(
            Diag::warning("open-quote", "this quote is never closed", line.span(at..at + 1))
                .label("protects everything to the end of the line")
                .help("close it with another `\"`; there is no escape character"),
        );
    }
}

/// Text behind a blank is a comment, even if it does not look like one.
///
/// Whether something was said.
fn check_ignored(line: &Mapped, end: usize, problems: &mut Problems) -> bool {
    let text = line.as_str();
    let rest = text[end..].trim_matches(is_blank);
    // A blank before the `=` is an error of its own.
    // Nor is a list that a blank cuts in two a comment.
    let cut = is_open(&text[..end]);
    if is_comment(rest) || rest.starts_with('=') || !(cut || has_parameter(rest)) {
        return false;
    }
    let start = text.len() - text[end..].trim_start_matches(is_blank).len();
    let mut diag = Diag::warning(
        "ignored-text",
        format!("`{rest}` is ignored: everything behind a blank is a comment"),
        line.span(start..text.len()),
    );
    diag = if text[..end].ends_with(',') {
        diag.label("ignored; the comma before it joins the next line")
    } else {
        diag.label("ignored")
    };
    let glue = if text[..end].ends_with([',', '=']) || rest.starts_with(',') { "" } else { "," };
    problems.push(diag.help("remove the blank, or begin the comment with `*`").fix(line.span(end..start), glue));
    true
}

/// Whether a parenthesis is open at the end of a text.
fn is_open(text: &str) -> bool {
    let (mut quoted, mut depth) = (false, 0_i64);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            _ => {}
        }
    }
    depth > 0
}

/// Whether a text holds `keyword=`.
fn has_parameter(text: &str) -> bool {
    text.match_indices('=').any(|(at, _)| {
        let before = &text[..at];
        let stem = before.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let word = before[stem.len()..].to_ascii_lowercase();
        Section::ALL.into_iter().any(|s| keywords::lookup(s, &word).is_some())
    })
}

/// A comma at the end of a definition joins the next one, which is rarely meant.
fn check_pulled_in(pending: &Mapped, next: &Mapped, problems: &mut Problems) {
    let (Some(first), Some(second)) = (leading_section(pending.as_str()), leading_section(next.as_str())) else {
        return;
    };
    if first <= second {
        let end = pending.as_str().len();
        let comma: Span = pending.span(end - 1..end);
        problems.push(
            Diag::note("dangling-comma", "the comma at the end of this line joins the next one to it", comma)
                .label("joins the next line")
                .related(next.span(0..1), format!("this {} is read as its continuation", second.noun()))
                .help("leave the comma out")
                .fix(comma, ""),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FileId;

    fn join(lines: &[&str], extra: Option<&str>) -> (Vec<String>, Vec<&'static str>) {
        let mut problems = Problems::default();
        let map = |t: &str| Mapped::verbatim(t, Span { file: FileId(0), start: 0, end: t.len() as u32 });
        let mut joiner = Joiner::new(extra.map(map));
        for line in lines {
            joiner.push(&map(line), &mut problems);
        }
        let out = joiner.finish().iter().map(|l| l.as_str().to_owned()).collect();
        (out, problems.finish().iter().map(|d| d.code).collect())
    }

    #[test]
    fn a_comma_at_the_end_joins_the_next_line() {
        assert_eq!(join(&["rd=a,iorate=(100,", "200)"], None).0, ["rd=a,iorate=(100,200)"]);
        assert_eq!(join(&["sd=sd1,   remark", "lun=/x"], None).0, ["sd=sd1,lun=/x"]);
        assert_eq!(join(&["rd=a,"], None).0, ["rd=a,"], "harmless at the end");
    }

    #[test]
    fn text_behind_a_blank_is_a_comment() {
        assert_eq!(
            join(&["rd=a,iorate=100, elapsed=4"], None),
            (vec!["rd=a,iorate=100,".into()], vec!["ignored-text"])
        );
        assert_eq!(join(&["sd=a,lun=\"/x y\"\tmy=disk"], None), (vec!["sd=a,lun=\"/x y\"".into()], vec![]));
        assert_eq!(join(&["rd=a,iorate=(1, 2)"], None), (vec!["rd=a,iorate=(1,".into()], vec!["ignored-text"]));
        assert_eq!(join(&["rd=a * elapsed=4"], None), (vec!["rd=a".into()], vec![]));
    }

    #[test]
    fn a_comma_between_definitions_is_noted() {
        assert_eq!(join(&["sd=a,lun=/a,", "wd=b,sd=a"], None).1, ["dangling-comma"]);
        assert_eq!(join(&["rd=a,", "wd=b,", "sd=a"], None).1, Vec::<&str>::new());
    }

    #[test]
    fn extras_go_behind_runs_of_one_line() {
        let (lines, _) = join(&["rd=a,iorate=max x", "rdpct=50", "rd=b,", "elapsed=5"], Some(",elapsed=9"));
        assert_eq!(lines, ["rd=a,iorate=max,elapsed=9", "rdpct=50", "rd=b,elapsed=5"]);
    }
}
