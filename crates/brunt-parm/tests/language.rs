//! What files mean (`docs/vdbench/raw.md` §1–§7, §11).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/files.rs"]
mod files;

use brunt_parm::ast::{
    Arrivals, DataErrors, HookOutput, HookTarget, IoRate, LoopKind, LoopValues, MaxDataKind, NameItem, Rd, Repeat,
    ReportOption, SeekPct, Wd, XferSize,
};
use brunt_parm::{ParmFile, Parsed, Severity};
use files::{messages, parse_text, parse_with};

/// What a text means, which has no errors.
fn ok(text: &str) -> ParmFile {
    accepted(parse_text(text))
}

fn accepted(parsed: Parsed) -> ParmFile {
    let bad = parsed.diags.iter().any(|d| d.severity == Severity::Error);
    assert!(!bad, "{}", messages(&parsed));
    parsed.file
}

/// The run `rd=rd1` with these parameters.
fn run(parameters: &str) -> Rd {
    ok(&format!("sd=sd1,lun=/a\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,{parameters}\n")).rds.remove(0)
}

/// The workload `wd=wd1,sd=sd1` with these parameters.
fn workload(parameters: &str) -> Wd {
    ok(&format!("sd=sd1,lun=/a\nwd=wd1,sd=sd1,{parameters}\nrd=rd1,wd=wd1,iorate=1\n")).wds.remove(0)
}

fn rates(rd: &Rd) -> Vec<IoRate> {
    rd.iorate.as_ref().unwrap().value.iter().map(|r| r.value).collect()
}

fn loops(rd: &Rd) -> Vec<(LoopKind, Vec<f64>)> {
    let numbers = |v: &LoopValues| match v {
        LoopValues::Numbers(list) => list.iter().map(|n| n.value.value).collect(),
        LoopValues::Words(_) => Vec::new(),
    };
    rd.loops.iter().map(|l| (l.kind, numbers(&l.values))).collect()
}

fn texts(list: &brunt_parm::ast::List<String>) -> Vec<&str> {
    list.as_ref().unwrap().value.iter().map(|t| t.value.as_str()).collect()
}

fn names(list: &brunt_parm::ast::List<NameItem>) -> Vec<String> {
    list.as_ref().unwrap().value.iter().flat_map(|n| n.value.names()).map(|n| n.into_owned()).collect()
}

#[test]
fn the_worked_loops() {
    let rd = run("iorate=(100,200),threads=(1,2)");
    assert_eq!(rates(&rd), [IoRate::Fixed(100.0), IoRate::Fixed(200.0)]);
    assert!(rd.iorate_is_list);
    assert_eq!(loops(&rd), [(LoopKind::Threads, vec![1.0, 2.0])]);

    let rd = run("xf=(4k,8k),threads=(1,2),iorate=1");
    assert_eq!(loops(&rd), [(LoopKind::Xfersize, vec![4096.0, 8192.0]), (LoopKind::Threads, vec![1.0, 2.0])]);
    let rd = run("xf=4k,th=3,forxfersize=8k,iorate=1");
    let repeated = [(LoopKind::Threads, vec![3.0]), (LoopKind::Xfersize, vec![8192.0])];
    assert_eq!(loops(&rd), repeated, "a loop that is repeated moves to the end");
    assert_eq!(loops(&run("th=(1,2-4,1,8-32,d),iorate=1"))[0].1, [1.0, 2.0, 3.0, 4.0, 8.0, 16.0, 32.0]);
    assert_eq!(rates(&run("iorate=(100-350,100)")).len(), 3);
    let rd = run("iorate=curve,curve=(10-30,10)");
    assert_eq!(rates(&rd), [IoRate::Curve]);
    assert_eq!(rd.curve.unwrap().value.iter().map(|p| p.value).collect::<Vec<_>>(), [10.0, 20.0, 30.0]);
    assert_eq!(loops(&run("compression=50,iorate=1")), [(LoopKind::Compratio, vec![2.0])]);
    assert_eq!(loops(&run("forseekpct=(-1,0),iorate=1")), [(LoopKind::Seekpct, vec![-1.0, 0.0])]);
}

#[test]
fn rates_of_a_run() {
    assert_eq!(rates(&run("iorate=(100,max)")), [IoRate::Fixed(100.0), IoRate::Max]);
    assert_eq!(rates(&run("iorate=MAX")), [IoRate::Max]);
    assert_eq!(rates(&run("iorate=(1000,50%)")), [IoRate::Fixed(1000.0), IoRate::Percent(50.0)]);
    assert_eq!(rates(&run("iorate=-1")), [IoRate::Percent(1.0)]);
    assert_eq!(rates(&run("iorate=(1-3,1,max,5)")).len(), 5);
    let rd = run("iorate=(50,2,10%,1),distribution=(spike,det)");
    assert!(rd.iorate.is_none() && !rd.iorate_is_list);
    assert_eq!(rd.bursts.unwrap().value.len(), 4);
    let distribution = rd.distribution.unwrap().value;
    assert!(distribution.variable && distribution.spike);
    assert_eq!(distribution.arrivals, Arrivals::Deterministic);
}

