//! Workload definitions (`docs/vdbench/raw.md` §6).

use super::{Form, Keyword, Section};

const fn kw(name: &'static str, form: Form, doc: &'static str) -> Keyword {
    Keyword::new(Section::Wd, name, form, doc)
}

pub(super) const TABLE: &[Keyword] = &[
    kw("wd", Form::Name, "name of the workload").exact(),
    kw("sd", Form::Names, "storage to use").exact(),
    kw("skew", Form::Percent, "share of the run's rate"),
    kw(
        "xfersize",
        Form::Special("bytes | (bytes,percent,bytes,percent,…) | (min,max,align)"),
        "transfer size, fixed, weighted or between bounds",
    )
    .default("4096"),
    kw("rdpct", Form::Percent, "share of reads").or(&["readpct"]).default("100"),
    kw("writepct", Form::Percent, "share of writes; rdpct=100-n").or(&["wrpct"]),
    kw("range", Form::Pair, "part of each SD to use; up to 200 percent, above bytes").default("(0,100)"),
    kw("hotband", Form::Pair, "like range, with addresses that prefer its beginning"),
    kw(
        "seekpct",
        Form::Special("percent | random | sequential | eof | poisson | (poisson,midpoint)"),
        "share of new random addresses; 0 is sequential, eof ends at the end",
    )
    .default("100"),
    kw("stride", Form::Special("(min,max)"), "gap to the next address, in bytes"),
    kw("priority", Form::Integer, "1 is served first"),
    kw("iorate", Form::Number, "fixed rate of this workload; needs priority="),
    kw("rhpct", Form::Percent, "share of read hits").default("0"),
    kw("whpct", Form::Percent, "share of write hits").default("0"),
    kw("host", Form::Hosts, "hosts to run on").or(&["hd"]).default("*"),
    kw("openflags", Form::Texts, "replaces the openflags of the SDs"),
    kw("user", Form::Text, "Java class that makes the workload").exact(),
    kw("threads", Form::Integer, "threads of the concatenation; with concatenatesds=yes only"),
    kw("streams", Form::Integer, "sequential streams, each on its part of the SD"),
];
