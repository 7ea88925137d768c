//! The work of one worker: what goes over the wire and into the engine, and what comes back.
//!
//! These types are complete: an engine that has a [`WorkerShare`] needs neither the plan nor the
//! parameter file. All sizes and addresses are bytes, all times nanoseconds unless a name says otherwise.

use std::fmt;

use brunt_stats::IntervalSample;
use serde::{Deserialize, Serialize};

pub use brunt_parm::ast::Arrivals;

/// A flag of `openflags=` on Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum OpenFlag {
    /// `o_direct`, `directio`.
    Direct,
    /// `o_sync`, `o_dsync`, `o_rsync`: Vdbench sets `O_DSYNC` (0x1000) for all of them.
    Sync,
    /// `fsync`: at close.
    Fsync,
    /// `0x…`, passed to open as it is.
    Raw(i32),
}

impl OpenFlag {
    /// Whether it goes round the page cache: `o_direct`, or its number on x86 and most other machines.
    pub fn is_direct(self) -> bool {
        const O_DIRECT: i32 = 0x4000;
        match self {
            OpenFlag::Direct => true,
            OpenFlag::Raw(bits) => bits & O_DIRECT != 0,
            OpenFlag::Sync | OpenFlag::Fsync => false,
        }
    }
}

/// Transfer sizes.
#[derive(Debug, Clone, PartialEq)]
pub enum Xfer {
    /// One size.
    Fixed(u64),
    /// Sizes with their percentages (sum 100).
    Weighted(Vec<(u64, f64)>),
    /// `min + align·k`, each size alike.
    Range {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
        /// Step.
        align: u64,
    },
}

impl Xfer {
    /// The largest size that can come.
    pub fn largest(&self) -> u64 {
        match self {
            Xfer::Fixed(n) => *n,
            Xfer::Weighted(sizes) => sizes.iter().map(|(n, _)| *n).max().unwrap_or(0),
            Xfer::Range { max, .. } => *max,
        }
    }
}

/// Order of addresses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Seek {
    /// Percent of I/Os that go to a new address; the others continue behind the one before.
    /// 0 is sequential, wrapping at the end.
    Percent(f64),
    /// Sequential to the end, then done.
    Eof,
    /// Skewed to low addresses.
    Poisson {
        /// Midpoint.
        mid: f64,
    },
}

impl Seek {
    /// Whether no I/O ever seeks.
    pub fn is_sequential(&self) -> bool {
        matches!(self, Seek::Eof) || matches!(self, Seek::Percent(p) if *p <= 0.0)
    }
}

/// A range of bytes, `high` exclusive. With `high` beyond the target's size (`range=(90,110)`)
/// addresses wrap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Area {
    /// First byte.
    pub low: u64,
    /// One past the last byte.
    pub high: u64,
    /// Where addresses wrap, when `high` lies beyond it.
    pub wrap: Option<Wrap>,
}

impl Area {
    /// The first byte of the target that I/Os in it can touch.
    pub fn first_byte(&self) -> u64 {
        self.wrap.map_or(self.low, |wrap| self.low.min(wrap.to))
    }
}

/// An address `a ≥ at` is `a − at + to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wrap {
    /// The usable size of the target, rounded down to a multiple of the largest transfer size.
    pub at: u64,
    /// Where it goes on: behind the head that is left alone on a raw device, 0 on a file
    /// (`docs/vdbench/raw.md` §8.2, §8.3).
    pub to: u64,
}

/// One SD of a worker in a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Index of the SD in the plan.
    pub sd: u32,
    /// Name of the SD.
    pub name: String,
    /// Path, or `sim:NAME`.
    pub lun: String,
    /// Usable size.
    pub size: u64,
    /// Outstanding I/Os of this worker.
    pub threads: u32,
    /// Flags.
    pub flags: Vec<OpenFlag>,
    /// Whether it is opened for writing: some workload of the whole execution writes to it.
    pub write: bool,
    /// Whether a missing file is created at open.
    pub create: bool,
    /// Whether it is a raw device by `stat` (or a raw `sim`).
    pub raw: bool,
    /// The simulated device, for `sim:` luns.
    pub sim: Option<SimSpec>,
    /// What serves its I/Os, the same in every run of the execution.
    pub backend: Backend,
    /// Whether its device is to be polled for completions (`IORING_SETUP_IOPOLL`), where all else allows it.
    pub polled: bool,
    /// What it was when the hosts were asked, for luns that are opened.
    pub sight: Option<Sight>,
}

