//! An execution in progress: what each event does to the reports.

use brunt_event::{Event, Opened, Record};

use crate::book::{self, Book};
use crate::chunk::Sink;
use crate::context::Context;
use crate::message::{self, CONSOLE, LOG, To};
use crate::optional::Overall;
use crate::run::Run;
use crate::runs::RunIds;
use crate::{page, status, usage};

mod ending;
mod running;

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
    /// A diagnostic that is the reason for the end was printed.
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
            Event::Witnessed(found) => self.witnessed(found, at_ms, sink),
            Event::Limited { limits, .. } => self.limited(limits, at_ms, sink),
            Event::IoFailed(failed) => self.io_failed(failed, at_ms, sink),
            Event::WorkerLog { worker, worker_ms, text } => self.worker_log(*worker, *worker_ms, text, at_ms, sink),
            Event::Hook { command, place, lines, .. } => self.hook_log(place, command, lines, at_ms, sink),
            Event::Diagnostic { text, fatal } => {
                self.seen.diagnostic |= fatal;
                sink.stderr(text.strip_suffix('\n').unwrap_or(text));
            }
            Event::Interrupted { signal } => self.interrupted(*signal, sink),
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
        let state = state.replace('\n', " "); // a state is one line
        sink.text(status::FILE, &status::line(&self.context, at_ms, &state, None));
    }

    fn set_run_state(&self, sink: &mut Sink, at_ms: i64, state: &str) {
        if let Some(run) = self.run.as_ref().filter(|_| !self.seen.cut) {
            sink.line(status::FILE, &status::line(&self.context, at_ms, state, Some(&run.started.plan)));
        }
    }

    /// Writes a message: a line with its time, or several if the text has several.
    fn say(&mut self, sink: &mut Sink, at_ms: i64, to: To, text: &str) {
        let time = self.context.clock.tod(at_ms);
        for line in text.split('\n').map(|line| format!("{time} {line}")) {
            if to.console {
                sink.console(&line);
            }
            if to.log {
                sink.text(book::LOG, &line);
            }
            match (to.summary, self.seen.run || self.seen.cut) {
                (true, true) => sink.text(book::SUMMARY, &line),
                (true, false) => self.waiting.push(line),
                (false, _) => {}
            }
        }
    }

    /// Writes what waits for the summary.
    fn release_summary(&mut self, sink: &mut Sink) {
        self.waiting.drain(..).for_each(|line| sink.text(book::SUMMARY, &line));
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
        text.lines().for_each(|line| sink.text(book::CONFIG, line));
    }

    /// What a command on a host said, also in the log of that host's first worker.
    fn hook_log(&self, place: &str, command: &str, lines: &[String], at_ms: i64, sink: &mut Sink) {
        let planned = &self.context.planned;
        let host = planned.hosts.iter().position(|label| label == place);
        let Some(worker) = host.and_then(|host| planned.workers.iter().position(|w| w.host as usize == host)) else {
            return;
        };
        let head = format!("command '{command}'");
        for line in std::iter::once(&head).chain(lines) {
            self.worker_log(worker as u32, at_ms, line, at_ms, sink);
        }
    }

    fn worker_log(&self, worker: u32, worker_ms: i64, text: &str, at_ms: i64, sink: &mut Sink) {
        let clock = &self.context.clock;
        let file = format!("{}.stdout.html", self.context.worker(worker));
        let (here, there) = (clock.tod(at_ms), clock.tod(worker_ms));
        text.split('\n').for_each(|line| sink.text(&file, &format!("{here} {there} {line}")));
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
