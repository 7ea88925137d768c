//! A parameter file as typed definitions, every value with its place.
//!
//! Defaults (`sd=default` and its like) are already copied into the definitions that follow them,
//! `count=` is not yet expanded, names and wildcards are not yet looked up: that is planning.
//! Rules: `docs/vdbench/raw.md` §3–§7.

mod files;
mod names;

use crate::source::{Span, Spanned};

pub use names::NameItem;

pub use files::{FileIo, FileSelect, FileSizes, FormatWord, Fsd, Fwd, Operation, Order, Rg, Spread};

/// A number as written: suffixes are applied, `%` is remembered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Num {
    /// The number after its suffix (`4k` is 4096; `50%` is 50).
    pub value: f64,
    /// Whether it was written with `%`.
    pub percent: bool,
}

/// A field that may be absent.
pub type Opt<T> = Option<Spanned<T>>;
/// A list, each item with its place; the outer span covers the list.
pub type List<T> = Option<Spanned<Vec<Spanned<T>>>>;

/// Everything the files say.
#[derive(Debug, Clone, Default)]
pub struct ParmFile {
    /// General parameters.
    pub general: General,
    /// Hosts, in order. Empty: one host named `localhost`.
    pub hosts: Vec<Hd>,
    /// The final state of `hd=default`, which also holds for the `localhost` of a file without hosts.
    pub hd_default: Hd,
    /// Storage definitions, in order.
    pub sds: Vec<Sd>,
    /// Workload definitions, in order.
    pub wds: Vec<Wd>,
    /// The final state of `wd=default`, from which anonymous workloads of `rd=…,sd=…` are made.
    pub wd_default: Wd,
    /// Replay groups, in order.
    pub rgs: Vec<Rg>,
    /// File system definitions, in order. With any of them, or any in `fwds`, all runs are of files.
    pub fsds: Vec<Fsd>,
    /// File system workload definitions, in order.
    pub fwds: Vec<Fwd>,
    /// The final state of `fwd=default`, the workload of runs that name none.
    pub fwd_default: Fwd,
    /// `fwd=format`: how format runs write.
    pub fwd_format: Option<Fwd>,
    /// Run definitions, in order.
    pub rds: Vec<Rd>,
}

impl ParmFile {
    /// Whether the runs are of files and not of SDs (`docs/vdbench/filesystem.md` §0.1).
    pub fn is_of_files(&self) -> bool {
        !self.fsds.is_empty() || !self.fwds.is_empty()
    }
}

/// General parameters (`docs/vdbench/raw.md` §3). What has no field of its own is in `other`.
#[derive(Debug, Clone, Default)]
pub struct General {
    /// `data_errors=`.
    pub data_errors: Opt<DataErrors>,
    /// `startcmd=`.
    pub startcmd: Vec<Spanned<Hook>>,
    /// `endcmd=`.
    pub endcmd: Vec<Spanned<Hook>>,
    /// `formatxfersize=`, bytes.
    pub formatxfersize: Opt<u64>,
    /// `formatsds=`: yes formats every used SD once, no never creates or extends.
    pub formatsds: Opt<bool>,
    /// `create_anchors=`.
    pub create_anchors: Opt<bool>,
    /// `report=`.
    pub report: List<ReportOption>,
    /// `report_run_totals=`.
    pub report_run_totals: Opt<bool>,
    /// `histogram=(default,20,40…)`: bucket bounds in µs, as raised by the step rule
    /// (`docs/vdbench/reports.md` §8).
    pub histogram: Opt<HistogramSpec>,
    /// `monitor=`, a path.
    pub monitor: Opt<String>,
    /// `concatenatesds=`.
    pub concatenatesds: Opt<bool>,
    /// `abort_failed_skew=`, percentage points.
    pub abort_failed_skew: Opt<f64>,
    /// `misc=(key=value,…)`, in order.
    pub misc: Vec<(Spanned<String>, Spanned<String>)>,
    /// `loop=`.
    pub repeat: Opt<Repeat>,
    /// `ios_per_jvm=`.
    pub ios_per_jvm: Opt<f64>,
    /// `timeout=`, as written.
    pub timeout: List<String>,
    /// `messagescan=`, as written.
    pub messagescan: List<String>,
    /// `port=`.
    pub port: Opt<u16>,
    /// `debug=`, each number.
    pub debug: Vec<Spanned<i64>>,
    /// `compratio=`.
    pub compratio: Opt<f64>,
    /// `pattern=`, a path.
    pub pattern: Opt<String>,
    /// `validate=`, the words.
    pub validate: List<String>,
    /// `journal=`, the words.
    pub journal: List<String>,
    /// `showlba=`.
    pub showlba: Opt<bool>,
    /// Keywords that were checked and have no effect on raw workloads here, with their values.
    pub other: Vec<Setting>,
}

