//! Processes by more than their numbers, which the system gives out again.

use std::fs;

use brunt_event::Birth;

/// When a process was started; `None`: there is none of that number, or it has ended and only its status is left.
pub fn birth(pid: u32) -> Option<Birth> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(Birth { ticks: start_ticks(&stat)?, boot: boot.trim().to_owned() })
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

/// This boot of this machine.
pub fn boot() -> Option<String> {
    birth(std::process::id()).map(|birth| birth.boot)
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
    fn this_process_has_one_and_process_zero_none() {
        assert_eq!(birth(std::process::id()).map(|b| b.boot), boot());
        assert!(boot().is_some());
        assert_eq!(birth(0), None);
    }
}
