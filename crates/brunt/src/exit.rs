//! Exit statuses: one table (`docs/compatibility.md`, command line).

use brunt_event::AbortCause;

/// Everything was done.
pub const DONE: i32 = 0;
/// `brunt fmt --check`: a file is not in canonical form.
pub const DIFFERS: i32 = 1;
/// The command line cannot be understood.
pub const USAGE: i32 = 2;
/// The parameter file cannot be run.
pub const PARAMETERS: i32 = 3;
/// Devices, hosts or the output directory are not as needed, or a safety rule speaks against it.
pub const SETUP: i32 = 4;
/// I/O errors.
pub const IO_ERRORS: i32 = 5;
/// A worker, a host or the master was lost; the results are partial.
pub const WORKER_LOST: i32 = 7;
/// A start or end command failed.
pub const HOOK: i32 = 8;
/// I/O that never returned.
pub const STUCK: i32 = 9;
/// There is nothing to do.
pub const NOTHING: i32 = 10;
/// Vdbench's status for every failure (−99).
pub const VDBENCH_FAILURE: i32 = 157;

/// The exit status for the reason an execution was given up.
pub fn of_abort(cause: AbortCause, as_vdbench: bool) -> i32 {
    if as_vdbench {
        return VDBENCH_FAILURE;
    }
    match cause {
        AbortCause::Usage => USAGE,
        AbortCause::Parameters => PARAMETERS,
        AbortCause::Setup | AbortCause::Safety | AbortCause::Output => SETUP,
        AbortCause::IoErrorLimit | AbortCause::IoErrors | AbortCause::Skew | AbortCause::Timeout => IO_ERRORS,
        AbortCause::WorkerLost | AbortCause::MasterLost => WORKER_LOST,
        AbortCause::Hook => HOOK,
        AbortCause::Stuck => STUCK,
    }
}

/// The exit status after a signal.
pub fn of_signal(signal: i32) -> i32 {
    128 + signal
}
