//! What is said about each mistake in file system definitions, from text to message
//! (`docs/vdbench/filesystem.md` §1–§3, §7.2). One mistake, one message.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use brunt_parm::render::render;
use brunt_parm::source::{ReadError, Reader};
use brunt_parm::{Input, Severity};
use brunt_plan::Options;
use brunt_plan::plan::Plan;

const FSD: &str = "fsd=fsd1,anchor=/x,depth=1,width=2,files=4,size=64k\n";
const FWD: &str = "fwd=fwd1,fsd=fsd1,operation=read,xfersize=4k,fileio=random,fileselect=random,threads=2\n";
const RD: &str = "rd=rd1,fwd=fwd1,fwdrate=100,elapsed=4,interval=1\n";

struct Text<'a>(&'a str);

impl Reader for Text<'_> {
    fn read(&self, _: &str) -> Result<String, ReadError> {
        Ok(self.0.to_owned())
    }

    fn absolute(&self, path: &str) -> String {
        format!("/work/{path}")
    }
}

/// The plan of a text, and all that is said about it, with what a real run refuses.
fn expand(text: &str) -> (Option<Plan>, Vec<brunt_parm::Diag>, String) {
    let input = Input { files: vec!["parmfile".to_owned()], ..Input::default() };
    let mut parsed = brunt_parm::parse(&input, &Text(text));
    let mut diags = std::mem::take(&mut parsed.diags);
    let failed = diags.iter().any(|d| d.severity == Severity::Error);
    let mut planned = Vec::new();
    let plan = brunt_plan::expand(&parsed.file, &Options::default(), &mut planned);
    if !failed {
        diags.append(&mut planned);
    }
    let mut said: Vec<String> = diags.iter().map(|d| render(d, &parsed.sources, false)).collect();
    if let Some(plan) = plan.as_ref().filter(|_| !failed) {
        let ordinary = "file system workloads are not run by this version";
        let refused = plan.settings.unsupported.iter().map(|(_, sentence)| sentence).filter(|s| *s != ordinary);
        said.extend(refused.map(|sentence| format!("a real run refuses: {sentence}")));
    }
    (plan.filter(|_| !failed), diags, said.join("\n\n"))
}

fn check(name: &str, text: &str, errors: usize) {
    let (_, diags, said) = expand(text);
    insta::assert_snapshot!(name, said);
    let found = diags.iter().filter(|d| d.severity == Severity::Error).count();
    assert_eq!(found, errors, "{name}: {said}");
    assert!(diags.iter().all(|d| d.span.is_some()), "{name}: every message has a place");
}

fn general(name: &str, line: &str, errors: usize) {
    check(name, &format!("{line}\n{FSD}{FWD}{RD}"), errors);
}

fn fsd(name: &str, line: &str, errors: usize) {
    check(name, &format!("{line}\n{FWD}{RD}"), errors);
}

fn fwd(name: &str, line: &str, errors: usize) {
    check(name, &format!("{FSD}{line}\n{RD}"), errors);
}

fn rd(name: &str, line: &str, errors: usize) {
    check(name, &format!("{FSD}{FWD}{line}\n"), errors);
}

#[test]
fn a_file_in_order_says_nothing() {
    let (plan, _, said) = expand(&format!("{FSD}{FWD}{RD}"));
    assert_eq!(said, "");
    assert_eq!(plan.unwrap().settings.unsupported.len(), 1, "only that there is no engine yet");
}

