//! [`IntervalSample`] and what is in it. What is empty is left out.

use brunt_stats::{
    Cell, CpuTicks, IntervalSample, OpStats, OpTimes, PairSample, PairTimes, SparseHistogram, Times, Timing,
};

use super::{all, each};
use crate::error::WireError;
use crate::v1;

impl From<IntervalSample> for v1::IntervalSample {
    fn from(sample: IntervalSample) -> Self {
        Self {
            interval: sample.interval,
            start_ns: sample.start_ns,
            end_ns: sample.end_ns,
            pairs: each(sample.pairs),
            times: (!sample.times.is_empty()).then(|| sample.times.into()),
            pair_times: each(sample.pair_times),
            cpu: sample.cpu.map(Into::into),
            io_cpu: sample.io_cpu.map(Into::into),
            idle: sample.idle,
        }
    }
}

impl TryFrom<v1::IntervalSample> for IntervalSample {
    type Error = WireError;

    fn try_from(sample: v1::IntervalSample) -> Result<Self, WireError> {
        if sample.interval == 0 {
            return Err(WireError::Missing { message: "IntervalSample", field: "interval" });
        }
        Ok(Self {
            interval: sample.interval,
            start_ns: sample.start_ns,
            end_ns: sample.end_ns,
            pairs: all(sample.pairs)?,
            times: sample.times.map_or_else(|| Ok(Times::default()), TryInto::try_into)?,
            pair_times: all(sample.pair_times)?,
            cpu: sample.cpu.map(Into::into),
            io_cpu: sample.io_cpu.map(Into::into),
            idle: sample.idle,
        })
    }
}

impl From<PairSample> for v1::PairSample {
    fn from(pair: PairSample) -> Self {
        let stats = |stats: OpStats| (stats != OpStats::default()).then(|| stats.into());
        Self {
            workload: pair.workload,
            sd: pair.sd,
            read: stats(pair.cell.read),
            write: stats(pair.cell.write),
            busy_ns: pair.cell.busy_ns,
        }
    }
}

impl TryFrom<v1::PairSample> for PairSample {
    type Error = WireError;

    fn try_from(pair: v1::PairSample) -> Result<Self, WireError> {
        let stats = |stats: Option<v1::OpStats>| stats.map(Into::into).unwrap_or_default();
        let cell = Cell { read: stats(pair.read), write: stats(pair.write), busy_ns: pair.busy_ns };
        Ok(Self { workload: pair.workload, sd: pair.sd, cell })
    }
}

impl From<PairTimes> for v1::PairTimes {
    fn from(pair: PairTimes) -> Self {
        Self { workload: pair.workload, sd: pair.sd, times: Some(pair.times.into()) }
    }
}

impl TryFrom<v1::PairTimes> for PairTimes {
    type Error = WireError;

    fn try_from(pair: v1::PairTimes) -> Result<Self, WireError> {
        let times = pair.times.map_or_else(|| Ok(Times::default()), TryInto::try_into)?;
        Ok(Self { workload: pair.workload, sd: pair.sd, times })
    }
}

impl From<Times> for v1::Times {
    fn from(times: Times) -> Self {
        let op = |op: OpTimes| (!op.is_empty()).then(|| op.into());
        Self { read: op(times.read), write: op(times.write) }
    }
}

impl TryFrom<v1::Times> for Times {
    type Error = WireError;

    fn try_from(times: v1::Times) -> Result<Self, WireError> {
        let op = |op: Option<v1::OpTimes>| op.map_or_else(|| Ok(OpTimes::default()), TryInto::try_into);
        Ok(Self { read: op(times.read)?, write: op(times.write)? })
    }
}

impl From<OpTimes> for v1::OpTimes {
    fn from(times: OpTimes) -> Self {
        let timing = |timing: Timing| (!timing.is_empty()).then(|| timing.into());
        Self {
            service: timing(times.service),
            due: timing(times.due),
            queue: timing(times.queue),
            lateness: timing(times.lateness),
        }
    }
}

impl TryFrom<v1::OpTimes> for OpTimes {
    type Error = WireError;

    fn try_from(times: v1::OpTimes) -> Result<Self, WireError> {
        let timing = |timing: Option<v1::Timing>| timing.map_or_else(|| Ok(Timing::default()), TryInto::try_into);
        Ok(Self {
            service: timing(times.service)?,
            due: timing(times.due)?,
            queue: timing(times.queue)?,
            lateness: timing(times.lateness)?,
        })
    }
}

impl From<Timing> for v1::Timing {
    fn from(timing: Timing) -> Self {
        Self {
            sum_ns: timing.sum_ns,
            min_ns: timing.min_ns,
            max_ns: timing.max_ns,
            buckets: timing.hist.packed(),
            over: timing.hist.over,
        }
    }
}

impl TryFrom<v1::Timing> for Timing {
    type Error = WireError;

    fn try_from(timing: v1::Timing) -> Result<Self, WireError> {
        let reason = "they are no packed histogram";
        let wrong = |_| WireError::Invalid { message: "Timing", field: "buckets", reason };
        let hist = SparseHistogram::unpack(&timing.buckets, timing.over).map_err(wrong)?;
        Ok(Self { sum_ns: timing.sum_ns, min_ns: timing.min_ns, max_ns: timing.max_ns, hist })
    }
}

impl From<OpStats> for v1::OpStats {
    fn from(stats: OpStats) -> Self {
        Self {
            ops: stats.ops,
            bytes: stats.bytes,
            errors: stats.errors,
            sum_ns: stats.sum_ns,
            // Both halves on purpose.
            sum_sq_low: stats.sum_sq_ns as u64,
            sum_sq_high: (stats.sum_sq_ns >> 64) as u64,
            min_ns: stats.min_ns,
            max_ns: stats.max_ns,
        }
    }
}

impl From<v1::OpStats> for OpStats {
    fn from(stats: v1::OpStats) -> Self {
        Self {
            ops: stats.ops,
            bytes: stats.bytes,
            errors: stats.errors,
            sum_ns: stats.sum_ns,
            sum_sq_ns: u128::from(stats.sum_sq_high) << 64 | u128::from(stats.sum_sq_low),
            min_ns: stats.min_ns,
            max_ns: stats.max_ns,
        }
    }
}

impl From<CpuTicks> for v1::CpuTicks {
    fn from(cpu: CpuTicks) -> Self {
        Self {
            user: cpu.user,
            nice: cpu.nice,
            system: cpu.system,
            idle: cpu.idle,
            iowait: cpu.iowait,
            steal: cpu.steal,
        }
    }
}

impl From<v1::CpuTicks> for CpuTicks {
    fn from(cpu: v1::CpuTicks) -> Self {
        Self {
            user: cpu.user,
            nice: cpu.nice,
            system: cpu.system,
            idle: cpu.idle,
            iowait: cpu.iowait,
            steal: cpu.steal,
        }
    }
}
