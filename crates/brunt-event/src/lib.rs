//! The event stream of an execution: its schema, one record per thing that happened.
//!
//! The master makes the events, in order; reports are pure functions of them; `events.ndjson` holds
//! one record a line. Whoever reads a stream needs nothing else: no clock, no device, no parameter file.
//!
//! Identities are small numbers given by [`Event::Planned`]: hosts, workers, SDs, WDs and runs are
//! indices into its lists. Times are Unix milliseconds in records and nanoseconds in measurements.

mod engines;
mod judged;
mod planned;
mod run;

use brunt_stats::OwnError;
use serde::{Deserialize, Serialize};

pub use engines::EngineChoice;
pub use judged::{Compared, Difference, Limit, Witnessed, WitnessedDevice};
pub use planned::{AnchorSize, FilesRate, Planned, PlannedRun, PlannedSd, PlannedWorker, RateText};
pub use run::{HostInterval, Interval, Requested, RunEnd, RunEnded, RunStarted, RunWorkload, SdDone};

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
    /// What there is below each anchor that a run uses.
    AnchorSizes {
        /// The anchors, each once.
        anchors: Vec<AnchorSize>,
    },
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
    /// What a host and its build add to every measurement.
    OwnError {
        /// Index in [`Planned::hosts`].
        host: u32,
        /// The numbers, measured just now.
        error: Box<OwnError>,
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
    /// What serves the I/Os of each SD in all runs, and why.
    Engines {
        /// By host, back end and reason.
        choices: Vec<EngineChoice>,
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
    /// What the kernel counted of the devices of the run that has just ended. Only where it has block devices.
    Witnessed(Witnessed),
    /// Something else than its device limited the run that has just ended.
    Limited {
        /// [`RunStarted::run`].
        run: u32,
        /// What.
        limits: Vec<Limit>,
    },
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
    /// The master was killed, and another process goes on in its place.
    TakenOver {
        /// That process.
        pid: u32,
        /// As [`Opened::birth`].
        birth: Option<Birth>,
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
    /// What tells that process from a later one of the same number; `None` where the system does not say.
    #[serde(default)]
    pub birth: Option<Birth>,
}

/// The start of a process: no other process of its number has the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Birth {
    /// Clock ticks of the kernel from its boot to the start of the process (`proc(5)`, `starttime`).
    pub ticks: u64,
    /// The boot, which also tells machines apart (`/proc/sys/kernel/random/boot_id`).
    pub boot: String,
    /// The machine's name.
    pub host: String,
}

/// The current version of the schema.
pub const SCHEMA: u32 = 2;

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
    /// The master ended without a word; told by whoever found its output directory.
    MasterLost,
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
