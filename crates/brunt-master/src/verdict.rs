//! What limited a run, if it was not its device (`docs/verdicts.md`). Nothing is said of a run that did as asked.

use brunt_event::Limit;
use brunt_stats::{CpuTicks, Times};

use crate::pace::Pace;

/// Part of a rate that may be missing.
const SHORT: f64 = 0.01;
/// Part of the median response time that the median I/O may be late.
const LATE: f64 = 0.1;
/// So many I/Os tell a median.
const FEWEST: u64 = 100;
/// Percent of time without idleness above which processors are the limit.
const BUSY_PERCENT: f64 = 95.0;
/// Half a second of one core: less says nothing about how busy it was.
const FEWEST_TICKS: u64 = 50;

/// What is known of a run in real time that came to its planned end, over its counted intervals.
#[derive(Debug)]
pub(crate) struct Evidence<'e> {
    /// Its pace; `None` where no rate was asked for.
    pub(crate) pace: Option<&'e Pace>,
    /// Whether the number of I/Os tells anything about the generator: no SD ended or was taken out on the way.
    pub(crate) whole: bool,
    /// Times of all I/Os.
    pub(crate) times: &'e Times,
    /// Hosts with the times of their cores that do I/O.
    pub(crate) hosts: &'e [(u32, CpuTicks)],
}

/// What limited the run.
pub(crate) fn limits(evidence: &Evidence<'_>) -> Vec<Limit> {
    let mut limits = Vec::new();
    let mut as_asked = false;
    if let Some(pace) = evidence.pace {
        limits.extend(generator_short(pace).filter(|_| evidence.whole));
        limits.extend(generator_late(evidence.times));
        as_asked = limits.is_empty() && !(evidence.whole && is_short(pace, pace.due - pace.done as f64));
    }
    // Processors may be as busy as they like, or watch the clock, while the run does what it should.
    if !as_asked {
        limits.extend(evidence.hosts.iter().filter_map(|(host, ticks)| host_cpu(*host, ticks)));
    }
    limits
}

/// Whether so many missing I/Os are more than tolerance, and chance, explain: the number of random arrivals varies by
/// the root of it.
fn is_short(pace: &Pace, missing: f64) -> bool {
    let chance = if pace.random { 3.0 * pace.due.sqrt() } else { 0.0 };
    missing > (pace.due * SHORT).max(chance)
}

/// Due I/Os are caught up with, so a hiccup of the host leaves no trace in the rate, unless it was the last thing that
/// happened: a generator that cannot is short most of the time.
fn generator_short(pace: &Pace) -> Option<Limit> {
    let short = is_short(pace, pace.due - pace.done as f64) && is_short(pace, pace.missing);
    let (asked, reached) = pace.rates();
    (short && pace.short * 2 > pace.intervals).then(|| Limit::GeneratorShort {
        asked,
        reached,
        lanes: pace.lanes(),
        busy_lanes: pace.busy_lanes(),
    })
}

fn generator_late(times: &Times) -> Option<Limit> {
    let both = times.both();
    let ios = both.lateness.count();
    let (lateness_ns, service_ns) = (both.lateness.quantile(0.5)?, both.service.quantile(0.5)?);
    let late = ios >= FEWEST && lateness_ns as f64 > service_ns as f64 * LATE;
    late.then_some(Limit::GeneratorLate { lateness_ns, service_ns, ios })
}

fn host_cpu(host: u32, ticks: &CpuTicks) -> Option<Limit> {
    let busy = ticks.user + ticks.nice + ticks.system;
    let all = busy + ticks.idle + ticks.iowait + ticks.steal;
    if all < FEWEST_TICKS {
        return None;
    }
    let percent = |part: u64| part as f64 * 100.0 / all as f64;
    let (busy_percent, steal_percent) = (percent(busy), percent(ticks.steal));
    // What was stolen was not idle either: the host had no more to give.
    (percent(busy + ticks.steal) >= BUSY_PERCENT).then_some(Limit::HostCpu { host, busy_percent, steal_percent })
}

#[cfg(test)]
#[allow(clippy::panic)]
mod tests {
    use super::*;
    use crate::pace::Asked;
    use brunt_parm::ast::Arrivals;
    use brunt_stats::{Histogram, OpTimes, Timing};

    const SECOND: u64 = 1_000_000_000;

    /// Ten seconds at this rate with 8 lanes, so many I/Os done and lanes busy in each.
    fn pace(rate: f64, arrivals: Arrivals, seconds: &[(u64, f64)]) -> Pace {
        let asked = Asked { steps: vec![(rate, 1)] };
        let mut pace = Pace::new(asked, arrivals, vec![8]);
        for (n, (done, busy)) in (0..).zip(seconds) {
            pace.interval(n * SECOND, SECOND, *done, &[(busy * SECOND as f64) as u64]);
        }
        pace
    }

    fn times(lateness_ns: u64, service_ns: u64, ios: u64) -> Times {
        let timing = |ns: u64| {
            let mut hist = Histogram::default();
            (0..ios).for_each(|_| hist.record(ns));
            Timing { sum_ns: ns * ios, min_ns: ns, max_ns: ns, hist: hist.take_sparse() }
        };
        let read = OpTimes { service: timing(service_ns), lateness: timing(lateness_ns), ..OpTimes::default() };
        Times { read, ..Times::default() }
    }

