//! An execution of Brunt on the master's machine of a lab.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::lab::Lab;

/// After this an execution is killed, so that a test fails instead of waiting for ever.
const LONGEST: Duration = Duration::from_secs(180);

/// An execution that is going on.
pub struct Running {
    folder: PathBuf,
    child: Child,
    console: BufReader<ChildStdout>,
    /// What the console has said so far.
    said: String,
    /// Dropped when it has ended.
    _guard: Sender<()>,
}

impl Lab {
    /// Starts Brunt with a parameter file, in a folder of this name.
    pub fn start_brunt(&self, name: &str, parm: &str) -> Running {
        let folder = self.path(name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("p"), parm).unwrap();
        self.brunt_in(folder, &["-f", "p", "-o", "out", "--seed", "7"])
    }

    /// Attaches to the execution in the folder of this name.
    pub fn attach(&self, name: &str) -> Running {
        self.brunt_in(self.path(name), &["attach", "out"])
    }

    fn brunt_in(&self, folder: PathBuf, words: &[&str]) -> Running {
        let errors = fs::File::create(folder.join("errors")).unwrap();
        let mut command = self.command(env!("CARGO_BIN_EXE_brunt"));
        command.args(words).current_dir(&folder).env("BRUNT_SSH", self.client());
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors).spawn().unwrap();
        let console = BufReader::new(child.stdout.take().unwrap());
        let (guard, over) = channel::<()>();
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
        std::thread::spawn(move || {
            if over.recv_timeout(LONGEST) == Err(RecvTimeoutError::Timeout) {
                eprintln!("killed: it has run for {} s", LONGEST.as_secs());
                let _ = kill(pid, Signal::SIGKILL);
            }
        });
        Running { folder, child, console, said: String::new(), _guard: guard }
    }

    /// Runs Brunt to its end.
    pub fn brunt(&self, name: &str, parm: &str) -> Ended {
        self.start_brunt(name, parm).end()
    }
}

impl Running {
    /// Reads the console up to a line that holds this.
    pub fn until(&mut self, text: &str) -> String {
        loop {
            let mut line = String::new();
            if self.console.read_line(&mut line).unwrap() == 0 {
                let errors = fs::read_to_string(self.folder.join("errors")).unwrap();
                panic!("it ended before `{text}`:\n{}{errors}", self.said);
            }
            self.said += &line;
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Reads the console up to the row of an interval.
    pub fn until_row(&mut self, interval: u32) {
        self.until(&format!(" {interval:>11} "));
    }

    /// A signal for the master.
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), signal).unwrap();
    }

    /// The process of a worker, by its number over all hosts; of its agent, where that has one worker.
    pub fn worker(&self, worker: u64) -> Pid {
        let events = events(&self.folder);
        let mut connected = events.iter().filter(|event| event["kind"] == "worker_connected");
        let ours = connected.find(|event| event["worker"] == worker).expect("the worker has connected");
        Pid::from_raw(i32::try_from(ours["pid"].as_i64().unwrap()).unwrap())
    }

    /// Kills the master, which can tell nobody.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for the end.
    pub fn end(mut self) -> Ended {
        let mut said = std::mem::take(&mut self.said);
        self.console.read_to_string(&mut said).unwrap();
        let status = self.child.wait().unwrap().code();
        said += &fs::read_to_string(self.folder.join("errors")).unwrap();
        Ended { status, said, events: events(&self.folder), folder: self.folder.clone() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// All events so far that are whole.
fn events(folder: &std::path::Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("out/events.ndjson")).unwrap_or_default();
    let parsed = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    parsed.map(|mut record| record["event"].take()).collect()
}

/// An execution that has ended.
pub struct Ended {
    pub status: Option<i32>,
    /// Console and errors.
    pub said: String,
    pub events: Vec<Value>,
    folder: PathBuf,
}

impl Ended {
    /// Asserts that it said this.
    pub fn says(&self, text: &str) {
        assert!(self.said.contains(text), "no `{text}` in:\n{}", self.said);
    }

    /// Asserts that it ended with this status.
    pub fn ends_with(&self, status: i32) {
        assert_eq!(self.status, Some(status), "{}", self.said);
    }

    /// A file of the output directory.
    pub fn file(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join("out").join(name)).unwrap()
    }

    /// Events of a kind.
    pub fn of(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.events.iter().filter(move |event| event["kind"] == kind)
    }

    /// Number and operations of each interval of the runs whose names begin so.
    pub fn run(&self, name: &str) -> Vec<(u64, u64)> {
        let ops = |event: &Value, kind: &str| event["total"][kind]["ops"].as_u64().unwrap_or(0);
        let row = |event: &Value| (event["interval"].as_u64().unwrap(), ops(event, "read") + ops(event, "write"));
        self.intervals(name).map(row).collect()
    }

    fn intervals(&self, name: &str) -> impl Iterator<Item = &Value> {
        let started = self.of("run_started").filter(|event| event["plan"]["name"].as_str().unwrap().starts_with(name));
        let runs: Vec<&Value> = started.map(|event| &event["run"]).collect();
        self.of("interval").filter(move |event| runs.contains(&&event["run"]))
    }

    /// Bytes of all intervals of the runs whose names begin so.
    pub fn total_bytes(&self, name: &str) -> u64 {
        let bytes = |event: &Value, kind: &str| event["total"][kind]["bytes"].as_u64().unwrap_or(0);
        self.intervals(name).map(|event| bytes(event, "read") + bytes(event, "write")).sum()
    }
}
