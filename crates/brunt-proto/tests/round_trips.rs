//! Every domain type survives the wire; what lacks something is refused by name.
#![allow(clippy::unwrap_used)]

use brunt_plan::work::{
    Area, Arrivals, Backend, CommandCounts, Conduct, Control, DeviceCounts, Generator, IoErrorKind, IoFailure,
    LunFacts, LunKind, LunQuery, Node, OpenFlag, SdTotals, Seek, Sight, SimSpec, Stamps, Target, Wait, WorkerEvent,
    WorkerShare, Wrap, Xfer,
};
use brunt_proto::{Report, WireError, v1};
use brunt_stats::histogram::BUCKETS;
use brunt_stats::{
    Cell, CpuTicks, IntervalSample, OpStats, OpTimes, OwnError, PairSample, PairTimes, SparseHistogram, Spread, Times,
    Timing,
};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use prost::Message;

/// Through the bytes of the wire.
fn wire<M: Message + Default>(message: M) -> M {
    M::decode(message.encode_to_vec().as_slice()).unwrap()
}

fn area() -> impl Strategy<Value = Area> {
    let wrap = (any::<u64>(), any::<u64>()).prop_map(|(at, to)| Wrap { at, to });
    (any::<u64>(), any::<u64>(), option::of(wrap)).prop_map(|(low, high, wrap)| Area { low, high, wrap })
}

fn xfer() -> impl Strategy<Value = Xfer> {
    prop_oneof![
        any::<u64>().prop_map(Xfer::Fixed),
        vec((any::<u64>(), 0.0..100.0), 0..5).prop_map(Xfer::Weighted),
        (any::<u64>(), any::<u64>(), any::<u64>()).prop_map(|(min, max, align)| Xfer::Range { min, max, align }),
    ]
}

fn seek() -> impl Strategy<Value = Seek> {
    prop_oneof![
        (0.0..=100.0).prop_map(Seek::Percent),
        Just(Seek::Eof),
        (0.0..10.0).prop_map(|mid| Seek::Poisson { mid }),
    ]
}

prop_compose! {
    fn spread()(n in any::<u64>(), times in any::<[f64; 4]>()) -> Spread {
        let [min_ns, p50_ns, p99_ns, max_ns] = times;
        Spread { n, min_ns, p50_ns, p99_ns, max_ns }
    }
}

prop_compose! {
    fn own_error()(
        clocksource in option::of(".*"), spreads in vec(option::of(spread()), 6), step_ns in any::<u64>(),
    ) -> OwnError {
        let [clock, empty_response, empty_io, wake, timer, record] = spreads[..] else { unreachable!() };
        OwnError { clocksource, clock, empty_response, empty_io, wake, timer, record, step_ns }
    }
}

fn backend() -> impl Strategy<Value = Backend> {
    prop_oneof![Just(Backend::Sync), Just(Backend::Aio), Just(Backend::Uring), Just(Backend::Sim), Just(Backend::Null)]
}

prop_compose! {
    fn conduct()(
        wait in prop_oneof![Just(Wait::Auto), Just(Wait::Sleep), Just(Wait::Hybrid), Just(Wait::Spin)],
        stamps in prop_oneof![Just(Stamps::Each), Just(Stamps::Batch)], cpu_latency_us in option::of(any::<u32>()),
    ) -> Conduct {
        Conduct { wait, stamps, cpu_latency_us }
    }
}

fn flag() -> impl Strategy<Value = OpenFlag> {
    prop_oneof![
        Just(OpenFlag::Direct),
        Just(OpenFlag::Sync),
        Just(OpenFlag::Fsync),
        any::<i32>().prop_map(OpenFlag::Raw),
    ]
}

prop_compose! {
    fn sim()(a in any::<[u64; 5]>(), error_rate in 0.0..1.0, freeze in option::of(any::<(u64, u64)>()), b in any::<[bool; 2]>())
        -> SimSpec {
        SimSpec {
            size: a[0], hit_area: a[1], hit_ns: a[2], miss_ns: a[3], jitter_ns: a[4],
            error_rate, freeze, virtual_clock: b[0], raw: b[1],
        }
    }
}

