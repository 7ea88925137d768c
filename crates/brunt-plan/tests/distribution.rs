//! Work dealt over hosts, from text to shares: the rows of `docs/vdbench/raw.md` §1.8, §4, §8.5, §8.11 and §8.12, and
//! where `docs/vdbench/decisions.md` differs (sequential streams).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};

use brunt_parm::source::{ReadError, Reader};
use brunt_parm::{Input, Severity};
use brunt_plan::work::WorkerShare;
use brunt_plan::{Deal, Options, Resolved, expand};
use proptest::prelude::*;

struct Text(String);

impl Reader for Text {
    fn read(&self, _: &str) -> Result<String, ReadError> {
        Ok(self.0.clone())
    }

    fn absolute(&self, path: &str) -> String {
        format!("/work/{path}")
    }
}

/// A plan of simulated devices, about which no host has to be asked.
fn resolved(text: &str) -> Resolved {
    let input = Input { files: vec!["parmfile".to_owned()], ..Input::default() };
    let parsed = brunt_parm::parse(&input, &Text(text.to_owned()));
    let mut diags = parsed.diags;
    let plan = expand(&parsed.file, &Options::default(), &mut diags);
    let errors: Vec<_> = diags.iter().filter(|d| d.severity == Severity::Error).collect();
    let plan = plan.unwrap_or_else(|| panic!("{text}\n{errors:?}"));
    let nothing = vec![Vec::new(); plan.hosts.len()];
    plan.resolve(&nothing, &[]).unwrap_or_else(|problems| panic!("{text}\n{problems:?}"))
}

fn deal_at(text: &str, rate: f64) -> Deal {
    resolved(text).deal(0, 0, rate, None).unwrap_or_else(|problems| panic!("{text}\n{problems:?}"))
}

/// Each worker with work as `label: sd=threads …`.
fn threads(text: &str) -> Vec<String> {
    let line = |share: &WorkerShare| {
        let targets: BTreeMap<u32, String> =
            share.targets.iter().map(|t| (t.sd, format!("{}={}", t.name, t.threads))).collect();
        format!("{}: {}", share.worker, targets.into_values().collect::<Vec<_>>().join(" "))
    };
    deal_at(text, 1000.0).shares.iter().flatten().flatten().map(line).collect()
}

/// Each generator as `worker workload sd rate`.
fn rates(text: &str, rate: f64) -> Vec<String> {
    let deal = deal_at(text, rate);
    let of_share = |share: &WorkerShare| {
        let line = |g: &brunt_plan::work::Generator| {
            format!("{} {} {} {:.3}", share.worker, g.workload, share.targets[g.target as usize].name, g.rate)
        };
        share.generators.iter().map(line).collect::<Vec<_>>()
    };
    deal.shares.iter().flatten().flatten().flat_map(of_share).collect()
}

/// Each sequential stream as `worker: workload/sd …`.
fn streams(text: &str) -> Vec<String> {
    let line = |share: &WorkerShare| {
        let words =
            share.generators.iter().map(|g| format!("{}/{}", g.workload, share.targets[g.target as usize].name));
        format!("{}: {}", share.worker, words.collect::<Vec<_>>().join(" "))
    };
    deal_at(text, 1000.0).shares.iter().flatten().flatten().map(line).collect()
}

/// SDs sd1, sd2… with these threads.
fn sds(threads: &[u32]) -> String {
    threads.iter().enumerate().map(|(n, t)| format!("sd=sd{0},lun=sim:d{0},threads={t}\n", n + 1)).collect()
}

const MAX: &str = "wd=wd1,sd=*\nrd=rd1,wd=wd*,iorate=max,elapsed=4,interval=1\n";

