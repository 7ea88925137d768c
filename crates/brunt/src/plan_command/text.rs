//! A plan as tables for people.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use super::outline::{Bytes, EngineOutline, Lanes, Outline, RunOutline, SdOutline};
use super::table::{Side, Table};

/// The whole plan; ends with a newline.
pub fn of(outline: &Outline) -> String {
    let mut out = String::new();
    let mut part = |title: &str, table: Table| {
        let _ = write!(out, "{title}\n{}\n", table.text());
    };
    part("Hosts", hosts(outline));
    if !outline.sds.is_empty() {
        part("Storage", storage(outline));
    }
    if outline.sds.iter().any(|sd| !sd.engines.is_empty()) {
        part("What serves the I/Os", engines(outline));
    }
    if !outline.fsds.is_empty() {
        part("File systems", file_systems(outline));
    }
    if !outline.areas.is_empty() {
        part("Where I/Os go (bytes from, to, how many)", areas(outline));
    }
    if !outline.formats.is_empty() {
        part("Made first", formats(outline));
    }
    part("Runs", runs(outline));
    out.push_str(&time(outline));
    for note in &outline.notes {
        let _ = writeln!(out, "note: {note}");
    }
    out
}

fn hosts(outline: &Outline) -> Table {
    let mut table = Table::new(&[
        ("host", Side::Left),
        ("system", Side::Left),
        ("workers", Side::Right),
        ("threads", Side::Right),
        ("buffers", Side::Right),
        ("", Side::Left),
    ]);
    for host in &outline.hosts {
        let elsewhere = if host.here { "" } else { "not looked at: another machine" };
        table.row(vec![
            host.host.clone(),
            host.system.clone(),
            host.workers.to_string(),
            host.threads.to_string(),
            size(host.buffer_bytes),
            elsewhere.to_owned(),
        ]);
    }
    table
}

fn storage(outline: &Outline) -> Table {
    let mut table = Table::new(&[
        ("sd", Side::Left),
        ("lun", Side::Left),
        ("kind", Side::Left),
        ("bytes", Side::Right),
        ("size", Side::Right),
        ("range", Side::Left),
        ("threads", Side::Left),
        ("engine", Side::Left),
    ]);
    for sd in &outline.sds {
        table.row(vec![
            sd.sd.clone(),
            luns(sd),
            sd.kind.unwrap_or("?").to_owned(),
            sd.size.map_or("unknown".to_owned(), commas),
            sd.size.map_or(String::new(), size),
            sd.range.map_or(String::new(), |(low, high)| format!("({low},{high})")),
            threads(sd),
            engine(sd),
        ]);
    }
    table
}

/// One path, or each with its host where they differ.
fn luns(sd: &SdOutline) -> String {
    let mut paths: Vec<&String> = sd.luns.values().collect();
    paths.dedup();
    match paths.as_slice() {
        [one] => (*one).clone(),
        _ => sd.luns.iter().map(|(host, lun)| format!("{host}:{lun}")).collect::<Vec<_>>().join(" "),
    }
}

/// `8`, or `1-32` over the runs; with the host when there are several.
fn threads(sd: &SdOutline) -> String {
    let span = |l: &Lanes| if l.least == l.most { l.least.to_string() } else { format!("{}-{}", l.least, l.most) };
    let with_host = |(host, n)| if sd.threads.len() > 1 { format!("{host} {}", span(n)) } else { span(n) };
    sd.threads.iter().map(with_host).collect::<Vec<_>>().join(", ")
}

/// One back end, or each with its host where they differ.
fn engine(sd: &SdOutline) -> String {
    let mut names: Vec<&str> = sd.engines.values().map(|e| e.engine.name()).collect();
    names.dedup();
    match names.as_slice() {
        [one] => (*one).to_owned(),
        _ => sd.engines.iter().map(|(host, e)| format!("{host} {}", e.engine)).collect::<Vec<_>>().join(", "),
    }
}

