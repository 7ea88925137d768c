//! What happens when an interval is complete.

use brunt_event::{AbortCause, EndScope, Event, HookDestination, RunEnd};
use brunt_parm::ast::MaxDataKind;

use crate::errors::Verdict;
use crate::idle::{Consequence, TooLong};
use crate::link::HostLink;
use crate::merge::Merged;
use crate::run::Run;
use crate::session::{Halt, now_ms};

impl<L: HostLink> Run<'_, '_, L> {
    /// Sends out the intervals that are complete.
    pub(super) async fn advance(&mut self) {
        while let Some(interval) = self.merger.next_complete() {
            let interval = self.recall(interval);
            let next = interval.number + 1;
            self.interval_done(interval).await;
            if self.lockstep && self.merger.last().is_none_or(|last| next <= last) {
                self.grant(next).await;
            }
        }
    }

    async fn interval_done(&mut self, interval: Merged) {
        let n = interval.number;
        let warmup = n <= self.warmup_intervals;
        if !warmup {
            self.findings.interval(self.elapsed_ns, &interval);
        }
        self.elapsed_ns += interval.length_ns();
        let asked = self.poll_monitor(n);
        let missing = self.missing_workers(&interval);
        if missing == 0 {
            self.last_whole = n;
        }
        let event = interval.event(self.number, warmup, missing, self.merger.shape());
        self.session.emit(Event::Interval(Box::new(event)));
        self.totals.add(&interval, warmup);
        if n == self.warmup_intervals {
            self.session.emit(Event::WarmupDone { run: self.number });
        }
        if self.merger.last() == Some(n) && !self.is_cut_short() {
            self.say_workload_done();
        }
        if asked {
            self.stop(RunEnd::Monitor, None).await;
        }
        let verdict = self.errors.interval(interval.errors(), self.elapsed_ns);
        if verdict != Verdict::GoOn {
            self.judge(verdict).await;
        }
        self.check_max_data(n).await;
        self.check_idle(&interval).await;
    }

    /// Workers with work whose part an interval lacks: they were lost before it, or their sample of it was.
    fn missing_workers(&self, interval: &Merged) -> u32 {
        let lacks =
            |w: usize| !interval.holds(w) && (self.session.lost[w] || self.merger.reported(w) > interval.number);
        let active = self.merger.shape().active.iter().enumerate();
        self.absent + active.filter(|(w, active)| **active && lacks(*w)).count() as u32
    }

    pub(super) fn say_workload_done(&mut self) {
        if !std::mem::replace(&mut self.workload_done, true) {
            self.session.emit(Event::WorkloadDone { run: self.number });
        }
    }

    /// Looks whether somebody asks for an end; interval n, in which he did, is the last then.
    fn poll_monitor(&mut self, n: u32) -> bool {
        if self.end.is_some() {
            return false;
        }
        let Some(scope) = self.monitor.poll() else { return false };
        self.session.emit(Event::EarlyEnd { scope });
        if scope == EndScope::Execution {
            self.halt = Some(Halt::Ended);
        }
        self.merger.end_at(n);
        true
    }

    /// One more interval is run after the limit is reached (`docs/vdbench/raw.md` §8.9).
    async fn check_max_data(&mut self, n: u32) {
        let (read, written) = self.totals.counted_bytes();
        let reached = self.max_data.iter().find(|(kind, limit)| {
            *limit
                <= match kind {
                    MaxDataKind::Both => read + written,
                    MaxDataKind::Read => read,
                    MaxDataKind::Written => written,
                }
        });
        let Some((_, limit)) = reached.copied() else { return };
        if self.end.is_some() || self.merger.last() == Some(n) {
            return;
        }
        self.session.emit(Event::MaxDataReached { run: self.number, limit });
        self.max_data.clear();
        self.merger.end_at(n + 1);
        self.stop(RunEnd::MaxData, Some(n + 1)).await;
    }

    async fn check_idle(&mut self, interval: &Merged) {
        let Some(watch) = &mut self.idle else { return };
        let late = watch.interval(self.interval, &interval.worker_sds, now_ms(), self.longest_idle);
        for too_long in late {
            if self.end.is_some() {
                return;
            }
            self.too_long(too_long).await;
        }
    }

    async fn too_long(&mut self, late: TooLong) {
        let sd = self.sd_names.iter().find(|(n, _)| *n == late.sd).map_or("?", |(_, name)| name);
        let label = self.session.layout.label(late.worker as usize).to_owned();
        let text = format!("timeout=: no I/O of sd={sd} was completed on {label} for {} seconds", late.seconds);
        self.session.notice(true, "timeout", text.clone());
        let abort = match late.consequence {
            Consequence::Warn => false,
            Consequence::Abort => true,
            Consequence::Ask(script) => match self.ask(&script, late.seconds).await {
                Ok(abort) => abort,
                Err(halt) => return self.cut(RunEnd::Errors, halt).await,
            },
        };
        if abort {
            self.cut(RunEnd::Errors, Halt::abort(AbortCause::Timeout, text)).await;
        }
    }

    /// A script that prints `abort` wants the end.
    async fn ask(&mut self, script: &str, seconds: u64) -> Result<bool, Halt> {
        let command = format!("{script} maxlate {seconds}");
        let result = self.session.run_here("timeout=", &command, HookDestination::Log).await?;
        Ok(result.lines.iter().any(|l| l.trim() == "abort"))
    }
}
