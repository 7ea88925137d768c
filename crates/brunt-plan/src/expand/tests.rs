//! Worked expectations of `docs/vdbench/raw.md` §11: runs, loops and rates.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod definitions;
mod messages;

use brunt_parm::ast::{IoRate, LoopKind, Num, ParmFile, Rd, Sd, SeekPct, Wd, XferSize};
use brunt_parm::{Diag, Severity};

use crate::options::Options;
use crate::plan::{Plan, Rate, RateStep};
use crate::testing::*;
use crate::work::{Seek, Xfer};

fn plan_with(file: &ParmFile, options: &Options) -> (Option<Plan>, Vec<Diag>) {
    let mut diags = Vec::new();
    let plan = super::expand(file, options, &mut diags);
    assert_eq!(plan.is_none(), diags.iter().any(|d| d.severity == Severity::Error));
    (plan, diags)
}

fn plan(file: &ParmFile) -> Plan {
    let (plan, diags) = plan_with(file, &Options::default());
    plan.unwrap_or_else(|| panic!("{diags:#?}"))
}

/// Each run as `name; loops`.
fn texts(plan: &Plan) -> Vec<String> {
    plan.runs.iter().map(|r| format!("{}; {}", r.name, r.loop_texts().join(" "))).collect()
}

/// Each problem as `severity[code] message | vdbench | help`.
fn told(diags: &[Diag]) -> String {
    let line = |d: &Diag| {
        let mut line = format!("{:?}[{}] {}", d.severity, d.code, d.message);
        for more in [&d.vdbench, &d.help].into_iter().flatten() {
            line = format!("{line} | {more}");
        }
        line
    };
    diags.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn failing(file: &ParmFile) -> String {
    let (plan, diags) = plan_with(file, &Options::default());
    assert!(plan.is_none(), "accepted");
    told(&diags)
}

fn one_sd(rds: Vec<Rd>) -> ParmFile {
    file(vec![sized("sd1", 10 << 20)], vec![wd("wd1", &["sd1"])], rds)
}

#[test]
fn rates_are_innermost_wherever_they_are_written() {
    let mut run = rd_rates("rd1", &["wd1"], &[IoRate::Fixed(100.0), IoRate::Fixed(200.0)]);
    run.loops = vec![looping(LoopKind::Threads, &[1.0, 2.0])];
    assert_eq!(
        texts(&plan(&one_sd(vec![run]))),
        [
            "rd1; threads=1 iorate=100",
            "rd1; threads=1 iorate=200",
            "rd1; threads=2 iorate=100",
            "rd1; threads=2 iorate=200"
        ]
    );
}

#[test]
fn the_first_loop_is_the_outermost() {
    let mut run = rd("rd1", &["wd1"], IoRate::Max);
    run.loops = vec![looping(LoopKind::Xfersize, &[4096.0, 8192.0]), looping(LoopKind::Threads, &[1.0, 1024.0])];
    let plan = plan(&one_sd(vec![run]));
    assert_eq!(
        texts(&plan),
        [
            "rd1; xfersize=4k threads=1",
            "rd1; xfersize=4k threads=1k",
            "rd1; xfersize=8k threads=1",
            "rd1; xfersize=8k threads=1k"
        ]
    );
    assert_eq!(plan.runs[2].workloads[0].xfer, Xfer::Fixed(8192));
    assert_eq!(plan.runs[3].threads, Some(1024));
}

#[test]
fn the_simulation_of_the_golden_case_lists_eight_runs() {
    let mut run = rd_rates("sim", &["wd1"], &[IoRate::Fixed(100.0), IoRate::Max]);
    run.loops = vec![looping(LoopKind::Xfersize, &[4096.0, 8192.0]), looping(LoopKind::Rdpct, &[0.0, 50.0])];
    run.warmup = some(5);
    let plan = plan(&one_sd(vec![run]));
    assert_eq!(plan.runs.len(), 8);
    assert_eq!(texts(&plan)[7], "sim; xfersize=8k rdpct=50 iorate=max");
    assert_eq!((plan.runs[0].elapsed, plan.runs[0].warmup), (Some(10), 5));
}

#[test]
fn a_curve_is_a_maximum_run_and_its_points() {
    let mut run = rd("rd1", &["wd1"], IoRate::Curve);
    run.curve = some(vec![at(10.0), at(20.0), at(30.0)]);
    run.loops = vec![looping(LoopKind::Threads, &[1.0, 2.0])];
    let plan = plan(&one_sd(vec![run]));
    let names: Vec<&str> = plan.runs.iter().map(|r| r.name.as_str()).collect();
    assert_eq!(names, ["rd1", "rd1_(10%)", "rd1_(20%)", "rd1_(30%)", "rd1", "rd1_(10%)", "rd1_(20%)", "rd1_(30%)"]);
    assert_eq!(plan.runs[4].rate, Rate::CurveMax);
    assert_eq!(plan.runs[7].rate, Rate::CurvePoint { percent: 30.0, of_run: 4 });
    assert_eq!(texts(&plan)[3], "rd1_(30%); threads=1");
}

#[test]
fn percent_and_negative_rates_are_of_the_run_before() {
    let run = rd_rates("rd1", &["wd1"], &[IoRate::Fixed(1000.0), IoRate::Percent(50.0), IoRate::Fixed(-1.0)]);
    let plan = plan(&one_sd(vec![run]));
    assert_eq!(plan.runs[1].rate, Rate::PercentOfPrevious(50.0));
    assert_eq!(texts(&plan), ["rd1; iorate=1000", "rd1; iorate=50%", "rd1; iorate=1%"]);
}

#[test]
fn steps_are_pairs_within_the_elapsed_time() {
    let plan = plan(&one_sd(vec![rd_steps("rd1", &["wd1"], &[50.0, 2.0, 10.0, 1.0])]));
    let step = |rate, seconds| RateStep { rate, percent: false, seconds };
    assert_eq!(plan.runs[0].rate, Rate::Steps(vec![step(50.0, 2), step(10.0, 1)]));
    insta::assert_snapshot!(
        failing(&one_sd(vec![rd_steps("rd1", &["wd1"], &[50.0, 2.0, 10.0])])),
        @"Error[bursts] iorate= of distribution=variable needs pairs of rate and seconds"
    );
    insta::assert_snapshot!(
        failing(&one_sd(vec![rd_steps("rd1", &["wd1"], &[50.0, 4000.0])])),
        @"Error[bursts] the steps last 4000 s; at most 3600 are possible"
    );
}

#[test]
fn loops_override_what_the_workload_says() {
    let mut run = rd("rd1", &["wd1"], IoRate::Max);
    run.loops = vec![
        looping(LoopKind::Seekpct, &[-1.0]),
        looping(LoopKind::Rhpct, &[25.0]),
        looping(LoopKind::Hitarea, &[2097152.0]),
        looping(LoopKind::Threads, &[0.0]),
    ];
    let plan = plan(&one_sd(vec![run]));
    let (run, workload) = (&plan.runs[0], &plan.runs[0].workloads[0]);
    assert_eq!(workload.seek, Seek::Eof);
    assert_eq!((workload.read_hit_pct, workload.hit_area, run.threads), (25.0, Some(2 << 20), Some(1)));
    assert_eq!(texts(&plan), ["rd1; seekpct=1% rhpct=25 hitarea=2m threads=1"]);
}

#[test]
fn options_override_times_and_are_checked() {
    let options = Options { elapsed: Some(4), warmup: Some(2), interval: Some(2), ..Options::default() };
    let run = rd("rd1", &["wd1"], IoRate::Max);
    let (plan, _) = plan_with(&one_sd(vec![run.clone()]), &options);
    let plan = plan.unwrap();
    assert_eq!((plan.runs[0].elapsed, plan.runs[0].interval, plan.runs[0].warmup), (Some(4), 2, 2));
    let (plan, diags) = plan_with(&one_sd(vec![run]), &Options { elapsed: Some(1), ..Options::default() });
    assert!(plan.is_none());
    insta::assert_snapshot!(told(&diags), @"Error[elapsed] elapsed=1 is too short for interval=1 | a run needs two intervals: elapsed=2");
}

#[test]
fn times_have_defaults() {
    let mut run = rd("rd1", &["wd1"], IoRate::Max);
    (run.elapsed, run.interval) = (None, None);
    let plain = plan(&one_sd(vec![run.clone()]));
    assert_eq!((plain.runs[0].elapsed, plain.runs[0].interval), (Some(30), 1));
    (run.elapsed, run.interval) = (some(300), some(0));
    assert_eq!(plan(&one_sd(vec![run])).runs[0].interval, 60);
}

#[test]
fn a_restart_leaves_out_the_runs_before() {
    let mut curve = rd("second", &["wd1"], IoRate::Curve);
    curve.curve = some(vec![at(50.0)]);
    let parms = one_sd(vec![rd("first", &["wd1"], IoRate::Max), curve]);
    let restarted =
        |name: &str| plan_with(&parms, &Options { restart_at: Some(name.to_owned()), ..Options::default() });

    let plan = restarted("second").0.unwrap();
    assert_eq!(texts(&plan), ["second; ", "second_(50%); "]);
    assert_eq!(plan.runs[1].rate, Rate::CurvePoint { percent: 50.0, of_run: 0 });

    let (plan, diags) = restarted("second_(50%)");
    assert_eq!(plan.unwrap().runs[0].rate, Rate::Fixed(5000.0));
    insta::assert_snapshot!(told(&diags), @"Warning[curve-without-max] -r second_(50%) skips the maximum run of its curve: points are percentages of 10000");

    insta::assert_snapshot!(told(&restarted("Second").1), @"Error[unknown-rd] -r Second: no run has this name | did you mean `second`?");
}

#[test]
fn a_restart_at_an_rd_with_suffixes_begins_with_its_first_run() {
    let mut run = rd("rd2", &["wd1"], IoRate::Max);
    run.sds = names(&["single"]);
    let parms = one_sd(vec![rd("rd1", &["wd1"], IoRate::Max), run]);
    let (plan, _) = plan_with(&parms, &Options { restart_at: Some("rd2".to_owned()), ..Options::default() });
    assert_eq!(texts(&plan.unwrap()), ["rd2_sd1; "]);
}

#[test]
fn a_percentage_in_a_loop_is_a_negative_number_to_whoever_does_not_know_percentages() {
    let mut run = rd("rd1", &["wd1"], IoRate::Max);
    let mut half = looping(LoopKind::Rdpct, &[]);
    half.values = brunt_parm::ast::LoopValues::Numbers(vec![at(Num { value: 50.0, percent: true })]);
    run.loops = vec![half];
    let plan = plan(&one_sd(vec![run]));
    assert_eq!(plan.runs[0].workloads[0].read_pct, -50.0);
    assert_eq!(texts(&plan), ["rd1; rdpct=50%"]);
}
