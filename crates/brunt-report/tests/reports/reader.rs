//! Reads reports back, the way scripts do.

use std::collections::BTreeMap;

use brunt_event::Record;
use brunt_report::{Chunk, Reporter};

/// What a stream of records became.
#[derive(Debug, Default, PartialEq)]
pub struct Output {
    pub console: String,
    pub stderr: String,
    pub files: BTreeMap<String, String>,
}

/// Feeds a stream to a reporter.
pub fn output(records: &[Record]) -> Output {
    let (mut reporter, mut chunks) = (Reporter::new(), Vec::new());
    records.iter().for_each(|record| reporter.feed(record, &mut chunks));
    let mut output = Output::default();
    for chunk in chunks {
        match chunk {
            Chunk::Console(text) => output.console += &text,
            Chunk::Stderr(text) => output.stderr += &text,
            Chunk::File { name, text } => *output.files.entry(name).or_default() += &text,
            Chunk::Replace { name, text } => drop(output.files.insert(name, text)),
        }
    }
    output
}

impl Output {
    /// A file that must be there.
    pub fn file(&self, name: &str) -> &str {
        self.files.get(name).unwrap_or_else(|| panic!("no file {name}; there are {:?}", self.files.keys()))
    }
}

/// A row of numbers: label and numbers as text.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub label: String,
    pub numbers: Vec<String>,
}

impl Row {
    pub fn is_average(&self) -> bool {
        self.label.starts_with("avg_")
    }
}

/// The rows of a console or page: lines that begin with a time and go on with a label and numbers.
pub fn rows(text: &str) -> Vec<Row> {
    text.lines().filter_map(row).collect()
}

fn row(line: &str) -> Option<Row> {
    let time = line.get(..12)?;
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if time.as_bytes()[2] != b':' || !digits(&time[9..]) {
        return None;
    }
    let mut words = line[12..].split_whitespace();
    let label = words.next()?.to_owned();
    if !digits(&label) && !label.starts_with("avg_") {
        return None;
    }
    Some(Row { label, numbers: words.map(str::to_owned).collect() })
}

/// The rows of a flat file, by column name.
pub fn flat(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with(['*', '<']));
    let names: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
    let row = |line: &str| {
        let fields: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        assert_eq!(fields.len(), names.len(), "{line}");
        names.iter().map(|name| (*name).to_owned()).zip(fields).collect()
    };
    lines.map(row).collect()
}

/// Labels of links in `summary.html` that lead somewhere.
pub fn links(text: &str) -> Vec<(String, String)> {
    let link = |line: &str| {
        let (label, rest) = line.split_once("<A HREF=\"")?;
        Some((label.trim().trim_end_matches(':').to_owned(), rest.split('"').next()?.to_owned()))
    };
    text.lines().filter_map(link).collect()
}