#[test]
fn file_systems() {
    fsd("no-anchor", "fsd=fsd1,depth=1,width=1", 1);
    fsd("duplicate-fsd", "fsd=fsd1,anchor=/x\nfsd=FSD1,anchor=/y", 1);
    fsd("host-of-an-fsd", "fsd=fsd1,anchor=/x,host=h1", 1);
    fsd("cleanup", "fsd=fsd1,anchor=/x,cleanup=yes", 1);
    fsd("dedup-of-an-fsd", "fsd=fsd1,anchor=/x,dedupratio=2", 1);
    fsd("threads-of-an-fsd", "fsd=fsd1,anchor=/x,threads=8", 1);
    fsd("no-files", "fsd=fsd1,anchor=/x,files=0", 1);
    fsd("ten-million-files", "fsd=fsd1,anchor=/x,files=20m", 1);
    fsd("too-many-files", "fsd=fsd1,anchor=/x,depth=10,width=10,files=10", 1);
    fsd("no-width", "fsd=fsd1,anchor=/x,width=0", 0);
    fsd("distribution-short", "fsd=fsd1,anchor=/x,distribution=bot", 1);
    fsd("sizes-odd", "fsd=fsd1,anchor=/x,sizes=(4k,50,8k)", 1);
    fsd("sizes-total", "fsd=fsd1,anchor=/x,sizes=(4k,50,8k,40)", 1);
    fsd("sizes-list", "fsd=fsd1,anchor=/x,sizes=(4k,8k)", 1);
    fsd("totalsize-percent", "fsd=fsd1,anchor=/x,totalsize=50%", 1);
    fsd("totalsize-too-large", "fsd=fsd1,anchor=/x,files=4,size=4k,totalsize=1m", 1);
    fsd("wss-beyond-totalsize", "fsd=fsd1,anchor=/x,files=100,size=4k,totalsize=64k,wss=128k", 1);
    fsd("count-of-one", "fsd=fsd,anchor=/x,count=5", 1);
    fsd("count-and-its-name", "fsd=fsd1,anchor=/x,count=(1,2)", 1);
    fsd("count-makes-two", "fsd=fsd,anchor=/x,count=(1,2)\nfsd=fsd2,anchor=/y", 1);
    fsd("anchors-nested", "fsd=fsd1,anchor=/x/y\nfsd=fsd2,anchor=/x", 1);
    fsd("mask-of-one", "fsd=fsd1,anchor=/x,mask=(vdb%04d.file)", 1);
    fsd("mask-with-a-dash", "fsd=fsd1,anchor=/x,mask=(vdb-%03d.file,vdb.%02d_%02d.dir)", 1);
    fsd("mask-begin", "fsd=fsd1,anchor=/x,mask=(x%04d.file,vdb.%02d_%02d.dir)", 1);
    fsd("mask-number", "fsd=fsd1,anchor=/x,mask=(vdb%d.file,vdb.%02d_%02d.dir)", 1);
    fsd("mask-numbers", "fsd=fsd1,anchor=/x,mask=(vdb%04d.file,vdb.%02d.dir)", 1);
    fsd("several-values", "fsd=fsd1,anchor=/x,files=(1-64,d)", 0);
    fsd("lost-names", "fsd=(fsd1-fsd3),anchor=/x", 0);
}

#[test]
fn workloads() {
    fwd("duplicate-fwd", &format!("{FWD}fwd=FWD1,fsd=fsd1"), 1);
    fwd("named-like-an-operation", "fwd=read,fsd=fsd1\nfwd=fwd1,fsd=fsd1", 1);
    fwd("no-fsd", "fwd=fwd1,operation=read", 1);
    fwd("unknown-fsd", "fwd=fwd1,fsd=fsd7", 1);
    fwd("two-operations", "fwd=fwd1,fsd=fsd1,operation=(read,write)", 1);
    fwd("operations-of-an-fwd", "fwd=fwd1,fsd=fsd1,operations=read", 1);
    fwd("unknown-operation", "fwd=fwd1,fsd=fsd1,operation=raed", 1);
    fwd("fileio-short", "fwd=fwd1,fsd=fsd1,filei=random", 1);
    fwd("fileio-unknown", "fwd=fwd1,fsd=fsd1,fileio=(random,delete)", 1);
    fwd("fileselect-unknown", "fwd=fwd1,fsd=fsd1,fileselect=any", 1);
    fwd("seqnz-once", "fwd=fwd1,fsd=fsd1,fileselect=(seqnz,once)", 1);
    fwd("midpoint", "fwd=fwd1,fsd=fsd1,fileselect=(skewed,midpoint=0)", 1);
    fwd("rdpct-sequential", "fwd=fwd1,fsd=fsd1,rdpct=50,fileio=sequential", 1);
    fwd("rdpct-default", "fwd=fwd1,fsd=fsd1,rdpct=50", 1);
    fwd("rdpct-delete", "fwd=fwd1,fsd=fsd1,rdpct=50,fileio=(seq,delete)", 1);
    fwd("xfersize-total", "fwd=fwd1,fsd=fsd1,xfersize=(4k,50,8k,60)", 1);
    fwd("xfersize-odd", "fwd=fwd1,fsd=fsd1,xfersize=(4k,8k,16k)", 1);
    fwd("no-threads", "fwd=fwd1,fsd=fsd1,threads=0", 0);
    fwd("target-of-read", "fwd=fwd1,fsd=fsd1,target=fsd1", 1);
    fwd("target-missing", "fwd=fwd1,fsd=fsd1,operation=copy", 0);
    fwd("target-unknown", "fwd=fwd1,fsd=fsd1,operation=copy,target=fsd9", 1);
    fwd("target-differs", "fsd=fsd2,anchor=/y,files=9\nfwd=fwd1,fsd=fsd1,operation=copy,target=fsd2", 1);
    fwd("file-system-behind-workload", &format!("{FWD}fsd=fsd2,anchor=/y"), 1);
    fwd("iorate-of-an-fwd", "fwd=fwd1,fsd=fsd1,iorate=100", 1);
    fwd("openflags", "fwd=fwd1,fsd=fsd1,openflags=clear_cache", 0);
}

