//! What an execution came to.

use brunt_event::AbortCause;
use brunt_plan::SetupProblem;

/// What an execution came to; the exit status is made of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// Why it was given up.
    pub abort: Option<AbortCause>,
    /// The signal that ended it.
    pub interrupted: Option<i32>,
    /// Whether everything asked for was done. An end that was asked for by a monitor file is one.
    pub complete: bool,
    /// Runs that were started.
    pub runs: u32,
    /// I/Os that failed.
    pub io_errors: u64,
    /// The problems of devices behind [`AbortCause::Setup`] or [`AbortCause::Safety`], all of them, with their places in
    /// the parameter file.
    pub problems: Vec<SetupProblem>,
}
