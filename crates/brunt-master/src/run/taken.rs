//! A run that another master began.

use std::time::Duration;

use brunt_event::{EndScope, Interval, RunEnd};

use crate::idle::LongestIdle;
use crate::link::HostLink;
use crate::merge::Merged;
use crate::past::PastRun;
use crate::run::Run;
use crate::run::start::{Common, Dealt};
use crate::session::{Halt, Session};

/// The number of SIGINT.
const SIGINT: i32 = 2;

impl<'s, L: HostLink> Session<'s, L> {
    /// Takes up a run that was started: its hooks were run, its work was handed out.
    ///
    /// # Errors
    /// An interrupt.
    pub(crate) async fn take_up_run<'r>(
        &'r mut self,
        common: &'r Common<'r>,
        dealt: &Dealt<'_>,
        longest_idle: &'r mut LongestIdle,
        past: PastRun,
    ) -> Result<Run<'r, 's, L>, Halt> {
        self.plan_notices(&dealt.deal.notices);
        let fleet = self.fleet;
        let hosts: Vec<usize> = dealt.hosts().into_iter().filter(|h| !self.is_host_lost(*h)).collect();
        for h in &hosts {
            if let (Some(host), Some(shares)) = (fleet.hosts.get(*h), dealt.deal.shares.get(*h)) {
                host.link.take_up(shares);
            }
        }
        let mut failed = Vec::new();
        if past.intervals.is_empty() {
            // It may be that they were not told to start; who was has it done once.
            let delay = self.start_delay(&hosts).await?;
            for (host, answer) in self.start_all(&hosts, delay, dealt).await {
                failed.extend(answer.err().map(|error| (host, error.to_string())));
            }
        }
        self.returned.clear();
        // Nobody knows any more how exactly they started.
        let skew = vec![None; if self.layout.hosts() > 1 { self.layout.hosts() } else { 0 }];
        let mut run = self.running(common, dealt, longest_idle);
        (run.not_started, run.start_skew_ns, run.taken_up) = (failed, skew, true);
        if let Some(scope) = past.early {
            run.end = Some(RunEnd::Monitor);
            run.halt = (scope == EndScope::Execution).then_some(Halt::Ended);
            run.drain.begin(0);
        }
        run.past = past.intervals;
        Ok(run)
    }
}

impl<L: HostLink> Run<'_, '_, L> {
    /// Puts what was told of an interval in the place of what has come of it again, and what was told of intervals before
    /// it where nothing came.
    pub(super) fn recall(&mut self, mut interval: Merged) -> Merged {
        if self.past.is_empty() {
            return interval;
        }
        let told = self.past.split_off(&interval.number);
        let before = std::mem::replace(&mut self.past, told);
        before.into_values().for_each(|before| self.count(&before));
        if let Some(told) = self.past.remove(&interval.number) {
            interval.adopt(&told, self.merger.shape());
        }
        interval
    }

    /// Counts all that was told and has not come again: nothing more comes of it.
    pub(super) fn recall_all(&mut self) {
        let told = std::mem::take(&mut self.past);
        if let Some(last) = told.keys().next_back() {
            self.merger.pass_over(*last);
        }
        told.into_values().for_each(|told| self.count(&told));
    }

    /// Counts an interval that the last master told of, and whose consequences it drew.
    fn count(&mut self, told: &Interval) {
        let interval = Merged::of(told, self.merger.shape());
        if !told.warmup {
            self.findings.interval(self.elapsed_ns, &interval);
        }
        self.elapsed_ns += interval.length_ns();
        if told.missing_workers == 0 {
            self.last_whole = told.interval;
        }
        self.totals.add(&interval, told.warmup);
        let _ = self.errors.interval(interval.errors(), self.elapsed_ns);
        if !std::mem::replace(&mut self.lacks_times, true) {
            let text = format!(
                "rd={}: its first intervals come from what its last master told; the latencies of single SDs and workloads lack \
                 them",
                self.name
            );
            self.session.notice(true, "taken-over", text);
        }
    }

    /// The end of a run that was taken up and is over before its time: its last master had told the workers to stop.
    pub(super) fn judge_end(&mut self) {
        let early = self.merger.last().is_some_and(|last| self.merger.completed() < last);
        if self.taken_up && self.end.is_none() && early {
            self.end = Some(RunEnd::Signal);
            self.halt.get_or_insert(Halt::Interrupted(SIGINT));
        }
    }
}

/// What is left of a pause that began behind a run which ended at that time.
pub(crate) fn rest_of_pause(seconds: u32, ended_ms: i64, now_ms: i64) -> u32 {
    let over = Duration::from_millis(u64::try_from(now_ms - ended_ms).unwrap_or(0)).as_secs();
    seconds.saturating_sub(u32::try_from(over).unwrap_or(u32::MAX))
}