#[test]
fn a_list_that_a_blank_cuts_is_what_stands_before_it() {
    let rd = run("iorate=(100, 200),elapsed=4");
    assert_eq!(rates(&rd), [IoRate::Fixed(100.0)]);
    assert_eq!(rd.elapsed, None);
}

#[test]
fn a_single_rate_ends_an_inherited_list() {
    let file = ok("sd=s,lun=/a\nwd=w,sd=s\nrd=default,wd=w,iorate=(1,2)\nrd=a,iorate=300\nrd=b\nrd=c,iorate=max\n");
    assert_eq!(rates(&file.rds[0]), [IoRate::Fixed(300.0)]);
    assert!(!file.rds[0].iorate_is_list);
    assert_eq!(rates(&file.rds[1]).len(), 2);
    assert_eq!(rates(&file.rds[2]), [IoRate::Max]);
}

#[test]
fn times_and_data_of_a_run() {
    let rd = run("iorate=1,elapsed=2m,interval=4.9,warmup=1h,pause=10s,maxdata=1g,maxdataread=2,stopcurve=1.5");
    assert_eq!(rd.elapsed.unwrap().value, 120);
    assert_eq!(rd.interval.unwrap().value, 4);
    assert_eq!(rd.warmup.unwrap().value, 3600);
    assert_eq!(rd.pause.unwrap().value, 10);
    assert_eq!(rd.maxdata[0].0, MaxDataKind::Both);
    assert_eq!(rd.maxdata[0].1.value, 1024f64.powi(3));
    assert_eq!(rd.maxdata[1].0, MaxDataKind::Read);
    assert_eq!(rd.stopcurve.unwrap().value, 1.5);
    let rd = run("iorate=1,startcmd=(\"a b\",c,cons),endcmd=(d,master)");
    assert_eq!(rd.startcmd[0].value.commands, ["a b", "c"]);
    assert_eq!(rd.startcmd[0].value.output, HookOutput::Console);
    assert_eq!(rd.endcmd[0].value.target, Some(HookTarget::Master));
}

#[test]
fn workloads() {
    assert_eq!(workload("xfersize=1000").xfersize.unwrap().value, XferSize::Fixed(1000));
    assert_eq!(
        workload("xf=(4k,33.3,8k,33.3,64k,33.4)").xfersize.unwrap().value,
        XferSize::Weighted(vec![(4096, 33.3), (8192, 33.3), (65536, 33.4)])
    );
    assert_eq!(
        workload("xf=(4k,64k,4k)").xfersize.unwrap().value,
        XferSize::Range { min: 4096, max: 65536, align: 4096 }
    );
    for (text, seek) in [
        ("seq", SeekPct::Percent(0.0)),
        ("rand", SeekPct::Percent(100.0)),
        ("eof", SeekPct::Eof),
        ("EOF", SeekPct::Eof),
        ("-1", SeekPct::Eof),
        ("12.5", SeekPct::Percent(12.5)),
        ("poisson", SeekPct::Poisson { mid: 3.0 }),
        ("(poisson,5)", SeekPct::Poisson { mid: 5.0 }),
    ] {
        assert_eq!(workload(&format!("seekpct={text}")).seekpct.unwrap().value, seek, "{text}");
    }
    assert_eq!(workload("rdpct=66.9").rdpct.unwrap().value, 66.0, "cut off");
    assert_eq!(workload("writepct=30").rdpct.unwrap().value, 70.0);
    assert_eq!(workload("stride=(1m,2m)").stride.unwrap().value, (1 << 20, 2 << 20));
    assert_eq!(workload("hotband=(10,18)").hotband.unwrap().value, (10.0, 18.0));
    assert_eq!(texts(&workload("host=(h-1,h2*)").hosts), ["h-1", "h2*"], "no ranges of hosts");
    assert_eq!(names(&workload("sd=(sd1-sd3,x*)").sds), ["sd1", "sd2", "sd3", "x*"]);
    assert_eq!(names(&workload("sd=my-sd1").sds), ["my-sd1"], "no range without parentheses");
}