/// A keyword kept as written.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// The full keyword.
    pub keyword: &'static str,
    /// Place of keyword and value.
    pub span: Span,
    /// Its values as text.
    pub values: Vec<Spanned<String>>,
}

/// `data_errors=` (`docs/vdbench/raw.md` §3, `data.md` §1.11).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataErrors {
    /// `n` or `(n,seconds)`: abort after n errors, or that many seconds after the last error.
    Limit {
        /// Errors until the end.
        count: u64,
        /// Seconds after the last error.
        seconds: Option<u64>,
    },
    /// `remove_device`: the failing SD is dropped and the limit is 10,000.
    RemoveDevice,
    /// A command, called with `$output $lun $lba $size`.
    Command(String),
}

/// A command of `startcmd=` or `endcmd=`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// The commands, in order.
    pub commands: Vec<String>,
    /// Where their output goes.
    pub output: HookOutput,
    /// Where it runs, when said.
    pub target: Option<HookTarget>,
}

/// Where a hook's output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookOutput {
    /// `cons*`.
    Console,
    /// `sum*`.
    Summary,
    /// `log*`, the default.
    Log,
}

/// Where a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookTarget {
    /// On the machine of the master.
    Master,
    /// On the first worker of each host.
    Slave,
}

/// An item of `report=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportOption {
    /// `host_detail`.
    HostDetail,
    /// `slave_detail`.
    SlaveDetail,
    /// `no_sd_detail`.
    NoSdDetail,
    /// `no_fsd_detail`.
    NoFsdDetail,
}

/// `histogram=`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistogramSpec {
    /// Upper bounds in µs, rising; empty: the default bounds.
    pub bounds_us: Vec<u64>,
    /// Print only the used part.
    pub suppress: bool,
}

/// `loop=` and `-l`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// That many passes.
    Passes(u64),
    /// Until that many seconds have passed at the end of a pass.
    Seconds(u64),
    /// `-l` without a value.
    Forever,
}

/// A host definition (`docs/vdbench/raw.md` §4).
#[derive(Debug, Clone, Default)]
pub struct Hd {
    /// Label.
    pub name: Opt<String>,
    /// `system=`; absent: the label.
    pub system: Opt<String>,
    /// `vdbench=`: the installation directory there.
    pub vdbench: Opt<String>,
    /// `shell=`.
    pub shell: Opt<String>,
    /// `user=`.
    pub user: Opt<String>,
    /// `jvms=`.
    pub jvms: Opt<u32>,
    /// `clients=`.
    pub clients: Opt<u32>,
    /// `mount=`, a command.
    pub mount: Opt<String>,
    /// `master=`.
    pub master: Opt<String>,
}

