//! Hosts (`docs/vdbench/raw.md` §4).

use super::{Draft, Parser};
use crate::ast::Hd;
use crate::diag::Diag;
use crate::keywords::Keyword;
use crate::lexer::Item;
use crate::problems::Problems;
use crate::source::Spanned;
use crate::values::Value;

/// `hd=(system,label)`, the old form.
pub(super) fn old_form(draft: &mut Draft<Hd>, system: &Item, label: &Item, problems: &mut Problems) {
    draft.value.system = Some(Spanned::new(system.text.clone(), system.span));
    problems.once(
        "hd",
        Diag::note("old-form", "`hd=(system,label)` is an old form", system.span)
            .label("read as the network name")
            .help(format!("write `hd={},system={}`", label.text, system.text)),
    );
}

impl Parser {
    /// A parameter of a host.
    pub(super) fn hd(&mut self, draft: &mut Draft<Hd>, keyword: &'static Keyword, value: Value<'_>) {
        let hd = &mut draft.value;
        let problems = &mut self.problems;
        match keyword.name {
            "system" => hd.system = value.text(problems),
            "vdbench" => hd.vdbench = directory(value, problems),
            "shell" => hd.shell = value.text(problems),
            "user" => hd.user = value.text(problems),
            "jvms" => hd.jvms = value.small(1, problems),
            "clients" => hd.clients = value.small(1, problems),
            "mount" => hd.mount = value.text(problems),
            "master" => hd.master = value.text(problems),
            _ => {}
        }
    }

    /// Ends a host.
    pub(super) fn finish_hd(&mut self, draft: Draft<Hd>) {
        if draft.is_default {
            self.defaults.hd = draft.value;
        } else if draft.keep {
            self.file.hosts.push(draft.value);
        }
    }
}

/// A directory; it ends with a separator.
fn directory(value: Value<'_>, problems: &mut Problems) -> Option<Spanned<String>> {
    let mut path = value.text(problems)?;
    if !path.value.contains(['/', '\\']) {
        problems.push(
            Diag::error("not-a-path", format!("`vdbench={}` is not a directory", path.value), path.span)
                .label("has no `/`")
                .help("give the whole path of the installation on that host"),
        );
        return None;
    }
    if !path.value.ends_with(['/', '\\']) {
        path.value.push(if path.value.contains('/') { '/' } else { '\\' });
    }
    Some(path)
}
