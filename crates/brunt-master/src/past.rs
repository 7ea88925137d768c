//! What an execution had come to when its master was killed, read from its events.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use brunt_event::{EndScope, Event, Interval, Record};

use crate::run::is_complete;
use crate::totals::Totals;

/// Notices about who is there: the same may be told again.
const OF_NOW: [&str; 5] = ["host-away", "host-back", "host-late", "clock", "messages-lost"];

/// A run that was started.
#[derive(Debug, Clone, Default)]
pub(crate) struct PastRun {
    pub(crate) name: String,
    pub(crate) uncontrolled: bool,
    /// Sums only: times come from the agents again.
    pub(crate) totals: Totals,
    /// Those that were told; empty once it has ended.
    pub(crate) intervals: BTreeMap<u32, Interval>,
    /// When it ended, Unix milliseconds.
    pub(crate) ended_ms: Option<i64>,
    /// Somebody has asked for its end.
    pub(crate) early: Option<EndScope>,
}

/// What is known of an execution.
#[derive(Debug, Default)]
pub struct Past {
    pub(crate) runs: BTreeMap<u32, PastRun>,
    /// Hooks behind the last start or end of a run: command and place.
    pub(crate) hooks: Vec<(String, String)>,
    /// Workers that were lost.
    pub(crate) lost: BTreeSet<u32>,
    /// When the first run began, Unix milliseconds.
    pub(crate) begun_ms: Option<i64>,
    pub(crate) told: Told,
    /// Why nothing can follow.
    over: Option<&'static str>,
}

impl Past {
    /// Takes the next event in.
    pub fn take(&mut self, record: &Record) {
        self.told.note(&record.event);
        let run = |runs: &mut BTreeMap<u32, PastRun>, run: u32| runs.remove(&run).unwrap_or_default();
        match &record.event {
            Event::RunStarted(started) => {
                self.begun_ms.get_or_insert(record.at_ms);
                self.hooks.clear();
                let (name, uncontrolled) = (started.plan.name.clone(), started.uncontrolled);
                self.runs.insert(started.run, PastRun { name, uncontrolled, ..PastRun::default() });
            }
            Event::Interval(interval) => {
                let mut run = run(&mut self.runs, interval.run);
                run.totals.add_past(interval);
                run.intervals.insert(interval.interval, (**interval).clone());
                self.runs.insert(interval.run, run);
            }
            Event::RunEnded(ended) => {
                self.hooks.clear();
                let run = run(&mut self.runs, ended.run);
                if !is_complete(ended.end) || ended.io_errors > 0 || run.early == Some(EndScope::Execution) {
                    self.over = Some("its last run had ended early or with errors");
                }
                let (intervals, ended_ms) = (BTreeMap::new(), Some(record.at_ms));
                self.runs.insert(ended.run, PastRun { intervals, ended_ms, ..run });
            }
            Event::EarlyEnd { scope } => {
                if let Some(mut run) = self.runs.last_entry() {
                    run.get_mut().early = Some(*scope);
                }
            }
            Event::Hook { command, place, .. } => self.hooks.push((command.clone(), place.clone())),
            Event::WorkerLost { worker, .. } => drop(self.lost.insert(*worker)),
            Event::Interrupted { .. } | Event::Aborted { .. } => self.over = Some("it was at its end"),
            Event::Closed { .. } => self.over = Some("it is over"),
            _ => {}
        }
    }

    /// Why nobody can go on with it; `None`: it can be tried.
    pub fn refusal(&self) -> Option<&'static str> {
        self.over.or(self.runs.is_empty().then_some("no run had started"))
    }
}

/// Events that were told: agents report again what the last master had not confirmed, and what was told of it is not
/// told twice.
#[derive(Debug, Default)]
pub(crate) struct Told(HashMap<String, u32>);

impl Told {
    fn note(&mut self, event: &Event) {
        if let Some(key) = key(event) {
            *self.0.entry(key).or_default() += 1;
        }
    }

    /// Whether an event was told; once for each time.
    pub(crate) fn recall(&mut self, event: &Event) -> bool {
        let Some(times) = (if self.0.is_empty() { None } else { key(event) }).and_then(|key| self.0.get_mut(&key))
        else {
            return false;
        };
        let told = *times > 0;
        *times = times.saturating_sub(1);
        told
    }
}

/// What makes an event the same; `None`: each is another one.
fn key(event: &Event) -> Option<String> {
    let key = match event {
        Event::RunStarted(started) => format!("start {}", started.run),
        Event::Interval(interval) => format!("interval {} {}", interval.run, interval.interval),
        Event::WarmupDone { run } => format!("warmup {run}"),
        Event::WorkloadDone { run } => format!("workload {run}"),
        Event::WorkersDone { run } => format!("workers {run}"),
        Event::MaxDataReached { run, .. } => format!("max {run}"),
        Event::LoopStarted { pass } => format!("loop {pass}"),
        Event::SequentialDone => "sequential".to_owned(),
        Event::MonitorWatched { file } => format!("monitor {file}"),
        Event::WorkerLost { worker, .. } => format!("lost {worker}"),
        Event::WorkerLog { worker, text, .. } => format!("log {worker} {text}"),
        Event::Notice { code, text, .. } if !OF_NOW.contains(&code.as_str()) => format!("notice {code} {text}"),
        Event::IoFailed(failed) => format!("failed {failed:?}"),
        _ => return None,
    };
    Some(key)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn log(text: &str) -> Event {
        Event::WorkerLog { worker: 1, worker_ms: 5, text: text.to_owned() }
    }

    #[test]
    fn what_was_told_is_recalled_as_often_as_it_was_told() {
        let mut past = Past::default();
        for event in [log("a"), log("a"), Event::WarmupDone { run: 3 }, Event::Pausing { seconds: 4 }] {
            past.take(&Record { at_ms: 1, event });
        }
        assert_eq!(past.refusal(), Some("no run had started"));
        let mut told = past.told;
        assert_eq!([(); 3].map(|()| told.recall(&log("a"))), [true, true, false]);
        assert!(!told.recall(&log("b")) && !told.recall(&Event::Pausing { seconds: 4 }));
        assert!(told.recall(&Event::WarmupDone { run: 3 }) && !told.recall(&Event::WarmupDone { run: 4 }));
        past = Past { over: None, told: Told::default(), ..past };
        past.take(&Record { at_ms: 1, event: Event::Closed { status: 0, complete: true } });
        assert_eq!(past.refusal(), Some("it is over"));
    }
}
