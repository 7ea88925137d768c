//! What is said about each mistake (`docs/vdbench/raw.md` §9, §10). One mistake, one message.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/files.rs"]
mod files;

use brunt_parm::Severity;
use files::{messages, parse_text, parse_with};

const SD: &str = "sd=sd1,lun=/dev/sdb\n";
const WD: &str = "wd=wd1,sd=sd1\n";
const RD: &str = "rd=rd1,wd=wd1,iorate=100\n";

/// Checks the messages about a text against the snapshot `name`, and how many errors there are.
fn check(name: &str, text: &str, errors: usize) {
    check_parsed(name, &parse_text(text), errors);
}

fn check_parsed(name: &str, parsed: &brunt_parm::Parsed, errors: usize) {
    let said = messages(parsed);
    insta::assert_snapshot!(name, said);
    let found = parsed.diags.iter().filter(|d| d.severity == Severity::Error).count();
    assert_eq!(found, errors, "{name}: {said}");
    assert!(parsed.diags.iter().all(|d| d.span.is_some()), "{name}: every message has a place");
}

/// A mistake in one of the lines; the others are in order.
fn general(name: &str, line: &str, errors: usize) {
    check(name, &format!("{line}\n{SD}{WD}{RD}"), errors);
}

fn hd(name: &str, line: &str, errors: usize) {
    general(name, line, errors);
}

fn sd(name: &str, line: &str, errors: usize) {
    check(name, &format!("{line}\n{WD}{RD}"), errors);
}

fn wd(name: &str, line: &str, errors: usize) {
    check(name, &format!("{SD}{line}\n{RD}"), errors);
}

fn rd(name: &str, line: &str, errors: usize) {
    check(name, &format!("{SD}{WD}{line}\n"), errors);
}

#[test]
fn keywords() {
    wd("unknown-keyword", "wd=wd1,sd=sd1,xfersize=4k,banana=7", 1);
    rd("misspelt-keyword", "rd=rd1,wd=wd1,iorate=100,elapsd=5", 1);
    rd("keyword-of-another-section", "rd=rd1,wd=wd1,iorate=100,skew=5", 1);
    rd("general-keyword-too-late", "rd=rd1,wd=wd1,iorate=100,dedupratio=2", 1);
    rd("short-form", "rd=rd1,wd=wd1,io=100,el=5,in=1", 0);
    general("refused-keyword", "swat=(xx,yy)", 1);
    general("keyword-without-effect", "messagescan=yes\npsrset=3\nmessagescan=no", 0);
    general("include-in-upper-case", "Include=x", 1);
    sd("streams-of-an-sd", "sd=sd1,lun=/x,streams=2", 1);
}

#[test]
fn lines() {
    rd("comment-without-mark", "rd=rd1,wd=wd1,iorate=100\nthis is, as it were, prose", 1);
    rd("missing-equals", "rd=rd1,wd=wd1,iorate=100,threads4", 1);
    rd("one-letter", "rd=rd1,wd=wd1,iorate=100,x=4", 1);
    rd("two-commas", "rd=rd1,wd=wd1,,iorate=100", 1);
    rd("no-value", "rd=rd1,wd=wd1,iorate= 100", 1);
    rd("blank-before-equals", "rd=rd1,wd=wd1,iorate =100", 1);
    rd("ignored-text", "rd=rd1,wd=wd1,iorate=100, elapsed=60", 0);
    rd("unclosed-parenthesis", "rd=rd1,wd=wd1,iorate=(100,200,elapsed=5", 1);
    rd("list-cut-by-a-blank", "rd=rd1,wd=wd1,iorate=(100, 200),elapsed=4", 0);
    rd("unmatched-parenthesis", "rd=rd1,wd=wd1,iorate=100),elapsed=5", 1);
    rd("text-behind-a-list", "rd=rd1,wd=wd1,iorate=(100,200)x,elapsed=5", 1);
    rd("empty-item", "rd=rd1,wd=wd1,iorate=(100,,200)", 1);
    sd("open-quote", "sd=sd1,lun=\"/x y", 0);
    sd("dangling-comma", "sd=sd1,lun=/x,", 0);
    rd("eof-line", "rd=rd1,wd=wd1,iorate=1\neofx\nfoo", 0);
}

