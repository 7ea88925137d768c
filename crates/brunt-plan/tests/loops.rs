//! Loops multiply the runs of an RD in the order in which they are written, the first slowest
//! (`docs/vdbench/raw.md` §7.1, `filesystem.md` §3.2, §3.3).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use brunt_parm::source::{ReadError, Reader};
use brunt_parm::{Input, Severity};
use brunt_plan::plan::{Run, RunKind};
use brunt_plan::{Options, expand};
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

fn runs(text: &str) -> Vec<Run> {
    let input = Input { files: vec!["parmfile".to_owned()], ..Input::default() };
    let parsed = brunt_parm::parse(&input, &Text(text.to_owned()));
    let mut diags = parsed.diags;
    let plan = expand(&parsed.file, &Options::default(), &mut diags);
    let errors: Vec<_> = diags.iter().filter(|d| d.severity == Severity::Error).collect();
    plan.unwrap_or_else(|| panic!("{text}\n{errors:?}")).runs
}

/// Every combination as `name=value` words, the last loop fastest.
fn combinations(loops: &[(&str, Vec<u32>)]) -> Vec<String> {
    let mut all = vec![String::new()];
    for (name, values) in loops {
        let longer = |outer: &String| {
            let outer = outer.clone();
            values.iter().map(move |v| format!("{outer} {name}={v}"))
        };
        all = all.iter().flat_map(longer).collect();
    }
    all.into_iter().map(|words| words.trim_start().to_owned()).collect()
}

fn parameters(loops: &[(&str, Vec<u32>)], all_for: bool) -> String {
    let list = |values: &[u32]| values.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let keyword = |name: &str| if all_for && name != "fwdrate" { format!("for{name}") } else { name.to_owned() };
    loops.iter().map(|(name, values)| format!(",{}=({})", keyword(name), list(values))).collect()
}

/// Some of the loops in any order, each with one to three values.
fn some_of(names: &'static [&'static str], least: usize) -> impl Strategy<Value = Vec<(&'static str, Vec<u32>)>> {
    prop::sample::subsequence(names, least..=names.len()).prop_shuffle().prop_flat_map(|names| {
        let lists = prop::collection::vec(prop::collection::vec(1u32..90, 1..4), names.len());
        lists.prop_map(move |lists| names.iter().copied().zip(lists).collect())
    })
}

proptest! {
    #[test]
    fn raw_runs_nest_as_they_are_written(
        loops in some_of(&["threads", "rdpct", "rhpct", "whpct", "seekpct"], 0),
        rates in prop::collection::vec(1u32..900, 1..4),
        all_for: bool,
        at in 0usize..5,
    ) {
        // Wherever the rates stand, they are the innermost loop.
        let (before, behind) = loops.split_at(at.min(loops.len()));
        let rate = rates.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let text = format!(
            "sd=sd1,lun=/x\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1{},iorate=({rate}){}\n",
            parameters(before, all_for),
            parameters(behind, true),
        );
        let mut all = loops.clone();
        if rates.len() > 1 {
            all.push(("iorate", rates));
        }
        let got: Vec<String> = runs(&text).iter().map(|r| r.loop_texts().join(" ")).collect();
        prop_assert_eq!(got, combinations(&all));
    }

    #[test]
    fn runs_of_files_nest_with_their_rates_and_formats(
        loops in some_of(&["fwdrate", "threads", "depth", "width", "files", "sizes"], 1),
        all_for: bool,
        once: bool,
    ) {
        let one_rate = loops.iter().all(|(name, values)| *name != "fwdrate" || values.len() == 1);
        let kept: Vec<_> = loops.iter().filter(|(name, _)| *name != "fwdrate" || !one_rate).cloned().collect();
        let rate = if loops.iter().any(|(name, _)| *name == "fwdrate") { "" } else { ",fwdrate=max" };
        // Once for all needs a loop.
        let once = once && !kept.is_empty();
        let small: Vec<_> = loops
            .iter()
            .map(|(name, values)| {
                let most = if matches!(*name, "depth" | "width") { 3 } else { 90 };
                (*name, values.iter().map(|v| v % most + 1).collect::<Vec<_>>())
            })
            .collect();
        let kept: Vec<_> = small.iter().filter(|(name, _)| kept.iter().any(|(k, _)| k == name)).cloned().collect();
        let text = format!(
            "fsd=fsd1,anchor=/x\nfwd=fwd1,fsd=fsd1\nrd=rd1,fwd=fwd1{rate}{},format={}\n",
            parameters(&small, all_for),
            if once { "(yes,once)" } else { "yes" },
        );
        let runs = runs(&text);
        let wanted = combinations(&kept);
        let normal: Vec<&Run> = runs.iter().filter(|r| r.kind == RunKind::Normal).collect();
        prop_assert_eq!(normal.iter().map(|r| r.loop_texts().join(" ")).collect::<Vec<_>>(), wanted.clone());
        let formats: Vec<String> =
            runs.iter().filter(|r| r.kind == RunKind::Format).map(|r| r.loop_texts().join(" ")).collect();
        prop_assert_eq!(formats, if once { wanted[..1].to_vec() } else { wanted });
        prop_assert!(runs.iter().filter(|r| r.kind == RunKind::Format).all(|r| r.name == "format_for_rd1"));
        // Each run has the structure of its loops.
        for run in normal {
            let files = run.files.as_ref().unwrap();
            for value in &run.loops {
                let set = match value.kind {
                    brunt_parm::ast::LoopKind::Depth => files.changes.depth.map(f64::from),
                    brunt_parm::ast::LoopKind::Width => files.changes.width.map(f64::from),
                    brunt_parm::ast::LoopKind::Files => files.changes.files.map(f64::from),
                    brunt_parm::ast::LoopKind::Sizes => files.changes.size.map(|n| n as f64),
                    _ => Some(value.value),
                };
                prop_assert_eq!(set, Some(value.value));
            }
        }
    }
}
