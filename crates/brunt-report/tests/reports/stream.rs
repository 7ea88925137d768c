//! Makes event streams out of single I/Os, as a master would.

use std::collections::BTreeMap;

use brunt_event::{
    Compat, Event, HostInterval, Interval, Opened, Planned, PlannedRun, PlannedSd, PlannedWorker, RateText, Record,
    Requested, RunEnd, RunEnded, RunStarted, RunWorkload, SCHEMA, SdDone,
};
use brunt_stats::{Cell, CpuTicks, Histogram, OpStats, OpTimes, Times, Timing};

/// 2026-11-30 13:30:45.000 UTC.
pub const START_MS: i64 = 1_796_045_445_000;

/// One I/O.
#[derive(Debug, Clone, Copy)]
pub struct Io {
    pub worker: u32,
    pub wd: u32,
    pub sd: u32,
    pub read: bool,
    pub bytes: u64,
    pub ns: u64,
}

/// One interval: its I/Os and its measured length.
#[derive(Debug, Clone)]
pub struct Measured {
    pub ios: Vec<Io>,
    pub length_ns: u64,
    /// Ticks of the processors of the first host.
    pub cpu: Option<CpuTicks>,
}

impl Measured {
    /// A second with these I/Os, processors half idle.
    pub fn second(ios: Vec<Io>) -> Self {
        let cpu = CpuTicks { user: 40, system: 10, idle: 50, ..CpuTicks::default() };
        Self { ios, length_ns: 1_000_000_000, cpu: Some(cpu) }
    }

    /// Ticks of a host: the second one is 10 ticks busier than the first, and so on.
    pub fn cpu_of(&self, host: u32) -> Option<CpuTicks> {
        self.cpu.map(|cpu| CpuTicks { user: cpu.user + u64::from(host) * 10, ..cpu })
    }
}

/// A stream in the making.
pub struct Stream {
    pub records: Vec<Record>,
    pub planned: Planned,
    at_ms: i64,
    runs: u32,
    worker_hists: bool,
}

impl Stream {
    /// Begins an execution.
    pub fn new(compat: Compat, planned: Planned) -> Self {
        let worker_hists = planned.worker_detail || compat == Compat::V50406;
        let mut stream = Self { records: Vec::new(), planned, at_ms: START_MS, runs: 0, worker_hists };
        stream.push(Event::Opened(opened(compat)));
        stream.push(Event::Argument { text: "-fparmfile".into() });
        stream.push(Event::ParmEcho { lines: vec!["* Contents of parameter file: /w/parmfile".into(), "".into()] });
        stream.push(Event::ParmScan { lines: vec!["line: sd=sd1".into(), "keyw: sd=sd1".into()] });
        stream
    }

    /// Adds an event a millisecond later.
    pub fn push(&mut self, event: Event) {
        self.at_ms += 1;
        self.records.push(Record { at_ms: self.at_ms, event });
    }

    /// From the plan to the first run.
    pub fn set_up(&mut self) {
        self.push(Event::Planned(self.planned.clone()));
        let workers = self.planned.workers.len() as u32;
        for worker in 0..workers {
            let label = &self.planned.workers[worker as usize].label;
            let command = format!("/bin/brunt agent --stdio -l {label}");
            self.push(Event::WorkerStarting { worker, command });
        }
        for worker in 0..workers {
            self.push(Event::WorkerConnected { worker, pid: 4712 + worker, master_pid: 4711 });
        }
        self.push(Event::WorkersConnected);
        self.push(Event::QueryStarted);
        for host in 0..self.planned.hosts.len() as u32 {
            self.push(Event::HostConfig { host, text: "cpus: 2\nmemory: 4 GiB\n".into() });
        }
        self.push(Event::QueryCompleted { sd_sizes: self.planned.sds.iter().map(|_| Some(8 << 20)).collect() });
    }

    /// Starts a run with all SDs and WDs.
    pub fn start(&mut self, plan: &PlannedRun, warmup_intervals: u32) -> RunStarted {
        let wds = self.planned.wds.len();
        let workloads = self.planned.wds.iter().enumerate().map(|(n, name)| RunWorkload {
            wd: Some(n as u32),
            name: name.clone(),
            skew: Some(100.0 / wds as f64),
        });
        let started = RunStarted {
            run: self.runs,
            plan: plan.clone(),
            requested_rate: match plan.rate {
                RateText::Fixed(rate) => rate,
                _ => 9_999_988.0,
            },
            requested: requested(self.planned.sds.len()),
            workloads: workloads.collect(),
            sds: (0..self.planned.sds.len() as u32).collect(),
            workers: (0..self.planned.workers.len() as u32).collect(),
            uncontrolled: plan.rate == RateText::UncontrolledMax,
            warmup_intervals,
            start_ms: self.at_ms + 1,
        };
        self.runs += 1;
        self.push(Event::RunStarted(started.clone()));
        started
    }

