//! Which report files there are: their names, first lines and links (`docs/vdbench/reports.md` §2).

use brunt_event::RunStarted;

use crate::chunk::Sink;
use crate::context::Context;
use crate::page;
use crate::tally::Scope;
use crate::{errors, histogram, latency, optional, skew, status};

/// Copy of the console.
pub(crate) const LOG: &str = "logfile.html";
/// All rows.
pub(crate) const SUMMARY: &str = "summary.html";
/// One row per run.
pub(crate) const TOTALS: &str = "totals.html";
/// The parameter files.
pub(crate) const PARMFILE: &str = "parmfile.html";
/// The parser's trace.
pub(crate) const PARMSCAN: &str = "parmscan.html";
/// The hosts' inventory.
pub(crate) const CONFIG: &str = "config.html";
/// One row per interval, for programs.
pub(crate) const FLATFILE: &str = "flatfile.html";

/// Stands in the place of a copyright line.
pub(crate) const WHO: &str = "Brunt, an independent drop-in for Vdbench; not made by Oracle.";

/// What a page is about.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Subject {
    /// A thing with a fixed number.
    Fixed(Scope),
    /// A workload, found in each run by its name.
    Workload(String),
}

impl Subject {
    /// Where its numbers are in a run.
    pub(crate) fn scope(&self, run: &RunStarted) -> Option<Scope> {
        match self {
            Self::Fixed(scope) => Some(*scope),
            Self::Workload(name) => run.workloads.iter().position(|w| w.name == *name).map(Scope::Wd),
        }
    }
}

/// A file with rows of numbers, or with histograms.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    pub file: String,
    pub subject: Subject,
}

/// The files that follow the runs.
#[derive(Debug, Default)]
pub(crate) struct Book {
    /// Files with a row per interval and an average.
    pub rows: Vec<Page>,
    /// Files with histograms.
    pub histograms: Vec<Page>,
    /// Files in which every run is announced.
    pub announced: Vec<String>,
    /// Whether the inventory was written.
    pub has_config: bool,
}

impl Book {
    /// Makes the files that exist from the start.
    pub(crate) fn open(&mut self, context: &Context, at_ms: i64, sink: &mut Sink) {
        let distribution = context.layout.distribution();
        let word = distribution.split(' ').next().unwrap_or(distribution);
        let version = &context.opened.version;
        let create = |sink: &mut Sink, file: &str, lines: &[&str]| {
            sink.line(file, &page::head(&context.directory, file));
            lines.iter().for_each(|line| sink.line(file, line));
        };
        create(sink, LOG, &[WHO, &format!("Vdbench distribution: {word} (Brunt {version})"), ""]);
        create(sink, SUMMARY, &[WHO, &format!("Vdbench summary report, created {}", created(context, at_ms)), ""]);
        for (text, file, name) in FIRST_LINKS {
            sink.line(SUMMARY, &page::link(text, file, name));
        }
        create(sink, TOTALS, &["Run totals", ""]);
        create(sink, status::FILE, status::INTRO);
        create(sink, PARMFILE, &[]);
        create(sink, PARMSCAN, &[]);
        create(sink, FLATFILE, &[]);
        self.announced = [LOG, SUMMARY, TOTALS].map(str::to_owned).to_vec();
        self.rows.push(Page { file: SUMMARY.to_owned(), subject: Subject::Fixed(Scope::Total) });
    }

    /// Makes the files of the work: errors, histogram, skew, latencies, hosts, workers.
    pub(crate) fn open_work(&mut self, context: &Context, at_ms: i64, sink: &mut Sink) {
        errors::open(context, at_ms, sink);
        let hosts = context.planned.hosts.iter().map(String::as_str);
        sink.line(SUMMARY, &page::link("Link to errorlog:", errors::FILE, "errorlog"));
        sink.line(SUMMARY, &page::link("Link to flatfile:", FLATFILE, "flatfile"));
        sink.line(SUMMARY, "");
        page::link_list("Link to HOST reports:", hosts).iter().for_each(|line| sink.line(SUMMARY, line));
        sink.line(SUMMARY, &page::link("Link to response time histogram:", histogram::FILE, "histogram"));
        sink.line(SUMMARY, &page::link("Link to workload skew report:", skew::FILE, "skew"));
        let total = Subject::Fixed(Scope::Total);
        self.histogram(context, histogram::FILE, total, "Total response time histogram.", sink);
        self.announce(context, skew::FILE, skew::INTRO, sink);
        self.announce(context, latency::FILE, latency::INTRO, sink);
        for host in 0..context.planned.hosts.len() {
            self.open_host(context, host, sink);
        }
        for worker in 0..context.planned.workers.len() {
            self.open_worker(context, worker, sink);
        }
    }

