//! The event stream of an execution: its schema, one record per thing that happened.
//!
//! The master makes the events, in order; reports are pure functions of them; `events.ndjson` holds
//! one record a line. Whoever reads a stream needs nothing else: no clock, no device, no parameter file.
//!
//! Identities are small numbers given by [`Event::Planned`]: hosts, workers, SDs, WDs and runs are
//! indices into its lists. Times are Unix milliseconds in records and nanoseconds in measurements.

use brunt_stats::{Cell, CpuTicks, SparseHistogram};
use serde::{Deserialize, Serialize};

/// One line of `events.ndjson`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Unix time in milliseconds at the master; a label only.
    pub at_ms: i64,
    /// What happened.
    pub event: Event,
}

/// Which layout the Vdbench report files have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Compat {
    /// 5.04.07.
    V50407,
    /// 5.04.06 and before.
    V50406,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Event {
    /// The execution began. Always first.
    Opened(Opened),
    /// An argument was read (`-fparmfile`, value glued on).
    Argument {
        /// The argument.
        text: String,
    },
    /// The parameter files as read, for `parmfile.html`.
    ParmEcho {
        /// Lines.
        lines: Vec<String>,
    },
    /// What the parser saw, for `parmscan.html`.
    ParmScan {
        /// Lines without times.
        lines: Vec<String>,
    },
    /// The usage text is due (wrong option, no parameter file).
    Usage,
    /// The plan stands. Comes before anything is started.
    Planned(Planned),
    /// A run of a simulation (`-s`).
    Simulated {
        /// Index in [`Planned::runs`].
        run: u32,
    },
    /// All runs of a simulation were shown.
    SimulationTotal {
        /// Number of runs.
        runs: u32,
        /// Seconds of all runs, warm-up included.
        seconds: u64,
    },
    /// A worker is being started.
    WorkerStarting {
        /// Index in [`Planned::workers`].
        worker: u32,
        /// The command line, for the console.
        command: String,
    },
    /// A worker answered.
    WorkerConnected {
        /// Index in [`Planned::workers`].
        worker: u32,
        /// Its process.
        pid: u32,
        /// Ours.
        master_pid: u32,
    },
    /// All workers answered.
    WorkersConnected,
    /// The hosts are asked about their devices.
    QueryStarted,
    /// The hosts have answered.
    QueryCompleted {
        /// Sizes in bytes, by SD of [`Planned::sds`].
        sd_sizes: Vec<Option<u64>>,
    },
    /// The inventory of a host, for `config.html`.
    HostConfig {
        /// Index in [`Planned::hosts`].
        host: u32,
        /// Plain text.
        text: String,
    },
    /// A file must be made or extended before the first run.
    FormatNeeded {
        /// Index in [`Planned::sds`].
        sd: u32,
        /// Its path.
        lun: String,
        /// Index in [`Planned::hosts`].
        host: u32,
    },
    /// Another pass over all runs begins.
    LoopStarted {
        /// Number of the pass, from 1.
        pass: u64,
    },
    /// A run starts.
    RunStarted(RunStarted),
    /// Sequential workloads reached their end, which ends the run.
    SequentialDone,
    /// `maxdata=` was reached; the run ends after the next interval.
    MaxDataReached {
        /// [`RunStarted::run`].
        run: u32,
        /// The limit in bytes.
        limit: u64,
    },
    /// An interval is complete.
    Interval(Box<Interval>),
    /// Warm-up ended (after interval 1 without `warmup=`).
    WarmupDone {
        /// [`RunStarted::run`].
        run: u32,
    },
    /// No more I/O is started for the run.
    WorkloadDone {
        /// [`RunStarted::run`].
        run: u32,
    },
    /// All workers have drained.
    WorkersDone {
        /// [`RunStarted::run`].
        run: u32,
    },
    /// A run is over. Its totals are the sums of its counted intervals.
    RunEnded(Box<RunEnded>),
    /// Outstanding I/O keeps the run from ending.
    Draining {
        /// Outstanding I/Os, at least: a worker that does not tell counts as one.
        outstanding: u64,
        /// Seconds since the end of the run.
        seconds: u64,
    },
    /// Waiting as `pause=` asks.
    Pausing {
        /// Seconds.
        seconds: u32,
    },
    /// A monitor file is watched.
    MonitorWatched {
        /// Its path.
        file: String,
    },
    /// Somebody asked for an early end.
    EarlyEnd {
        /// What shall end.
        scope: EndScope,
    },
    /// An I/O failed.
    IoFailed(IoFailed),
    /// A hook ran.
    Hook {
        /// The command.
        command: String,
        /// Where: `master` or a host label.
        place: String,
        /// Exit status, when it ended by itself.
        status: Option<i32>,
        /// Its output.
        lines: Vec<String>,
        /// Where the output goes.
        to: HookDestination,
    },
    /// A line from a worker for `<worker>.stdout.html`.
    WorkerLog {
        /// Index in [`Planned::workers`].
        worker: u32,
        /// Unix time in milliseconds at the worker.
        worker_ms: i64,
        /// The line.
        text: String,
    },
    /// Something the user should know; goes to console, log and summary.
    Notice {
        /// How much it matters.
        level: NoticeLevel,
        /// A stable code, such as `page-cache`.
        code: String,
        /// One sentence, one line.
        text: String,
    },
    /// A diagnostic of the parameter file, already rendered, for stderr.
    Diagnostic {
        /// Several lines.
        text: String,
        /// Whether it is the reason for an end: then that need not be told again.
        #[serde(default)]
        fatal: bool,
    },
    /// SIGINT or SIGTERM arrived.
    Interrupted {
        /// Its number.
        signal: i32,
    },
    /// A worker or its host was lost.
    WorkerLost {
        /// Index in [`Planned::workers`].
        worker: u32,
        /// A sentence.
        text: String,
    },
    /// The execution cannot go on. What was measured so far has been reported.
    Aborted {
        /// Why.
        cause: AbortCause,
        /// One line in Vdbench's words where it has any.
        text: String,
        /// Total of I/O errors so far.
        io_errors: u64,
    },
    /// The end. Always last.
    Closed {
        /// Exit status.
        status: i32,
        /// Whether everything asked for was done.
        complete: bool,
    },
}

