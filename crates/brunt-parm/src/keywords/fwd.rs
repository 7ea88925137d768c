//! File system workload definitions (`docs/vdbench/filesystem.md` §2.1).

use super::{Form, Keyword, Section};

const fn kw(name: &'static str, form: Form, doc: &'static str) -> Keyword {
    Keyword::new(Section::Fwd, name, form, doc)
}

pub(super) const TABLE: &[Keyword] = &[
    kw("fwd", Form::Name, "name of the workload; `format` is that of format runs").exact(),
    kw("fsd", Form::Names, "file systems to use").exact(),
    kw("rdpct", Form::Percent, "share of reads in a mix of reads and writes, in place of operation=").or(&["readpct"]),
    kw("stopafter", Form::Special("blocks | percent%"), "how much of a file is used before the next")
        .default("the whole file"),
    kw(
        "operation",
        Form::Special(
            "read | write | mkdir | rmdir | copy | move | create | delete | getattr | setattr | access | open | close",
        ),
        "what is done, one operation",
    )
    .default("read"),
    kw(
        "fileselect",
        Form::Special("sequential | sequentialnz | random | poisson | (poisson,midpoint) | (…,once)"),
        "in which order files are used",
    )
    .default("sequential"),
    kw(
        "fileio",
        Form::Special("sequential | (sequential,delete) | sequentialnz | random | (random,shared)"),
        "in which order blocks of a file are used",
    )
    .exact()
    .default("sequential"),
    kw("xfersizes", Form::Special("bytes | (bytes,percent,bytes,percent,…)"), "transfer size, fixed or weighted")
        .or(&["xfersize"])
        .default("4k"),
    kw("skew", Form::Percent, "share of the run's rate"),
    kw("threads", Form::Integer, "threads of the workload, over all its file systems and hosts").default("1"),
    kw("target", Form::Text, "file system that copy and move write to"),
    kw("host", Form::Special("host | (host,…)"), "hosts to run on, without wildcards").or(&["hd"]).default("all hosts"),
    kw("openflags", Form::Texts, "replaces the openflags of the file systems"),
];
