//! The shape of the workspace, kept by a test: crate arrows, where `unsafe` and I/O may stand, file lengths.
//! The rules are those of `docs/architecture.md`.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A crate and those of the workspace it may use directly.
const ARROWS: &[(&str, &[&str])] = &[
    ("brunt-stats", &[]),
    ("brunt-parm", &[]),
    ("brunt-plan", &["brunt-parm", "brunt-stats"]),
    ("brunt-event", &["brunt-stats"]),
    ("brunt-engine", &["brunt-plan", "brunt-stats"]),
    ("brunt-proto", &["brunt-plan", "brunt-stats"]),
    ("brunt-worker", &["brunt-engine", "brunt-plan", "brunt-proto", "brunt-stats"]),
    ("brunt-master", &["brunt-event", "brunt-parm", "brunt-plan", "brunt-proto", "brunt-stats"]),
    ("brunt-report", &["brunt-event", "brunt-stats"]),
    (
        "brunt",
        &["brunt-event", "brunt-master", "brunt-parm", "brunt-plan", "brunt-report", "brunt-stats", "brunt-worker"],
    ),
];

/// Crates that must not be reached from a crate, over any number of arrows.
const FORBIDDEN: &[(&str, &[&str])] = &[
    ("brunt-parm", &["tokio", "tonic", "libc", "nix"]),
    ("brunt-plan", &["tokio", "tonic", "libc", "nix"]),
    ("brunt-engine", &["tokio", "tonic", "prost"]),
    ("brunt-report", &["tokio", "tonic", "prost"]),
    ("brunt-event", &["tokio", "tonic", "prost"]),
];