/// The head of a stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// Version of this schema; readers refuse a greater one.
    pub schema: u32,
    /// Version of Brunt.
    pub version: String,
    /// Layout of the report files.
    pub compat: Compat,
    /// Whether we were called by the name `vdbench`.
    pub as_vdbench: bool,
    /// Whether the output directory was made now.
    pub created: bool,
    /// Absolute path of the output directory.
    pub directory: String,
    /// Absolute path of the program.
    pub program: String,
    /// Current directory.
    pub working_directory: String,
    /// Whether a megabyte is 10⁶ bytes (`-mb`).
    pub decimal_mb: bool,
    /// Whether nothing is run (`-s`).
    pub simulate: bool,
    /// Time zone of the reports: an IANA name, or empty for UTC.
    pub zone: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// Process.
    pub pid: u32,
}

/// The current version of the schema.
pub const SCHEMA: u32 = 1;

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
    /// Runs in order, one pass. A format run that is found necessary later comes before them: its [`RunStarted`]
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
    /// Threshold of the warning on the rate per worker.
    pub ios_per_worker: f64,
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
}

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
    /// Workloads of this run: index in [`Planned::wds`] and requested skew in percent.
    pub workloads: Vec<RunWorkload>,
    /// SDs of this run: indices in [`Planned::sds`].
    pub sds: Vec<u32>,
    /// Workers that have work in this run: indices in [`Planned::workers`].
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
    /// Index in [`Planned::wds`]; `None` for a generated one.
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
    /// Response times of all reads.
    pub read_hist: SparseHistogram,
    /// Response times of all writes.
    pub write_hist: SparseHistogram,
    /// Due to done, paced runs only.
    pub due_hist: SparseHistogram,
    /// By host, in order of [`Planned::hosts`]; hosts without work have zeros.
    pub hosts: Vec<HostInterval>,
    /// By worker, in order of [`Planned::workers`].
    pub workers: Vec<Cell>,
    /// By SD of [`RunStarted::sds`].
    pub sds: Vec<Cell>,
    /// By workload of [`RunStarted::workloads`].
    pub wds: Vec<Cell>,
    /// By host and SD, for `report=host_detail`: (index in [`Planned::hosts`], index in [`Planned::sds`], sums).
    /// Pairs that did nothing are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_sds: Vec<(u32, u32, Cell)>,
    /// By worker and SD, for `report=slave_detail`: (index in [`Planned::workers`], index in [`Planned::sds`], sums).
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
    /// Response times of reads.
    pub read_hist: SparseHistogram,
    /// Response times of writes.
    pub write_hist: SparseHistogram,
}

/// Histograms of reads and writes over the counted intervals.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HistPair {
    /// Reads.
    pub read: SparseHistogram,
    /// Writes.
    pub write: SparseHistogram,
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
    /// By SD of [`RunStarted::sds`], counted intervals only; the last interval where none counted.
    pub sd_hists: Vec<HistPair>,
    /// By workload of [`RunStarted::workloads`].
    pub wd_hists: Vec<HistPair>,
    /// By worker, counted intervals only (`slave_detail`, and the older layout where a host has several workers).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub worker_hists: Vec<HistPair>,
    /// I/Os that failed in this run.
    pub io_errors: u64,
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

/// What an early end ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndScope {
    /// This run.
    Run,
    /// Everything.
    Execution,
}

/// A failed I/O.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IoFailed {
    /// Index in [`Planned::workers`].
    pub worker: u32,
    /// Unix milliseconds at the worker.
    pub worker_ms: i64,
    /// Whether it was a read.
    pub read: bool,
    /// Path.
    pub lun: String,
    /// Address in bytes.
    pub lba: u64,
    /// Size in bytes.
    pub xfer: u64,
    /// The system's error number; `None`: fewer bytes came than were asked for.
    pub errno: Option<i32>,
    /// Bytes that came, for a short transfer.
    pub got: Option<u64>,
}

/// Where a hook's output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookDestination {
    /// Console and log.
    Console,
    /// Summary and log.
    Summary,
    /// Log only.
    Log,
}

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeLevel {
    /// Good to know.
    Note,
    /// May make the numbers mean something else than was thought.
    Warning,
}

/// Why an execution was given up. Each has its exit status (`docs/vdbench/decisions.md`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AbortCause {
    /// Wrong command line.
    Usage,
    /// Parameter file.
    Parameters,
    /// Set-up: devices, sizes, permissions, hosts.
    Setup,
    /// A safety rule.
    Safety,
    /// I/O errors reached their limit.
    IoErrorLimit,
    /// The run is complete but had I/O errors.
    IoErrors,
    /// A worker was lost.
    WorkerLost,
    /// A hook failed.
    Hook,
    /// I/O that never returned.
    Stuck,
    /// `abort_failed_skew=`.
    Skew,
    /// The output directory cannot be written.
    Output,
    /// `timeout=(n,abort)`.
    Timeout,
}
