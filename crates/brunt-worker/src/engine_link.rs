//! The product's engine behind [`WorkEngine`].

use std::time::Instant;

use brunt_engine::{Engine, EngineOptions, Outstanding, Prepared, Running};
use brunt_plan::work::WorkerShare;

use crate::engine::{EventSink, Placement, PreparedWork, RunningWork, WorkEngine};

/// The engine of `brunt-engine`.
#[derive(Debug, Clone, Default)]
pub struct LaneEngine {
    options: EngineOptions,
}

impl WorkEngine for LaneEngine {
    fn prepare(
        &self,
        share: WorkerShare,
        placement: Placement,
        events: EventSink,
    ) -> Result<Box<dyn PreparedWork>, String> {
        let options = EngineOptions { cores: placement.cpus, shared: placement.shared, ..self.options.clone() };
        match Engine::prepare(share, options, events) {
            Ok(prepared) => Ok(Box::new(prepared)),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl PreparedWork for Prepared {
    fn drop_sd(&self, sd: u32) {
        Prepared::drop_sd(self, sd);
    }

    fn start(self: Box<Self>, at: Instant) -> Box<dyn RunningWork> {
        Box::new(Prepared::start(*self, at))
    }
}

impl RunningWork for Running {
    fn stop(&self, after_interval: Option<u32>) {
        Running::stop(self, after_interval);
    }

    fn grant(&self, interval: u32) {
        Running::grant(self, interval);
    }

    fn drop_sd(&self, sd: u32) {
        Running::drop_sd(self, sd);
    }

    fn outstanding(&self) -> Outstanding {
        Running::outstanding(self)
    }

    fn join(self: Box<Self>) {
        Running::join(*self);
    }
}
