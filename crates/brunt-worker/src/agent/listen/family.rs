//! A process with all that it has started.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Kills a process and all that it has started, which need not be in its group. Its parent has not waited for it yet,
/// so that the number is its own.
pub fn kill_all(process: Pid) {
    let mut family = vec![process];
    let mut stopped = 0;
    // Whoever is stopped starts nobody, and waits for nobody, so that numbers stay those of its children.
    while stopped < family.len() {
        family.iter().skip(stopped).for_each(|member| send(*member, Signal::SIGSTOP));
        stopped = family.len();
        let parents = parents(Path::new("/proc"));
        let mut next = 0;
        while let Some(parent) = family.get(next).copied() {
            let new = |child: &Pid| parents.get(child) == Some(&parent) && !family.contains(child);
            let children: Vec<Pid> = parents.keys().copied().filter(new).collect();
            family.extend(children);
            next += 1;
        }
    }
    family.into_iter().for_each(|member| send(member, Signal::SIGKILL));
}

fn send(process: Pid, signal: Signal) {
    match kill(process, signal) {
        Ok(()) | Err(Errno::ESRCH) => {}
        Err(errno) => tracing::warn!(%process, %errno, "a process cannot be killed"),
    }
}

/// The parent of each process.
fn parents(proc: &Path) -> HashMap<Pid, Pid> {
    let entries = fs::read_dir(proc).into_iter().flatten().flatten();
    let parent = |entry: fs::DirEntry| {
        let child = entry.file_name().to_str()?.parse().ok()?;
        // `7 (any name) S 1 …`
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let parent = stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()?;
        Some((Pid::from_raw(child), Pid::from_raw(parent)))
    };
    entries.filter_map(parent).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};

    #[test]
    fn nobody_is_left_of_a_family() {
        // The innermost has the pipe as well, and says when all are there.
        let script = "sh -c 'setsid sh -c \"echo x; sleep 1000; true\" & wait' & wait";
        let mut eldest = Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut pipe = eldest.stdout.take().unwrap();
        pipe.read_exact(&mut [0; 2]).unwrap();
        kill_all(Pid::from_raw(eldest.id().try_into().unwrap()));
        assert_eq!(eldest.wait().unwrap().signal(), Some(9));
        assert_eq!(pipe.read(&mut [0]).unwrap(), 0, "the pipe is still open");
    }
}
