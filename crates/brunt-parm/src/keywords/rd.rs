//! Run definitions (`docs/vdbench/raw.md` §7).

use super::{Form, Keyword, Section};

const fn kw(name: &'static str, form: Form, doc: &'static str) -> Keyword {
    Keyword::new(Section::Rd, name, form, doc)
}

/// A for-loop: each value is a run.
const fn each(name: &'static str, doc: &'static str) -> Keyword {
    kw(name, Form::Loop, doc)
}

/// A for-loop of runs of SDs.
const fn each_sd(name: &'static str, doc: &'static str) -> Keyword {
    each(name, doc).storage()
}

/// A for-loop of runs of file systems.
const fn each_fs(name: &'static str, doc: &'static str) -> Keyword {
    each(name, doc).files()
}

const LATER_DATA: &str = "compression of the data written comes with a later version";

pub(super) const TABLE: &[Keyword] = &[
    kw("rd", Form::Name, "name of the run").exact(),
    kw("wd", Form::Names, "workloads to run").exact().storage(),
    kw(
        "sd",
        Form::Special("name | (name,…) | (sd1-sd5) | sd* | single | range | setsofN"),
        "storage instead of the workloads' own",
    )
    .exact()
    .storage(),
    kw("fsd", Form::Names, "file systems to use").exact().files(),
    kw("iorate", Form::Special("n | max | curve | (n,…) | n%"), "rate in I/Os per second; a list is a run each")
        .storage(),
    kw("maxdata", Form::Bytes, "bytes after which the run ends; up to 100: times the size of the SDs").exact(),
    kw("maxdataread", Form::Bytes, "as maxdata, of reads").exact(),
    kw("maxdatawritten", Form::Bytes, "as maxdata, of writes").exact(),
    kw("curve", Form::Numbers, "points of iorate=curve, in percent").default("(10,50,70,80,90,100)"),
    kw("stopcurve", Form::Milliseconds, "end a curve when the response time exceeds this"),
    kw("elapsed", Form::Seconds, "length of the run after its warmup").default("30"),
    kw("interval", Form::Seconds, "time between two lines of the report").default("1"),
    kw("warmup", Form::Seconds, "time before the run that its totals leave out").default("the first interval"),
    kw(
        "replay",
        Form::Special("file | (file,split=directory,repeat=n,duplication=y,stagger=ms,compress=n)"),
        "replays a trace",
    )
    .exact()
    .later("replay is not in this version yet"),
    kw("pause", Form::Seconds, "time between this run and the next").default("0"),
    each("forxfersize", "transfer sizes"),
    each("forthreads", "threads of each SD"),
    each("forrdpct", "shares of reads"),
    each_sd("forrhpct", "shares of read hits"),
    each_sd("forwhpct", "shares of write hits"),
    each_sd("forseekpct", "shares of random addresses; -1 is eof"),
    each_sd("forhitarea", "sizes of the hit area"),
    each("forcompratio", "compression ratios").later(LATER_DATA),
    each("forcompression", "obsolete: becomes forcompratio=100/n").later(LATER_DATA),
    each_fs("fordepth", "depths of the directory tree"),
    each_fs("forwidth", "widths of the directory tree"),
    each_fs("forfiles", "files in each directory"),
    each_fs("forsizes", "file sizes"),
    each_fs("fortotalsize", "total sizes of the files"),
    each_fs("forwss", "working set sizes").or(&["forworkingsetsize"]),
    each_fs("foroperations", "operations"),
    each("xfersize", "as forxfersize"),
    each("threads", "as forthreads"),
    each("rdpct", "as forrdpct"),
    each_sd("rhpct", "as forrhpct"),
    each_sd("whpct", "as forwhpct"),
    each_sd("seekpct", "as forseekpct"),
    each_sd("hitarea", "as forhitarea"),
    each("compratio", "as forcompratio").later(LATER_DATA),
    each("compression", "as forcompression").later(LATER_DATA),
    each_fs("depth", "as fordepth"),
    each_fs("width", "as forwidth"),
    each_fs("files", "as forfiles"),
    each_fs("sizes", "as forsizes"),
    each_fs("totalsize", "as fortotalsize"),
    each_fs("wss", "as forwss").or(&["workingsetsize"]),
    kw(
        "distribution",
        Form::Special("exponential | uniform | deterministic | variable | spike | (…)"),
        "how the I/Os of a second are spaced",
    )
    .default("exponential"),
    kw("startcmd", Form::Command, "command to run before this run"),
    kw("endcmd", Form::Command, "command to run after this run"),
    kw("fwd", Form::Names, "file system workloads to run").exact().files(),
    kw("fwdrate", Form::Special("n | max | curve | (n,…)"), "rate of file system operations").files(),
    kw("operations", Form::Texts, "operations of the file system workloads").files(),
    kw("format", Form::Texts, "what to do with the files before the run").files(),
    kw("openflags", Form::Texts, "replaces the openflags of SDs and workloads"),
    kw("mount", Form::Text, "command to run on the hosts before this run")
        .later("mount commands are not in this version yet"),
];
