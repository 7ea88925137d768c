//! Where problems go while a plan is made.

use std::collections::HashSet;

use brunt_parm::{Diag, Severity, Span};

/// Collects problems: an error at a place that already has one is not reported again.
pub(crate) struct Log<'a> {
    diags: &'a mut Vec<Diag>,
    places: HashSet<Span>,
    noted: HashSet<(&'static str, Span)>,
    /// What parses but cannot be run yet.
    pub(crate) unsupported: Vec<(Option<Span>, String)>,
    refused: HashSet<(Option<Span>, String)>,
    failed: bool,
}

impl<'a> Log<'a> {
    /// Continues a list of problems.
    pub(crate) fn new(diags: &'a mut Vec<Diag>) -> Self {
        let places = diags.iter().filter(|d| d.severity == Severity::Error).filter_map(|d| d.span).collect();
        Self { diags, places, noted: HashSet::new(), unsupported: Vec::new(), refused: HashSet::new(), failed: false }
    }

    /// Adds a problem.
    pub(crate) fn push(&mut self, diag: Diag) {
        if diag.severity == Severity::Error {
            self.failed = true;
            if diag.span.is_some_and(|span| !self.places.insert(span)) {
                return;
            }
        }
        self.diags.push(diag);
    }

    /// Adds an error, with or without a place.
    pub(crate) fn error(&mut self, code: &'static str, message: impl Into<String>, span: Option<Span>) {
        self.push(Diag::new(Severity::Error, code, message, span));
    }

    /// Adds a warning.
    pub(crate) fn warning(&mut self, code: &'static str, message: impl Into<String>, span: Option<Span>) {
        self.push(Diag::new(Severity::Warning, code, message, span));
    }

    /// Adds a note unless its code was said at this place.
    pub(crate) fn note_once(&mut self, code: &'static str, message: impl Into<String>, span: Span) {
        if self.noted.insert((code, span)) {
            self.push(Diag::note(code, message, span));
        }
    }

    /// Adds a warning unless its code was said at this place.
    pub(crate) fn warn_once(&mut self, code: &'static str, message: impl Into<String>, span: Span) {
        if self.noted.insert((code, span)) {
            self.push(Diag::warning(code, message, span));
        }
    }

    /// Adds a thing that a real run refuses and a simulation accepts.
    pub(crate) fn unsupported(&mut self, span: Option<Span>, sentence: impl Into<String>) {
        let item = (span, sentence.into());
        if self.refused.insert(item.clone()) {
            self.unsupported.push(item);
        }
    }

    /// How much was said so far.
    pub(crate) fn said(&self) -> usize {
        self.diags.len()
    }

    /// Whether an error was added.
    pub(crate) fn failed(&self) -> bool {
        self.failed
    }
}