/// What a host found under the path of an SD before the first run. Each run compares it with what is there then, before
/// its first I/O.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    /// What it was.
    pub kind: LunKind,
    /// [`LunFacts::identity`].
    pub identity: Option<String>,
    /// Bytes.
    pub size: u64,
    /// [`LunQuery::allow_in_use`].
    pub allow_in_use: bool,
    /// [`LunQuery::overwrite`].
    pub overwrite: bool,
    /// What is under the path now, once the agent has compared it: the worker opens nothing else.
    pub node: Option<Node>,
}

/// What the system calls an open file or device by, as long as it is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Node {
    /// A file: `st_dev` and `st_ino`.
    File(u64, u64),
    /// A block device: `st_rdev`.
    Block(u64),
    /// A character device: `st_rdev`.
    Character(u64),
}

/// What serves the I/Os of an SD (`misc=(engine=…)`, `--engine`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// `pread` and `pwrite`, a thread for each lane.
    #[default]
    Sync,
    /// Linux AIO: `io_submit` and `io_getevents`.
    Aio,
    /// io_uring.
    Uring,
    /// A simulated device.
    Sim,
    /// No device: every I/O is done at once. Shows what the engine itself costs.
    Null,
}

impl Backend {
    /// Its name in parameter files and results.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Sync => "sync",
            Backend::Aio => "aio",
            Backend::Uring => "uring",
            Backend::Sim => "sim",
            Backend::Null => "null",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a thread of a paced run waits for the next due time (`misc=(wait=…)`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wait {
    /// As `Hybrid` where the thread has a core to itself, else as `Sleep`.
    #[default]
    Auto,
    /// Sleeps: 50 to 110 µs late, nearly no CPU.
    Sleep,
    /// Sleeps until at most 60 µs before, then watches the clock.
    Hybrid,
    /// Watches the clock: a whole core, on time.
    Spin,
}

/// When the clock is read for the times of I/Os (`misc=(stamps=…)`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stamps {
    /// At every submit and every reap.
    #[default]
    Each,
    /// Once for each batch: some 40 ns of CPU an I/O less, and times that are off by the length of a batch.
    Batch,
}

/// How a worker goes about its share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Conduct {
    /// How it waits for due times.
    pub wait: Wait,
    /// When it reads the clock.
    pub stamps: Stamps,
    /// The latency that it asks of the idle states of the CPUs, µs (`/dev/cpu_dma_latency`).
    pub cpu_latency_us: Option<u32>,
}

/// A simulated device (`misc=(sim.NAME.…)`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimSpec {
    /// Size.
    pub size: u64,
    /// Bytes from 0 that answer in `hit_ns`.
    pub hit_area: u64,
    /// Service time in the hit area.
    pub hit_ns: u64,
    /// Service time elsewhere.
    pub miss_ns: u64,
    /// Uniform jitter of up to ± this.
    pub jitter_ns: u64,
    /// Share of I/Os that fail with EIO, 0 to 1.
    pub error_rate: f64,
    /// Freezes: every `.0` ns the device answers nothing for `.1` ns.
    pub freeze: Option<(u64, u64)>,
    /// Virtual clock: time passes only as the simulation says, every result is exact.
    pub virtual_clock: bool,
    /// Whether the first X bytes are skipped as on a raw device.
    pub raw: bool,
}

/// One (workload × SD) of a worker: its own cursor, random stream and due times.
#[derive(Debug, Clone, PartialEq)]
pub struct Generator {
    /// Index of the workload in the run.
    pub workload: u32,
    /// Index in [`WorkerShare::targets`].
    pub target: u32,
    /// Number of the random stream: the same in every execution of the same plan.
    pub stream: u64,
    /// Rate in I/Os per second at the run's base rate; ignored in uncontrolled runs.
    /// For stepped rates: the fraction (0..=1) of each step's rate.
    pub rate: f64,
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
    /// Order.
    pub seek: Seek,
    /// Where misses (or all I/Os without hits) go.
    pub miss: Area,
    /// Where hits go.
    pub hit: Option<Area>,
    /// Grid of addresses.
    pub align: Option<u64>,
    /// Gap to the next new address, counted from the end of the I/O before.
    pub stride: Option<(u64, u64)>,
    /// Skewed choice within this area.
    pub hotband: Option<Area>,
    /// Parts of the SD, each with a cursor of its own; lanes are dealt to them in turn.
    pub streams: Vec<Area>,
}

