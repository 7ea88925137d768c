//! Whole executions against `tests/golden`: each folder has a `cmd` (shell lines with `vdbench` on the path), the files it
//! needs, and `expected`, a digest of exit status, console and reports.
//!
//! Times, dates, process numbers, paths and CPU are masked; so are measured numbers, unless the folder has a file `exact`
//! (runs on a simulated device with a virtual clock, where every number is a promise).
//! `BRUNT_BLESS=1 cargo test -p brunt --test golden` writes the digests anew: read the difference before you commit it.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

/// Files whose whole text is compared, after masking.
const COMPARED: &[&str] = &[
    "summary.html",
    "totals.html",
    "status.html",
    "flatfile.html",
    "errorlog.html",
    "sd1.html",
    "wd1.html",
    "localhost.html",
    "localhost-0.html",
    "parmfile.html",
];
/// Files that hold little but measured numbers: compared where these are exact.
const EXACT: &[&str] =
    &["histogram.html", "skew.html", "sd1.histogram.html", "left.html", "right-1.html", "left-0.histogram.html"];

struct Case {
    name: String,
    folder: PathBuf,
    exact: bool,
}

fn cases() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let mut cases: Vec<Case> = fs::read_dir(&root)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.join("cmd").exists())
        .map(|folder| Case {
            name: folder.file_name().unwrap().to_string_lossy().into_owned(),
            exact: folder.join("exact").exists(),
            folder,
        })
        .collect();
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(!cases.is_empty(), "no golden cases in {}", root.display());
    cases
}

fn run(case: &Case) -> String {
    let scratch = tempfile::tempdir().unwrap();
    let (work, bin) = (scratch.path().join("work"), scratch.path().join("bin"));
    fs::create_dir_all(&work).unwrap();
    fs::create_dir_all(&bin).unwrap();
    let wrapper = bin.join("vdbench");
    fs::write(&wrapper, format!("#!/bin/bash\nexec -a vdbench '{}' \"$@\"\n", env!("CARGO_BIN_EXE_brunt"))).unwrap();
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
    for entry in fs::read_dir(&case.folder).unwrap() {
        let from = entry.unwrap().path();
        let name = from.file_name().unwrap().to_owned();
        if !["cmd", "expected", "exact"].iter().any(|n| name == *n) {
            fs::copy(&from, work.join(name)).unwrap();
        }
    }
    let done = Command::new("bash")
        .arg(case.folder.join("cmd"))
        .current_dir(&work)
        .env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()))
        .env("TZ", "UTC")
        .env("LC_ALL", "C")
        .output()
        .unwrap();
    let mask = Masking { exact: case.exact, work: work.canonicalize().unwrap().display().to_string() };
    let mut digest = String::new();
    writeln!(digest, "exit {}", done.status.code().unwrap_or(-1)).unwrap();
    section(&mut digest, "stdout", &mask.text(&String::from_utf8_lossy(&done.stdout)));
    section(&mut digest, "stderr", &mask.text(&String::from_utf8_lossy(&done.stderr)));
    let out = work.join("out");
    let mut names: Vec<String> = fs::read_dir(&out)
        .into_iter()
        .flatten()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    section(&mut digest, "files", &(names.join("\n") + "\n"));
    let exact = EXACT.iter().filter(|_| case.exact);
    for name in COMPARED.iter().chain(exact).filter(|n| names.iter().any(|f| f == *n)) {
        section(&mut digest, name, &mask.text(&fs::read_to_string(out.join(name)).unwrap()));
    }
    digest
}

fn section(digest: &mut String, name: &str, text: &str) {
    writeln!(digest, "==== {name}").unwrap();
    digest.push_str(text);
}

struct Masking {
    exact: bool,
    work: String,
}

impl Masking {
    fn text(&self, text: &str) -> String {
        let lines = text.lines().map(|l| self.line(l).trim_end().to_owned());
        // Boxes and limits tell of the host's load, or of numbers that are not exact.
        let is_of_this_host = |l: &str| l.starts_with("T *") || l.contains(": limited by the ");
        let shown = lines.filter(|l| self.exact || !is_of_this_host(l));
        shown.fold(String::new(), |all, line| all + &line + "\n")
    }

