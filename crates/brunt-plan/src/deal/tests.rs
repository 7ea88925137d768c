//! Worked tables of `docs/vdbench/raw.md` §8.11 and §8.12, and what goes to each worker.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use brunt_parm::ast::{IoRate, LoopKind, ParmFile, SeekPct, Wd, XferSize};
use proptest::prelude::*;

use super::*;
use crate::testing::*;
use crate::work::{Area, LunKind, OpenFlag, Xfer};

const RANDOM: SeekPct = SeekPct::Percent(100.0);
const SEQUENTIAL: SeekPct = SeekPct::Percent(0.0);

/// SDs with these threads, one workload over all of them, on hosts with these workers.
fn threads_file(hosts: &[(&str, u32)], threads: &[i64], wds: Vec<Wd>) -> ParmFile {
    let sds = threads.iter().enumerate().map(|(n, t)| threaded(&format!("sd{}", n + 1), *t)).collect();
    let mut parms = file(sds, wds, vec![rd("rd1", &["wd*"], IoRate::Max)]);
    parms.hosts = hosts.iter().map(|(name, jvms)| hd(name, *jvms)).collect();
    parms
}

/// Each worker as `label: sd=threads …`; idle ones are left out.
fn table(deal: &Deal) -> Vec<String> {
    let line = |share: &WorkerShare| {
        let mut parts: Vec<(u32, String)> =
            share.targets.iter().map(|t| (t.sd, format!("{}={}", t.name, t.threads))).collect();
        parts.sort();
        let parts: Vec<String> = parts.into_iter().map(|(_, text)| text).collect();
        format!("{}: {}", share.worker, parts.join(" "))
    };
    deal.shares.iter().flatten().flatten().map(line).collect()
}

fn dealt(parms: &ParmFile) -> Deal {
    resolved(parms).deal(0, 0, 1000.0, None).unwrap()
}

fn threads_table(hosts: &[(&str, u32)], threads: &[i64]) -> Vec<String> {
    table(&dealt(&threads_file(hosts, threads, vec![wd("wd1", &["*"])])))
}

#[test]
fn threads_over_workers_of_one_host() {
    assert_eq!(threads_table(&[("s", 2)], &[3, 3]), ["s-0: sd1=2 sd2=1", "s-1: sd1=1 sd2=2"]);
    assert_eq!(threads_table(&[("s", 2)], &[1, 1]), ["s-0: sd1=1", "s-1: sd2=1"]);
    assert_eq!(threads_table(&[("s", 3)], &[4, 4]), ["s-0: sd1=2 sd2=1", "s-1: sd1=1 sd2=2", "s-2: sd1=1 sd2=1"]);
    assert_eq!(
        threads_table(&[("s", 3)], &[2, 2, 2, 2]),
        ["s-0: sd1=1 sd2=1 sd4=1", "s-1: sd1=1 sd3=1 sd4=1", "s-2: sd2=1 sd3=1"]
    );
    assert_eq!(threads_table(&[("s", 2)], &[1, 1, 1, 3]), ["s-0: sd1=1 sd3=1 sd4=1", "s-1: sd2=1 sd4=2"]);
    assert_eq!(threads_table(&[("s", 3)], &[2]), ["s-0: sd1=1", "s-1: sd1=1"]);
}

#[test]
fn threads_over_hosts() {
    assert_eq!(threads_table(&[("a", 1), ("b", 1)], &[3, 3]), ["a-0: sd1=2 sd2=1", "b-0: sd1=1 sd2=2"]);
    assert_eq!(threads_table(&[("a", 1), ("b", 1)], &[1, 1]), ["a-0: sd1=1", "b-0: sd2=1"]);
    let mut parms = threads_file(&[("a", 2), ("b", 2)], &[5, 1], vec![wd("wd1", &["*"])]);
    parms.sds[1].hosts = vec![words(&["b"]).unwrap()];
    assert_eq!(table(&dealt(&parms)), ["a-0: sd1=2", "a-1: sd1=1", "b-0: sd1=1 sd2=1", "b-1: sd1=1"]);
}

