//! The problems found so far.

use std::collections::HashSet;

use crate::diag::{Diag, Severity};
use crate::source::Span;

/// Vdbench's words for a value of the wrong kind (`docs/vdbench/raw.md` §9).
pub(crate) const BAD_VALUE: &str = "Exception during reading of input parameter file(s).";

/// Collects problems; says some of them only once.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    list: Vec<Diag>,
    said: HashSet<(&'static str, String)>,
    errors: usize,
}

impl Problems {
    /// Adds one.
    pub(crate) fn push(&mut self, diag: Diag) {
        self.errors += usize::from(diag.severity == Severity::Error);
        self.list.push(diag);
    }

    /// Adds one unless its code was already said about `what`.
    pub(crate) fn once(&mut self, what: &str, diag: Diag) {
        if self.said.insert((diag.code, what.to_owned())) {
            self.push(diag);
        }
    }

    /// Adds several.
    pub(crate) fn extend(&mut self, diags: impl IntoIterator<Item = Diag>) {
        diags.into_iter().for_each(|d| self.push(d));
    }

    /// How many errors there are.
    pub(crate) fn errors(&self) -> usize {
        self.errors
    }

    /// Whether there is an error with this code.
    pub(crate) fn has(&self, code: &str) -> bool {
        self.list.iter().any(|d| d.code == code)
    }

    /// Whether there is a problem with this code behind a place.
    pub(crate) fn has_behind(&self, code: &str, place: Span) -> bool {
        let behind = |s: Span| s.file == place.file && s.start > place.start;
        self.list.iter().any(|d| d.code == code && d.span.is_some_and(behind))
    }

    /// A value of the wrong kind.
    pub(crate) fn bad_value(&mut self, keyword: &str, span: Span, found: &str, wanted: &str) {
        if found.starts_with(['$', '!']) && self.has("unknown-variable") {
            // A variable without a value; that was said.
            return;
        }
        self.push(
            Diag::error("bad-value", format!("`{keyword}=` does not take `{found}`"), span)
                .label(format!("expected {wanted}"))
                .vdbench(BAD_VALUE),
        );
    }

    /// All of them in the order of the text; those without a place stand last. What was said of each copy of a definition
    /// that is repeated for the hosts is said once.
    pub(crate) fn finish(mut self) -> Vec<Diag> {
        let mut said = HashSet::new();
        self.list.retain(|d| said.insert((d.code, d.span, d.message.clone())));
        self.list.sort_by_key(|d| d.span.map_or((u32::MAX, 0), |s| (s.file.0, s.start)));
        self.list
    }
}
