//! Runs (`docs/vdbench/raw.md` §7).

use super::hook::hook;
use super::loops::loop_kind;
use super::rates::{bursts, curve, distribution, iorate};
use super::{Draft, Parser};
use crate::ast::{MaxDataKind, NameItem, Rd};
use crate::diag::Diag;
use crate::keywords::{Keyword, Scope};
use crate::problems::Problems;
use crate::source::Spanned;
use crate::values::Value;

impl Parser {
    /// A parameter of an RD.
    pub(super) fn rd(&mut self, draft: &mut Draft<Rd>, keyword: &'static Keyword, value: Value<'_>) {
        let first = draft.first(keyword.name);
        let other = if self.of_files() { Scope::Storage } else { Scope::Files };
        if keyword.scope == other {
            draft.value.other.push(value.setting());
        }
        if let Some(kind) = loop_kind(keyword.name) {
            return self.run_loop(draft, kind, value);
        }
        if self.rd_files(draft, keyword, value) {
            return;
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
            "replay" => rd.replay = value.words(),
            "mount" => rd.mount = value.text(problems),
            _ => rd.other.push(value.setting()),
        }
    }

    /// Says what of a run has no effect in it.
    fn note_other(&mut self, rd: &Rd) {
        for setting in &rd.other {
            let Some(keyword) = crate::keywords::lookup(super::Section::Rd, setting.keyword) else { continue };
            if keyword.name == "iorate" {
                // Said when the run has no rate of its own.
                continue;
            }
            self.problems.once(
                keyword.name,
                Diag::note("no-effect", format!("`{}=` has no effect here", keyword.name), setting.span)
                    .label(why(keyword.scope, keyword.name)),
            );
        }
    }

    fn check_of_storage(&mut self, draft: &Draft<Rd>) {
        let given = |names: [&'static str; 2]| draft.own.iter().any(|k| names.contains(k));
        if draft.value.wds.is_some() || draft.value.sds.is_some() || given(["wd", "sd"]) {
            return;
        }
        let mut diag = Diag::error(
            "no-workload",
            format!("run `{}` has neither `wd=` nor `sd=`", draft.name.value),
            draft.name.span,
        )
        .label("nothing to run")
        .help("name workloads with `wd=`, or storage with `sd=` for a workload made of `wd=default`");
        if let Some(files) = draft.value.fwds.as_ref().or(draft.value.fsds.as_ref()) {
            diag = diag.related(files.span, "there are no file systems: no `fsd=` stands above the runs");
        }
        self.problems.push(diag);
    }

    /// Ends a run.
    pub(super) fn finish_rd(&mut self, mut draft: Draft<Rd>) {
        if draft.is_default {
            self.defaults.rd = draft.value;
            return;
        }
        self.note_other(&draft.value);
        if self.of_files() {
            self.check_of_files(&draft);
        } else {
            bursts(&mut draft.value, &draft.name, &mut self.problems);
            self.check_of_storage(&draft);
        }
        if draft.keep {
            self.file.rds.push(draft.value);
        }
    }
}

/// Why a keyword has no effect in runs of the other kind.
fn why(scope: Scope, keyword: &str) -> &'static str {
    match (scope, loop_kind(keyword)) {
        (Scope::Storage, None) => "it concerns runs of SDs only",
        (Scope::Storage, Some(_)) => "it concerns runs of SDs; in runs of file systems it only multiplies them",
        (_, None) => "it concerns runs of file systems only",
        (_, Some(_)) => "it concerns file system workloads; in raw runs it only multiplies them",
    }
}

fn once_per_run(before: Option<&Spanned<Vec<Spanned<NameItem>>>>, value: Value<'_>, problems: &mut Problems) {
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
