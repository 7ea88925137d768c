//! Problems as they are told.

use super::*;
use crate::engine::Asked;
use crate::plan::{FleetRules, OnLoss};
use crate::work::{Conduct, Stamps, Wait};

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
    for (key, value) in
        [("sim.a.hit", "39u"), ("sim.a.hot", "1"), ("sim.a.miss", "soon"), ("overwrite", "sdx"), ("fifo", "100")]
    {
        parms.general.misc.push((at(key.to_owned()), at(value.to_owned())));
    }
    insta::assert_snapshot!(failing(&parms), @r"
    Error[misc-value] a simulated device has no key `hot`; it has hit, miss, jitter, errors, freeze, size, clock, raw, hitarea | did you mean `hit`?
    Error[misc-value] a time is a number with n, u, m or s (39u, 2m, 1s), at most a day
    Warning[unknown-sd] no sd matches `sdx` | did you mean `sd1`?
    ");
}

#[test]
fn keys_of_the_engine_are_followed() {
    let with = |list: &[(&str, &str)], engine: Option<Asked>| {
        let mut parms = one_sd(vec![rd("rd1", &["wd1"], IoRate::Max)]);
        parms.general.misc = list.iter().map(|(k, v)| (at((*k).to_owned()), at((*v).to_owned()))).collect();
        plan_with(&parms, &Options { engine, ..Options::default() })
    };
    let settings = |list: &[(&str, &str)], engine| {
        let (plan, diags) = with(list, engine);
        assert_eq!(told(&diags), "");
        let settings = plan.unwrap().settings;
        (settings.engine, settings.conduct)
    };
    assert_eq!(settings(&[], None), (Asked::Auto, Conduct::default()));
    let all = [("engine", "aio"), ("wait", "hybrid"), ("stamps", "batch"), ("cpu_latency", "0")];
    let conduct = Conduct { wait: Wait::Hybrid, stamps: Stamps::Batch, cpu_latency_us: Some(0) };
    assert_eq!(settings(&all, None), (Asked::Aio, conduct));
    assert_eq!(settings(&all, Some(Asked::Auto)), (Asked::Auto, conduct));
    assert_eq!(settings(&[("wait", "spin"), ("wait", "sleep")], None).1.wait, Wait::Sleep);
    assert_eq!(settings(&[("cpu_latency", "2000000000")], None).1.cpu_latency_us, Some(2_000_000_000));

    let wrong = [
        ("engine", "libaio"),
        ("wait", "poll"),
        ("stamps", "all"),
        ("cpu_latency", "2000000001"),
        ("cpu_latency", "-1"),
        ("cpu_latency", "1.5"),
        ("array_cache", "512g"),
    ];
    insta::assert_snapshot!(told(&with(&wrong, None).1), @r"
    Error[misc-value] engine= is auto, sync, aio, uring or null, not `libaio`
    Error[misc-value] wait= is auto, sleep, hybrid or spin, not `poll`
    Error[misc-value] stamps= is each or batch, not `all`
    Error[misc-value] cpu_latency= is a whole number of microseconds from 0 to 2000000000, not `2000000001`
    Error[misc-value] cpu_latency= is a whole number of microseconds from 0 to 2000000000, not `-1`
    Error[misc-value] cpu_latency= is a whole number of microseconds from 0 to 2000000000, not `1.5`
    Warning[later-misc] misc=(array_cache=…) has no effect in this version | leave it out, or keep it for a later version
    ");
}

#[test]
fn keys_of_the_fleet_are_followed() {
    let with = |list: &[(&str, &str)]| {
        let mut parms = one_sd(vec![rd("rd1", &["wd1"], IoRate::Max)]);
        parms.general.misc = list.iter().map(|(k, v)| (at((*k).to_owned()), at((*v).to_owned()))).collect();
        plan_with(&parms, &Options::default())
    };
    let rules = |list: &[(&str, &str)]| {
        let (plan, diags) = with(list);
        assert_eq!(told(&diags), "");
        plan.unwrap().settings.fleet
    };
    let none = rules(&[]);
    assert_eq!(none, FleetRules::default());
    assert_eq!((none.lease_s(true), none.lease_s(false), none.on_loss), (30, 120, OnLoss::Stop));
    for (text, seconds) in [("0", 0), ("45", 45), ("30s", 30), ("2m", 120), ("24h", 86_400)] {
        let rules = rules(&[("lease", text)]);
        assert_eq!((rules.lease_s(true), rules.lease_s(false)), (seconds, seconds), "{text}");
    }
    let all = rules(&[("retry", "5"), ("on_worker_loss", "stop"), ("on_worker_loss", "continue")]);
    assert_eq!(all, FleetRules { lease_s: None, retry: Some(5), on_loss: OnLoss::Continue });

    let wrong = [
        ("lease", "soon"),
        ("lease", "25h"),
        ("lease", "-1"),
        ("lease", "1.5s"),
        ("lease", "s"),
        ("retry", "101"),
        ("on_worker_loss", "ignore"),
    ];
    insta::assert_snapshot!(told(&with(&wrong).1), @r"
    Error[misc-value] lease= is a time of whole seconds up to a day (30, 30s, 2m, 1h), or 0, not `soon`
    Error[misc-value] lease= is a time of whole seconds up to a day (30, 30s, 2m, 1h), or 0, not `25h`
    Error[misc-value] lease= is a time of whole seconds up to a day (30, 30s, 2m, 1h), or 0, not `-1`
    Error[misc-value] lease= is a time of whole seconds up to a day (30, 30s, 2m, 1h), or 0, not `1.5s`
    Error[misc-value] lease= is a time of whole seconds up to a day (30, 30s, 2m, 1h), or 0, not `s`
    Error[misc-value] retry= is a whole number from 0 to 100, not `101`
    Error[misc-value] on_worker_loss= is stop or continue, not `ignore`
    ");
}

#[test]
fn problems_that_are_known_already_are_not_repeated() {
    let parms = one_sd(vec![rd("rd1", &["wd7"], IoRate::Max)]);
    let span = parms.rds[0].wds.as_ref().unwrap().value[0].span;
    let mut diags = vec![Diag::error("parse", "told before", span)];
    assert!(crate::expand(&parms, &Options::default(), &mut diags).is_none());
    assert_eq!(diags.len(), 1);
}

#[test]
fn a_workload_that_no_host_can_run_is_named() {
    let mut a = sd("a", "/a");
    a.hosts = vec![words(&["h1"]).unwrap()];
    let mut other = wd("wd1", &["a"]);
    other.hosts = words(&["h2"]);
    let mut parms = file(vec![a], vec![other], vec![rd("rd1", &["wd1"], IoRate::Max)]);
    parms.hosts = vec![hd("h1", 1), hd("h2", 1)];
    insta::assert_snapshot!(failing(&parms), @"Error[wd-not-used] wd `wd1` is not used: none of its hosts has any of its SDs");
}

#[test]
fn numbers_that_would_fill_the_memory_are_refused() {
    let mut run = rd("rd1", &["wd1"], IoRate::Max);
    let hundreds: Vec<f64> = (1..=200).map(f64::from).collect();
    run.loops = vec![
        looping(LoopKind::Threads, &hundreds),
        looping(LoopKind::Rdpct, &hundreds),
        looping(LoopKind::Rhpct, &hundreds),
    ];
    let mut parms = one_sd(vec![run]);
    parms.sds[0].count = some((1, u64::MAX));
    parms.hosts = vec![hd("a", u32::MAX)];
    insta::assert_snapshot!(failing(&parms), @r"
    Error[out-of-range] jvms= must be from 1 to 1024
    Error[count] count=(start,n) needs n from 1 to 1000000
    Error[too-many-runs] the loops of this run make more than 1000000 runs
    ");
}

#[test]
fn no_two_things_share_a_report() {
    for (sd, worker) in [("wd1", "wd1"), ("localhost", "other"), ("localhost-0", "other"), ("disk", "localhost")] {
        let parms = file(vec![sized(sd, 8 << 20)], vec![wd(worker, &[sd])], vec![rd("rd1", &[worker], IoRate::Max)]);
        assert!(failing(&parms).starts_with("Error[report-name]"), "sd={sd}, wd={worker}");
    }
}

#[test]
fn what_does_not_go_together_is_named_with_its_counterpart() {
    let mut parms = one_sd(vec![rd("rd1", &["wd1"], IoRate::Max)]);
    parms.sds[0].name = some("sd1_with_a_name".to_owned());
    parms.wds[0].sds = names(&["sd1*"]);
    (parms.sds[0].offset, parms.sds[0].align) = (some(512), some(4096));
    parms.rds[0].loops = vec![looping(LoopKind::Compratio, &[1.0, 2.0])];
    parms.general.validate = words(&["yes"]);
    insta::assert_snapshot!(failing(&parms), @r"
    Error[exclusive] offset= does not go with data validation | leave one of the two out
    Error[exclusive] align= does not go with data validation | leave one of the two out
    Error[long-name] `sd1_with_a_name` is longer than 8 bytes, which data validation needs
    Error[exclusive] forcompratio= does not go with data validation | leave one of the two out
    ");

    let mut parms = one_sd(vec![rd("rd1", &["wd1"], IoRate::Max)]);
    parms.general.concatenatesds = some(true);
    (parms.sds[0].hitarea, parms.sds[0].range) = (some(1 << 20), some((10.0, 20.0)));
    (parms.wds[0].rhpct, parms.wds[0].whpct) = (some(10.0), some(10.0));
    insta::assert_snapshot!(failing(&parms), @r"
    Error[exclusive] hitarea= does not go with concatenatesds=yes | leave one of the two out
    Error[exclusive] range= does not go with concatenatesds=yes | leave one of the two out
    Error[exclusive] rhpct= does not go with concatenatesds=yes | leave one of the two out
    Error[exclusive] whpct= does not go with concatenatesds=yes | leave one of the two out
    ");

    let mut parms = one_sd(vec![rd("rd1", &["wd1"], IoRate::Max)]);
    (parms.wds[0].stride, parms.wds[0].seekpct) = (some((4096, 8192)), some(SeekPct::Percent(0.0)));
    insta::assert_snapshot!(failing(&parms), @"Error[stride-without-seeks] stride= has no effect on a sequential workload | leave stride= out, or let some I/Os seek: seekpct=100");
    parms.wds[0].seekpct = some(SeekPct::Percent(10.0));
    assert!(plan_with(&parms, &Options::default()).0.is_some());
}

#[test]
fn reports_of_every_execution_keep_their_names() {
    for name in ["summary", "totals", "a/b"] {
        let parms = file(vec![sized(name, 8 << 20)], vec![wd("wd1", &["*"])], vec![rd("rd1", &["wd1"], IoRate::Max)]);
        let (plan, _) = plan_with(&parms, &Options::default());
        let refused = plan.unwrap().settings.unsupported;
        assert!(refused.iter().any(|(_, text)| text.contains(name)), "{name}: {refused:?}");
    }
}
