//! Parsing and planning of large parameter files: how long, and how it grows.
//!
//! ```sh
//! cargo bench -p brunt-plan --bench large                                   # one size and its double, CPU time of each step
//! cargo bench -p brunt-plan --bench large -- print 5000 200 100 > /tmp/p    # the file itself (`files` behind it: file systems)
//! command time -f '%U+%S s, %M KiB' target/release/brunt -f /tmp/p -s -o /tmp/out
//! ```
//!
//! SDs, workloads and runs; every fourth workload uses all SDs by a wildcard, every fourth a range of them, the
//! others a list; every other run uses all workloads, and every run has a loop.

#![allow(clippy::print_stdout, clippy::expect_used, reason = "it is a benchmark")]

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use brunt_parm::source::{ReadError, Reader};
use brunt_parm::{Input, Severity, parse};
use brunt_plan::{Options, expand};

/// How many there are of each.
struct Counts {
    storage: usize,
    workloads: usize,
    runs: usize,
}

fn storage(counts: &Counts, names: &str, which: usize) -> String {
    let most = counts.storage.max(2);
    match which % 4 {
        0 => format!("{names}*"),
        1 => format!("({names}1-{names}{most})"),
        _ => {
            let list: Vec<String> = (0..8).map(|n| format!("{names}{}", (which * 31 + n * 7) % most + 1)).collect();
            format!("({})", list.join(","))
        }
    }
}

fn raw(counts: &Counts, out: &mut String) -> std::fmt::Result {
    for n in 1..=counts.storage.max(2) {
        writeln!(out, "sd=sd{n},lun=/dev/mapper/disk{n},size=10g,threads=16,openflags=o_direct")?;
    }
    for n in 1..=counts.workloads {
        let sds = storage(counts, "sd", n);
        writeln!(out, "wd=wd{n},sd={sds},xfersize=(4k,60,8k,40),rdpct=70,seekpct=100")?;
    }
    for n in 1..=counts.runs {
        let wds = if n % 2 == 0 { "*".to_owned() } else { format!("wd{}", n % counts.workloads.max(1) + 1) };
        writeln!(out, "rd=rd{n},wd={wds},iorate=(1000-3000,1000),elapsed=60,interval=1,forthreads=(1-8,d)")?;
    }
    Ok(())
}

fn files(counts: &Counts, out: &mut String) -> std::fmt::Result {
    for n in 1..=counts.storage.max(2) {
        writeln!(out, "fsd=fsd{n},anchor=/mnt/f{n},depth=2,width=4,files=100,sizes=(4k,60,8k,40)")?;
    }
    for n in 1..=counts.workloads {
        let fsds = storage(counts, "fsd", n);
        writeln!(out, "fwd=fwd{n},fsd={fsds},operation=read,xfersize=4k,fileio=random,fileselect=random,threads=8")?;
    }
    for n in 1..=counts.runs {
        let fwds = if n % 2 == 0 { "*".to_owned() } else { format!("fwd{}", n % counts.workloads.max(1) + 1) };
        writeln!(out, "rd=rd{n},fwd={fwds},fwdrate=max,elapsed=60,interval=1,format=yes")?;
    }
    Ok(())
}

/// The file, of SDs or of file systems.
fn text(counts: &Counts, of_files: bool) -> String {
    let mut out = String::new();
    if of_files { files(counts, &mut out) } else { raw(counts, &mut out) }.expect("a string takes everything");
    out
}

struct Text(String);

impl Reader for Text {
    fn read(&self, _: &str) -> Result<String, ReadError> {
        Ok(self.0.clone())
    }

    fn absolute(&self, path: &str) -> String {
        path.to_owned()
    }
}

/// Parses and expands; the best of five, since whatever else the machine does only adds.
fn time(counts: &Counts, of_files: bool) -> (Duration, usize) {
    let input = Input { files: vec!["p".to_owned()], ..Input::default() };
    let text = Text(text(counts, of_files));
    let once = || {
        let began = Instant::now();
        let parsed = parse(&input, &text);
        let mut diags = parsed.diags;
        let plan = expand(&parsed.file, &Options::default(), &mut diags);
        assert!(diags.iter().all(|d| d.severity != Severity::Error), "{diags:?}");
        (began.elapsed(), plan.map_or(0, |p| p.runs.len()))
    };
    (0..5).map(|_| once()).min().expect("five times")
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|w| w != "--bench").collect();
    let count = |n: usize, default: usize| words.get(n).and_then(|w| w.parse().ok()).unwrap_or(default);
    if words.first().is_some_and(|w| w == "print") {
        let counts = Counts { storage: count(1, 5000), workloads: count(2, 200), runs: count(3, 100) };
        print!("{}", text(&counts, words.get(4).is_some_and(|w| w == "files")));
        return;
    }
    for (kind, of_files) in [("raw", false), ("files", true)] {
        let one = Counts { storage: 5000, workloads: 200, runs: 100 };
        let two = Counts { storage: 10_000, workloads: 400, runs: 200 };
        let ((first, runs), (second, _)) = (time(&one, of_files), time(&two, of_files));
        let ratio = second.as_secs_f64() / first.as_secs_f64();
        println!("{kind}: {runs} runs in {first:.1?}, doubled {second:.1?}, ratio {ratio:.2}");
    }
}
