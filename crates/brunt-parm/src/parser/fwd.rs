//! File system workloads (`docs/vdbench/filesystem.md` §2).

use super::fsd::weighted;
use super::{Draft, Parser};
use crate::ast::{FileIo, FileSelect, Fwd, Num, Operation, Opt, Order, XferSize};
use crate::diag::Diag;
use crate::keywords::Keyword;
use crate::number;
use crate::problems::Problems;
use crate::source::Spanned;
use crate::suggest;
use crate::values::Value;

/// Transfer size of format runs, bytes.
const FORMAT_XFER: u64 = 128 << 10;

impl Parser {
    /// A parameter of an FWD.
    pub(super) fn fwd(&mut self, draft: &mut Draft<Fwd>, keyword: &'static Keyword, value: Value<'_>) {
        draft.first(keyword.name);
        let fwd = &mut draft.value;
        let problems = &mut self.problems;
        match keyword.name {
            "fsd" => fwd.fsds = value.names(problems),
            "rdpct" => fwd.rdpct = value.percent(problems),
            "stopafter" => fwd.stopafter = stopafter(value, problems),
            "operation" => fwd.operation = operation(value, problems),
            "fileselect" => fwd.fileselect = fileselect(value, problems),
            "fileio" => fwd.fileio = fileio(value, problems),
            "xfersizes" => fwd.xfersize = xfersizes(value, problems),
            "skew" => fwd.skew = value.percent(problems),
            "threads" => fwd.threads = threads(value, problems),
            "target" => fwd.target = value.text(problems),
            "host" => fwd.hosts = value.words(),
            "openflags" => fwd.openflags = value.words(),
            _ => {}
        }
    }

    /// Begins an FWD: a copy of the default; that of formats has a transfer size of its own.
    pub(super) fn fwd_of(&self, name: &Spanned<String>) -> Fwd {
        let mut fwd = self.defaults.fwd.clone();
        if name.value == "format" {
            fwd.xfersize = Some(Spanned::new(XferSize::Fixed(FORMAT_XFER), name.span));
        }
        fwd
    }

    /// Ends an FWD.
    pub(super) fn finish_fwd(&mut self, draft: Draft<Fwd>) {
        let fwd = &draft.value;
        if let (Some(io), Some(rdpct)) = (&fwd.fileio, &fwd.rdpct)
            && io.value.delete
        {
            self.problems.push(
                Diag::error(
                    "delete-and-rdpct",
                    "`fileio=(sequential,delete)` and `rdpct=` exclude each other",
                    rdpct.span,
                )
                .label("a mix of reads and writes is random")
                .related(io.span, "files are deleted before they are written")
                .help("leave out one of the two"),
            );
        }
        if let Some(target) = &fwd.target
            && !draft.is_default
        {
            let operation = fwd.operation.map_or(Operation::Read, |o| o.value);
            if !matches!(operation, Operation::Copy | Operation::Move) {
                self.problems.push(
                    Diag::error("target", "`target=` is only for `operation=copy` and `operation=move`", target.span)
                        .label(format!("the operation is {}", operation.word())),
                );
            }
        }
        self.shared_and_validated(&draft);
        if draft.is_default {
            self.defaults.fwd = draft.value;
        } else if draft.name.value == "format" {
            self.file.fwd_format = Some(draft.value);
        } else if draft.keep {
            self.file.fwds.push(draft.value);
        }
    }

    /// Data validation needs each file for itself.
    fn shared_and_validated(&mut self, draft: &Draft<Fwd>) {
        let Some(io) = draft.value.fileio.filter(|io| io.value.shared) else { return };
        let general = &self.file.general;
        let on = |list: &crate::ast::List<String>| {
            list.as_ref()
                .filter(|l| l.value.iter().any(|w| !w.value.starts_with("no") || w.value == "noflush"))
                .map(|l| l.span)
        };
        if let Some(validate) = on(&general.validate).or(on(&general.journal)) {
            self.problems.once(
                "",
                Diag::error(
                    "shared-and-validated",
                    "`fileio=(random,shared)` and data validation exclude each other",
                    io.span,
                )
                .label("several threads would use one file")
                .related(validate, "validated here"),
            );
        }
    }
}

/// Blocks, or percent of the file.
fn stopafter(value: Value<'_>, problems: &mut Problems) -> Opt<Num> {
    let n = value.num(problems)?;
    if n.value.value < 0.0 {
        problems.bad_value(value.name, n.span, &n.value.value.to_string(), "blocks, or percent with `%`");
        return None;
    }
    Some(n)
}

fn threads(value: Value<'_>, problems: &mut Problems) -> Opt<u64> {
    let n = value.whole(0, problems)?;
    if n.value == 0 {
        problems.push(Diag::note("threads", "`threads=0` is taken as 1", n.span).label("a workload needs a thread"));
        return Some(n.map(|_| 1));
    }
    Some(n)
}

