//! Shares for tests.
#![allow(dead_code)]

use brunt_plan::work::{
    Area, Arrivals, Backend, Conduct, Control, Generator, OpenFlag, Seek, SimSpec, Target, WorkerShare, Xfer,
};

pub const K: u64 = 1024;
pub const M: u64 = 1024 * K;
pub const SECOND: u64 = 1_000_000_000;

pub fn area(low: u64, high: u64) -> Area {
    Area { low, high, wrap: None }
}

/// Hits at 39 µs in the first mebibyte, misses at 200 µs.
pub fn spec() -> SimSpec {
    SimSpec {
        size: 100 * M,
        hit_area: M,
        hit_ns: 39_000,
        miss_ns: 200_000,
        jitter_ns: 0,
        error_rate: 0.0,
        freeze: None,
        virtual_clock: true,
        raw: false,
    }
}

pub fn sim(sd: u32, threads: u32, spec: SimSpec) -> Target {
    let mut target = file(sd, threads, "sim:a", spec.size);
    target.sim = Some(spec);
    target.backend = Backend::Sim;
    target
}

pub fn file(sd: u32, threads: u32, lun: &str, size: u64) -> Target {
    Target {
        sd,
        name: format!("sd{}", sd + 1),
        lun: lun.into(),
        size,
        threads,
        flags: Vec::new(),
        write: false,
        create: false,
        raw: false,
        sim: None,
        backend: Backend::Sync,
        polled: false,
        sight: None,
    }
}

pub fn direct(mut target: Target) -> Target {
    target.flags = vec![OpenFlag::Direct];
    target
}

/// 4 KiB random reads in the first mebibyte.
pub fn generator(target: u32) -> Generator {
    Generator {
        workload: 0,
        target,
        stream: u64::from(target) + 1,
        rate: 0.0,
        priority: None,
        read_pct: 100.0,
        read_hit_pct: 0.0,
        write_hit_pct: 0.0,
        xfer: Xfer::Fixed(4 * K),
        seek: Seek::Percent(100.0),
        miss: area(0, M),
        hit: None,
        align: None,
        stride: None,
        hotband: None,
        streams: Vec::new(),
    }
}

/// Half of the reads hit, as on the device of [`spec`].
pub fn half_hits(target: u32) -> Generator {
    Generator { read_hit_pct: 50.0, hit: Some(area(0, M)), miss: area(M, 100 * M), ..generator(target) }
}

pub fn share(intervals: Option<u32>, targets: Vec<Target>, generators: Vec<Generator>) -> WorkerShare {
    WorkerShare {
        worker: "localhost-0".into(),
        run: "rd1".into(),
        run_id: 0,
        interval_ns: SECOND,
        intervals,
        lockstep: false,
        warmup_intervals: 1,
        conduct: Conduct::default(),
        seed: 42,
        control: Control::Uncontrolled,
        arrivals: Arrivals::Exponential,
        targets,
        generators,
    }
}

pub fn paced(mut share: WorkerShare, arrivals: Arrivals) -> WorkerShare {
    (share.control, share.arrivals) = (Control::Paced, arrivals);
    share
}
