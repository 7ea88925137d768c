//! An execution as a process of its own, followed by its console.
#![allow(dead_code)] // each file of tests uses a part of it

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// An execution that is going on.
pub struct Running {
    folder: tempfile::TempDir,
    child: Child,
    console: BufReader<ChildStdout>,
    /// What the console has said so far.
    said: String,
}

impl Running {
    pub fn start(parm: &str) -> Self {
        Self::start_as(Path::new(env!("CARGO_BIN_EXE_brunt")), tempfile::tempdir().unwrap(), parm)
    }

    pub fn start_as(program: &Path, folder: tempfile::TempDir, parm: &str) -> Self {
        Self::start_with(program, folder, parm, &[])
    }

    /// With more of an environment.
    pub fn start_with(program: &Path, folder: tempfile::TempDir, parm: &str, environment: &[(&str, &str)]) -> Self {
        fs::write(folder.path().join("p"), parm).unwrap();
        let mut command = Command::new(program);
        command.args(["-f", "p", "-o", "out"]).current_dir(folder.path());
        command.envs(environment.iter().copied());
        // Sockets of sessions go to a folder of their own.
        command.env("XDG_RUNTIME_DIR", folder.path());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let console = BufReader::new(child.stdout.take().unwrap());
        Self { folder, child, console, said: String::new() }
    }

    /// Reads the console up to a line that holds this.
    pub fn until(&mut self, text: &str) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(self.console.read_line(&mut line).unwrap(), 0, "it ended before `{text}`:\n{}", self.said);
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

    /// The process of a worker, by its number over all hosts; of its agent, where that has one worker.
    pub fn worker(&self, worker: u32) -> Pid {
        let events = fs::read_to_string(self.out("events.ndjson")).unwrap();
        let begin = format!("\"kind\":\"worker_connected\",\"worker\":{worker},\"pid\":");
        let line = events.lines().find_map(|line| line.split_once(&begin)).expect("the worker has connected").1;
        let digits: String = line.chars().take_while(char::is_ascii_digit).collect();
        Pid::from_raw(digits.parse().unwrap())
    }

    /// A child of the master that has this among its arguments.
    pub fn child_with(&self, argument: &str) -> Option<Pid> {
        let master = self.child.id();
        // Each thread has its own.
        let mut pids: Vec<i32> = Vec::new();
        for task in fs::read_dir(format!("/proc/{master}/task")).unwrap() {
            let children = fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default();
            pids.extend(children.split_whitespace().map(|pid| pid.parse::<i32>().unwrap()));
        }
        let has = |pid: &i32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0).any(|word| word == argument.as_bytes())
        };
        pids.into_iter().find(has).map(Pid::from_raw)
    }

    /// Ctrl-C.
    pub fn interrupt(&self) {
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGINT).unwrap();
    }

    /// Kills the master.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn out(&self, file: &str) -> PathBuf {
        self.folder.path().join("out").join(file)
    }

    /// Waits for the end: its status, and all that was said on the console and as errors.
    pub fn end(mut self) -> Ended {
        let mut said = std::mem::take(&mut self.said);
        self.console.read_to_string(&mut said).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let status = self.child.wait().unwrap().code();
        let events = fs::read_to_string(self.out("events.ndjson")).unwrap();
        let summary = fs::read_to_string(self.out("summary.html")).unwrap();
        Ended { status, said, events, summary }
    }
}

impl Drop for Running {
    /// A test that failed leaves nothing behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub struct Ended {
    pub status: Option<i32>,
    pub said: String,
    pub events: String,
    pub summary: String,
}

impl Ended {
    /// Numbers of the intervals whose rows are in the summary.
    pub fn rows(&self) -> Vec<u32> {
        let row = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.get(1).filter(|_| words.len() > 11).and_then(|word| word.parse().ok())
        };
        self.summary.lines().filter_map(row).collect()
    }
}

pub fn is_there(pid: Pid) -> bool {
    // One that has ended and was not waited for is not there either.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next()).is_some_and(|state| state != "Z")
}

pub fn await_end(pid: Pid) {
    while is_there(pid) {
        std::thread::yield_now();
    }
}
