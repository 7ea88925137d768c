//! The times of I/Os: what was counted, exactly, and how it is spread.
//!
//! An I/O has four instants: *due* (when the arrival process wanted it), *idle* (when a lane of its SD was
//! free), *issued* and *done*. Vdbench's response time is issued → done. What a user of the device would have
//! waited is due → done, so that a stall cannot hide behind a generator that waited politely; its parts are the
//! queue (due → idle: the device's doing), the lateness (idle or due → issued: ours) and the service.

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use crate::histogram::SparseHistogram;

/// One kind of time of many I/Os. Serialized with its percentiles, for those who read; they are not read back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Timing {
    /// Sum.
    pub sum_ns: u64,
    /// Smallest; 0 without I/Os.
    pub min_ns: u64,
    /// Largest.
    pub max_ns: u64,
    /// All of them.
    pub hist: SparseHistogram,
}

/// The times of reads, or of writes. All but `service` are empty in runs that are not paced.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpTimes {
    /// Issued → done.
    #[serde(default, skip_serializing_if = "Timing::is_empty")]
    pub service: Timing,
    /// Due → done.
    #[serde(default, skip_serializing_if = "Timing::is_empty")]
    pub due: Timing,
    /// Due → a lane of the SD was free: 0 where one was.
    #[serde(default, skip_serializing_if = "Timing::is_empty")]
    pub queue: Timing,
    /// Due, or when a lane was free if that came later → issued.
    #[serde(default, skip_serializing_if = "Timing::is_empty")]
    pub lateness: Timing,
}

/// The times of reads and of writes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// Reads.
    #[serde(default, skip_serializing_if = "OpTimes::is_empty")]
    pub read: OpTimes,
    /// Writes.
    #[serde(default, skip_serializing_if = "OpTimes::is_empty")]
    pub write: OpTimes,
}

impl Timing {
    /// Number of times.
    pub fn count(&self) -> u64 {
        self.hist.count()
    }

    /// Whether nothing was timed.
    pub fn is_empty(&self) -> bool {
        self.hist.is_empty()
    }

    /// Adds another's.
    pub fn merge(&mut self, other: &Timing) {
        if other.is_empty() {
            return;
        }
        self.min_ns = if self.is_empty() { other.min_ns } else { self.min_ns.min(other.min_ns) };
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.hist.merge(&other.hist);
    }

    /// The time below which `quantile` (0 to 1) of them lie, between the smallest and the largest; `None` without any.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        self.hist.quantile(quantile, self.min_ns, self.max_ns)
    }

    /// The mean; `None` without any.
    pub fn mean_ns(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum_ns as f64 / count as f64)
    }
}

/// What is shown of a [`Timing`]: from the smallest to the largest, never falling.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Number of times.
    pub count: u64,
    /// Those beyond the range of the histogram, 18 minutes. They count in all other numbers, but percentiles among them
    /// are only known to lie below the largest.
    pub over: u64,
    /// Mean, ns.
    pub mean_ns: f64,
    /// Smallest.
    pub min_ns: u64,
    /// At [`QUANTILES`].
    pub quantiles_ns: [u64; QUANTILES.len()],
    /// Largest.
    pub max_ns: u64,
}

/// What percentiles are shown: name and share.
pub const QUANTILES: [(&str, f64); 7] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.999_9),
    ("p99.999", 0.999_99),
];

/// Names of [`QUANTILES`] as fields.
const FIELDS: [&str; QUANTILES.len()] = ["p50_ns", "p90_ns", "p95_ns", "p99_ns", "p99_9_ns", "p99_99_ns", "p99_999_ns"];

impl Timing {
    /// The numbers to show; `None` without any.
    pub fn summary(&self) -> Option<Summary> {
        let quantile = |(_, quantile)| self.quantile(quantile).unwrap_or(self.max_ns);
        Some(Summary {
            count: self.count(),
            over: self.hist.over,
            mean_ns: self.mean_ns()?,
            min_ns: self.min_ns,
            quantiles_ns: QUANTILES.map(quantile),
            max_ns: self.max_ns,
        })
    }
}

impl Serialize for Timing {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Timing", 5 + FIELDS.len())?;
        fields.serialize_field("count", &self.count())?;
        fields.serialize_field("sum_ns", &self.sum_ns)?;
        fields.serialize_field("min_ns", &self.min_ns)?;
        if let Some(summary) = self.summary() {
            for (name, ns) in FIELDS.into_iter().zip(&summary.quantiles_ns) {
                fields.serialize_field(name, ns)?;
            }
        }
        fields.serialize_field("max_ns", &self.max_ns)?;
        fields.serialize_field("hist", &self.hist)?;
        fields.end()
    }
}

impl OpTimes {
    /// Whether nothing was timed.
    pub fn is_empty(&self) -> bool {
        self.service.is_empty() && self.due.is_empty()
    }

    /// Adds another's.
    pub fn merge(&mut self, other: &OpTimes) {
        self.service.merge(&other.service);
        self.due.merge(&other.due);
        self.queue.merge(&other.queue);
        self.lateness.merge(&other.lateness);
    }
}

impl Times {
    /// Whether nothing was timed.
    pub fn is_empty(&self) -> bool {
        self.read.is_empty() && self.write.is_empty()
    }

    /// Adds another's.
    pub fn merge(&mut self, other: &Times) {
        self.read.merge(&other.read);
        self.write.merge(&other.write);
    }

    /// Reads and writes together.
    pub fn both(&self) -> OpTimes {
        let mut all = self.read.clone();
        all.merge(&self.write);
        all
    }
}
