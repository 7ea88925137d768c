//! Where this process is in the cgroups, of version 1, 2 or both (cgroups(7)), and what they allow.

use std::fs;
use std::path::{Path, PathBuf};

/// The folders of this process in one hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hierarchy {
    /// Where it is mounted.
    mount: PathBuf,
    /// The process's group below that.
    below: PathBuf,
    /// The controllers of a hierarchy of version 1; none: the one of version 2.
    controllers: Vec<String>,
}

/// The cgroups of this process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cgroups {
    hierarchies: Vec<Hierarchy>,
}

/// What a cgroup allows of something that is counted, and what of it is in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowance {
    /// The file that holds the limit.
    pub file: PathBuf,
    /// The limit.
    pub limit: u64,
    /// In use.
    pub used: u64,
}

impl Cgroups {
    /// Reads `/proc/self/cgroup` and where the hierarchies are mounted.
    pub fn read(proc: &Path) -> Self {
        let read = |path: &str| fs::read_to_string(proc.join(path)).unwrap_or_default();
        let groups = read("self/cgroup");
        let hierarchies = read("self/mountinfo").lines().filter_map(|line| hierarchy(line, &groups)).collect();
        Self { hierarchies }
    }

    /// The folders of a controller: the process's own, then those above it. Whether they are of version 2 is the second.
    fn folders(&self, controller: &str) -> (Vec<PathBuf>, bool) {
        let old = self.hierarchies.iter().find(|h| h.controllers.iter().any(|c| c == controller));
        let new = || self.hierarchies.iter().find(|h| h.controllers.is_empty());
        let Some(found) = old.or_else(new) else { return (Vec::new(), false) };
        let folders = found.below.ancestors().map(|below| found.mount.join(below)).collect();
        (folders, old.is_none())
    }

    /// The CPUs that the process may be given, as the kernel writes them.
    pub fn cpus(&self) -> Option<String> {
        let (folders, new) = self.folders("cpuset");
        let name = if new { "cpuset.cpus.effective" } else { "cpuset.effective_cpus" };
        // Where the controller is not handed down, the group above decides.
        folders.iter().find_map(|folder| text(&folder.join(name)))
    }

    /// The CPU time that the process may use, in CPUs: the least of its groups. `None`: all.
    pub fn quota(&self) -> Option<f64> {
        let (folders, new) = self.folders("cpu");
        let of = |folder: &PathBuf| {
            let (quota, period) = if new {
                let line = text(&folder.join("cpu.max"))?;
                let (quota, period) = line.split_once(' ')?;
                (quota.parse().ok()?, period.parse().ok()?)
            } else {
                let number = |name: &str| text(&folder.join(name))?.parse::<f64>().ok();
                (number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?)
            };
            // Version 1 says -1 for none, version 2 `max`.
            (quota > 0.0 && period > 0.0).then_some(quota / period)
        };
        folders.iter().filter_map(of).min_by(f64::total_cmp)
    }

    /// Threads and processes that may be, group by group.
    pub fn tasks(&self) -> Vec<Allowance> {
        let (folders, _) = self.folders("pids");
        let of = |folder: &PathBuf| allowance(folder, "pids.max", "pids.current");
        folders.iter().filter_map(of).collect()
    }

    /// Memory that may be used, group by group. What the page cache could give back at once is not counted as used.
    pub fn memory(&self) -> Vec<Allowance> {
        let (folders, new) = self.folders("memory");
        let (limit, used, cache) = if new {
            ("memory.max", "memory.current", "inactive_file")
        } else {
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        };
        let of = |folder: &PathBuf| {
            let mut found = allowance(folder, limit, used)?;
            let stat = text(&folder.join("memory.stat")).unwrap_or_default();
            let cached = stat.lines().find_map(|l| l.strip_prefix(cache)?.trim().parse::<u64>().ok());
            found.used = found.used.saturating_sub(cached.unwrap_or(0));
            // Version 1 says "no limit" with the largest number of pages.
            (found.limit < 1 << 60).then_some(found)
        };
        folders.iter().filter_map(of).collect()
    }
}