#[test]
fn threads_go_round_over_hosts_and_then_to_the_least_loaded_worker() {
    let table: [(&str, &[u32], &[&str]); 10] = [
        ("hd=s,jvms=2\n", &[3, 3], &["s-0: sd1=2 sd2=1", "s-1: sd1=1 sd2=2"]),
        ("hd=s,jvms=2\n", &[1, 1], &["s-0: sd1=1", "s-1: sd2=1"]),
        ("hd=s,jvms=3\n", &[4, 4], &["s-0: sd1=2 sd2=1", "s-1: sd1=1 sd2=2", "s-2: sd1=1 sd2=1"]),
        ("hd=s,jvms=3\n", &[2, 2, 2, 2], &["s-0: sd1=1 sd2=1 sd4=1", "s-1: sd1=1 sd3=1 sd4=1", "s-2: sd2=1 sd3=1"]),
        ("hd=s,jvms=2\n", &[1, 1, 1, 3], &["s-0: sd1=1 sd3=1 sd4=1", "s-1: sd2=1 sd4=2"]),
        ("hd=s,jvms=3\n", &[2], &["s-0: sd1=1", "s-1: sd1=1"]),
        ("hd=A\nhd=B\n", &[3, 3], &["A-0: sd1=2 sd2=1", "B-0: sd1=1 sd2=2"]),
        ("hd=A\nhd=B\n", &[1, 1], &["A-0: sd1=1", "B-0: sd2=1"]),
        // The round goes on from SD to SD.
        ("hd=A\nhd=B\nhd=C\n", &[2, 2, 2], &["A-0: sd1=1 sd2=1", "B-0: sd1=1 sd3=1", "C-0: sd2=1 sd3=1"]),
        ("hd=default,jvms=2\nhd=A\nhd=B\n", &[5], &["A-0: sd1=2", "A-1: sd1=1", "B-0: sd1=1", "B-1: sd1=1"]),
    ];
    for (hosts, of_sds, expected) in table {
        assert_eq!(threads(&format!("{hosts}{}{MAX}", sds(of_sds))), expected, "{hosts}{of_sds:?}");
    }
}

#[test]
fn an_sd_of_one_host_has_its_threads_there() {
    let text = "hd=default,jvms=2\nhd=A\nhd=B\nsd=sd1,lun=sim:a,threads=5\nsd=sd2,lun=sim:b,host=B,threads=1\n";
    let expected = ["A-0: sd1=2", "A-1: sd1=1", "B-0: sd1=1 sd2=1", "B-1: sd1=1"];
    assert_eq!(threads(&format!("{text}{MAX}")), expected);
}

#[test]
fn threads_of_a_skewed_run_begin_with_the_first_worker() {
    let table: [(u32, &[u32], &[&str]); 5] = [
        (2, &[1, 1], &["s-0: sd1=1 sd2=1"]),
        (3, &[2, 2], &["s-0: sd1=1 sd2=1", "s-1: sd1=1 sd2=1"]),
        (3, &[1, 2], &["s-0: sd1=1 sd2=1", "s-1: sd2=1"]),
        (2, &[1, 3], &["s-0: sd1=1 sd2=1", "s-1: sd2=2"]),
        (2, &[3, 3], &["s-0: sd1=2 sd2=1", "s-1: sd1=1 sd2=2"]),
    ];
    for (jvms, of_sds, expected) in table {
        let runs = "wd=wd1,sd=sd1,skew=30\nwd=wd2,sd=sd2,skew=70\nrd=rd1,wd=wd*,iorate=max,elapsed=4,interval=1\n";
        assert_eq!(threads(&format!("hd=s,jvms={jvms}\n{}{runs}", sds(of_sds))), expected, "{jvms} {of_sds:?}");
    }
}

