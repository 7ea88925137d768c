//! A run: its start, its intervals, its end.

use brunt_stats::{Cell, CpuTicks, Times};
use serde::{Deserialize, Serialize};

use crate::planned::PlannedRun;

/// The start of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    /// Number of the run in this execution from 0: a format run counts, it grows over passes.
    pub run: u32,
    /// What it is, its rate as it really is.
    pub plan: PlannedRun,
    /// Value of the flat file's `reqrate`: the rate, 9999988 for max, 9999977 for a curve's max run.
    pub requested_rate: f64,
    /// Flat file columns: what was asked for, `None` where workloads differ.
    pub requested: Requested,
    /// Workloads of this run: index in [`Planned::wds`](crate::Planned::wds) and requested skew in percent.
    pub workloads: Vec<RunWorkload>,
    /// SDs of this run: indices in [`Planned::sds`](crate::Planned::sds).
    pub sds: Vec<u32>,
    /// Workers that have work in this run: indices in [`Planned::workers`](crate::Planned::workers).
    pub workers: Vec<u32>,
    /// Whether rates are not controlled.
    pub uncontrolled: bool,
    /// Warm-up intervals, at least 1.
    pub warmup_intervals: u32,
    /// Unix milliseconds of the common start.
    pub start_ms: i64,
}

/// A workload of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunWorkload {
    /// Index in [`Planned::wds`](crate::Planned::wds); `None` for a generated one.
    pub wd: Option<u32>,
    /// Its name.
    pub name: String,
    /// Requested share in percent.
    pub skew: Option<f64>,
}

/// What the flat file calls requested (`docs/vdbench/reports.md` §7).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Requested {
    /// Bytes; the first size of a distribution.
    pub xfersize: Option<u64>,
    /// Threads per SD; −1 if SDs differ.
    pub threads: Option<f64>,
    /// Percent reads.
    pub rdpct: Option<f64>,
    /// Percent of reads that hit.
    pub rhpct: Option<f64>,
    /// Percent of writes that hit.
    pub whpct: Option<f64>,
    /// 100 random, 0 sequential; `None` for eof.
    pub seekpct: Option<f64>,
    /// Bytes of all SDs of the run.
    pub lun_bytes: u64,
    /// Compression ratio.
    pub compratio: Option<f64>,
}

/// One interval, merged over everything.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// [`RunStarted::run`].
    pub run: u32,
    /// Number, from 1.
    pub interval: u32,
    /// Measured length: the mean of the lengths that the workers measured.
    pub length_ns: u64,
    /// Whether it is warm-up and not counted.
    pub warmup: bool,
    /// Workers with work that were lost before they could report it.
    pub missing_workers: u32,
    /// Everything.
    pub total: Cell,
    /// Times of all I/Os.
    pub times: Times,
    /// By host, in order of [`Planned::hosts`](crate::Planned::hosts); hosts without work have zeros.
    pub hosts: Vec<HostInterval>,
    /// By worker, in order of [`Planned::workers`](crate::Planned::workers).
    pub workers: Vec<Cell>,
    /// By SD of [`RunStarted::sds`].
    pub sds: Vec<Cell>,
    /// By workload of [`RunStarted::workloads`].
    pub wds: Vec<Cell>,
    /// By host and SD, for `report=host_detail`: (index in [`Planned::hosts`](crate::Planned::hosts), index in [`Planned::sds`], sums).
    /// Pairs that did nothing are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_sds: Vec<(u32, u32, Cell)>,
    /// By worker and SD, for `report=slave_detail`: (index in [`Planned::workers`](crate::Planned::workers), index in [`Planned::sds`], sums).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub worker_sds: Vec<(u32, u32, Cell)>,
}

/// One host in one interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HostInterval {
    /// Sums.
    pub cell: Cell,
    /// CPU, where the host tells.
    pub cpu: Option<CpuTicks>,
    /// Times of its I/Os, issued to done; empty where there is one host only, which has those of the total.
    #[serde(default, skip_serializing_if = "Times::is_empty")]
    pub times: Times,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunEnded {
    /// [`RunStarted::run`].
    pub run: u32,
    /// Number of intervals.
    pub intervals: u32,
    /// Why it ended.
    pub end: RunEnd,
    /// Whether it ran to its planned end, so that an average is due in the compatible files.
    pub complete: bool,
    /// Whether it was over within its warm-up, so that its last interval stands for the counted ones.
    #[serde(default)]
    pub short: bool,
    /// Times of all I/Os of the counted intervals; of the last interval where none counted, as the next four.
    pub times: Times,
    /// By host, in order of [`Planned::hosts`](crate::Planned::hosts).
    pub host_times: Vec<Times>,
    /// By SD of [`RunStarted::sds`].
    pub sd_times: Vec<Times>,
    /// By workload of [`RunStarted::workloads`].
    pub wd_times: Vec<Times>,
    /// By worker (`slave_detail`, and the older layout where a host has several workers).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub worker_times: Vec<Times>,
    /// By SD of [`RunStarted::sds`]: all that was done in the run, from the first I/O to the last, warm-up and what
    /// came back after the last interval included.
    pub totals: Vec<SdDone>,
    /// I/Os that failed in this run.
    pub io_errors: u64,
    /// By host, in order of [`Planned::hosts`](crate::Planned::hosts): how far its start may be off the common instant,
    /// nanoseconds; `None` without work there. Empty where there is one host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub start_skew_ns: Vec<Option<u64>>,
}

/// All that was done on an SD.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SdDone {
    /// Reads.
    pub reads: u64,
    /// Bytes that they asked for.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes that they asked for.
    pub write_bytes: u64,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    /// Its time was over.
    Elapsed,
    /// Its sequential workloads reached the end of their data.
    EndOfData,
    /// `maxdata=`.
    MaxData,
    /// The monitor file.
    Monitor,
    /// `data_errors=`.
    Errors,
    /// A signal.
    Signal,
    /// A worker was lost.
    WorkerLost,
    /// Outstanding I/O never returned.
    Stuck,
}
