//! A fleet in memory: agents that play what a test wrote down.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brunt_event::{Event, RateText, Record};
use brunt_parm::ast::{Arrivals, DataErrors, HistogramSpec};
use brunt_plan::engine::Asked;
use brunt_plan::plan::{FleetRules, Host, Plan, Rate, Run, RunKind, Sd, Settings, Workload};
use brunt_plan::work::{
    Conduct, IoErrorKind, IoFailure, LunFacts, LunKind, LunQuery, OpenFlag, Seek, WorkerEvent, WorkerShare, Xfer,
};
use brunt_stats::{Cell, Histogram, IntervalSample, OpStats, OpTimes, PairSample, PairTimes, Times, Timing};
use tokio::sync::mpsc;

use crate::link::{HookResult, HostFacts, HostHello, HostLink, LinkError, LinkEvent};
use crate::session::now_ms;
use crate::{Control, Fleet, FleetHost, Options, Outcome, Past, execute, take_over};

const SECOND: u64 = 1_000_000_000;

/// What an agent does in one run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Script {
    /// Sent at the start.
    pub(crate) start: Vec<LinkEvent>,
    /// Sent at the first stop.
    pub(crate) stop: Vec<LinkEvent>,
    /// Why it cannot prepare.
    pub(crate) refuse: Option<String>,
}

/// What a host says of a lun.
pub(crate) type Answer = Arc<dyn Fn(usize, &LunQuery) -> LunFacts + Send + Sync>;

/// An agent that plays scripts.
pub(crate) struct FakeAgent {
    host: usize,
    workers: u32,
    /// The scripts that are left.
    scripts: Mutex<VecDeque<Script>>,
    current: Mutex<Script>,
    /// Exit status of its hooks.
    hook_status: i32,
    /// Never answers a stop.
    deaf: bool,
    /// Never answers an inspection.
    mute: bool,
    /// Takes a quarter of a minute to be there.
    late: bool,
    /// Takes so long to start.
    start_takes: Duration,
    /// Takes so long to prepare.
    prepare_takes: Duration,
    /// Its greeting: another build, or why there is none.
    hello: Result<Option<String>, LinkError>,
    answer: Answer,
    calls: Calls,
    events: mpsc::Sender<(usize, LinkEvent)>,
}

/// The calls to all agents, in order.
pub(crate) type Calls = Arc<Mutex<Vec<String>>>;

impl FakeAgent {
    fn called(&self, what: String) {
        self.calls.lock().unwrap().push(format!("{} {what}", self.host));
    }

    fn send(&self, events: Vec<LinkEvent>) {
        events.into_iter().for_each(|e| self.events.try_send((self.host, e)).unwrap());
    }
}

impl HostLink for FakeAgent {
    async fn hello(&self) -> Result<HostHello, LinkError> {
        self.called("hello".into());
        let worker_pids = (0..self.workers).map(|n| 1000 + n).collect();
        if self.late {
            tokio::time::sleep(Duration::from_secs(15)).await;
        }
        let other_build = self.hello.clone()?;
        Ok(HostHello { version: "0".into(), host_name: "here".into(), worker_pids, other_build })
    }

    async fn inspect(&self, queries: Vec<LunQuery>) -> Result<HostFacts, LinkError> {
        self.called("inspect".into());
        if self.mute {
            std::future::pending::<()>().await;
        }
        let luns = queries.iter().map(|q| (self.answer)(self.host, q)).collect();
        Ok(HostFacts { luns, inventory: "machine".into(), ..HostFacts::default() })
    }

    async fn prepare(&self, shares: Vec<Option<WorkerShare>>) -> Result<(), LinkError> {
        let rate: f64 = shares.iter().flatten().flat_map(|s| &s.generators).map(|g| g.rate).sum();
        self.called(format!("prepare {rate}"));
        tokio::time::sleep(self.prepare_takes).await;
        *self.current.lock().unwrap() = self.scripts.lock().unwrap().pop_front().unwrap_or_default();
        match self.current.lock().unwrap().refuse.take() {
            Some(why) => Err(LinkError::Refused(why)),
            None => Ok(()),
        }
    }

