//! Plans of files in memory on machines that do not exist.
#![allow(clippy::unwrap_used, clippy::panic)]

use brunt_parm::source::{ReadError, Reader};
use brunt_parm::{Input, Severity};
use brunt_plan::plan::Plan;
use brunt_plan::work::{LunFacts, LunKind, LunQuery};

use super::known::Known;
use super::outline::Outline;
use super::text;

struct Text(&'static str);

impl Reader for Text {
    fn read(&self, _: &str) -> Result<String, ReadError> {
        Ok(self.0.to_owned())
    }

    fn absolute(&self, path: &str) -> String {
        path.to_owned()
    }
}

fn plan(text: &'static str) -> Plan {
    let input = Input { files: vec!["p".to_owned()], ..Input::default() };
    let parsed = brunt_parm::parse(&input, &Text(text));
    let mut diags = parsed.diags;
    let plan = brunt_plan::expand(&parsed.file, &brunt_plan::Options::default(), &mut diags);
    assert!(diags.iter().all(|d| d.severity != Severity::Error), "{diags:?}");
    plan.unwrap()
}

fn outline(text: &'static str, hosts_here: &[bool], answer: impl Fn(&LunQuery) -> LunFacts) -> Outline {
    let plan = plan(text);
    let facts = hosts_here.iter().enumerate();
    let facts = facts.map(|(h, here)| here.then(|| plan.lun_queries(h).iter().map(&answer).collect()));
    let known = Known::new(&plan, facts.collect(), &[]);
    Outline::new(&plan, &known, hosts_here)
}

fn there(query: &LunQuery, kind: LunKind, size: u64) -> LunFacts {
    LunFacts {
        size,
        readable: true,
        writable: true,
        identity: Some(query.lun.clone()),
        block_size: Some(512),
        ..LunFacts::silent(query.sd, kind)
    }
}

/// Devices are of 1 GiB, files are not there.
fn usual(query: &LunQuery) -> LunFacts {
    if query.lun.starts_with("/dev/") {
        there(query, LunKind::Block, 1 << 30)
    } else {
        there(query, LunKind::Missing, 0)
    }
}

const MIXED: &str = "\
hd=default,jvms=2
hd=a,system=localhost
hd=b,system=localhost
sd=default,threads=16,openflags=o_direct
sd=sd1,lun=/dev/sdx
sd=sd2,lun=/data/file,size=100m,range=(10,90),host=b
wd=wd1,sd=sd1,rhpct=50,xfersize=8k
wd=wd2,sd=sd*,rdpct=50,xfersize=(4k,60,64k,40)
rd=rd1,wd=wd1,iorate=curve,curve=(10,50),elapsed=20,warmup=10,pause=5
rd=rd2,wd=wd*,iorate=(100,200),forthreads=(4,16),elapsed=60,maxdata=2
";

#[test]
fn a_plan_for_people() {
    insta::assert_snapshot!(text::of(&outline(MIXED, &[true, true], usual)));
}

#[test]
fn a_plan_for_machines() {
    let outline =
        outline("sd=sd1,lun=/dev/sdx,openflags=o_direct\nrd=rd1,sd=sd1,iorate=max,elapsed=10\n", &[true], usual);
    insta::assert_snapshot!(outline.json());
}

const FILES: &str = "\
hd=default,jvms=2
hd=a,system=localhost
hd=b,system=localhost
fsd=fsd1,anchor=/mnt/x,depth=2,width=4,files=100,sizes=(4k,50,64k,50),shared=yes,totalsize=10m
fsd=fsd2,anchor=/mnt/y,shared=yes,files=10,wss=20k
fwd=fwd1,fsd=fsd1,operation=read,threads=8
fwd=fwd2,fsd=fsd2,operation=write,threads=4
rd=rd1,fwd=fwd1,fwdrate=(100,200),format=restart,elapsed=60
rd=rd2,fwd=fwd*,fwdrate=max,elapsed=60,forfiles=(100,200)
";

#[test]
fn a_plan_of_files() {
    insta::assert_snapshot!(text::of(&outline(FILES, &[true, true], usual)));
}

#[test]
fn devices_of_other_machines_are_taken_as_they_are_meant() {
    let text = text::of(&outline(
        "hd=far,system=array7\nsd=sd1,lun=/dev/sdx,size=10g,openflags=o_direct\nsd=sd2,lun=/dev/sdy,openflags=o_direct\n\
         wd=wd1,sd=sd*\nrd=rd1,wd=wd1,iorate=max,elapsed=10,maxdata=3\n",
        &[false],
        usual,
    ));
    insta::assert_snapshot!(text);
}

#[test]
fn what_is_missing_here_is_a_problem_and_the_plan_is_shown_all_the_same() {
    let text = "sd=sd1,lun=/dev/sdx,size=1g,openflags=o_direct\nrd=rd1,sd=sd1,iorate=max,elapsed=10\n";
    let plan = plan(text);
    let facts = plan.lun_queries(0).iter().map(|q| there(q, LunKind::Missing, 0)).collect();
    let known = Known::new(&plan, vec![Some(facts)], &[]);
    assert_eq!(known.problems.len(), 1);
    let outline = Outline::new(&plan, &known, &[true]);
    assert_eq!(outline.sds[0].size, Some(1 << 30));
    assert_eq!(outline.areas.len(), 1);
    assert_eq!(outline.runs[0].threads, Some(8));
}

#[test]
fn what_never_fits_is_said_and_the_runs_are_still_there() {
    let text =
        "sd=sd1,lun=/data/f,size=1m\nwd=wd1,sd=sd1,range=(0,1),xfersize=64k\nrd=rd1,wd=wd1,iorate=10,elapsed=10\n";
    let plan = plan(text);
    let known = Known::new(&plan, vec![Some(plan.lun_queries(0).iter().map(usual).collect())], &[]);
    assert!(known.resolved.is_none());
    assert_eq!(known.problems.len(), 1, "said once: {:?}", known.problems);
    let outline = Outline::new(&plan, &known, &[true]);
    assert_eq!(outline.runs.len(), 1);
    assert_eq!(outline.runs[0].threads, None);
    assert!(text::of(&outline).contains("rd1"));
}

#[test]
fn passes_are_counted_where_they_can_be() {
    let time = |head: &str| {
        let text = format!(
            "{head}sd=s,lun=/dev/x,openflags=o_direct\nrd=r,sd=s,iorate=9,elapsed=30,pause=2,forthreads=(1,2)\n"
        );
        text::of(&outline(text.leak(), &[true], usual)).lines().last().unwrap().to_owned()
    };
    assert_eq!(time(""), "2 runs, 1m 0s, 2s of pauses, 1m 2s in all");
    assert_eq!(time("loop=3\n"), "2 runs, 1m 0s, 2s of pauses, 1m 2s in all; 3 passes, 3m 6s");
    assert_eq!(
        time("loop=2h\n"),
        "2 runs, 1m 0s, 2s of pauses, 1m 2s in all; passes for 2h 0m 0s, and to the end of the last"
    );
}

/// The page of the schema tells every field.
#[test]
fn the_page_tells_every_field() {
    const PAGE: &str = include_str!("../../../../docs/plan.md");
    fn names(value: &serde_json::Value, maps: &[&str], out: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(fields) => {
                for (name, value) in fields {
                    out.push(name.clone());
                    match value {
                        // Keys of these are labels of hosts.
                        serde_json::Value::Object(by_host) if maps.contains(&name.as_str()) => {
                            by_host.values().for_each(|v| names(v, maps, out));
                        }
                        _ => names(value, maps, out),
                    }
                }
            }
            serde_json::Value::Array(items) => items.iter().for_each(|v| names(v, maps, out)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    for file in [MIXED, FILES] {
        let value: serde_json::Value = serde_json::from_str(&outline(file, &[true, true], usual).json()).unwrap();
        // `threads` is a number for hosts and runs, and a map for SDs.
        names(&value, &["luns", "threads", "engines"], &mut found);
    }
    for name in found {
        assert!(PAGE.contains(&format!("`{name}`")), "docs/plan.md does not tell of {name}");
    }
}
