//! Runs (`docs/vdbench/raw.md` §7).

use super::hook::hook;
use super::loops::loop_kind;
use super::rates::{bursts, curve, distribution, iorate};
use super::{Draft, Parser};
use crate::ast::{MaxDataKind, Rd};
use crate::diag::Diag;
use crate::keywords::{Keyword, Status};
use crate::problems::Problems;
use crate::source::Spanned;
use crate::values::Value;

impl Parser {
    /// A parameter of an RD.
    pub(super) fn rd(&mut self, draft: &mut Draft<Rd>, keyword: &'static Keyword, value: Value<'_>) {
        let first = draft.first(keyword.name);
        if let Some(kind) = loop_kind(keyword.name) {
            return self.run_loop(draft, kind, value);
        }
        let rd = &mut draft.value;
        let problems = &mut self.problems;
        match keyword.name {
            "wd" => {
                once_per_run(rd.wds.as_ref(), value, problems);
                rd.wds = value.names(problems);
            }
            "sd" => rd.sds = value.names(problems),
            "iorate" => iorate(rd, value, first, problems),
            "maxdata" => max_data(rd, MaxDataKind::Both, value, problems),
            "maxdataread" => max_data(rd, MaxDataKind::Read, value, problems),
            "maxdatawritten" => max_data(rd, MaxDataKind::Written, value, problems),
            "curve" => rd.curve = curve(value, problems),
            "stopcurve" => rd.stopcurve = value.float(0.0, problems),
            "elapsed" => rd.elapsed = value.whole(0, problems),
            "interval" => rd.interval = value.whole(0, problems),
            "warmup" => rd.warmup = value.whole(0, problems),
            "pause" => rd.pause = value.whole(0, problems),
            "distribution" => rd.distribution = distribution(value, problems),
            "openflags" => rd.openflags = value.words(),
            "startcmd" | "endcmd" => {
                let list = if keyword.name == "startcmd" { &mut rd.startcmd } else { &mut rd.endcmd };
                if first {
                    list.clear();
                }
                list.push(hook(value));
            }
            "format" if draft.is_default => problems.push(
                Diag::error("format-in-default", "`format=` is not allowed in `rd=default`", value.param.span)
                    .label("give it to the runs that need it"),
            ),
            _ => rd.other.push(value.setting()),
        }
    }

    /// Ends a run.
    pub(super) fn finish_rd(&mut self, mut draft: Draft<Rd>) {
        if draft.is_default {
            self.defaults.rd = draft.value;
            return;
        }
        if draft.value.other.iter().any(|s| matches!(s.keyword, "fsd" | "fwd" | "fwdrate")) {
            // A run of file system workloads: its definitions were passed over, and that was said.
            let span = draft.name.span;
            self.problems.once(
                "files",
                Diag::error("not-yet", "file system workloads are not in this version yet", span)
                    .label("this run is passed over, and those like it"),
            );
            return;
        }
        for setting in &draft.value.other {
            if let Some(keyword) = crate::keywords::lookup(super::Section::Rd, setting.keyword)
                && let Status::Accepted(why) = keyword.status
            {
                self.problems.once(
                    keyword.name,
                    Diag::note("no-effect", format!("`{}=` has no effect here", keyword.name), setting.span).label(why),
                );
            }
        }
        bursts(&mut draft.value, &draft.name, &mut self.problems);
        if draft.value.wds.is_none() && draft.value.sds.is_none() && !draft.own.iter().any(|k| ["wd", "sd"].contains(k))
        {
            self.problems.push(
                Diag::error(
                    "no-workload",
                    format!("run `{}` has neither `wd=` nor `sd=`", draft.name.value),
                    draft.name.span,
                )
                .label("nothing to run")
                .help("name workloads with `wd=`, or storage with `sd=` for a workload made of `wd=default`"),
            );
        }
        if draft.keep {
            self.file.rds.push(draft.value);
        }
    }
}

fn once_per_run(before: Option<&Spanned<Vec<Spanned<String>>>>, value: Value<'_>, problems: &mut Problems) {
    let Some(before) = before else { return };
    problems.push(
        Diag::error("wd-twice", "`wd=` is allowed only once in a run", value.param.span)
            .label("the second one")
            .related(before.span, "the first one; `rd=default` counts too")
            .help("name several workloads in one list, `wd=(wd1,wd2)`; a workload definition stands above the first `rd=`"),
    );
}

fn max_data(rd: &mut Rd, kind: MaxDataKind, value: Value<'_>, problems: &mut Problems) {
    if let Some(n) = value.float(0.0, problems) {
        rd.maxdata.retain(|(k, _)| *k != kind);
        rd.maxdata.push((kind, n));
    }
}
