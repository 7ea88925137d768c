//! [`WorkerShare`] and what is in it.

use brunt_plan::work::{
    Area, Arrivals, Backend, Conduct, Control, Generator, OpenFlag, Seek, SimSpec, Stamps, Target, Wait, WorkerShare,
    Wrap, Xfer,
};

use super::{all, each};
use crate::error::{WireError, need};
use crate::v1;

impl From<WorkerShare> for v1::WorkerShare {
    fn from(share: WorkerShare) -> Self {
        Self {
            worker: share.worker,
            run: share.run,
            run_id: share.run_id,
            interval_ns: share.interval_ns,
            intervals: share.intervals,
            seed: share.seed,
            lockstep: share.lockstep,
            control: Some(share.control.into()),
            arrivals: v1::Arrivals::from(share.arrivals).into(),
            targets: each(share.targets),
            generators: each(share.generators),
            warmup_intervals: share.warmup_intervals,
            wait: v1::Wait::from(share.conduct.wait).into(),
            stamps: v1::Stamps::from(share.conduct.stamps).into(),
            cpu_latency_us: share.conduct.cpu_latency_us,
        }
    }
}

impl TryFrom<v1::WorkerShare> for WorkerShare {
    type Error = WireError;

    fn try_from(share: v1::WorkerShare) -> Result<Self, WireError> {
        const M: &str = "WorkerShare";
        let arrivals = arrivals(share.arrivals)?;
        let generators: Vec<Generator> = all(share.generators)?;
        if generators.iter().any(|g| g.target as usize >= share.targets.len()) {
            return Err(WireError::Invalid {
                message: "Generator",
                field: "target",
                reason: "there is no such target",
            });
        }
        if share.interval_ns == 0 {
            return Err(WireError::Missing { message: M, field: "interval_ns" });
        }
        Ok(Self {
            worker: share.worker,
            run: share.run,
            run_id: share.run_id,
            interval_ns: share.interval_ns,
            intervals: share.intervals,
            seed: share.seed,
            lockstep: share.lockstep,
            control: need(share.control, M, "control")?.try_into()?,
            arrivals,
            targets: all(share.targets)?,
            generators,
            warmup_intervals: share.warmup_intervals,
            conduct: Conduct {
                wait: wait(share.wait)?,
                stamps: stamps(share.stamps)?,
                cpu_latency_us: share.cpu_latency_us,
            },
        })
    }
}

impl From<Arrivals> for v1::Arrivals {
    fn from(arrivals: Arrivals) -> Self {
        match arrivals {
            Arrivals::Exponential => v1::Arrivals::Exponential,
            Arrivals::Uniform => v1::Arrivals::Uniform,
            Arrivals::Deterministic => v1::Arrivals::Deterministic,
        }
    }
}

fn arrivals(value: i32) -> Result<Arrivals, WireError> {
    const M: &str = "WorkerShare";
    match v1::Arrivals::try_from(value) {
        Ok(v1::Arrivals::Exponential) => Ok(Arrivals::Exponential),
        Ok(v1::Arrivals::Uniform) => Ok(Arrivals::Uniform),
        Ok(v1::Arrivals::Deterministic) => Ok(Arrivals::Deterministic),
        Ok(v1::Arrivals::Unspecified) => Err(WireError::Missing { message: M, field: "arrivals" }),
        Err(_) => Err(WireError::Unknown { message: M, field: "arrivals", value }),
    }
}

impl From<Wait> for v1::Wait {
    fn from(wait: Wait) -> Self {
        match wait {
            Wait::Auto => v1::Wait::Auto,
            Wait::Sleep => v1::Wait::Sleep,
            Wait::Hybrid => v1::Wait::Hybrid,
            Wait::Spin => v1::Wait::Spin,
        }
    }
}

fn wait(value: i32) -> Result<Wait, WireError> {
    match v1::Wait::try_from(value) {
        Ok(v1::Wait::Auto) => Ok(Wait::Auto),
        Ok(v1::Wait::Sleep) => Ok(Wait::Sleep),
        Ok(v1::Wait::Hybrid) => Ok(Wait::Hybrid),
        Ok(v1::Wait::Spin) => Ok(Wait::Spin),
        Err(_) => Err(WireError::Unknown { message: "WorkerShare", field: "wait", value }),
    }
}

impl From<Stamps> for v1::Stamps {
    fn from(stamps: Stamps) -> Self {
        match stamps {
            Stamps::Each => v1::Stamps::Each,
            Stamps::Batch => v1::Stamps::Batch,
        }
    }
}

fn stamps(value: i32) -> Result<Stamps, WireError> {
    match v1::Stamps::try_from(value) {
        Ok(v1::Stamps::Each) => Ok(Stamps::Each),
        Ok(v1::Stamps::Batch) => Ok(Stamps::Batch),
        Err(_) => Err(WireError::Unknown { message: "WorkerShare", field: "stamps", value }),
    }
}

