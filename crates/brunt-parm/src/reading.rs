//! Reads the files and their includes, drops comments and replaces variables
//! (`docs/vdbench/raw.md` §1.1, §1.6, §1.7).

use crate::diag::Diag;
use crate::lexer;
use crate::lines::{Joiner, content_end, is_comment, trimmed};
use crate::problems::Problems;
use crate::source::{FileId, ReadError, Reader, Source, SourceMap, Span};
use crate::text::Mapped;
use crate::variables::Variables;

/// How deep includes may be nested.
const DEPTH: usize = 32;
/// How many includes one execution may have: nested ones multiply.
const INCLUDES: usize = 10_000;

/// An open file.
struct Frame {
    name: String,
    absolute: String,
}

/// Reads files into logical lines.
pub(crate) struct Reading<'a> {
    reader: &'a dyn Reader,
    /// Every text that was read.
    pub(crate) sources: SourceMap,
    /// Problems so far.
    pub(crate) problems: Problems,
    /// Lines of `parmfile.html`.
    pub(crate) echo: Vec<String>,
    /// Whether a file was missing, so that what follows from it is not said.
    pub(crate) incomplete: bool,
    variables: Variables,
    joiner: Joiner,
    open: Vec<Frame>,
    includes: usize,
}

impl<'a> Reading<'a> {
    /// Nothing read yet.
    pub(crate) fn new(reader: &'a dyn Reader, sources: SourceMap, variables: Variables, extra: Option<Mapped>) -> Self {
        Self {
            reader,
            sources,
            problems: Problems::default(),
            echo: Vec::new(),
            incomplete: false,
            variables,
            joiner: Joiner::new(extra),
            open: Vec::new(),
            includes: 0,
        }
    }

    /// Reads a file named on the command line; `span` is its place there.
    pub(crate) fn file(&mut self, name: &str, span: Span) {
        let text = match self.reader.read(name) {
            Ok(text) => text,
            Err(error) => {
                self.incomplete = true;
                self.problems.push(
                    Diag::error("no-such-file", format!("cannot read parameter file `{name}`: {error}"), span)
                        .label(error.to_string())
                        .vdbench(format!("Requested parameter file does not exist: {name}")),
                );
                return;
            }
        };
        let absolute = self.reader.absolute(name);
        self.echo_title(&format!("Contents of parameter file: {absolute}"));
        self.text(name, absolute, text, None, span);
    }

    /// The logical lines of everything; checks that every variable was used.
    pub(crate) fn finish(mut self) -> (Vec<Mapped>, Finished) {
        if !self.incomplete {
            self.variables.check_unused(&mut self.problems);
        }
        let finished =
            Finished { sources: self.sources, problems: self.problems, echo: self.echo, incomplete: self.incomplete };
        (self.joiner.finish(), finished)
    }

    fn echo_title(&mut self, title: &str) {
        self.echo.extend([String::new(), format!("* {title}"), String::new()]);
    }

    fn text(&mut self, name: &str, absolute: String, text: String, from: Option<Span>, asked: Span) {
        if u32::try_from(text.len()).is_err() {
            self.incomplete = true;
            self.problems.push(Diag::error("too-large", format!("`{name}` is larger than 4 GiB"), asked));
            return;
        }
        let id = self.sources.add(Source { name: name.to_owned(), text: text.clone(), included_from: from });
        self.open.push(Frame { name: name.to_owned(), absolute });
        let mut start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        while start < text.len() {
            let end = text[start..].find('\n').map_or(text.len(), |n| start + n);
            if !self.line(id, &text[start..end], start) {
                break;
            }
            start = end + 1;
        }
        self.open.pop();
    }

    /// Takes one line; false: the file ends here.
    fn line(&mut self, file: FileId, line: &str, start: usize) -> bool {
        self.echo.push(line.trim_end_matches('\r').to_owned());
        let range = trimmed(line);
        let text = &line[range.clone()];
        if text.is_empty() || is_comment(text) {
            return true;
        }
        let span = Span { file, start: (start + range.start) as u32, end: (start + range.end) as u32 };
        if text.starts_with("eof") {
            self.check_eof(text, span);
            return false;
        }
        let line = self.substituted(Mapped::verbatim(text, span));
        if line.as_str().starts_with("include=") {
            self.include(&line);
        } else if !line.as_str().is_empty() {
            self.joiner.push(&line, &mut self.problems);
        }
        true
    }

    fn check_eof(&mut self, text: &str, span: Span) {
        if text[..content_end(text)].len() > 3 {
            self.problems.push(
                Diag::warning("eof-line", "a line that begins with `eof` ends the file", span)
                    .label("nothing below this line is read"),
            );
        }
    }

    /// Replaces variables, in what is not a comment.
    fn substituted(&mut self, line: Mapped) -> Mapped {
        let end = content_end(line.as_str());
        let content = line.slice(0..end);
        let new = self.variables.apply(&content);
        self.variables.check_unknown(new.as_ref().unwrap_or(&content), &mut self.problems);
        let Some(mut new) = new else { return line };
        new.append(&line, end..line.as_str().len());
        self.echo.push(format!("    variable substitution: {}", new.as_str()));
        let range = trimmed(new.as_str());
        new.slice(range)
    }