/// Exactly one operation.
fn operation(value: Value<'_>, problems: &mut Problems) -> Opt<Operation> {
    let (first, rest) = value.param.items.split_first()?;
    if let Some(second) = rest.first() {
        problems.push(
            Diag::error("one-operation", "`operation=` of an FWD takes only one operation", second.span)
                .label("the second one")
                .help("several belong to a run: `rd=…,operations=(read,write)` at once, `foroperations=` one after the other"),
        );
        return None;
    }
    match Operation::from_word(&first.text) {
        Some(operation) => Some(Spanned::new(operation, first.span)),
        None => {
            unknown_operation(value.name, &Spanned::new(first.text.clone(), first.span), problems);
            None
        }
    }
}

/// Says that a word is no operation.
pub(super) fn unknown_operation(keyword: &str, word: &Spanned<String>, problems: &mut Problems) {
    let words = Operation::ALL.map(Operation::word);
    let diag = Diag::error("bad-value", format!("`{keyword}=` does not take `{}`", word.value), word.span)
        .label(format!("expected one of {}", words.join(", ")));
    let near = suggest::nearest(&word.value.to_ascii_lowercase(), words);
    problems.push(match near {
        Some(near) => diag.fix(word.span, near),
        None => diag,
    });
}

/// `fileselect=` (`docs/vdbench/filesystem.md` §2.2).
fn fileselect(value: Value<'_>, problems: &mut Problems) -> Opt<FileSelect> {
    let mut select = FileSelect::default();
    for item in &value.param.items {
        let word = item.text.as_str();
        let midpoint = number::number(word.strip_prefix("midpoint=").unwrap_or(word), false);
        if let Some(n) = midpoint {
            if n.num.value <= 0.0 {
                problems.bad_value(value.name, item.span, word, "a midpoint above 0");
                return None;
            }
            select.midpoint = n.num.value;
            // A number makes a random choice uneven.
            if select.order == Order::Random {
                select.order = Order::Poisson;
            }
            continue;
        }
        match word {
            "once" => select.once = true,
            "poisson" | "skewed" => select.order = Order::Poisson,
            "sequentialnz" | "seqnz" => select.order = Order::SequentialNz,
            _ if begins("sequential", word) => select.order = Order::Sequential,
            _ if begins("random", word) => select.order = Order::Random,
            _ => {
                problems.bad_value(
                    value.name,
                    item.span,
                    word,
                    "sequential, sequentialnz, random, poisson, once or a midpoint",
                );
                return None;
            }
        }
    }
    if select.once && select.order == Order::SequentialNz {
        problems.push(
            Diag::error("seqnz-once", "`fileselect=(sequentialnz,once)` is not possible", value.param.value_span)
                .label("`sequentialnz` goes round, `once` does not")
                .vdbench("'fileselect=(seqnz,once)' may not be used together."),
        );
        return None;
    }
    Some(Spanned::new(select, value.param.value_span))
}

fn begins(full: &str, word: &str) -> bool {
    !word.is_empty() && full.starts_with(word)
}

/// `fileio=` (`docs/vdbench/filesystem.md` §2.4).
fn fileio(value: Value<'_>, problems: &mut Problems) -> Opt<FileIo> {
    let mut io = FileIo::default();
    for (n, item) in value.param.items.iter().enumerate() {
        let word = item.text.as_str();
        match (n, word) {
            (_, "sequentialnz" | "seqnz") => io.order = Order::SequentialNz,
            (0, _) if begins("sequential", word) => io.order = Order::Sequential,
            (0, _) if begins("random", word) => io.order = Order::Random,
            (1.., _) if begins("delete", word) && io.order != Order::Random => io.delete = true,
            (1.., _) if begins("shared", word) && io.order == Order::Random => io.shared = true,
            _ => {
                let wanted = "sequential, (sequential,delete), sequentialnz, random or (random,shared)";
                problems.bad_value(value.name, item.span, word, wanted);
                return None;
            }
        }
    }
    Some(Spanned::new(io, value.param.value_span))
}

/// A size, or sizes with percentages.
fn xfersizes(value: Value<'_>, problems: &mut Problems) -> Opt<XferSize> {
    let numbers = value.numbers(problems)?;
    let span = numbers.span;
    if let Some(bad) = numbers.value.iter().step_by(2).find(|n| n.value.value < 1.0 || n.value.value > 2f64.powi(40)) {
        problems.bad_value(value.name, bad.span, &bad.value.value.to_string(), "bytes, such as 4k");
        return None;
    }
    if let [size] = numbers.value.as_slice() {
        return Some(Spanned::new(XferSize::Fixed(size.value.value as u64), span));
    }
    weighted(value.name, &numbers.value, problems).map(|sizes| Spanned::new(XferSize::Weighted(sizes), span))
}
