//! The product's agent and workers under the limits of real hosts: set by a shell that then becomes the agent.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use brunt_master::grpc::GrpcLink;
use brunt_master::launch;
use brunt_master::link::{HostLink, LinkEvent};
use brunt_plan::work::{Backend, Conduct, WorkerEvent, WorkerShare};
use tokio::sync::mpsc;

use super::bench::*;

/// Why a test cannot run here. In CI a skip is a failure.
#[allow(clippy::print_stderr)]
fn skip(why: &str) {
    assert!(std::env::var_os("BRUNT_TEST_NO_SKIP").is_none(), "must not skip here: {why}");
    eprintln!("skipped: {why}");
}

/// A folder with a file to read, and an agent that begins with some lines of shell.
struct Bench {
    folder: tempfile::TempDir,
    agent: PathBuf,
    lun: PathBuf,
}

impl Bench {
    /// `before` ends with `exec` and what goes before the agent's name.
    fn new(before: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (agent, lun) = (folder.path().join("agent"), folder.path().join("lun"));
        fs::write(&lun, vec![7; 1 << 20]).unwrap();
        // A child writes it: a file that is open for writing, here or in what other tests start meanwhile, cannot be
        // executed.
        let script = format!("#!/bin/sh\nset -e\n{before} {} \"$@\"\n", example("lane_agent").display());
        let write = "printf %s \"$1\" > \"$2\" && chmod 755 \"$2\"";
        let written = Command::new("sh").args(["-c", write, "sh", &script]).arg(&agent).status().unwrap();
        assert!(written.success());
        Self { folder, agent, lun }
    }

    async fn launch(&self, workers: u32) -> (GrpcLink, Events) {
        let (events, received) = mpsc::channel(16);
        let link = launch::local(&self.agent, 3, "hosta", workers, None, events).await.unwrap();
        (link, received)
    }

    /// 8 KiB reads of the file.
    fn reading(&self, threads: u32, backend: Backend) -> WorkerShare {
        let mut share = share(0, &self.lun, Some(2));
        share.targets[0].threads = threads;
        share.targets[0].backend = backend;
        share.generators = vec![random_reads(1, 8192)];
        share
    }
}

/// Runs a share in each worker to its end; gives the I/Os that were done, and what was told.
async fn run(link: &GrpcLink, events: &mut Events, shares: Vec<WorkerShare>) -> (u64, Vec<String>) {
    let workers = shares.len();
    link.prepare(shares.into_iter().map(Some).collect()).await.unwrap();
    link.start(Duration::ZERO).await.unwrap();
    let (mut drained, mut done, mut told) = (0, 0, Vec::new());
    while drained < workers {
        match next(events).await {
            LinkEvent::Worker { event: WorkerEvent::Interval(sample), .. } => {
                done += sample.pairs.iter().map(|pair| pair.cell.read.ops).sum::<u64>();
            }
            LinkEvent::Worker { event: WorkerEvent::Log(text) | WorkerEvent::Warning(text), .. } => told.push(text),
            LinkEvent::Worker { event: WorkerEvent::Drained, .. } => drained += 1,
            LinkEvent::Worker { event: WorkerEvent::Failure(failure), .. } => panic!("{failure:?}"),
            _ => {}
        }
    }
    (done, told)
}

