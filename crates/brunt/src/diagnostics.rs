//! How problems are shown: for people or for editors, and how many there were.

use std::env;
use std::io::{self, IsTerminal};

use brunt_event::Event;
use brunt_parm::{Diag, Severity, SourceMap};
use brunt_plan::{SetupKind, SetupProblem};
use brunt_report::plain;

/// `--message-format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MessageFormat {
    /// Text with the line and a mark in it.
    #[default]
    Human,
    /// One JSON object a line (`docs/diagnostics.md`).
    Json,
}

impl MessageFormat {
    /// The format of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "human" => Some(Self::Human),
            "json" => Some(Self::Json),
            _ => None,
        }
    }
}

/// Shows problems in one format.
#[derive(Debug, Clone, Copy)]
pub struct Shower {
    format: MessageFormat,
    color: bool,
}

impl Shower {
    /// Colour is for terminals, and for those who want it (<https://no-color.org>).
    pub fn new(format: MessageFormat) -> Self {
        let wanted = env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        Self { format, color: wanted && io::stderr().is_terminal() }
    }

    /// One problem as text.
    pub fn text(self, diag: &Diag, sources: &SourceMap) -> String {
        match self.format {
            // A blank line apart, as compilers have it.
            MessageFormat::Human => brunt_parm::render::render(diag, sources, self.color) + "\n",
            MessageFormat::Json => brunt_parm::json::render(diag, sources),
        }
    }

    /// All problems, then how many there were.
    pub fn show(self, diags: &[Diag], sources: &SourceMap, emit: &mut dyn FnMut(Event)) {
        for diag in diags {
            emit(Event::Diagnostic { text: self.text(diag, sources), fatal: diag.severity == Severity::Error });
        }
        if let Some(text) = summary(diags).filter(|_| self.format == MessageFormat::Human) {
            emit(Event::Diagnostic { text, fatal: false });
        }
    }
}

/// `2 errors, 1 warning`; nothing when there are only notes.
pub fn summary(diags: &[Diag]) -> Option<String> {
    let count = |severity, noun| {
        let n = diags.iter().filter(|d| d.severity == severity).count();
        (n > 0).then(|| format!("{n} {noun}{}", if n == 1 { "" } else { "s" }))
    };
    let parts: Vec<String> =
        [count(Severity::Error, "error"), count(Severity::Warning, "warning")].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Problems of devices and hosts as those of the definitions they are about.
pub fn of_setup(problems: &[SetupProblem]) -> Vec<Diag> {
    let diag = |problem: &SetupProblem| {
        let code = match problem.kind {
            SetupKind::Setup => "setup",
            SetupKind::Safety => "safety",
        };
        let mut diag = Diag::new(Severity::Error, code, plain(&problem.text).into_owned(), problem.span);
        diag.vdbench = problem.vdbench.clone();
        // The message may hold the cure behind a semicolon; under the mark it would be too long.
        diag.label = problem.span.map(|_| "asked for here".to_owned());
        diag
    };
    problems.iter().map(diag).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diag(severity: Severity) -> Diag {
        Diag::new(severity, "x", "y", None)
    }

    #[test]
    fn problems_are_counted_and_notes_are_not() {
        let (error, warning, note) = (diag(Severity::Error), diag(Severity::Warning), diag(Severity::Note));
        assert_eq!(summary(std::slice::from_ref(&note)), None);
        assert_eq!(
            summary(&[error.clone(), note, error.clone(), warning.clone()]).as_deref(),
            Some("2 errors, 1 warning")
        );
        assert_eq!(summary(&[error]).as_deref(), Some("1 error"));
        assert_eq!(summary(&[warning.clone(), warning]).as_deref(), Some("2 warnings"));
    }

    #[test]
    fn the_count_is_for_people_only() {
        for (format, wanted) in [(MessageFormat::Human, 2), (MessageFormat::Json, 1)] {
            let mut events = Vec::new();
            Shower { format, color: false }
                .show(&[diag(Severity::Error)], &SourceMap::default(), &mut |e| events.push(e));
            assert_eq!(events.len(), wanted);
            assert!(matches!(events.first(), Some(Event::Diagnostic { fatal: true, .. })));
        }
    }
}
