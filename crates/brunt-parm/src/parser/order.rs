//! Keywords and lines in the wrong place.

use super::{Current, Parser};
use crate::diag::Diag;
use crate::keywords::{self, Section, is_full_name};
use crate::lexer::Param;
use crate::lines::leading_section;
use crate::suggest;

impl Parser {
    /// Whether a line is a definition of an earlier section, and which.
    ///
    /// A keyword of a definition is a parameter in later sections (`sd=` in a run), so that only
    /// the rest of the line tells.
    pub(super) fn misplaced(&self, params: &[Param]) -> Option<Section> {
        let (first, rest) = params.split_first()?;
        let section = leading_section(&first.raw).filter(|s| *s < self.section)?;
        let foreign =
            rest.iter().any(|p| keywords::lookup(self.section, &p.key).is_none() && is_full_name(section, &p.key));
        let second = section == Section::Wd
            && rest.iter().any(|p| p.key == "sd")
            && matches!(&self.current, Current::Rd(rd) if rd.value.wds.is_some());
        (foreign || second).then_some(section)
    }

    /// Reads a misplaced definition as what it is, so that nothing follows from it but one error.
    pub(super) fn misplaced_line(&mut self, section: Section, params: &[Param]) {
        let Some(first) = params.first() else { return };
        let here = self.section;
        if !self.mixes(section) {
            self.problems.push(
                Diag::error("wrong-order", format!("`{}` stands behind a {}", first.raw, here.noun()), first.span)
                    .label(format!("here `{}=` is a parameter of the {} above", first.key, here.noun()))
                    .help(format!("move this line above the first {}", starters_after(section))),
            );
        }
        let current = std::mem::take(&mut self.current);
        self.section = section;
        self.params(params);
        self.finish_current();
        self.section = here;
        self.current = current;
    }

    /// Whether the runs are of file systems, as far as was read.
    pub(super) fn of_files(&self) -> bool {
        let kinds = [Section::Fsd, Section::Fwd, Section::Sd, Section::Wd];
        self.met.iter().find(|met| kinds.contains(met)).is_some_and(|met| kinds[..2].contains(met))
    }

    /// Whether a definition of this section stands in a file of the other kind.
    fn mixes(&self, section: Section) -> bool {
        let files = [Section::Fsd, Section::Fwd];
        let storage = [Section::Sd, Section::Wd];
        let met = |kind: &[Section]| self.met.iter().any(|met| kind.contains(met));
        (files.contains(&section) && met(&storage)) || (storage.contains(&section) && met(&files))
    }

    /// File systems and storage do not mix (`docs/vdbench/filesystem.md` §0.1): behind file systems, storage is passed
    /// over; the other way round is an error.
    pub(super) fn mixed(&mut self, section: Section, param: &Param) {
        if !self.mixes(section) {
            return;
        }
        let text = "one execution uses either file systems or storage";
        let diag = match section {
            Section::Sd | Section::Wd => {
                Diag::warning("mixed", text, param.span).label("not used: this execution is one of file systems")
            }
            _ => Diag::error("mixed", text, param.span).label(format!("a {} among the other kind", section.noun())),
        };
        self.problems.once("", diag.help("`fsd=` and `fwd=` in one file, `sd=` and `wd=` in another"));
    }

    /// Reports a keyword that this section does not have.
    pub(super) fn unknown(&mut self, param: &Param) {
        let key = param.key.as_str();
        let words = format!("Unknown keyword: {}", typed(param));
        let owner = Section::ALL.into_iter().find(|s| *s != self.section && is_full_name(*s, key));
        if key == "include" {
            self.problems.push(
                Diag::error("unknown-keyword", "`include=` must be a line of its own, in lower case", param.key_span)
                    .label("not at the beginning of a line, or not in lower case")
                    .vdbench(words),
            );
            return;
        }
        let near = suggest::nearest(key, keywords::section(self.section).iter().flat_map(|k| k.names()));
        let diag = Diag::error("unknown-keyword", format!("unknown keyword `{}`", typed(param)), param.key_span)
            .vdbench(words);
        let diag = match (owner, near) {
            (Some(owner), _) => diag.label(self.not_here()).help(belongs(key, owner)),
            (None, Some(near)) => {
                diag.label(self.not_here()).help(format!("`{near}=` is one")).fix(param.key_span, near)
            }
            (None, None) => diag.label(self.not_here()),
        };
        self.problems.push(diag);
    }

    fn not_here(&self) -> String {
        match self.section {
            Section::General => "not a general parameter".to_owned(),
            section => format!("not a parameter of a {}", section.noun()),
        }
    }
}

/// The keyword as it was typed.
fn typed(param: &Param) -> &str {
    param.raw.split('=').next().unwrap_or(&param.key)
}

fn belongs(key: &str, owner: Section) -> String {
    match owner {
        Section::General => {
            format!("`{key}=` is a general parameter: move it above the first {}", starters_after(Section::General))
        }
        owner => format!("`{key}=` belongs to a {} (`{}=`)", owner.noun(), owner.starter()),
    }
}

fn starters_after(section: Section) -> &'static str {
    match section {
        Section::General => "`hd=`, `sd=`, `wd=` and `rd=`",
        Section::Hd => "`sd=`, `wd=` and `rd=`",
        Section::Rg => "`sd=`, `wd=` and `rd=`",
        Section::Fsd => "`fwd=` and `rd=`",
        Section::Sd => "`wd=` and `rd=`",
        Section::Wd | Section::Fwd | Section::Rd => "`rd=`",
    }
}