async fn refusal(link: &GrpcLink, share: WorkerShare) -> String {
    link.prepare(vec![Some(share)]).await.unwrap_err().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_open_files() {
    let bench = Bench::new("ulimit -n 64\nexec");
    let (link, mut events) = bench.launch(1).await;
    link.hello().await.unwrap();
    let (done, _) = run(&link, &mut events, vec![bench.reading(8, Backend::Sync)]).await;
    assert!(done > 0);
    // 34 luns are one more than are left.
    let mut share = bench.reading(1, Backend::Sync);
    let targets = (0..34).map(|n| brunt_plan::work::Target { sd: n, ..share.targets[0].clone() });
    share.targets = targets.collect();
    let text = refusal(&link, share).await;
    assert!(
        text.starts_with("worker hosta-0 needs 65 open files, 34 of them luns, and its hard limit is 64;"),
        "{text}"
    );
    link.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_with_a_worker_has_open_is_within_what_is_left_for_it() {
    let bench = Bench::new("exec");
    let (link, mut events) = bench.launch(1).await;
    let pid = link.hello().await.unwrap().worker_pids[0];
    link.prepare(vec![Some(bench.reading(4, Backend::Sync))]).await.unwrap();
    let open = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
    assert!(open < 1 + 31, "{open} files");
    link.start(Duration::ZERO).await.unwrap();
    while !matches!(next(&mut events).await, LinkEvent::Worker { event: WorkerEvent::Drained, .. }) {}
    link.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_kib_of_locked_memory() {
    // Root without the right to lock as much as it likes.
    let bench = Bench::new("ulimit -l 64\nexec setpriv --bounding-set -ipc_lock --inh-caps -all");
    let probe = Command::new("setpriv").args(["--bounding-set", "-ipc_lock", "true"]).output();
    if !probe.is_ok_and(|done| done.status.success()) {
        return skip("setpriv (util-linux) cannot take CAP_IPC_LOCK away here");
    }
    let (link, mut events) = bench.launch(1).await;
    link.hello().await.unwrap();
    let (done, told) = run(&link, &mut events, vec![bench.reading(32, Backend::Sync)]).await;
    assert!(done > 0 && told.iter().all(|text| !text.contains("io_uring")), "{told:?}");
    let (done, told) = run(&link, &mut events, vec![bench.reading(32, Backend::Uring)]).await;
    let warned =
        told.iter().any(|t| t.starts_with("host hosta has 256.0 KiB of buffers for io_uring and may lock 64.0"));
    assert!(done > 0 && warned, "{told:?}");
    link.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_cpu() {
    let bench = Bench::new("exec taskset -c 0");
    if !Command::new("taskset").args(["-c", "0", "true"]).output().is_ok_and(|done| done.status.success()) {
        return skip("taskset (util-linux) cannot bind to CPU 0 here");
    }
    let (link, mut events) = bench.launch(2).await;
    link.hello().await.unwrap();
    let shares = vec![bench.reading(4, Backend::Sync), bench.reading(4, Backend::Sync)];
    let (done, told) = run(&link, &mut events, shares).await;
    assert!(done > 0);
    let lines: Vec<&String> = told.iter().filter(|text| text.starts_with("core 0 (")).collect();
    assert_eq!(lines.len(), 2, "{told:?}");
    assert!(lines.iter().all(|line| line.contains("shared by the workers of this host")), "{told:?}");
    link.shutdown().await.unwrap();
}

/// A group with few tasks, gone with the test.
struct Group(PathBuf);

impl Group {
    fn new(most: u32) -> Option<Self> {
        let name = format!("brunt-test-{}", std::process::id());
        let under = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"].map(Path::new);
        let usable = |root: &&Path| root.join("cgroup.procs").exists();
        let group = Self(under.iter().copied().find(usable)?.join(name));
        fs::create_dir(&group.0).ok()?;
        fs::write(group.0.join("pids.max"), most.to_string()).ok()?;
        Some(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cgroup_with_few_tasks() {
    let Some(group) = Group::new(60) else { return skip("no cgroup with a limit of tasks can be made here") };
    let bench = Bench::new(&format!("echo $$ > {}/cgroup.procs\nexec", group.0.display()));
    let (link, mut events) = bench.launch(1).await;
    link.hello().await.unwrap();
    let text = refusal(&link, bench.reading(200, Backend::Sync)).await;
    let (needs, cure) =
        ("host hosta needs 208 threads, ", format!("{}/pids.max is 60; raise it (echo ", group.0.display()));
    assert!(text.starts_with(needs) && text.contains(&cure), "{text}");
    let (done, _) = run(&link, &mut events, vec![bench.reading(20, Backend::Sync)]).await;
    assert!(done > 0);
    link.shutdown().await.unwrap();
    // The group can go when its last process has gone.
    while events.recv().await.is_some() {}
    drop(link);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_latency_of_idle_states_that_cannot_be_had_is_a_warning() {
    let bench = Bench::new("exec");
    let (link, mut events) = bench.launch(1).await;
    let pid = link.hello().await.unwrap().worker_pids[0];
    let conduct = Conduct { cpu_latency_us: Some(50), ..Conduct::default() };
    let share = || WorkerShare { conduct, ..bench.reading(1, Backend::Sync) };
    let (_, told) = run(&link, &mut events, vec![share()]).await;
    let fds = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let held = fds.filter_map(|fd| fs::read_link(fd.path()).ok()).any(|path| path == Path::new("/dev/cpu_dma_latency"));
    let warned =
        told.iter().any(|text| text.starts_with("misc=(cpu_latency=50) has no effect: /dev/cpu_dma_latency: "));
    assert!(held != warned, "held between runs, or said: {told:?}");
    link.shutdown().await.unwrap();
    assert!(bench.folder.path().exists());
}