#[test]
fn values() {
    wd("bad-number", "wd=wd1,sd=sd1,xfersize=4k,rdpct=lots", 1);
    rd("words-among-numbers", "rd=rd1,wd=wd1,iorate=100,threads=(1,two)", 1);
    rd("curve-in-list", "rd=rd1,wd=wd1,iorate=(100,curve)", 1);
    rd("endless-range", "rd=rd1,wd=wd1,iorate=100,threads=(1-8,0)", 1);
    rd("too-many-values", "rd=rd1,wd=wd1,iorate=(1-1000000,1)", 1);
    rd("forms-of-the-guide", "rd=rd1,wd=wd1,iorate=(64,1,d),elapsed=10s,threads=(1-4)", 0);
    rd("suffixes", "rd=rd1,wd=wd1,iorate=1k,elapsed=1d", 0);
    rd("seekpct-list", "rd=rd1,wd=wd1,iorate=1,seekpct=(0,100)", 0);
    rd("seekpct-word", "rd=rd1,wd=wd1,iorate=1,forseekpct=(eof,100)", 1);
    rd("percent-sign", "rd=rd1,wd=wd1,iorate=50%,rdpct=50%", 0);
    rd("percent-threads", "rd=rd1,wd=wd1,iorate=1,threads=50%", 1);
    rd("one-value", "rd=rd1,wd=wd1,iorate=1,elapsed=(10,20)", 0);
    rd("negative-elapsed", "rd=rd1,wd=wd1,iorate=1,elapsed=-5", 1);
    rd("distribution-word", "rd=rd1,wd=wd1,iorate=1,distribution=normal", 1);
    general("yes-no", "create_anchors=maybe\nformatsds=maybe", 1);
    general("report-option", "report=(host_detail,everything)", 1);
    general("histogram-bounds", "histogram=(default,20,40,10)", 1);
    general("misc-keys", "misc=(engin=sync,fifo,sim.A.hit=39u,sim.A.hitarea=1m,sim.hit=1u)", 0);
    general("loop-unit", "loop=5d", 1);
    general("timeout-values", "timeout=(1,2,3)", 1);
    general("data-errors", "data_errors=(1,2,3)", 1);
    general("data-errors-remove", "data_errors=(remove_device,60)", 0);
    general("validate-word", "validate=maybe", 1);
    general("port-too-large", "port=70000", 1);
    general("obsolete-compression", "compression=50", 0);
}

#[test]
fn names() {
    sd("numeric-name", "sd=5,lun=/x\nsd=sd1,lun=/y", 1);
    sd("lost-names", "sd=(sd1-sd3),lun=/x", 0);
    sd("duplicate-sd", "sd=sd1,lun=/x\nsd=sd1,lun=/y", 1);
    wd("duplicate-wd", "wd=wd1,sd=sd1\nwd=wd1,sd=sd1", 1);
    rd("duplicate-rd", "rd=rd1,wd=wd1,iorate=1\nrd=rd1,wd=wd1,iorate=1", 1);
    hd("duplicate-host", "hd=h1\nhd=H1", 1);
    hd("numeric-host", "hd=5,system=x", 1);
    sd("reserved-name", "sd=sd1,lun=/x\nsd=concat,lun=/y", 1);
    wd("bad-name-range", "wd=wd1,sd=(sd1-5)", 1);
    wd("descending-range", "wd=wd1,sd=(sd5-sd1)", 1);
    wd("zeros-lost", "wd=wd1,sd=(sd01-sd03)", 0);
    wd("numeric-reference", "wd=wd1,sd=(sd1,2)", 1);
}

#[test]
fn hosts_and_storage() {
    hd("old-host-form", "hd=(node1.lab,h1)", 0);
    hd("vdbench-without-slash", "hd=h1,vdbench=vdbench", 1);
    hd("no-jvms", "hd=h1,jvms=0", 1);
    let same = format!("hd=h1\nhd=h2\n{SD}wd=wd1,sd=sd1,host=$host\n{RD}");
    check("same-for-each-host", &same, 1);
    hd("unknown-host-keyword", "hd=h1,sytem=x", 1);
    sd("no-lun", "sd=sd1,size=1m", 1);
    sd("lun-in-default", "sd=default,lun=/x\nsd=sd1,lun=/y", 1);
    sd("lun-host-pairs", "sd=sd1,lun=/x,host=h1,lun=/y", 1);
    sd("backslash", "sd=sd1,lun=C:\\x", 1);
    sd("count-of-one", "sd=sd1,lun=/x,count=5", 1);
    sd("count-of-nothing", "sd=sd1,lun=/x,count=(1,0)", 1);
    sd("offset-not-512", "sd=sd1,lun=/x,offset=1000,align=1k", 1);
    sd("range-with-a-dash", "sd=sd1,lun=/x,range=(10-20)", 1);
    sd("range-of-one", "sd=sd1,lun=/x,range=10", 1);
    sd("size-in-percent", "sd=sd1,lun=/x,size=50%", 0);
    sd("size-beyond-devices", "sd=sd1,lun=/x,size=1e30", 1);
    sd("size-beyond-devices-divided", "sd=sd1,lun=/x,size=(99999999t,2)", 1);
}

