//! Writes rows of numbers to every page that has them.

use crate::book::{self, Book};
use crate::chunk::Sink;
use crate::context::Context;
use crate::figures::Figures;
use crate::run::Run;
use crate::tally::Scope;

/// The rows of one interval, or of one average.
pub(crate) struct Rows<'a> {
    pub context: &'a Context,
    pub at_ms: i64,
    /// The interval's number, or the label of an average.
    pub label: &'a str,
    /// Whether titles stand before.
    pub titles: bool,
}

impl Rows<'_> {
    /// Writes them: to console and log the total, to each page what it is about.
    pub(crate) fn write(&self, book: &Book, run: &Run, of: impl Fn(Scope) -> Option<Figures>, sink: &mut Sink) {
        if let Some(total) = of(Scope::Total) {
            for line in self.lines(&total) {
                sink.console(&line);
                sink.line(book::LOG, &line);
            }
        }
        for page in &book.rows {
            let figures = page.subject.scope(&run.started).and_then(&of);
            for line in figures.iter().flat_map(|figures| self.lines(figures)) {
                sink.line(&page.file, &line);
            }
        }
    }

    /// The row, with its titles if they are due.
    pub(crate) fn lines(&self, figures: &Figures) -> Vec<String> {
        let Context { layout, clock, opened, .. } = self.context;
        let mut lines = Vec::new();
        if self.titles {
            lines.push(String::new());
            lines.extend(layout.titles(&clock.date(self.at_ms), figures.cpu.is_some(), opened.decimal_mb));
        }
        lines.push(layout.row(&clock.tod(self.at_ms), self.label, figures));
        lines
    }
}
