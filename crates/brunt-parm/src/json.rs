//! Problems as JSON for editors and scripts, one object a line. The schema is in `docs/diagnostics.md`.

use serde::Serialize;

use crate::diag::{Diag, Severity};
use crate::source::{SourceMap, Span};

/// Number of the schema; it rises when a field changes its meaning or goes.
pub const SCHEMA: u32 = 1;

/// A problem as an editor reads it.
#[derive(Debug, Serialize)]
struct Problem<'a> {
    schema: u32,
    code: &'a str,
    severity: &'static str,
    message: &'a str,
    #[serde(flatten)]
    place: Place<'a>,
    label: Option<&'a str>,
    help: Option<&'a str>,
    fix: Option<Fix<'a>>,
    related: Vec<Related<'a>>,
    included_from: Vec<Place<'a>>,
}

/// A range in a file; everything is null for a problem without a place.
#[derive(Debug, Default, Serialize)]
struct Place<'a> {
    file: Option<&'a str>,
    line: Option<u32>,
    column: Option<u32>,
    end: Option<End>,
}

/// Behind the last character of a range.
#[derive(Debug, Serialize)]
struct End {
    line: u32,
    column: u32,
}

#[derive(Debug, Serialize)]
struct Fix<'a> {
    #[serde(flatten)]
    place: Place<'a>,
    text: &'a str,
}

#[derive(Debug, Serialize)]
struct Related<'a> {
    #[serde(flatten)]
    place: Place<'a>,
    message: &'a str,
}

/// A problem as one line of JSON, without a newline.
pub fn render(diag: &Diag, sources: &SourceMap) -> String {
    let at = |span: Span| place(span, sources);
    let problem = Problem {
        schema: SCHEMA,
        code: diag.code,
        severity: match diag.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        },
        message: &diag.message,
        place: diag.span.map(at).unwrap_or_default(),
        label: diag.label.as_deref(),
        help: diag.help.as_deref(),
        fix: diag.fix.as_ref().map(|(span, text)| Fix { place: at(*span), text }),
        related: diag.related.iter().map(|(span, message)| Related { place: at(*span), message }).collect(),
        included_from: includes(diag, sources),
    };
    // Strings and numbers always become JSON; an empty line would only be skipped by a reader.
    serde_json::to_string(&problem).unwrap_or_default()
}

fn place(span: Span, sources: &SourceMap) -> Place<'_> {
    let Some(source) = sources.get(span.file) else { return Place::default() };
    let start = sources.line_column(span);
    let end = sources.line_column(Span { start: span.end.max(span.start), ..span });
    Place {
        file: Some(&source.name),
        line: Some(start.line),
        column: Some(start.column),
        end: Some(End { line: end.line, column: end.column }),
    }
}

/// The `include=` lines that lead to the file, the nearest first.
fn includes<'a>(diag: &Diag, sources: &'a SourceMap) -> Vec<Place<'a>> {
    let from = |span: Span| sources.get(span.file).and_then(|s| s.included_from);
    std::iter::successors(diag.span.and_then(from), |span| from(*span)).map(|span| place(span, sources)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::FileId;
    use crate::source::Source;

    const PAGE: &str = include_str!("../../../docs/diagnostics.md");

    fn sources() -> SourceMap {
        let mut sources = SourceMap::default();
        let outer = sources.add(Source { name: "p".into(), text: "include=q\n".into(), included_from: None });
        let from = Some(Span { file: outer, start: 0, end: 9 });
        sources.add(Source { name: "q".into(), text: "sd=é1,bana=7\n".into(), included_from: from });
        sources
    }

    fn diag() -> Diag {
        let span = |start, end| Span { file: FileId(1), start, end };
        Diag::error("unknown-keyword", "unknown keyword `bana`", span(7, 11))
            .label("not a parameter")
            .help("write this")
            .fix(span(7, 11), "range")
            .related(span(0, 2), "of this definition")
    }

    #[test]
    fn an_object_has_everything() {
        let line = render(&diag(), &sources());
        assert!(!line.contains('\n'));
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        insta::assert_snapshot!(serde_json::to_string_pretty(&value).unwrap());
    }

    #[test]
    fn a_problem_without_a_place_has_the_same_fields() {
        let nowhere = Diag::new(Severity::Warning, "x", "y", None);
        let value: serde_json::Value = serde_json::from_str(&render(&nowhere, &sources())).unwrap();
        let full: serde_json::Value = serde_json::from_str(&render(&diag(), &sources())).unwrap();
        let keys = |v: &serde_json::Value| v.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(&value), keys(&full));
        assert!(value["file"].is_null() && value["line"].is_null() && value["end"].is_null());
    }

    #[test]
    fn the_page_tells_every_field() {
        let full: serde_json::Value = serde_json::from_str(&render(&diag(), &sources())).unwrap();
        for key in full.as_object().unwrap().keys() {
            assert!(PAGE.contains(&format!("| `{key}` |")), "docs/diagnostics.md does not tell of {key}");
        }
    }

    proptest! {
        #[test]
        fn any_text_becomes_json(text in any::<String>(), file in 0u32..3, start in 0u32..30, end in 0u32..30) {
            let diag = Diag::error("x", text.clone(), Span { file: FileId(file), start, end }).label(text.clone());
            let value: serde_json::Value = serde_json::from_str(&render(&diag, &sources())).unwrap();
            prop_assert_eq!(value["message"].as_str(), Some(text.as_str()));
        }
    }
}