    /// Makes the files of SDs and workloads, once the first run is known.
    pub(crate) fn open_subjects(&mut self, context: &Context, first: &RunStarted, sink: &mut Sink) {
        let planned = &context.planned;
        let names = || planned.sds.iter().map(|sd| sd.name.as_str());
        if !planned.no_sd_detail {
            page::link_list("Link to SD reports:", names()).iter().for_each(|line| sink.line(SUMMARY, line));
            for (sd, name) in names().enumerate() {
                self.open_sd(context, sd, name, sink);
            }
        }
        let workloads = workloads_with_reports(context, first);
        if !workloads.is_empty() {
            sink.line(SUMMARY, "");
        }
        for name in &workloads {
            sink.line(SUMMARY, &page::link("Link to workload report:", &format!("{name}.html"), name));
            self.open_workload(context, name, sink);
        }
        self.open_details(context, sink);
        if planned.run_totals {
            sink.line(SUMMARY, &page::link("Cumulative run totals:", optional::FILE, "run totals"));
        }
    }

    fn open_host(&mut self, context: &Context, host: usize, sink: &mut Sink) {
        let planned = &context.planned;
        let label = &planned.hosts[host];
        let subject = Subject::Fixed(Scope::Host(host));
        let mut lines = vec![format!("Host summary report(s) for host={label}"), String::new()];
        let many = planned.hosts.len() > 1;
        if if context.layout.is_old() { many } else { planned.host_detail } {
            let file = format!("{label}.histogram.html");
            lines.push(page::link("Link to response time histogram:", &file, "histogram"));
            self.histogram(context, &file, subject.clone(), "Host response time histogram.", sink);
        }
        for worker in planned.workers.iter().filter(|w| w.host as usize == host) {
            let name = &worker.label;
            let summary =
                page::link("Link to slave summary report:", &format!("{name}.html"), &format!("{name} summary"));
            let log = page::anchor(&format!("{name}.stdout.html"), &format!("{name} stdout"));
            lines.push(format!("{summary}   {log}"));
        }
        if planned.host_detail {
            lines.extend(detail_links(context, "Link to host SD reports:", label, host));
        }
        self.rows_file(context, &format!("{label}.html"), subject, &lines, sink);
    }

    fn open_worker(&mut self, context: &Context, worker: usize, sink: &mut Sink) {
        let planned = &context.planned;
        let (label, host) = (&planned.workers[worker].label, planned.workers[worker].host as usize);
        let subject = Subject::Fixed(Scope::Worker(worker, host));
        let log = format!("{label}.stdout.html");
        let mut lines = vec![format!("Slave summary report for slave={label}"), String::new()];
        lines.push(page::link("Console log:", &log, "Slave stdout/stderr"));
        let many = planned.workers.iter().filter(|w| w.host as usize == host).count() > 1;
        if planned.worker_detail || (context.layout.is_old() && many) {
            let file = format!("{label}.histogram.html");
            lines.push(page::link("Link to response time histogram:", &file, "histogram"));
            self.histogram(context, &file, subject.clone(), "Slave response time histogram.", sink);
        }
        if planned.worker_detail {
            lines.extend(detail_links(context, "Links to slave SD reports:", label, host));
        }
        self.rows_file(context, &format!("{label}.html"), subject, &lines, sink);
        self.announce(context, &log, &[&format!("stdout/stderr for slave={label}"), ""], sink);
    }

    fn open_sd(&mut self, context: &Context, sd: usize, name: &str, sink: &mut Sink) {
        let (file, times) = (format!("{name}.html"), format!("{name}.histogram.html"));
        let subject = Subject::Fixed(Scope::Sd(sd));
        let link = page::link("Link to response time histogram:", &times, "histogram");
        let lines = [format!("SD report for sd={name}"), String::new(), link];
        self.rows_file(context, &file, subject.clone(), &lines, sink);
        self.histogram(context, &times, subject, "SD response time histogram.", sink);
    }

