//! What every report needs to know.

use brunt_event::{Opened, Planned, PlannedRun};

use crate::clock::Clock;
use crate::layout::Layout;

/// The fixed facts of an execution.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    pub opened: Opened,
    pub layout: Layout,
    pub clock: Clock,
    pub planned: Planned,
    /// Last part of the output directory's path, for first lines.
    pub directory: String,
}

impl Context {
    pub(crate) fn new(opened: &Opened) -> Self {
        let directory = opened.directory.trim_end_matches('/');
        Self {
            layout: opened.compat.into(),
            clock: Clock::new(&opened.zone),
            planned: Planned::default(),
            directory: directory.rsplit('/').next().unwrap_or(directory).to_owned(),
            opened: opened.clone(),
        }
    }

    /// Label of a worker.
    pub(crate) fn worker(&self, worker: u32) -> &str {
        self.planned.workers.get(worker as usize).map_or("unknown", |w| &w.label)
    }

    /// Label of a host.
    pub(crate) fn host(&self, host: u32) -> &str {
        self.planned.hosts.get(host as usize).map_or("unknown", String::as_str)
    }

    /// A planned run.
    pub(crate) fn run(&self, run: u32) -> Option<&PlannedRun> {
        self.planned.runs.get(run as usize)
    }
}
