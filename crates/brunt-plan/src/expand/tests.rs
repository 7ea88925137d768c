//! Worked expectations of `docs/vdbench/raw.md` §11, and messages.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use brunt_parm::ast::{IoRate, LoopKind, Num, ParmFile, Rd, Sd, SeekPct, Wd, XferSize};
use brunt_parm::{Diag, Severity};

use crate::options::Options;
use crate::plan::{Plan, Rate, RateStep};
use crate::testing::*;
use crate::work::{Seek, Xfer};

fn plan_with(file: &ParmFile, options: &Options) -> (Option<Plan>, Vec<Diag>) {
    let mut diags = Vec::new();
    let plan = super::expand(file, options, &mut diags);
    assert_eq!(plan.is_none(), diags.iter().any(|d| d.severity == Severity::Error));
    (plan, diags)
}

fn plan(file: &ParmFile) -> Plan {
    let (plan, diags) = plan_with(file, &Options::default());
    plan.unwrap_or_else(|| panic!("{diags:#?}"))
}

/// Each run as `name; loops`.
fn texts(plan: &Plan) -> Vec<String> {
    plan.runs.iter().map(|r| format!("{}; {}", r.name, r.loop_texts().join(" "))).collect()
}

/// Each problem as `severity[code] message | vdbench | help`.
fn told(diags: &[Diag]) -> String {
    let line = |d: &Diag| {
        let mut line = format!("{:?}[{}] {}", d.severity, d.code, d.message);
        for more in [&d.vdbench, &d.help].into_iter().flatten() {
            line = format!("{line} | {more}");
        }
        line
    };
    diags.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn failing(file: &ParmFile) -> String {
    let (plan, diags) = plan_with(file, &Options::default());
    assert!(plan.is_none(), "accepted");
    told(&diags)
}

fn one_sd(rds: Vec<Rd>) -> ParmFile {
    file(vec![sized("sd1", 10 << 20)], vec![wd("wd1", &["sd1"])], rds)
}

#[test]
fn rates_are_innermost_wherever_they_are_written() {
    let mut run = rd_rates("rd1", &["wd1"], &[IoRate::Fixed(100.0), IoRate::Fixed(200.0)]);
    run.loops = vec![looping(LoopKind::Threads, &[1.0, 2.0])];
    assert_eq!(
        texts(&plan(&one_sd(vec![run]))),
        [
            "rd1; threads=1 iorate=100",
            "rd1; threads=1 iorate=200",
            "rd1; threads=2 iorate=100",
            "rd1; threads=2 iorate=200"
        ]
    );
}

#[test]
fn the_first_loop_is_the_outermost() {
    let mut run = rd("rd1", &["wd1"], IoRate::Max);
    run.loops = vec![looping(LoopKind::Xfersize, &[4096.0, 8192.0]), looping(LoopKind::Threads, &[1.0, 1024.0])];
    let plan = plan(&one_sd(vec![run]));
    assert_eq!(
        texts(&plan),
        [
            "rd1; xfersize=4k threads=1",
            "rd1; xfersize=4k threads=1k",
            "rd1; xfersize=8k threads=1",
            "rd1; xfersize=8k threads=1k"
        ]
    );
    assert_eq!(plan.runs[2].workloads[0].xfer, Xfer::Fixed(8192));
    assert_eq!(plan.runs[3].threads, Some(1024));
}

#[test]
fn the_simulation_of_the_golden_case_lists_eight_runs() {
    let mut run = rd_rates("sim", &["wd1"], &[IoRate::Fixed(100.0), IoRate::Max]);
    run.loops = vec![looping(LoopKind::Xfersize, &[4096.0, 8192.0]), looping(LoopKind::Rdpct, &[0.0, 50.0])];
    run.warmup = some(5);
    let plan = plan(&one_sd(vec![run]));
    assert_eq!(plan.runs.len(), 8);
    assert_eq!(texts(&plan)[7], "sim; xfersize=8k rdpct=50 iorate=max");
    assert_eq!((plan.runs[0].elapsed, plan.runs[0].warmup), (Some(10), 5));
}

#[test]
fn a_curve_is_a_maximum_run_and_its_points() {
    let mut run = rd("rd1", &["wd1"], IoRate::Curve);
    run.curve = some(vec![at(10.0), at(20.0), at(30.0)]);
    run.loops = vec![looping(LoopKind::Threads, &[1.0, 2.0])];
    let plan = plan(&one_sd(vec![run]));
    let names: Vec<&str> = plan.runs.iter().map(|r| r.name.as_str()).collect();
    assert_eq!(names, ["rd1", "rd1_(10%)", "rd1_(20%)", "rd1_(30%)", "rd1", "rd1_(10%)", "rd1_(20%)", "rd1_(30%)"]);
    assert_eq!(plan.runs[4].rate, Rate::CurveMax);
    assert_eq!(plan.runs[7].rate, Rate::CurvePoint { percent: 30.0, of_run: 4 });
    assert_eq!(texts(&plan)[3], "rd1_(30%); threads=1");
}

#[test]
fn percent_and_negative_rates_are_of_the_run_before() {
    let run = rd_rates("rd1", &["wd1"], &[IoRate::Fixed(1000.0), IoRate::Percent(50.0), IoRate::Fixed(-1.0)]);
    let plan = plan(&one_sd(vec![run]));
    assert_eq!(plan.runs[1].rate, Rate::PercentOfPrevious(50.0));
    assert_eq!(texts(&plan), ["rd1; iorate=1000", "rd1; iorate=50%", "rd1; iorate=1%"]);
}

#[test]
fn steps_are_pairs_within_the_elapsed_time() {
    let plan = plan(&one_sd(vec![rd_steps("rd1", &["wd1"], &[50.0, 2.0, 10.0, 1.0])]));
    let step = |rate, seconds| RateStep { rate, percent: false, seconds };
    assert_eq!(plan.runs[0].rate, Rate::Steps(vec![step(50.0, 2), step(10.0, 1)]));
    insta::assert_snapshot!(
        failing(&one_sd(vec![rd_steps("rd1", &["wd1"], &[50.0, 2.0, 10.0])])),
        @"Error[bursts] iorate= of distribution=variable needs pairs of rate and seconds"
    );
    insta::assert_snapshot!(
        failing(&one_sd(vec![rd_steps("rd1", &["wd1"], &[50.0, 4000.0])])),
        @"Error[bursts] the steps last 4000 s; at most 3600 are possible"
    );
}

#[test]
fn count_multiplies_names_and_paths() {
    let mut numbered = sd("a", "/f/a");
    numbered.count = some((1, 2));
    let mut masked = sd("sd_%02d", "/f%03d");
    masked.count = some((1, 2));
    let plan = plan(&file(vec![numbered, masked], vec![wd("wd1", &["*"])], vec![rd("rd1", &["wd1"], IoRate::Max)]));
    let names: Vec<&str> = plan.sds.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["a1", "a2", "sd_01", "sd_02"]);
    assert_eq!(plan.sds[3].lun, [Some("/f002".to_owned())]);
    assert_eq!(*plan.runs[0].workloads[0].sds, [0, 1, 2, 3]);
}