    /// Adds an interval, a second later.
    pub fn interval(&mut self, started: &RunStarted, number: u32, measured: &Measured) {
        self.at_ms += 999;
        let warmup = number <= started.warmup_intervals;
        let interval = interval(&self.planned, started, number, warmup, measured);
        self.push(Event::Interval(Box::new(interval)));
        if number == started.warmup_intervals {
            self.push(Event::WarmupDone { run: started.run });
        }
    }

    /// Ends a run.
    pub fn end(&mut self, started: &RunStarted, intervals: &[Measured], end: RunEnd) {
        self.push(Event::WorkloadDone { run: started.run });
        self.push(Event::WorkersDone { run: started.run });
        let warmup = (started.warmup_intervals as usize).min(intervals.len().saturating_sub(1));
        let counted: Vec<Io> = intervals.iter().skip(warmup).flat_map(|m| m.ios.clone()).collect();
        let by = |count: usize, of: fn(&Io) -> u32| {
            (0..count as u32).map(|n| times(counted.iter().filter(|io| of(io) == n))).collect::<Vec<_>>()
        };
        let host_of = |io: &Io| self.planned.workers[io.worker as usize].host;
        let workers = if self.worker_hists { self.planned.workers.len() } else { 0 };
        let ended = RunEnded {
            run: started.run,
            intervals: intervals.len() as u32,
            end,
            complete: !matches!(end, RunEnd::Errors | RunEnd::Signal | RunEnd::WorkerLost | RunEnd::Stuck),
            short: intervals.len() as u32 <= started.warmup_intervals,
            times: times(counted.iter()),
            host_times: (0..self.planned.hosts.len() as u32)
                .map(|h| times(counted.iter().filter(|io| host_of(io) == h)))
                .collect(),
            sd_times: by(started.sds.len(), |io| io.sd),
            wd_times: by(started.workloads.len(), |io| io.wd),
            worker_times: by(workers, |io| io.worker),
            totals: (0..started.sds.len() as u32)
                .map(|sd| done(intervals.iter().flat_map(|m| &m.ios).filter(|io| io.sd == sd)))
                .collect(),
            io_errors: 0,
            start_skew_ns: Vec::new(),
        };
        self.push(Event::RunEnded(Box::new(ended)));
    }

    /// A whole run.
    pub fn run(&mut self, plan: &PlannedRun, warmup_intervals: u32, intervals: &[Measured]) {
        let started = self.start(plan, warmup_intervals);
        for (number, measured) in (1..).zip(intervals) {
            self.interval(&started, number, measured);
        }
        self.end(&started, intervals, RunEnd::Elapsed);
    }

    /// The end of an execution.
    pub fn close(mut self, status: i32) -> Vec<Record> {
        self.push(Event::Closed { status, complete: status == 0 });
        self.records
    }
}

/// The head of a stream.
pub fn opened(compat: Compat) -> Opened {
    Opened {
        schema: SCHEMA,
        version: "0.1.0".into(),
        compat,
        as_vdbench: true,
        created: true,
        directory: "/w/out".into(),
        program: "/bin/brunt".into(),
        working_directory: "/w".into(),
        decimal_mb: false,
        simulate: false,
        zone: String::new(),
        seed: 7,
        pid: 4711,
        birth: Some(brunt_event::Birth { ticks: 815, boot: "b007".to_owned(), host: "db7".to_owned() }),
    }
}

/// Hosts with their number of workers, SDs, WDs, runs.
pub fn planned(hosts: &[(&str, u32)], sds: &[&str], wds: &[&str], runs: &[PlannedRun]) -> Planned {
    let workers = hosts.iter().zip(0..).flat_map(|((name, workers), host)| {
        (0..*workers).map(move |n| PlannedWorker { label: format!("{name}-{n}"), host })
    });
    let sd = |name: &&str| PlannedSd {
        name: (*name).to_owned(),
        luns: hosts.iter().map(|_| Some(format!("./{name}"))).collect(),
    };
    Planned {
        hosts: hosts.iter().map(|(name, _)| (*name).to_owned()).collect(),
        workers: workers.collect(),
        sds: sds.iter().map(sd).collect(),
        wds: wds.iter().map(|name| (*name).to_owned()).collect(),
        wd_reports: wds.len() > 1,
        runs: runs.to_vec(),
        ios_per_worker: Some(100_000.0),
        ..Planned::default()
    }
}

