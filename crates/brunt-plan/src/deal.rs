//! One run dealt out: a share for each worker.

pub(crate) mod area;
mod fs;
pub(crate) mod place;
mod rates;
mod requested;
pub(crate) mod shares;
pub(crate) mod threads;
pub(crate) mod workers;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

pub use self::requested::RequestedColumns;

use self::place::{Misfit, place};
use self::workers::Workers;
use crate::plan::{Plan, Run};
use crate::resolve::{Resolved, SetupNotice, SetupProblem};
use crate::work::{Control, WorkerShare};

/// A run, ready to be handed to the workers.
#[derive(Debug, Clone, PartialEq)]
pub struct Deal {
    /// By host and worker; `None`: nothing to do in this run.
    pub shares: Vec<Vec<Option<WorkerShare>>>,
    /// Whether each lane goes as fast as it can.
    pub uncontrolled: bool,
    /// The rate asked for: 9999988 for max, 9999977 for the maximum run of a curve.
    pub requested_rate: f64,
    /// Share asked for by workload, percent; `None` for one with a rate of its own.
    pub skews: Vec<Option<f64>>,
    /// SDs with work in this run, in the order of the plan.
    pub sds: Vec<usize>,
    /// Columns of the flat file.
    pub requested: RequestedColumns,
    /// What is worth knowing about this run.
    pub notices: Vec<SetupNotice>,
}

impl Resolved {
    /// Deals a run out. `run` is its index in the plan, `run_id` in this execution (it grows over passes). `rate` is in
    /// I/Os per second, ignored for maximum runs; for steps in percent it is what the run before achieved. `mix` is the
    /// observed share of each workload in percent, used as skew for points of a curve when no workload has one.
    ///
    /// # Errors
    /// What does not fit, which mostly was found before the first run.
    pub fn deal(&self, run: usize, run_id: u32, rate: f64, mix: Option<&[f64]>) -> Result<Deal, Vec<SetupProblem>> {
        let Some(planned) = self.plan.runs.get(run) else {
            return Err(vec![SetupProblem::setup(format!("there is no run {run}"), None)]);
        };
        let workers = Workers::of(&self.plan);
        let placement = place(&self.plan, &workers, planned).map_err(|m| misfits(&self.plan, planned, &m))?;
        let rates = rates::share(planned, rate, mix);
        let sds: BTreeSet<usize> = placement.instances.iter().map(|i| i.sd).collect();
        let sds: Vec<usize> = sds.into_iter().collect();
        let notices = idle(&self.plan, planned, &rates);
        let shares = shares::build(self, &workers, run, run_id, &placement, &rates)?;
        if shares.iter().flatten().all(Option::is_none) {
            let text = format!("rd={}: no workload has a rate above 0, nothing to do", planned.name);
            return Err(vec![SetupProblem::setup(text, planned.span)]);
        }
        Ok(Deal {
            shares,
            uncontrolled: rates.control == Control::Uncontrolled,
            requested_rate: rates.requested,
            requested: requested::columns(self, planned, &sds),
            skews: rates.skews,
            sds,
            notices,
        })
    }
}

/// Workloads for which no rate is left.
fn idle(plan: &Plan, run: &Run, rates: &rates::Rates) -> Vec<SetupNotice> {
    if rates.control == Control::Uncontrolled {
        return Vec::new();
    }
    let nothing = run.workloads.iter().zip(&rates.by_workload).filter(|(_, rate)| **rate <= 0.0);
    nothing
        .map(|(workload, _)| SetupNotice {
            warning: true,
            code: "no-rate-left",
            text: format!("wd={} does no I/O in rd={}: no rate is left for it", plan.wds[workload.wd], run.name),
        })
        .collect()
}

/// The words for what does not fit.
pub(crate) fn misfits(plan: &Plan, run: &Run, misfits: &[Misfit]) -> Vec<SetupProblem> {
    let text = |misfit: &Misfit| match misfit {
        Misfit::NotUsed { workload } => format!(
            "wd={} is not used in rd={}: its SDs have fewer threads than there are hosts and workers",
            plan.wds[run.workloads[*workload].wd], run.name
        ),
        Misfit::Streams { sd, threads, streams } => format!(
            "rd={}: sd={} has threads={threads}, which must be a multiple of streams={streams}",
            run.name, plan.sds[*sd].name
        ),
        Misfit::TooMany { sd, threads } => {
            format!("rd={}: sd={} has threads={threads}, which no host can have", run.name, plan.sds[*sd].name)
        }
    };
    misfits.iter().map(|m| SetupProblem::setup(text(m), run.span)).collect()
}
