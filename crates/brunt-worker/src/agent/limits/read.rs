//! The limits of this process, its user, its groups and its system.

use std::fs;
use std::path::Path;

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, setrlimit};

use super::{Limits, Room};
use crate::agent::cgroup::{Allowance, Cgroups};

/// Capabilities (capabilities(7)): locks memory without limit, may be beyond `RLIMIT_NPROC`.
const CAP_IPC_LOCK: u32 = 14;
const CAP_SYS_ADMIN: u32 = 21;
const CAP_SYS_RESOURCE: u32 = 24;

/// Raises the soft limits to the hard ones, which needs no privilege; children inherit them.
pub fn raise() {
    for resource in [Resource::RLIMIT_NOFILE, Resource::RLIMIT_MEMLOCK, Resource::RLIMIT_NPROC, Resource::RLIMIT_AS] {
        let raised = getrlimit(resource).and_then(|(soft, hard)| match soft < hard {
            true => setrlimit(resource, hard, hard),
            false => Ok(()),
        });
        if let Err(errno) = raised {
            tracing::debug!(?resource, %errno, "a soft limit stays");
        }
    }
}

/// Reads them, as they are after [`raise`]. What cannot be read limits nothing.
pub fn read(proc: &Path, cgroups: &Cgroups) -> Limits {
    let status = Status::read(&proc.join("self/status")).unwrap_or_default();
    let limits = Source { proc };
    Limits {
        files: soft(Resource::RLIMIT_NOFILE),
        space: limits.space(),
        mappings: limits.mappings(),
        locked: soft(Resource::RLIMIT_MEMLOCK).filter(|_| !status.may(CAP_IPC_LOCK)),
        threads: limits.threads(&status, cgroups),
        aio: limits.aio(),
        memory: limits.memory(cgroups),
    }
}

fn soft(resource: Resource) -> Option<u64> {
    getrlimit(resource).ok().map(|(soft, _)| soft).filter(|limit| *limit != RLIM_INFINITY)
}

/// What `/proc/PID/status` says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Status {
    user: Option<u32>,
    threads: u64,
    capabilities: u64,
}

impl Status {
    fn read(file: &Path) -> Option<Self> {
        Some(Self::parse(&fs::read_to_string(file).ok()?))
    }

    fn parse(text: &str) -> Self {
        let word = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next());
        Self {
            user: word("Uid:").and_then(|uid| uid.parse().ok()),
            threads: word("Threads:").and_then(|count| count.parse().ok()).unwrap_or(0),
            capabilities: word("CapEff:").and_then(|hex| u64::from_str_radix(hex, 16).ok()).unwrap_or(0),
        }
    }

    fn may(&self, capability: u32) -> bool {
        self.capabilities >> capability & 1 == 1
    }
}

struct Source<'a> {
    proc: &'a Path,
}

