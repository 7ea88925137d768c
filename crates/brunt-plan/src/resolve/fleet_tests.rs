//! What several hosts say of the same luns: everything that is wrong, in one list, and which LUN is which.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use brunt_parm::ast::{IoRate, ParmFile, Sd, Wd};

use super::*;
use crate::testing::*;
use crate::work::LunKind;

const GIB: u64 = 1 << 30;

/// Hosts, one worker each, that all run one workload over all SDs.
fn over(hosts: &[&str], sds: Vec<Sd>) -> ParmFile {
    let mut parms = file(sds, vec![wd("wd1", &["*"])], vec![rd("rd1", &["wd1"], IoRate::Max)]);
    parms.hosts = hosts.iter().map(|name| hd(name, 1)).collect();
    parms
}

/// An SD with a lun of its own on each host.
fn apart(name: &str, luns: &[(&str, &str)]) -> Sd {
    let mut sd = sd(name, "");
    sd.luns = luns.iter().map(|(_, lun)| at((*lun).to_owned())).collect();
    sd.hosts = luns.iter().map(|(host, _)| words(&[host]).unwrap()).collect();
    sd
}

/// Hosts on these machines; an empty name: one that does not tell.
fn machines(names: &[&str]) -> Vec<HostTraits> {
    let machine = |name: &&str| HostTraits {
        machine: Some((*name).to_owned()).filter(|name| !name.is_empty()),
        ..HostTraits::default()
    };
    names.iter().map(machine).collect()
}

/// A block device of 1 GiB with that identity.
fn device(query: &LunQuery, identity: &str) -> LunFacts {
    LunFacts { identity: Some(identity.to_owned()), ..facts(query, LunKind::Block, GIB) }
}

fn problems(parms: &ParmFile, hosts: &[HostTraits], answer: impl Fn(usize, &LunQuery) -> LunFacts) -> String {
    let plan = planned(parms);
    let facts = answers(&plan, answer);
    match plan.resolve(&facts, hosts) {
        Ok(_) => String::new(),
        Err(problems) => problems.iter().map(|p| format!("{:?}: {}", p.kind, p.text)).collect::<Vec<_>>().join("\n"),
    }
}

fn notices(parms: &ParmFile, hosts: &[HostTraits], answer: impl Fn(usize, &LunQuery) -> LunFacts) -> String {
    let plan = planned(parms);
    let facts = answers(&plan, answer);
    let resolved = plan.resolve(&facts, hosts).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let told = resolved.notices.iter().filter(|n| ["identity", "identity-unknown", "same-file"].contains(&n.code));
    told.map(|n| format!("{}: {}", n.code, n.text)).collect::<Vec<_>>().join("\n")
}

