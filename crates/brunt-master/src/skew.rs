//! `abort_failed_skew=` (`docs/vdbench/raw.md` §3).

use brunt_event::AbortCause;

use crate::run::start::{Common, Dealt};
use crate::session::{Halt, Session};
use crate::totals::Totals;

impl<L> Session<'_, L> {
    /// Compares the shares of the workloads with what was asked for, in uncontrolled runs too.
    ///
    /// # Errors
    /// One differs by more than `abort_failed_skew=` percentage points.
    pub(crate) fn check_skew(&mut self, common: &Common<'_>, dealt: &Dealt<'_>, totals: &Totals) -> Result<(), Halt> {
        let (Some(limit), Some(mix)) = (common.resolved.plan.settings.abort_failed_skew, totals.mix()) else {
            return Ok(());
        };
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