    fn line(&self, line: &str) -> String {
        let line = line.replace(&self.work, "@DIR@").replace(env!("CARGO_BIN_EXE_brunt"), "@BRUNT@");
        let line = between(&line, "(Brunt ", ")", "@VERSION@");
        let line = between(&line, "(pid ", " connected", "@PID@)");
        let line = between(&(line + "\n"), "connected to master ", "\n", "@PID@");
        let line = dates(line.trim_end_matches('\n'));
        if line.starts_with('*') || line.starts_with("hd") || line.starts_with("sd") {
            return line;
        }
        let words: Vec<String> = line.split(' ').map(|w| self.word(w)).collect();
        let numbers = words.iter().filter(|w| w.parse::<f64>().is_ok()).count();
        let line = words.join(" ");
        let row = line.trim_start().starts_with("T ") && numbers >= 10;
        if row { self.row(&line) } else { line }
    }

    fn word(&self, word: &str) -> String {
        let plain = word.trim_start_matches("<i><b>").trim_start_matches('(');
        let shape: String = plain.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
        let masked = match shape.as_str() {
            "99:99:99.999" | "99:99:99" => "T".to_owned(),
            _ if shape.starts_with("99/99/9999-99:99:99") => "STAMP".to_owned(),
            _ if shape.starts_with("href=\"#_") || shape.starts_with("HREF=\"#_") => "HREF=#N".to_owned(),
            _ if shape.starts_with("name=\"_") => "name=N".to_owned(),
            _ => return word.to_owned(),
        };
        word.replace(plain, &masked)
    }

    /// A data row: CPU columns are never compared, other numbers only on a virtual clock.
    fn row(&self, line: &str) -> String {
        let words: Vec<&str> = line.split(' ').filter(|w| !w.is_empty()).collect();
        let flat = words.get(1) == Some(&"STAMP");
        let last = words.len();
        let cpu = if flat { last - 5..last } else { last - 2..last };
        let mask = |w: &str| match w.split_once('.') {
            Some((_, decimals)) if !flat => format!("N.{}", decimals.len()),
            _ => "N".to_owned(),
        };
        let shown = words.iter().enumerate().map(|(i, w)| {
            let number = w.parse::<f64>().is_ok() && i > if flat { 4 } else { 1 };
            match number {
                true if cpu.contains(&i) => "CPU".to_owned(),
                true if !self.exact => mask(w),
                _ => (*w).to_owned(),
            }
        });
        shown.collect::<Vec<_>>().join(" ")
    }
}

/// Replaces `Nov 30, 2026` and `Nov 30 2026`.
fn dates(line: &str) -> String {
    const MONTHS: &str = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec";
    let words: Vec<&str> = line.split(' ').collect();
    let is_day = |w: &str| w.trim_end_matches(',').len() == 2 && w.trim_end_matches(',').parse::<u8>().is_ok();
    let is_year = |w: &str| w.len() == 4 && w.parse::<u16>().is_ok();
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let found = MONTHS.split(' ').any(|m| m == *word)
            && words.get(at + 1).is_some_and(|w| is_day(w))
            && words.get(at + 2).is_some_and(|w| is_year(w));
        out.push(if found { "DATE" } else { *word });
        at += if found { 3 } else { 1 };
    }
    out.join(" ")
}

/// Replaces what stands between two marks.
fn between(line: &str, open: &str, close: &str, with: &str) -> String {
    let Some(start) = line.find(open).map(|i| i + open.len()) else { return line.to_owned() };
    let Some(end) = line[start..].find(close).map(|i| start + i) else { return line.to_owned() };
    format!("{}{with}{}", &line[..start], &line[end..])
}

#[test]
fn executions_are_as_expected() {
    let bless = std::env::var_os("BRUNT_BLESS").is_some();
    let found: Vec<(Case, String)> = thread::scope(|scope| {
        let running: Vec<_> = cases()
            .into_iter()
            .map(|c| {
                scope.spawn(move || {
                    let d = run(&c);
                    (c, d)
                })
            })
            .collect();
        running.into_iter().map(|r| r.join().unwrap()).collect()
    });
    let mut wrong = String::new();
    for (case, digest) in found {
        let path = case.folder.join("expected");
        if bless {
            fs::write(&path, &digest).unwrap();
            continue;
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        let mut pairs = digest.lines().zip(expected.lines()).enumerate();
        if let Some((i, (got, want))) = pairs.find(|(_, (a, b))| a != b) {
            writeln!(wrong, "{}: line {}:\n  got      {got}\n  expected {want}", case.name, i + 1).unwrap();
        } else if digest.lines().count() != expected.lines().count() {
            writeln!(wrong, "{}: {} lines, expected {}", case.name, digest.lines().count(), expected.lines().count())
                .unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
