//! What shares need, counted by hand.
#![allow(clippy::unwrap_used)]

use brunt_plan::work::{Area, Arrivals, Conduct, Seek, SimSpec, Xfer};

use super::*;

pub fn target(backend: Backend, threads: u32) -> Target {
    Target {
        sd: 0,
        name: "sd1".into(),
        lun: "/dev/sdz".into(),
        size: 1 << 30,
        threads,
        flags: Vec::new(),
        write: true,
        create: false,
        raw: true,
        sim: None,
        backend,
        polled: false,
        sight: None,
    }
}

fn generator(target: u32, read_pct: f64, xfer: u64) -> Generator {
    Generator {
        workload: 0,
        target,
        stream: 1,
        rate: 0.0,
        priority: None,
        read_pct,
        read_hit_pct: 0.0,
        write_hit_pct: 0.0,
        xfer: Xfer::Fixed(xfer),
        seek: Seek::Percent(100.0),
        miss: Area { low: 1 << 20, high: 1 << 30, wrap: None },
        hit: None,
        align: None,
        stride: None,
        hotband: None,
        streams: Vec::new(),
    }
}

/// One generator for each target.
pub fn share(worker: &str, targets: Vec<Target>, read_pct: f64, xfer: u64) -> WorkerShare {
    let generators = (0..targets.len()).map(|n| generator(n as u32, read_pct, xfer)).collect();
    WorkerShare {
        worker: worker.into(),
        run: "rd1".into(),
        run_id: 0,
        interval_ns: 1_000_000_000,
        intervals: Some(1),
        warmup_intervals: 1,
        seed: 1,
        lockstep: false,
        control: Control::Uncontrolled,
        arrivals: Arrivals::Exponential,
        conduct: Conduct::default(),
        targets,
        generators,
    }
}

#[test]
fn blocking_lanes_need_threads_and_asynchronous_ones_do_not() {
    let all = of(&share("a-0", vec![target(Backend::Sync, 32)], 100.0, 8192), 4);
    assert_eq!((all.luns, all.files, all.lanes, all.threads), (1, 32, 32, 40));
    assert_eq!((all.aio_events, all.locked, all.buffers), (0, 0, 32 * 8192));
    let all = of(&share("a-0", vec![target(Backend::Aio, 32), target(Backend::Aio, 7)], 100.0, 8192), 4);
    assert_eq!((all.luns, all.files, all.threads, all.aio_events, all.locked), (2, 33, 10, 39, 0));
    let all = of(&share("a-0", vec![target(Backend::Uring, 32); 9], 70.0, 8192), 4);
    assert_eq!((all.luns, all.files, all.threads, all.aio_events), (9, 31 + 9 + 4 * 2, 12, 0));
    assert_eq!(all.locked, 9 * 32 * 2 * 8192, "a lane has a buffer to read and one to write");
}

#[test]
fn memory_is_buffers_histograms_and_stacks() {
    let lanes = |backend, paced| {
        let mut share = share("a-0", vec![target(backend, 1000)], 100.0, 100);
        if paced {
            share.control = Control::Paced;
        }
        of(&share, 2)
    };
    let all = lanes(Backend::Sync, false);
    assert_eq!(all.buffers, 1000 * 4096, "whole pages");
    assert_eq!(all.memory, 1000 * (4096 + 2 * HISTOGRAM_TOUCHED + LANE + STACK_TOUCHED));
    assert_eq!(all.space, 1000 * (4096 + 2 * HISTOGRAM + LANE + STACK));
    assert_eq!(all.mappings, 2000);
    let all = lanes(Backend::Uring, true);
    assert_eq!(all.memory, 1000 * (4096 + LANE) + 2 * 4 * HISTOGRAM_TOUCHED, "one thread records for all");
}

#[test]
fn a_simulated_device_is_no_file_and_on_the_virtual_clock_has_no_buffers() {
    let sim = SimSpec {
        size: 1 << 20,
        hit_area: 0,
        hit_ns: 1,
        miss_ns: 1,
        jitter_ns: 0,
        error_rate: 0.0,
        freeze: None,
        virtual_clock: true,
        raw: false,
    };
    let simulated = Target { sim: Some(sim), ..target(Backend::Sim, 4) };
    let all = of(&share("a-0", vec![simulated], 100.0, 8192), 4);
    assert_eq!((all.luns, all.files, all.buffers, all.mappings), (0, 31, 0, 0));
    let all = of(&share("a-0", vec![target(Backend::Null, 4)], 100.0, 8192), 4);
    assert_eq!((all.luns, all.buffers), (0, 4 * 8192));
}

#[test]
fn the_largest_numbers_overflow_nothing() {
    let all = of(&share("a-0", vec![target(Backend::Sync, u32::MAX); 3], 50.0, u64::MAX), 1);
    assert_eq!((all.lanes, all.buffers, all.memory), (3 * u64::from(u32::MAX), u64::MAX, u64::MAX));
    assert_eq!(all.and(all).memory, u64::MAX);
}