    async fn rejoin(&self) -> Result<(), LinkError> {
        self.called("rejoin".into());
        *self.current.lock().unwrap() = self.scripts.lock().unwrap().pop_front().unwrap_or_default();
        if let Some(why) = self.current.lock().unwrap().refuse.take() {
            return Err(LinkError::Broken(why));
        }
        let again = std::mem::take(&mut self.current.lock().unwrap().start);
        self.send(again);
        Ok(())
    }

    async fn start(&self, _delay: Duration) -> Result<Duration, LinkError> {
        self.called("start".into());
        tokio::time::sleep(self.start_takes).await;
        let start = std::mem::take(&mut self.current.lock().unwrap().start);
        self.send(start);
        Ok(Duration::from_micros(7))
    }

    async fn stop(&self, after: Option<u32>) -> Result<(), LinkError> {
        self.called(after.map_or("stop".into(), |n| format!("stop after {n}")));
        if self.deaf {
            std::future::pending::<()>().await;
        }
        let stop = std::mem::take(&mut self.current.lock().unwrap().stop);
        self.send(stop);
        Ok(())
    }

    async fn grant(&self, interval: u32) -> Result<(), LinkError> {
        self.called(format!("grant {interval}"));
        Ok(())
    }

    async fn drop_sd(&self, sd: u32) -> Result<(), LinkError> {
        self.called(format!("drop sd {sd}"));
        if self.deaf { Err(LinkError::Broken("it is deaf".into())) } else { Ok(()) }
    }

    async fn run_hook(&self, command: String, limit: Option<Duration>) -> Result<HookResult, LinkError> {
        let within = limit.map_or_else(String::new, |limit| format!(" within {} s", limit.as_secs()));
        self.called(format!("hook {command}{within}"));
        Ok(HookResult { status: Some(self.hook_status), lines: vec!["done".into()] })
    }

    fn abandon(&self) {
        self.called("abandon".into());
    }

    async fn shutdown(&self) -> Result<(), LinkError> {
        self.called("shutdown".into());
        self.send(vec![LinkEvent::Lost("it has ended".into())]);
        Ok(())
    }
}

pub(crate) fn facts(sd: u32) -> LunFacts {
    LunFacts {
        size: 8 << 20,
        readable: true,
        writable: true,
        identity: Some(format!("file {sd}")),
        block_size: Some(512),
        timeout_s: Some(60),
        ..LunFacts::silent(sd, LunKind::File)
    }
}

/// An execution under test.
pub(crate) struct Stage {
    pub(crate) plan: Plan,
    /// By host: the scripts of the runs.
    pub(crate) scripts: Vec<Vec<Script>>,
    pub(crate) options: Options,
    pub(crate) hook_status: i32,
    /// By host, where they differ.
    pub(crate) hook_statuses: Vec<i32>,
    /// Hosts that never answer a stop.
    pub(crate) deaf: Vec<usize>,
    /// Hosts that never answer an inspection.
    pub(crate) mute: Vec<usize>,
    /// Hosts that take a quarter of a minute to be there.
    pub(crate) late: Vec<usize>,
    /// How long a start takes, by host.
    pub(crate) start_takes: BTreeMap<usize, Duration>,
    /// How long a prepare takes, by host.
    pub(crate) prepare_takes: BTreeMap<usize, Duration>,
    /// What comes of the greeting of a host, where it is not what was hoped for.
    pub(crate) hellos: BTreeMap<usize, Result<Option<String>, LinkError>>,
    pub(crate) answer: Answer,
    /// Controls that are sent with the event that begins so in short.
    pub(crate) controls: Vec<(&'static str, Control)>,
    /// What links say so many milliseconds behind the beginning, by host.
    pub(crate) later: Vec<(u64, usize, LinkEvent)>,
    /// Called with each event, before it is kept.
    pub(crate) watch: Box<dyn FnMut(&Event)>,
}

/// What came of it.
pub(crate) struct Played {
    pub(crate) events: Vec<Event>,
    pub(crate) outcome: Outcome,
    pub(crate) calls: Vec<String>,
}

impl Stage {
    pub(crate) fn new(plan: Plan, scripts: Vec<Vec<Script>>) -> Self {
        let options = Options {
            as_vdbench: false,
            output: PathBuf::from("/out"),
            shutdown_file: PathBuf::from("/nonexistent/shutdown"),
            start_delay: Duration::from_millis(20),
        };
        Self {
            plan,
            scripts,
            options,
            hook_status: 0,
            hook_statuses: Vec::new(),
            deaf: Vec::new(),
            mute: Vec::new(),
            late: Vec::new(),
            start_takes: BTreeMap::new(),
            prepare_takes: BTreeMap::new(),
            hellos: BTreeMap::new(),
            answer: Arc::new(|_, query| facts(query.sd)),
            controls: Vec::new(),
            later: Vec::new(),
            watch: Box::new(|_| {}),
        }
    }