#[test]
fn all_problems_of_all_hosts_are_in_one_list() {
    // B25: on the second host the lun is missing, on the third it is too small for the range.
    let mut sd = sd("s", "/dev/TGT0");
    sd.range = some((0.0, 4.0 * GIB as f64));
    let parms = over(&["w1", "w2", "w3"], vec![sd]);
    let told = problems(&parms, &[], |host, q| match host {
        0 => facts(q, LunKind::Block, 8 * GIB),
        1 => facts(q, LunKind::Missing, 0),
        _ => facts(q, LunKind::Block, GIB),
    });
    insta::assert_snapshot!(told, @r"
    Setup: sd=s: lun=/dev/TGT0 does not exist on host=w2; devices are never created
    Setup: sd=s: its luns must be equal on all hosts, but lun=/dev/TGT0 on host=w1 and lun=/dev/TGT0 on host=w3 are not: one has 8589934592 bytes, the other 1073741824; with size= all use as much as that says
    Setup: rd=rd1: sd=s: range=(0,4294967296) reaches beyond its 1073741824 bytes (lun=/dev/TGT0 on host=w3)
    ");
}

#[test]
fn each_host_that_differs_is_named() {
    let parms = over(&["a", "b", "c", "d", "e"], vec![sd("sd1", "/dev/x"), sd("sd2", "/dev/y")]);
    let told = problems(&parms, &[], |host, q| match (q.sd, host) {
        (0, 0 | 3) => facts(q, LunKind::Block, 2 * GIB),
        (0, _) => facts(q, LunKind::Block, GIB),
        (_, 1) => LunFacts { readable: false, ..facts(q, LunKind::Block, GIB) },
        (_, 2) => facts(q, LunKind::File, GIB),
        (_, 4) => LunFacts { trouble: Some("it does not answer".to_owned()), ..facts(q, LunKind::Other, 0) },
        _ => facts(q, LunKind::Block, GIB),
    });
    insta::assert_snapshot!(told, @r"
    Setup: sd=sd1: its luns must be equal on all hosts, but lun=/dev/x on host=b and lun=/dev/x on host=a are not: one has 1073741824 bytes, the other 2147483648; with size= all use as much as that says
    Setup: sd=sd1: its luns must be equal on all hosts, but lun=/dev/x on host=b and lun=/dev/x on host=d are not: one has 1073741824 bytes, the other 2147483648; with size= all use as much as that says
    Setup: sd=sd2: lun=/dev/y on host=e: it does not answer
    Setup: sd=sd2: its luns must be equal on all hosts, but lun=/dev/y on host=a and lun=/dev/y on host=c are not: one is a device, the other is not
    Setup: sd=sd2: no permission to read lun=/dev/y on host=b; run brunt there as a user who may (over ssh: user=, misc=(become=…))
    ");
}

#[test]
fn what_cannot_be_written_anywhere_is_told_of_every_host() {
    let mut parms = over(&["a", "b", "c"], vec![sd("sd1", "/dev/x")]);
    parms.wds[0] = Wd { rdpct: some(50.0), ..wd("wd1", &["*"]) };
    let told = problems(&parms, &[], |host, q| match host {
        0 => facts(q, LunKind::Missing, 0),
        1 => LunFacts { refusals: vec!["/dev/x is in use: it is mounted on /home".to_owned()], ..device(q, "wwid:1") },
        _ => LunFacts { writable: false, ..device(q, "wwid:1") },
    });
    insta::assert_snapshot!(told, @r"
    Setup: sd=sd1: lun=/dev/x does not exist on host=a; devices are never created
    Safety: sd=sd1: lun=/dev/x on host=b is not written: /dev/x is in use: it is mounted on /home
    Setup: sd=sd1: no permission to write lun=/dev/x on host=c; run brunt there as a user who may (over ssh: user=, misc=(become=…))
    ");
}

#[test]
fn a_host_that_did_not_answer_is_not_told_twice() {
    let parms = over(&["a", "b"], vec![sd("sd1", "/dev/x")]);
    let plan = planned(&parms);
    let mut facts = answers(&plan, |_, q| device(q, "wwid:1"));
    facts[1].clear();
    let silent = |silent| vec![HostTraits::default(), HostTraits { silent, ..HostTraits::default() }];
    assert!(plan.clone().resolve(&facts, &silent(true)).is_ok());
    let problems = plan.resolve(&facts, &silent(false)).unwrap_err();
    insta::assert_snapshot!(problems[0].text, @"sd=sd1: host=b did not say what its lun is");
}

#[test]
fn one_sd_is_one_device_on_all_hosts() {
    let parms = over(&["a", "b", "c", "d"], vec![sd("sd1", "/dev/x")]);
    let told = problems(&parms, &[], |host, q| device(q, ["wwid:odd", "wwid:1", "wwid:1", "wwid:else"][host]));
    insta::assert_snapshot!(told, @r"
    Safety: sd=sd1 is two devices: lun=/dev/x on host=b is wwid:1, lun=/dev/x on host=a is wwid:odd; misc=(identity=warn) allows it
    Safety: sd=sd1 is two devices: lun=/dev/x on host=b is wwid:1, lun=/dev/x on host=d is wwid:else; misc=(identity=warn) allows it
    ");
    assert_eq!(problems(&parms, &[], |_, q| device(q, "wwid:1")), "");
}

#[test]
fn two_sds_are_two_devices_on_one_host_and_over_hosts() {
    let two = over(&["a"], vec![sd("sd1", "/dev/x"), sd("sd2", "/dev/y"), sd("sd3", "wwn:0x5000c500a1b2c3d4")]);
    let told = problems(&two, &[], |_, q| {
        let path = (q.sd == 2).then(|| "/dev/z".to_owned());
        LunFacts { path, ..device(q, "wwid:naa.5000c500a1b2c3d4") }
    });
    insta::assert_snapshot!(told, @r"
    Safety: sd=sd1 (lun=/dev/x on host=a) and sd=sd2 (lun=/dev/y on host=a) are one device, wwid:naa.5000c500a1b2c3d4, perhaps two paths to it; misc=(identity=warn) allows it
    Safety: sd=sd1 (lun=/dev/x on host=a) and sd=sd3 (lun=/dev/z on host=a) are one device, wwid:naa.5000c500a1b2c3d4, perhaps two paths to it; misc=(identity=warn) allows it
    ");
    // Each host sees it under a name of its own, and as an SD of its own.
    let apart = over(&["a", "b"], vec![apart("sd1", &[("a", "/dev/x")]), apart("sd2", &[("b", "/dev/y")])]);
    insta::assert_snapshot!(problems(&apart, &[], |_, q| device(q, "wwid:1")), @"Safety: sd=sd1 (lun=/dev/x on host=a) and sd=sd2 (lun=/dev/y on host=b) are one device, wwid:1, perhaps two paths to it; misc=(identity=warn) allows it");
    let mut waived = apart.clone();
    waived.general.misc = vec![(at("identity".to_owned()), at("warn".to_owned()))];
    insta::assert_snapshot!(notices(&waived, &[], |_, q| device(q, "wwid:1")), @"identity: sd=sd1 (lun=/dev/x on host=a) and sd=sd2 (lun=/dev/y on host=b) are one device, wwid:1, perhaps two paths to it");
}

#[test]
fn what_holds_on_one_machine_is_compared_there_only() {
    let parms = over(&["a", "b"], vec![sd("sd1", "/dev/x")]);
    let other = |host: usize, q: &LunQuery| device(q, ["local:block:8:16", "local:block:8:32"][host]);
    let same = |_: usize, q: &LunQuery| device(q, "local:block:8:16");
    // Two machines: numbers mean nothing there.
    assert_eq!(problems(&parms, &machines(&["m1", "m2"]), other), "");
    assert_eq!(problems(&parms, &machines(&["", ""]), other), "");
    insta::assert_snapshot!(notices(&parms, &machines(&["m1", "m2"]), other), @"identity-unknown: sd=sd1: lun=/dev/x on host=a has no identity that holds on other machines; that all hosts see one device is taken for granted");
    // One machine under two labels.
    insta::assert_snapshot!(problems(&parms, &machines(&["m1", "m1"]), other), @"Safety: sd=sd1 is two devices: lun=/dev/x on host=a is local:block:8:16, lun=/dev/x on host=b is local:block:8:32; misc=(identity=warn) allows it");
    assert_eq!(problems(&parms, &machines(&["m1", "m1"]), same), "");
    assert_eq!(notices(&parms, &machines(&["m1", "m1"]), same), "");
    // A device with an identity and one without are two, where that can be said.
    let half = |host: usize, q: &LunQuery| device(q, ["wwid:1", "local:block:8:32"][host]);
    assert_eq!(problems(&parms, &machines(&["m1", "m2"]), half), "");
    assert!(problems(&parms, &machines(&["m1", "m1"]), half).starts_with("Safety: sd=sd1 is two devices"));
}

#[test]
fn two_sds_with_one_number_are_one_device_on_one_machine() {
    let apart = over(&["a", "b"], vec![apart("sd1", &[("a", "/dev/x")]), apart("sd2", &[("b", "/dev/x")])]);
    let answer = |_: usize, q: &LunQuery| device(q, "local:block:8:16");
    assert_eq!(problems(&apart, &machines(&["m1", "m2"]), answer), "");
    insta::assert_snapshot!(problems(&apart, &machines(&["m1", "m1"]), answer), @"Safety: sd=sd1 (lun=/dev/x on host=a) and sd=sd2 (lun=/dev/x on host=b) are one device, local:block:8:16, perhaps two paths to it; misc=(identity=warn) allows it");
}

#[test]
fn the_same_file_through_two_labels_is_the_same_lun() {
    let file = |_: usize, q: &LunQuery| LunFacts {
        identity: Some("local:file:8:1:77".to_owned()),
        ..facts(q, LunKind::File, 10 << 20)
    };
    let one = over(&["a", "b"], vec![sized("sd1", 10 << 20)]);
    assert_eq!(notices(&one, &machines(&["m1", "m1"]), file), "");
    let size = |sd: Sd| Sd { size: some(10 << 20), ..sd };
    let two = over(&["a", "b"], vec![size(apart("sd1", &[("a", "/f")])), size(apart("sd2", &[("b", "/f")]))]);
    insta::assert_snapshot!(notices(&two, &machines(&["m1", "m1"]), file), @"same-file: sd=sd1 (lun=/f on host=a) and sd=sd2 (lun=/f on host=b) are the same file");
    assert_eq!(notices(&two, &machines(&["m1", "m2"]), file), "");
    // One SD may have a file of its own on each host.
    let own =
        |host: usize, q: &LunQuery| LunFacts { identity: Some(format!("local:file:8:1:{host}")), ..file(host, q) };
    assert_eq!(problems(&one, &machines(&["m1", "m1"]), own), "");
}

#[test]
fn a_lun_that_is_asked_for_by_its_identity_is_where_the_host_found_it() {
    let parms = over(&["a", "b"], vec![sd("sd1", "wwn:0x5000c500a1b2c3d4")]);
    let plan = planned(&parms);
    assert_eq!(plan.lun_queries(1)[0].lun, "wwn:0x5000c500a1b2c3d4");
    let facts = answers(&plan, |host, q| LunFacts {
        path: Some(format!("/dev/sd{host}")),
        ..device(q, "wwid:naa.5000c500a1b2c3d4")
    });
    let deal = plan.resolve(&facts, &[]).unwrap().deal(0, 0, 0.0, None).unwrap();
    let luns = deal.shares.iter().flatten().flatten().flat_map(|s| &s.targets).map(|t| t.lun.as_str());
    assert_eq!(luns.collect::<Vec<_>>(), ["/dev/sd0", "/dev/sd1"]);

    let told = problems(&parms, &[], |host, q| {
        let trouble = Some("there is no device with the identity x".to_owned()).filter(|_| host == 1);
        LunFacts { trouble, ..device(q, "wwid:naa.5000c500a1b2c3d4") }
    });
    insta::assert_snapshot!(told, @"Setup: sd=sd1: lun=wwn:0x5000c500a1b2c3d4 on host=b: there is no device with the identity x");
}

#[test]
fn what_names_no_device_is_found_in_the_file() {
    let mut diags = Vec::new();
    let parms = over(&["a"], vec![sd("sd1", "wwn:0x12")]);
    assert!(crate::expand(&parms, &crate::Options::default(), &mut diags).is_none());
    assert_eq!((diags[0].code, diags[0].message.as_str()), ("lun-identity", "lun=`wwn:0x12` names no device"));
    assert_eq!(diags[0].span, Some(parms.sds[0].luns[0].span));
}

#[test]
fn reading_a_device_asks_for_no_right_to_write() {
    let mut sd = sd("sd1", "/dev/x");
    sd.size = some(GIB);
    let parms = over(&["a"], vec![sd, sized("sd2", 1 << 20)]);
    let asked = |parms: &ParmFile| planned(parms).lun_queries(0).iter().map(|q| q.will_write).collect::<Vec<_>>();
    assert_eq!(asked(&parms), [false, true], "a file may have to be made");
    let mut formatted = parms.clone();
    formatted.general.formatsds = some(true);
    assert_eq!(asked(&formatted), [true, true]);
}

#[test]
fn a_host_on_which_any_run_writes_has_the_short_lease_in_all() {
    let sds = vec![apart("sd1", &[("a", "/dev/x")]), apart("sd2", &[("a", "/dev/y"), ("b", "/dev/y")])];
    let writes = Wd { rdpct: some(50.0), ..wd("wd2", &["sd1"]) };
    let mut parms = over(&["a", "b"], sds);
    parms.wds = vec![wd("wd1", &["sd2"]), writes];
    let leases = |parms: &ParmFile| planned(parms).leases().iter().map(Duration::as_secs).collect::<Vec<_>>();
    assert_eq!(leases(&parms), [120, 120], "nobody uses it");
    parms.rds.push(rd("rd2", &["wd2"], IoRate::Max));
    assert_eq!(leases(&parms), [30, 120]);
}

#[test]
fn a_file_that_labels_of_one_machine_miss_is_made_without_a_warning() {
    let plan = planned(&over(&["a", "b"], vec![sized("sd1", 1 << 20)]));
    let warned = |names: &[&str]| {
        let missing = answers(&plan, |_, q| facts(q, LunKind::Missing, 0));
        let resolved = plan.clone().resolve(&missing, &machines(names)).unwrap();
        resolved.notices.iter().any(|notice| notice.code == "format-on-one-host")
    };
    assert_eq!([warned(&["m1", "m1"]), warned(&["m1", "m2"]), warned(&["", ""])], [false, true, true]);
}
