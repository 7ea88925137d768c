//! A folder with a parameter file, and what is done there.
#![allow(dead_code, reason = "each test uses its part")]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use nix::unistd::Pid;
use tempfile::TempDir;

const BRUNT: &str = env!("CARGO_BIN_EXE_brunt");

/// A run of so many seconds.
pub fn parameters(seconds: u32) -> String {
    format!("sd=sd1,lun=sim:a\nrd=r,sd=sd1,iorate=100,elapsed={seconds},interval=1\n")
}

pub struct Lab(pub TempDir);

impl Lab {
    pub fn new(parameters: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("p"), parameters).unwrap();
        Self(folder)
    }

    pub fn out(&self) -> PathBuf {
        self.0.path().join("out")
    }

    pub fn brunt(&self, words: &[&str]) -> Command {
        let mut command = Command::new(BRUNT);
        command.args(words).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    pub fn detach(&self) -> Output {
        self.brunt(&["-f", "p", "-o", "out", "--detach"]).output().unwrap()
    }

    /// An execution that shows itself, and has come to its first interval.
    pub fn attached(&self, words: &[&str]) -> Shown {
        let mut child = self.brunt(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let console = BufReader::new(child.stdout.take().unwrap());
        let mut shown = Shown { child, console, text: String::new() };
        shown.read_to("           1 ");
        shown
    }

    /// The process that `events.ndjson` names.
    pub fn master(&self) -> Pid {
        let events = fs::read_to_string(self.out().join("events.ndjson")).unwrap();
        let opened: serde_json::Value = serde_json::from_str(events.lines().next().unwrap()).unwrap();
        Pid::from_raw(i32::try_from(opened["event"]["pid"].as_i64().unwrap()).unwrap())
    }

    pub fn events(&self, kind: &str) -> Vec<serde_json::Value> {
        let events = fs::read_to_string(self.out().join("events.ndjson")).unwrap();
        let events = events.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        events.map(|record| record["event"].clone()).filter(|event| event["kind"] == kind).collect()
    }
}

pub struct Shown {
    pub child: Child,
    console: BufReader<ChildStdout>,
    text: String,
}

impl Shown {
    pub fn read_to(&mut self, wanted: &str) {
        while !self.text.contains(wanted) {
            assert_ne!(self.console.read_line(&mut self.text).unwrap(), 0, "{wanted} did not come: {}", self.text);
        }
    }

    /// The status, everything on standard output, and standard error.
    pub fn end(mut self) -> (Option<i32>, String, String) {
        let mut errors = String::new();
        self.console.read_to_string(&mut self.text).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        (self.child.wait().unwrap().code(), self.text, errors)
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
