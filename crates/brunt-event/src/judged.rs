//! What is found about a run when it is over: whether the kernel saw the same I/Os, and what limited it.

use serde::{Deserialize, Serialize};

/// What the kernels of the hosts counted of the block devices of a run, beside what we did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witnessed {
    /// [`RunStarted::run`](crate::RunStarted::run).
    pub run: u32,
    /// The devices, by host.
    pub devices: Vec<WitnessedDevice>,
}

/// A device of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WitnessedDevice {
    /// Index in [`Planned::hosts`](crate::Planned::hosts).
    pub host: u32,
    /// The kernel's name.
    pub device: String,
    /// The SDs on it and on its partitions: indices in [`Planned::sds`](crate::Planned::sds).
    pub sds: Vec<u32>,
    /// Largest command, KiB, when known.
    pub max_sectors_kb: Option<u32>,
    /// Most pieces of memory in a command, when known.
    pub max_segments: Option<u32>,
    /// Reads.
    pub read: Compared,
    /// Writes.
    pub write: Compared,
}

/// I/Os of one direction: from the first of the run to the last, warm-up included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compared {
    /// I/Os that Brunt did, over all workers of the host.
    pub ios: u64,
    /// Bytes that they asked for.
    pub bytes: u64,
    /// Commands that the kernel counted.
    pub kernel_commands: u64,
    /// I/Os that went along in the command of another, as the kernel counts.
    pub kernel_merges: u64,
    /// Bytes that the kernel counted.
    pub kernel_bytes: u64,
    /// Why they differ, most likely; `None`: they agree.
    pub difference: Option<Difference>,
}

/// Why the kernel counted something else than we did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    /// The same bytes in more commands: I/Os were larger than a command.
    Split,
    /// The same bytes in fewer commands: I/Os were put together.
    Merged,
    /// Fewer bytes: the page cache answered, or wrote once what was written often.
    PageCache,
    /// More bytes of an SD that goes through the page cache: read-ahead, whole pages, or somebody else.
    ReadAhead,
    /// Fewer bytes, but not fewer than without the I/Os that failed.
    Failed,
    /// The kernel does not count at this device.
    NotCounted,
    /// Fewer bytes although the page cache was gone round.
    Missing,
    /// More bytes: somebody else's load, or a second path to the same device.
    Foreign,
}

/// What limited a run, other than its device.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "limit", rename_all = "snake_case")]
pub enum Limit {
    /// The generator: the rate was short of what was asked while lanes were idle.
    GeneratorShort {
        /// I/Os per second that were asked for.
        asked: f64,
        /// I/Os per second that were done.
        reached: f64,
        /// Lanes of all SDs.
        lanes: u64,
        /// How many of them had an I/O out, on average.
        busy_lanes: f64,
    },
    /// The generator: I/Os were late against the time that the device takes.
    GeneratorLate {
        /// Median lateness: from due, or from when a lane was free if that came later, to issued.
        lateness_ns: u64,
        /// Median response time.
        service_ns: u64,
        /// I/Os whose times were taken.
        ios: u64,
    },
    /// The processors of a host that its I/O threads may use.
    HostCpu {
        /// Index in [`Planned::hosts`](crate::Planned::hosts).
        host: u32,
        /// Percent of their time that they worked.
        busy_percent: f64,
        /// Percent of their time that the hypervisor gave to others.
        steal_percent: f64,
    },
}