/// How I/Os are released.
#[derive(Debug, Clone, PartialEq)]
pub enum Control {
    /// Each lane as fast as it can.
    Uncontrolled,
    /// By due times, at the generators' rates.
    Paced,
    /// By due times, the rates following these steps (rate of the whole run, seconds), repeated.
    Stepped {
        /// Steps.
        steps: Vec<(f64, u32)>,
        /// All I/Os of a second at its beginning.
        spike: bool,
    },
}

/// What one worker does in one run.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerShare {
    /// Label of the worker, `host-n`.
    pub worker: String,
    /// Name of the run.
    pub run: String,
    /// Index of the run in this execution.
    pub run_id: u32,
    /// Length of an interval.
    pub interval_ns: u64,
    /// Number of intervals; `None`: until the data ends.
    pub intervals: Option<u32>,
    /// How many intervals at the beginning are warm-up, and not counted.
    pub warmup_intervals: u32,
    /// Seed of the execution.
    pub seed: u64,
    /// On the virtual clock: whether each interval but the first waits for the master's leave, so that several workers
    /// go through the same intervals. In real time it means nothing.
    pub lockstep: bool,
    /// Release.
    pub control: Control,
    /// Gaps.
    pub arrivals: Arrivals,
    /// Manners.
    pub conduct: Conduct,
    /// SDs.
    pub targets: Vec<Target>,
    /// Generators.
    pub generators: Vec<Generator>,
}

/// What a host is asked about a lun before anything runs.
#[derive(Debug, Clone, PartialEq)]
pub struct LunQuery {
    /// Index of the SD in the plan.
    pub sd: u32,
    /// Name of the SD.
    pub name: String,
    /// Path, or an identity to be found there ([`crate::identity::wanted`]).
    pub lun: String,
    /// Whether any workload of the execution writes to it, or a format may.
    pub will_write: bool,
    /// Holder checks are waived (`misc=(allow_in_use=…)`).
    pub allow_in_use: bool,
    /// Signature checks are waived (`misc=(overwrite=…)`).
    pub overwrite: bool,
}

/// Which asynchronous back ends a host has: `None` where one works, else why it does not.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EngineSupport {
    /// Of `aio`.
    pub no_aio: Option<String>,
    /// Of `uring`.
    pub no_uring: Option<String>,
}

/// What a host says of itself that bears on the plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostTraits {
    /// Its back ends.
    pub engines: EngineSupport,
    /// Names the running kernel (`/proc/sys/kernel/random/boot_id`): hosts with the same one are one machine under
    /// several labels. `None`: a machine of its own.
    pub machine: Option<String>,
    /// It did not answer, which is told elsewhere: nothing is said of its luns.
    pub silent: bool,
}

/// What a lun is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LunKind {
    /// Nothing there.
    Missing,
    /// A regular file.
    File,
    /// A block device.
    Block,
    /// A character device.
    Character,
    /// A directory.
    Directory,
    /// Something else.
    Other,
}

/// A host's answer about a lun.
#[derive(Debug, Clone, PartialEq)]
pub struct LunFacts {
    /// Index of the SD in the plan.
    pub sd: u32,
    /// What it is.
    pub kind: LunKind,
    /// Size.
    pub size: u64,
    /// Whether this process may read it.
    pub readable: bool,
    /// Whether this process may write it (for a missing file: create it).
    pub writable: bool,
    /// Stable identity of the device (`wwid:…`, `dm:…`: the same on every host) or what tells it on this machine only
    /// (`local:…`: a backing file, device and inode of a file, a device number).
    pub identity: Option<String>,
    /// Logical block size of a device, or the alignment direct I/O needs, when known.
    pub block_size: Option<u32>,
    /// Time after which the system gives a command to the device up, seconds, when known; of a device made of others the
    /// longest of theirs.
    pub timeout_s: Option<u32>,
    /// Whether the kernel can start a direct read without waiting for it (`RWF_NOWAIT`). False where an I/O completes
    /// inside the system call or cannot be done without blocking: tmpfs, zram. `None`: not tried, or without an answer.
    pub nowait: Option<bool>,
    /// Of a file: whether it has all its blocks, so that a write needs none.
    pub allocated: Option<bool>,
    /// Of a device: I/Os that it takes at once (`queue/nr_requests`), when known.
    pub tags: Option<u32>,
    /// Of a device: whether completions can be polled for (`queue/io_poll`).
    pub io_poll: bool,
    /// What speaks against writing to it: a sentence each (in use, foreign signature).
    pub refusals: Vec<String>,
    /// What is worth a warning before writing to it.
    pub warnings: Vec<String>,
    /// Where it is, when it was asked for by its identity.
    pub path: Option<String>,
    /// Why it cannot be used or looked at, not even for reading: a sentence with its cure.
    pub trouble: Option<String>,
}

