//! Prints a large parameter file, to measure parsing and planning:
//!
//! ```sh
//! cargo build --release -p brunt
//! cargo run --release -p brunt-parm --example large -- 5000 200 100 > /tmp/large.parm
//! command time -f '%U+%S s, %M KiB' target/release/brunt -f /tmp/large.parm -s -o /tmp/large.out
//! ```
//!
//! SDs, workloads and runs; every fourth workload uses all SDs by a wildcard, every fourth a range of them, the
//! others a list; every other run uses all workloads, and every run has a loop. With a fourth word `files` they are
//! file systems.

#![allow(clippy::print_stdout, reason = "it is what the example does")]

use std::fmt::Write as _;

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

fn main() -> std::fmt::Result {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let count = |n: usize, default: usize| words.get(n).and_then(|w| w.parse().ok()).unwrap_or(default);
    let counts = Counts { storage: count(0, 5000), workloads: count(1, 200), runs: count(2, 100) };
    let mut out = String::new();
    if words.get(3).is_some_and(|w| w == "files") {
        files(&counts, &mut out)?
    } else {
        raw(&counts, &mut out)?
    }
    print!("{out}");
    Ok(())
}
