//! Whatever a file says: no panic, and nobody leaves his lun.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use brunt_parm::ast::{IoRate, LoopKind, ParmFile, SeekPct, Wd, XferSize};
use proptest::prelude::*;

use crate::options::Options;
use crate::testing::*;
use crate::work::{Area, LunKind};

/// Numbers as people write them, and some that nobody should.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        60 => 0.0f64..100.0,
        20 => (0u32..=100).prop_map(f64::from),
        5 => 0.0f64..250.0,
        10 => (1u64..1 << 24).prop_map(|n| n as f64),
        1 => Just(-1.0),
        1 => Just(1e30),
        1 => Just(f64::NAN),
    ]
}

/// Bytes up to about a limit, mostly multiples of 512.
fn bytes(limit: u64) -> impl Strategy<Value = u64> {
    prop_oneof![
        60 => (limit / 1024..limit / 512).prop_map(|n| n * 512),
        10 => (1..limit / 512).prop_map(|n| n * 512),
        5 => 0..limit,
        1 => Just(u64::MAX),
        1 => Just(1 << 50),
    ]
}

/// Bytes of an SD.
const LARGE: u64 = 1 << 30;
/// Bytes of a transfer.
const SMALL: u64 = 1 << 16;

/// Two numbers, mostly rising.
fn range() -> impl Strategy<Value = (f64, f64)> {
    prop_oneof![
        1 => (number(), number()),
        9 => (0.0f64..90.0, 0.1f64..90.0).prop_map(|(low, width)| (low, low + width)),
    ]
}

fn seek() -> impl Strategy<Value = SeekPct> {
    prop_oneof![
        number().prop_map(SeekPct::Percent),
        Just(SeekPct::Percent(0.0)),
        Just(SeekPct::Eof),
        Just(SeekPct::Poisson { mid: 3.0 }),
    ]
}

fn xfer() -> impl Strategy<Value = XferSize> {
    prop_oneof![
        bytes(SMALL).prop_map(XferSize::Fixed),
        prop::collection::vec((bytes(SMALL), 1.0f64..100.0), 1..3).prop_map(XferSize::Weighted),
        (bytes(SMALL), bytes(SMALL)).prop_map(|(min, max)| XferSize::Range { min, max, align: 512 }),
    ]
}

prop_compose! {
    fn workload()(
        xfersize in prop::option::of(xfer()),
        seekpct in prop::option::of(seek()),
        rdpct in prop::option::of(number()),
        rhpct in prop::option::of(number()),
        range in prop::option::of(range()),
        hotband in prop::option::weighted(0.1, range()),
        streams in prop::option::weighted(0.1, 2u64..9),
    ) -> Wd {
        Wd {
            xfersize: xfersize.and_then(some),
            seekpct: seekpct.and_then(some),
            rdpct: rdpct.and_then(some),
            rhpct: rhpct.and_then(some),
            range: range.and_then(some),
            hotband: hotband.and_then(some),
            streams: streams.and_then(some),
            ..Wd::default()
        }
    }
}

prop_compose! {
    fn anything()(
        sds in prop::collection::vec((bytes(LARGE), bytes(LARGE / 64), -2i64..40, any::<bool>()), 1..4),
        wds in prop::collection::vec(workload(), 1..3),
        loops in prop::collection::vec((0usize..4, 1u32..200), 0..3),
        jvms in prop::collection::vec(1u32..4, 0..3),
        rate in prop_oneof![Just(IoRate::Max), Just(IoRate::Curve), number().prop_map(IoRate::Fixed)],
    ) -> ParmFile {
        let kinds = [LoopKind::Xfersize, LoopKind::Threads, LoopKind::Hitarea, LoopKind::Seekpct];
        let sds = sds.into_iter().enumerate().map(|(n, (size, hitarea, threads, direct))| {
            let mut sd = sized(&format!("sd{n}"), size);
            (sd.hitarea, sd.threads, sd.offset) = (some(hitarea), some(threads), some(512));
            sd.openflags = words(&["o_direct"]).filter(|_| direct);
            sd
        });
        let wds = wds.into_iter().enumerate().map(|(n, wd)| Wd { name: some(format!("wd{n}")), sds: names(&["*"]), ..wd });
        let mut run = rd("rd1", &["*"], rate);
        run.loops = loops.into_iter().map(|(kind, value)| looping(kinds[kind], &[f64::from(value) * [512.0, 1.0, 4096.0, 0.5][kind]])).collect();
        let mut parms = file(sds.collect(), wds.collect(), vec![run]);
        parms.hosts = jvms.into_iter().enumerate().map(|(n, jvms)| hd(&format!("h{n}"), jvms)).collect();
        parms
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_file_breaks_the_plan(
        parms in anything(),
        kind in prop_oneof![Just(LunKind::File), Just(LunKind::Missing), Just(LunKind::Block)],
        size in bytes(LARGE),
    ) {
        let Some(plan) = crate::expand(&parms, &Options::default(), &mut Vec::new()) else { return Ok(()) };
        let size = if kind == LunKind::Missing { 0 } else { size };
        let facts = answers(&plan, |_, query| facts(query, kind, size));
        let Ok(resolved) = plan.resolve(&facts, &[]) else { return Ok(()) };
        for run in 0..resolved.plan.runs.len() {
            let deal = resolved.deal(run, run as u32, 1000.0, None);
            let deal = deal.unwrap_or_else(|problems| panic!("found too late: {problems:?}"));
            for share in deal.shares.iter().flatten().flatten() {
                for generator in &share.generators {
                    let target = &share.targets[generator.target as usize];
                    prop_assert!(target.threads > 0);
                    let inside = |area: &Area| {
                        area.low < area.high && area.wrap.map_or(area.high <= target.size, |wrap| wrap.at <= target.size)
                    };
                    prop_assert!(inside(&generator.miss), "{:?}", generator);
                    prop_assert!(generator.hit.iter().all(inside), "{:?}", generator);
                    prop_assert!(generator.streams.iter().all(inside), "{:?}", generator);
                }
            }
        }
    }
}
