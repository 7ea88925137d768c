//! A text becomes what its canonical form is made of: definitions, comments, and lines that stay as they are.

use crate::diag::Diag;
use crate::keywords::{self, Section, Spelling};
use crate::lexer;
use crate::lines::{content_end, is_comment, trimmed};
use crate::problems::Problems;
use crate::source::{FileId, Span};
use crate::text::Mapped;

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    /// A blank line.
    Blank,
    /// A line that is a comment.
    Comment(String),
    /// A line of parameters.
    Line(Line),
    /// A line that stays as it is, and the comment behind it.
    Verbatim(String, Option<String>),
    /// `eof` and all that is behind it.
    Rest(String),
}

/// A line of parameters: a definition, a general parameter, or a part of a definition that began before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// `keyword=value`, in order.
    pub(super) pieces: Vec<String>,
    /// Comments that stood between or behind its parts.
    pub(super) comments: Vec<String>,
    /// The comment behind it.
    pub(super) trailing: Option<String>,
    /// Whether its comma at the end has to stay.
    pub(super) open: bool,
    /// Number of the line it began on, from 1.
    number: usize,
    /// Number of the last line that added to it.
    last: usize,
    /// Whether it is a run.
    run: bool,
    /// Whether nothing may come behind it on its line.
    full: bool,
}

impl Item {
    /// The line of a run that stood on several lines.
    pub(super) fn joined_run(&self) -> Option<usize> {
        match self {
            Self::Line(line) if line.run && line.last > line.number && line.pieces.len() > 1 => Some(line.number),
            _ => None,
        }
    }
}

/// A comment on the way through a logical line, at a place of its text.
enum Note {
    /// A whole line, or a blank one (`None`).
    Between(Option<String>),
    /// Behind a part.
    Behind(String),
}

/// A logical line: physical ones, joined where a comma ends them.
#[derive(Default)]
struct Logical {
    text: String,
    mapped: Mapped,
    notes: Vec<(usize, Note)>,
    /// Where each physical line ends in the text, and its number.
    ends: Vec<(usize, usize)>,
}

/// Splits a text; what cannot be told apart is reported.
pub(super) fn split(text: &str, file: FileId) -> (Vec<Item>, Vec<Diag>) {
    let mut splitter = Splitter {
        file,
        items: Vec::new(),
        problems: Problems::default(),
        section: Some(Section::General),
        open: None,
        held: Vec::new(),
        logical: None,
        verbatim: false,
    };
    let mut start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut number = 0;
    while start < text.len() {
        number += 1;
        let end = text[start..].find('\n').map_or(text.len(), |n| start + n);
        if !splitter.physical(&text[start..end], start, number) {
            splitter.end();
            splitter.items.push(Item::Rest(text[start..].to_owned()));
            return (splitter.items, splitter.problems.finish());
        }
        start = end + 1;
    }
    splitter.end();
    (splitter.items, splitter.problems.finish())
}

struct Splitter {
    file: FileId,
    items: Vec<Item>,
    problems: Problems,
    /// The section of the next parameter; `None` behind what may have begun any.
    section: Option<Section>,
    /// The line that is being filled.
    open: Option<Line>,
    /// Comments and blank lines since the last parameter, not yet known to be within a definition.
    held: Vec<Option<String>>,
    logical: Option<Logical>,
    /// Whether the next line continues one that stays as it is.
    verbatim: bool,
}

impl Splitter {
    /// Takes a line; false: the file ends here.
    fn physical(&mut self, line: &str, start: usize, number: usize) -> bool {
        let range = trimmed(line);
        let text = &line[range.clone()];
        if text.is_empty() || is_comment(text) {
            let comment = (!text.is_empty()).then(|| text.to_owned());
            match &mut self.logical {
                Some(logical) => logical.notes.push((logical.text.len(), Note::Between(comment))),
                None => self.held.push(comment),
            }
            return true;
        }
        if text.starts_with("eof") {
            return false;
        }
        let end = content_end(text);
        let (content, behind) = (&text[..end], comment(&text[end..]));
        let span =
            Span { file: self.file, start: (start + range.start) as u32, end: (start + range.start + end) as u32 };
        if self.logical.is_none() && (self.verbatim || stays(content)) || content.starts_with("include=") {
            self.stay(content, behind);
        } else {
            self.add(content, behind, span, number);
        }
        true
    }

