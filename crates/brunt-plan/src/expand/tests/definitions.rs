//! Hosts, SDs and WDs: multiplied, numbered and selected.

use super::*;

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
        run.sds = names(&[word]);
        let plan = plan(&file(sds.clone(), vec![wd("wd1", &["sd1"])], vec![run]));
        plan.runs.iter().map(|r| r.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names("single"), ["rd1_sd1", "rd1_sd2", "rd1_sd3", "rd1_sd4", "rd1_sd5"]);
    assert_eq!(names("range"), ["rd1_sd1-sd1", "rd1_sd1-sd2", "rd1_sd1-sd3", "rd1_sd1-sd4", "rd1_sd1-sd5"]);
    assert_eq!(names("setsof2"), ["rd1_sd5_sd4", "rd1_sd1_sd3", "rd1_sd2"]);
    assert_eq!(names("setsof1"), names("single"));
}

#[test]
fn an_rd_with_sds_alone_gets_an_anonymous_workload() {
    let mut run = rd("rd1", &[], IoRate::Max);
    (run.wds, run.sds) = (None, names(&["sd1"]));
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
    run.sds = names(&["sd2"]);
    // sd9 does not exist, but it is not used.
    let parms = file(vec![sized("sd1", 1 << 20), sized("sd2", 1 << 20)], vec![wd("wd1", &["sd9"])], vec![run]);
    assert_eq!(*plan(&parms).runs[0].workloads[0].sds, [1]);
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
