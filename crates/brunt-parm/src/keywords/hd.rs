//! Host definitions (`docs/vdbench/raw.md` §4).

use super::{Form, Keyword, Section};

const fn kw(name: &'static str, form: Form, doc: &'static str) -> Keyword {
    Keyword::new(Section::Hd, name, form, doc)
}

pub(super) const TABLE: &[Keyword] = &[
    kw("hd", Form::Name, "label of the host; also its network name without system=")
        .or(&["host"])
        .default("localhost")
        .exact(),
    kw("system", Form::Text, "network name or address of the host"),
    kw("vdbench", Form::Path, "directory of the program on that host"),
    kw("shell", Form::Special("ssh | rsh | vdbench"), "how the host is reached").default("rsh"),
    kw("user", Form::Text, "user on that host"),
    kw("jvms", Form::Integer, "number of worker processes on that host").default("1"),
    kw("clients", Form::Integer, "makes n hosts label_cl0 … label_cl(n-1) of this one"),
    kw("mount", Form::Text, "command to run on the host before the first run"),
    kw("master", Form::Text, "address of the master as that host sees it")
        .accepted("workers are reached from the master, never the other way"),
];
