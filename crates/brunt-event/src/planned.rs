//! Who and what takes part in an execution.

use serde::{Deserialize, Serialize};

/// Who and what takes part.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// Host labels.
    pub hosts: Vec<String>,
    /// Workers, all hosts.
    pub workers: Vec<PlannedWorker>,
    /// SDs that are used.
    pub sds: Vec<PlannedSd>,
    /// WD names that are used.
    pub wds: Vec<String>,
    /// Whether WDs have reports of their own: there are two or more. The workloads of a format run that is found
    /// necessary later count too.
    pub wd_reports: bool,
    /// Runs in order, one pass. A format run that is found necessary later comes before them: its [`RunStarted`](crate::RunStarted)
    /// announces it, with number 0 and workloads that are no WD's.
    pub runs: Vec<PlannedRun>,
    /// `report=host_detail`.
    pub host_detail: bool,
    /// `report=slave_detail`.
    pub worker_detail: bool,
    /// `report=no_sd_detail`.
    pub no_sd_detail: bool,
    /// `report_run_totals=yes`.
    pub run_totals: bool,
    /// Upper bounds of `histogram.html` in µs; empty: the default ones.
    pub histogram_bounds_us: Vec<u64>,
    /// Print only the used part of histograms.
    pub histogram_suppress: bool,
    /// Threshold of the warning on the rate per worker, where the file asks for one.
    pub ios_per_worker: Option<f64>,
}

/// A worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedWorker {
    /// `host-n`.
    pub label: String,
    /// Index in [`Planned::hosts`].
    pub host: u32,
}

/// An SD.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedSd {
    /// Name.
    pub name: String,
    /// Path by host; `None` where the host has not got it.
    pub luns: Vec<Option<String>>,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedRun {
    /// `rd1`, `rd1_(10%)`.
    pub name: String,
    /// Loop values in order as `name=value`, the rate last when it is a loop. Empty: `None`.
    pub loops: Vec<String>,
    /// What `I/O rate:` says with `-s`.
    pub rate: RateText,
    /// Seconds; `None` prints `(none)`.
    pub elapsed: Option<u32>,
    /// Seconds of warm-up asked for.
    pub warmup: u32,
    /// Seconds of an interval.
    pub interval: u32,
    /// Whether it is a format run.
    pub format: bool,
}

/// The rate of a run in words.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateText {
    /// I/Os per second.
    Fixed(f64),
    /// `Uncontrolled MAX`.
    UncontrolledMax,
    /// `Controlled MAX`.
    ControlledMax,
    /// `Uncontrolled curve`.
    UncontrolledCurve,
    /// `Controlled curve`.
    ControlledCurve,
    /// `Variable`.
    Variable,
    /// A percentage of the maximum that is not known yet: `10 % of max`.
    PercentOfMax(f64),
    /// A percentage of the run before, not known yet.
    PercentOfPrevious(f64),
    /// A trace is replayed: at the recorded rate, or at so many I/Os per second.
    Replay(Option<f64>),
    /// `fwdrate=` of a run of file systems.
    Files(FilesRate),
}

/// The rate of a run of file systems in words.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FilesRate {
    /// Operations per second.
    Fixed(f64),
    /// `max.`, with a full stop.
    Max,
    /// `curve.`, likewise.
    Curve,
    /// A percentage of the maximum that is not known yet.
    PercentOfMax(f64),
    /// A percentage of the run before, not known yet.
    PercentOfPrevious(f64),
}

/// An anchor of file systems.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnchorSize {
    /// Its path.
    pub anchor: String,
    /// Directories below it.
    pub directories: u64,
    /// Files.
    pub files: u64,
    /// Bytes of all files.
    pub bytes: u64,
}
