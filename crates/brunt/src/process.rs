//! Processes by more than their numbers, which the system gives out again.

use std::fs;

use brunt_event::Birth;

/// When a process was started; `None`: there is none of that number, or it has ended and only its status is left.
pub fn birth(pid: u32) -> Option<Birth> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    Some(Birth { ticks: start_ticks(&stat)?, boot: boot.trim().to_owned(), host: host.trim().to_owned() })
}

/// Field 22 of `/proc/PID/stat` (`proc(5)`). The name in parentheses may hold anything, also parentheses.
fn start_ticks(stat: &str) -> Option<u64> {
    let mut behind_name = stat.rsplit_once(')')?.1.split_whitespace();
    let state = behind_name.next()?;
    if matches!(state, "Z" | "X" | "x") {
        return None;
    }
    behind_name.nth(18)?.parse().ok()
}

/// Where a process was, seen from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On this machine, as it runs now.
    Here,
    /// On this machine, which was started again since: it has ended.
    Before,
    /// Perhaps on another machine.
    Elsewhere,
}

/// Where a process was that has this birth.
pub fn place(birth: &Birth) -> Place {
    match self::birth(std::process::id()) {
        Some(own) if own.boot == birth.boot => Place::Here,
        // Names that a machine has before anybody gives it one tell nothing.
        Some(own) if own.host == birth.host && !own.host.is_empty() && !own.host.starts_with("localhost") => {
            Place::Before
        }
        _ => Place::Elsewhere,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_is_behind_any_name() {
        let stat = "7 (a) R (b) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 9 10\n";
        assert_eq!(start_ticks(stat), Some(4242));
        assert_eq!(start_ticks(&stat.replace(") S", ") Z")), None);
        assert_eq!(start_ticks("7 (a) S 1"), None);
    }

    #[test]
    fn another_boot_of_this_machine_is_no_other_machine() {
        let Some(own) = birth(std::process::id()) else { unreachable!("every process has one") };
        assert_eq!(place(&own), Place::Here);
        let other = |host: &str| place(&Birth { boot: "other".into(), host: host.into(), ..own.clone() });
        let again = if own.host.starts_with("localhost") { Place::Elsewhere } else { Place::Before };
        assert_eq!(
            [other(&own.host), other("no-such-machine"), other("")],
            [again, Place::Elsewhere, Place::Elsewhere]
        );
    }

    #[test]
    fn this_process_has_one_and_process_zero_none() {
        assert!(birth(std::process::id()).is_some());
        assert_eq!(birth(0), None);
    }
}
