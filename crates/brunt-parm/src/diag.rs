//! Problems found in parameter files: what, where, why, and what to write instead.

use crate::source::Span;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; the meaning is clear.
    Note,
    /// Probably not what was meant. Fatal with `--strict`.
    Warning,
    /// The file cannot be run.
    Error,
}

/// One problem.
///
/// The message is a lower-case sentence without a full stop (`unknown keyword 'banana'`); the label
/// stands under the caret; help says what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diag {
    /// How bad it is.
    pub severity: Severity,
    /// A stable code for tests and editors, such as `unknown-keyword`.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// Vdbench's own words for it, printed on stdout and in the logs when run under the name
    /// `vdbench`, because scripts look for them (`docs/vdbench/reports.md` §11).
    pub vdbench: Option<String>,
    /// The place, if there is one.
    pub span: Option<Span>,
    /// What to say under the caret.
    pub label: Option<String>,
    /// Further places and what they have to do with it.
    pub related: Vec<(Span, String)>,
    /// What to do about it.
    pub help: Option<String>,
    /// Text that would mend the span, shown as a patched line.
    pub fix: Option<(Span, String)>,
}

impl Diag {
    /// A problem with a code, a message and a place.
    pub fn new(severity: Severity, code: &'static str, message: impl Into<String>, span: Option<Span>) -> Self {
        Self {
            severity,
            code,
            message: message.into(),
            vdbench: None,
            span,
            label: None,
            related: Vec::new(),
            help: None,
            fix: None,
        }
    }

    /// An error at a place.
    pub fn error(code: &'static str, message: impl Into<String>, span: Span) -> Self {
        Self::new(Severity::Error, code, message, Some(span))
    }

    /// A warning at a place.
    pub fn warning(code: &'static str, message: impl Into<String>, span: Span) -> Self {
        Self::new(Severity::Warning, code, message, Some(span))
    }

    /// A note at a place.
    pub fn note(code: &'static str, message: impl Into<String>, span: Span) -> Self {
        Self::new(Severity::Note, code, message, Some(span))
    }

    /// Adds Vdbench's words.
    #[must_use]
    pub fn vdbench(mut self, words: impl Into<String>) -> Self {
        self.vdbench = Some(words.into());
        self
    }

    /// Adds the text under the caret.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds another place that matters.
    #[must_use]
    pub fn related(mut self, span: Span, text: impl Into<String>) -> Self {
        self.related.push((span, text.into()));
        self
    }

    /// Adds another place, when there is one.
    #[must_use]
    pub fn related_if(self, span: Option<Span>, text: impl Into<String>) -> Self {
        match span {
            Some(span) => self.related(span, text),
            None => self,
        }
    }

    /// Adds the replacement that would mend it.
    #[must_use]
    pub fn fix(mut self, span: Span, text: impl Into<String>) -> Self {
        self.fix = Some((span, text.into()));
        self
    }
}
