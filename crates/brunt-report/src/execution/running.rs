//! Runs: their start, their intervals, their averages.

use std::borrow::Cow;

use brunt_event::{Interval, Limit, RunEnded, RunStarted, Witnessed};
use brunt_stats::Times;

use super::Execution;
use crate::chunk::Sink;
use crate::context::Context;
use crate::message::{self, ALL, CONSOLE, LOG};
use crate::number::fixed;
use crate::rows::Rows;
use crate::run::Run;
use crate::tally::Scope;
use crate::{book, boxes, flatfile, histogram, judged, latency, optional, page, runs, skew, swat};

/// Titles are repeated after so many intervals.
const INTERVALS_PER_TITLE: u32 = 30;
/// Titles of `totals.html` are repeated after so many runs.
const RUNS_PER_TITLE: u32 = 15;

impl Execution {
    pub(super) fn start_run(&mut self, started: &RunStarted, at_ms: i64, sink: &mut Sink) {
        let id = self.ids.start(&started.plan, &self.context.planned.runs, !self.seen.later_pass);
        if !self.seen.run {
            self.first_run(id, started, sink);
        }
        self.seen.run = true;
        self.release_summary(sink);
        let time = self.context.clock.tod(at_ms);
        let text = format!("{time} Starting {}", runs::description(&started.plan));
        sink.console(&text);
        if self.context.layout.is_old() {
            sink.line(book::LOG, &text);
        }
        let line = runs::start_line(id, &time, &started.plan);
        for file in &self.book.announced {
            ["", &line, ""].iter().for_each(|line| sink.line(file, line));
        }
        self.run = Some(Run::new(started));
        self.set_run_state(sink, at_ms, "Starting");
    }

    /// Before the first run: pages of SDs and workloads, and the links to the runs in all pages.
    fn first_run(&mut self, id: usize, started: &RunStarted, sink: &mut Sink) {
        self.book.open_subjects(&self.context, started, sink);
        let planned = &self.context.planned.runs;
        let unplanned = (id > planned.len()).then_some((id, &started.plan));
        let planned = planned.iter().enumerate().map(|(place, run)| (place + 1, run));
        let links = runs::links(unplanned.into_iter().chain(planned));
        for file in &self.book.announced {
            sink.line(file, "");
            links.iter().for_each(|line| sink.line(file, line));
            sink.line(file, "");
        }
        if self.book.has_config {
            let label = if self.context.layout.is_old() { "Link to config file:" } else { "Link to config output:" };
            sink.line(book::SUMMARY, &page::link(label, book::CONFIG, "config"));
        }
        for file in [swat::FILE, swat::TOTAL_FILE] {
            swat::head(&self.context, started.start_ms).iter().for_each(|line| sink.line(file, line));
        }
    }

    pub(super) fn max_data(&mut self, limit: u64, at_ms: i64, sink: &mut Sink) {
        let name = self.run_name();
        self.say(sink, at_ms, CONSOLE, &message::max_data(&name, limit));
    }

    pub(super) fn interval(&mut self, interval: &Interval, at_ms: i64, sink: &mut Sink) {
        let context = &self.context;
        let Some(run) = &mut self.run else { return };
        run.add(interval);
        let run: &Run = run;
        let label = interval.interval.to_string();
        let titles = interval.interval % INTERVALS_PER_TITLE == 1;
        let rows = Rows { context, at_ms, label: &label, titles };
        rows.write(&self.book, run, |scope| run.interval_figures(context, scope), sink);
        if !self.seen.interval {
            self.seen.interval = true;
            flatfile::intro(context).iter().for_each(|line| sink.line(book::FLATFILE, line));
        }
        if let Some(figures) = run.interval_figures(context, Scope::Total) {
            let row = flatfile::Row { run: &run.started, label: &label, average: false, figures: &figures };
            sink.line(book::FLATFILE, &flatfile::line(context, at_ms, &row));
        }
        swat::interval(context, run).iter().for_each(|line| sink.line(swat::FILE, line));
        if context.planned.run_totals {
            self.overall.add(interval);
            sink.replace(optional::FILE, self.overall.text(context, at_ms, interval.interval));
        }
    }

    pub(super) fn end_run(&mut self, ended: &RunEnded, at_ms: i64, sink: &mut Sink) {
        let Some(run) = self.run.take() else { return };
        if ended.complete && run.last > 0 {
            self.average(&run, at_ms, sink);
            self.skew(&run, at_ms, sink);
            self.warnings(&run, at_ms, sink);
            for file in &self.book.histograms {
                let times = match file.subject.scope(&run.started) {
                    Some(scope) => run.times(scope, ended),
                    None => Some(Cow::Owned(Times::default())), // a workload that is not in this run
                };
                histogram::lines(&self.context, times.as_deref()).iter().for_each(|line| sink.line(&file.file, line));
            }
        }
        self.latencies(&run, ended, at_ms, sink);
        if let Some(line) = start_skew(&self.context, &run, ended) {
            self.say(sink, at_ms, LOG, &line);
        }
        self.run = Some(run);
    }