    /// A line that stays as it is. Behind it any section may have begun.
    fn stay(&mut self, content: &str, behind: Option<String>) {
        if let Some(logical) = self.logical.take() {
            if unclosed(&logical.text) > 0 {
                let span = logical.mapped.span(0..logical.text.len());
                self.problems.push(
                    Diag::error("unclosed-parenthesis", "an include within parentheses", span)
                        .label("a parenthesis is open at the end of this"),
                );
            }
            // The comma before an include joins the first line of that file.
            self.take_apart(logical);
            self.open.iter_mut().for_each(|line| line.open = true);
        }
        self.close();
        self.release();
        self.items.push(Item::Verbatim(content.to_owned(), behind));
        self.verbatim = content.ends_with(',') && !content.starts_with("include=");
        self.section = None;
    }

    fn add(&mut self, content: &str, behind: Option<String>, span: Span, number: usize) {
        if content.matches('"').count() % 2 == 1 {
            self.problems.push(
                Diag::error("open-quote", "this quote is never closed", span)
                    .label("an odd number of quotes")
                    .help("close it with another `\"`, so that it is clear where the value ends"),
            );
        }
        let logical = self.logical.get_or_insert_default();
        logical.text.push_str(content);
        logical.mapped.append(&Mapped::verbatim(content, span), 0..content.len());
        let end = logical.text.len();
        logical.ends.push((end, number));
        logical.notes.extend(behind.map(|b| (end, Note::Behind(b))));
        if !content.ends_with(',')
            && let Some(logical) = self.logical.take()
        {
            self.take_apart(logical);
        }
    }

    /// A logical line becomes lines of parameters.
    fn take_apart(&mut self, logical: Logical) {
        self.check(&logical);
        let mut notes = logical.notes.into_iter().peekable();
        let mut at = 0;
        let mut first = true;
        for piece in pieces(&logical.text) {
            let (from, to) = (at, at + piece.len());
            // With the comma behind it.
            at = to + 1;
            while let Some((_, note)) = notes.next_if(|(place, _)| *place <= from) {
                self.note(note);
            }
            let number = logical.ends.iter().find(|(end, _)| *end >= to.min(logical.text.len())).map_or(0, |(_, n)| *n);
            self.piece(piece, first, number);
            first = false;
        }
        for (_, note) in notes {
            self.note(note);
        }
    }

    fn note(&mut self, note: Note) {
        match note {
            Note::Between(comment) => self.held.push(comment),
            Note::Behind(comment) => match &mut self.open {
                Some(line) if line.trailing.is_none() && line.comments.is_empty() => line.trailing = Some(comment),
                Some(line) => line.comments.push(comment),
                None => self.held.push(Some(comment)),
            },
        }
    }

    /// What is no parameter is reported; a variable may stand for one.
    fn check(&mut self, logical: &Logical) {
        let bare = |piece: &&str| !piece.contains('=') && piece.contains(['$', '!']) && unclosed(piece) == 0;
        if !pieces(&logical.text).iter().any(bare) {
            lexer::params(&logical.mapped, &mut self.problems);
            return;
        }
        let parts: Vec<_> = {
            let mut at = 0;
            pieces(&logical.text)
                .into_iter()
                .filter_map(|piece| {
                    let range = at..at + piece.len();
                    at = range.end + 1;
                    bare(&piece).then_some((range, "xx=1"))
                })
                .collect()
        };
        lexer::params(&logical.mapped.replaced(parts), &mut self.problems);
    }