/// Every reason for a back end once, and for which SDs it is one.
fn engines(outline: &Outline) -> Table {
    let mut table = Table::new(&[("engine", Side::Left), ("sds", Side::Left), ("because", Side::Left)]);
    let mut reasons: Vec<(&EngineOutline, BTreeSet<String>)> = Vec::new();
    let mut places = HashMap::new();
    for sd in &outline.sds {
        for engine in sd.engines.values() {
            let at = *places.entry(engine).or_insert(reasons.len());
            if at == reasons.len() {
                reasons.push((engine, BTreeSet::new()));
            }
            reasons[at].1.insert(sd.sd.clone());
        }
    }
    for (engine, sds) in &reasons {
        table.row(vec![engine.engine.to_string(), few(sds), engine.why.clone()]);
    }
    table
}

fn areas(outline: &Outline) -> Table {
    let mut table = Table::new(&[
        ("sd", Side::Left),
        ("wd", Side::Left),
        ("from", Side::Right),
        ("to", Side::Right),
        ("bytes", Side::Right),
        ("hits from", Side::Right),
        ("to", Side::Right),
        ("bytes", Side::Right),
        ("runs", Side::Left),
    ]);
    let names = runs_that_measure(outline);
    for area in &outline.areas {
        let mut row = vec![area.sd.clone(), area.wd.clone()];
        row.extend(bytes(area.miss.as_ref(), "unknown"));
        row.extend(bytes(area.hit.as_ref(), ""));
        row.push(if area.runs.len() == names.len() { "all".to_owned() } else { few(&area.runs) });
        table.row(row);
    }
    table
}

/// Where bytes begin, where they end, and how many there are.
fn bytes(area: Option<&Bytes>, missing: &str) -> [String; 3] {
    match area {
        None => [missing.to_owned(), String::new(), String::new()],
        Some(area) => {
            let wraps = if area.wraps_at.is_some() { " (wraps)" } else { "" };
            [commas(area.low), format!("{}{wraps}", commas(area.high)), commas(area.bytes)]
        }
    }
}

/// Some names, and how many more.
fn few(names: &BTreeSet<String>) -> String {
    const SHOWN: usize = 3;
    let mut text = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(" ");
    if names.len() > SHOWN {
        let _ = write!(text, " and {} more", names.len() - SHOWN);
    }
    text
}

fn file_systems(outline: &Outline) -> Table {
    let mut table = Table::new(&[
        ("fsd", Side::Left),
        ("anchor", Side::Left),
        ("", Side::Left),
        ("directories", Side::Right),
        ("files", Side::Right),
        ("bytes", Side::Right),
        ("size", Side::Right),
        ("made", Side::Left),
        ("working set", Side::Right),
        ("runs", Side::Left),
    ]);
    let runs = runs_that_measure(outline);
    for fsd in &outline.fsds {
        let made = match (fsd.made_files, fsd.made_bytes) {
            (Some(files), Some(bytes)) if Some(files) != fsd.files => {
                format!("{} files, {}", commas(files), size(bytes))
            }
            _ => String::new(),
        };
        table.row(vec![
            fsd.fsd.clone(),
            fsd.anchor.clone(),
            if fsd.shared { "shared".to_owned() } else { String::new() },
            fsd.directories.map_or("too many".to_owned(), commas),
            fsd.files.map_or("too many".to_owned(), commas),
            fsd.bytes.map_or(String::new(), commas),
            fsd.bytes.map_or(String::new(), size),
            made,
            fsd.working_set.map_or(String::new(), size),
            if fsd.runs.len() == runs.len() { "all".to_owned() } else { few(&fsd.runs) },
        ]);
    }
    table
}

/// The names of all runs but formats.
fn runs_that_measure(outline: &Outline) -> BTreeSet<&str> {
    outline.runs.iter().filter(|r| !r.format).map(|r| r.run.as_str()).collect()
}