#[test]
fn threads_of_a_skewed_run() {
    let skewed_table = |jvms: u32, threads: &[i64]| {
        let wds = vec![skewed("wd1", &["sd1"], 30.0), skewed("wd2", &["sd2"], 70.0)];
        table(&dealt(&threads_file(&[("s", jvms)], threads, wds)))
    };
    assert_eq!(skewed_table(2, &[1, 1]), ["s-0: sd1=1 sd2=1"]);
    assert_eq!(skewed_table(3, &[2, 2]), ["s-0: sd1=1 sd2=1", "s-1: sd1=1 sd2=1"]);
    assert_eq!(skewed_table(3, &[1, 2]), ["s-0: sd1=1 sd2=1", "s-1: sd2=1"]);
    assert_eq!(skewed_table(2, &[1, 3]), ["s-0: sd1=1 sd2=1", "s-1: sd2=2"]);
    assert_eq!(skewed_table(2, &[3, 3]), ["s-0: sd1=2 sd2=1", "s-1: sd1=1 sd2=2"]);
}

#[test]
fn the_threads_of_a_loop_count_per_sd() {
    let mut parms = threads_file(&[("s", 2)], &[1, 1], vec![wd("wd1", &["*"])]);
    parms.rds[0].loops = vec![looping(LoopKind::Threads, &[3.0])];
    assert_eq!(table(&dealt(&parms)), ["s-0: sd1=2 sd2=1", "s-1: sd1=1 sd2=2"]);
}

#[test]
fn one_sequential_stream_is_one_worker_and_streams_go_to_all_hosts() {
    let wds = vec![moving("wd1", &["*"], 65_536, SEQUENTIAL)];
    let parms = threads_file(&[("a", 2), ("b", 1)], &[8, 8, 8], wds);
    assert_eq!(table(&dealt(&parms)), ["a-0: sd1=8", "a-1: sd3=8", "b-0: sd2=8"]);
}

#[test]
fn sequential_is_judged_by_the_run() {
    let with_seek = |seek: SeekPct, of_run: f64| {
        let mut parms = threads_file(&[("s", 2)], &[4], vec![moving("wd1", &["*"], 65_536, seek)]);
        parms.rds[0].loops = vec![looping(LoopKind::Seekpct, &[of_run])];
        table(&dealt(&parms))
    };
    assert_eq!(with_seek(RANDOM, 0.0), ["s-0: sd1=4"]);
    assert_eq!(with_seek(SEQUENTIAL, 100.0), ["s-0: sd1=2", "s-1: sd1=2"]);
}

#[test]
fn two_sequential_streams_on_one_thread_share_a_worker() {
    let wds = vec![moving("wd1", &["*"], 65_536, SEQUENTIAL), moving("wd2", &["*"], 65_536, SEQUENTIAL)];
    let deal = dealt(&threads_file(&[("s", 2)], &[1], wds));
    assert_eq!(table(&deal), ["s-0: sd1=1"]);
    assert_eq!(deal.shares[0][0].as_ref().unwrap().generators.len(), 2);
}

#[test]
fn a_sequential_stream_moves_to_a_worker_that_has_threads() {
    // wd1 and wd2 put their streams on s-0 and s-1; sd2 has its one thread on one of them, whichever it is.
    let wds = vec![moving("wd1", &["sd1", "sd2"], 65_536, SEQUENTIAL), moving("wd2", &["sd1", "sd2"], 65_536, RANDOM)];
    let deal = dealt(&threads_file(&[("s", 2)], &[1, 1], wds));
    let streams: usize =
        deal.shares[0].iter().flatten().flat_map(|s| &s.generators).filter(|g| g.workload == 0).count();
    assert_eq!(streams, 2);
    for share in deal.shares[0].iter().flatten() {
        assert!(share.targets.iter().all(|t| t.threads > 0));
    }
}

#[test]
fn a_workload_without_a_thread_is_found_before_the_first_run() {
    let mut parms = threads_file(&[("a", 1), ("b", 1)], &[1], vec![wd("wd1", &["*"]), wd("wd2", &["*"])]);
    parms.wds[0].hosts = words(&["a"]);
    parms.wds[1].hosts = words(&["b"]);
    let plan = planned(&parms);
    let facts = answers(&plan, |_, query| facts(query, LunKind::File, 10 << 20));
    let problems = plan.resolve(&facts, &[]).unwrap_err();
    insta::assert_snapshot!(problems[0].text, @"wd=wd2 is not used in rd=rd1: its SDs have fewer threads than there are hosts and workers");
}

/// The rate of each generator as `workload sd rate`.
fn rates(deal: &Deal) -> Vec<String> {
    let line = |share: &WorkerShare, g: &crate::work::Generator| {
        format!("{} {} {}", g.workload, share.targets[g.target as usize].name, g.rate)
    };
    deal.shares.iter().flatten().flatten().flat_map(|s| s.generators.iter().map(move |g| line(s, g))).collect()
}