fn node() -> impl Strategy<Value = Node> {
    prop_oneof![
        any::<(u64, u64)>().prop_map(|(device, inode)| Node::File(device, inode)),
        any::<u64>().prop_map(Node::Block),
        any::<u64>().prop_map(Node::Character),
    ]
}

prop_compose! {
    fn sight()(kind in kind(), identity in option::of(".{0,8}"), size in any::<u64>(), b in any::<[bool; 2]>(),
               node in option::of(node())) -> Sight {
        Sight { kind, identity, size, allow_in_use: b[0], overwrite: b[1], node }
    }
}

prop_compose! {
    fn target()(sd in any::<u32>(), name in ".{0,8}", lun in ".{0,20}", size in any::<u64>(), threads in any::<u32>(),
                flags in vec(flag(), 0..4), b in any::<[bool; 4]>(), sim in option::of(sim()), backend in backend(),
                sight in option::of(sight())) -> Target {
        Target { sd, name, lun, size, threads, flags, write: b[0], create: b[1], raw: b[2], sim, backend, polled: b[3], sight }
    }
}

prop_compose! {
    fn generator(targets: u32)(
        n in (any::<u32>(), 0..targets, any::<u64>()), rate in 0.0..1e9, priority in option::of(any::<u32>()),
        pct in any::<[u8; 3]>(), kind in (xfer(), seek()), areas in (area(), option::of(area()), option::of(area())),
        align in option::of(any::<u64>()), stride in option::of(any::<(u64, u64)>()), streams in vec(area(), 0..4),
    ) -> Generator {
        Generator {
            workload: n.0, target: n.1, stream: n.2, rate, priority,
            read_pct: pct[0].into(), read_hit_pct: pct[1].into(), write_hit_pct: pct[2].into(),
            xfer: kind.0, seek: kind.1, miss: areas.0, hit: areas.1, align, stride, hotband: areas.2, streams,
        }
    }
}

fn control() -> impl Strategy<Value = Control> {
    prop_oneof![
        Just(Control::Uncontrolled),
        Just(Control::Paced),
        (vec((0.0..1e6, any::<u32>()), 0..4), any::<bool>())
            .prop_map(|(steps, spike)| Control::Stepped { steps, spike }),
    ]
}

fn arrivals() -> impl Strategy<Value = Arrivals> {
    prop_oneof![Just(Arrivals::Exponential), Just(Arrivals::Uniform), Just(Arrivals::Deterministic)]
}

prop_compose! {
    fn share()(
        names in (".{0,10}", ".{0,10}"), run_id in any::<u32>(), interval_ns in 1..u64::MAX,
        intervals in option::of(any::<u32>()), seed in any::<u64>(), control in control(), arrivals in arrivals(),
        targets in vec(target(), 1..4), generators in vec(generator(1), 0..5),
        lockstep in any::<bool>(), warmup_intervals in any::<u32>(), conduct in conduct(),
    ) -> WorkerShare {
        WorkerShare {
            worker: names.0, run: names.1, run_id, interval_ns, intervals, seed, lockstep, control, arrivals, targets,
            generators, warmup_intervals, conduct,
        }
    }
}

fn histogram() -> impl Strategy<Value = SparseHistogram> {
    (btree_map(0..BUCKETS as u16, 1..u64::MAX, 0..20), any::<u64>())
        .prop_map(|(buckets, over)| SparseHistogram { buckets: buckets.into_iter().collect(), over })
}

fn stats() -> impl Strategy<Value = OpStats> {
    (any::<[u64; 6]>(), any::<u128>()).prop_map(|(n, sum_sq_ns)| OpStats {
        ops: n[0],
        bytes: n[1],
        errors: n[2],
        sum_ns: n[3],
        sum_sq_ns,
        min_ns: n[4],
        max_ns: n[5],
    })
}

prop_compose! {
    fn pair()(workload in any::<u32>(), sd in any::<u32>(), read in stats(), write in stats(), busy_ns in any::<u64>()) -> PairSample {
        PairSample { workload, sd, cell: Cell { read, write, busy_ns } }
    }
}