/// Reads a line of mountinfo: `36 35 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu`.
fn hierarchy(line: &str, groups: &str) -> Option<Hierarchy> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(3);
    let (root, mount) = (left.next()?, PathBuf::from(left.next()?));
    let mut right = right.split(' ');
    let kind = right.next()?;
    let options: Vec<&str> = right.nth(1)?.split(',').collect();
    // Lines of /proc/self/cgroup: `4:memory:/a/b`, `0::/a/b`.
    let mut rows = groups.lines().filter_map(|row| {
        let mut parts = row.splitn(3, ':').skip(1);
        Some((parts.next()?, parts.next()?))
    });
    let (names, group) = match kind {
        "cgroup2" => rows.find(|(names, _)| names.is_empty())?,
        "cgroup" => {
            let ours = |names: &str| !names.is_empty() && names.split(',').all(|name| options.contains(&name));
            rows.find(|(names, _)| ours(names))?
        }
        _ => return None,
    };
    // In a container the mount shows only what lies below its own group.
    let below = Path::new(group).strip_prefix(root).unwrap_or(Path::new("")).to_owned();
    let controllers = names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    Some(Hierarchy { mount, below, controllers })
}

fn allowance(folder: &Path, limit: &str, used: &str) -> Option<Allowance> {
    let number = |name: &str| text(&folder.join(name))?.parse().ok();
    // `max` is no number, and no limit.
    Some(Allowance { limit: number(limit)?, used: number(used)?, file: folder.join(limit) })
}

fn text(file: &Path) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn put(root: &Path, files: &[(&str, &str)]) {
        for (file, text) in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        }
    }

    #[test]
    fn version_2_with_the_limits_of_all_groups_above() {
        let root = tempfile::tempdir().unwrap();
        let mount = root.path().join("cg");
        let info = format!("31 23 0:28 / {} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate", mount.display());
        put(root.path(), &[("self/cgroup", "0::/a/b"), ("self/mountinfo", &info)]);
        put(
            &mount,
            &[
                ("cpuset.cpus.effective", "0-7"),
                ("a/cpuset.cpus.effective", "0-3"),
                ("a/cpu.max", "150000 100000"),
                ("a/b/cpu.max", "max 100000"),
                ("a/pids.max", "100"),
                ("a/pids.current", "40"),
                ("a/b/pids.max", "max"),
                ("a/b/pids.current", "4"),
                ("a/b/memory.max", "1073741824"),
                ("a/b/memory.current", "900000000"),
                ("a/b/memory.stat", "anon 1\ninactive_file 800000000"),
            ],
        );
        let cgroups = Cgroups::read(root.path());
        assert_eq!(cgroups.cpus().as_deref(), Some("0-3"));
        assert_eq!(cgroups.quota(), Some(1.5));
        let file = mount.join("a/pids.max");
        assert_eq!(cgroups.tasks(), [Allowance { file, limit: 100, used: 40 }]);
        let file = mount.join("a/b/memory.max");
        assert_eq!(cgroups.memory(), [Allowance { file, limit: 1 << 30, used: 100_000_000 }]);
    }

    #[test]
    fn version_1_in_a_container_that_sees_only_its_own_group() {
        let root = tempfile::tempdir().unwrap();
        let of = |name: &str| root.path().join(name);
        let line = |name: &str, options: &str, under: &str| {
            format!("1 2 0:3 {under} {} rw - cgroup cgroup rw,{options}\n", of(name).display())
        };
        let info = [line("cpu", "cpuacct,cpu", "/docker/x"), line("memory", "memory", "/"), line("pids", "pids", "/o")];
        put(
            root.path(),
            &[
                ("self/cgroup", "9:name=systemd:/\n4:cpu,cpuacct:/docker/x\n3:memory:/m\n2:pids:/docker/x"),
                ("self/mountinfo", &info.concat()),
                ("cpu/cpu.cfs_quota_us", "50000"),
                ("cpu/cpu.cfs_period_us", "100000"),
                ("memory/m/memory.limit_in_bytes", "9223372036854771712"),
                ("memory/m/memory.usage_in_bytes", "5"),
                ("pids/pids.max", "77"),
                ("pids/pids.current", "7"),
            ],
        );
        let cgroups = Cgroups::read(root.path());
        assert_eq!((cgroups.quota(), cgroups.cpus()), (Some(0.5), None));
        assert_eq!(cgroups.memory(), []);
        assert_eq!(cgroups.tasks(), [Allowance { file: of("pids/pids.max"), limit: 77, used: 7 }]);
        put(root.path(), &[("cpu/cpu.cfs_quota_us", "-1")]);
        assert_eq!(Cgroups::read(root.path()).quota(), None);
    }

    #[test]
    fn without_cgroups_nothing_is_limited() {
        let none = Cgroups::read(Path::new("/nonexistent"));
        assert_eq!((none.cpus(), none.quota(), none.tasks(), none.memory()), (None, None, vec![], vec![]));
    }
}