/// Lines of a source file beyond which nobody finds its one idea.
const LONGEST_FILE: usize = 600;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Normal dependencies by package name, whole graph.
fn graph() -> BTreeMap<String, BTreeSet<String>> {
    let done = Command::new(env!("CARGO"))
        .args(["tree", "--workspace", "--edges", "normal", "--prefix", "depth", "--no-dedupe", "--offline", "--locked"])
        .args(["--format", " {p}"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(done.status.success(), "cargo tree: {}", String::from_utf8_lossy(&done.stderr));
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut path: Vec<String> = Vec::new();
    for line in String::from_utf8(done.stdout).unwrap().lines().filter(|l| !l.is_empty()) {
        let (depth, package) = line.split_once(' ').unwrap();
        let depth: usize = depth.parse().unwrap();
        let name = package.split(' ').next().unwrap().to_owned();
        path.truncate(depth);
        if let Some(parent) = path.last() {
            graph.entry(parent.clone()).or_default().insert(name.clone());
        }
        graph.entry(name.clone()).or_default();
        path.push(name);
    }
    graph
}

fn reachable(graph: &BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let mut todo = vec![from.to_owned()];
    while let Some(at) = todo.pop() {
        for next in graph.get(&at).into_iter().flatten() {
            if seen.insert(next.clone()) {
                todo.push(next.clone());
            }
        }
    }
    seen
}

fn sources(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

fn sources_of(crate_name: &str) -> Vec<PathBuf> {
    let mut out = Vec::new();
    sources(&root().join("crates").join(crate_name).join("src"), &mut out);
    assert!(!out.is_empty(), "{crate_name} has no sources");
    out
}

/// The code of a file: without comments and without its test module.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let body = text.split("#[cfg(test)]").next().unwrap_or_default();
    body.lines().map(|l| l.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

#[test]
fn arrows_only_point_down() {
    let graph = graph();
    let ours: BTreeSet<&str> = ARROWS.iter().map(|(name, _)| *name).collect();
    for (name, allowed) in ARROWS {
        let direct = graph.get(*name).unwrap_or_else(|| panic!("{name} is not in the workspace"));
        for d in direct.iter().filter(|d| ours.contains(d.as_str())) {
            assert!(allowed.contains(&d.as_str()), "{name} must not use {d}");
        }
    }
    let members = fs::read_dir(root().join("crates")).unwrap().count();
    assert_eq!(members, ARROWS.len(), "a crate without a place in the table");
    for (name, forbidden) in FORBIDDEN {
        let reached = reachable(&graph, name);
        for f in *forbidden {
            assert!(!reached.contains(*f), "{name} must not reach {f}");
        }
    }
}

#[test]
fn parser_and_plan_do_no_io() {
    for name in ["brunt-parm", "brunt-plan", "brunt-stats", "brunt-event"] {
        for path in sources_of(name) {
            let code = code(&path);
            for word in ["std::fs", "std::net", "std::process", "std::env", "std::time", "Instant::now", "SystemTime"] {
                assert!(!code.contains(word), "{} uses {word}", path.display());
            }
        }
    }
}

#[test]
fn unsafe_stands_only_in_the_engine() {
    for (name, _) in ARROWS.iter().filter(|(n, _)| *n != "brunt-engine") {
        for path in sources_of(name) {
            let found = code(&path).split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == "unsafe");
            assert!(!found, "{} has unsafe code", path.display());
        }
    }
}

#[test]
fn only_the_binary_prints() {
    for (name, _) in ARROWS {
        for path in sources_of(name) {
            let code = code(&path);
            for word in ["println!", "eprintln!", "print!(", "process::exit"] {
                assert!(!code.contains(word), "{} uses {word}", path.display());
            }
        }
    }
}

#[test]
fn files_have_one_idea() {
    let mut wrong = Vec::new();
    for path in ARROWS.iter().flat_map(|(name, _)| sources_of(name)) {
        let text = fs::read_to_string(&path).unwrap();
        let base = path.file_name().unwrap().to_string_lossy().into_owned();
        if text.lines().count() > LONGEST_FILE {
            wrong.push(format!("{} is longer than {LONGEST_FILE} lines", path.display()));
        }
        if !text.starts_with("//!") {
            wrong.push(format!("{} does not say what it is", path.display()));
        }
        if base == "mod.rs" || base.starts_with("util") {
            wrong.push(format!("{} has a name that says nothing", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What makes a thread wait for another one, or hides a lock.
const LOCKS: [&str; 14] = [
    "Mutex",
    "RwLock",
    "Condvar",
    "Barrier",
    "Once",
    "OnceLock",
    "LazyLock",
    "mpsc",
    "mpmc",
    "park",
    "park_timeout",
    "ReentrantLock",
    "thread_local",
    "stdout",
];

/// Files of the engine that may name such a thing, how often they may lock it, and why.
const MAY_LOCK: [(&str, usize, &str); 5] = [
    ("feed.rs", 1, "mixed streams of blocking lanes, whose order no number tells, outside the measured time"),
    ("shared.rs", 3, "failures: where an I/O failed, and the collector, which takes them"),
    ("engine.rs", 0, "waits for the threads that get ready before the start"),
    ("threads.rs", 0, "says that a thread is ready before the start"),
    ("calibrate/trial.rs", 0, "runs a whole engine, from outside"),
];

#[test]
fn no_lock_is_on_the_way_of_an_io() {
    let engine = root().join("crates/brunt-engine/src");
    for path in sources_of("brunt-engine") {
        let code = code(&path);
        let name = path.strip_prefix(&engine).unwrap().to_str().unwrap();
        let named = code.split(|c: char| !c.is_alphanumeric() && c != '_').find(|word| LOCKS.contains(word));
        let locked = code.matches(".lock()").count();
        match MAY_LOCK.iter().find(|(file, ..)| *file == name) {
            Some((_, times, why)) => {
                assert!(named.is_some(), "{name} names no lock any more: take it out of the list");
                assert_eq!(locked, *times, "{name} may lock for one reason: {why}");
            }
            None => assert_eq!((named, locked), (None, 0), "{name} must do without"),
        }
    }
}