    fn open_workload(&mut self, context: &Context, name: &str, sink: &mut Sink) {
        let (file, times) = (format!("{name}.html"), format!("{name}.histogram.html"));
        let subject = Subject::Workload(name.to_owned());
        let link = page::link("Link to response time histogram:", &times, "histogram");
        let lines = [format!("Workload Report for wd={name}"), String::new(), link];
        self.rows_file(context, &file, subject.clone(), &lines, sink);
        self.histogram(context, &times, subject, &format!("wd={name} response time histogram."), sink);
    }

    fn open_details(&mut self, context: &Context, sink: &mut Sink) {
        let planned = &context.planned;
        for (host, label) in planned.hosts.iter().enumerate().filter(|_| planned.host_detail) {
            for (sd, lun) in luns(context, host) {
                let name = &planned.sds[sd].name;
                let title = format!("Host SD report for sd={name},host={label},lun={lun}");
                let subject = Subject::Fixed(Scope::HostSd(host, sd));
                self.rows_file(context, &format!("{label}.{name}.html"), subject, &[title, String::new()], sink);
            }
        }
        for (worker, of) in planned.workers.iter().enumerate().filter(|_| planned.worker_detail) {
            for (sd, _) in luns(context, of.host as usize) {
                let name = &planned.sds[sd].name;
                let title = format!("Slave SD report for sd={name}");
                let subject = Subject::Fixed(Scope::WorkerSd(worker, of.host as usize, sd));
                self.rows_file(context, &format!("{}.{name}.html", of.label), subject, &[title, String::new()], sink);
            }
        }
    }

    fn rows_file(&mut self, context: &Context, file: &str, subject: Subject, lines: &[String], sink: &mut Sink) {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        self.announce(context, file, &lines, sink);
        self.rows.push(Page { file: file.to_owned(), subject });
    }

    fn histogram(&mut self, context: &Context, file: &str, subject: Subject, title: &str, sink: &mut Sink) {
        self.announce(context, file, &[title, ""], sink);
        self.histograms.push(Page { file: file.to_owned(), subject });
    }

    fn announce(&mut self, context: &Context, file: &str, lines: &[&str], sink: &mut Sink) {
        sink.line(file, &page::head(&context.directory, file));
        lines.iter().for_each(|line| sink.line(file, line));
        self.announced.push(file.to_owned());
    }
}

/// Links of `summary.html` to the files that exist from the start.
const FIRST_LINKS: [(&str, &str, &str); 5] = [
    ("Link to logfile:", LOG, "logfile"),
    ("Run totals:", TOTALS, "totals"),
    ("Vdbench status:", status::FILE, "status"),
    ("Copy of input parameter files:", PARMFILE, "parmfile"),
    ("Copy of parameter scan detail:", PARMSCAN, "parmscan"),
];

/// When the report was made; in 5.04.07 a second time in UTC.
fn created(context: &Context, at_ms: i64) -> String {
    let here = context.clock.header(at_ms);
    if context.layout.is_old() {
        return here;
    }
    format!("{here} ({})", crate::clock::Clock::new("").header(at_ms))
}

/// SDs of a host with their paths there.
fn luns(context: &Context, host: usize) -> impl Iterator<Item = (usize, &str)> {
    let sds = context.planned.sds.iter().enumerate();
    sds.filter_map(move |(sd, of)| Some((sd, of.luns.get(host)?.as_deref()?)))
}

/// Links from a host's or worker's page to its pages by SD.
fn detail_links(context: &Context, text: &str, label: &str, host: usize) -> Vec<String> {
    let host_label = &context.planned.hosts[host];
    let starts = std::iter::once(text).chain(std::iter::repeat(""));
    let link = |((sd, lun), start): ((usize, &str), &str)| {
        let name = &context.planned.sds[sd].name;
        page::link(start, &format!("{label}.{name}.html"), &format!("sd={name},host={host_label},lun={lun}"))
    };
    luns(context, host).zip(starts).map(link).collect()
}

/// Workloads that have reports: all when there are two or more, generated ones counted; the generated ones themselves
/// only in the older version (`docs/vdbench/reports.md` §2.1).
fn workloads_with_reports(context: &Context, first: &RunStarted) -> Vec<String> {
    let generated: Vec<String> = first.workloads.iter().filter(|w| w.wd.is_none()).map(|w| w.name.clone()).collect();
    if !context.planned.wd_reports && generated.is_empty() {
        return Vec::new();
    }
    let shown = if context.layout.is_old() { generated } else { Vec::new() };
    shown.into_iter().chain(context.planned.wds.iter().cloned()).collect()
}