impl Source<'_> {
    fn number(&self, file: &str) -> Option<u64> {
        fs::read_to_string(self.proc.join(file)).ok()?.trim().parse().ok()
    }

    fn space(&self) -> Option<Room> {
        let limit = soft(Resource::RLIMIT_AS)?;
        let pages: u64 =
            fs::read_to_string(self.proc.join("self/statm")).ok()?.split_whitespace().next()?.parse().ok()?;
        let cure = "raise it (ulimit -Hv {}, LimitAS= of a service, as in limits.conf) or use fewer threads=".into();
        // All systems that Brunt is built for have pages of 4 KiB.
        Some(Room { of: "ulimit -v".into(), limit, used: pages.saturating_mul(4096), cure })
    }

    fn mappings(&self) -> Option<Room> {
        let limit = self.number("sys/vm/max_map_count")?;
        let used = fs::read_to_string(self.proc.join("self/maps")).map_or(0, |text| text.lines().count() as u64);
        Some(system("vm.max_map_count", limit, used, "use fewer threads=, or more jvms="))
    }

    fn aio(&self) -> Option<Room> {
        let (limit, used) = (self.number("sys/fs/aio-max-nr")?, self.number("sys/fs/aio-nr")?);
        Some(system("fs.aio-max-nr", limit, used, "use fewer threads=, or misc=(engine=sync)"))
    }

    fn threads(&self, status: &Status, cgroups: &Cgroups) -> Vec<Room> {
        let mut rooms: Vec<Room> = self.of_user(status).into_iter().collect();
        rooms.extend(cgroups.tasks().into_iter().map(of_group));
        // The fourth word of loadavg: threads that run / threads that there are.
        let loadavg = fs::read_to_string(self.proc.join("loadavg")).unwrap_or_default();
        let used = loadavg.split_whitespace().nth(3).and_then(|w| w.split_once('/')?.1.parse().ok()).unwrap_or(0);
        for (of, file) in [("kernel.threads-max", "sys/kernel/threads-max"), ("kernel.pid_max", "sys/kernel/pid_max")] {
            rooms.extend(self.number(file).map(|limit| system(of, limit, used, "use fewer threads=")));
        }
        rooms
    }

    /// `RLIMIT_NPROC` counts all threads of the real user, and does not hold for root and the privileged (setrlimit(2)).
    fn of_user(&self, status: &Status) -> Option<Room> {
        let limit = soft(Resource::RLIMIT_NPROC)?;
        let user = status.user.filter(|user| *user != 0)?;
        if status.may(CAP_SYS_ADMIN) || status.may(CAP_SYS_RESOURCE) {
            return None;
        }
        let processes = fs::read_dir(self.proc).into_iter().flatten().flatten();
        let processes = processes.filter(|p| p.file_name().to_string_lossy().bytes().all(|b| b.is_ascii_digit()));
        let all = processes.filter_map(|p| Status::read(&p.path().join("status")));
        let used = all.filter(|other| other.user == Some(user)).map(|other| other.threads).sum();
        let cure =
            "raise it (ulimit -Hu {}, TasksMax= of a service, nproc in limits.conf) or use fewer threads=".into();
        Some(Room { of: format!("ulimit -u of user {user}"), limit, used, cure })
    }

    fn memory(&self, cgroups: &Cgroups) -> Vec<Room> {
        let text = fs::read_to_string(self.proc.join("meminfo")).unwrap_or_default();
        let kib = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line?.split_whitespace().next()?.parse::<u64>().ok()
        };
        let mut rooms = Vec::new();
        if let (Some(total), Some(available)) = (kib("MemTotal:"), kib("MemAvailable:")) {
            let used = total.saturating_sub(available).saturating_mul(1024);
            let cure = "use fewer threads= or a smaller xfersize=, or more hosts".into();
            rooms.push(Room { of: "MemAvailable".into(), limit: total.saturating_mul(1024), used, cure });
        }
        rooms.extend(cgroups.memory().into_iter().map(|group| Room {
            cure: format!(
                "raise it (echo {{}} > {}, MemoryMax= of a service, --memory of a container) or use fewer threads=",
                group.file.display()
            ),
            of: group.file.display().to_string(),
            limit: group.limit,
            used: group.used,
        }));
        rooms
    }
}

fn of_group(group: Allowance) -> Room {
    let file = group.file.display();
    let cure = format!(
        "raise it (echo {{}} > {file}, TasksMax= of a service, --pids-limit of a container) or use fewer threads="
    );
    Room { of: file.to_string(), limit: group.limit, used: group.used, cure }
}

fn system(of: &str, limit: u64, used: u64, or: &str) -> Room {
    Room { of: of.to_owned(), limit, used, cure: format!("raise it (sysctl {of}={{}}) or {or}") }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn soft_limits_become_the_hard_ones() {
        raise();
        for resource in [Resource::RLIMIT_NOFILE, Resource::RLIMIT_MEMLOCK, Resource::RLIMIT_NPROC] {
            let (soft, hard) = getrlimit(resource).unwrap();
            assert_eq!(soft, hard);
        }
    }

    #[test]
    fn a_status_is_read() {
        let status = Status::parse("Name:\tx\nUid:\t1000\t0\t0\t0\nThreads:\t7\nCapEff:\t0000000000004000\n");
        assert_eq!(status, Status { user: Some(1000), threads: 7, capabilities: 1 << 14 });
        assert_eq!((status.may(CAP_IPC_LOCK), status.may(CAP_SYS_ADMIN)), (true, false));
        assert_eq!(Status::parse(""), Status::default());
    }

    #[test]
    fn a_made_up_host_is_read() {
        let proc = tempfile::tempdir().unwrap();
        let put = |file: &str, text: &str| {
            let path = proc.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("sys/fs/aio-max-nr", "65536\n");
        put("sys/fs/aio-nr", "100\n");
        put("sys/kernel/threads-max", "5000\n");
        put("loadavg", "0.1 0.2 0.3 2/345 9999\n");
        put("meminfo", "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 600 kB\n");
        let limits = read(proc.path(), &Cgroups::default());
        let aio = limits.aio.unwrap();
        assert_eq!((aio.limit, aio.used), (65536, 100));
        assert_eq!(limits.threads, [system("kernel.threads-max", 5000, 345, "use fewer threads=")]);
        let memory: Vec<_> = limits.memory.iter().map(|room| (room.of.as_str(), room.limit, room.used)).collect();
        assert_eq!(memory, [("MemAvailable", 1000 << 10, 400 << 10)]);
        assert_eq!(limits.mappings, None);
    }

    #[test]
    fn this_host_has_limits() {
        let limits = read(Path::new("/proc"), &Cgroups::read(Path::new("/proc")));
        assert!(limits.files.is_none_or(|files| files > 10));
        assert!(limits.threads.iter().any(|room| room.of == "kernel.threads-max" && room.used > 0));
        assert!(limits.memory.iter().all(|room| room.limit > 0) && !limits.memory.is_empty());
    }
}
