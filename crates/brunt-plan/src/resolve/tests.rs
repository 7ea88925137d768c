//! Sizes, formats, permissions, identity and notices.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use brunt_parm::ast::{IoRate, MaxDataKind, ParmFile, Sd, SeekPct, Wd};

use super::*;
use crate::plan::{Rate, RunKind};
use crate::testing::*;
use crate::work::{Area, LunKind, OpenFlag, Seek, Xfer};

fn one(sd: Sd, wd: Wd) -> ParmFile {
    file(vec![sd], vec![wd], vec![rd("rd1", &["wd1"], IoRate::Max)])
}

fn writing(sds: &[&str]) -> Wd {
    Wd { rdpct: some(0.0), ..wd("wd1", sds) }
}

fn on_two_hosts(mut parms: ParmFile) -> ParmFile {
    parms.hosts = vec![hd("a", 1), hd("b", 1)];
    parms
}

fn refused(parms: &ParmFile, answer: impl Fn(usize, &LunQuery) -> LunFacts) -> Vec<SetupProblem> {
    let plan = planned(parms);
    let facts = answers(&plan, answer);
    plan.resolve(&facts, &[]).map(|r| panic!("{:?}", r.sd_sizes)).unwrap_err()
}

fn text(problems: &[SetupProblem]) -> String {
    problems.iter().map(|p| format!("{:?}: {}", p.kind, p.text)).collect::<Vec<_>>().join("\n")
}

fn notices(resolved: &Resolved) -> String {
    resolved.notices.iter().map(|n| format!("{}: {}", n.code, n.text)).collect::<Vec<_>>().join("\n")
}

/// The one generator of the first worker in a run.
fn generator(resolved: &Resolved, run: usize) -> crate::work::Generator {
    resolved.deal(run, run as u32, 100.0, None).unwrap().shares[0][0].as_ref().unwrap().generators[0].clone()
}

#[test]
fn hosts_are_asked_about_the_sds_they_use() {
    let mut parms = on_two_hosts(file(
        vec![sized("sd1", 1 << 20), sd("sd2", "/dev/b"), sd("sd3", "sim:x"), sd("sd4", "/dev/unused")],
        vec![wd("wd1", &["sd1", "sd3"]), Wd { rdpct: some(50.0), hosts: words(&["b"]), ..wd("wd2", &["sd2"]) }],
        vec![rd("rd1", &["wd*"], IoRate::Max)],
    ));
    parms.general.misc =
        vec![(at("allow_in_use".to_owned()), at("sd2".to_owned())), (at("overwrite".to_owned()), at("sd*".to_owned()))];
    let plan = planned(&parms);
    let asked = |host| {
        let tell = |q: LunQuery| format!("{} {} {} {} {}", q.sd, q.lun, q.will_write, q.allow_in_use, q.overwrite);
        plan.lun_queries(host).into_iter().map(tell).collect::<Vec<_>>()
    };
    assert_eq!(asked(0), ["0 /f/sd1 true false true"]);
    assert_eq!(asked(1), ["0 /f/sd1 true false true", "1 /dev/b true true true"]);
}

#[test]
fn a_missing_file_is_formatted_first() {
    let resolved = resolved_as(&one(sized("sd1", 4 << 20), wd("wd1", &["sd1"])), LunKind::Missing, 0);
    assert_eq!(resolved.formats, [FormatNeed { sd: 0, lun: "/f/sd1".to_owned(), host: 0 }]);
    let run = &resolved.plan.runs[0];
    assert_eq!((run.name.as_str(), run.kind, run.elapsed, run.interval), ("SD_format", RunKind::Format, None, 1));
    assert_eq!(run.loop_texts(), ["threads=2", "iorate=max"]);
    assert_eq!(resolved.plan.wds, ["wd1", "SD_format_sd1"]);

    let deal = resolved.deal(0, 0, 0.0, None).unwrap();
    assert!(deal.uncontrolled);
    assert_eq!((deal.requested.rdpct, deal.requested.seekpct), (Some(0.0), None));
    let share = deal.shares[0][0].as_ref().unwrap();
    assert_eq!((share.intervals, share.targets[0].threads), (None, 2));
    assert!(share.targets[0].write && share.targets[0].create);
    let generator = &share.generators[0];
    assert_eq!((generator.seek, generator.xfer.clone()), (Seek::Eof, Xfer::Fixed(131_072)));
    // 10m are 80 writes of 128k; 4m are 32.
    assert_eq!(generator.miss, Area { low: 0, high: 4 << 20, wrap: None });
}