    pub(crate) async fn play(self) -> Played {
        self.on(None).await
    }

    /// Goes on behind these events, as another master does. The scripts are those of the runs from the last one that was
    /// started on; that one's agents report again what it has.
    pub(crate) async fn take_over(self, told: &[Event]) -> Played {
        let mut past = Past::default();
        told.iter().for_each(|event| past.take(&Record { at_ms: now_ms(), event: event.clone() }));
        assert_eq!(past.refusal(), None);
        let luns = |host| self.plan.lun_queries(host).iter().map(|q| (self.answer)(host, q)).collect();
        let facts = (0..self.plan.hosts.len()).map(|host| HostFacts { luns: luns(host), ..HostFacts::default() });
        let facts = facts.collect();
        self.on(Some((past, facts))).await
    }

    async fn on(mut self, past: Option<(Past, Vec<HostFacts>)>) -> Played {
        let (events, inbox) = mpsc::channel(10_000);
        let (control, control_inbox) = mpsc::channel(10);
        let calls = Calls::default();
        let hosts = self.plan.hosts.iter().zip(self.scripts).enumerate();
        let agent = |(host, (h, scripts)): (usize, (&Host, Vec<Script>))| FleetHost {
            commands: (0..h.workers).map(|n| format!("agent {}", h.worker_label(n))).collect(),
            link: FakeAgent {
                host,
                workers: h.workers,
                scripts: Mutex::new(scripts.into()),
                current: Mutex::default(),
                hook_status: self.hook_statuses.get(host).copied().unwrap_or(self.hook_status),
                deaf: self.deaf.contains(&host),
                mute: self.mute.contains(&host),
                late: self.late.contains(&host),
                prepare_takes: self.prepare_takes.get(&host).copied().unwrap_or_default(),
                start_takes: self.start_takes.get(&host).copied().unwrap_or_default(),
                hello: self.hellos.get(&host).cloned().unwrap_or(Ok(None)),
                answer: self.answer.clone(),
                calls: calls.clone(),
                events: events.clone(),
            },
        };
        let fleet = Fleet { hosts: hosts.map(agent).collect() };
        for (ms, host, event) in self.later {
            let events = events.clone();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(ms)).await;
                // The execution may be over by then.
                let _ = events.send((host, event)).await;
            });
        }
        let mut seen = Vec::new();
        let outcome = {
            let mut sink = |event: Event| {
                (self.watch)(&event);
                let due = self.controls.iter().filter(|(text, _)| short(&event).starts_with(text));
                due.for_each(|(_, c)| control.try_send(c.clone()).unwrap());
                seen.push(event);
            };
            match past {
                None => execute(self.plan, fleet, self.options, inbox, control_inbox, &mut sink).await,
                Some(past) => take_over(self.plan, fleet, self.options, past, inbox, control_inbox, &mut sink).await,
            }
        };
        let calls = calls.lock().unwrap().clone();
        Played { events: seen, outcome, calls }
    }
}

impl Played {
    /// The events in short.
    pub(crate) fn order(&self) -> Vec<String> {
        self.events.iter().map(short).collect()
    }

    /// As [`Played::order`], from the first run on, without the histories of set-up.
    pub(crate) fn order_of_runs(&self) -> Vec<String> {
        self.order().into_iter().skip_while(|e| !e.starts_with("run ")).collect()
    }
}

