//! Every message of a way over SSH is a row of `docs/fleet.md` with its cure, and every row is a message.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use super::*;
use crate::launch::ssh::script::BOOTSTRAP;
use crate::launch::ssh::tests::host;

const PHASES: [Phase; 4] = [Phase::Login, Phase::Script, Phase::Copy, Phase::Agent];

/// Rows for what is said elsewhere: words of the source, in which they must stand.
const ELSEWHERE: [(&str, &str); 6] = [
    ("its session cannot be gone on with: ", include_str!("../../../tether/reattach.rs")),
    ("master and agent do not match: ", include_str!("../../../tether.rs")),
    (": another build of brunt ", include_str!("../../../greet.rs")),
    ("cannot be read, so it cannot be copied to hosts: ", include_str!("../../payload.rs")),
    (" is not used: ", include_str!("../../payload.rs")),
    ("is linked to the C library of this machine: ", include_str!("../../payload.rs")),
];

/// A row: what a message has, in order, and the cure.
struct Row {
    message: Vec<String>,
    cure: String,
}

impl Row {
    /// One for each message of a line of the table; `…` stands for anything.
    fn all_of(line: &str) -> Vec<Self> {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [messages, cure] = cells[..] else { panic!("not a row of two: {line}") };
        let parts = |message: &str| message.replace('`', "").split('…').map(|part| part.trim().to_owned()).collect();
        messages.split("<br>").map(|message| Self { message: parts(message), cure: cure.to_owned() }).collect()
    }

    fn fits(&self, message: &str) -> bool {
        let message = message.replace('`', "");
        self.message
            .iter()
            .try_fold(&message[..], |rest, part| rest.split_once(part.as_str()).map(|(_, rest)| rest))
            .is_some()
    }
}

fn rows() -> Vec<Row> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fleet.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, page) = page.split_once("## Every message with its cure").unwrap();
    let (_, table) = page.split_once("### Over SSH").unwrap();
    let table = table.split("\n#").next().unwrap();
    let lines = table.lines().filter(|line| line.starts_with('|')).skip(2);
    lines.flat_map(Row::all_of).collect()
}

/// What can be known of a failure.
struct Known {
    stop: Stop,
    /// As of `wait`.
    status: Option<i32>,
    phase: Phase,
    said: Vec<String>,
    system: &'static str,
    privileges: Vec<String>,
}

impl Known {
    fn of(stop: Stop, status: Option<i32>, phase: Phase) -> Self {
        Self { stop, status, phase, said: Vec::new(), system: "Linux x86_64", privileges: Vec::new() }
    }

    fn message(self) -> String {
        let Self { stop, status, phase, said, system, privileges } = self;
        let host = SshHost { privileges, ..host() };
        let heard = Heard { phase, system: system.to_owned(), chatter: Vec::new() };
        let (how, payload) = (status.map(ExitStatus::from_raw), Payload::default());
        let name = "ssh db7".to_owned();
        Trouble { name, host: &host, payload: &payload, attach: false, stop, how, said, heard }.explain().to_string()
    }
}

/// The words with which the script gives up.
fn failures() -> BTreeSet<&'static str> {
    let word = |rest: &'static str| rest.split(|c: char| !c.is_ascii_lowercase()).next();
    BOOTSTRAP.split("fail ").skip(1).filter_map(word).filter(|word| !word.is_empty()).collect()
}

/// A failure of the script, in each way that it can be told.
fn failed(word: &'static str) -> Vec<Known> {
    let texts: &[&str] = match word {
        "machine" => &[""],
        "folders" => &["/x: No space left on device"],
        "cut" => &["of 9 bytes not all came."],
        "run" => &["127 no libc.so.6: shared library", "126 Exec format error", "137 ", "1 ", "3 this is not abc"],
        other => panic!("bootstrap.sh fails with `{other}`, which has no sample here"),
    };
    let stop = |text: &&str| Stop::Failed { word: word.to_owned(), text: (*text).to_owned() };
    let mut all: Vec<Known> = texts.iter().map(|text| Known::of(stop(text), Some(1 << 8), Phase::Script)).collect();
    if word == "machine" {
        all.push(Known { system: "Darwin arm64", ..Known::of(stop(&""), Some(1 << 8), Phase::Script) });
    }
    all
}

fn messages() -> Vec<String> {
    const OF_SSH: Option<i32> = Some(SSH_FAILED << 8);
    let mut all: Vec<Known> = failures().into_iter().flat_map(failed).collect();
    for phase in PHASES {
        all.extend([OF_SSH, Some(1 << 8), Some(9), None].map(|status| Known::of(Stop::Ended, status, phase)));
        all.push(Known::of(Stop::Silent(Duration::from_secs(60)), None, phase));
    }
    all.push(Known::of(Stop::Garbled("need x".to_owned()), Some(0), Phase::Script));
    all.push(Known::of(Stop::Program("/opt/brunt".into(), "stale".to_owned()), None, Phase::Copy));
    let refused = Known::of(Stop::Ended, Some(1 << 8), Phase::Agent);
    all.push(Known { privileges: vec!["sudo".to_owned()], ..refused });
    let said = |lines: &[String]| Known { said: lines.to_vec(), ..Known::of(Stop::Ended, OF_SSH, Phase::Login) };
    all.extend(openssh::TABLE.iter().map(|(words, ..)| said(&[format!("db7: {words}: and so on")])));
    let unknown = ["No RSA host key is known for db7", "Host key verification failed"].map(str::to_owned);
    all.push(said(&unknown));
    all.push(said(&["what is new".to_owned()]));
    all.push(said(&["no nc".to_owned(), "Connection closed by UNKNOWN port 65535".to_owned()]));
    all.push(said(&["error: no threads".to_owned()]));
    all.push(Known { phase: Phase::Agent, status: Some(4 << 8), ..said(&["error: no threads".to_owned()]) });
    let mut all: Vec<String> = all.into_iter().map(Known::message).collect();
    all.push(cannot_run("ssh db7", "ssh", &io::Error::other("no such file")).to_string());
    all.push(no_protocol("ssh db7", &"broken pipe").to_string());
    all
}

#[test]
fn every_message_has_a_row_with_its_cure() {
    let rows = rows();
    for message in messages() {
        let row = rows.iter().find(|row| row.fits(&message));
        assert!(row.is_some_and(|row| row.cure.len() > 5), "no row or no cure in docs/fleet.md: {message}");
    }
}

#[test]
fn every_row_is_a_message() {
    let mut messages = messages();
    for (words, source) in ELSEWHERE {
        assert!(source.contains(words), "nothing says `{words}` any more");
        messages.push(words.to_owned());
    }
    for Row { message, cure } in rows() {
        let fixed: usize = message.iter().map(String::len).sum();
        assert!(fixed >= 8, "fits anything: {message:?}");
        let row = Row { message, cure };
        assert!(messages.iter().any(|message| row.fits(message)), "nothing says {:?} any more", row.message);
    }
}
