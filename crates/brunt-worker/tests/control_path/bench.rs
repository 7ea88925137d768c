//! What the tests share.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use brunt_master::grpc::GrpcLink;
use brunt_master::launch;
use brunt_master::link::{HostLink, LinkEvent};
use brunt_plan::work::{
    Area, Arrivals, Backend, Conduct, Control, Generator, Seek, Target, WorkerEvent, WorkerShare, Xfer,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::sync::mpsc;

pub type Events = mpsc::Receiver<(usize, LinkEvent)>;

/// A bound on what is awaited, far above what it takes: a test that waits for what never comes must end.
pub const LIMIT: Duration = Duration::from_secs(60);

pub fn agent() -> PathBuf {
    example("memory_agent")
}

pub fn example(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let path = tests.parent().and_then(Path::parent).unwrap().join("examples").join(name);
    assert!(path.exists(), "{} is missing: `cargo test -p brunt-worker` builds it", path.display());
    path
}

pub async fn launched(workers: u32) -> (GrpcLink, Events) {
    let (events, received) = mpsc::channel(16);
    (launch::local(&agent(), 3, "hosta", workers, None, events).await.unwrap(), received)
}

pub async fn next(events: &mut Events) -> LinkEvent {
    let (host, event) = tokio::time::timeout(LIMIT, events.recv()).await.expect("an event").expect("an open channel");
    assert_eq!(host, 3);
    event
}

/// The next event that is neither a line of standard error nor the plan of cores.
pub async fn next_event(events: &mut Events) -> LinkEvent {
    loop {
        match next(events).await {
            LinkEvent::Stderr { .. } => {}
            LinkEvent::Worker { event: WorkerEvent::Log(line), .. } if line.starts_with("core") => {}
            event => return event,
        }
    }
}

pub fn share(sd: u32, lun: &Path, intervals: Option<u32>) -> WorkerShare {
    let target = Target {
        sd,
        name: format!("sd{sd}"),
        lun: lun.display().to_string(),
        size: 1 << 20,
        threads: 1,
        flags: Vec::new(),
        write: true,
        create: false,
        raw: false,
        sim: None,
        backend: Backend::Sync,
        polled: false,
        sight: None,
    };
    WorkerShare {
        worker: format!("hosta-{sd}"),
        run: "rd1".into(),
        run_id: 0,
        interval_ns: 10_000_000,
        intervals,
        lockstep: false,
        warmup_intervals: 1,
        conduct: Conduct::default(),
        seed: 1,
        control: Control::Uncontrolled,
        arrivals: Arrivals::Exponential,
        targets: vec![target],
        generators: Vec::new(),
    }
}

/// Reads of so many bytes at random addresses of a lun of 1 MiB.
pub fn random_reads(stream: u32, xfer: u64) -> Generator {
    Generator {
        workload: 0,
        target: 0,
        stream: stream.into(),
        rate: 0.0,
        priority: None,
        read_pct: 100.0,
        read_hit_pct: 0.0,
        write_hit_pct: 0.0,
        xfer: Xfer::Fixed(xfer),
        seek: Seek::Percent(100.0),
        miss: Area { low: 0, high: 1 << 20, wrap: None },
        hit: None,
        align: None,
        stride: None,
        hotband: None,
        streams: Vec::new(),
    }
}

pub fn null(sd: u32, intervals: Option<u32>) -> WorkerShare {
    share(sd, Path::new("/dev/null"), intervals)
}

/// A pipe that workers hold open as their lun: it ends when the last of them is gone.
pub struct Leash {
    _folder: tempfile::TempDir,
    pub path: PathBuf,
}

impl Leash {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lun");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        Self { _folder: folder, path }
    }

    /// Opens the near end, which needs somebody at the far one.
    pub fn hold(&self) -> tokio::task::JoinHandle<File> {
        let path = self.path.clone();
        tokio::task::spawn_blocking(move || File::open(path).unwrap())
    }
}

pub async fn all_gone(mut leash: File) {
    let gone = tokio::task::spawn_blocking(move || leash.read(&mut [0]).unwrap());
    assert_eq!(tokio::time::timeout(LIMIT, gone).await.expect("all workers gone").unwrap(), 0);
}

/// Starts work that never ends in each worker, and returns when all are at it.
pub async fn at_work(link: &GrpcLink, events: &mut Events, leash: &Leash, workers: u32) -> (Vec<u32>, File) {
    let pids = link.hello().await.unwrap().worker_pids;
    let shares = (0..workers).map(|worker| Some(share(worker, &leash.path, None))).collect();
    let (held, prepared) = tokio::join!(leash.hold(), link.prepare(shares));
    prepared.unwrap();
    link.start(Duration::ZERO).await.unwrap();
    let mut silent: Vec<u32> = (0..workers).collect();
    while !silent.is_empty() {
        if let LinkEvent::Worker { worker, event: WorkerEvent::Interval(_), .. } = next_event(events).await {
            silent.retain(|other| *other != worker);
        }
    }
    (pids, held.unwrap())
}

pub async fn lost(events: &mut Events) -> String {
    loop {
        match next_event(events).await {
            LinkEvent::Lost(text) => return text,
            LinkEvent::Worker { .. } => {}
            other => panic!("{other:?}"),
        }
    }
}

pub fn signal(pid: u32, signal: Signal) {
    kill(Pid::from_raw(pid.try_into().unwrap()), signal).unwrap();
}