pub(crate) fn short(event: &Event) -> String {
    match event {
        Event::Planned(p) => format!("planned {} runs", p.runs.len()),
        Event::WorkerStarting { worker, .. } => format!("worker {worker} starting"),
        Event::WorkerConnected { worker, pid, .. } => format!("worker {worker} connected, pid {pid}"),
        Event::WorkersConnected => "connected".into(),
        Event::QueryStarted => "query".into(),
        Event::HostConfig { host, .. } => format!("config of {host}"),
        Event::QueryCompleted { sd_sizes } => format!("sizes {sd_sizes:?}"),
        Event::FormatNeeded { lun, .. } => format!("format needed {lun}"),
        Event::Engines { choices } => {
            let told = choices.iter().map(|c| format!("engine {} on {} for {:?}", c.backend, c.host, c.sds));
            told.collect::<Vec<_>>().join(", ")
        }
        Event::LoopStarted { pass } => format!("loop {pass}"),
        Event::RunStarted(r) => format!("run {} {} {}", r.run, r.plan.name, rate(&r.plan.rate)),
        Event::SequentialDone => "sequential done".into(),
        Event::MaxDataReached { limit, .. } => format!("maxdata {limit}"),
        Event::Interval(i) => {
            let ms = i.length_ns / 1_000_000;
            let mark = if i.warmup { " warmup" } else { "" };
            let missing = if i.missing_workers > 0 { format!(" missing {}", i.missing_workers) } else { String::new() };
            format!("interval {}{mark}: {} in {ms} ms{missing}", i.interval, i.total.both().ops)
        }
        Event::WarmupDone { .. } => "warmup done".into(),
        Event::WorkloadDone { .. } => "workload done".into(),
        Event::WorkersDone { .. } => "workers done".into(),
        Event::RunEnded(e) => {
            format!("end {:?} complete={} intervals={} errors={}", e.end, e.complete, e.intervals, e.io_errors)
        }
        Event::Draining { outstanding, seconds } => format!("draining {outstanding} for {seconds}"),
        Event::Pausing { seconds } => format!("pausing {seconds}"),
        Event::MonitorWatched { .. } => "monitor".into(),
        Event::EarlyEnd { scope } => format!("early end of {scope:?}"),
        Event::IoFailed(f) => format!("failed {} {}", f.lun, f.lba),
        Event::Hook { command, place, status, .. } => format!("hook {command} on {place}: {status:?}"),
        Event::WorkerLog { worker, text, .. } => format!("log {worker} {text}"),
        Event::Notice { code, text, .. } => format!("{code}: {text}"),
        Event::Interrupted { signal } => format!("interrupted {signal}"),
        Event::WorkerLost { worker, text } => format!("lost {worker} {text}"),
        Event::Aborted { cause, text, io_errors } => format!("aborted {cause:?} {io_errors}: {text}"),
        other => format!("{other:?}"),
    }
}

fn rate(rate: &RateText) -> String {
    match rate {
        RateText::Fixed(rate) => rate.to_string(),
        other => format!("{other:?}"),
    }
}

/// An event of a worker.
pub(crate) fn from(worker: u32, event: WorkerEvent) -> LinkEvent {
    LinkEvent::Worker { worker, run: None, event }
}

/// A sample of interval n: `ops` reads of 4 KiB that took 1 ms each, by workload and SD.
pub(crate) fn sample(worker: u32, n: u32, ms: u64, ops: &[(u32, u32, u64)]) -> LinkEvent {
    let pair = |(workload, sd, ops): &(u32, u32, u64)| {
        let (mut cell, mut hist) = (Cell::default(), Histogram::default());
        for _ in 0..*ops {
            cell.read.record(4096, 1_000_000, false);
            hist.record(1_000_000);
        }
        let (workload, sd, OpStats { sum_ns, min_ns, max_ns, .. }) = (*workload, *sd, cell.read);
        let service = Timing { sum_ns, min_ns, max_ns, hist: hist.to_sparse() };
        let times = Times { read: OpTimes { service, ..OpTimes::default() }, ..Times::default() };
        (PairSample { workload, sd, cell }, PairTimes { workload, sd, times })
    };
    let start_ns = u64::from(n - 1) * SECOND;
    let end_ns = start_ns + ms * 1_000_000;
    let (pairs, pair_times): (_, Vec<PairTimes>) = ops.iter().map(pair).unzip();
    let mut times = Times::default();
    pair_times.iter().for_each(|pair| times.merge(&pair.times));
    let sample =
        IntervalSample { interval: n, start_ns, end_ns, pairs, times, pair_times, ..IntervalSample::default() };
    from(worker, WorkerEvent::Interval(Box::new(sample)))
}

