//! Rates that hang on other runs.

use brunt_event::Event;
use brunt_plan::plan::{Rate, Run};

use crate::testing::{Played, Stage, plan, run, sample, stopped, whole, workload, workloads_of};

fn point(percent: f64, of_run: usize) -> Run {
    run(&format!("crv_({percent}%)"), Rate::CurvePoint { percent, of_run }, 2)
}

fn starts(played: &Played) -> Vec<String> {
    played.order().into_iter().filter(|e| e.starts_with("run ")).collect()
}

#[tokio::test(start_paused = true)]
async fn points_follow_the_maximum_and_slow_ones_are_dropped() {
    let runs = vec![run("crv", Rate::CurveMax, 2), point(10.0, 0), point(1.0, 0), point(50.0, 0)];
    let scripts = vec![whole(2, 730), whole(2, 73), whole(2, 365)];
    let played = Stage::new(plan(runs), vec![scripts]).play().await;
    assert_eq!(starts(&played), ["run 0 crv UncontrolledCurve", "run 1 crv_(10%) 80", "run 2 crv_(50%) 370"]);
    let note = "curve-point-too-slow: rd=crv_(1%) is not run: it would be less than 10 I/Os per second";
    assert!(played.order().contains(&note.to_owned()));
}

#[tokio::test(start_paused = true)]
async fn nothing_observed_counts_as_ten_thousand() {
    let runs = vec![run("crv", Rate::CurveMax, 2), point(10.0, 0)];
    let played = Stage::new(plan(runs), vec![vec![whole(2, 0), whole(2, 1)]]).play().await;
    assert_eq!(starts(&played)[1], "run 1 crv_(10%) 1000");
}

#[tokio::test(start_paused = true)]
async fn percent_rates_compound() {
    let percent = |p| run("rd", Rate::PercentOfPrevious(p), 2);
    let runs = vec![percent(50.0), percent(50.0), percent(10.0)];
    let scripts = vec![whole(2, 942), whole(2, 480), whole(2, 48)];
    let played = Stage::new(plan(runs), vec![scripts]).play().await;
    assert_eq!(starts(&played), ["run 0 rd 5000", "run 1 rd 480", "run 2 rd 50"]);
}

#[tokio::test(start_paused = true)]
async fn the_mix_of_an_uncontrolled_maximum_becomes_the_skew_of_the_points() {
    for (given, expected) in [(false, [Some(25.0), Some(75.0)]), (true, [Some(50.0), Some(50.0)])] {
        let mut runs = vec![run("crv", Rate::CurveMax, 2), point(50.0, 0)];
        for r in &mut runs {
            r.workloads = vec![workload(0, 0), workload(0, 0)].into();
            workloads_of(r).iter_mut().for_each(|w| (w.skew, w.skew_given) = (Some(50.0), given));
        }
        let mixed = |n| sample(0, n, 1000, &[(0, 0, 100), (1, 0, 300)]);
        let max = crate::testing::Script {
            start: vec![mixed(1), mixed(2), crate::testing::drained(0)],
            ..crate::testing::Script::default()
        };
        let played = Stage::new(plan(runs), vec![vec![max, whole(2, 200)]]).play().await;
        let skews: Vec<_> = played
            .events
            .iter()
            .filter_map(|e| match e {
                Event::RunStarted(r) if r.run == 1 => Some(r.workloads.iter().map(|w| w.skew).collect::<Vec<_>>()),
                _ => None,
            })
            .collect();
        assert_eq!(skews, [expected.to_vec()], "skew given: {given}");
    }
}

#[tokio::test(start_paused = true)]
async fn stopcurve_ends_its_curve_and_the_next_rd_runs() {
    let mut runs = vec![run("crv", Rate::CurveMax, 2), point(10.0, 0), point(50.0, 0), run("next", Rate::Max, 2)];
    runs.iter_mut().for_each(|r| r.stop_curve_ms = Some(0.5));
    let played = Stage::new(plan(runs), vec![vec![whole(2, 1000), whole(2, 100), whole(2, 9)]]).play().await;
    assert_eq!(starts(&played), ["run 0 crv UncontrolledCurve", "run 1 crv_(10%) 100", "run 2 next UncontrolledMax"]);
    let note = "stopcurve: stopcurve=: rd=crv_(10%) answered in 1.000 ms, the curve ends here";
    assert!(played.order().contains(&note.to_owned()));
    assert!(played.outcome.complete);
}

#[tokio::test(start_paused = true)]
async fn a_run_within_its_warmup_stands_for_itself() {
    let runs = vec![run("short", Rate::Max, 60), run("rd", Rate::PercentOfPrevious(50.0), 2)];
    let mut runs = runs;
    workloads_of(&mut runs[0])[0].seek = brunt_plan::work::Seek::Eof;
    let done = crate::testing::from(0, brunt_plan::work::WorkerEvent::SequentialDone);
    let script = stopped(vec![done], vec![sample(0, 1, 500, &[(0, 0, 100)])]);
    let played = Stage::new(plan(runs), vec![vec![script, whole(2, 100)]]).play().await;
    assert_eq!(starts(&played)[1], "run 1 rd 100", "half of 200 per second");
    let hists = played.events.iter().find_map(|e| match e {
        Event::RunEnded(e) => Some(e.sd_times[0].read.service.count()),
        _ => None,
    });
    assert_eq!(hists, Some(100));
}