#[test]
fn a_format_of_small_files_writes_512_bytes() {
    let parms = one(sized("sd1", 100 << 10), wd("wd1", &["sd1"]));
    let small = resolved_as(&parms, LunKind::Missing, 0);
    let first = generator(&small, 0);
    assert_eq!((first.xfer, first.miss.high / 512), (Xfer::Fixed(512), 200));
    // Between 128k and 256k Vdbench refuses every run after the format.
    let between = resolved_as(&one(sized("sd1", 200 << 10), wd("wd1", &["sd1"])), LunKind::Missing, 0);
    assert_eq!(generator(&between, 0).xfer, Xfer::Fixed(512));
    let mut asked = parms.clone();
    asked.general.formatxfersize = some(8192);
    assert_eq!(generator(&resolved_as(&asked, LunKind::Missing, 0), 0).xfer, Xfer::Fixed(8192));
}

#[test]
fn an_interrupted_format_goes_on_and_any_size_works() {
    // 1100k: the last block is shortened, and what is already there is kept to the last whole mebibyte.
    let parms = one(sized("sd1", 1100 << 10), wd("wd1", &["sd1"]));
    let resolved = resolved_as(&parms, LunKind::File, 1_048_576 + 4096);
    assert_eq!(generator(&resolved, 0).miss, Area { low: 1_048_576, high: 1_126_400, wrap: None });
    // The workload itself: rounded down to its 4k, but to 128k while the format is in the same execution.
    assert_eq!(generator(&resolved, 1).miss.high, 1_048_576);
    let again = resolved_as(&parms, LunKind::File, 1_126_400);
    assert_eq!(again.plan.runs[0].name, "rd1");
    assert_eq!(generator(&again, 0).miss.high, 1_126_400);
}

#[test]
fn formatsds_decides_over_formats() {
    let mut parms = one(sized("sd1", 4 << 20), writing(&["sd1"]));
    parms.general.formatsds = some(false);
    let never = resolved_as(&parms, LunKind::Missing, 0);
    assert_eq!((never.plan.runs.len(), never.formats.len()), (1, 0));
    assert!(never.deal(0, 0, 0.0, None).unwrap().shares[0][0].as_ref().unwrap().targets[0].create);

    parms.general.formatsds = some(true);
    let always = resolved_as(&parms, LunKind::File, 4 << 20);
    assert_eq!(always.formats, []);
    assert_eq!(generator(&always, 0).miss, Area { low: 0, high: 4 << 20, wrap: None });
    let device = resolved_as(&one(sd("sd1", "/dev/x"), wd("wd1", &["sd1"])), LunKind::Block, 16 << 20);
    assert_eq!(device.plan.runs.len(), 1);
    let mut raw = parms.clone();
    raw.sds = vec![sd("sd1", "/dev/x")];
    let resolved = resolved_as(&raw, LunKind::Block, 16 << 20);
    assert_eq!(generator(&resolved, 0).miss, Area { low: 131_072, high: 16 << 20, wrap: None });
}

#[test]
fn a_format_moves_the_runs_that_others_refer_to() {
    let mut parms = one(sized("sd1", 4 << 20), wd("wd1", &["sd1"]));
    parms.rds[0] = rd("rd1", &["wd1"], IoRate::Curve);
    let resolved = resolved_as(&parms, LunKind::Missing, 0);
    assert_eq!(resolved.plan.runs[2].rate, Rate::CurvePoint { percent: 10.0, of_run: 1 });
}