impl From<Backend> for v1::Backend {
    fn from(backend: Backend) -> Self {
        match backend {
            Backend::Sync => v1::Backend::Sync,
            Backend::Aio => v1::Backend::Aio,
            Backend::Uring => v1::Backend::Uring,
            Backend::Sim => v1::Backend::Sim,
            Backend::Null => v1::Backend::Null,
        }
    }
}

fn backend(value: i32) -> Result<Backend, WireError> {
    const M: &str = "Target";
    match v1::Backend::try_from(value) {
        Ok(v1::Backend::Sync) => Ok(Backend::Sync),
        Ok(v1::Backend::Aio) => Ok(Backend::Aio),
        Ok(v1::Backend::Uring) => Ok(Backend::Uring),
        Ok(v1::Backend::Sim) => Ok(Backend::Sim),
        Ok(v1::Backend::Null) => Ok(Backend::Null),
        Ok(v1::Backend::Unspecified) => Err(WireError::Missing { message: M, field: "backend" }),
        Err(_) => Err(WireError::Unknown { message: M, field: "backend", value }),
    }
}

impl From<Control> for v1::Control {
    fn from(control: Control) -> Self {
        use v1::control::Kind;
        let kind = match control {
            Control::Uncontrolled => Kind::Uncontrolled(v1::Nothing {}),
            Control::Paced => Kind::Paced(v1::Nothing {}),
            Control::Stepped { steps, spike } => {
                let steps = steps.into_iter().map(|(rate, seconds)| v1::RateStep { rate, seconds }).collect();
                Kind::Stepped(v1::Stepped { steps, spike })
            }
        };
        Self { kind: Some(kind) }
    }
}

impl TryFrom<v1::Control> for Control {
    type Error = WireError;

    fn try_from(control: v1::Control) -> Result<Self, WireError> {
        use v1::control::Kind;
        Ok(match need(control.kind, "Control", "kind")? {
            Kind::Uncontrolled(_) => Control::Uncontrolled,
            Kind::Paced(_) => Control::Paced,
            Kind::Stepped(stepped) => Control::Stepped {
                steps: stepped.steps.into_iter().map(|step| (step.rate, step.seconds)).collect(),
                spike: stepped.spike,
            },
        })
    }
}

impl From<Target> for v1::Target {
    fn from(target: Target) -> Self {
        Self {
            sd: target.sd,
            name: target.name,
            lun: target.lun,
            size: target.size,
            threads: target.threads,
            flags: each(target.flags),
            write: target.write,
            create: target.create,
            raw: target.raw,
            sim: target.sim.map(Into::into),
            backend: v1::Backend::from(target.backend).into(),
            polled: target.polled,
            sight: target.sight.map(Into::into),
        }
    }
}

impl TryFrom<v1::Target> for Target {
    type Error = WireError;

    fn try_from(target: v1::Target) -> Result<Self, WireError> {
        Ok(Self {
            sd: target.sd,
            name: target.name,
            lun: target.lun,
            size: target.size,
            threads: target.threads,
            flags: all(target.flags)?,
            write: target.write,
            create: target.create,
            raw: target.raw,
            sim: target.sim.map(Into::into),
            backend: backend(target.backend)?,
            polled: target.polled,
            sight: target.sight.map(TryInto::try_into).transpose()?,
        })
    }
}

impl From<OpenFlag> for v1::OpenFlag {
    fn from(flag: OpenFlag) -> Self {
        use v1::open_flag::Flag;
        Self {
            flag: Some(match flag {
                OpenFlag::Direct => Flag::Direct(v1::Nothing {}),
                OpenFlag::Sync => Flag::Sync(v1::Nothing {}),
                OpenFlag::Fsync => Flag::Fsync(v1::Nothing {}),
                OpenFlag::Raw(bits) => Flag::Raw(bits),
            }),
        }
    }
}

impl TryFrom<v1::OpenFlag> for OpenFlag {
    type Error = WireError;

    fn try_from(flag: v1::OpenFlag) -> Result<Self, WireError> {
        use v1::open_flag::Flag;
        Ok(match need(flag.flag, "OpenFlag", "flag")? {
            Flag::Direct(_) => OpenFlag::Direct,
            Flag::Sync(_) => OpenFlag::Sync,
            Flag::Fsync(_) => OpenFlag::Fsync,
            Flag::Raw(bits) => OpenFlag::Raw(bits),
        })
    }
}

impl From<SimSpec> for v1::SimSpec {
    fn from(sim: SimSpec) -> Self {
        Self {
            size: sim.size,
            hit_area: sim.hit_area,
            hit_ns: sim.hit_ns,
            miss_ns: sim.miss_ns,
            jitter_ns: sim.jitter_ns,
            error_rate: sim.error_rate,
            freeze: sim.freeze.map(|(every_ns, for_ns)| v1::Freeze { every_ns, for_ns }),
            virtual_clock: sim.virtual_clock,
            raw: sim.raw,
        }
    }
}

