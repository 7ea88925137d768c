//! Text that remembers where each of its bytes came from.
//!
//! Substitution, continuation and `+` change the text before it is parsed; messages still have to
//! point at what the user wrote.

use std::ops::Range;

use crate::source::Span;

/// A stretch of a [`Mapped`] text.
#[derive(Debug, Clone, Copy)]
struct Piece {
    /// Where it begins in the text.
    at: usize,
    /// Where it came from.
    span: Span,
    /// Whether it is the text of the span, byte for byte; else it stands for the whole span.
    verbatim: bool,
}

/// A text and the origin of each part of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mapped {
    text: String,
    pieces: Vec<Piece>,
}

impl Mapped {
    /// A text that stands in its source as it is.
    pub(crate) fn verbatim(text: &str, span: Span) -> Self {
        let mut mapped = Self::default();
        mapped.push(text, span, true);
        mapped
    }

    /// The text as it is to be parsed.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    fn push(&mut self, text: &str, span: Span, verbatim: bool) {
        self.pieces.push(Piece { at: self.text.len(), span, verbatim });
        self.text.push_str(text);
    }

    /// Adds the part `range` of another text.
    pub(crate) fn append(&mut self, other: &Self, range: Range<usize>) {
        let first = other.piece_index(range.start);
        for (index, piece) in other.pieces.iter().enumerate().skip(first) {
            if piece.at >= range.end {
                break;
            }
            let end = other.pieces.get(index + 1).map_or(other.text.len(), |p| p.at);
            let (from, to) = (piece.at.max(range.start), end.min(range.end));
            let mut span = piece.span;
            if piece.verbatim {
                span.start = piece.span.start + (from - piece.at) as u32;
                span.end = piece.span.start + (to - piece.at) as u32;
            }
            self.push(&other.text[from..to], span, piece.verbatim);
        }
    }

    /// The text with parts replaced; ranges must rise and not overlap. A replacement has the place
    /// of what it replaced.
    pub(crate) fn replaced<'a>(&self, parts: impl IntoIterator<Item = (Range<usize>, &'a str)>) -> Self {
        let mut out = Self::default();
        let mut done = 0;
        for (range, text) in parts {
            out.append(self, done..range.start);
            out.push(text, self.span(range.clone()), false);
            done = range.end;
        }
        out.append(self, done..self.text.len());
        out
    }

    /// The part `range` as a text of its own.
    pub(crate) fn slice(&self, range: Range<usize>) -> Self {
        let mut out = Self::default();
        out.append(self, range);
        out
    }

    fn piece_index(&self, at: usize) -> usize {
        self.pieces.partition_point(|p| p.at <= at).saturating_sub(1)
    }

    /// The place in the original text of a part of this one.
    ///
    /// When the part spans several files, the place is its beginning in the first.
    pub(crate) fn span(&self, range: Range<usize>) -> Span {
        let Some(first) = self.pieces.get(self.piece_index(range.start)) else {
            return Span { file: crate::FileId(0), start: 0, end: 0 };
        };
        let start = if first.verbatim {
            (first.span.start + (range.start - first.at) as u32).min(first.span.end)
        } else {
            first.span.start
        };
        let last_at = range.end.saturating_sub(1).max(range.start);
        let end = match self.pieces.get(self.piece_index(last_at)) {
            Some(last) if last.span.file == first.span.file && last.span.start >= first.span.start => {
                if last.verbatim {
                    (last.span.start + (range.end - last.at.min(range.end)) as u32).min(last.span.end)
                } else {
                    last.span.end
                }
            }
            _ => first.span.end,
        };
        Span { file: first.span.file, start, end: end.max(start) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FileId;

    fn span(start: u32, end: u32) -> Span {
        Span { file: FileId(0), start, end }
    }

    #[test]
    fn a_replacement_points_at_what_it_replaced() {
        let line = Mapped::verbatim("lun=./$file,size=8m", span(100, 119));
        let new = line.replaced([(6..11, "f1")]);
        assert_eq!(new.as_str(), "lun=./f1,size=8m");
        assert_eq!(new.span(0..3), span(100, 103));
        assert_eq!(new.span(6..8), span(106, 111), "the value is the use of the variable");
        assert_eq!(new.span(4..8), span(104, 111));
        assert_eq!(new.span(9..16), span(112, 119));
    }

    #[test]
    fn joined_lines_keep_their_places() {
        let mut all = Mapped::verbatim("a=1,", span(0, 4));
        let next = Mapped::verbatim("b=2", span(10, 13));
        all.append(&next, 0..3);
        assert_eq!(all.as_str(), "a=1,b=2");
        assert_eq!(all.span(4..7), span(10, 13));
        assert_eq!(all.span(2..7), span(2, 13));
        assert_eq!(all.slice(4..7).span(2..3), span(12, 13));
    }
}