#[test]
fn several_formats_go_at_once() {
    let parms = file(
        vec![sized("sd1", 4 << 20), sized("sd2", 8 << 20), sized("sd3", 8 << 20)],
        vec![wd("wd1", &["*"])],
        vec![rd("rd1", &["wd1"], IoRate::Max)],
    );
    let plan = planned(&parms);
    let facts =
        answers(&plan, |_, q| if q.sd == 1 { facts(q, LunKind::File, 8 << 20) } else { facts(q, LunKind::Missing, 0) });
    let resolved = plan.resolve(&facts, &[]).unwrap();
    assert_eq!(resolved.plan.wds, ["wd1", "SD_format_sd1", "SD_format_sd3"]);
    let deal = resolved.deal(0, 0, 0.0, None).unwrap();
    assert_eq!((deal.sds, deal.skews), (vec![0, 2], vec![Some(50.0), Some(50.0)]));
}

#[test]
fn what_is_no_storage_is_refused() {
    let parms = file(
        vec![sd("dir", "/f"), sd("pipe", "/p"), sized("new", 1 << 20), sd("none", "/f/x"), sd("empty", "/f/e")],
        vec![wd("wd1", &["*"])],
        vec![rd("rd1", &["wd1"], IoRate::Max)],
    );
    let mut parms = parms;
    parms.sds[2].luns = vec![at("/dev/nvme9n9".to_owned())];
    let kinds = [LunKind::Directory, LunKind::Other, LunKind::Missing, LunKind::Missing, LunKind::File];
    let problems = refused(&parms, |_, q| facts(q, kinds[q.sd as usize], 0));
    insta::assert_snapshot!(text(&problems), @r"
    Setup: sd=dir: lun=/f is a directory on host=localhost; name a file in it
    Setup: sd=pipe: lun=/p is neither a file nor a device on host=localhost
    Setup: sd=new: lun=/dev/nvme9n9 does not exist on host=localhost; devices are never created
    Setup: sd=none: lun=/f/x does not exist on host=localhost and has no size=; add size= to have it created
    Setup: sd=empty: lun=/f/e on host=localhost has no size; add size=
    ");
}

#[test]
fn hosts_must_see_the_same() {
    let parms = on_two_hosts(one(sd("sd1", "/dev/x"), wd("wd1", &["sd1"])));
    let sizes = refused(&parms, |host, q| facts(q, LunKind::Block, 1 << (20 + host)));
    insta::assert_snapshot!(text(&sizes), @"Setup: sd=sd1: its luns must be equal on all hosts, but lun=/dev/x on host=a and lun=/dev/x on host=b are not: one has 1048576 bytes, the other 2097152; with size= all use as much as that says");
    let kinds = refused(&parms, |host, q| facts(q, [LunKind::Block, LunKind::File][host], 1 << 20));
    insta::assert_snapshot!(text(&kinds), @"Setup: sd=sd1: its luns must be equal on all hosts, but lun=/dev/x on host=a and lun=/dev/x on host=b are not: one is a device, the other is not");
    let parms = on_two_hosts(one(sized("sd1", 1 << 20), wd("wd1", &["sd1"])));
    let missing = refused(&parms, |host, q| facts(q, [LunKind::File, LunKind::Missing][host], [1 << 20, 0][host]));
    insta::assert_snapshot!(text(&missing), @"Setup: sd=sd1: its luns must be equal on all hosts, but lun=/f/sd1 on host=b and lun=/f/sd1 on host=a are not: one does not exist");
}

#[test]
fn permissions_are_checked_for_what_is_done() {
    let locked =
        |_: usize, q: &LunQuery| LunFacts { readable: false, writable: false, ..facts(q, LunKind::File, 10 << 20) };
    insta::assert_snapshot!(text(&refused(&one(sized("sd1", 10 << 20), wd("wd1", &["sd1"])), locked)), @"Setup: sd=sd1: no permission to read lun=/f/sd1 on host=localhost; run brunt there as a user who may (over ssh: user=, misc=(become=…))");
    insta::assert_snapshot!(text(&refused(&one(sized("sd1", 10 << 20), writing(&["sd1"])), locked)), @"Setup: sd=sd1: no permission to write lun=/f/sd1 on host=localhost; run brunt there as a user who may (over ssh: user=, misc=(become=…))");
    let nowhere = |_: usize, q: &LunQuery| LunFacts { writable: false, ..facts(q, LunKind::Missing, 0) };
    insta::assert_snapshot!(text(&refused(&one(sized("sd1", 10 << 20), wd("wd1", &["sd1"])), nowhere)), @"Setup: sd=sd1: no permission to create lun=/f/sd1 on host=localhost; run brunt there as a user who may (over ssh: user=, misc=(become=…))");
}

#[test]
fn safety_counts_only_for_what_is_written() {
    let in_use = |q: &LunQuery| LunFacts {
        refusals: vec!["it is mounted on /home".to_owned()],
        warnings: vec!["it has a partition table".to_owned()],
        ..facts(q, LunKind::Block, 16 << 20)
    };
    let problems = refused(&one(sd("sd1", "/dev/x"), writing(&["sd1"])), |_, q| in_use(q));
    insta::assert_snapshot!(text(&problems), @"Safety: sd=sd1: lun=/dev/x on host=localhost is not written: it is mounted on /home");
    let plan = planned(&one(sd("sd1", "/dev/x"), wd("wd1", &["sd1"])));
    let facts = answers(&plan, |_, q| in_use(q));
    let resolved = plan.resolve(&facts, &[]).unwrap();
    assert!(!notices(&resolved).contains("partition"));
}

#[test]
fn one_device_is_one_sd() {
    let pair = file(
        vec![sd("sd1", "/dev/x"), sd("sd2", "/dev/y")],
        vec![wd("wd1", &["*"])],
        vec![rd("rd1", &["wd1"], IoRate::Max)],
    );
    let same = |kind| {
        move |_: usize, q: &LunQuery| LunFacts { identity: Some("naa.1".to_owned()), ..facts(q, kind, 16 << 20) }
    };
    insta::assert_snapshot!(text(&refused(&pair, same(LunKind::Block))), @"Safety: sd=sd1 (lun=/dev/x on host=localhost) and sd=sd2 (lun=/dev/y on host=localhost) are one device, naa.1, perhaps two paths to it; misc=(identity=warn) allows it");

    let two = on_two_hosts(one(sd("sd1", "/dev/x"), wd("wd1", &["sd1"])));
    let by_host = |host: usize, q: &LunQuery| LunFacts {
        identity: Some(format!("naa.{host}")),
        ..facts(q, LunKind::Block, 16 << 20)
    };
    insta::assert_snapshot!(text(&refused(&two, by_host)), @"Safety: sd=sd1 is two devices: lun=/dev/x on host=a is naa.0, lun=/dev/x on host=b is naa.1; misc=(identity=warn) allows it");

    // Two SDs on one file are fine, and so is a device with a waiver.
    let plan = planned(&pair);
    let files = answers(&plan, same(LunKind::File));
    assert!(plan.resolve(&files, &[]).is_ok());
    let mut waived = pair.clone();
    waived.general.misc = vec![(at("identity".to_owned()), at("warn".to_owned()))];
    let plan = planned(&waived);
    let devices = answers(&plan, same(LunKind::Block));
    let resolved = plan.resolve(&devices, &[]).unwrap();
    assert!(resolved.notices.iter().any(|n| n.warning && n.code == "identity"));
}

#[test]
fn an_area_that_is_too_small_is_found_before_the_first_run() {
    let mut parms = one(sized("sd1", 10 << 20), wd("wd1", &["sd1"]));
    parms.wds.push(Wd { range: some((0.0, 250.0)), ..wd("wd2", &["sd1"]) });
    parms.rds.push(rd("rd2", &["wd2"], IoRate::Max));
    let problems = refused(&parms, |_, q| facts(q, LunKind::File, 10 << 20));
    insta::assert_snapshot!(text(&problems), @"Setup: rd=rd2: sd=sd1: insufficient lun size: of 10485760 bytes it has 0 from 0 to 0 for this workload, and needs two of the largest transfer size, 4096");
    assert_eq!(problems[0].span, parms.sds[0].name.as_ref().map(|n| n.span));
}

#[test]
fn notices_tell_of_caches_direct_io_and_heads() {
    let parms = file(
        vec![sized("sd1", 10 << 20), sd("sd2", "/dev/x"), sd("sd3", "/dev/y")],
        vec![wd("wd1", &["*"]), Wd { rdpct: some(0.0), ..moving("wd2", &["sd2", "sd3"], 262_144, SeekPct::Eof) }],
        vec![rd("rd1", &["wd1"], IoRate::Max), rd("rd2", &["wd2"], IoRate::Max)],
    );
    let mut parms = parms;
    parms.sds[2].openflags = words(&["o_direct"]);
    let plan = planned(&parms);
    let facts = answers(&plan, |_, q| facts(q, if q.sd == 0 { LunKind::File } else { LunKind::Block }, 16 << 20));
    let resolved = plan.resolve(&facts, &[]).unwrap();
    insta::assert_snapshot!(notices(&resolved), @r"
    page-cache: sd=sd1: without openflags=o_direct the page cache of the host is measured, not the storage
    direct-added: sd=sd2: a block device without openflags= is opened with o_direct
    head-unwritten: sd=sd2,sd3: the first 262144 bytes of a raw device stay unwritten, the largest transfer size of this execution; a later run with smaller transfers reads them
    ");
    let deal = resolved.deal(1, 1, 0.0, None).unwrap();
    assert_eq!(deal.shares[0][0].as_ref().unwrap().targets[0].flags, [OpenFlag::Direct]);
}

#[test]
fn a_size_beyond_a_device_is_a_warning() {
    let mut parms = one(sd("sd1", "/dev/x"), wd("wd1", &["sd1"]));
    parms.sds[0].size = some(32 << 20);
    let resolved = resolved_as(&parms, LunKind::Block, 16 << 20);
    assert_eq!(resolved.sd_sizes, [Some(32 << 20)]);
    assert!(notices(&resolved).starts_with("insufficient-size: sd=sd1: size=33554432 is more than lun=/dev/x has"));
}

#[test]
fn only_the_first_bytes_of_a_larger_file_are_used() {
    let resolved = resolved_as(&one(sized("sd1", 8 << 20), wd("wd1", &["sd1"])), LunKind::File, 64 << 20);
    assert_eq!((resolved.sd_sizes.as_slice(), resolved.plan.runs.len()), ([Some(8 << 20)].as_slice(), 1));
}

#[test]
fn a_simulated_device_needs_no_size_and_no_answer() {
    let mut parms = one(sd("sd1", "sim:x"), wd("wd1", &["sd1"]));
    parms.wds[0].rhpct = some(100.0);
    for (key, value) in [("sim.x.hit", "39u"), ("sim.x.clock", "virtual")] {
        parms.general.misc.push((at(key.to_owned()), at(value.to_owned())));
    }
    let resolved = planned(&parms).resolve(&[Vec::new()], &[]).unwrap();
    let deal = resolved.deal(0, 0, 0.0, None).unwrap();
    let share = deal.shares[0][0].as_ref().unwrap();
    let target = &share.targets[0];
    let sim = target.sim.unwrap();
    assert_eq!(
        (sim.hit_ns, sim.hit_area, sim.virtual_clock, target.raw, target.create),
        (39_000, 1 << 20, true, true, false)
    );
    // Raw: the first X bytes are skipped.
    assert_eq!(share.generators[0].hit, Some(Area { low: 4096, high: 1 << 20, wrap: None }));
    parms.general.misc.push((at("sim.x.raw".to_owned()), at("no".to_owned())));
    let resolved = planned(&parms).resolve(&[Vec::new()], &[]).unwrap();
    assert_eq!(generator(&resolved, 0).hit.unwrap().low, 0);
}

#[test]
fn a_host_that_keeps_silent_is_named() {
    let plan = planned(&one(sized("sd1", 1 << 20), wd("wd1", &["sd1"])));
    let problems = plan.resolve(&[], &[]).map(|_| ()).unwrap_err();
    insta::assert_snapshot!(text(&problems), @"Setup: sd=sd1: host=localhost did not say what its lun is");
}

#[test]
fn maxdata_up_to_a_hundred_is_a_multiple_of_the_size() {
    let mut parms = file(
        vec![sized("sd1", 10 << 20), sized("sd2", 10 << 20)],
        vec![wd("wd1", &["sd1"]), wd("wd2", &["*"])],
        vec![rd("rd1", &["wd*"], IoRate::Max)],
    );
    parms.rds[0].maxdata = vec![(MaxDataKind::Both, at(2.0)), (MaxDataKind::Read, at(5000.0))];
    let resolved = resolved(&parms);
    assert_eq!(resolved.plan.runs[0].max_data, [(MaxDataKind::Both, f64::from(40 << 20)), (MaxDataKind::Read, 5000.0)]);
}

#[test]
fn direct_io_keeps_to_the_block_size() {
    let block = |q: &LunQuery, kind, size| LunFacts { block_size: Some(4096), ..facts(q, kind, size) };
    // An odd size: the end that cannot be written is left out, so that the second execution finds nothing to do.
    let mut parms = one(sized("sd1", 3_000_000), wd("wd1", &["sd1"]));
    parms.sds[0].openflags = words(&["o_direct"]);
    let plan = planned(&parms);
    let missing = answers(&plan, |_, q| block(q, LunKind::Missing, 0));
    assert_eq!(generator(&plan.resolve(&missing, &[]).unwrap(), 0).miss.high, 2_998_272);
    let plan = planned(&parms);
    let there = answers(&plan, |_, q| block(q, LunKind::File, 2_998_272));
    assert_eq!(plan.resolve(&there, &[]).unwrap().plan.runs[0].name, "rd1");

    // A format in small blocks uses the device's.
    let mut small = parms.clone();
    small.sds[0].size = some(100 << 10);
    let plan = planned(&small);
    let missing = answers(&plan, |_, q| block(q, LunKind::Missing, 0));
    assert_eq!(generator(&plan.resolve(&missing, &[]).unwrap(), 0).xfer, Xfer::Fixed(4096));

    // A workload in smaller blocks cannot work.
    parms.wds = vec![moving("wd1", &["sd1"], 512, SeekPct::Percent(100.0))];
    let problems = refused(&parms, |_, q| block(q, LunKind::File, 4 << 20));
    insta::assert_snapshot!(text(&problems), @"Setup: rd=rd1: sd=sd1: a transfer size of 512 is no multiple of its block size 4096, which o_direct needs");
}

#[test]
fn a_file_that_two_machines_miss_is_made_on_one() {
    let parms = on_two_hosts(one(sized("sd1", 1 << 20), wd("wd1", &["sd1"])));
    let resolved = resolved_as(&parms, LunKind::Missing, 0);
    assert_eq!(resolved.formats.len(), 2);
    let deal = resolved.deal(0, 0, 0.0, None).unwrap();
    assert_eq!(deal.shares.iter().flatten().flatten().count(), 1);
    assert!(resolved.notices.iter().any(|n| n.code == "format-on-one-host"));
}
