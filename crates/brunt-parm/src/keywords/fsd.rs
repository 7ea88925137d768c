//! File system definitions (`docs/vdbench/filesystem.md` §1.1).

use super::{Form, Keyword, Section};

const fn kw(name: &'static str, form: Form, doc: &'static str) -> Keyword {
    Keyword::new(Section::Fsd, name, form, doc)
}

pub(super) const TABLE: &[Keyword] = &[
    kw("fsd", Form::Name, "name of the file system").exact(),
    kw("anchor", Form::Path, "directory above all directories and files"),
    kw("journal", Form::Path, "directory or device of the journal of this file system")
        .accepted("it needs `journal=` in the general section"),
    kw("host", Form::Hosts, "hosts that use it").or(&["hd"]).refused("hosts belong to a workload: `fwd=…,host=`"),
    kw("width", Form::Integer, "directories in each directory").default("1"),
    kw("depth", Form::Integer, "levels of directories below the anchor").default("1"),
    kw(
        "sizes",
        Form::Special("bytes | (bytes,percent,bytes,percent,…) | (average,0)"),
        "file sizes, fixed, weighted or random",
    )
    .or(&["size"])
    .default("4k"),
    kw("shared", Form::YesNo, "several hosts may use it").default("no"),
    kw("wss", Form::Special("bytes | (bytes,divisor)"), "use only so many bytes of the files in runs")
        .or(&["workingsetsize"]),
    kw("totalsize", Form::Special("bytes | (bytes,divisor)"), "make and use only so many bytes of files")
        .or(&["total_size"]),
    kw("files", Form::Integer, "files in each directory that holds files").default("10"),
    kw("distribution", Form::Special("bottom | all"), "which directories hold files").default("bottom"),
    kw("cleanup", Form::Text, "what is deleted at the end")
        .refused("it is obsolete; `format=` of a run says what is deleted"),
    kw("openflags", Form::Texts, "o_direct, directio, o_sync, o_dsync, o_rsync, fsync, 0xhex"),
    kw("log", Form::YesNo, "write a log of every block")
        .exact()
        .default("no")
        .accepted("it needs data validation and a debug option"),
    kw("count", Form::Special("(start,n)"), "makes n file systems, numbered in name and anchor"),
    kw("dedup", Form::Texts, "deduplication of the data written")
        .family("dedup")
        .refused("it is a general parameter, for all file systems"),
    kw("mask", Form::Special("(filemask,directorymask)"), "names of files and directories, as for printf")
        .default("(vdb_f%04d.file,vdb.%d_%d.dir)"),
];