    fn of(pace: Option<&Pace>, times: &Times, hosts: &[(u32, CpuTicks)]) -> Vec<&'static str> {
        let found = limits(&Evidence { pace, whole: true, times, hosts });
        let name = |limit: &Limit| match limit {
            Limit::GeneratorShort { .. } => "short",
            Limit::GeneratorLate { .. } => "late",
            Limit::HostCpu { .. } => "cpu",
        };
        found.iter().map(name).collect()
    }

    fn cpu(user: u64, idle: u64, iowait: u64, steal: u64) -> [(u32, CpuTicks); 1] {
        [(0, CpuTicks { user, idle, iowait, steal, ..CpuTicks::default() })]
    }

    const GOOD: [(u64, f64); 10] = [(1000, 0.04); 10];

    #[test]
    fn a_run_as_asked_is_not_marked_however_busy_its_cores_are() {
        let pace = pace(1000.0, Arrivals::Exponential, &GOOD);
        assert_eq!(of(Some(&pace), &times(1_200, 39_000, 10_000), &cpu(1000, 0, 0, 0)), [""; 0]);
    }

    #[test]
    fn short_of_the_rate_with_idle_lanes_is_the_generator() {
        let no_times = Times::default();
        let slow = pace(1000.0, Arrivals::Deterministic, &[(980, 0.5); 10]);
        assert_eq!(of(Some(&slow), &no_times, &cpu(10, 990, 0, 0)), ["short"]);
        let Some(Limit::GeneratorShort { asked, reached, lanes, busy_lanes }) =
            limits(&Evidence { pace: Some(&slow), whole: true, times: &no_times, hosts: &[] }).first().copied()
        else {
            panic!("it is short")
        };
        assert_eq!((asked, reached, lanes, busy_lanes), (1000.0, 980.0, 8, 0.5));
        let within = pace(1000.0, Arrivals::Deterministic, &[(991, 0.5); 10]);
        assert_eq!(of(Some(&within), &no_times, &[]), [""; 0]);
        // 2 % of 10,000 random arrivals are two thirds of what chance may do.
        let chance = pace(1000.0, Arrivals::Exponential, &[(980, 0.5); 10]);
        assert_eq!(of(Some(&chance), &no_times, &[]), [""; 0]);
        let beyond = pace(1000.0, Arrivals::Exponential, &[(960, 0.5); 10]);
        assert_eq!(of(Some(&beyond), &no_times, &[]), ["short"]);
    }

    #[test]
    fn a_device_that_cannot_is_no_generator_that_cannot() {
        let full = pace(1000.0, Arrivals::Deterministic, &[(500, 8.0); 10]);
        assert_eq!(of(Some(&full), &Times::default(), &cpu(100, 900, 0, 0)), [""; 0]);
        // It stops for the last 1.4 seconds.
        let mut seconds = GOOD;
        (seconds[8], seconds[9]) = ((600, 3.2), (8, 8.0));
        let stalled = pace(1000.0, Arrivals::Deterministic, &seconds);
        assert_eq!(of(Some(&stalled), &Times::default(), &[]), [""; 0]);
        // Both: the device is full, and the processors are, too.
        assert_eq!(of(Some(&full), &Times::default(), &cpu(970, 30, 0, 0)), ["cpu"]);
    }

    #[test]
    fn what_was_caught_up_with_is_not_missing() {
        let mut seconds = GOOD;
        (seconds[3], seconds[4]) = ((200, 0.1), (1800, 0.1));
        assert_eq!(of(Some(&pace(1000.0, Arrivals::Deterministic, &seconds)), &Times::default(), &[]), [""; 0]);
    }

    #[test]
    fn lateness_is_held_against_the_response_time() {
        let pace = pace(1000.0, Arrivals::Exponential, &GOOD);
        assert_eq!(of(Some(&pace), &times(3_500, 39_000, 10_000), &[]), [""; 0]);
        assert_eq!(of(Some(&pace), &times(60_000, 39_000, 10_000), &[]), ["late"]);
        assert_eq!(of(Some(&pace), &times(60_000, 1_000_000, 10_000), &[]), [""; 0]);
        assert_eq!(of(Some(&pace), &times(60_000, 39_000, 99), &[]), [""; 0], "too few");
        assert_eq!(of(None, &times(60_000, 39_000, 10_000), &[]), [""; 0], "nobody asked for a pace");
    }

    #[test]
    fn processors_without_idle_time_limit_an_uncontrolled_run() {
        let none = Times::default();
        assert_eq!(of(None, &none, &cpu(960, 40, 0, 0)), ["cpu"]);
        assert_eq!(of(None, &none, &cpu(940, 60, 0, 0)), [""; 0]);
        assert_eq!(of(None, &none, &cpu(500, 0, 500, 0)), [""; 0], "waiting for I/O is idle");
        assert_eq!(of(None, &none, &cpu(600, 30, 0, 370)), ["cpu"]);
        assert_eq!(of(None, &none, &cpu(49, 0, 0, 0)), [""; 0], "too short");
        let limit = limits(&Evidence { pace: None, whole: true, times: &none, hosts: &cpu(600, 30, 0, 370) });
        assert_eq!(limit, [Limit::HostCpu { host: 0, busy_percent: 60.0, steal_percent: 37.0 }]);
    }

    #[test]
    fn a_late_generator_on_full_cores_has_both() {
        let pace = pace(1000.0, Arrivals::Exponential, &[(900, 0.5); 10]);
        assert_eq!(of(Some(&pace), &times(90_000, 39_000, 9_000), &cpu(999, 1, 0, 0)), ["short", "late", "cpu"]);
    }

    #[test]
    fn work_that_ended_with_its_data_is_not_short() {
        let pace = pace(1000.0, Arrivals::Deterministic, &[(500, 0.1); 10]);
        let evidence = Evidence { pace: Some(&pace), whole: false, times: &Times::default(), hosts: &[] };
        assert_eq!(limits(&evidence), []);
    }
}
