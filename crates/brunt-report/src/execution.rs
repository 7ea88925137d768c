//! An execution in progress: what each event does to the reports.

use brunt_event::{AbortCause, Event, Interval, IoFailed, Opened, Record, RunEnded, RunStarted};

use crate::book::{self, Book};
use crate::chunk::Sink;
use crate::context::Context;
use crate::flatfile;
use crate::message::{self, ALL, CONSOLE, LOG, To};
use crate::number::commas;
use crate::optional::{self, Overall};
use crate::rows::Rows;
use crate::run::Run;
use crate::runs::{self, RunIds};
use crate::tally::{Scope, Times};
use crate::{boxes, errors, histogram, page, skew, status, swat, usage};

/// Titles are repeated after so many intervals.
const INTERVALS_PER_TITLE: u32 = 30;
/// Titles of `totals.html` are repeated after so many runs.
const RUNS_PER_TITLE: u32 = 15;

/// What has happened once.
#[derive(Debug, Default)]
struct Seen {
    /// A worker was started.
    work: bool,
    /// A run was started.
    run: bool,
    /// An interval was reported.
    interval: bool,
    /// A lun must be made.
    format: bool,
    /// An I/O failed.
    io_error: bool,
    /// A table of skew was written.
    skew: bool,
    /// A diagnostic was printed.
    diagnostic: bool,
    /// It was given up or interrupted.
    cut: bool,
    /// A second pass has begun.
    later_pass: bool,
}

/// An execution in progress.
#[derive(Debug)]
pub(crate) struct Execution {
    context: Context,
    book: Book,
    seen: Seen,
    ids: RunIds,
    run: Option<Run>,
    /// Lines for the summary that wait until its links are complete.
    waiting: Vec<String>,
    overall: Overall,
    /// Number of averages in `totals.html`.
    averages: u32,
    io_errors: u64,
}

impl Execution {
    /// The start: banner, and the files that exist from the start.
    pub(crate) fn open(opened: &Opened, at_ms: i64, sink: &mut Sink) -> Self {
        let mut execution = Self {
            context: Context::new(opened),
            book: Book::default(),
            seen: Seen::default(),
            ids: RunIds::default(),
            run: None,
            waiting: Vec::new(),
            overall: Overall::default(),
            averages: 0,
            io_errors: 0,
        };
        let distribution = execution.context.layout.distribution();
        let version = format!("Vdbench distribution: {distribution} (Brunt {})", opened.version);
        for line in ["", "", book::WHO, &version, "For documentation, see 'brunt --help'.", ""] {
            sink.console(line);
        }
        execution.book.open(&execution.context, at_ms, sink);
        let at = execution.context.clock.tod(at_ms);
        if opened.created {
            sink.console(&format!("{at} Created output directory '{}'", opened.directory));
        }
        for (name, value) in facts(opened) {
            execution.say(sink, at_ms, LOG, &format!("{name:<30}{value}"));
        }
        execution
    }

    /// Takes in a record.
    pub(crate) fn feed(&mut self, record: &Record, sink: &mut Sink) {
        let at_ms = record.at_ms;
        self.before_message(&record.event, at_ms, sink);
        if let Some((to, lines)) = message::of(&record.event, &self.context) {
            lines.iter().for_each(|line| self.say(sink, at_ms, to, line));
        }
        self.state(&record.event, at_ms, sink);
        match &record.event {
            Event::Planned(planned) => self.context.planned = planned.clone(),
            Event::ParmEcho { lines } => echo(lines, sink),
            Event::ParmScan { lines } => self.scan(lines, at_ms, sink),
            Event::Usage => usage::LINES.iter().for_each(|line| self.say(sink, at_ms, CONSOLE, line)),
            Event::HostConfig { host, text } => self.config(*host, text, sink),
            Event::LoopStarted { pass } if *pass > 1 => {
                self.seen.later_pass = true;
                self.ids.restart();
            }
            Event::RunStarted(started) => self.start_run(started, at_ms, sink),
            Event::MaxDataReached { limit, .. } => self.max_data(*limit, at_ms, sink),
            Event::Interval(interval) => self.interval(interval, at_ms, sink),
            Event::RunEnded(ended) => self.end_run(ended, at_ms, sink),
            Event::IoFailed(failed) => self.io_failed(failed, at_ms, sink),
            Event::WorkerLog { worker, worker_ms, text } => self.worker_log(*worker, *worker_ms, text, at_ms, sink),
            Event::Diagnostic { text } => {
                self.seen.diagnostic = true;
                sink.stderr(text.trim_end_matches('\n'));
            }
            Event::Interrupted { .. } => self.interrupted(sink),
            Event::Aborted { cause, text, io_errors } => self.aborted(*cause, text, *io_errors, at_ms, sink),
            Event::Closed { status, .. } => self.closed(*status, at_ms, sink),
            _ => {}
        }
    }