#[test]
fn runs() {
    rd("no-fwdrate", "rd=rd1,fwd=fwd1,elapsed=4", 1);
    rd("iorate-for-fwdrate", "rd=rd1,fwd=fwd1,iorate=100,elapsed=4", 1);
    rd("fwdrate-zero", "rd=rd1,fwd=fwd1,fwdrate=0", 1);
    rd("fwdrate-max-in-a-list", "rd=rd1,fwd=fwd1,fwdrate=(10,max)", 1);
    rd("fwdrate-curve-in-a-list", "rd=rd1,fwd=fwd1,fwdrate=(10,curve)", 1);
    rd("fwdrate-cancelled", "rd=default,fwdrate=(10,20)\nrd=rd1,fwd=fwd1,fwdrate=5", 0);
    rd("no-fwd", "rd=rd1,fwdrate=max", 1);
    rd("unknown-fwd", "rd=rd1,fwd=fwd2,fwdrate=max", 1);
    rd("fwd-wildcard-case", "rd=rd1,fwd=FWD*,fwdrate=max", 1);
    rd("fwd-twice", "rd=rd1,fwd=(fwd1,fwd*),fwdrate=max", 0);
    rd("fsd-alone", "rd=rd1,fsd=fsd1,fwdrate=max", 0);
    rd("elapsed-multiple", "rd=rd1,fwd=fwd1,fwdrate=max,elapsed=5,interval=2", 1);
    rd("elapsed-short", "rd=rd1,fwd=fwd1,fwdrate=max,elapsed=3,interval=2", 1);
    rd("warmup-multiple", "rd=rd1,fwd=fwd1,fwdrate=max,elapsed=4,interval=2,warmup=3", 1);
    rd("format-in-default", "rd=default,format=yes\nrd=rd1,fwd=fwd1,fwdrate=max", 1);
    rd("format-unknown", "rd=rd1,fwd=fwd1,fwdrate=max,format=maybe", 1);
    rd("format-complete", "rd=rd1,fwd=fwd1,fwdrate=max,format=(yes,complete)", 1);
    rd("format-limited", "rd=rd1,fwd=fwd1,fwdrate=max,format=(yes,limited)", 1);
    rd("format-once", "rd=rd1,fwd=fwd1,fwdrate=max,format=(yes,once)", 1);
    rd("format-no-and-more", "rd=rd1,fwd=fwd1,fwdrate=max,format=(restart,no)", 0);
    rd("operations-unknown", "rd=rd1,fwd=fwd1,fwdrate=max,operations=(read,wirte)", 1);
    rd("foroperations-unknown", "rd=rd1,fwd=fwd1,fwdrate=max,foroperations=(read,wirte)", 1);
    rd("operations-and-loop", "rd=rd1,fwd=fwd1,fwdrate=max,operations=read,foroperations=write", 1);
    rd("totalsize-percent-of-nothing", "rd=rd1,fwd=fwd1,fwdrate=max,fortotalsize=50%", 1);
    rd("totalsize-loop-too-large", "rd=rd1,fwd=fwd1,fwdrate=max,fortotalsize=(64k,64m)", 1);
    rd("maxdata-multiple", "rd=rd1,fwd=fwd1,fwdrate=max,maxdata=50", 1);
    rd("variable", "rd=rd1,fwd=fwd1,fwdrate=max,distribution=variable", 1);
    rd("loops-of-sds", "rd=rd1,fwd=fwd1,fwdrate=max,forseekpct=(0,100)", 0);
    rd("unknown-fsd-of-a-run", "rd=rd1,fwd=fwd1,fsd=(fsd1,fsd2),fwdrate=max", 1);
    check("same-anchor", &format!("{FSD}fsd=fsd2,anchor=/x\nfwd=fwd1,fsd=*\n{RD}"), 0);
    check("rdpct-of-a-run", &format!("{FSD}fwd=fwd1,fsd=fsd1\nrd=rd1,fwd=fwd1,fwdrate=max,rdpct=50"), 1);
    check("workload-behind-run", &format!("{FSD}{FWD}{RD}fwd=fwd2,fsd=fsd1,fileio=random\n"), 1);
}

