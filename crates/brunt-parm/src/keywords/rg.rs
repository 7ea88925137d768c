//! Replay groups (`docs/vdbench/data.md` §5.1).

use super::{Form, Keyword, Section};

const fn kw(name: &'static str, form: Form, doc: &'static str) -> Keyword {
    Keyword::new(Section::Rg, name, form, doc)
}

const LATER: &str = "replay is not in this version yet";

pub(super) const TABLE: &[Keyword] = &[
    kw("rg", Form::Name, "name of the replay group").exact().later(LATER),
    kw("devices", Form::Numbers, "numbers of the devices in the trace, laid out one after another").later(LATER),
];