#[test]
fn clients_are_hosts_of_their_own() {
    let text =
        "hd=h,clients=3,jvms=2,system=localhost\nsd=sd1,lun=sim:a,threads=7\nsd=sd2,lun=sim:b,host=h_cl1,threads=2\n";
    let expected = [
        "h_cl0-0: sd1=2",
        "h_cl0-1: sd1=1",
        "h_cl1-0: sd1=1 sd2=1",
        "h_cl1-1: sd1=1 sd2=1",
        "h_cl2-0: sd1=1",
        "h_cl2-1: sd1=1",
    ];
    assert_eq!(threads(&format!("{text}{MAX}")), expected);
    // The name of the host stands for all its clients.
    let text = "hd=h,clients=2,system=localhost\nhd=other,system=localhost\nsd=sd1,lun=sim:a,host=h,threads=4\n";
    assert_eq!(threads(&format!("{text}{MAX}")), ["h_cl0-0: sd1=2", "h_cl1-0: sd1=2"]);
}

#[test]
fn each_host_has_the_lun_that_it_is_given() {
    let text = "hd=A,jvms=2\nhd=B\nhd=C\nsd=sd1,lun=sim:a,host=(A,C),lun=sim:b,host=B,threads=8\n";
    let deal = deal_at(&format!("{text}{MAX}"), 1000.0);
    let luns: Vec<String> = deal
        .shares
        .iter()
        .flatten()
        .flatten()
        .flat_map(|s| s.targets.iter().map(|t| format!("{} {} {}", s.worker, t.lun, t.threads)))
        .collect();
    assert_eq!(luns, ["A-0 sim:a 2", "A-1 sim:a 1", "B-0 sim:b 3", "C-0 sim:a 2"]);
}

#[test]
fn definitions_are_repeated_for_each_host() {
    let text = "hd=A,system=localhost\nhd=B,system=localhost\nsd=sd_$host,lun=sim:d#host,host=$host,threads=2\n\
                wd=wd_$host,sd=sd_$host,host=$host\nrd=rd1_#host,wd=wd_$host,iorate=10#host,elapsed=4,interval=1\n";
    let resolved = resolved(text);
    let runs: Vec<String> = resolved
        .plan
        .runs
        .iter()
        .enumerate()
        .map(|(n, run)| {
            let deal = resolved.deal(n, n as u32, 100.0, None).unwrap();
            let shares: Vec<_> = deal.shares.iter().flatten().flatten().collect();
            assert_eq!(shares.len(), 1);
            format!("{} {:?} {} {}", run.name, run.rate, shares[0].worker, shares[0].targets[0].lun)
        })
        .collect();
    assert_eq!(runs, ["rd1_0 Fixed(100.0) A-0 sim:d0", "rd1_1 Fixed(101.0) B-0 sim:d1"]);
}

#[test]
fn workloads_run_on_the_hosts_that_a_wildcard_names() {
    let text = "hd=lab1\nhd=lab2\nhd=prod1\nsd=sd1,lun=sim:a,threads=6\nsd=sd2,lun=sim:b,threads=6\n\
                wd=wd1,sd=sd1,host=lab*\nwd=wd2,sd=sd2,host=(prod1,lab2)\n\
                rd=rd1,wd=wd*,iorate=400,elapsed=4,interval=1\n";
    assert_eq!(threads(text), ["lab1-0: sd1=3", "lab2-0: sd1=3 sd2=3", "prod1-0: sd2=3"]);
    let expected = ["lab1-0 0 sd1 100.000", "lab2-0 0 sd1 100.000", "lab2-0 1 sd2 100.000", "prod1-0 1 sd2 100.000"];
    assert_eq!(rates(text, 400.0), expected);
}

#[test]
fn a_share_is_divided_equally_over_sds_and_workers() {
    let three = format!("{}wd=wd1,sd=*\nrd=rd1,wd=wd*,iorate=300,elapsed=4,interval=1\n", sds(&[1, 2, 3]));
    let expected = ["localhost-0 0 sd1 100.000", "localhost-0 0 sd2 100.000", "localhost-0 0 sd3 100.000"];
    assert_eq!(rates(&three, 300.0), expected);
    // Instances that got no threads do not count: of sd2 there is one, of sd1 there are two.
    let text = format!("hd=A\nhd=B\n{}wd=wd1,sd=*\nrd=rd1,wd=wd*,iorate=300,elapsed=4,interval=1\n", sds(&[2, 1]));
    assert_eq!(rates(&text, 300.0), ["A-0 0 sd1 100.000", "A-0 0 sd2 100.000", "B-0 0 sd1 100.000"]);
}