    pub(super) fn witnessed(&mut self, found: &Witnessed, at_ms: i64, sink: &mut Sink) {
        let lines = judged::witnessed(&self.context, &self.run_name(), found);
        lines.iter().for_each(|(to, line)| self.say(sink, at_ms, *to, line));
    }

    pub(super) fn limited(&mut self, limits: &[Limit], at_ms: i64, sink: &mut Sink) {
        let lines = judged::limited(&self.context, &self.run_name(), limits);
        lines.iter().for_each(|(to, line)| self.say(sink, at_ms, *to, line));
    }

    /// Of the run that goes on, or went on last.
    fn run_name(&self) -> String {
        self.run.as_ref().map(|run| run.started.plan.name.clone()).unwrap_or_default()
    }

    fn average(&mut self, run: &Run, at_ms: i64, sink: &mut Sink) {
        let context = &self.context;
        let label = run.average_label();
        let figures = |scope| run.average_figures(context, scope);
        let rows = Rows { context, at_ms, label: &label, titles: false };
        rows.write(&self.book, run, figures, sink);
        let Some(total) = figures(Scope::Total) else { return };
        let rows = Rows { titles: self.averages.is_multiple_of(RUNS_PER_TITLE), ..rows };
        rows.lines(&total).iter().for_each(|line| sink.line(book::TOTALS, line));
        self.averages += 1;
        let row = flatfile::Row { run: &run.started, label: &label, average: true, figures: &total };
        sink.line(book::FLATFILE, &flatfile::line(context, at_ms, &row));
        swat::average(context, run).iter().for_each(|line| sink.line(swat::TOTAL_FILE, line));
    }

    fn skew(&mut self, run: &Run, at_ms: i64, sink: &mut Sink) {
        let tables = skew::tables(&self.context, run);
        let time = self.context.clock.tod(at_ms);
        if !tables.is_empty() && !self.seen.skew {
            self.seen.skew = true;
            sink.line(skew::FILE, &format!("{time} "));
            sink.line(skew::FILE, &format!("{time} Counts reported below are for non-warmup intervals."));
        }
        tables.iter().for_each(|line| sink.line(skew::FILE, &format!("{time} {line}")));
    }

    /// Percentiles: the page of their own, and a short table after a paced run. Programs that know Vdbench's console
    /// do not see the table.
    fn latencies(&mut self, run: &Run, ended: &RunEnded, at_ms: i64, sink: &mut Sink) {
        latency::lines(&self.context, run, ended).iter().for_each(|line| sink.line(latency::FILE, line));
        let to = if self.context.opened.as_vdbench { LOG } else { CONSOLE };
        latency::block(ended).iter().for_each(|line| self.say(sink, at_ms, to, line));
        latency::beyond(ended).iter().for_each(|line| self.say(sink, at_ms, ALL, line));
    }

    /// The boxes after an average.
    fn warnings(&mut self, run: &Run, at_ms: i64, sink: &mut Sink) {
        let context = &self.context;
        let skewed = boxes::missed_skew(run);
        let reasons = skewed.is_some().then(boxes::skew_reasons);
        let (hosts, workers) = (boxes::busy_hosts(context, run), boxes::busy_workers(context, run));
        for (to, lines) in [(ALL, skewed), (CONSOLE, reasons), (ALL, hosts), (ALL, workers)] {
            let lines = lines.map(|lines| boxes::framed(&lines)).unwrap_or_default();
            lines.iter().for_each(|line| self.say(sink, at_ms, to, line));
        }
    }
}

/// How far the start of each host may be off, where there are several.
fn start_skew(context: &Context, run: &Run, ended: &RunEnded) -> Option<String> {
    let known = ended.start_skew_ns.iter().enumerate().filter_map(|(host, skew)| Some((host, (*skew)?)));
    let of_host = |(host, ns): (usize, u64)| {
        let ms = fixed(ns as f64 / 1e6, 3);
        format!("host={} {ms} ms", context.host(host as u32))
    };
    let hosts: Vec<String> = known.map(of_host).collect();
    let name = &run.started.plan.name;
    (!hosts.is_empty()).then(|| format!("rd={name}: off the common start by at most: {}", hosts.join(", ")))
}