impl LunFacts {
    /// An answer that says no more than what the lun is: no size, and not to be used.
    pub fn silent(sd: u32, kind: LunKind) -> Self {
        Self {
            sd,
            kind,
            size: 0,
            readable: false,
            writable: false,
            identity: None,
            block_size: None,
            timeout_s: None,
            nowait: None,
            allocated: None,
            tags: None,
            io_poll: false,
            refusals: Vec::new(),
            warnings: Vec::new(),
            path: None,
            trouble: None,
        }
    }
}

/// An I/O that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoFailure {
    /// Index of the SD in the plan.
    pub sd: u32,
    /// Path.
    pub lun: String,
    /// Whether it was a read.
    pub read: bool,
    /// Address.
    pub lba: u64,
    /// Size asked for.
    pub xfer: u64,
    /// What happened.
    pub error: IoErrorKind,
    /// Wall clock of the worker, milliseconds since the epoch.
    pub at_ms: i64,
}

/// Why an I/O failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum IoErrorKind {
    /// The system's error number.
    Errno(i32),
    /// Fewer bytes than asked for.
    Short {
        /// Bytes transferred.
        got: u64,
    },
}

impl fmt::Display for IoErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IoErrorKind::Errno(n) => write!(f, "errno {n}"),
            IoErrorKind::Short { got } => write!(f, "short transfer of {got} bytes"),
        }
    }
}

/// What a worker reports while it runs.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkerEvent {
    /// An interval is over.
    Interval(Box<IntervalSample>),
    /// An I/O failed. Bounded: the engine reports each up to a limit, then only counts.
    Failure(IoFailure),
    /// All sequential-to-the-end workloads of this worker reached their end.
    SequentialDone,
    /// A line for `<worker>.stdout.html`.
    Log(String),
    /// What the user should know: a sentence with its cure.
    Warning(String),
    /// The worker cannot go on: a sentence.
    Fatal(String),
    /// The run is over but I/Os are still out. Comes once a second until [`WorkerEvent::Drained`].
    Outstanding {
        /// How many.
        count: u64,
        /// Age of the oldest, ns.
        oldest_ns: u64,
        /// Path of the lun that the oldest went to, when known.
        lun: Option<String>,
    },
    /// All that was done on each SD in the run, also after its last interval. Comes once, before
    /// [`WorkerEvent::Drained`].
    Totals(Vec<SdTotals>),
    /// All lanes are idle, all samples were sent.
    Drained,
}

/// What a worker did on an SD in a whole run, from its first I/O to its last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SdTotals {
    /// Index of the SD in the plan.
    pub sd: u32,
    /// Reads.
    pub reads: u64,
    /// Bytes that they asked for.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes that they asked for.
    pub write_bytes: u64,
}

/// What a host's kernel counted of a block device while a run went on
/// (`/sys/dev/block/*/stat`, Documentation/block/stat.rst).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeviceCounts {
    /// The kernel's name, `sdb`, `loop0`.
    pub name: String,
    /// SDs whose I/Os it has seen (indices in the plan): those on it, and on its partitions.
    pub sds: Vec<u32>,
    /// Whether all of them go round the page cache.
    pub direct: bool,
    /// Whether the kernel counts at all (`queue/iostats`).
    pub counting: bool,
    /// Largest command, KiB (`queue/max_sectors_kb`), when known.
    pub max_sectors_kb: Option<u32>,
    /// Most pieces of memory in a command (`queue/max_segments`), when known.
    pub max_segments: Option<u32>,
    /// Reads.
    pub read: CommandCounts,
    /// Writes.
    pub write: CommandCounts,
}

/// Commands of one direction, as the kernel counts them when they are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CommandCounts {
    /// Commands.
    pub commands: u64,
    /// I/Os that went along in the command of another.
    pub merges: u64,
    /// Sectors of 512 bytes, whatever the device's own are.
    pub sectors: u64,
}