#[test]
fn shares_of_workloads_do_not_depend_on_their_sds_or_hosts() {
    let of_workloads = |text: &str, rate: f64| {
        let mut sums: BTreeMap<u32, f64> = BTreeMap::new();
        let deal = deal_at(text, rate);
        for generator in deal.shares.iter().flatten().flatten().flat_map(|s| &s.generators) {
            *sums.entry(generator.workload).or_default() += generator.rate;
        }
        sums.into_values().map(|sum| format!("{sum:.3}")).collect::<Vec<_>>()
    };
    let ten = sds(&[1; 10]);
    let run = "rd=rd1,wd=wd*,iorate=900,elapsed=4,interval=1\n";
    let nine = "sd=(sd1-sd9)";
    for hosts in ["", "hd=A\nhd=B,jvms=3\n"] {
        // Nine SDs against one: half each.
        let text = format!("{hosts}{ten}wd=wd1,{nine}\nwd=wd2,sd=sd10\n{run}");
        assert_eq!(of_workloads(&text, 900.0), ["450.000", "450.000"], "{hosts}");
        let text = format!("{hosts}{ten}wd=wd1,{nine},skew=60\nwd=wd2,sd=sd10\nwd=wd3,sd=sd2\n{run}");
        assert_eq!(of_workloads(&text, 900.0), ["540.000", "180.000", "180.000"], "{hosts}");
        // Nothing is left for the third.
        let text = format!("{hosts}{ten}wd=wd1,{nine},skew=60\nwd=wd2,sd=sd10,skew=40\nwd=wd3,sd=sd2\n{run}");
        assert_eq!(of_workloads(&text, 900.0), ["540.000", "360.000"], "{hosts}");
        let text = format!(
            "{hosts}{ten}wd=wd1,{nine},iorate=50,priority=1\nwd=wd2,sd=sd10,priority=2\n\
             rd=rd1,wd=wd*,iorate=200,elapsed=4,interval=1\n"
        );
        assert_eq!(of_workloads(&text, 200.0), ["50.000", "150.000"], "{hosts}");
    }
}

#[test]
fn unequal_fixed_rates_stay_with_their_hosts() {
    // B14: two hosts, each with its SD and its rate.
    let text = "hd=w1,system=localhost\nhd=w2,system=localhost\nsd=a,host=w1,lun=sim:a\nsd=b,host=w2,lun=sim:b\n\
                wd=x,sd=a,xfersize=4k,rdpct=100,seekpct=100,iorate=300,priority=1\n\
                wd=y,sd=b,xfersize=64k,rdpct=0,seekpct=0,iorate=70,priority=2\n\
                rd=r,wd=(x,y),iorate=370,elapsed=20,interval=2,threads=2\n";
    assert_eq!(rates(text, 370.0), ["w1-0 0 a 300.000", "w2-0 1 b 70.000"]);
    assert_eq!(threads(text), ["w1-0: a=2", "w2-0: b=2"]);
}

