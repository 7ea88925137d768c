//! Real parameter files, when `BRUNT_CORPUS` names the folder that holds them.
//!
//! Accepted files give no error; files that this layer refuses name one of the lines that
//! `rejects.tsv` lists.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

use std::fs;
use std::path::{Path, PathBuf};

use brunt_parm::render::render;
use brunt_parm::source::{ReadError, Reader};
use brunt_parm::{Input, Parsed, Severity, parse};

/// Reads the corpus with `@DIR@` made a folder.
struct Corpus(PathBuf);

impl Reader for Corpus {
    fn read(&self, path: &str) -> Result<String, ReadError> {
        let text = fs::read_to_string(self.0.join(path)).map_err(|_| ReadError::NotFound)?;
        Ok(text.replace("@DIR@", "/tmp/dir"))
    }

    fn absolute(&self, path: &str) -> String {
        self.0.join(path).display().to_string()
    }
}

fn read(corpus: &Path, number: &str) -> Parsed {
    let input = Input { files: vec![format!("{number}.parm")], ..Input::default() };
    parse(&input, &Corpus(corpus.join("parm")))
}

fn errors(parsed: &Parsed) -> String {
    let errors = parsed.diags.iter().filter(|d| d.severity == Severity::Error);
    errors.map(|d| render(d, &parsed.sources, false)).collect::<Vec<_>>().join("\n")
}

/// The `file:line` marks of a row of `rejects.tsv`.
fn marks(number: &str, lines: &str) -> Vec<String> {
    let mut marks = Vec::new();
    for part in lines.split(',') {
        match part.split_once('-') {
            _ if part == "-" => marks.push(format!("{number}.parm:")),
            Some((first, last)) if !first.is_empty() => {
                let (first, last): (u32, u32) = (first.parse().unwrap(), last.parse().unwrap());
                marks.extend((first..=last).map(|n| format!("{number}.parm:{n}:")));
            }
            _ => marks.push(format!("{number}.parm:{part}:")),
        }
    }
    marks
}

/// Files that only planning refuses: unknown hosts and names, what a run needs, threads that do not divide.
const LATER: [&str; 8] = ["032", "067", "110", "151", "170", "182", "210", "258"];

#[test]
fn real_files_are_read_as_the_original_reads_them() {
    let Ok(folder) = std::env::var("BRUNT_CORPUS") else {
        eprintln!("skipped: BRUNT_CORPUS does not name the corpus");
        return;
    };
    let corpus = PathBuf::from(folder);
    let rejects = fs::read_to_string(corpus.join("rejects.tsv")).unwrap();
    let index = fs::read_to_string(corpus.join("index.tsv")).unwrap();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for row in index.lines().skip(1) {
        let columns: Vec<&str> = row.split('\t').collect();
        let (number, verdict) = (columns[0], columns[2]);
        let parsed = read(&corpus, number);
        let said = errors(&parsed);
        seen += 1;
        if verdict != "reject" || LATER.contains(&number) {
            if !said.is_empty() {
                wrong.push(format!("{number} is refused:\n{said}"));
            }
            continue;
        }
        let lines = rejects.lines().find_map(|l| l.strip_prefix(&format!("{number}\t"))).unwrap();
        let lines = lines.split('\t').next().unwrap();
        if !marks(number, lines).iter().any(|m| said.contains(m.as_str())) {
            wrong.push(format!("{number} does not name a line of {lines}:\n{said}"));
        }
    }
    assert!(seen > 150, "only {seen} files in {}", corpus.display());
    assert!(wrong.is_empty(), "{} of {seen} files:\n{}", wrong.len(), wrong.join("\n\n"));
}