/// A storage definition (`docs/vdbench/raw.md` §5).
#[derive(Debug, Clone, Default)]
pub struct Sd {
    /// Name.
    pub name: Opt<String>,
    /// `lun=` (one), or as many as `host=` when paired.
    pub luns: Vec<Spanned<String>>,
    /// The host lists, one per `host=`, in order.
    pub hosts: Vec<Spanned<Vec<Spanned<String>>>>,
    /// `count=(start,n)`.
    pub count: Opt<(u64, u64)>,
    /// `size=`, bytes after division.
    pub size: Opt<u64>,
    /// `threads=`, after division (at least 1 then).
    pub threads: Opt<i64>,
    /// `hitarea=`, bytes.
    pub hitarea: Opt<u64>,
    /// `offset=`, bytes.
    pub offset: Opt<u64>,
    /// `align=`, bytes.
    pub align: Opt<u64>,
    /// `range=(low,high)`.
    pub range: Opt<(f64, f64)>,
    /// `openflags=`.
    pub openflags: List<String>,
    /// `journal=`, a directory.
    pub journal: Opt<String>,
    /// `replay=`: numbers of devices in the trace, or replay groups.
    pub replay: List<String>,
    /// Keywords that have no effect on raw workloads here.
    pub other: Vec<Setting>,
}

/// `xfersize=` of a WD.
#[derive(Debug, Clone, PartialEq)]
pub enum XferSize {
    /// One size in bytes.
    Fixed(u64),
    /// Sizes with their percentages.
    Weighted(Vec<(u64, f64)>),
    /// `(min,max,align)`.
    Range {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
        /// Step.
        align: u64,
    },
}

/// `seekpct=`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SeekPct {
    /// Percent of I/Os with a new random address. 0 is sequential.
    Percent(f64),
    /// Sequential to the end of the area, then done (`eof` and any negative number).
    Eof,
    /// `poisson` or `(poisson,mid)`.
    Poisson {
        /// Midpoint, default 3.
        mid: f64,
    },
}

/// A workload definition (`docs/vdbench/raw.md` §6).
#[derive(Debug, Clone, Default)]
pub struct Wd {
    /// Name.
    pub name: Opt<String>,
    /// `sd=`: names, ranges and wildcards.
    pub sds: List<NameItem>,
    /// `host=`.
    pub hosts: List<String>,
    /// `xfersize=`.
    pub xfersize: Opt<XferSize>,
    /// `rdpct=`, truncated to an integer; `writepct` is turned into it.
    pub rdpct: Opt<f64>,
    /// `range=`.
    pub range: Opt<(f64, f64)>,
    /// `hotband=`.
    pub hotband: Opt<(f64, f64)>,
    /// `seekpct=`.
    pub seekpct: Opt<SeekPct>,
    /// `stride=(min,max)`, bytes.
    pub stride: Opt<(u64, u64)>,
    /// `priority=`.
    pub priority: Opt<u32>,
    /// `iorate=`.
    pub iorate: Opt<f64>,
    /// `skew=`, percent.
    pub skew: Opt<f64>,
    /// `rhpct=`.
    pub rhpct: Opt<f64>,
    /// `whpct=`.
    pub whpct: Opt<f64>,
    /// `openflags=`.
    pub openflags: List<String>,
    /// `user=`, kept and refused at the start of a run.
    pub user: Opt<String>,
    /// `threads=`, with `concatenatesds` only.
    pub threads: Opt<u64>,
    /// `streams=`.
    pub streams: Opt<u64>,
}

/// A kind of for-loop (`docs/vdbench/raw.md` §7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LoopKind {
    /// `xfersize`, bytes.
    Xfersize,
    /// `threads`, per SD.
    Threads,
    /// `rdpct`.
    Rdpct,
    /// `rhpct`.
    Rhpct,
    /// `whpct`.
    Whpct,
    /// `seekpct`.
    Seekpct,
    /// `hitarea`, bytes.
    Hitarea,
    /// `compratio`.
    Compratio,
    /// `depth`.
    Depth,
    /// `width`.
    Width,
    /// `files`.
    Files,
    /// `sizes`.
    Sizes,
    /// `totalsize`.
    Totalsize,
    /// `wss`.
    Wss,
    /// `operation`.
    Operation,
    /// `fwdrate`, operations per second.
    Fwdrate,
}