/// Full intervals of a worker, so many I/Os in each.
pub(crate) fn seconds(worker: u32, intervals: std::ops::RangeInclusive<u32>, ops: u64) -> Vec<LinkEvent> {
    intervals.map(|n| sample(worker, n, 1000, &[(0, 0, ops)])).collect()
}

pub(crate) fn drained(worker: u32) -> LinkEvent {
    from(worker, WorkerEvent::Drained)
}

pub(crate) fn failure(worker: u32, lba: u64) -> LinkEvent {
    let error = IoErrorKind::Errno(5);
    let failure = IoFailure { sd: 0, lun: "/f1".into(), read: true, lba, xfer: 4096, error, at_ms: 7 };
    from(worker, WorkerEvent::Failure(failure))
}

/// A run that one worker goes through as planned.
pub(crate) fn whole(intervals: u32, ops: u64) -> Script {
    Script { start: [seconds(0, 1..=intervals, ops), vec![drained(0)]].concat(), ..Script::default() }
}

/// Events at the start, and the worker drains when it is stopped.
pub(crate) fn stopped(start: Vec<LinkEvent>, mut stop: Vec<LinkEvent>) -> Script {
    stop.push(drained(0));
    Script { start, stop, refuse: None }
}

/// The workloads of a run, to change them.
pub(crate) fn workloads_of(run: &mut Run) -> &mut [Workload] {
    std::sync::Arc::make_mut(&mut run.workloads)
}

pub(crate) fn plan(runs: Vec<Run>) -> Plan {
    let host = Host {
        label: "localhost".into(),
        system: "localhost".into(),
        shell: None,
        user: None,
        install_dir: None,
        workers: 1,
    };
    Plan {
        settings: settings(),
        hosts: vec![host],
        sds: vec![sd("sd1", "/f1")],
        wds: vec!["wd1".into()],
        fsds: vec![],
        fwds: vec![],
        runs,
    }
}

pub(crate) fn sd(name: &str, lun: &str) -> Sd {
    Sd {
        name: name.into(),
        lun: vec![Some(lun.into())],
        size: None,
        threads: 8,
        hit_area: 1 << 20,
        offset: 0,
        align: None,
        range: None,
        openflags: vec![OpenFlag::Direct],
        span: None,
    }
}

fn settings() -> Settings {
    Settings {
        data_errors: DataErrors::Limit { count: 50, seconds: None },
        data_errors_given: false,
        startcmd: vec![],
        endcmd: vec![],
        format_xfersize: None,
        format_sds: None,
        report: vec![],
        report_run_totals: false,
        histogram: HistogramSpec::default(),
        monitor: None,
        abort_failed_skew: None,
        repeat: None,
        ios_per_jvm: None,
        timeout: vec![],
        misc: vec![],
        cores: None,
        engine: Asked::Auto,
        conduct: Conduct::default(),
        fleet: FleetRules::default(),
        seed: 1,
        unsupported: vec![],
    }
}

pub(crate) fn run(name: &str, rate: Rate, elapsed: u32) -> Run {
    Run {
        name: name.into(),
        rd: name.split("_(").next().unwrap_or(name).into(),
        kind: RunKind::Normal,
        rate,
        rate_is_loop: false,
        loops: vec![],
        elapsed: Some(elapsed),
        interval: 1,
        warmup: 0,
        pause: 0,
        stop_curve_ms: None,
        max_data: vec![],
        arrivals: Arrivals::Exponential,
        spike: false,
        threads: None,
        openflags: None,
        workloads: [workload(0, 0)].into(),
        files: None,
        replay: None,
        startcmd: vec![],
        endcmd: vec![],
        span: None,
    }
}

pub(crate) fn workload(wd: usize, sd: usize) -> Workload {
    Workload {
        wd,
        sds: [sd].into(),
        hosts: [0].into(),
        skew: Some(100.0),
        skew_given: false,
        iorate: None,
        priority: None,
        read_pct: 100.0,
        read_hit_pct: 0.0,
        write_hit_pct: 0.0,
        xfer: Xfer::Fixed(4096),
        seek: Seek::Percent(100.0),
        hit_area: None,
        range: None,
        hotband: None,
        stride: None,
        streams: None,
        openflags: None,
    }
}
