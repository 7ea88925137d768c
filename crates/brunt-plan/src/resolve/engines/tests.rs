//! One back end per SD and host, from all runs.
#![allow(clippy::unwrap_used, clippy::panic)]

use brunt_parm::ast::{IoRate, LoopKind, ParmFile, Sd, SeekPct, Wd};
use proptest::prelude::*;

use crate::engine::Asked;
use crate::plan::Plan;
use crate::resolve::Resolved;
use crate::testing::*;
use crate::work::{Backend, EngineSupport, HostTraits, LunFacts, LunKind, LunQuery};

/// Luns in `/dev` are disks of 1 GiB with 128 tags, files whole files of 10 MiB on a disk.
fn usual(_: usize, query: &LunQuery) -> LunFacts {
    match query.lun.starts_with("/dev/") {
        true => LunFacts { nowait: Some(true), tags: Some(128), ..facts(query, LunKind::Block, 1 << 30) },
        false => LunFacts { nowait: Some(true), allocated: Some(true), ..facts(query, LunKind::File, 10 << 20) },
    }
}

fn resolved_with(plan: Plan, answer: impl Fn(usize, &LunQuery) -> LunFacts, support: &[EngineSupport]) -> Resolved {
    let facts = answers(&plan, answer);
    plan.resolve(&facts, &hosts(support)).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

/// Hosts with these back ends.
fn hosts(support: &[EngineSupport]) -> Vec<HostTraits> {
    support.iter().map(|engines| HostTraits { engines: engines.clone(), ..HostTraits::default() }).collect()
}

/// `sd host backend: why`, a line each.
fn told(resolved: &Resolved) -> String {
    let mut lines = Vec::new();
    for (sd, hosts) in resolved.plan.sds.iter().zip(&resolved.engines) {
        for (host, choice) in resolved.plan.hosts.iter().zip(hosts) {
            if let Some(choice) = choice {
                lines.push(format!("{} {} {}: {}", sd.name, host.label, choice.backend, choice.why));
            }
        }
    }
    lines.join("\n")
}

fn disk(name: &str, threads: i64) -> Sd {
    Sd { threads: some(threads), ..sd(name, &format!("/dev/{name}")) }
}

fn direct(name: &str) -> Sd {
    Sd { openflags: words(&["o_direct"]), ..sized(name, 10 << 20) }
}

fn on(hosts: Vec<brunt_parm::ast::Hd>, parms: ParmFile) -> Plan {
    planned(&ParmFile { hosts, ..parms })
}

/// Backends of a host by SD, in the order of the plan.
fn backends(resolved: &Resolved, host: usize) -> Vec<Option<Backend>> {
    resolved.engines.iter().map(|hosts| hosts[host].as_ref().map(|c| c.backend)).collect()
}

#[test]
fn lanes_are_those_of_the_run_that_has_most() {
    let mut looped = rd("rd2", &["wd2"], IoRate::Max);
    looped.loops = vec![looping(LoopKind::Threads, &[1.0, 4.0])];
    let parms = file(
        vec![disk("a", 1), disk("b", 1), disk("c", 2)],
        vec![wd("wd1", &["*"]), wd("wd2", &["b"])],
        vec![rd("rd1", &["wd1"], IoRate::Max), looped],
    );
    insta::assert_snapshot!(told(&resolved_with(planned(&parms), usual, &[])), @r"
    a localhost sync: never more than one I/O outstanding in a worker
    b localhost uring: a block device, several I/Os outstanding
    c localhost uring: a block device, several I/Os outstanding
    ");
}

#[test]
fn lanes_are_those_of_one_worker() {
    let eof = Wd { seekpct: some(SeekPct::Percent(0.0)), ..wd("wd2", &["seq"]) };
    let parms = file(
        vec![disk("few", 4), disk("many", 5), disk("seq", 4)],
        vec![wd("wd1", &["few", "many"]), eof],
        vec![rd("rd1", &["*"], IoRate::Max)],
    );
    let resolved = resolved_with(on(vec![hd("a", 2), hd("b", 2)], parms), usual, &[]);
    let (one, many) = (Some(Backend::Sync), Some(Backend::Uring));
    assert_eq!(backends(&resolved, 0), [one, many, many]);
}

#[test]
fn direct_counts_only_when_every_run_has_it() {
    let mut cached = rd("rd2", &["wd2"], IoRate::Max);
    cached.openflags = words(&["fsync"]);
    let parms = file(
        vec![direct("f1"), direct("f2"), sized("f3", 10 << 20), disk("d1", 8)],
        vec![wd("wd1", &["*"]), wd("wd2", &["f2", "d1"])],
        vec![rd("rd1", &["wd1"], IoRate::Max), cached],
    );
    insta::assert_snapshot!(told(&resolved_with(planned(&parms), usual, &[])), @r"
    f1 localhost uring: a whole file with direct I/O, several I/Os outstanding
    f2 localhost sync: page cache: an I/O completes in the system call
    f3 localhost sync: page cache: an I/O completes in the system call
    d1 localhost sync: page cache: an I/O completes in the system call
    ");
}

#[test]
fn a_file_that_is_made_or_extended_first_is_sync_in_all_runs() {
    let parms = file(vec![direct("f1")], vec![wd("wd1", &["*"])], vec![rd("rd1", &["wd1"], IoRate::Max)]);
    let missing = resolved_with(planned(&parms), |_, q| facts(q, LunKind::Missing, 0), &[]);
    let short = resolved_with(planned(&parms), |h, q| LunFacts { size: 4096, ..usual(h, q) }, &[]);
    for resolved in [missing, short] {
        assert_eq!(told(&resolved), "f1 localhost sync: the file is made first, which blocks");
        for run in 0..resolved.plan.runs.len() {
            let deal = resolved.deal(run, run as u32, 0.0, None).unwrap();
            assert_eq!(deal.shares[0][0].as_ref().unwrap().targets[0].backend, Backend::Sync);
        }
    }
}

#[test]
fn hosts_have_what_they_have() {
    let parms =
        file(vec![disk("d1", 16), sd("s1", "sim:x")], vec![wd("wd1", &["*"])], vec![rd("rd1", &["wd1"], IoRate::Max)]);
    let mut plan = on(vec![hd("a", 1), hd("b", 1)], parms);
    let support = [
        EngineSupport::default(),
        EngineSupport { no_uring: Some("this kernel has no io_uring".to_owned()), no_aio: None },
    ];
    let resolved = resolved_with(plan.clone(), usual, &support);
    insta::assert_snapshot!(told(&resolved), @r"
    d1 a uring: a block device, several I/Os outstanding
    d1 b aio: a block device, several I/Os outstanding; not uring: this kernel has no io_uring
    s1 a sim: a simulated device
    s1 b sim: a simulated device
    ");
    let deal = resolved.deal(0, 0, 0.0, None).unwrap();
    let shares: Vec<_> = deal.shares.iter().flatten().flatten().map(|s| &s.targets).collect();
    let dealt: Vec<Vec<Backend>> = shares.iter().map(|targets| targets.iter().map(|t| t.backend).collect()).collect();
    assert_eq!(dealt, [[Backend::Uring, Backend::Sim], [Backend::Aio, Backend::Sim]]);

    plan.settings.engine = Asked::Uring;
    let facts = answers(&plan, usual);
    let problems = plan.resolve(&facts, &self::hosts(&support)).unwrap_err();
    assert_eq!(problems.len(), 1);
    insta::assert_snapshot!(problems[0].text, @"sd=d1: host=b: engine=uring does not work there: this kernel has no io_uring; use engine=auto, which takes what works");
}

#[test]
fn more_threads_than_tags_are_told() {
    let parms = file(
        vec![disk("d1", 256), disk("d2", 128), disk("d3", 512), disk("d4", 512)],
        vec![wd("wd1", &["*"])],
        vec![rd("rd1", &["wd1"], IoRate::Max)],
    );
    let crowded = |hosts: usize| {
        let hosts = (0..hosts).map(|n| hd(&format!("h{n}"), 1)).collect();
        let resolved = resolved_with(on(hosts, parms.clone()), usual, &[]);
        let notices = resolved.notices.iter().filter(|n| n.code == "more-threads-than-tags");
        notices.map(|n| n.text.clone()).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(crowded(1), @r"
    sd=d1: threads 256 > tags 128: /dev/d1 takes 128 I/Os at once (queue/nr_requests); the rest waits in the kernel, and that wait is in the response times
    sd=d3,d4: threads 512 > tags 128: each device takes 128 I/Os at once (queue/nr_requests); the rest waits in the kernel, and that wait is in the response times
    ");
    // Half of them on each host.
    insta::assert_snapshot!(crowded(2), @"sd=d3,d4: threads 256 > tags 128: each device takes 128 I/Os at once (queue/nr_requests); the rest waits in the kernel, and that wait is in the response times");
}

#[test]
fn without_a_device_nothing_is_asked_of_it() {
    let parms = file(
        vec![disk("d1", 8), sized("f1", 1 << 20), sd("s1", "sim:x"), sd("f2", "/f/f2")],
        vec![Wd { rdpct: some(50.0), ..wd("wd1", &["*"]) }],
        vec![rd("rd1", &["wd1"], IoRate::Max)],
    );
    let mut plan = planned(&parms);
    plan.settings.engine = Asked::Null;
    plan.settings.format_sds = Some(true);
    let barred = |query: &LunQuery| LunFacts {
        writable: false,
        readable: false,
        refusals: vec!["it is mounted".to_owned()],
        ..usual(0, query)
    };
    let queries = plan.lun_queries(0);
    let asked: Vec<_> = queries.iter().map(|query| (query.name.as_str(), query.will_write)).collect();
    assert_eq!(asked, [("d1", false), ("f2", false)], "nothing is asked of what has size=");
    let facts = answers(&plan, |_, query| barred(query));
    let resolved = plan.clone().resolve(&facts, &[]).unwrap();
    assert_eq!((resolved.formats.len(), resolved.plan.runs.len()), (0, 1));
    assert_eq!(resolved.sd_sizes, [Some(1 << 30), Some(1 << 20), Some(1 << 30), Some(10 << 20)]);
    let deal = resolved.deal(0, 0, 0.0, None).unwrap();
    for target in &deal.shares[0][0].as_ref().unwrap().targets {
        let nothing = (target.backend, target.create, target.sim.is_none());
        assert_eq!(nothing, (Backend::Null, false, true), "{}", target.name);
    }
    let notices: Vec<String> = resolved.notices.iter().map(|n| format!("{}: {}", n.code, n.text)).collect();
    insta::assert_snapshot!(notices.join("\n"), @"engine-null: engine=null: no device is touched; every number of this execution is what the engine itself takes");

    let nowhere = answers(&plan, |_, query| self::facts(query, LunKind::Missing, 0));
    let problems = plan.resolve(&nowhere, &[]).unwrap_err();
    let problems: Vec<String> = problems.iter().map(|p| format!("{:?}: {}", p.kind, p.text)).collect();
    insta::assert_snapshot!(problems.join("\n"), @r"
    Setup: sd=d1: lun=/dev/d1 on host=localhost has no size: engine=null needs size= where there is no device to take it from
    Setup: sd=f2: lun=/f/f2 on host=localhost has no size: engine=null needs size= where there is no device to take it from
    ");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// What an SD gets on a host depends on neither the place of the SD in the file nor that of the host.
    #[test]
    fn order_does_not_matter(
        luns in proptest::collection::vec((any::<bool>(), 1i64..6, any::<Option<bool>>(), any::<bool>()), 1..6),
        hosts in proptest::collection::vec((1u32..4, any::<bool>(), any::<bool>()), 1..4),
        turn_sds in 0usize..6,
        turn_hosts in 0usize..4,
    ) {
        let turned = |turn_sds: usize, turn_hosts: usize| {
            let mut sds: Vec<Sd> = luns.iter().enumerate().map(|(n, (raw, threads, _, direct))| {
                let base = if *raw { disk(&format!("sd{n}"), *threads) } else { sized(&format!("sd{n}"), 10 << 20) };
                Sd { threads: some(*threads), openflags: words(&["o_direct"]).filter(|_| *direct), ..base }
            }).collect();
            sds.rotate_left(turn_sds % luns.len());
            let mut order: Vec<usize> = (0..hosts.len()).collect();
            order.rotate_left(turn_hosts % hosts.len());
            let parms = file(sds, vec![wd("wd1", &["*"])], vec![rd("rd1", &["wd1"], IoRate::Max)]);
            let plan = on(order.iter().map(|n| hd(&format!("h{n}"), hosts[*n].0)).collect(), parms);
            let support: Vec<EngineSupport> = order.iter().map(|n| {
                let no = |missing: bool| missing.then(|| "no".to_owned());
                EngineSupport { no_uring: no(hosts[*n].1), no_aio: no(hosts[*n].2) }
            }).collect();
            let answer = |host: usize, query: &LunQuery| {
                let at: usize = query.name[2..].parse().unwrap();
                LunFacts { nowait: luns[at].2, ..usual(host, query) }
            };
            let facts = answers(&plan, answer);
            // More workers than threads may leave a host without work: no run, and nothing to compare.
            plan.resolve(&facts, &self::hosts(&support)).ok().map(|resolved| {
                let mut lines: Vec<String> = told(&resolved).lines().map(str::to_owned).collect();
                lines.sort();
                lines
            })
        };
        prop_assert_eq!(turned(0, 0), turned(turn_sds, turn_hosts));
    }
}
