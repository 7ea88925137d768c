//! CPU time of a process with all its descendants.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use brunt_worker::calibrate::clock::tick_ns;

/// A look at it.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    at: Instant,
    cpu_ns: u64,
}

/// Looks at a process and its descendants, also at those that have ended and were waited for.
pub fn look(pid: u32) -> Look {
    // The clock first: reading hundreds of processes takes a while.
    Look { at: Instant::now(), cpu_ns: ticks(&processes(Path::new("/proc")), pid) * tick_ns() }
}

/// Ticks are of 10 ms, so a shorter time tells nothing.
const SHORTEST: Duration = Duration::from_millis(500);

/// CPU time a second between two looks, as a share of one CPU; `None` when they are too near.
pub fn share(from: &Look, to: &Look) -> Option<f64> {
    let wall = to.at.checked_duration_since(from.at).filter(|wall| *wall >= SHORTEST)?;
    Some(to.cpu_ns.saturating_sub(from.cpu_ns) as f64 / 1e9 / wall.as_secs_f64())
}

/// A process of `/proc/PID/stat` (proc_pid_stat(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    parent: u32,
    /// utime, stime, cutime and cstime.
    ticks: u64,
}

fn processes(proc: &Path) -> BTreeMap<u32, Process> {
    let Ok(entries) = fs::read_dir(proc) else { return BTreeMap::new() };
    let process = |entry: fs::DirEntry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        Some((pid, parse(&fs::read_to_string(entry.path().join("stat")).ok()?)?))
    };
    entries.filter_map(|entry| process(entry.ok()?)).collect()
}

/// The name may hold anything, also brackets: what follows the last one counts.
fn parse(stat: &str) -> Option<Process> {
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    // Field 3 of the page is the first here.
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let ticks = (14..=17).map(number).sum::<Option<u64>>()?;
    Some(Process { parent: u32::try_from(number(4)?).ok()?, ticks })
}

fn ticks(all: &BTreeMap<u32, Process>, root: u32) -> u64 {
    let belongs = |mut pid: u32| {
        // A chain of parents is shorter than the list.
        for _ in 0..=all.len() {
            match all.get(&pid) {
                _ if pid == root => return true,
                Some(process) => pid = process.parent,
                None => return false,
            }
        }
        false
    };
    all.iter().filter(|(pid, _)| belongs(**pid)).map(|(_, process)| process.ticks).sum()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_behind_the_name() {
        let line = "42 (a) b (c) S 7 42 42 0 -1 4194304 100 0 0 0 11 22 3 4 20 0 5 0 100 1000 200";
        assert_eq!(parse(line), Some(Process { parent: 7, ticks: 40 }));
        assert_eq!(parse("42 (a) S 7"), None);
    }

    #[test]
    fn a_tree_is_its_root_and_all_below() {
        let process = |parent, ticks| Process { parent, ticks };
        let all =
            [(1, process(0, 1000)), (5, process(1, 1)), (6, process(5, 2)), (7, process(6, 4)), (8, process(1, 8))];
        let all = BTreeMap::from(all);
        assert_eq!([5, 6, 8, 9].map(|root| ticks(&all, root)), [7, 6, 8, 0]);
    }

    #[test]
    fn a_circle_of_parents_ends() {
        let process = |parent| Process { parent, ticks: 1 };
        assert_eq!(ticks(&BTreeMap::from([(1, process(2)), (2, process(1))]), 3), 0);
    }

    #[test]
    fn this_process_has_used_something() {
        let (pid, from) = (std::process::id(), look(std::process::id()));
        let mut to = look(pid);
        assert_eq!(share(&from, &to), None);
        while to.cpu_ns == from.cpu_ns || to.at - from.at < SHORTEST {
            to = look(pid);
        }
        assert!(share(&from, &to).unwrap() > 0.0);
    }
}
