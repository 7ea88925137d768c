//! Master, agents and workers without sockets, threads or clocks: all of it by a seed.
//!
//! Real are the execution of the master with its merging ([`brunt_master::execute`]), its links
//! ([`brunt_master::tether`]), and an agent but for its server: the service with its calls, desk, session, lease and
//! ring. Simulated are the network ([`road`]), the connections over it ([`line`] and [`far`]), and the engine, which
//! knows what it has done. Time is tokio's own, which jumps to the next thing due.
//!
//! `BRUNT_SIM_SEEDS=7` plays one seed and tells its course when it fails, `=0-9999` plays many.

mod course;
mod dice;
mod engine;
mod far;
mod judge;
mod ledger;
mod line;
mod road;
mod scenario;
mod world;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use course::Course;
use scenario::{Fault, Scenario, What, When};

/// What a usual `cargo test` plays.
const SEEDS: RangeInclusive<u64> = 0..=299;

fn seeds() -> RangeInclusive<u64> {
    let Ok(text) = std::env::var("BRUNT_SIM_SEEDS") else { return SEEDS };
    let (first, last) = text.split_once('-').unwrap_or((&text, &text));
    let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("BRUNT_SIM_SEEDS={text}: a seed, or FIRST-LAST"));
    number(first)..=number(last)
}

fn told(course: &Course) -> String {
    let mut text = format!("{:#?}\n{:?}\n", course.scenario, course.end);
    for (at, event) in &course.events {
        let event = format!("{event:?}");
        text += &format!("{:>10.4} {}\n", at.as_secs_f64(), event.chars().take(200).collect::<String>());
    }
    text
}

#[test]
fn every_seed_ends_as_it_should() {
    let seeds = seeds();
    let mut words: BTreeMap<&str, u64> = BTreeMap::new();
    let mut failed = Vec::new();
    let (mut attached, mut doubled) = (0, 0);
    for seed in seeds.clone() {
        let course = Course::of(seed);
        *words.entry(course.word()).or_default() += 1;
        attached += course.attached;
        doubled += course.doubled;
        if !course.wrong.is_empty() {
            failed.push((seed, course));
        }
    }
    let count = seeds.end() - seeds.start() + 1;
    let sum = format!("{count} seeds: {words:?}, {attached} connections found again, {doubled} calls came twice");
    if let Some((seed, course)) = failed.first() {
        let all: Vec<u64> = failed.iter().map(|(seed, _)| *seed).collect();
        let alone = "cargo test -p brunt-worker --lib simulation";
        panic!(
            "{}seed {seed} is wrong: {:#?}\nwrong seeds: {all:?}\nof {sum}\nalone: BRUNT_SIM_SEEDS={seed} {alone}",
            told(course),
            course.wrong
        );
    }
    // All of it is worth nothing where nothing happens.
    if count >= 300 {
        for word in ["done", "partial", "refused", "killed", "interrupted"] {
            assert!(words.get(word).is_some_and(|n| *n * 100 >= count), "{sum}");
        }
        assert!(attached * 4 > count && doubled * 4 > count, "{sum}");
    }
}

/// Calls of a host in [`Scenario::with`], pings included.
const CALLS: RangeInclusive<u64> = 1..=40;

#[test]
fn a_connection_that_breaks_at_any_call_costs_nothing() {
    let lasts = Duration::from_secs(35);
    let (mut whole, mut attached) = (0, 0);
    for number in CALLS {
        for answered in [false, true] {
            let when = When::Call { host: 1, number, answered };
            let cut = |silent| What::Cut { host: 1, silent, lasts };
            for what in [What::Reset { host: 1 }, cut(false), cut(true)] {
                let course = Course::play(Scenario::with(3, vec![Fault { when, what }]));
                assert!(course.wrong.is_empty(), "{}{:#?}", told(&course), course.wrong);
                attached += course.attached;
                whole += u64::from(course.word() == "done");
            }
        }
    }
    // The greeting is two calls, and cannot be gone on with.
    let all = CALLS.count() as u64 * 6;
    assert!(whole >= all - 12 && attached >= 80, "{whole} of {all}, {attached} connections found again");
}

#[test]
fn a_run_that_somebody_ends_on_a_host_is_not_complete() {
    for ms in (1_000..6_500).step_by(250) {
        let fault = Fault { when: When::At(Duration::from_millis(ms)), what: What::Terminate { host: 0 } };
        let course = Course::play(Scenario::with(3, vec![fault]));
        assert!(course.wrong.is_empty() && course.word() == "partial", "{ms} ms: {}{:#?}", told(&course), course.wrong);
    }
}

#[test]
fn a_host_that_was_away_hears_of_the_end() {
    for ms in (2_100..9_000).step_by(300) {
        let at = |ms| When::At(Duration::from_millis(ms));
        let cut = What::Cut { host: 1, silent: ms % 200 == 0, lasts: Duration::from_secs(8) };
        let faults = vec![Fault { when: at(2_000), what: cut }, Fault { when: at(ms), what: What::Interrupt }];
        let course = Course::play(Scenario::with(2_000, faults));
        let last = course.events.last().unwrap().0;
        let in_time = last < Duration::from_secs(40);
        assert!(
            course.wrong.is_empty() && course.word() == "interrupted" && in_time,
            "{ms} ms: {}{:#?}",
            told(&course),
            course.wrong
        );
    }
}

#[test]
fn a_seed_goes_the_same_way_every_time() {
    for seed in 0..60 {
        let (one, other) = (Course::of(seed), Course::of(seed));
        // Without labels of the wall clock.
        let text = |course: &Course| -> Vec<String> {
            let events = course.events.iter().map(|(at, event)| (at, format!("{event:?}")));
            events.map(|(at, event)| format!("{at:?} {}", event.chars().take(40).collect::<String>())).collect()
        };
        let (one_text, other_text) = (text(&one), text(&other));
        let differ = one_text.iter().zip(&other_text).find(|(a, b)| a != b);
        assert!(one_text.len() == other_text.len() && one.end == other.end, "seed {seed}");
        assert_eq!(differ, None, "seed {seed}");
    }
}
