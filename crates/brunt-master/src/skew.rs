//! What share of a run each workload got.

use brunt_event::AbortCause;

use crate::link::HostLink;
use crate::run::start::{Common, Dealt};
use crate::session::{Halt, Session};
use crate::totals::Totals;

impl<L: HostLink> Session<'_, L> {
    /// Names workloads that got nothing because of their priority, and compares shares with what was asked for, in
    /// uncontrolled runs too (`abort_failed_skew=`, `docs/vdbench/raw.md` §3).
    ///
    /// # Errors
    /// One differs by more than `abort_failed_skew=` percentage points.
    pub(crate) fn check_mix(&mut self, common: &Common<'_>, dealt: &Dealt<'_>, totals: &Totals) -> Result<(), Halt> {
        let Some(mix) = totals.mix() else { return Ok(()) };
        let plan = &common.resolved.plan;
        for (workload, _) in
            dealt.plan.workloads.iter().zip(&mix).filter(|(w, seen)| w.priority.is_some() && **seen == 0.0)
        {
            let wd = plan.wds.get(workload.wd).map_or("?", String::as_str);
            let text = format!("rd={}: wd={wd} did no I/O: workloads of higher priority took all", dealt.plan.name);
            self.notice(true, "starved", text);
        }
        let Some(limit) = plan.settings.abort_failed_skew else { return Ok(()) };
        let failed = |(n, seen): (usize, &f64)| {
            let asked = dealt.deal.skews.get(n).copied().flatten();
            asked.is_some_and(|asked| (asked - seen).abs() > limit)
        };
        if mix.iter().enumerate().any(failed) {
            let text = format!("'abort_failed_skew={limit}' parameter used. See file skew.html for more info.");
            return Err(Halt::abort(AbortCause::Skew, text));
        }
        Ok(())
    }
}