    fn include(&mut self, line: &Mapped) {
        let content = line.slice(0..content_end(line.as_str()));
        let span = content.span(0..content.as_str().len());
        let mut params = lexer::params(&content, &mut self.problems);
        let Some(param) = params.pop() else { return };
        if !params.is_empty() || param.items.len() != 1 {
            self.incomplete = true;
            self.problems.push(
                Diag::error("include-one-file", "`include=` takes exactly one file", span)
                    .label("must stand alone on its line")
                    .help("give every file a line `include=FILE` of its own"),
            );
            return;
        }
        let Some(item) = param.items.into_iter().next() else { return };
        self.includes += 1;
        if self.open.len() > DEPTH || self.includes > INCLUDES {
            self.incomplete = true;
            let code = "include-depth";
            let limit = if self.includes > INCLUDES { "there are" } else { "includes are nested" };
            let number = if self.includes > INCLUDES { INCLUDES } else { DEPTH };
            self.problems.once(
                "",
                Diag::error(
                    code,
                    format!("{limit} more than {number} {}", if number == DEPTH { "deep" } else { "includes" }),
                    span,
                )
                .label("not read"),
            );
            return;
        }
        self.included(&item.text, item.span, span);
    }

    fn included(&mut self, name: &str, place: Span, line: Span) {
        let tried = self.candidates(name);
        let mut found: Option<(String, String)> = None;
        let mut reasons = Vec::new();
        for path in &tried {
            match (self.reader.read(path), &found) {
                (Ok(text), None) => found = Some((path.clone(), text)),
                (Ok(_), Some((first, _))) => {
                    self.problems.push(
                        Diag::note("include-choice", format!("`{first}` is read, and `{path}` is not"), place)
                            .label("there is more than one file of this name")
                            .help("give the path with a `/` in it to choose"),
                    );
                    break;
                }
                (Err(error), _) => reasons.push((path, error)),
            }
        }
        let Some((path, text)) = found else {
            return self.include_missing(
                name,
                place,
                &reasons.iter().map(|(p, e)| (p.as_str(), e)).collect::<Vec<_>>(),
            );
        };
        let absolute = self.reader.absolute(&path);
        if let Some(at) = self.open.iter().position(|f| f.absolute == absolute) {
            return self.include_cycle(at, name, place);
        }
        self.echo_title(&format!("Contents of include file: {absolute}"));
        self.text(&path, absolute, text, Some(line), place);
        let back = self.open.last().map(|f| f.name.clone()).unwrap_or_default();
        self.echo_title(&format!("Continuing with original file: {back}"));
    }

    /// Where a file may be: beside the one that includes it, here, and one folder up.
    fn candidates(&self, name: &str) -> Vec<String> {
        if name.contains('/') {
            return vec![name.to_owned()];
        }
        let parent = self.open.last().map_or("", |f| f.name.as_str());
        let own = parent.rfind('/').map_or(String::new(), |i| parent[..=i].to_owned());
        let mut tried: Vec<String> = Vec::new();
        for folder in [own.clone(), String::new(), format!("{own}../")] {
            let path = format!("{folder}{name}");
            if !tried.iter().any(|t| self.reader.absolute(t) == self.reader.absolute(&path)) {
                tried.push(path);
            }
        }
        tried
    }

    fn include_missing(&mut self, name: &str, place: Span, reasons: &[(&str, &ReadError)]) {
        self.incomplete = true;
        let from = self.open.last().map_or("", |f| f.name.as_str());
        let tried: Vec<String> = reasons.iter().map(|(path, error)| format!("`{path}` ({error})")).collect();
        self.problems.push(
            Diag::error("no-such-file", format!("cannot read `{name}`, which `{from}` includes"), place)
                .label("not found")
                .help(format!("tried {}", tried.join(", ")))
                .vdbench(format!("Requested parameter file does not exist: {name}")),
        );
    }

    fn include_cycle(&mut self, at: usize, name: &str, place: Span) {
        self.incomplete = true;
        let mut chain: Vec<&str> = self.open[at..].iter().map(|f| f.name.as_str()).collect();
        chain.push(name);
        let from = self.open.last().map_or("", |f| f.name.as_str());
        self.problems.push(
            Diag::error("include-cycle", format!("`{from}` includes `{name}`, which is already being read"), place)
                .label(format!("a cycle: {}", chain.join(" -> "))),
        );
    }
}

/// What reading left behind, beside the lines.
pub(crate) struct Finished {
    /// Every text that was read.
    pub(crate) sources: SourceMap,
    /// Problems so far.
    pub(crate) problems: Problems,
    /// Lines of `parmfile.html`.
    pub(crate) echo: Vec<String>,
    /// Whether a file is missing.
    pub(crate) incomplete: bool,
}
