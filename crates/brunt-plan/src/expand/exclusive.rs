//! Parameters that do not go together (`docs/vdbench/raw.md` §5, §6, §8.10; the messages of 5.04.07 were asked for by
//! running it).

use brunt_parm::ast::{LoopKind, Rd, Sd, SeekPct, Wd};
use brunt_parm::{Diag, ParmFile, Span};

use super::log::Log;
use super::settings::validates;

/// Longest name of an SD whose data is validated, bytes: it stands in every block.
const LONGEST_VALIDATED: usize = 8;

/// Reports all pairs that Vdbench refuses.
pub(crate) fn check(file: &ParmFile, log: &mut Log) {
    if let Some(validate) = validates(file) {
        file.sds.iter().for_each(|sd| validated(sd, validate, log));
        file.rds.iter().for_each(|rd| ratio_while_validating(rd, validate, log));
    }
    if let Some(concatenate) = file.general.concatenatesds.as_ref().filter(|c| c.value) {
        file.sds.iter().for_each(|sd| concatenated(sd, concatenate.span, log));
        file.wds.iter().for_each(|wd| concatenated_hits(wd, concatenate.span, log));
    }
}

/// `stride=` on a workload that never seeks.
pub(crate) fn stride_without_seeks(wd: &Wd, log: &mut Log) {
    let sequential = |seek: &SeekPct| match seek {
        SeekPct::Percent(percent) => *percent <= 0.0,
        SeekPct::Eof => true,
        SeekPct::Poisson { .. } => false,
    };
    if let (Some(stride), Some(seek)) = (&wd.stride, wd.seekpct.as_ref().filter(|s| sequential(&s.value))) {
        log.push(
            Diag::error("stride-without-seeks", "stride= has no effect on a sequential workload", stride.span)
                .label("a stride is the way to the next new address")
                .related(seek.span, "no I/O seeks here")
                .help("leave stride= out, or let some I/Os seek: seekpct=100"),
        );
    }
}

fn validated(sd: &Sd, validate: Span, log: &mut Log) {
    for (keyword, span) in [("offset", span(&sd.offset)), ("align", span(&sd.align))] {
        not_with(keyword, span, "data validation", validate, log);
    }
    if let Some(name) = sd.name.as_ref().filter(|n| n.value.len() > LONGEST_VALIDATED) {
        let text = format!("`{}` is longer than {LONGEST_VALIDATED} bytes, which data validation needs", name.value);
        log.push(Diag::error("long-name", text, name.span).related(validate, "validated here"));
    }
}

fn ratio_while_validating(rd: &Rd, validate: Span, log: &mut Log) {
    let ratio = rd.loops.iter().find(|l| l.kind == LoopKind::Compratio).map(|l| l.span);
    not_with("forcompratio", ratio, "data validation", validate, log);
}

fn concatenated(sd: &Sd, concatenate: Span, log: &mut Log) {
    let fields = [
        ("hitarea", span(&sd.hitarea)),
        ("offset", span(&sd.offset)),
        ("align", span(&sd.align)),
        ("range", span(&sd.range)),
    ];
    for (keyword, span) in fields {
        not_with(keyword, span, "concatenatesds=yes", concatenate, log);
    }
}

fn concatenated_hits(wd: &Wd, concatenate: Span, log: &mut Log) {
    for (keyword, span) in [("rhpct", span(&wd.rhpct)), ("whpct", span(&wd.whpct))] {
        not_with(keyword, span, "concatenatesds=yes", concatenate, log);
    }
}

fn span<T>(field: &Option<brunt_parm::Spanned<T>>) -> Option<Span> {
    field.as_ref().map(|f| f.span)
}

fn not_with(keyword: &str, found: Option<Span>, what: &str, because: Span, log: &mut Log) {
    let Some(found) = found else { return };
    log.push(
        Diag::error("exclusive", format!("{keyword}= does not go with {what}"), found)
            .related(because, "asked for here")
            .help("leave one of the two out"),
    );
}
