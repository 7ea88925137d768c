//! Which cores each worker of a host gets.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

/// Reads a list as the kernel writes it: `0-3,8`. `None` when it is not one.
pub fn parse(list: &str) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for part in list.trim().split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to): (usize, usize) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
        if from > to || to >= CpuSet::count() {
            return None;
        }
        all.extend(from..=to);
    }
    all.sort_unstable();
    all.dedup();
    Some(all)
}

/// The plan of a host: the cores of each worker, an empty list for "wherever the system likes".
///
/// Several workers get cores apart when there are enough. A single one keeps all, unless `wanted` names some.
///
/// # Errors
/// A wanted core that this process may not use, in a sentence.
pub fn plan(sys: &Path, wanted: &[usize], workers: u32) -> Result<Vec<Vec<usize>>, String> {
    let allowed = allowed()?;
    if let Some(core) = wanted.iter().find(|core| !allowed.contains(core)) {
        return Err(format!("core {core} of misc=(cpus=) is not among those this process may use: {allowed:?}"));
    }
    let workers = workers as usize;
    if workers == 1 {
        return Ok(vec![wanted.to_vec()]);
    }
    let cpus = if wanted.is_empty() { &allowed } else { wanted };
    let mut dealt = deal(&whole_cores(sys, cpus), workers);
    if dealt.is_empty() {
        // Fewer cores than workers: they share what there is.
        dealt = vec![wanted.to_vec(); workers];
    }
    Ok(dealt)
}

/// The affinity mask, which the kernel keeps within the cpuset of the process.
pub fn allowed() -> Result<Vec<usize>, String> {
    let mask =
        sched_getaffinity(Pid::from_raw(0)).map_err(|e| format!("the cores of this process are unknown: {e}"))?;
    Ok((0..CpuSet::count()).filter(|core| mask.is_set(*core).unwrap_or(false)).collect())
}

/// The logical CPUs by physical core, neighbours next to each other: package by package.
fn whole_cores(sys: &Path, cpus: &[usize]) -> Vec<Vec<usize>> {
    let mut cores: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for cpu in cpus {
        let topology = sys.join(format!("devices/system/cpu/cpu{cpu}/topology"));
        let read = |name: &str| fs::read_to_string(topology.join(name)).ok();
        let package = read("physical_package_id").and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        let siblings = read("thread_siblings_list").and_then(|text| parse(&text));
        // A CPU whose siblings are not known is a core of its own.
        let first = siblings.and_then(|all| all.first().copied()).unwrap_or(*cpu);
        cores.entry((package, first)).or_default().push(*cpu);
    }
    cores.into_values().collect()
}

/// Deals neighbouring cores in equal parts: whole ones when there are enough of them, else their siblings apart; nothing
/// when there are fewer siblings than workers.
fn deal(cores: &[Vec<usize>], workers: usize) -> Vec<Vec<usize>> {
    let siblings: Vec<Vec<usize>> = cores.iter().flatten().map(|cpu| vec![*cpu]).collect();
    let units = match () {
        () if cores.len() >= workers => cores,
        () if siblings.len() >= workers => &siblings,
        () => return Vec::new(),
    };
    let (each, more) = (units.len() / workers, units.len() % workers);
    let mut rest = units;
    let mut part = |worker| {
        let (mine, others) = rest.split_at(each + usize::from(worker < more));
        rest = others;
        whole_first(mine)
    };
    (0..workers).map(&mut part).collect()
}

/// One CPU of each core, then their second ones, and so on.
fn whole_first(cores: &[Vec<usize>]) -> Vec<usize> {
    let deepest = cores.iter().map(Vec::len).max().unwrap_or(0);
    (0..deepest).flat_map(|n| cores.iter().filter_map(move |core| core.get(n).copied())).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Two packages of two cores with two siblings each, numbered as Linux does.
    fn machine() -> tempfile::TempDir {
        let sys = tempfile::tempdir().unwrap();
        for cpu in 0..8 {
            let topology = sys.path().join(format!("devices/system/cpu/cpu{cpu}/topology"));
            fs::create_dir_all(&topology).unwrap();
            // Cores alternate between the packages.
            fs::write(topology.join("physical_package_id"), format!("{}\n", cpu % 2)).unwrap();
            fs::write(topology.join("thread_siblings_list"), format!("{},{}\n", cpu % 4, cpu % 4 + 4)).unwrap();
        }
        sys
    }

    #[test]
    fn lists_are_read() {
        assert_eq!(parse("0-3,8\n"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(parse("2,0,2"), Some(vec![0, 2]));
        assert_eq!([parse(""), parse("3-1"), parse("a"), parse("0-99999999")], [None, None, None, None]);
    }

    #[test]
    fn whole_cores_come_before_siblings_and_neighbours_stay_together() {
        let sys = machine();
        let all: Vec<usize> = (0..8).collect();
        let cores = whole_cores(sys.path(), &all);
        assert_eq!(cores, [[0, 4], [2, 6], [1, 5], [3, 7]]);
        assert_eq!(deal(&cores, 2), [[0, 2, 4, 6], [1, 3, 5, 7]]);
        assert_eq!(deal(&cores, 3), [vec![0, 2, 4, 6], vec![1, 5], vec![3, 7]]);
        assert_eq!(deal(&cores, 4), [[0, 4], [2, 6], [1, 5], [3, 7]]);
        assert_eq!(deal(&cores, 5), [vec![0, 4], vec![2, 6], vec![1, 5], vec![3], vec![7]]);
        assert_eq!(deal(&cores, 9), Vec::<Vec<usize>>::new());
        assert_eq!(whole_cores(sys.path(), &[1, 4, 5]), [vec![4], vec![1, 5]]);
        assert_eq!(whole_cores(Path::new("/nonexistent"), &[0, 1]), [[0], [1]]);
    }

    #[test]
    fn a_single_worker_keeps_all_and_is_bound_only_when_asked() {
        let sys = machine();
        let some = allowed().unwrap()[0];
        assert_eq!(plan(sys.path(), &[], 1), Ok(vec![vec![]]));
        assert_eq!(plan(sys.path(), &[some], 1), Ok(vec![vec![some]]));
        assert_eq!(plan(sys.path(), &[some], 2), Ok(vec![vec![some]; 2]), "they share the one core");
        let text = plan(sys.path(), &[1023], 1).unwrap_err();
        assert!(text.starts_with("core 1023 of misc=(cpus=) is not among those this process may use: ["), "{text}");
    }

    #[test]
    fn workers_of_this_machine_get_cores_apart() {
        let mine = allowed().unwrap();
        let dealt = plan(Path::new("/sys"), &[], mine.len() as u32).unwrap();
        if mine.len() > 1 {
            let mut all = dealt.concat();
            all.sort_unstable();
            assert_eq!((all, dealt.len()), (mine, dealt.len()));
        }
    }
}