/// A for-loop of an RD.
#[derive(Debug, Clone, PartialEq)]
pub struct Loop {
    /// What varies.
    pub kind: LoopKind,
    /// The values in order; words only for `operation`.
    pub values: LoopValues,
    /// Place of the whole `keyword=value`.
    pub span: Span,
}

/// The values of a loop.
#[derive(Debug, Clone, PartialEq)]
pub enum LoopValues {
    /// Numbers.
    Numbers(Vec<Spanned<Num>>),
    /// Words.
    Words(Vec<Spanned<String>>),
}

/// A value of `iorate=`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum IoRate {
    /// I/Os per second.
    Fixed(f64),
    /// As fast as it goes.
    Max,
    /// A maximum run, then the points of `curve=`.
    Curve,
    /// Percent of the rate observed in the run before.
    Percent(f64),
}

/// Arrival process of an RD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Arrivals {
    /// Exponential gaps.
    #[default]
    Exponential,
    /// Uniform gaps.
    Uniform,
    /// Equal gaps.
    Deterministic,
}

/// `distribution=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Distribution {
    /// Gaps.
    pub arrivals: Arrivals,
    /// `variable`: `iorate=` holds pairs of rate and seconds.
    pub variable: bool,
    /// `spike`: all I/Os of a second at its beginning (implies `variable`).
    pub spike: bool,
}

/// Which bytes `maxdata` counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaxDataKind {
    /// `maxdata`.
    Both,
    /// `maxdataread`.
    Read,
    /// `maxdatawritten`.
    Written,
}

/// A run definition (`docs/vdbench/raw.md` §7).
#[derive(Debug, Clone, Default)]
pub struct Rd {
    /// Name.
    pub name: Opt<String>,
    /// `wd=`: names, ranges and wildcards.
    pub wds: List<NameItem>,
    /// `sd=`: names, ranges and wildcards, or one of `single`, `range`, `setsofN`.
    pub sds: List<NameItem>,
    /// `iorate=`: the values; `None` with `distribution=variable`, whose pairs are in `bursts`.
    pub iorate: List<IoRate>,
    /// Whether `iorate=` (its own or inherited) has more than one value, so that it is a loop.
    pub iorate_is_list: bool,
    /// `iorate=(rate,seconds,…)` of `distribution=variable`.
    pub bursts: List<Num>,
    /// `curve=`, percent.
    pub curve: List<f64>,
    /// `stopcurve=`, milliseconds.
    pub stopcurve: Opt<f64>,
    /// `elapsed=`, whole seconds.
    pub elapsed: Opt<u64>,
    /// `interval=`, whole seconds.
    pub interval: Opt<u64>,
    /// `warmup=`, whole seconds.
    pub warmup: Opt<u64>,
    /// `pause=`, whole seconds.
    pub pause: Opt<u64>,
    /// `maxdata=` and its kin: bytes, or a multiple of the SDs' size when ≤ 100.
    pub maxdata: Vec<(MaxDataKind, Spanned<f64>)>,
    /// For-loops in nesting order, outermost first; without the iorate list.
    pub loops: Vec<Loop>,
    /// `distribution=`.
    pub distribution: Opt<Distribution>,
    /// `openflags=`.
    pub openflags: List<String>,
    /// `startcmd=`.
    pub startcmd: Vec<Spanned<Hook>>,
    /// `endcmd=`.
    pub endcmd: Vec<Spanned<Hook>>,
    /// `replay=`: the file of the trace, then `key=value`.
    pub replay: List<String>,
    /// `mount=`, a command.
    pub mount: Opt<String>,
    /// `fsd=`: names, ranges and wildcards, in place of the workloads' own.
    pub fsds: List<NameItem>,
    /// `fwd=`: names, ranges and wildcards.
    pub fwds: List<NameItem>,
    /// `fwdrate=`: the values. More than one is a loop and stands in `loops` too.
    pub fwdrate: List<IoRate>,
    /// `format=`.
    pub format: List<FormatWord>,
    /// `operations=`, all at the same time.
    pub operations: List<String>,
    /// Keywords that have no effect, and where they were given.
    pub other: Vec<Setting>,
}
