//! The plan: every run in order, with everything resolved that does not need a device.

pub mod fs;

use std::sync::Arc;

use brunt_parm::ast::{Arrivals, DataErrors, HistogramSpec, Hook, LoopKind, MaxDataKind, Repeat, ReportOption};
use brunt_parm::{Span, Spanned};

use crate::engine::Asked;
use crate::work::{Conduct, OpenFlag, Seek, Xfer};

/// Everything that will be done.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What holds for the whole execution.
    pub settings: Settings,
    /// Hosts in order.
    pub hosts: Vec<Host>,
    /// SDs in order, `count=` expanded. Also those never used.
    pub sds: Vec<Sd>,
    /// Names of all WDs in order, anonymous ones (`rd=<name>`) last: the name space of reports.
    pub wds: Vec<String>,
    /// File systems in order, `count=` expanded. Also those never used.
    pub fsds: Vec<fs::Fsd>,
    /// Names of all FWDs in order; `default` last when a run uses that one.
    pub fwds: Vec<String>,
    /// Runs in order of execution, one pass.
    pub runs: Vec<Run>,
}

/// Settings of the whole execution.
#[derive(Debug, Clone)]
pub struct Settings {
    /// When errors end the execution.
    pub data_errors: DataErrors,
    /// Whether `data_errors=` was written.
    pub data_errors_given: bool,
    /// Hooks before the first run.
    pub startcmd: Vec<Hook>,
    /// Hooks after the last run.
    pub endcmd: Vec<Hook>,
    /// Transfer size of format runs when set, bytes.
    pub format_xfersize: Option<u64>,
    /// `formatsds=`.
    pub format_sds: Option<bool>,
    /// Report detail.
    pub report: Vec<ReportOption>,
    /// `report_run_totals=yes`.
    pub report_run_totals: bool,
    /// Buckets of `histogram.html`.
    pub histogram: HistogramSpec,
    /// `monitor=` file.
    pub monitor: Option<String>,
    /// `abort_failed_skew=`, percentage points.
    pub abort_failed_skew: Option<f64>,
    /// Repetition of the whole list of runs.
    pub repeat: Option<Repeat>,
    /// Threshold of the warning on the rate per worker, I/Os per second. A worker of ours has no such limit, so there is
    /// a warning only where `ios_per_jvm=` asks for one.
    pub ios_per_jvm: Option<f64>,
    /// `timeout=` as written.
    pub timeout: Vec<String>,
    /// Keys of `misc=` as written.
    pub misc: Vec<(String, String)>,
    /// The cores of `misc=(cpus=)` as one list (`0-3,8`), where it is given.
    pub cores: Option<Spanned<String>>,
    /// Which back end is asked for.
    pub engine: Asked,
    /// How workers go about their work.
    pub conduct: Conduct,
    /// What holds for hosts that cannot be reached.
    pub fleet: FleetRules,
    /// Seed of all random streams.
    pub seed: u64,
    /// Things that parse but cannot be run yet, each a sentence; a real run refuses them.
    pub unsupported: Vec<(Option<Span>, String)>,
}

/// What holds for hosts that cannot be reached, or not any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FleetRules {
    /// `misc=(lease=…)`: seconds that a host goes on alone when its connection breaks; 0: not at all.
    pub lease_s: Option<u32>,
    /// `misc=(retry=…)`: how often a first connection that failed is tried again.
    pub retry: Option<u32>,
    /// `misc=(on_worker_loss=…)`.
    pub on_loss: OnLoss,
}

impl FleetRules {
    /// Lease in seconds. Without a wish: half a minute where something is written, since nobody may keep hammering an
    /// array for long; two minutes where nothing is.
    pub fn lease_s(&self, writes: bool) -> u32 {
        const WRITING: u32 = 30;
        const READING: u32 = 120;
        self.lease_s.unwrap_or(if writes { WRITING } else { READING })
    }
}

/// What follows from the loss of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnLoss {
    /// The execution ends, with what was measured.
    #[default]
    Stop,
    /// The others go on.
    Continue,
}

/// A host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Label, with `_clN` when `clients=` multiplied it.
    pub label: String,
    /// Network name.
    pub system: String,
    /// `shell=` as written.
    pub shell: Option<String>,
    /// `user=`.
    pub user: Option<String>,
    /// `vdbench=` directory.
    pub install_dir: Option<String>,
    /// Number of workers, at least 1.
    pub workers: u32,
}

impl Host {
    /// The name of the n-th worker: `label-n`.
    pub fn worker_label(&self, n: u32) -> String {
        format!("{}-{n}", self.label)
    }
}

/// A storage definition.
#[derive(Debug, Clone)]
pub struct Sd {
    /// Name.
    pub name: String,
    /// Path on each host of the plan, by host number; `None` where the host has not got it.
    pub lun: Vec<Option<String>>,
    /// `size=` in bytes.
    pub size: Option<u64>,
    /// `threads=`, default 8.
    pub threads: u32,
    /// `hitarea=` in bytes, default 1 MiB.
    pub hit_area: u64,
    /// `offset=` in bytes.
    pub offset: u64,
    /// `align=` in bytes.
    pub align: Option<u64>,
    /// `range=`.
    pub range: Option<(f64, f64)>,
    /// `openflags=`.
    pub openflags: Vec<OpenFlag>,
    /// Where it is defined.
    pub span: Option<Span>,
}