#[test]
fn a_share_is_divided_equally_over_its_sds() {
    let parms = threads_file(&[], &[1, 2, 3], vec![wd("wd1", &["sd1", "sd2"]), wd("wd2", &["sd3"])]);
    let mut parms = parms;
    parms.rds[0] = rd("rd1", &["wd*"], IoRate::Fixed(400.0));
    let deal = resolved(&parms).deal(0, 0, 400.0, None).unwrap();
    assert_eq!(rates(&deal), ["0 sd1 100", "0 sd2 100", "1 sd3 200"]);
    assert_eq!((deal.requested_rate, deal.uncontrolled), (400.0, false));
    assert_eq!(deal.skews, [Some(50.0), Some(50.0)]);
}

#[test]
fn a_workload_with_its_own_rate_leaves_the_rest() {
    let own = Wd { iorate: some(50.0), priority: some(1), ..wd("wd1", &["sd1"]) };
    let other = Wd { priority: some(2), ..wd("wd2", &["sd1"]) };
    let mut parms = threads_file(&[], &[8], vec![own, other]);
    parms.rds[0] = rd("rd1", &["wd*"], IoRate::Fixed(200.0));
    let deal = resolved(&parms).deal(0, 0, 200.0, None).unwrap();
    assert_eq!(rates(&deal), ["0 sd1 50", "1 sd1 150"]);
    assert_eq!(deal.skews, [None, Some(100.0)]);
    // Nothing left: the second one does no I/O, and that is said.
    let deal = resolved(&parms).deal(0, 0, 50.0, None).unwrap();
    assert_eq!(rates(&deal), ["0 sd1 50"]);
    insta::assert_snapshot!(deal.notices[0].text, @"wd=wd2 does no I/O in rd=rd1: no rate is left for it");
}

#[test]
fn max_is_uncontrolled_unless_somebody_has_a_skew() {
    let free = dealt(&threads_file(&[], &[8], vec![wd("wd1", &["sd1"])]));
    assert!(free.uncontrolled);
    assert_eq!(free.requested_rate, 9_999_988.0);
    let parms = threads_file(&[], &[8], vec![skewed("wd1", &["sd1"], 30.0), skewed("wd2", &["sd1"], 70.0)]);
    let held = dealt(&parms);
    assert!(!held.uncontrolled);
    assert_eq!(held.shares[0][0].as_ref().unwrap().control, Control::Paced);
    assert_eq!(rates(&held), ["0 sd1 2999996.4", "1 sd1 6999991.6"]);
}

#[test]
fn points_of_a_curve_follow_the_observed_mix() {
    let mut parms = threads_file(&[], &[8], vec![wd("wd1", &["sd1"]), wd("wd2", &["sd1"])]);
    parms.rds[0] = rd("rd1", &["wd*"], IoRate::Curve);
    let resolved = resolved(&parms);
    let max = resolved.deal(0, 0, 0.0, None).unwrap();
    assert_eq!((max.requested_rate, max.uncontrolled), (9_999_977.0, true));
    let point = resolved.deal(1, 1, 100.0, Some(&[75.0, 25.0])).unwrap();
    assert_eq!(rates(&point), ["0 sd1 75", "1 sd1 25"]);
    assert_eq!(point.skews, [Some(75.0), Some(25.0)]);
    // The shares of a maximum run are not observed, and a mix of nothing is none.
    assert_eq!(resolved.deal(1, 1, 100.0, Some(&[0.0, 0.0])).unwrap().skews, [Some(50.0), Some(50.0)]);
}