    /// What must stand before an event's own message.
    fn before_message(&mut self, event: &Event, at_ms: i64, sink: &mut Sink) {
        match event {
            Event::WorkerStarting { .. } if !self.seen.work => {
                self.seen.work = true;
                self.book.open_work(&self.context, at_ms, sink);
                self.set_state(sink, at_ms, "Starting slaves");
            }
            Event::FormatNeeded { .. } if !self.seen.format => {
                self.seen.format = true;
                self.say(sink, at_ms, CONSOLE, message::FORMAT_FIRST);
            }
            Event::Simulated { .. } => self.release_summary(sink),
            _ => {}
        }
    }

    /// The state an event means.
    fn state(&self, event: &Event, at_ms: i64, sink: &mut Sink) {
        let old = self.context.layout.is_old();
        match event {
            Event::WorkerConnected { worker, pid, master_pid } => {
                self.set_state(sink, at_ms, &message::connected(&self.context, *worker, *pid, *master_pid));
            }
            Event::WorkersConnected => self.set_state(sink, at_ms, "Slaves connected"),
            Event::QueryStarted => self.set_state(sink, at_ms, "Query host configuration started"),
            Event::QueryCompleted { .. } => self.set_state(sink, at_ms, "Query host configuration completed"),
            Event::LoopStarted { pass } => self.set_state(sink, at_ms, &format!("Starting loop {pass}")),
            Event::EarlyEnd { scope } => self.set_state(sink, at_ms, message::early_end(*scope)),
            Event::WarmupDone { .. } => self.set_run_state(sink, at_ms, "Warmup done"),
            Event::WorkloadDone { .. } => self.set_run_state(sink, at_ms, "Workload done"),
            Event::WorkersDone { .. } => self.set_run_state(sink, at_ms, "Slaves done"),
            Event::Interrupted { .. } => self.set_state(sink, at_ms, "Ctrl-C found"),
            Event::Simulated { run } if old => {
                sink.line(status::FILE, &status::line(&self.context, at_ms, "Starting", self.context.run(*run)));
            }
            _ => {}
        }
    }

    fn set_state(&self, sink: &mut Sink, at_ms: i64, state: &str) {
        sink.line(status::FILE, &status::line(&self.context, at_ms, state, None));
    }

    fn set_run_state(&self, sink: &mut Sink, at_ms: i64, state: &str) {
        if let Some(run) = self.run.as_ref().filter(|_| !self.seen.cut) {
            sink.line(status::FILE, &status::line(&self.context, at_ms, state, Some(&run.started.plan)));
        }
    }

    /// Writes a message line.
    fn say(&mut self, sink: &mut Sink, at_ms: i64, to: To, text: &str) {
        let line = format!("{} {text}", self.context.clock.tod(at_ms));
        if to.console {
            sink.console(&line);
        }
        if to.log {
            sink.line(book::LOG, &line);
        }
        if to.summary {
            match self.seen.run || self.seen.cut {
                true => sink.line(book::SUMMARY, &line),
                false => self.waiting.push(line),
            }
        }
    }

    /// Writes what waits for the summary.
    fn release_summary(&mut self, sink: &mut Sink) {
        self.waiting.drain(..).for_each(|line| sink.line(book::SUMMARY, &line));
    }

    fn scan(&self, lines: &[String], at_ms: i64, sink: &mut Sink) {
        let at = self.context.clock.tod(at_ms);
        lines.iter().for_each(|line| sink.line(book::PARMSCAN, &format!("{at} {line}")));
    }

    fn config(&mut self, host: u32, text: &str, sink: &mut Sink) {
        if !self.book.has_config {
            self.book.has_config = true;
            sink.line(book::CONFIG, &page::head(&self.context.directory, book::CONFIG));
        }
        sink.line(book::CONFIG, &format!("Inventory of host={}: ", self.context.host(host)));
        sink.line(book::CONFIG, "");
        text.lines().for_each(|line| sink.line(book::CONFIG, line));
    }