#[test]
fn sequential_streams_go_to_all_hosts_that_see_the_sd_fewest_first() {
    let run = "rd=rd1,wd=wd*,iorate=max,elapsed=4,interval=1\n";
    let text = format!("hd=A\nhd=B\nhd=C\n{}wd=wd1,sd=*,seekpct=0\n{run}", sds(&[4; 5]));
    assert_eq!(streams(&text), ["A-0: 0/sd1 0/sd4", "B-0: 0/sd2 0/sd5", "C-0: 0/sd3"]);
    // Where a host sees few, it gets those first: A alone has sd1 and sd2, so that sd3 goes to B.
    let text = format!(
        "hd=A\nhd=B\nsd=sd1,lun=sim:a,host=A\nsd=sd2,lun=sim:b,host=A\nsd=sd3,lun=sim:c\nsd=sd4,lun=sim:d\n\
         wd=wd1,sd=*,seekpct=eof\n{run}"
    );
    assert_eq!(streams(&text), ["A-0: 0/sd1 0/sd2", "B-0: 0/sd3 0/sd4"]);
    // One worker after the other on each host.
    let text = format!("hd=default,jvms=2\nhd=A\nhd=B\n{}wd=wd1,sd=*,seekpct=0\n{run}", sds(&[4; 4]));
    assert_eq!(streams(&text), ["A-0: 0/sd1", "A-1: 0/sd3", "B-0: 0/sd2", "B-1: 0/sd4"]);
    // What the run says counts.
    let text = format!(
        "hd=A\nhd=B\n{}wd=wd1,sd=*,seekpct=100\nrd=rd1,wd=wd1,iorate=max,elapsed=4,interval=1,forseekpct=0\n",
        sds(&[4])
    );
    assert_eq!(streams(&text), ["A-0: 0/sd1"]);
}

prop_compose! {
    /// Hosts with workers, SDs with threads and the hosts that see them, workloads with the hosts they may use.
    fn fleet()(
        hosts in prop::collection::vec(1u32..4, 1..5),
        sds in prop::collection::vec((1u32..20, any::<[bool; 5]>()), 1..6),
        sequential in any::<[bool; 2]>(),
        skewed in any::<bool>(),
    ) -> (String, Vec<(u32, BTreeSet<usize>)>) {
        let mut text: String = hosts.iter().enumerate().map(|(n, jvms)| format!("hd=h{n},jvms={jvms}\n")).collect();
        let mut seen = Vec::new();
        for (n, (threads, on)) in sds.iter().enumerate() {
            let mut on: BTreeSet<usize> = (0..hosts.len()).filter(|host| on[*host]).collect();
            if on.is_empty() {
                on.insert(n % hosts.len());
            }
            let list: Vec<String> = on.iter().map(|host| format!("h{host}")).collect();
            text.push_str(&format!("sd=s{n},lun=sim:d{n},threads={threads},host=({})\n", list.join(",")));
            seen.push((*threads, on));
        }
        for (n, sequential) in sequential.iter().enumerate() {
            let seek = if *sequential { 0 } else { 100 };
            let skew = if skewed { format!(",skew={}", [30, 70][n]) } else { String::new() };
            text.push_str(&format!("wd=w{n},sd=*,seekpct={seek}{skew}\n"));
        }
        text.push_str("rd=r,wd=w*,iorate=1000,elapsed=4,interval=1\n");
        (text, seen)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Threads are exactly those asked for, only where the SD is seen; rates add up; a sequential stream is one worker.
    #[test]
    fn nothing_is_lost_and_nothing_is_done_twice((text, seen) in fleet()) {
        let deal = deal_at(&text, 1000.0);
        let mut threads = vec![0; seen.len()];
        let mut rate = 0.0;
        let mut streams = BTreeSet::new();
        for (host, shares) in deal.shares.iter().enumerate() {
            for share in shares.iter().flatten() {
                for target in &share.targets {
                    threads[target.sd as usize] += target.threads;
                    prop_assert!(target.threads > 0);
                    prop_assert!(seen[target.sd as usize].1.contains(&host), "{text}: {} on h{host}", target.name);
                }
                for generator in &share.generators {
                    rate += generator.rate;
                    if generator.seek.is_sequential() {
                        let sd = share.targets[generator.target as usize].sd;
                        prop_assert!(streams.insert((generator.workload, sd)), "{text}: twice");
                    }
                }
            }
        }
        let asked: Vec<u32> = seen.iter().map(|(threads, _)| *threads).collect();
        prop_assert_eq!(threads, asked, "{}", text);
        prop_assert!((rate - 1000.0).abs() < 1e-6, "{text}: {rate}");
    }
}