#[test]
fn steps_go_to_the_generators_as_fractions() {
    let mut parms = threads_file(&[], &[8, 8], vec![wd("wd1", &["*"])]);
    parms.rds[0] = rd_steps("rd1", &["wd1"], &[50.0, 2.0, 10.0, 1.0]);
    let deal = resolved(&parms).deal(0, 0, 0.0, None).unwrap();
    let share = deal.shares[0][0].as_ref().unwrap();
    assert_eq!(share.control, Control::Stepped { steps: vec![(50.0, 2), (10.0, 1)], spike: false });
    assert_eq!(rates(&deal), ["0 sd1 0.5", "0 sd2 0.5"]);

    // Percentages are of what the run before achieved, of 10000 when there was none.
    parms.rds[0].bursts.as_mut().unwrap().value[0].value.percent = true;
    let resolved = resolved(&parms);
    let steps = |previous| match &resolved.deal(0, 0, previous, None).unwrap().shares[0][0].as_ref().unwrap().control {
        Control::Stepped { steps, .. } => steps.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(steps(730.0), [(370.0, 2), (10.0, 1)]);
    assert_eq!(steps(0.0), [(5000.0, 2), (10.0, 1)]);
}

#[test]
fn a_share_has_all_that_an_engine_needs() {
    let mut parms = threads_file(&[], &[4], vec![moving("wd1", &["sd1"], 65_536, SeekPct::Eof)]);
    parms.wds[0].rdpct = some(0.0);
    parms.sds[0].openflags = words(&["o_direct"]);
    parms.rds[0].warmup = some(2);
    let deal = dealt(&parms);
    let share = deal.shares[0][0].as_ref().unwrap();
    assert_eq!((share.interval_ns, share.intervals, share.seed), (1_000_000_000, Some(12), 7));
    let target = &share.targets[0];
    assert_eq!((target.lun.as_str(), target.size, target.write, target.create), ("/f/sd1", 10 << 20, true, true));
    assert_eq!(target.flags, [OpenFlag::Direct]);
    let generator = &share.generators[0];
    assert_eq!(generator.miss, Area { low: 0, high: 10 << 20, wrap: None });
    // 10m in 64k blocks are exactly 160, the last at 10420224.
    assert_eq!((generator.miss.high / 65_536, generator.miss.high - 65_536), (160, 10_420_224));
    assert_eq!(generator.xfer, Xfer::Fixed(65_536));
}

#[test]
fn flags_of_the_run_replace_those_of_workload_and_sd() {
    let mut parms = threads_file(&[], &[4], vec![wd("wd1", &["sd1"])]);
    let flags = |parms: &ParmFile| dealt(parms).shares[0][0].as_ref().unwrap().targets[0].flags.clone();
    parms.sds[0].openflags = words(&["fsync"]);
    assert_eq!(flags(&parms), [OpenFlag::Fsync]);
    parms.wds[0].openflags = words(&["o_sync"]);
    assert_eq!(flags(&parms), [OpenFlag::Sync]);
    parms.rds[0].openflags = words(&["directio"]);
    assert_eq!(flags(&parms), [OpenFlag::Direct]);
}

#[test]
fn streams_are_dealt_to_workers_with_their_threads() {
    let streams = Wd { streams: some(4), ..moving("wd1", &["sd1"], 65_536, SEQUENTIAL) };
    let parms = threads_file(&[("s", 3)], &[8], vec![streams]);
    let deal = dealt(&parms);
    assert_eq!(table(&deal), ["s-0: sd1=4", "s-1: sd1=2", "s-2: sd1=2"]);
    let lows: Vec<Vec<u64>> =
        deal.shares[0].iter().flatten().map(|s| s.generators[0].streams.iter().map(|a| a.low).collect()).collect();
    assert_eq!(lows, [vec![0, 7_864_320], vec![2_621_440], vec![5_242_880]]);

    let mut odd = parms.clone();
    odd.sds[0].threads = some(6);
    let plan = planned(&odd);
    let facts = answers(&plan, |_, query| facts(query, LunKind::File, 10 << 20));
    insta::assert_snapshot!(plan.resolve(&facts, &[]).unwrap_err()[0].text, @"rd=rd1: sd=sd1 has threads=6, which must be a multiple of streams=4");
}

#[test]
fn a_hotband_is_an_area_of_its_own() {
    let mut parms = threads_file(&[], &[8], vec![Wd { hotband: some((10.0, 30.0)), ..wd("wd1", &["sd1"]) }]);
    let deal = dealt(&parms);
    let generator = &deal.shares[0][0].as_ref().unwrap().generators[0];
    assert_eq!(generator.hotband, Some(Area { low: 1_048_576, high: 3_145_728, wrap: None }));
    assert_eq!(generator.miss, generator.hotband.unwrap());
    parms.wds[0].hotband = some((10.0, 15.0));
    let plan = planned(&parms);
    let facts = answers(&plan, |_, query| facts(query, LunKind::File, 10 << 20));
    insta::assert_snapshot!(plan.resolve(&facts, &[]).unwrap_err()[0].text, @"rd=rd1: sd=sd1: its hotband has 524288 bytes and needs 1000000");
}

#[test]
fn the_largest_transfer_of_any_run_rounds_the_areas_of_all() {
    let parms = file(
        vec![sized("sd1", 10 << 20)],
        vec![
            Wd { range: some((6.0, 100.0)), ..moving("wd1", &["sd1"], 4096, RANDOM) },
            moving("wd2", &["sd1"], 262_144, RANDOM),
        ],
        vec![rd("rd1", &["wd1"], IoRate::Max), rd("rd2", &["wd2"], IoRate::Max)],
    );
    assert_eq!(dealt(&parms).shares[0][0].as_ref().unwrap().generators[0].miss.low, 524_288);
}

#[test]
fn requested_columns_say_what_was_asked_for() {
    let wds = vec![
        Wd { xfersize: some(XferSize::Weighted(vec![(4096, 50.0), (8192, 50.0)])), ..wd("wd1", &["sd1"]) },
        Wd { rdpct: some(50.0), ..moving("wd2", &["sd2"], 4096, SeekPct::Eof) },
    ];
    let columns = dealt(&threads_file(&[], &[4, 8], wds)).requested;
    assert_eq!(
        columns,
        RequestedColumns {
            xfersize: Some(4096),
            threads: Some(-1.0),
            rdpct: None,
            rhpct: Some(0.0),
            whpct: Some(0.0),
            seekpct: None,
            lun_bytes: 20 << 20,
            compratio: Some(1.0),
        }
    );
}

#[test]
fn random_streams_have_the_same_numbers_with_and_without_a_format() {
    let parms = threads_file(&[], &[4], vec![wd("wd1", &["sd1"])]);
    let stream = |deal: Deal| deal.shares[0][0].as_ref().unwrap().generators[0].stream;
    let second = stream(dealt(&parms));
    let first = resolved_as(&parms, LunKind::Missing, 0);
    assert_eq!(first.plan.runs[1].name, "rd1");
    assert_eq!(stream(first.deal(1, 1, 0.0, None).unwrap()), second);
}

proptest! {
    #[test]
    fn threads_dealt_are_threads_asked_for(
        hosts in prop::collection::vec(1u32..5, 1..5),
        threads in prop::collection::vec(1i64..40, 1..8),
        skewed_run in any::<bool>(),
    ) {
        let names = ["a", "b", "c", "d"];
        let hosts: Vec<(&str, u32)> = hosts.iter().enumerate().map(|(n, jvms)| (names[n], *jvms)).collect();
        let wds = if skewed_run { vec![skewed("wd1", &["*"], 100.0)] } else { vec![wd("wd1", &["*"])] };
        let deal = dealt(&threads_file(&hosts, &threads, wds));
        for (n, asked) in threads.iter().enumerate() {
            let targets = deal.shares.iter().flatten().flatten().flat_map(|s| &s.targets);
            let dealt: u32 = targets.filter(|t| t.sd as usize == n).map(|t| t.threads).sum();
            prop_assert_eq!(i64::from(dealt), *asked);
        }
        let total: f64 = deal.shares.iter().flatten().flatten().flat_map(|s| &s.generators).map(|g| g.rate).sum();
        prop_assert!((total - 9_999_988.0).abs() < 0.01);
    }

    #[test]
    fn each_sequential_stream_is_dealt_once(
        hosts in prop::collection::vec(1u32..4, 1..4),
        threads in prop::collection::vec(1i64..5, 1..6),
        mixed in any::<bool>(),
    ) {
        let names = ["a", "b", "c"];
        let hosts: Vec<(&str, u32)> = hosts.iter().enumerate().map(|(n, jvms)| (names[n], *jvms)).collect();
        let mut wds = vec![moving("wd1", &["*"], 65_536, SEQUENTIAL), moving("wd2", &["*"], 65_536, SEQUENTIAL)];
        if mixed {
            wds.push(wd("wd3", &["*"]));
        }
        let deal = dealt(&threads_file(&hosts, &threads, wds));
        let mut seen = std::collections::HashSet::new();
        for share in deal.shares.iter().flatten().flatten() {
            for generator in share.generators.iter().filter(|g| g.workload < 2) {
                let target = &share.targets[generator.target as usize];
                prop_assert!(target.threads > 0);
                prop_assert!(seen.insert((generator.workload, target.sd)));
            }
        }
        prop_assert_eq!(seen.len(), threads.len() * 2);
    }
}
