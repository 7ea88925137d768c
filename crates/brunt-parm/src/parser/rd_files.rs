//! The parameters of a run that concern file systems (`docs/vdbench/filesystem.md` §3).

use super::fwd::unknown_operation;
use super::rates::{note_rate, rates};
use super::{Draft, Parser};
use crate::ast::{FormatWord, IoRate, List, Loop, LoopKind, LoopValues, Num, Operation, Rd};
use crate::diag::Diag;
use crate::keywords::Keyword;
use crate::problems::Problems;
use crate::source::Spanned;
use crate::values::Value;

impl Parser {
    /// A parameter of runs of file systems; whether it was one.
    pub(super) fn rd_files(&mut self, draft: &mut Draft<Rd>, keyword: &'static Keyword, value: Value<'_>) -> bool {
        let is_default = draft.is_default;
        let rd = &mut draft.value;
        let problems = &mut self.problems;
        match keyword.name {
            "fsd" => rd.fsds = value.names(problems),
            "fwd" => rd.fwds = value.names(problems),
            "fwdrate" => fwdrate(rd, value, problems),
            "operations" => rd.operations = operations(value, problems),
            "format" if is_default => problems.push(
                Diag::error("format-in-default", "`format=` is not allowed in `rd=default`", value.param.span)
                    .label("give it to the runs that need it"),
            ),
            "format" => rd.format = format(value, problems),
            _ => return false,
        }
        true
    }

    /// What a run of file systems needs.
    pub(super) fn check_of_files(&mut self, draft: &Draft<Rd>) {
        let (rd, name) = (&draft.value, &draft.name);
        let given = |keyword| draft.own.contains(&keyword);
        if rd.fwds.is_none() && rd.fsds.is_none() && !given("fwd") && !given("fsd") {
            self.problems.push(
                Diag::error("no-workload", format!("run `{}` has neither `fwd=` nor `fsd=`", name.value), name.span)
                    .label("nothing to run")
                    .help("name workloads with `fwd=`, or file systems with `fsd=` for the workload `fwd=default`"),
            );
        }
        let each = rd.loops.iter().find(|l| l.kind == LoopKind::Operation);
        if let (Some(all), Some(each)) = (&rd.operations, each) {
            self.problems.push(
                Diag::error("operations-twice", "`operations=` and `foroperations=` exclude each other", all.span)
                    .label("all at the same time")
                    .related(each.span, "one after the other"),
            );
        }
        let formats = |words: &Spanned<Vec<Spanned<FormatWord>>>| words.value.iter().all(|w| w.value != FormatWord::No);
        let recovers = self.file.general.journal.as_ref().filter(|j| j.value.iter().any(|w| w.value.starts_with("re")));
        if let (Some(format), Some(journal)) = (rd.format.as_ref().filter(|f| formats(f)), recovers) {
            let span = journal.span;
            self.problems.push(
                Diag::error(
                    "format-and-recovery",
                    "a format would destroy what a journal recovery checks",
                    format.span,
                )
                .label("leave it out")
                .related(span, "the recovery"),
            );
        }
    }
}

/// `fwdrate=`: a list is a loop, in its place among the others.
fn fwdrate(rd: &mut Rd, value: Value<'_>, problems: &mut Problems) {
    let items = &value.param.items;
    let is_max = |text: &str| text.eq_ignore_ascii_case("max");
    if items.len() > 1
        && let Some(word) = items.iter().find(|i| is_max(&i.text))
    {
        problems.push(
            Diag::error("max-in-list", "`max` cannot be one of several rates of `fwdrate=`", word.span)
                .label("must stand alone")
                .help("write a run of its own with `fwdrate=max`"),
        );
        return;
    }
    let Some(rates) = rates(value, problems) else { return };
    note_rate(value, problems);
    let before = rd.loops.iter().position(|l| l.kind == LoopKind::Fwdrate).map(|n| rd.loops.remove(n));
    if rates.value.len() > 1 {
        let numbers = rates.value.iter().map(|rate| rate.map(number_of)).collect();
        rd.loops.push(Loop { kind: LoopKind::Fwdrate, values: LoopValues::Numbers(numbers), span: value.param.span });
    } else if let Some(list) = before {
        problems.push(
            Diag::note("list-cancelled", "this rate takes the place of a list", value.param.span)
                .label("Vdbench would still run the list")
                .related(list.span, "the list"),
        );
    }
    rd.fwdrate = Some(rates);
}

fn number_of(rate: IoRate) -> Num {
    match rate {
        IoRate::Fixed(value) => Num { value, percent: false },
        IoRate::Percent(value) => Num { value, percent: true },
        // Words stand alone, and a list of one is no loop.
        IoRate::Max | IoRate::Curve => Num { value: 0.0, percent: false },
    }
}

/// Operations by their names.
pub(super) fn operations(value: Value<'_>, problems: &mut Problems) -> List<String> {
    let words = value.words()?;
    let unknown = words.value.iter().find(|w| Operation::from_word(&w.value).is_none());
    if let Some(word) = unknown {
        unknown_operation(value.name, word, problems);
        return None;
    }
    Some(words)
}

/// `format=` (`docs/vdbench/filesystem.md` §3.3).
fn format(value: Value<'_>, problems: &mut Problems) -> List<FormatWord> {
    let mut words = Vec::with_capacity(value.param.items.len());
    for item in &value.param.items {
        let begins = |full: &str| !item.text.is_empty() && full.starts_with(item.text.as_str());
        let word = match item.text.as_str() {
            "restart" => FormatWord::Restart,
            "only" => FormatWord::Only,
            "once" => FormatWord::Once,
            "clean" => FormatWord::Clean,
            "limited" => FormatWord::Limited,
            "complete" => FormatWord::Complete,
            _ if begins("no") => FormatWord::No,
            _ if begins("yes") => FormatWord::Yes,
            _ if begins("directories") => FormatWord::Directories,
            other => {
                let wanted = "yes, no, restart, only, directories, once, clean, limited or complete";
                problems.bad_value(value.name, item.span, other, wanted);
                return None;
            }
        };
        words.push(Spanned::new(word, item.span));
    }
    let words = Spanned::new(words, value.param.value_span);
    check_format(&words, problems).then_some(Some(words))?
}

/// What goes together in `format=`.
fn check_format(words: &Spanned<Vec<Spanned<FormatWord>>>, problems: &mut Problems) -> bool {
    let place = |word| words.value.iter().find(|w| w.value == word).map(|w| w.span);
    let no = place(FormatWord::No);
    if let Some(complete) = place(FormatWord::Complete).filter(|_| no.is_none()) {
        problems.push(
            Diag::error("format", "`complete` goes only with `no`: `format=(no,complete)`", complete)
                .label("says that all files are there, so there is nothing to format"),
        );
        return false;
    }
    if no.is_some() {
        let ignored = words.value.iter().find(|w| !matches!(w.value, FormatWord::No | FormatWord::Complete));
        if let Some(ignored) = ignored {
            problems.push(
                Diag::warning("format-no", "with `no` in it there is no format", words.span)
                    .label("the other words are ignored")
                    .related(ignored.span, "ignored"),
            );
        }
        return true;
    }
    if let Some(limited) = place(FormatWord::Limited).filter(|_| place(FormatWord::Only).is_none()) {
        problems.push(
            Diag::error("format", "`limited` goes only with `only`: `format=(only,limited)`", limited)
                .label("a format that may stop half way leaves nothing to run on"),
        );
        return false;
    }
    true
}