impl From<v1::SimSpec> for SimSpec {
    fn from(sim: v1::SimSpec) -> Self {
        Self {
            size: sim.size,
            hit_area: sim.hit_area,
            hit_ns: sim.hit_ns,
            miss_ns: sim.miss_ns,
            jitter_ns: sim.jitter_ns,
            error_rate: sim.error_rate,
            freeze: sim.freeze.map(|freeze| (freeze.every_ns, freeze.for_ns)),
            virtual_clock: sim.virtual_clock,
            raw: sim.raw,
        }
    }
}

impl From<Generator> for v1::Generator {
    fn from(generator: Generator) -> Self {
        Self {
            workload: generator.workload,
            target: generator.target,
            stream: generator.stream,
            rate: generator.rate,
            priority: generator.priority,
            read_pct: generator.read_pct,
            read_hit_pct: generator.read_hit_pct,
            write_hit_pct: generator.write_hit_pct,
            xfer: Some(generator.xfer.into()),
            seek: Some(generator.seek.into()),
            miss: Some(generator.miss.into()),
            hit: generator.hit.map(Into::into),
            align: generator.align,
            stride: generator.stride.map(|(min, max)| v1::Stride { min, max }),
            hotband: generator.hotband.map(Into::into),
            streams: each(generator.streams),
        }
    }
}

impl TryFrom<v1::Generator> for Generator {
    type Error = WireError;

    fn try_from(generator: v1::Generator) -> Result<Self, WireError> {
        const M: &str = "Generator";
        Ok(Self {
            workload: generator.workload,
            target: generator.target,
            stream: generator.stream,
            rate: generator.rate,
            priority: generator.priority,
            read_pct: generator.read_pct,
            read_hit_pct: generator.read_hit_pct,
            write_hit_pct: generator.write_hit_pct,
            xfer: need(generator.xfer, M, "xfer")?.try_into()?,
            seek: need(generator.seek, M, "seek")?.try_into()?,
            miss: need(generator.miss, M, "miss")?.into(),
            hit: generator.hit.map(Into::into),
            align: generator.align,
            stride: generator.stride.map(|stride| (stride.min, stride.max)),
            hotband: generator.hotband.map(Into::into),
            streams: each(generator.streams),
        })
    }
}

impl From<Xfer> for v1::Xfer {
    fn from(xfer: Xfer) -> Self {
        use v1::xfer::Kind;
        let kind = match xfer {
            Xfer::Fixed(size) => Kind::Fixed(size),
            Xfer::Weighted(sizes) => Kind::Weighted(v1::WeightedSizes {
                sizes: sizes.into_iter().map(|(size, percent)| v1::WeightedSize { size, percent }).collect(),
            }),
            Xfer::Range { min, max, align } => Kind::Range(v1::SizeRange { min, max, align }),
        };
        Self { kind: Some(kind) }
    }
}

impl TryFrom<v1::Xfer> for Xfer {
    type Error = WireError;

    fn try_from(xfer: v1::Xfer) -> Result<Self, WireError> {
        use v1::xfer::Kind;
        Ok(match need(xfer.kind, "Xfer", "kind")? {
            Kind::Fixed(size) => Xfer::Fixed(size),
            Kind::Weighted(weighted) => {
                Xfer::Weighted(weighted.sizes.into_iter().map(|entry| (entry.size, entry.percent)).collect())
            }
            Kind::Range(range) => Xfer::Range { min: range.min, max: range.max, align: range.align },
        })
    }
}

impl From<Seek> for v1::Seek {
    fn from(seek: Seek) -> Self {
        use v1::seek::Kind;
        Self {
            kind: Some(match seek {
                Seek::Percent(percent) => Kind::Percent(percent),
                Seek::Eof => Kind::Eof(v1::Nothing {}),
                Seek::Poisson { mid } => Kind::PoissonMid(mid),
            }),
        }
    }
}

impl TryFrom<v1::Seek> for Seek {
    type Error = WireError;

    fn try_from(seek: v1::Seek) -> Result<Self, WireError> {
        use v1::seek::Kind;
        Ok(match need(seek.kind, "Seek", "kind")? {
            Kind::Percent(percent) => Seek::Percent(percent),
            Kind::Eof(_) => Seek::Eof,
            Kind::PoissonMid(mid) => Seek::Poisson { mid },
        })
    }
}

impl From<Area> for v1::Area {
    fn from(area: Area) -> Self {
        let wrap = area.wrap.map(|wrap| v1::Wrap { at: wrap.at, to: wrap.to });
        Self { low: area.low, high: area.high, wrap }
    }
}

impl From<v1::Area> for Area {
    fn from(area: v1::Area) -> Self {
        let wrap = area.wrap.map(|wrap| Wrap { at: wrap.at, to: wrap.to });
        Self { low: area.low, high: area.high, wrap }
    }
}
