//! The parts of a file as text: comments behind neighbouring lines begin in one column.

use super::split::{Item, Line};

/// The canonical text; ends with a newline unless it is empty.
pub(super) fn lay_out(items: Vec<Item>) -> String {
    let mut lines: Vec<(String, Option<String>)> = Vec::new();
    let mut rest = None;
    for item in items {
        match item {
            // One blank line is enough, and none at the beginning.
            Item::Blank if lines.last().is_none_or(|(text, _)| text.is_empty()) => {}
            Item::Blank => lines.push((String::new(), None)),
            Item::Comment(text) => lines.push((text, None)),
            Item::Verbatim(text, comment) => lines.push((text, comment)),
            Item::Line(line) => parameters(line, &mut lines),
            Item::Rest(text) => rest = Some(text),
        }
    }
    while rest.is_none() && lines.last().is_some_and(|(text, _)| text.is_empty()) {
        lines.pop();
    }
    let mut out = String::new();
    let mut from = 0;
    while from < lines.len() {
        let commented = |n: usize| lines.get(n).is_some_and(|(_, comment)| comment.is_some());
        let to = if commented(from) { (from..).find(|n| !commented(*n)).unwrap_or(from + 1) } else { from + 1 };
        block(&lines[from..to], &mut out);
        from = to;
    }
    out.push_str(&rest.unwrap_or_default());
    out
}

fn parameters(line: Line, lines: &mut Vec<(String, Option<String>)>) {
    lines.extend(line.comments.into_iter().map(|comment| (comment, None)));
    let comma = if line.open { "," } else { "" };
    lines.push((line.pieces.join(",") + comma, line.trailing));
}

/// Lines whose comments begin in one column.
fn block(lines: &[(String, Option<String>)], out: &mut String) {
    let column = lines.iter().map(|(text, _)| text.chars().count()).max().unwrap_or(0);
    for (text, comment) in lines {
        out.push_str(text);
        if let Some(comment) = comment {
            out.extend(std::iter::repeat_n(' ', column - text.chars().count() + 2));
            out.push_str(comment);
        }
        out.push('\n');
    }
}