fn formats(outline: &Outline) -> Table {
    let mut table = Table::new(&[
        ("run", Side::Left),
        ("definition", Side::Left),
        ("path", Side::Left),
        ("host", Side::Left),
        ("", Side::Left),
        ("directories", Side::Right),
        ("files", Side::Right),
        ("bytes", Side::Right),
        ("size", Side::Right),
    ]);
    let count = |n: u64| if n == 0 { String::new() } else { commas(n) };
    for format in &outline.formats {
        table.row(vec![
            format.run.clone(),
            format.definition.clone(),
            format.path.clone(),
            format.host.clone().unwrap_or_default(),
            if format.deletes { "deletes the old first".to_owned() } else { String::new() },
            count(format.directories),
            count(format.files),
            commas(format.bytes),
            size(format.bytes),
        ]);
    }
    table
}

fn runs(outline: &Outline) -> Table {
    let mut table = Table::new(&[
        ("", Side::Right),
        ("run", Side::Left),
        ("workloads", Side::Left),
        ("rate", Side::Left),
        ("loops", Side::Left),
        ("threads", Side::Right),
        ("warmup", Side::Right),
        ("elapsed", Side::Right),
        ("interval", Side::Right),
        ("pause", Side::Right),
        ("limit", Side::Left),
    ]);
    for (n, run) in outline.runs.iter().enumerate() {
        table.row(row(n + 1, run));
    }
    table
}

fn row(number: usize, run: &RunOutline) -> Vec<String> {
    let seconds = |n: u32| if n == 0 { String::new() } else { n.to_string() };
    vec![
        number.to_string(),
        run.run.clone(),
        few(&run.wds.iter().cloned().collect()),
        run.rate.clone(),
        // The rate has a column of its own.
        run.loops
            .iter()
            .filter(|l| !l.starts_with("iorate=") && !l.starts_with("fwdrate="))
            .cloned()
            .collect::<Vec<_>>()
            .join(" "),
        run.threads.map_or("?".to_owned(), |n| n.to_string()),
        seconds(run.warmup),
        run.elapsed.map_or("to the end".to_owned(), |n| n.to_string()),
        run.interval.to_string(),
        seconds(run.pause),
        run.max_data.join(" "),
    ]
}

fn time(outline: &Outline) -> String {
    let time = &outline.time;
    let runs = outline.runs.len();
    let mut out = format!("{runs} run{}, {}", if runs == 1 { "" } else { "s" }, duration(time.run_seconds));
    if time.pause_seconds > 0 {
        let _ = write!(
            out,
            ", {} of pauses, {} in all",
            duration(time.pause_seconds),
            duration(time.run_seconds + time.pause_seconds)
        );
    }
    if time.open_ended > 0 {
        let (n, runs) = (time.open_ended, if time.open_ended == 1 { "run goes" } else { "runs go" });
        let _ = write!(out, "; {n} {runs} to the end of the data, however long that takes");
    }
    match (time.passes, time.loop_seconds) {
        (Some(1), _) => {}
        (Some(n), _) => {
            let all = n.saturating_mul(time.run_seconds + time.pause_seconds);
            let _ = write!(out, "; {n} passes, {}", duration(all));
        }
        (None, Some(s)) => {
            let _ = write!(out, "; passes for {}, and to the end of the last", duration(s));
        }
        (None, None) => out.push_str("; passes without end"),
    }
    out.push('\n');
    out
}

/// `2h 3m 4s`.
fn duration(seconds: u64) -> String {
    let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (h, m) {
        (0, 0) => format!("{s}s"),
        (0, _) => format!("{m}m {s}s"),
        _ => format!("{h}h {m}m {s}s"),
    }
}

/// `1,048,576`.
fn commas(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, c) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// `10.0 GiB`.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(commas(0), "0");
        assert_eq!(commas(999), "999");
        assert_eq!(commas(10_485_760), "10,485,760");
        assert_eq!(size(512), "512 B");
        assert_eq!(size(10 << 30), "10.0 GiB");
        assert_eq!(duration(59), "59s");
        assert_eq!(duration(60), "1m 0s");
        assert_eq!(duration(7384), "2h 3m 4s");
    }
}
