//! The part of the command line that the language sees, as a source of its own, so that messages
//! can point into it.

use crate::Input;
use crate::diag::Diag;
use crate::source::{FileId, Source, SourceMap, Span};
use crate::text::Mapped;

/// Files, variables and `+` with their places.
pub(crate) struct CommandLine {
    /// The parameter files.
    pub(crate) files: Vec<(String, Span)>,
    /// The variables.
    pub(crate) variables: Vec<(String, String, Span)>,
    /// What is put behind each run, with the comma before it.
    pub(crate) extra: Option<Mapped>,
    /// What is wrong with them.
    pub(crate) problems: Vec<Diag>,
}

impl CommandLine {
    /// Adds the source `command line` and says where everything is in it.
    pub(crate) fn new(input: &Input, sources: &mut SourceMap) -> Self {
        let mut text = String::from("-f");
        let file = FileId(0);
        let mut add = |part: &str| {
            text.push(' ');
            let start = text.len() as u32;
            text.push_str(part);
            Span { file, start, end: text.len() as u32 }
        };
        let files: Vec<_> = input.files.iter().map(|f| (f.clone(), add(f))).collect();
        let variables: Vec<_> = input
            .substitutions
            .iter()
            .map(|(key, value)| (key.clone(), value.clone(), add(&format!("{key}={value}"))))
            .collect();
        let extra = input.rd_extra.as_deref().filter(|e| !e.is_empty()).map(|e| (e, add(&format!("+{e}"))));
        let mut problems = Vec::new();
        if files.is_empty() {
            let span = Span { file, start: 0, end: 2 };
            problems.push(Diag::error("no-file", "there is no parameter file", span).label("expected `-f FILE`"));
        }
        let extra = extra.and_then(|(text, span)| {
            if let Some(at) = text.find([' ', '\t']) {
                let blank = Span { file, start: span.start + 1 + at as u32, end: span.start + 2 + at as u32 };
                problems.push(
                    Diag::error("blank-in-extra", "what `+` adds to the runs has a blank in it", blank)
                        .label("everything behind a blank would be a comment"),
                );
                return None;
            }
            let mut extra = Mapped::verbatim(",", Span { end: span.start + 1, ..span });
            let rest = Mapped::verbatim(text, Span { start: span.start + 1, ..span });
            extra.append(&rest, 0..text.len());
            Some(extra)
        });
        let id = sources.add(Source { name: "command line".to_owned(), text, included_from: None });
        debug_assert_eq!(id, file, "it is the first source");
        Self { files, variables, extra, problems }
    }
}