#[test]
fn hosts_threads_and_skew() {
    let hosts = "hd=one,system=localhost\nhd=two,system=localhost\n";
    check("not-shared", &format!("{hosts}{FSD}{FWD}{RD}"), 1);
    let named = |host: &str| format!("{hosts}{FSD}fwd=fwd1,fsd=fsd1,host={host}\n{RD}");
    check("not-shared-named", &named("(one,two)"), 1);
    check("host-wildcard", &named("*"), 1);
    check("unknown-host", &named("three"), 1);
    check("one-host", &named("one"), 0);
    check("name-of-a-host", "hd=a,system=localhost\nfsd=a,anchor=/x\nfwd=b,fsd=a\nrd=r,fwd=b,fwdrate=1", 0);
    let three = "fsd=fsd,anchor=/x,count=(1,3)\nfwd=fwd1,fsd=fsd*,threads=5\n";
    check("threads-adjusted", &format!("{three}{RD}"), 0);
    check("threads-exact", &format!("fwd_thread_adjust=no\n{three}{RD}"), 1);
    fwd("skew-not-100", "fwd=fwd1,fsd=fsd1,skew=50", 0);
    let apart = "fwd=w1,fsd=fsd1,host=one,skew=50\nfwd=w2,fsd=fsd1,host=two\n";
    check("skew-hosts", &format!("{hosts}{FSD}{apart}rd=rd1,fwd=w*,fwdrate=max"), 1);
    let two = "hd=one,system=localhost,jvms=2\n";
    check("skew-jvms", &format!("{two}{FSD}fwd=fwd1,fsd=fsd1,skew=100\n{RD}"), 1);
    let shared = "fsd=fsd1,anchor=/x,shared=yes\n";
    check("format-of-shared", &format!("{shared}fwd=fwd1,fsd=fsd1\nrd=rd1,fwd=fwd1,fwdrate=max,format=yes"), 0);
}

#[test]
fn the_whole() {
    check("no-file-systems", &format!("{FWD}{RD}"), 1);
    check("no-runs-of-files", &format!("{FSD}{FWD}"), 1);
    check("mixed", &format!("{FSD}sd=sd1,lun=/y\n{FWD}{RD}"), 1);
    check("file-system-behind-storage", "sd=sd1,lun=/y\nfsd=fsd1,anchor=/x\nwd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=1", 1);
    check("files-without-file-systems", "sd=sd1,lun=/y\nrd=rd1,fwd=fwd1,fwdrate=max", 1);
    general("validate-is-refused-in-runs", "validate=yes", 0);
    let long = "validate=yes\nfsd=file_system,anchor=/x\nfwd=fwd1,fsd=file*\n";
    check("validate-long-name", &format!("{long}{RD}"), 1);
    let shared = "validate=yes\nfsd=fsd1,anchor=/x\nfwd=fwd1,fsd=fsd1,fileio=(random,shared)\n";
    check("validate-shared", &format!("{shared}{RD}"), 1);
    let twelve = "validate=yes\nfsd=fsd1,anchor=/x,size=100k\nfwd=fwd1,fsd=fsd1,operation=write,xfersize=12k\n";
    check("validate-transfers", &format!("{twelve}rd=rd1,fwd=fwd1,fwdrate=max,format=yes"), 0);
    let cured = twelve.replace("100k", "120k").replace("fwd=fwd1", "fwd=format,xfersize=24k\nfwd=fwd1");
    check("validate-transfers-cured", &format!("{cured}rd=rd1,fwd=fwd1,fwdrate=max,format=yes"), 0);
    let recover = format!("journal=recover\n{FSD}{FWD}rd=rd1,fwd=fwd1,fwdrate=max,format=yes");
    check("format-and-recovery", &recover, 1);
    let replay = "rg=g1,devices=(1,2)\nsd=sd1,lun=/x,replay=g1\nwd=wd1,sd=sd1\nrd=r,wd=wd1,replay=/trace.bin,elapsed=4";
    check("replay", replay, 0);
    check("replay-unknown-group", &replay.replace("replay=g1", "replay=g2"), 1);
    check("replay-no-devices", &replay.replace(",devices=(1,2)", ""), 1);
}
