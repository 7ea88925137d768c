//! General parameters (`docs/vdbench/raw.md` §3).

use super::{Form, Keyword, Section};

const fn kw(name: &'static str, form: Form, doc: &'static str) -> Keyword {
    Keyword::new(Section::General, name, form, doc)
}

const LATER_DATA: &str = "compression and deduplication of the data written come with a later version";
const LATER_CHECK: &str = "data validation comes with a later version";

pub(super) const TABLE: &[Keyword] = &[
    kw("compression", Form::Percent, "obsolete: what remains after compression; becomes compratio=100/n").exact(),
    kw("compratio", Form::Number, "compression ratio of the data written; 1 is incompressible")
        .default("1")
        .later(LATER_DATA),
    kw("compressionseed", Form::Special("n | tod"), "seed of the data pattern").accepted(LATER_DATA),
    kw("dedupratio", Form::Number, "how often each block of data is written").exact().later(LATER_DATA),
    kw("dedupunit", Form::Bytes, "size of the blocks that repeat").exact().later(LATER_DATA),
    kw("dedupsets", Form::Special("n | percent%"), "how many different blocks repeat").exact().later(LATER_DATA),
    kw("deduphotsets", Form::Special("(n,blocks,…)"), "sets that repeat more often").exact().later(LATER_DATA),
    kw("dedupflipflop", Form::Special("hotsets | all"), "whether duplicates change when rewritten")
        .exact()
        .later(LATER_DATA),
    kw("dedup", Form::Special("(ratio=n,unit=bytes,…)"), "deduplication of the data written")
        .family("dedup")
        .later(LATER_DATA),
    kw("port", Form::Integer, "first TCP port between master and workers")
        .default("5570")
        .accepted("master and workers need no port"),
    kw("pattern", Form::Path, "file whose content is written").later(LATER_DATA),
    kw(
        "data_errors",
        Form::Special("n | (n,seconds) | remove_device | \"command\""),
        "how many I/O or data errors end the execution, or what else they do",
    )
    .or(&["dataerrors"])
    .default("50"),
    kw("swat", Form::Texts, "link to the Sun StorageTek Workload Analysis Tool").refused("it is no longer supported"),
    kw(
        "validate",
        Form::Special("yes | no | (read_after_write,no_preread,time,ignore_zero_reads,reportdedupsets)"),
        "data validation",
    )
    .default("no")
    .later(LATER_CHECK),
    kw(
        "journal",
        Form::Special("yes | no | (recover,noflush,maponly,only,skip_read_all,ignore_pending,max=n)"),
        "data validation with a journal",
    )
    .default("no")
    .exact()
    .later(LATER_CHECK),
    kw("startcmd", Form::Command, "command to run before the first run").or(&["start_cmd"]).exact(),
    kw("endcmd", Form::Command, "command to run after the last run").or(&["end_cmd"]).exact(),
    kw("heartbeat_error", Form::Command, "command to run when a worker is lost")
        .exact()
        .accepted("a lost worker is an error of its own, named with its host"),
    kw("debug", Form::Numbers, "debug options, by number").exact(),
    kw("unix2windows", Form::Special("(unix,windows)"), "maps path prefixes to Windows")
        .accepted("there are no Windows hosts"),
    kw("formatxfersize", Form::Bytes, "transfer size of format runs").default("128k"),
    kw("create_anchors", Form::YesNo, "make missing directories above an anchor").default("no"),
    kw("formatsds", Form::YesNo, "yes: format every used SD first; no: never create or extend one"),
    kw(
        "report",
        Form::Special("host_detail | slave_detail | no_sd_detail | no_fsd_detail | (…)"),
        "more or fewer report files",
    ),
    kw(
        "report_run_totals",
        Form::YesNo,
        "keep totals of the whole execution in totals_optional.html, rewritten after every interval",
    )
    .default("no"),
    kw("histogram", Form::Special("(default,20,40,…) | (default,suppress)"), "bounds of the response time histogram"),
    kw("psrset", Form::Numbers, "Solaris processor sets").accepted("it is for Solaris only"),
    kw("auxreport", Form::Texts, "reports made by a Java class").accepted("there are no Java plug-ins"),
    kw("monitor", Form::Path, "file whose first line (end_rd, end_vdbench) ends a run or all"),
    kw("concatenatesds", Form::YesNo, "make one address space of all SDs of a workload")
        .default("no")
        .later("SDs made into one come with a later version"),
    kw("messagescan", Form::Special("yes | no | nodisplay | n"), "scan the system's messages during the runs")
        .default("yes")
        .accepted("system messages are not scanned"),
    kw("abort_failed_skew", Form::Percent, "fail when an observed skew is off by more than this many points"),
    kw("misc", Form::Special("(key=value,…)"), "settings of Brunt, by key"),
    kw("pattern_buffer", Form::Integer, "size of the pattern buffer in MB").default("1").exact().accepted(LATER_DATA),
    kw("showlba", Form::YesNo, "write every address that is used to a file")
        .exact()
        .accepted("it comes with a later version"),
    kw("loop", Form::Special("n | n s|m|h"), "repeat all runs so many times, or for so long").exact(),
    kw("ios_per_jvm", Form::Number, "I/Os per second above which Vdbench starts another process")
        .default("100000")
        .accepted("one worker uses as many threads as it needs"),
    kw("fwd_thread_adjust", Form::YesNo, "adjust the threads of file system workloads to the hosts")
        .default("yes")
        .files(),
    kw(
        "timeout",
        Form::Special("report | (report,n) | n | (n,abort) | (n,m) | (n,script)"),
        "watch for seconds without a completion",
    ),
    kw("include", Form::Path, "reads another file; a line of its own, in lower case").exact(),
];
