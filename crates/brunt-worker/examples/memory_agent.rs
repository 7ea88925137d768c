//! An agent whose engine does no I/O: it opens its luns and reports one read per interval and SD. The tests
//! of the control path start it as a real process.
//!
//! A run with the name `exit` ends the process at its start; one with the name `stuck` has two I/Os that do
//! not return until it is stopped; one with the name `chatty` writes a line to standard error in each interval.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use brunt_plan::work::{WorkerEvent, WorkerShare};
use brunt_stats::{IntervalSample, PairSample};
use brunt_worker::agent::{AgentCommand, run_with};
use brunt_worker::engine::{EventSink, Outstanding, Placement, PreparedWork, RunningWork, WorkEngine};

struct Memory;

struct Prepared {
    share: WorkerShare,
    luns: Vec<File>,
    events: EventSink,
}

struct Running {
    stuck: bool,
    stop: Sender<Option<u32>>,
    thread: JoinHandle<()>,
}

impl WorkEngine for Memory {
    fn prepare(&self, share: WorkerShare, _: Placement, events: EventSink) -> Result<Box<dyn PreparedWork>, String> {
        let mut luns = Vec::new();
        for target in &share.targets {
            let open = OpenOptions::new().write(true).open(&target.lun);
            luns.push(open.map_err(|error| format!("sd={}: {} cannot be opened: {error}", target.name, target.lun))?);
        }
        events(WorkerEvent::Log(format!("{} is ready for {}", share.worker, share.run)));
        Ok(Box::new(Prepared { share, luns, events }))
    }
}

impl PreparedWork for Prepared {
    fn drop_sd(&self, _sd: u32) {}

    fn start(self: Box<Self>, at: Instant) -> Box<dyn RunningWork> {
        let (stop, stopped) = channel();
        let stuck = self.share.run == "stuck";
        let prepared = *self;
        let thread = std::thread::spawn(move || prepared.run(at, &stopped));
        Box::new(Running { stuck, stop, thread })
    }
}

impl Prepared {
    fn run(self, at: Instant, stopped: &Receiver<Option<u32>>) {
        if self.share.run == "exit" {
            give_up();
        }
        let length = Duration::from_nanos(self.share.interval_ns);
        let mut last = self.share.intervals;
        let mut interval = 1;
        while last.is_none_or(|last| interval <= last) {
            let end = at + length * interval;
            match stopped.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(Some(after)) => last = Some(after.max(interval)),
                Ok(None) => break,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    if self.share.run == "chatty" {
                        let _ = writeln!(std::io::stderr(), "interval {interval}");
                    }
                    (self.events)(WorkerEvent::Interval(Box::new(self.sample(interval))));
                    interval += 1;
                }
            }
        }
        if self.share.run == "stuck" {
            // An error means that the process is about to end.
            let _ = stopped.recv();
        }
        drop(self.luns);
        (self.events)(WorkerEvent::Drained);
    }

    fn sample(&self, interval: u32) -> IntervalSample {
        let pairs = self.share.targets.iter().map(|target| {
            let mut pair = PairSample { sd: target.sd, ..PairSample::default() };
            pair.cell.read.record(4096, 39_000, false);
            pair
        });
        let end_ns = self.share.interval_ns * u64::from(interval);
        let start_ns = end_ns - self.share.interval_ns;
        IntervalSample { interval, start_ns, end_ns, pairs: pairs.collect(), ..IntervalSample::default() }
    }
}

impl RunningWork for Running {
    fn grant(&self, _interval: u32) {}

    fn drop_sd(&self, _sd: u32) {}

    fn stop(&self, after_interval: Option<u32>) {
        // Otherwise it has ended by itself.
        let _ = self.stop.send(after_interval);
    }

    fn outstanding(&self) -> Outstanding {
        let stuck = Outstanding { count: 2, oldest: Duration::from_secs(7), on: Some((0, "/dev/stuck".into())) };
        if self.stuck { stuck } else { Outstanding::default() }
    }

    fn join(self: Box<Self>) {
        let _ = self.thread.join();
    }
}

#[allow(clippy::print_stderr)]
fn give_up() -> ! {
    eprintln!("the engine gives up");
    std::process::exit(9)
}

#[tokio::main]
#[allow(clippy::print_stdout, clippy::print_stderr)]
async fn main() -> ExitCode {
    println!("Welcome! This line must not get into the protocol.");
    let command = match AgentCommand::from_args(std::env::args().skip(2)) {
        Ok(command) => command,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let done = run_with(command, Arc::new(Memory)).await;
    // Whoever reads this may be gone, which must not change the end.
    let _ = writeln!(std::io::stdout(), "This one neither.");
    if let Err(error) = done {
        let _ = writeln!(std::io::stderr(), "{error}");
        std::process::exit(1);
    }
    std::process::exit(0)
}
