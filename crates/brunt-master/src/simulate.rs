//! `-s`: what would be run, without running it.

use brunt_event::Event;
use brunt_plan::plan::Plan;

use crate::planned::{anchor_sizes, planned};

/// Tells of every run of one pass, as an execution of the plan would start them.
pub fn simulate(plan: &Plan, as_vdbench: bool, sink: &mut dyn FnMut(Event)) {
    let planned = planned(plan, as_vdbench);
    let runs = planned.runs.len() as u32;
    let seconds = planned.runs.iter().map(|r| u64::from(r.elapsed.unwrap_or(0)) + u64::from(r.warmup)).sum();
    sink(Event::Planned(planned));
    let anchors = anchor_sizes(plan);
    if !anchors.is_empty() {
        sink(Event::AnchorSizes { anchors });
    }
    (0..runs).for_each(|run| sink(Event::Simulated { run }));
    sink(Event::SimulationTotal { runs, seconds });
}
