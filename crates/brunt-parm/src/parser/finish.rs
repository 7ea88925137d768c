//! What can only be seen at the end (`docs/vdbench/raw.md` §1.9, §3).

use super::{Outcome, Parser};
use crate::ast::General;
use crate::diag::Diag;
use crate::keywords::Section;
use crate::problems::Problems;
use crate::source::Span;

impl Parser {
    /// Ends the last definition and checks the whole; `incomplete`: a file could not be read.
    pub(crate) fn finish(mut self, incomplete: bool, end: Option<Span>) -> Outcome {
        self.finish_current();
        exclusive(&self.file.general, &mut self.problems);
        // A definition may be in a file that is missing, in a line that could not be read, or passed over.
        if !incomplete && !["no-keyword", "mixed"].iter().any(|code| self.problems.has(code)) {
            self.check_content(self.last.or(end));
        }
        self.file.wd_default = self.defaults.wd;
        self.file.fwd_default = self.defaults.fwd;
        self.file.hd_default = self.defaults.hd;
        Outcome { file: self.file, problems: self.problems, scan: self.scan }
    }

    /// At least one SD or FSD, and one RD.
    fn check_content(&mut self, end: Option<Span>) {
        let of_files = self.of_files();
        let mut missing = |code, message: &str, help: &str| {
            let diag = Diag::new(crate::Severity::Error, code, message, end).label("the input ends here").help(help);
            self.problems.push(diag);
        };
        let section = if of_files { Section::Fsd } else { Section::Sd };
        match (self.met.contains(&section), self.met.contains(&Section::Rd)) {
            (_, false) if of_files => {
                missing("no-run", "there is no `rd=`: nothing to run", "add `rd=run1,fwd=NAME,fwdrate=max,elapsed=60`")
            }
            (_, false) => {
                missing("no-run", "there is no `rd=`: nothing to run", "add `rd=run1,wd=NAME,iorate=max,elapsed=60`")
            }
            (false, true) if of_files => missing(
                "no-storage",
                "there is no `fsd=`: nothing to run on",
                "add `fsd=fsd1,anchor=DIRECTORY` above the first `fwd=`",
            ),
            (false, true) => missing(
                "no-storage",
                "there is no `sd=`: nothing to run on",
                "add `sd=sd1,lun=PATH` above the first `wd=`",
            ),
            (true, true) => {}
        }
    }
}

/// Parameters that exclude each other.
fn exclusive(general: &General, problems: &mut Problems) {
    let on = |words: &crate::ast::List<String>| {
        words
            .as_ref()
            .filter(|w| w.value.iter().any(|w| !w.value.starts_with('n') || w.value == "noflush"))
            .map(|w| w.span)
    };
    let concatenate = general.concatenatesds.filter(|c| c.value).map(|c| c.span);
    let dedup = general.other.iter().find(|s| s.keyword.starts_with("dedup")).map(|s| s.span);
    let pattern = general.pattern.as_ref().map(|p| p.span);
    let validate = on(&general.validate);
    let pairs = [
        ("formatsds=yes", general.formatsds.filter(|f| f.value).map(|f| f.span), "concatenatesds=yes", concatenate),
        ("validate=", validate, "concatenatesds=yes", concatenate),
        ("pattern=", pattern, "compratio=", general.compratio.map(|c| c.span)),
        ("pattern=", pattern, "dedup=", dedup),
        ("pattern=", pattern, "validate=", validate),
    ];
    for (one, first, other, second) in pairs {
        if let (Some(first), Some(second)) = (first, second) {
            problems.push(
                Diag::error("exclusive", format!("`{one}` and `{other}` exclude each other"), first)
                    .label("leave out one of the two")
                    .related(second, "the other one"),
            );
        }
    }
}