    fn start_run(&mut self, started: &RunStarted, at_ms: i64, sink: &mut Sink) {
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

    fn max_data(&mut self, limit: u64, at_ms: i64, sink: &mut Sink) {
        let name = self.run.as_ref().map(|run| run.started.plan.name.clone()).unwrap_or_default();
        self.say(sink, at_ms, CONSOLE, &message::max_data(&name, limit));
    }

    fn interval(&mut self, interval: &Interval, at_ms: i64, sink: &mut Sink) {
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

    fn end_run(&mut self, ended: &RunEnded, at_ms: i64, sink: &mut Sink) {
        let Some(run) = self.run.take() else { return };
        if ended.complete && run.last > 0 {
            self.average(&run, at_ms, sink);
            self.skew(&run, at_ms, sink);
            self.warnings(&run, at_ms, sink);
            for file in &self.book.histograms {
                let times = match file.subject.scope(&run.started) {
                    Some(scope) => run.times(scope, ended),
                    None => Some(Times::default()), // a workload that is not in this run
                };
                histogram::lines(&self.context, times.as_ref()).iter().for_each(|line| sink.line(&file.file, line));
            }
        }
        self.run = Some(run);
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

    /// The boxes after an average.
    fn warnings(&mut self, run: &Run, at_ms: i64, sink: &mut Sink) {
        let context = &self.context;
        let skewed = boxes::missed_skew(context, run);
        let reasons = skewed.is_some().then(boxes::skew_reasons);
        let (hosts, workers) = (boxes::busy_hosts(context, run), boxes::busy_workers(context, run));
        for (to, lines) in [(ALL, skewed), (CONSOLE, reasons), (ALL, hosts), (ALL, workers)] {
            let lines = lines.map(|lines| boxes::framed(&lines)).unwrap_or_default();
            lines.iter().for_each(|line| self.say(sink, at_ms, to, line));
        }
    }

    fn io_failed(&mut self, failed: &IoFailed, at_ms: i64, sink: &mut Sink) {
        self.io_errors += 1;
        let text = errors::line(&self.context, failed);
        let time = self.context.clock.tod(at_ms);
        self.say(sink, at_ms, CONSOLE, &text);
        sink.line(errors::FILE, &format!("{time} {text}"));
        if !self.seen.io_error && !self.context.layout.is_old() {
            self.set_state(sink, at_ms, "I/O error detected. See errorlog.html");
        }
        self.seen.io_error = true;
    }

    fn worker_log(&self, worker: u32, worker_ms: i64, text: &str, at_ms: i64, sink: &mut Sink) {
        let clock = &self.context.clock;
        let file = format!("{}.stdout.html", self.context.worker(worker));
        sink.line(&file, &format!("{} {} {text}", clock.tod(at_ms), clock.tod(worker_ms)));
    }

    fn interrupted(&mut self, sink: &mut Sink) {
        self.release_summary(sink);
        self.seen.cut = true;
        let name = if self.context.layout.is_old() { "vdbench" } else { "Vdbench" };
        sink.console(&format!("CTRL-C requested. {name} terminating"));
        if self.io_errors > 0 {
            sink.console(&format!("Total Data Validation or I/O error count: {}", commas(self.io_errors)));
        }
    }

    fn aborted(&mut self, cause: AbortCause, text: &str, io_errors: u64, at_ms: i64, sink: &mut Sink) {
        self.release_summary(sink);
        self.seen.cut = true;
        if cause == AbortCause::IoErrors {
            let count = format!("Total Data Validation or I/O error count: {}", commas(io_errors));
            ["*", &count, "*"].iter().for_each(|line| self.say(sink, at_ms, ALL, line));
        }
        // Problems of the file were shown with their places; under our own name that is enough.
        let shown = matches!(cause, AbortCause::Parameters | AbortCause::Usage) && self.seen.diagnostic;
        let to = if shown && !self.context.opened.as_vdbench { LOG } else { CONSOLE };
        ["", text, ""].iter().for_each(|line| self.say(sink, at_ms, to, line));
        match (self.context.opened.as_vdbench, shown) {
            (true, _) => sink.stderr(&format!("RuntimeException: {text}")),
            (false, false) => sink.stderr(&format!("error: {text}")),
            (false, true) => {}
        }
        self.set_state(sink, at_ms, "Shutting down slaves");
        if !self.context.layout.is_old() {
            self.set_state(sink, at_ms, &format!("Abort requested: {text}"));
        }
    }

    fn closed(&mut self, status: i32, at_ms: i64, sink: &mut Sink) {
        self.release_summary(sink);
        if self.seen.cut || status != 0 {
            return;
        }
        let simulated = self.context.opened.simulate;
        if !simulated {
            self.set_state(sink, at_ms, "Shutting down slaves");
        }
        if !simulated || self.context.layout.is_old() {
            self.set_state(sink, at_ms, "Vdbench complete");
        }
        let what = if simulated { "simulation" } else { "execution" };
        let text = format!("Vdbench {what} completed successfully");
        let directory = self.context.opened.directory.clone();
        self.say(sink, at_ms, CONSOLE, &format!("{text}. Output directory: {directory} "));
        sink.console("");
        sink.line(book::LOG, "");
        sink.line(book::SUMMARY, &format!("{} {text}", self.context.clock.tod(at_ms)));
    }
}

/// What the log says of ourselves.
fn facts(opened: &Opened) -> [(&'static str, String); 5] {
    [
        ("brunt.version", opened.version.clone()),
        ("brunt.program", opened.program.clone()),
        ("brunt.pid", opened.pid.to_string()),
        ("user.dir", opened.working_directory.clone()),
        ("seed", opened.seed.to_string()),
    ]
}

/// The parameter files; the reference begins with an empty line.
fn echo(lines: &[String], sink: &mut Sink) {
    if lines.first().is_some_and(|line| !line.is_empty()) {
        sink.line(book::PARMFILE, "");
    }
    lines.iter().for_each(|line| sink.line(book::PARMFILE, line));
}