#[test]
fn workloads() {
    wd("xfersize-pairs", "wd=wd1,sd=sd1,xfersize=(4k,50,8k,40,1k)", 1);
    wd("xfersize-total", "wd=wd1,sd=sd1,xfersize=(4k,50,8k,49)", 1);
    wd("xfersize-not-512", "wd=wd1,sd=sd1,xfersize=(4000,50,8k,50)", 1);
    wd("xfersize-range", "wd=wd1,sd=sd1,xfersize=(8k,4k,512)", 1);
    wd("xfersize-align", "wd=wd1,sd=sd1,xfersize=(4k,8k,100)", 1);
    wd("stride-order", "wd=wd1,sd=sd1,stride=(2m,1m)", 1);
    wd("priority-zero", "wd=wd1,sd=sd1,priority=0", 1);
    wd("iorate-list", "wd=wd1,sd=sd1,priority=1,iorate=(1,2)", 1);
    wd("iorate-and-skew", "wd=wd1,sd=sd1,priority=1,skew=50,iorate=100", 1);
    wd("threads-of-a-wd", "wd=wd1,sd=sd1,threads=4", 1);
    wd("one-stream", "wd=wd1,sd=sd1,streams=1", 1);
    wd("seekpct-unknown", "wd=wd1,sd=sd1,seekpct=half", 1);
    wd("seekpct-one", "wd=wd1,sd=sd1,seekpct=1", 0);
    wd("seekpct-percent", "wd=wd1,sd=sd1,seekpct=50%", 1);
}

#[test]
fn runs() {
    rd("no-workload", "rd=rd1,iorate=1", 1);
    rd("wd-twice", "rd=default,wd=wd1\nrd=rd1,wd=wd1,iorate=1", 1);
    rd("format-in-default", "rd=default,format=yes\nrd=rd1,wd=wd1,iorate=1", 1);
    rd("format-of-a-raw-run", "rd=rd1,wd=wd1,iorate=1,format=yes", 0);
    rd("list-cancelled", "rd=default,iorate=(100,200)\nrd=rd1,wd=wd1,iorate=300", 0);
    rd("odd-bursts", "rd=rd1,wd=wd1,iorate=(50,2,10),distribution=variable", 1);
    rd("long-bursts", "rd=rd1,wd=wd1,iorate=(50,1h,10,5),distribution=(var,det)", 1);
    rd("max-in-bursts", "rd=rd1,wd=wd1,iorate=(max,5),distribution=spike", 1);
    rd("no-bursts", "rd=rd1,wd=wd1,distribution=variable", 1);
}

#[test]
fn the_whole() {
    check("empty-file", "", 1);
    check("no-run", SD, 1);
    check("no-storage", "rd=rd1,sd=sd1,iorate=1", 1);
    rd("workload-behind-run", "rd=rd1,wd=wd1,iorate=1\nwd=wd2,sd=sd1,skew=5\nrd=rd2,wd=wd2,iorate=1", 1);
    rd("storage-behind-run", "rd=rd1,wd=wd1,iorate=1\nsd=sd2,lun=/y,size=1m", 1);
    check("storage-behind-workload", &format!("{WD}{SD}{RD}"), 1);
    sd("host-behind-storage", "sd=sd1,lun=/x\nhd=h1,system=node1,jvms=4", 1);
    general("exclusive-formats", "formatsds=yes,concatenatesds=yes", 1);
    general("exclusive-pattern", "pattern=/x,compratio=2", 1);
    check(
        "all-at-once",
        "data_errors=lots\nsd=sd1,lun=/a,threads=(8-\nwd=wd1,sd=sd1,banana=7\nrd=rd1,wd=wd1,iorate=no\n",
        3,
    );
}

#[test]
fn files_and_variables() {
    let ok = format!("{SD}{WD}{RD}");
    let with = |arguments: &str, files: &[(&str, &str)]| parse_with(arguments, files);
    check_parsed("no-parameter-file", &with("nosuchfile", &[]), 1);
    check_parsed("no-include", &with("a/p", &[("a/p", "include=b.inc\n")]), 1);
    check_parsed("include-cycle", &with("p", &[("p", "include=q"), ("q", "include=p")]), 1);
    check_parsed("include-choice", &with("a/p", &[("a/p", "include=q"), ("a/q", &ok), ("q", "x")]), 0);
    check_parsed("include-two", &with("p", &[("p", "include=(q,r)")]), 1);
    check_parsed("error-in-include", &with("p", &[("p", "\ninclude=q"), ("q", &format!("banana=1\n{ok}"))]), 1);
    let rated = ok.replace("=100", "=$rate");
    check_parsed("unknown-variable", &with("p", &[("p", &rated)]), 1);
    check_parsed("misspelt-variable", &with("p rates=5", &[("p", &rated.replace("sdb", "$rates"))]), 1);
    check_parsed("unused-variable", &with("p elapsed=10 lun=/x", &[("p", &ok)]), 2);
    check_parsed("error-in-variable", &with("p rate=lots", &[("p", &rated.replace("iorate", "threads"))]), 1);
    check_parsed("error-in-extra", &with("p +elapsd=10", &[("p", &ok)]), 1);
}

#[test]
fn a_mistake_in_what_is_repeated_for_each_host_is_said_once() {
    let text = "hd=a,clients=50,system=localhost\nsd=sd_$host,lun=/x#host,banana=5\nwd=w,sd=sd_*\nrd=r,wd=w,iorate=1\n";
    let parsed = parse_text(text);
    let errors: Vec<_> = parsed.diags.iter().filter(|d| d.severity == Severity::Error).map(|d| d.code).collect();
    assert_eq!(errors, ["unknown-keyword"]);
}