#[test]
fn sd_key_words_make_a_run_for_each_set() {
    let sds: Vec<Sd> = (1..=5).map(|n| sized(&format!("sd{n}"), 1 << 20)).collect();
    let names = |word: &str| {
        let mut run = rd("rd1", &["wd1"], IoRate::Max);
        run.sds = words(&[word]);
        let plan = plan(&file(sds.clone(), vec![wd("wd1", &["sd1"])], vec![run]));
        plan.runs.iter().map(|r| r.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names("single"), ["rd1_sd1", "rd1_sd2", "rd1_sd3", "rd1_sd4", "rd1_sd5"]);
    assert_eq!(names("range"), ["rd1_sd1", "rd1_sd1-sd2", "rd1_sd1-sd3", "rd1_sd1-sd4", "rd1_sd1-sd5"]);
    assert_eq!(names("setsof2"), ["rd1_sd5_sd4", "rd1_sd1_sd3", "rd1_sd2"]);
    assert_eq!(names("setsof1"), names("single"));
}

#[test]
fn an_rd_with_sds_alone_gets_an_anonymous_workload() {
    let mut run = rd("rd1", &[], IoRate::Max);
    (run.wds, run.sds) = (None, words(&["sd1"]));
    let mut parms = one_sd(vec![run]);
    parms.wd_default.rdpct = some(0.0);
    let plan = plan(&parms);
    assert_eq!(plan.wds, ["wd1", "rd=rd1"]);
    assert_eq!(plan.runs[0].workloads[0].wd, 1);
    assert_eq!(plan.runs[0].workloads[0].read_pct, 0.0);
}

#[test]
fn the_sds_of_an_rd_override_those_of_its_workloads() {
    let mut run = rd("rd1", &["wd1"], IoRate::Max);
    run.sds = words(&["sd2"]);
    // sd9 does not exist, but it is not used.
    let parms = file(vec![sized("sd1", 1 << 20), sized("sd2", 1 << 20)], vec![wd("wd1", &["sd9"])], vec![run]);
    assert_eq!(*plan(&parms).runs[0].workloads[0].sds, [1]);
}

#[test]
fn loops_override_what_the_workload_says() {
    let mut run = rd("rd1", &["wd1"], IoRate::Max);
    run.loops = vec![
        looping(LoopKind::Seekpct, &[-1.0]),
        looping(LoopKind::Rhpct, &[25.0]),
        looping(LoopKind::Hitarea, &[2097152.0]),
        looping(LoopKind::Threads, &[0.0]),
    ];
    let plan = plan(&one_sd(vec![run]));
    let (run, workload) = (&plan.runs[0], &plan.runs[0].workloads[0]);
    assert_eq!(workload.seek, Seek::Eof);
    assert_eq!((workload.read_hit_pct, workload.hit_area, run.threads), (25.0, Some(2 << 20), Some(1)));
    assert_eq!(texts(&plan), ["rd1; seekpct=1% rhpct=25 hitarea=2m threads=1"]);
}

#[test]
fn options_override_times_and_are_checked() {
    let options = Options { elapsed: Some(4), warmup: Some(2), interval: Some(2), ..Options::default() };
    let run = rd("rd1", &["wd1"], IoRate::Max);
    let (plan, _) = plan_with(&one_sd(vec![run.clone()]), &options);
    let plan = plan.unwrap();
    assert_eq!((plan.runs[0].elapsed, plan.runs[0].interval, plan.runs[0].warmup), (Some(4), 2, 2));
    let (plan, diags) = plan_with(&one_sd(vec![run]), &Options { elapsed: Some(1), ..Options::default() });
    assert!(plan.is_none());
    insta::assert_snapshot!(told(&diags), @"Error[elapsed] elapsed=1 is too short for interval=1 | a run needs two intervals: elapsed=2");
}

#[test]
fn times_have_defaults() {
    let mut run = rd("rd1", &["wd1"], IoRate::Max);
    (run.elapsed, run.interval) = (None, None);
    let plain = plan(&one_sd(vec![run.clone()]));
    assert_eq!((plain.runs[0].elapsed, plain.runs[0].interval), (Some(30), 1));
    (run.elapsed, run.interval) = (some(300), some(0));
    assert_eq!(plan(&one_sd(vec![run])).runs[0].interval, 60);
}

#[test]
fn times_must_fit_each_other() {
    let mut a = rd("a", &["wd1"], IoRate::Max);
    (a.elapsed, a.interval) = (some(10), some(3));
    let mut b = rd("b", &["wd1"], IoRate::Max);
    (b.interval, b.warmup) = (some(2), some(3));
    insta::assert_snapshot!(failing(&one_sd(vec![a, b])), @r"
    Error[elapsed] elapsed=10 is not a multiple of interval=3 | use elapsed=9
    Error[warmup] warmup=3 is not a multiple of interval=2 | use warmup=4
    ");
}

#[test]
fn a_restart_leaves_out_the_runs_before() {
    let mut curve = rd("second", &["wd1"], IoRate::Curve);
    curve.curve = some(vec![at(50.0)]);
    let parms = one_sd(vec![rd("first", &["wd1"], IoRate::Max), curve]);
    let restarted =
        |name: &str| plan_with(&parms, &Options { restart_at: Some(name.to_owned()), ..Options::default() });

    let plan = restarted("second").0.unwrap();
    assert_eq!(texts(&plan), ["second; ", "second_(50%); "]);
    assert_eq!(plan.runs[1].rate, Rate::CurvePoint { percent: 50.0, of_run: 0 });

    let (plan, diags) = restarted("second_(50%)");
    assert_eq!(plan.unwrap().runs[0].rate, Rate::Fixed(5000.0));
    insta::assert_snapshot!(told(&diags), @"Warning[curve-without-max] -r second_(50%) skips the maximum run of its curve: points are percentages of 10000");

    insta::assert_snapshot!(told(&restarted("Second").1), @"Error[unknown-rd] -r Second: no run has this name | did you mean `second`?");
}

#[test]
fn a_restart_at_an_rd_with_suffixes_begins_with_its_first_run() {
    let mut run = rd("rd2", &["wd1"], IoRate::Max);
    run.sds = words(&["single"]);
    let parms = one_sd(vec![rd("rd1", &["wd1"], IoRate::Max), run]);
    let (plan, _) = plan_with(&parms, &Options { restart_at: Some("rd2".to_owned()), ..Options::default() });
    assert_eq!(texts(&plan.unwrap()), ["rd2_sd1; "]);
}

#[test]
fn unknown_names_are_reported_in_vdbenchs_words_too() {
    let parms = file(
        vec![sized("sd1", 8 << 20)],
        vec![wd("wd1", &["sd9"]), wd("hotwd_a", &["sd1"])],
        vec![rd("rd1", &["wd1"], IoRate::Max), rd("rd2", &["wd7"], IoRate::Max), rd("rd3", &["HOTwd*"], IoRate::Max)],
    );
    insta::assert_snapshot!(failing(&parms), @r"
    Error[unknown-sd] no sd matches `sd9` | Could not find sd=sd9 for wd=wd1,host=localhost | did you mean `sd1`?
    Error[unknown-wd] no wd matches `wd7` | Could not find WD=wd7 for RD=rd2 | did you mean `wd1`?
    Error[unknown-wd] no wd matches `HOTwd*` | Could not find WD=HOTwd* for RD=rd3 | did you mean `hotwd_a`? names are case-sensitive
    ");
}

#[test]
fn a_skew_that_is_not_a_hundred_points_to_every_part() {
    let parms = file(
        vec![sized("sd1", 8 << 20)],
        vec![skewed("wd1", &["sd1"], 40.0), skewed("wd2", &["sd1"], 40.0)],
        vec![rd("rd1", &["wd*"], IoRate::Fixed(100.0))],
    );
    let (_, diags) = plan_with(&parms, &Options::default());
    insta::assert_snapshot!(told(&diags), @"Error[skew-total] the skews of run `rd1` add up to 80.00, not to 100 | rd=rd1: Total skew must add up to 100: 80.00 | make them add up to 100, or leave one workload without skew= for the rest");
    assert_eq!(diags[0].span, parms.wds[0].skew.as_ref().map(|s| s.span));
    assert_eq!(diags[0].related.len(), 1);
}

#[test]
fn a_workload_that_is_left_nothing_is_accepted_with_a_warning() {
    let parms = file(
        vec![sized("sd1", 8 << 20)],
        vec![skewed("wd1", &["sd1"], 60.0), skewed("wd2", &["sd1"], 40.0), wd("wd3", &["sd1"])],
        vec![rd("rd1", &["wd*"], IoRate::Fixed(100.0))],
    );
    let (plan, diags) = plan_with(&parms, &Options::default());
    let shares: Vec<_> = plan.unwrap().runs[0].workloads.iter().map(|w| w.skew).collect();
    assert_eq!(shares, [Some(60.0), Some(40.0), Some(0.0)]);
    insta::assert_snapshot!(told(&diags), @"Warning[skew-nothing-left] wd `wd3` does no I/O in run `rd1`: the other skews leave it nothing");
}

#[test]
fn a_workload_named_twice_is_called_a_duplicate() {
    insta::assert_snapshot!(
        failing(&one_sd(vec![rd("rd1", &["wd1", "wd*"], IoRate::Max)])),
        @"Error[duplicate-wd-in-rd] wd `wd1` is selected twice by run `rd1` | name each workload once"
    );
}

#[test]
fn priorities_are_distinct_and_own_rates_come_first() {
    let with = |name: &str, priority: Option<u32>, iorate: Option<f64>| Wd {
        priority: priority.and_then(some),
        iorate: iorate.and_then(some),
        ..wd(name, &["sd1"])
    };
    let check = |wds: Vec<Wd>| {
        let parms = file(vec![sized("sd1", 8 << 20)], wds, vec![rd("rd1", &["*"], IoRate::Max)]);
        let (plan, diags) = plan_with(&parms, &Options::default());
        plan.map_or(told(&diags), |p| format!("{:?}", p.settings.unsupported.iter().map(|u| &u.1).collect::<Vec<_>>()))
    };
    assert_eq!(check(vec![with("a", Some(1), Some(50.0)), with("b", Some(2), None)]), "[]");
    insta::assert_snapshot!(check(vec![with("a", None, Some(50.0)), with("b", Some(2), None)]), @"Error[priority-missing] wd `a` has iorate= but no priority= | add priority=1 or higher");
    insta::assert_snapshot!(check(vec![with("a", Some(1), None), with("b", Some(1), None)]), @"Error[priority-twice] two workloads of run `rd1` have priority=1");
    insta::assert_snapshot!(check(vec![with("a", Some(2), Some(50.0)), with("b", Some(1), None)]), @"Error[priority-order] run `rd1`: workloads with iorate= need lower priority= numbers than those without");
    insta::assert_snapshot!(check(vec![with("a", Some(1), None), with("b", Some(3), None)]), @r#"["run `rd1` has priority=3 but no priority=2; they count from 1 without gaps"]"#);
}

#[test]
fn a_missing_rate_a_bad_size_and_a_lone_rd_are_all_reported() {
    let mut none = rd("a", &["wd1"], IoRate::Max);
    none.iorate = None;
    let zero = rd("b", &["wd1"], IoRate::Fixed(0.0));
    let mut size = rd("c", &["wd1"], IoRate::Max);
    size.loops = vec![looping(LoopKind::Xfersize, &[4096.0, 50.0])];
    let mut lone = rd("d", &[], IoRate::Max);
    lone.wds = None;
    insta::assert_snapshot!(failing(&one_sd(vec![none, zero, size, lone])), @r"
    Error[iorate-missing] run `a` has no iorate= | iorate parameter is missing | add iorate= with a rate, max or curve
    Error[iorate] iorate= must be more than 0 | use a rate, max or curve
    Error[xfersize] transfer size 50 is not a multiple of 512 | in a run xfersize= is a list of sizes; a distribution belongs in the WD
    Error[no-wd] run `d` has neither wd= nor sd= | add wd= with the workloads to run
    ");
}

#[test]
fn sizes_by_range_need_the_same_align_on_the_sd() {
    let mut ranged = wd("wd1", &["sd1"]);
    ranged.xfersize = some(XferSize::Range { min: 512, max: 8192, align: 512 });
    let mut sd1 = sized("sd1", 8 << 20);
    let check = |sd1: &Sd| {
        plan_with(
            &file(vec![sd1.clone()], vec![ranged.clone()], vec![rd("rd1", &["wd1"], IoRate::Max)]),
            &Options::default(),
        )
        .1
    };
    insta::assert_snapshot!(told(&check(&sd1)), @"Error[align] xfersize=(min,max,512) needs align=512 on sd `sd1`");
    sd1.align = some(512);
    assert!(check(&sd1).is_empty());
}

#[test]
fn hosts_are_multiplied_by_clients_and_luns_paired_with_them() {
    let mut h = hd("h", 2);
    h.clients = some(2);
    let mut sd1 = sd("sd1", "/a");
    sd1.luns.push(at("/b".to_owned()));
    sd1.hosts = vec![words(&["h_cl0"]).unwrap(), words(&["other"]).unwrap()];
    let mut parms = file(vec![sd1], vec![wd("wd1", &["sd1"])], vec![rd("rd1", &["wd1"], IoRate::Max)]);
    parms.hosts = vec![h, hd("other", 1)];
    let plan = plan(&parms);
    let labels: Vec<&str> = plan.hosts.iter().map(|h| h.label.as_str()).collect();
    assert_eq!(labels, ["h_cl0", "h_cl1", "other"]);
    assert_eq!((plan.hosts[1].system.as_str(), plan.hosts[1].workers), ("h", 2));
    assert_eq!(plan.sds[0].lun, [Some("/a".to_owned()), None, Some("/b".to_owned())]);
}

#[test]
fn unknown_hosts_and_unpaired_luns_are_errors() {
    let mut a = sd("a", "/a");
    a.hosts = vec![words(&["hostm22"]).unwrap()];
    let mut b = sd("b", "/a");
    b.luns.push(at("/b".to_owned()));
    let mut parms = file(vec![a, b], vec![wd("wd1", &["*"])], vec![rd("rd1", &["wd1"], IoRate::Max)]);
    parms.hosts = vec![hd("host02", 1)];
    insta::assert_snapshot!(failing(&parms), @r"
    Error[unknown-host] no host matches `hostm22` | did you mean `host02`?
    Error[lun-host-pairs] sd `b` has 2 lun= and 0 host= | each lun= needs a host= of its own: lun=a,host=h1,lun=b,host=h2
    ");
}

#[test]
fn what_cannot_run_yet_is_accepted_and_named() {
    let mut parms = one_sd(vec![rd("rd1", &["wd1"], IoRate::Max)]);
    parms.general.concatenatesds = some(true);
    parms.general.validate = words(&["yes"]);
    parms.general.compratio = some(2.0);
    parms.sds[0].openflags = words(&["o_direct", "directio_off"]);
    let plan = plan(&parms);
    let sentences: Vec<&str> = plan.settings.unsupported.iter().map(|(_, s)| s.as_str()).collect();
    insta::assert_snapshot!(sentences.join("\n"), @r"
    openflags=directio_off is not known on Linux; use o_direct, directio, o_sync, o_dsync, o_rsync, fsync or 0x…
    concatenatesds=yes is not run by this version
    validate= is not run by this version
    compratio=2 is not run by this version; data is incompressible
    ");
}

#[test]
fn keys_of_misc_are_checked() {
    let mut parms = one_sd(vec![rd("rd1", &["wd1"], IoRate::Max)]);
    for (key, value) in [
        ("sim.a.hit", "39u"),
        ("sim.a.hot", "1"),
        ("sim.a.miss", "soon"),
        ("indentity", "warn"),
        ("overwrite", "sdx"),
        ("fifo", "100"),
    ] {
        parms.general.misc.push((at(key.to_owned()), at(value.to_owned())));
    }
    insta::assert_snapshot!(failing(&parms), @r"
    Error[misc-value] a simulated device has no key `hot`; it has hit, miss, jitter, errors, freeze, size, clock, raw, hitarea | did you mean `hit`?
    Error[misc-value] a time is a number with n, u, m or s (39u, 2m, 1s), at most a day
    Warning[unknown-misc] misc= has no key `indentity` | did you mean `identity`?
    Warning[unknown-sd] no sd matches `sdx` | did you mean `sd1`?
    ");

    // Not on any of its hosts, without another error.
    let mut a = sd("a", "/a");
    a.hosts = vec![words(&["h1"]).unwrap()];
    let mut other = wd("wd1", &["a"]);
    other.hosts = words(&["h2"]);
    let mut parms = file(vec![a], vec![other], vec![rd("rd1", &["wd1"], IoRate::Max)]);
    parms.hosts = vec![hd("h1", 1), hd("h2", 1)];
    insta::assert_snapshot!(failing(&parms), @"Error[wd-not-used] wd `wd1` is not used: none of its hosts has any of its SDs");
}

#[test]
fn problems_that_are_known_already_are_not_repeated() {
    let parms = one_sd(vec![rd("rd1", &["wd7"], IoRate::Max)]);
    let span = parms.rds[0].wds.as_ref().unwrap().value[0].span;
    let mut diags = vec![Diag::error("parse", "told before", span)];
    assert!(super::expand(&parms, &Options::default(), &mut diags).is_none());
    assert_eq!(diags.len(), 1);
}

#[test]
fn a_percentage_in_a_loop_is_a_negative_number_to_whoever_does_not_know_percentages() {
    let mut run = rd("rd1", &["wd1"], IoRate::Max);
    let mut half = looping(LoopKind::Rdpct, &[]);
    half.values = brunt_parm::ast::LoopValues::Numbers(vec![at(Num { value: 50.0, percent: true })]);
    run.loops = vec![half];
    let plan = plan(&one_sd(vec![run]));
    assert_eq!(plan.runs[0].workloads[0].read_pct, -50.0);
    assert_eq!(texts(&plan), ["rd1; rdpct=50%"]);
}

#[test]
fn many_sds_and_workloads_share_their_sets() {
    let sds: Vec<Sd> = (0..5000).map(|n| sd(&format!("sd{n}"), &format!("/dev/{n}"))).collect();
    let wds: Vec<Wd> = (0..200).map(|n| moving(&format!("wd{n}"), &["sd*"], 4096, SeekPct::Percent(100.0))).collect();
    let mut run = rd("rd1", &["wd*"], IoRate::Max);
    run.loops = vec![looping(LoopKind::Threads, &(1..=32).map(f64::from).collect::<Vec<_>>())];
    let plan = plan(&file(sds, wds, vec![run]));
    assert_eq!(plan.runs.len(), 32);
    let (first, last) = (&plan.runs[0].workloads[0].sds, &plan.runs[31].workloads[199].sds);
    assert!(std::sync::Arc::ptr_eq(first, last));
}