#[test]
fn storage() {
    let file = ok("sd=default,size=1g,threads=4,host=h1\n\
         sd=a,lun=/a\n\
         sd=default,threads=(10,4)\n\
         sd=b,lun=/b1,host=h1,lun=/b2,host=h2,size=(10m,4)\n\
         sd=c,lun=\"/c d\",count=(5,3),hitarea=2m,offset=1k,align=512,range=(10,20),openflags=(o_direct,0x4000)\n\
         rd=r,sd=*,iorate=1\n");
    let [a, b, c] = file.sds.as_slice() else { panic!("three SDs") };
    assert_eq!((a.size.unwrap().value, a.threads.unwrap().value), (1 << 30, 4), "as the default was then");
    assert_eq!((b.size.unwrap().value, b.threads.unwrap().value), (10 << 18, 2));
    assert_eq!((b.luns.len(), b.hosts.len()), (2, 2), "hosts of its own, not the default's");
    assert_eq!(c.luns[0].value, "/c d");
    assert_eq!(c.count.unwrap().value, (5, 3));
    assert_eq!((c.hitarea.unwrap().value, c.offset.unwrap().value, c.align.unwrap().value), (2 << 20, 1024, 512));
    assert_eq!(texts(&c.openflags), ["o_direct", "0x4000"]);
    assert_eq!(c.hosts[0].value[0].value, "h1");
}

#[test]
fn hosts() {
    let file = ok("hd=default,vdbench=/opt/v,user=root,shell=ssh\nhd=h1,system=10.0.0.1,jvms=4\nhost=h2,clients=2\n\
         hd=(node3,h3)\nsd=sd_$host,lun=/x#host,host=$host\nrd=r,sd=*,iorate=#hosts\n");
    assert_eq!(file.hosts.len(), 3);
    assert_eq!(file.hosts[0].vdbench.as_ref().unwrap().value, "/opt/v/");
    assert_eq!(file.hosts[0].jvms.unwrap().value, 4);
    assert_eq!(file.hosts[2].system.as_ref().unwrap().value, "node3");
    let names: Vec<_> = file.sds.iter().map(|s| s.name.as_ref().unwrap().value.as_str()).collect();
    assert_eq!(names, ["sd_h1", "sd_h2_cl0", "sd_h2_cl1", "sd_h3"]);
    assert_eq!(file.sds[3].luns[0].value, "/x3");
    assert_eq!(rates(&file.rds[0]), [IoRate::Fixed(4.0)]);
}

#[test]
fn general_parameters() {
    let file = ok("data_errors=(5,60),formatsds=no\ncompratio=2\nreport=(host,no_f),report_run_totals=yes\n\
         histogram=(default,5m,1m,8m,2s)\nmisc=(engine=sync,sim.A.hit=39u)\nmisc=wait=spin\nloop=10m\ndebug=(1-3,1)\n\
         debug=99\nstartcmd=\"echo $output\"\nmonitor=/tmp/m\nabort_failed_skew=5\nconcatenatesds=yes\ntimeout=(report,3)\n\
         messagescan=no\nsd=s,lun=/a\nwd=w,sd=s,threads=4\nrd=r,wd=w,iorate=1\n");
    let general = file.general;
    assert_eq!(general.data_errors.unwrap().value, DataErrors::Limit { count: 5, seconds: Some(60) });
    assert!(!general.formatsds.unwrap().value);
    assert_eq!(general.compratio.unwrap().value, 2.0);
    let report: Vec<_> = general.report.unwrap().value.iter().map(|r| r.value).collect();
    assert_eq!(report, [ReportOption::HostDetail, ReportOption::NoFsdDetail]);
    assert_eq!(general.histogram.unwrap().value.bounds_us, [5000, 6000, 7000, 8000, 2_000_000]);
    let misc: Vec<_> = general.misc.iter().map(|(k, v)| (k.value.as_str(), v.value.as_str())).collect();
    assert_eq!(misc, [("engine", "sync"), ("sim.A.hit", "39u"), ("wait", "spin")]);
    assert_eq!(general.repeat.unwrap().value, Repeat::Seconds(600));
    assert_eq!(general.debug.iter().map(|d| d.value).collect::<Vec<_>>(), [1, 2, 3, 99]);
    assert_eq!(general.startcmd[0].value.commands, ["echo $output"]);
    assert_eq!(texts(&general.timeout), ["report", "3"]);
    assert_eq!(file.wds[0].threads.unwrap().value, 4);
}

#[test]
fn one_keyword_a_line_without_commas() {
    let file = ok(
        "sd=sd1\nlun=/x\nsize=1m\n\n* comment,\nwd=wd1\nsd=sd1\nrd=rd1\n wd=wd1\n\tiorate=100,\n# between\nelapsed=5\n",
    );
    assert_eq!(file.sds[0].size.unwrap().value, 1 << 20);
    assert_eq!(names(&file.wds[0].sds), ["sd1"]);
    assert_eq!(file.rds[0].elapsed.unwrap().value, 5);
}

