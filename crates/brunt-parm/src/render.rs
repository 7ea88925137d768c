//! Problems as text for people, in the manner of rustc.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Patch, Renderer, Snippet};

use crate::diag::{Diag, Severity};
use crate::source::{Source, SourceMap, Span};

/// A problem with its place as `file:LINE:COLUMN`, the source line, a caret, and what to write
/// instead. Ends without a newline.
pub fn render(diag: &Diag, sources: &SourceMap, color: bool) -> String {
    let level = match diag.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let mut first = Group::with_title(level.primary_title(&diag.message).id(diag.code));
    for snippet in snippets(diag, sources) {
        first = first.element(snippet);
    }
    if let Some(chain) = included_from(diag, sources) {
        first = first.element(Level::NOTE.message(chain));
    }
    let mut groups = Vec::new();
    match (&diag.fix, &diag.help) {
        (Some((span, text)), help) => {
            groups.push(first);
            groups.extend(patched(*span, text, help.as_deref(), sources));
        }
        (None, Some(help)) => groups.push(first.element(Level::HELP.message(help))),
        (None, None) => groups.push(first),
    }
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    renderer.decor_style(DecorStyle::Ascii).render(&groups)
}

/// The lines of a source that a place touches.
struct Window<'a> {
    source: &'a Source,
    start: usize,
    end: usize,
    line: usize,
}

impl<'a> Window<'a> {
    /// The whole lines around the spans of one file.
    fn new(source: &'a Source, spans: &[Span]) -> Self {
        let text = source.text.as_str();
        let least = spans.iter().map(|s| s.start as usize).min().unwrap_or(0);
        let most = spans.iter().map(|s| s.end as usize).max().unwrap_or(0);
        let start = text[..floor(text, least)].rfind('\n').map_or(0, |n| n + 1);
        let most = floor(text, most).max(start);
        let end = text[most..].find('\n').map_or(text.len(), |n| most + n);
        let line = text[..start].matches('\n').count() + 1;
        Self { source, start, end, line }
    }

    fn text(&self) -> &'a str {
        &self.source.text[self.start..self.end]
    }

    /// The place within this window.
    fn range(&self, span: Span) -> std::ops::Range<usize> {
        let text = &self.source.text;
        let clip = |at: u32| floor(text, at as usize).clamp(self.start, self.end) - self.start;
        let (start, end) = (clip(span.start), clip(span.end));
        start..end.max(start)
    }
}

/// The nearest character boundary that is not behind `at`.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// One snippet for each file that the problem names a place in, the main one first.
fn snippets<'a>(diag: &'a Diag, sources: &'a SourceMap) -> Vec<Snippet<'a, annotate_snippets::Annotation<'a>>> {
    let mut places: Vec<(Span, AnnotationKind, Option<&str>)> = Vec::new();
    places.extend(diag.span.map(|s| (s, AnnotationKind::Primary, diag.label.as_deref())));
    places.extend(diag.related.iter().map(|(s, text)| (*s, AnnotationKind::Context, Some(text.as_str()))));
    let mut files = Vec::new();
    for (span, ..) in &places {
        if !files.contains(&span.file) {
            files.push(span.file);
        }
    }
    let mut out = Vec::new();
    for file in files {
        let Some(source) = sources.get(file) else { continue };
        let here: Vec<_> = places.iter().filter(|(s, ..)| s.file == file).collect();
        let spans: Vec<Span> = here.iter().map(|(s, ..)| *s).collect();
        let window = Window::new(source, &spans);
        let mut snippet = Snippet::source(window.text()).path(&source.name).line_start(window.line);
        for (span, kind, label) in here {
            snippet = snippet.annotation(kind.span(window.range(*span)).label(*label));
        }
        out.push(snippet);
    }
    out
}

/// The line as it would be after the fix.
fn patched<'a>(span: Span, text: &'a str, help: Option<&'a str>, sources: &'a SourceMap) -> Option<Group<'a>> {
    let source = sources.get(span.file)?;
    let window = Window::new(source, &[span]);
    let patch = Patch::new(window.range(span), text);
    let title = Level::HELP.secondary_title(help.unwrap_or("write"));
    Some(title.element(Snippet::source(window.text()).path(&source.name).line_start(window.line).patch(patch)))
}

/// From where the file with the problem was included, outwards.
fn included_from(diag: &Diag, sources: &SourceMap) -> Option<String> {
    let mut places = Vec::new();
    let mut at = sources.get(diag.span?.file)?.included_from;
    while let Some(span) = at {
        let source = sources.get(span.file)?;
        places.push(format!("{}:{}", source.name, sources.line_column(span).line));
        at = source.included_from;
    }
    (!places.is_empty()).then(|| format!("included from {}", places.join(", included from ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FileId;

    fn sources() -> SourceMap {
        let mut sources = SourceMap::default();
        let text = "sd=é1,lun=/x\nwd=w,sd=é1,banana=7\n".to_owned();
        sources.add(Source { name: "p".to_owned(), text, included_from: None });
        sources
    }

    #[test]
    fn colors_only_when_asked() {
        let diag =
            Diag::error("unknown-keyword", "unknown keyword `banana`", Span { file: FileId(0), start: 26, end: 32 });
        let plain = render(&diag, &sources(), false);
        assert!(plain.contains(" --> p:2:12"), "columns are characters: {plain}");
        assert!(!plain.contains('\u{1b}'));
        assert!(render(&diag, &sources(), true).contains('\u{1b}'));
    }

    #[test]
    fn places_that_do_not_exist_are_survived() {
        for (file, start, end) in [(7, 0, 1), (0, 4, 4), (0, 400, 500), (0, 4, 2)] {
            let span = Span { file: FileId(file), start, end };
            let diag = Diag::error("x", "y", span).label("z").fix(span, "w").related(span, "v");
            assert!(render(&diag, &sources(), false).starts_with("error[x]: y"));
        }
        let nowhere = Diag::new(Severity::Warning, "x", "y", None).help("h");
        assert!(render(&nowhere, &sources(), false).contains("help: h"));
    }
}