    /// One parameter; `first`: it begins a logical line.
    fn piece(&mut self, piece: &str, first: bool, number: usize) {
        // It may come to stand at the end of its line, where a carriage return is no part of it.
        let piece = piece.trim_end_matches('\r');
        if piece.is_empty() {
            return;
        }
        let (key, value) = piece.split_once('=').map_or((piece, None), |(key, value)| (key, Some(value)));
        let lower = key.to_ascii_lowercase();
        let starts = match self.section {
            Some(section) => section.started_by(&lower),
            // Behind an unknown line a definition begins at the beginning of a line.
            None => Section::General.started_by(&lower).filter(|_| first),
        }
        .filter(|_| value.is_some());
        if let Some(section) = starts {
            self.section = Some(section);
        }
        let keyword = self.section.and_then(|s| keywords::lookup(s, &lower)).filter(|k| k.name != "include");
        // What a variable makes of a keyword is not known.
        let keyword = keyword.filter(|_| !key.contains(['$', '!']));
        let name = match (starts, keyword) {
            (Some(section), _) => section.starter(),
            // `dedup…` is many keywords; words that are not known stay as they are.
            (None, Some(k)) if matches!(k.spelling, Spelling::Family(_)) => lower.as_str(),
            (None, Some(k)) => k.name,
            (None, None) => key,
        };
        let text = match (value, unclosed(piece)) {
            (None, _) => piece.to_owned(),
            (Some(value), 0) => format!("{name}={value}"),
            (Some(value), n) if value.starts_with('(') => {
                format!("{name}={}{}", value.trim_end_matches(','), ")".repeat(n))
            }
            // No list: the parenthesis belongs to the value, which goes to the end of its line.
            (Some(value), _) => format!("{name}={value}"),
        };
        let general = self.section == Some(Section::General) && keyword.is_some();
        if starts.is_some() || general || self.open.as_ref().is_some_and(|line| line.full) {
            self.close();
        }
        if self.open.is_none() {
            self.release();
            self.open = Some(Line { number, run: starts == Some(Section::Rd), ..Line::default() });
        } else if let Some(line) = &mut self.open {
            // Blank lines within a definition go; comments stand before it.
            let behind = line.trailing.take_if(|_| number > line.last);
            line.comments.extend(behind);
            line.comments.extend(self.held.drain(..).flatten());
        }
        if let Some(line) = &mut self.open {
            line.last = number;
            line.full = unclosed(&text) > 0;
            line.pieces.push(text);
        }
    }

    /// The line that is being filled is complete.
    fn close(&mut self) {
        self.items.extend(self.open.take().map(Item::Line));
    }

    /// Comments and blank lines that stand where they stood.
    fn release(&mut self) {
        let held = self.held.drain(..).map(|comment| comment.map_or(Item::Blank, Item::Comment));
        self.items.extend(held);
    }

    fn end(&mut self) {
        if let Some(logical) = self.logical.take() {
            self.take_apart(logical);
        }
        self.close();
        self.release();
    }
}

/// Whether a line stays as it is: a variable at its beginning may stand for anything.
fn stays(content: &str) -> bool {
    let first = pieces(content).into_iter().next().unwrap_or_default();
    let key = first.split('=').next().unwrap_or_default();
    key.contains(['$', '!']) || content.starts_with("include=")
}

/// The text behind the first blank as a comment with a mark.
fn comment(behind: &str) -> Option<String> {
    let text = behind.trim_matches([' ', '\t', '\r']);
    if text.is_empty() {
        return None;
    }
    Some(if is_comment(text) { text.to_owned() } else { format!("* {text}") })
}

/// The parts between commas outside quotes and parentheses.
fn pieces(text: &str) -> Vec<&str> {
    let (mut quoted, mut depth, mut start) = (false, 0_u32, 0);
    let mut out = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth = depth.saturating_sub(1),
            ',' if !quoted && depth == 0 => {
                out.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    out.push(&text[start..]);
    out
}

/// The parentheses of a part that only the end of the file closes.
fn unclosed(piece: &str) -> usize {
    let (mut quoted, mut depth) = (false, 0_usize);
    for c in piece.chars() {
        match c {
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    depth
}