fn timing() -> impl Strategy<Value = Timing> {
    (any::<[u64; 3]>(), histogram()).prop_map(|(n, hist)| match hist.is_empty() {
        true => Timing::default(),
        false => Timing { sum_ns: n[0], min_ns: n[1], max_ns: n[2], hist },
    })
}

fn op_times() -> impl Strategy<Value = OpTimes> {
    [timing(), timing(), timing(), timing()].prop_map(|[service, due, queue, lateness]| {
        let times = OpTimes { service, due, queue, lateness };
        if times.is_empty() { OpTimes::default() } else { times }
    })
}

prop_compose! {
    fn times()(read in op_times(), write in op_times()) -> Times {
        Times { read, write }
    }
}

prop_compose! {
    fn pair_times()(workload in any::<u32>(), sd in any::<u32>(), times in times()) -> PairTimes {
        PairTimes { workload, sd, times }
    }
}

fn cpu() -> impl Strategy<Value = CpuTicks> {
    any::<[u64; 6]>().prop_map(|n| CpuTicks {
        user: n[0],
        nice: n[1],
        system: n[2],
        idle: n[3],
        iowait: n[4],
        steal: n[5],
    })
}

prop_compose! {
    fn sample()(interval in 1..u32::MAX, start_ns in any::<u64>(), end_ns in any::<u64>(), pairs in vec(pair(), 0..4),
                cpu in option::of(cpu()), io_cpu in option::of(cpu()), idle in any::<bool>(), times in times(),
                pair_times in vec(pair_times(), 0..3)) -> IntervalSample {
        IntervalSample { interval, start_ns, end_ns, pairs, times, pair_times, cpu, io_cpu, idle }
    }
}

prop_compose! {
    fn failure()(sd in any::<u32>(), lun in ".{0,20}", read in any::<bool>(), lba in any::<u64>(), xfer in any::<u64>(),
                 error in prop_oneof![any::<i32>().prop_map(IoErrorKind::Errno),
                                      any::<u64>().prop_map(|got| IoErrorKind::Short { got })],
                 at_ms in any::<i64>()) -> IoFailure {
        IoFailure { sd, lun, read, lba, xfer, error, at_ms }
    }
}

fn event() -> impl Strategy<Value = WorkerEvent> {
    prop_oneof![
        sample().prop_map(|s| WorkerEvent::Interval(Box::new(s))),
        failure().prop_map(WorkerEvent::Failure),
        Just(WorkerEvent::SequentialDone),
        ".{0,30}".prop_map(WorkerEvent::Log),
        ".{0,30}".prop_map(WorkerEvent::Warning),
        ".{0,30}".prop_map(WorkerEvent::Fatal),
        (any::<(u64, u64)>(), option::of(".{0,20}")).prop_map(|((count, oldest_ns), lun)| WorkerEvent::Outstanding {
            count,
            oldest_ns,
            lun
        }),
        vec(any::<[u64; 4]>(), 0..4).prop_map(|sds| {
            let totals = |(sd, n): (u32, [u64; 4])| SdTotals {
                sd,
                reads: n[0],
                read_bytes: n[1],
                writes: n[2],
                write_bytes: n[3],
            };
            WorkerEvent::Totals((0..).zip(sds).map(totals).collect())
        }),
        Just(WorkerEvent::Drained),
    ]
}

prop_compose! {
    fn device()(name in ".{0,8}", sds in vec(any::<u32>(), 0..3), b in any::<[bool; 2]>(),
                limits in any::<[Option<u32>; 2]>(), n in any::<[u64; 6]>()) -> DeviceCounts {
        let [max_sectors_kb, max_segments] = limits;
        DeviceCounts {
            name, sds, direct: b[0], counting: b[1], max_sectors_kb, max_segments,
            read: CommandCounts { commands: n[0], merges: n[1], sectors: n[2] },
            write: CommandCounts { commands: n[3], merges: n[4], sectors: n[5] },
        }
    }
}