/// How fast a run shall go.
#[derive(Debug, Clone, PartialEq)]
pub enum Rate {
    /// I/Os per second over everything.
    Fixed(f64),
    /// As fast as it goes.
    Max,
    /// The maximum run of a curve.
    CurveMax,
    /// Percent of the curve's maximum run, which is the run with that index.
    CurvePoint {
        /// Percent.
        percent: f64,
        /// Index in [`Plan::runs`].
        of_run: usize,
    },
    /// Percent of what the run before achieved.
    PercentOfPrevious(f64),
    /// Rate and seconds, repeated.
    Steps(Vec<RateStep>),
}

/// A step of `distribution=variable`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateStep {
    /// I/Os per second, or percent of what the run before achieved.
    pub rate: f64,
    /// Whether `rate` is a percentage.
    pub percent: bool,
    /// Seconds.
    pub seconds: u32,
}

/// One loop value of a run, for `For loops:` text and the flat file.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopValue {
    /// What varies.
    pub kind: LoopKind,
    /// Its value in this run; NaN for words.
    pub value: f64,
    /// Whether it was written as a percentage (or is negative), printed as `n%`.
    pub percent: bool,
    /// The word, for `operation`.
    pub word: Option<String>,
}

/// What sort of run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunKind {
    /// As defined.
    Normal,
    /// Inserted: `SD_format`, or `format_for_<rd>` of file systems.
    Format,
}

/// One run.
#[derive(Debug, Clone)]
pub struct Run {
    /// Name shown, with its suffix: `rd1`, `rd1_(10%)`, `rd1_sd2`.
    pub name: String,
    /// Name of the RD.
    pub rd: String,
    /// Sort.
    pub kind: RunKind,
    /// Rate.
    pub rate: Rate,
    /// Whether the rate came from an iorate list, so that it is shown as a loop.
    pub rate_is_loop: bool,
    /// Loop values in nesting order, without the rate.
    pub loops: Vec<LoopValue>,
    /// Seconds of measurement, without warm-up; `None`: until the data ends (format).
    pub elapsed: Option<u32>,
    /// Seconds of an interval.
    pub interval: u32,
    /// Seconds of warm-up asked for; 0: the first interval is the warm-up.
    pub warmup: u32,
    /// Seconds to wait after this run.
    pub pause: u32,
    /// `stopcurve=` in milliseconds.
    pub stop_curve_ms: Option<f64>,
    /// Limits of data.
    pub max_data: Vec<(MaxDataKind, f64)>,
    /// Arrival process.
    pub arrivals: Arrivals,
    /// All I/Os of a second at its beginning.
    pub spike: bool,
    /// `threads=` loop value, per SD.
    pub threads: Option<u32>,
    /// `openflags=` of the run, replacing those of SD and WD.
    pub openflags: Option<Vec<OpenFlag>>,
    /// What is done to SDs. Shared by all runs that do the same.
    pub workloads: Arc<[Workload]>,
    /// What is done to file systems; `None` in a run of SDs.
    pub files: Option<Arc<fs::FsRun>>,
    /// The file of the trace that is replayed.
    pub replay: Option<String>,
    /// Hooks before the run.
    pub startcmd: Vec<Hook>,
    /// Hooks after the run.
    pub endcmd: Vec<Hook>,
    /// Where the RD is defined.
    pub span: Option<Span>,
}

impl Run {
    /// How many intervals at the beginning are not counted, at least 1 (`docs/vdbench/raw.md` §8.9).
    pub fn warmup_intervals(&self) -> u32 {
        (self.warmup / self.interval.max(1)).max(1)
    }
}

/// One WD in one run, after the run's loops have overridden it.
#[derive(Debug, Clone)]
pub struct Workload {
    /// Index in [`Plan::wds`].
    pub wd: usize,
    /// SDs, as indices in [`Plan::sds`], in order. Shared by all runs that use the same ones.
    pub sds: Arc<[usize]>,
    /// Hosts that may run it, as indices in [`Plan::hosts`]. Shared likewise.
    pub hosts: Arc<[usize]>,
    /// Share of the run's rate in percent, after the rules of `docs/vdbench/raw.md` §8.11;
    /// `None` for a workload with its own rate.
    pub skew: Option<f64>,
    /// Whether `skew=` was written.
    pub skew_given: bool,
    /// Its own rate (`iorate=` of the WD), I/Os per second.
    pub iorate: Option<f64>,
    /// Priority, 1 is highest.
    pub priority: Option<u32>,
    /// Percent reads.
    pub read_pct: f64,
    /// Percent of reads that hit.
    pub read_hit_pct: f64,
    /// Percent of writes that hit.
    pub write_hit_pct: f64,
    /// Sizes.
    pub xfer: Xfer,
    /// Order of addresses.
    pub seek: Seek,
    /// `hitarea` of the run in bytes, overriding the SDs'.
    pub hit_area: Option<u64>,
    /// `range=`, overriding the SDs'.
    pub range: Option<(f64, f64)>,
    /// `hotband=`.
    pub hotband: Option<(f64, f64)>,
    /// `stride=` in bytes.
    pub stride: Option<(u64, u64)>,
    /// `streams=`.
    pub streams: Option<u32>,
    /// `openflags=` of the WD, replacing the SDs'.
    pub openflags: Option<Vec<OpenFlag>>,
}