#[test]
fn files_follow_one_another_and_end_at_eof() {
    let parsed = parse_with(
        "a b",
        &[
            ("a", "sd=s,lun=/a\neof\nrd=no"),
            ("b", "\u{feff}include=inc/c\r\nrd=r,wd=w,iorate=1\r\n"),
            ("inc/c", "include=d\n"),
            ("inc/d", "wd=w,sd=s"),
        ],
    );
    assert_eq!(
        parsed.echo,
        [
            "",
            "* Contents of parameter file: /work/a",
            "",
            "sd=s,lun=/a",
            "eof",
            "",
            "* Contents of parameter file: /work/b",
            "",
            "include=inc/c",
            "",
            "* Contents of include file: /work/inc/c",
            "",
            "include=d",
            "",
            "* Contents of include file: /work/inc/d",
            "",
            "wd=w,sd=s",
            "",
            "* Continuing with original file: inc/c",
            "",
            "",
            "* Continuing with original file: b",
            "",
            "rd=r,wd=w,iorate=1",
        ]
    );
    let file = accepted(parsed);
    assert_eq!((file.sds.len(), file.wds.len(), file.rds.len()), (1, 1, 1));
}

#[test]
fn variables_point_at_their_use() {
    let parsed = parse_with(
        "p rate=60 file=f1 +elapsed=7",
        &[(
            "p",
            "* $unknown\nsd=sd1,lun=./$file,size=8m * =$unknown\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=!rate,elapsed=5\n",
        )],
    );
    assert_eq!(parsed.echo[5], "    variable substitution: sd=sd1,lun=./f1,size=8m * =$unknown");
    let lun = parsed.file.sds[0].luns[0].clone();
    assert_eq!(lun.value, "./f1");
    let source = parsed.sources.get(lun.span.file).unwrap();
    assert_eq!(&source.text[lun.span.start as usize..lun.span.end as usize], "./$file");
    let elapsed = parsed.file.rds[0].elapsed.unwrap();
    assert_eq!(elapsed.value, 7, "what `+` adds comes last");
    assert_eq!(parsed.sources.get(elapsed.span.file).unwrap().name, "command line");
    accepted(parsed);
}

#[test]
fn the_scan_ends_with_the_first_error() {
    let parsed = parse_text("sd=sd1,lun=./f1\nwd=wd1,sd=sd1,rdpct=lots,xfersize=4k\nrd=rd1,wd=wd1,iorate=(1,2)\n");
    assert_eq!(
        parsed.scan,
        [
            "line: sd=sd1,lun=./f1",
            "keyw: sd=sd1",
            "parm: sd1",
            "keyw: lun=./f1",
            "parm: ./f1",
            "line: wd=wd1,sd=sd1,rdpct=lots,xfersize=4k",
            "keyw: wd=wd1",
            "parm: wd1",
            "keyw: sd=sd1",
            "parm: sd1",
            "keyw: rdpct=lots",
            "parm: lots",
        ]
    );
}

#[test]
fn anonymous_workloads_come_from_the_last_default() {
    let file = ok("sd=s,lun=/a\nwd=default,rdpct=0\nwd=w,sd=s\nwd=default,xfersize=8k\nrd=r,sd=s,iorate=1\n");
    assert_eq!(file.wds[0].xfersize, None);
    assert_eq!(file.wd_default.rdpct.unwrap().value, 0.0);
    assert_eq!(file.wd_default.xfersize.unwrap().value, XferSize::Fixed(8192));
    assert_eq!(file.wd_default.name, None);
}

#[test]
fn thousands_of_definitions_are_read_in_one_pass() {
    let time = |n: usize| {
        let mut text = String::new();
        for i in 0..n {
            text.push_str(&format!("sd=sd{i},lun=/dev/disk/by-id/x{i},openflags=o_direct,threads=8,hitarea=1m\n"));
        }
        text.push_str(&format!("wd=w,sd=(sd1-sd{})\nrd=r,wd=w,iorate=max\n", n - 1));
        let start = std::time::Instant::now();
        let file = ok(&text);
        assert_eq!(file.sds.len(), n);
        start.elapsed()
    };
    // The best of three, so that other work on the machine does not count.
    let best = |n| (0..3).map(|_| time(n)).min().unwrap();
    let (few, many) = (best(1_000), best(16_000));
    // Sixteen times as many; a quadratic pass would take 256 times as long.
    assert!(many < few * 80, "1,000 take {few:?}, 16,000 take {many:?}");
}
