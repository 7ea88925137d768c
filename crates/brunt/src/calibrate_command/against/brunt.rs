//! A round of Brunt itself: this program, as a user would start it.

use std::fs;
use std::path::Path;

use brunt_event::{Event, Record};
use brunt_report::calibration::Measure;
use brunt_stats::{OpStats, Timing};

use super::{Job, rows};

/// Runs it.
///
/// # Errors
/// A sentence.
pub fn run(program: &Path, job: &Job) -> Result<Measure, String> {
    let (heard, status) = rows::run(program, job)?;
    let events = fs::read_to_string(rows::output(job).join("events.ndjson")).unwrap_or_default();
    let measured = measure(&events).filter(|_| status.success());
    let mut measure = measured.ok_or_else(|| format!("no result ({status}): {}", heard.last.join(" | ")))?;
    measure.cpu_ns = heard.cpu.map(|share| share * 1e9 / measure.iops);
    Ok(measure)
}

/// What the counted intervals of an event stream say.
fn measure(events: &str) -> Option<Measure> {
    let (mut sums, mut times, mut length_ns) = (OpStats::default(), Timing::default(), 0);
    for line in events.lines() {
        let Ok(Record { event: Event::Interval(interval), .. }) = serde_json::from_str(line) else { continue };
        if interval.warmup {
            continue;
        }
        sums.merge(&interval.total.read);
        times.merge(&interval.times.read.service);
        length_ns += interval.length_ns;
    }
    (sums.ops > 0 && length_ns > 0).then(|| Measure {
        iops: sums.ops as f64 / (length_ns as f64 / 1e9),
        mean_ns: Some(sums.sum_ns as f64 / sums.ops as f64),
        p50_ns: times.quantile(0.5).map(|ns| ns as f64),
        cpu_ns: None,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use brunt_event::Interval;

    #[test]
    fn counted_intervals_make_the_measure() {
        let interval = |warmup, ns: u64| {
            let mut interval = Interval {
                run: 0,
                interval: 1,
                length_ns: 500_000_000,
                warmup,
                missing_workers: 0,
                total: Default::default(),
                times: Default::default(),
                hosts: Vec::new(),
                workers: Vec::new(),
                sds: Vec::new(),
                wds: Vec::new(),
                host_sds: Vec::new(),
                worker_sds: Vec::new(),
            };
            let mut hist = brunt_stats::Histogram::default();
            for _ in 0..100 {
                interval.total.read.record(8192, ns, false);
                hist.record(ns);
            }
            let service = &mut interval.times.read.service;
            (service.min_ns, service.max_ns, service.sum_ns) = (ns, ns, ns * 100);
            service.hist = hist.to_sparse();
            serde_json::to_string(&Record { at_ms: 1, event: Event::Interval(Box::new(interval)) }).unwrap()
        };
        let text = [interval(true, 9_000), interval(false, 1_000), interval(false, 1_000)].join("\n") + "\nhalf a li";
        let measure = measure(&text).unwrap();
        assert_eq!((measure.iops, measure.mean_ns, measure.p50_ns), (200.0, Some(1_000.0), Some(1_000.0)));
        assert_eq!(super::measure(""), None);
    }
}