/// A run of four seconds at a rate of 100.
pub fn planned_run(name: &str, loops: &[&str]) -> PlannedRun {
    PlannedRun {
        name: name.into(),
        loops: loops.iter().map(|text| (*text).to_owned()).collect(),
        rate: RateText::Fixed(100.0),
        elapsed: Some(4),
        warmup: 0,
        interval: 1,
        format: false,
    }
}

/// `count` reads of 4k with times from 5 µs up in steps of 1 µs.
pub fn reads(worker: u32, wd: u32, sd: u32, count: u64) -> Vec<Io> {
    (0..count).map(|n| Io { worker, wd, sd, read: true, bytes: 4096, ns: 5_000 + n * 1_000 }).collect()
}

/// `count` writes of 8k with times from 50 µs up in steps of 10 µs.
pub fn writes(worker: u32, wd: u32, sd: u32, count: u64) -> Vec<Io> {
    (0..count).map(|n| Io { worker, wd, sd, read: false, bytes: 8192, ns: 50_000 + n * 10_000 }).collect()
}

fn requested(sds: usize) -> Requested {
    Requested {
        xfersize: Some(4096),
        threads: Some(2.0),
        rdpct: Some(100.0),
        rhpct: Some(0.0),
        whpct: Some(0.0),
        seekpct: Some(100.0),
        lun_bytes: (sds as u64) << 23,
        compratio: Some(1.0),
    }
}

fn interval(planned: &Planned, started: &RunStarted, number: u32, warmup: bool, measured: &Measured) -> Interval {
    let ios = || measured.ios.iter();
    let host_of = |worker: u32| planned.workers[worker as usize].host;
    let by_host = |host: u32| ios().filter(move |io| host_of(io.worker) == host);
    let host =
        |host: u32| HostInterval { cell: cell(by_host(host)), cpu: measured.cpu_of(host), times: times(by_host(host)) };
    let by = |count: usize, of: fn(&Io) -> u32| {
        (0..count as u32).map(|n| cell(ios().filter(|io| of(io) == n))).collect::<Vec<_>>()
    };
    let mut host_sds: BTreeMap<(u32, u32), Vec<Io>> = BTreeMap::new();
    let mut worker_sds: BTreeMap<(u32, u32), Vec<Io>> = BTreeMap::new();
    for io in ios() {
        host_sds.entry((host_of(io.worker), io.sd)).or_default().push(*io);
        worker_sds.entry((io.worker, io.sd)).or_default().push(*io);
    }
    let cells = |map: BTreeMap<(u32, u32), Vec<Io>>, wanted: bool| match wanted {
        true => map.into_iter().map(|((a, b), ios)| (a, b, cell(ios.iter()))).collect(),
        false => Vec::new(),
    };
    Interval {
        run: started.run,
        interval: number,
        length_ns: measured.length_ns,
        warmup,
        missing_workers: 0,
        total: cell(ios()),
        times: times(ios()),
        hosts: (0..planned.hosts.len() as u32).map(host).collect(),
        workers: by(planned.workers.len(), |io| io.worker),
        sds: by(started.sds.len(), |io| io.sd),
        wds: by(started.workloads.len(), |io| io.wd),
        host_sds: cells(host_sds, planned.host_detail),
        worker_sds: cells(worker_sds, planned.worker_detail),
    }
}

fn cell<'a>(ios: impl Iterator<Item = &'a Io>) -> Cell {
    let mut cell = Cell::default();
    for io in ios {
        let stats = if io.read { &mut cell.read } else { &mut cell.write };
        stats.record(io.bytes, io.ns, false);
        cell.busy_ns += io.ns;
    }
    cell
}

fn times<'a>(ios: impl Iterator<Item = &'a Io> + Clone) -> Times {
    let of = |read: bool| {
        let (mut stats, mut hist) = (OpStats::default(), Histogram::default());
        for io in ios.clone().filter(|io| io.read == read) {
            stats.record(io.bytes, io.ns, false);
            hist.record(io.ns);
        }
        let service =
            Timing { sum_ns: stats.sum_ns, min_ns: stats.min_ns, max_ns: stats.max_ns, hist: hist.to_sparse() };
        OpTimes { service, ..OpTimes::default() }
    };
    Times { read: of(true), write: of(false) }
}

fn done<'a>(ios: impl Iterator<Item = &'a Io>) -> SdDone {
    let cell = cell(ios);
    SdDone { reads: cell.read.ops, read_bytes: cell.read.bytes, writes: cell.write.ops, write_bytes: cell.write.bytes }
}