fn kind() -> impl Strategy<Value = LunKind> {
    prop_oneof![
        Just(LunKind::Missing),
        Just(LunKind::File),
        Just(LunKind::Block),
        Just(LunKind::Character),
        Just(LunKind::Directory),
        Just(LunKind::Other),
    ]
}

prop_compose! {
    fn facts()(sd in any::<u32>(), kind in kind(), size in any::<u64>(), b in any::<[bool; 3]>(),
               identity in option::of(".{0,20}"), block_size in option::of(any::<u32>()),
               timeout_s in option::of(any::<u32>()), refusals in vec(".{0,20}", 0..3), warnings in vec(".{0,20}", 0..3),
               probed in (option::of(any::<bool>()), option::of(any::<bool>()), option::of(any::<u32>())),
               told in (option::of(".{0,20}"), option::of(".{0,20}"))) -> LunFacts {
        LunFacts {
            sd, kind, size, readable: b[0], writable: b[1], identity, block_size, timeout_s, nowait: probed.0,
            allocated: probed.1, tags: probed.2, io_poll: b[2], refusals, warnings, path: told.0, trouble: told.1,
        }
    }
}

prop_compose! {
    fn query()(sd in any::<u32>(), name in ".{0,8}", lun in ".{0,20}", b in any::<[bool; 3]>()) -> LunQuery {
        LunQuery { sd, name, lun, will_write: b[0], allow_in_use: b[1], overwrite: b[2] }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn shares(share in share()) {
        let back: WorkerShare = wire(v1::WorkerShare::from(share.clone())).try_into().unwrap();
        prop_assert_eq!(back, share);
    }

    #[test]
    fn events(event in event(), worker in any::<u32>()) {
        let message = v1::WorkerMessage { worker, seq: 1, run_id: Some(4), event: Some(event.clone().into()) };
        let back: (u32, Report) = wire(message).try_into().unwrap();
        prop_assert_eq!(back, (worker, Report::Event(event)));
    }

    #[test]
    fn devices(devices in vec(device(), 0..3)) {
        let list = v1::Devices { devices: devices.iter().cloned().map(Into::into).collect() };
        let message = v1::WorkerMessage { worker: 0, seq: 0, run_id: None, event: Some(v1::worker_message::Event::Devices(list)) };
        let back: (u32, Report) = wire(message).try_into().unwrap();
        prop_assert_eq!(back, (0, Report::Devices(devices)));
    }

    #[test]
    fn lun_facts(facts in facts()) {
        let back: LunFacts = wire(v1::LunFacts::from(facts.clone())).try_into().unwrap();
        prop_assert_eq!(back, facts);
    }

    #[test]
    fn own_errors(error in own_error()) {
        let back: OwnError = wire(v1::OwnError::from(error.clone())).into();
        prop_assert_eq!(back, error);
    }

    #[test]
    fn lun_queries(query in query()) {
        let back: LunQuery = wire(v1::LunQuery::from(query.clone())).into();
        prop_assert_eq!(back, query);
    }
}

#[test]
fn a_missing_field_is_named() {
    let error = WorkerShare::try_from(v1::WorkerShare { interval_ns: 1, arrivals: 1, ..Default::default() });
    assert_eq!(error.unwrap_err().to_string(), "message WorkerShare has no field `control`");
    let error = Generator::try_from(v1::Generator::default()).unwrap_err();
    assert_eq!(error, WireError::Missing { message: "Generator", field: "xfer" });
    let error = LunFacts::try_from(v1::LunFacts { kind: 99, ..Default::default() }).unwrap_err();
    assert_eq!(error.to_string(), "field `kind` of message LunFacts has the unknown value 99");
}

#[test]
fn a_generator_without_its_target_is_refused() {
    let share = v1::WorkerShare {
        interval_ns: 1,
        arrivals: 1,
        generators: vec![v1::Generator {
            target: 2,
            xfer: Some(Xfer::Fixed(1).into()),
            seek: Some(Seek::Eof.into()),
            miss: Some(v1::Area::default()),
            ..Default::default()
        }],
        ..Default::default()
    };
    let error = WorkerShare::try_from(share).unwrap_err();
    assert_eq!(error.to_string(), "field `target` of message Generator is wrong: there is no such target");
}
