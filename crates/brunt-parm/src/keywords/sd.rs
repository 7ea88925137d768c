//! Storage definitions (`docs/vdbench/raw.md` §5).

use super::{Form, Keyword, Section};

const fn kw(name: &'static str, form: Form, doc: &'static str) -> Keyword {
    Keyword::new(Section::Sd, name, form, doc)
}

const LATER_DATA: &str = "compression and deduplication of the data written come with a later version";
const SOLARIS: &str = "it is for Solaris only";

pub(super) const TABLE: &[Keyword] = &[
    kw("sd", Form::Name, "name of the storage").exact(),
    kw("host", Form::Hosts, "hosts that have this storage; before each lun= when their names differ").or(&["hd"]),
    kw(
        "lun",
        Form::Path,
        "device or file; wwn:, wwid:, nguid: or dm: and what it is, to find it on each host; sim:NAME is a simulated device",
    ),
    kw("count", Form::Special("(start,n)"), "makes n SDs, numbered in name and lun"),
    kw("size", Form::Special("bytes | (bytes,divisor)"), "size to use; absent: the real size"),
    kw("threads", Form::Special("n | (n,divisor)"), "outstanding I/Os at most").default("8"),
    kw("hitarea", Form::Bytes, "size of the cache hit area").default("1m"),
    kw("offset", Form::Bytes, "added to the first address; a multiple of 512").default("0"),
    kw("align", Form::Bytes, "alignment of random addresses; a multiple of 512"),
    kw("kstat", Form::Text, "Solaris kstat device").accepted(SOLARIS),
    kw("instance", Form::Text, "Solaris kstat instance").accepted(SOLARIS),
    kw("replay", Form::Texts, "devices of a trace that are replayed here").later("replay is not in this version yet"),
    kw("journal", Form::Path, "directory of the journal of this SD")
        .accepted("it needs `journal=` in the general section"),
    kw("resetlun", Form::Seconds, "SCSI reset every so often").accepted(SOLARIS),
    kw("resetbus", Form::Seconds, "SCSI bus reset every so often").accepted(SOLARIS),
    kw("openflags", Form::Texts, "o_direct, directio, o_sync, o_dsync, o_rsync, fsync, 0xhex"),
    kw("range", Form::Pair, "part of the SD to use; up to 200 percent, above bytes").default("(0,100)"),
    kw("dedupratio", Form::Number, "how often each block of data is written").exact().later(LATER_DATA),
    kw("dedupunit", Form::Bytes, "size of the blocks that repeat").exact().later(LATER_DATA),
    kw("dedupsets", Form::Special("n | percent%"), "how many different blocks repeat").exact().later(LATER_DATA),
    kw("deduphotsets", Form::Special("(n,blocks,…)"), "sets that repeat more often").exact().later(LATER_DATA),
    kw("dedupflipflop", Form::Special("hotsets | all"), "whether duplicates change when rewritten")
        .exact()
        .later(LATER_DATA),
    kw("dedup", Form::Special("(ratio=n,…)"), "deduplication of the data written").family("dedup").later(LATER_DATA),
    kw("streams", Form::Integer, "sequential streams").refused("it belongs to a workload (wd=)"),
];
