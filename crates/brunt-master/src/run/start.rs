//! From a run of the plan to a run that is going on.

use std::collections::BTreeMap;
use std::time::Duration;

use brunt_event::{AbortCause, Event, RateText, Requested, RunStarted, RunWorkload};
use brunt_parm::ast::MaxDataKind;
use brunt_plan::plan::{self, Rate, RunKind};
use brunt_plan::work::{Seek, WorkerShare};
use brunt_plan::{Deal, Resolved};

use crate::errors::ErrorCount;
use crate::hooks::HookLevel;
use crate::idle::{IdleWatch, LongestIdle};
use crate::link::{HostLink, LinkError};
use crate::merge::{Merger, Shape};
use crate::monitor::Monitor;
use crate::planned::{Numbers, max_text, planned_run};
use crate::run::drain::{ANSWER_LIMIT, Drain};
use crate::run::findings::Findings;
use crate::run::laggard::Laggards;
use crate::run::orders::Orders;
use crate::run::{EndOfData, Run, WorkerState};
use crate::session::{Halt, Session, now_ms};
use crate::totals::Totals;

/// So long a host may take to open its luns before it is named.
const SLOW: Duration = Duration::from_secs(10);
/// So long it may take at all: an open that takes longer waits for a path that is dead, or for the other end of a FIFO.
const PREPARE_LIMIT: Duration = Duration::from_secs(60);
/// Luns that are named one by one.
const NAMED: usize = 8;

/// Time in which the link says that a lease is over.
const LEASE_GRACE: Duration = Duration::from_secs(10);

/// What all runs of an execution share.
pub(crate) struct Common<'r> {
    pub(crate) resolved: &'r Resolved,
    pub(crate) numbers: Numbers,
    pub(crate) monitor: &'r Monitor,
    pub(crate) host_detail: bool,
    pub(crate) worker_detail: bool,
}

/// A run that is dealt out.
pub(crate) struct Dealt<'r> {
    pub(crate) plan: &'r plan::Run,
    /// Index in the plan.
    pub(crate) index: usize,
    /// Number in this execution.
    pub(crate) number: u32,
    /// I/Os per second, where it is a number.
    pub(crate) rate: f64,
    pub(crate) deal: Deal,
    /// Workers that would have work and are lost: theirs is not in the deal.
    pub(crate) absent: Vec<u32>,
}

impl Dealt<'_> {
    pub(super) fn shares(&self) -> impl Iterator<Item = &Option<WorkerShare>> + Clone {
        self.deal.shares.iter().flatten()
    }

    pub(super) fn hosts(&self) -> Vec<usize> {
        let with_work = |(_, shares): &(usize, &Vec<Option<WorkerShare>>)| shares.iter().any(Option::is_some);
        self.deal.shares.iter().enumerate().filter(with_work).map(|(h, _)| h).collect()
    }

    fn intervals(&self) -> Option<u32> {
        self.shares().flatten().filter_map(|s| s.intervals).max()
    }

    fn warmup_intervals(&self) -> u32 {
        self.plan.warmup_intervals()
    }

    /// Limits in bytes.
    fn max_data(&self) -> Vec<(MaxDataKind, u64)> {
        self.plan.max_data.iter().map(|(kind, bytes)| (*kind, *bytes as u64)).collect()
    }

    /// Whether several workers have work and some are on a virtual clock: it would carry them away from the others.
    fn in_lockstep(&self) -> bool {
        let on_virtual = |share: &WorkerShare| share.targets.iter().any(|t| t.sim.is_some_and(|sim| sim.virtual_clock));
        self.shares().flatten().count() > 1 && self.shares().flatten().any(on_virtual)
    }

    /// Whether any of the work ends with its data.
    pub(super) fn ends_with_data(&self) -> bool {
        self.shares().flatten().any(share_ends)
    }
}

/// Whether a worker's share holds work that ends with its data.
fn share_ends(share: &WorkerShare) -> bool {
    share.generators.iter().any(|g| g.seek == Seek::Eof)
}

fn worker_state(share: &Option<WorkerShare>) -> WorkerState {
    let Some(share) = share else { return WorkerState::default() };
    WorkerState {
        luns: share.targets.iter().map(|t| t.lun.clone()).collect(),
        end_of_data: share_ends(share).then_some(EndOfData::Ahead),
        sequential: share.generators.iter().any(|g| !matches!(g.seek, Seek::Percent(p) if p >= 100.0)),
        outstanding: None,
        cut_off: false,
    }
}

impl<'s, L: HostLink> Session<'s, L> {
    /// Runs the run's hooks, hands out its work and starts it.
    ///
    /// # Errors
    /// A lost worker that has work in it, a hook that failed, a host that cannot do its share, an interrupt.
    pub(crate) async fn start_run<'r>(
        &'r mut self,
        common: &'r Common<'r>,
        dealt: &Dealt<'_>,
        longest_idle: &'r mut LongestIdle,
    ) -> Result<Run<'r, 's, L>, Halt> {
        self.plan_notices(&dealt.deal.notices);
        self.run_hooks("startcmd", &dealt.plan.startcmd, HookLevel::Run).await?;
        let mut failed = self.prepare(dealt).await?;
        let prepared = |h: &usize| !failed.iter().any(|(host, _)| host == h);
        let hosts: Vec<usize> = dealt.hosts().into_iter().filter(prepared).collect();
        let delay = self.start_delay(&hosts).await?;
        let started = run_started(common, dealt, now_ms() + delay.as_millis() as i64);
        self.emit(Event::RunStarted(started));
        self.remind_of_failed_hook(&dealt.plan.name);
        let mut skew = vec![None; if self.layout.hosts() > 1 { self.layout.hosts() } else { 0 }];
        for (host, answer) in self.start_all(&hosts, delay, dealt).await {
            match answer {
                Ok(off) => {
                    if let (Some(skew), Some(off)) = (skew.get_mut(host), off) {
                        *skew = Some(off.as_nanos() as u64);
                    }
                }
                Err(error) => failed.push((host, error.to_string())),
            }
        }
        self.returned.clear();
        Ok(Run { not_started: failed, start_skew_ns: skew, ..self.running(common, dealt, longest_idle) })
    }

    /// Starts hosts, and gives how far off each may be. An interrupt gives no start up, since what has started must be ended
    /// in order; who has not answered some seconds later may have started as well (`None`).
    pub(super) async fn start_all(
        &mut self,
        hosts: &[usize],
        delay: Duration,
        dealt: &Dealt<'_>,
    ) -> Vec<(usize, Result<Option<Duration>, LinkError>)> {
        let (fleet, limit) = (self.fleet, self.start_limit(dealt));
        let starts = hosts.iter().filter_map(|h| Some((*h, fleet.hosts.get(*h)?.link.start(delay))));
        let name_slow = |session: &mut Self, slow: &[usize]| session.name_slow("start", slow, SLOW, Some(limit));
        let answers = self.call_through(starts.collect(), SLOW, limit, name_slow).await;
        answers.into_iter().map(|(host, answer)| (host, answer.transpose())).collect()
    }

    /// How long a start may take on a host that is there: no shorter than the lease, since one that is silent for so
    /// long is lost anyhow, and one that is not may have started.
    fn start_limit(&self, dealt: &Dealt<'_>) -> Duration {
        let longest = dealt.hosts().into_iter().map(|host| self.layout.lease(host)).max();
        longest.unwrap_or_default().max(ANSWER_LIMIT) + LEASE_GRACE
    }

    /// Time from the call to the common start: long enough for the way to the farthest host.
    pub(super) async fn start_delay(&mut self, hosts: &[usize]) -> Result<Duration, Halt> {
        let fleet = self.fleet;
        let measures = hosts.iter().filter_map(|h| Some((*h, fleet.hosts.get(*h)?.link.measure()))).collect();
        let name_slow = |session: &mut Self, slow: &[usize]| {
            session.name_slow("round trips", slow, SLOW, Some(PREPARE_LIMIT));
        };
        let trips = self.call_within(measures, SLOW, Some(PREPARE_LIMIT), name_slow).await?;
        let longest = trips.into_iter().filter_map(|(_, trip)| trip.ok()).max().unwrap_or_default();
        Ok(self.rules.start_delay.max(longest * 2))
    }

    /// Hands the shares out. Hosts that were lost and without which the run goes on come back with their reason.
    async fn prepare(&mut self, dealt: &Dealt<'_>) -> Result<Vec<(usize, String)>, Halt> {
        let (fleet, lockstep) = (self.fleet, dealt.in_lockstep());
        let prepares = dealt.hosts().into_iter().filter_map(|h| {
            let mut shares = dealt.deal.shares.get(h)?.clone();
            shares.iter_mut().flatten().for_each(|share| share.lockstep = lockstep);
            Some((h, fleet.hosts.get(h)?.link.prepare(shares)))
        });
        let name_slow = |session: &mut Self, slow: &[usize]| {
            session.name_slow("prepare", slow, SLOW, Some(PREPARE_LIMIT));
        };
        let answers = self.call_within(prepares.collect(), SLOW, Some(PREPARE_LIMIT), name_slow).await?;
        self.catch_up();
        let mut lost = Vec::new();
        for (host, answer) in answers {
            let label = self.layout.host_label(host);
            let (cause, error) = match answer {
                Ok(()) => continue,
                Err(error @ LinkError::Refused(_)) => (AbortCause::Setup, error),
                Err(error @ LinkError::Broken(_)) => (AbortCause::WorkerLost, error),
            };
            // A host that is there and does not answer hangs at one of its luns.
            let hangs = cause == AbortCause::WorkerLost && !self.is_host_lost(host);
            let error = if hangs { format!("prepare: {error}; {}", luns_of(dealt, host)) } else { error.to_string() };
            if cause == AbortCause::WorkerLost && self.rules.goes_on_without_lost {
                lost.push((host, error));
                continue;
            }
            return Err(Halt::abort(cause, format!("host={label}: {error}")));
        }
        Ok(lost)
    }

    /// Takes the work of lost workers out of a deal, where the execution goes on without them.
    ///
    /// # Errors
    /// A lost worker that has work in it, where it does not; or nobody else has.
    pub(crate) fn without_lost(&mut self, rd: &str, deal: &mut Deal) -> Result<Vec<u32>, Halt> {
        self.catch_up();
        let shares = || deal.shares.iter().flatten().enumerate().filter(|(_, share)| share.is_some());
        let (lost, living): (Vec<usize>, Vec<usize>) = shares().map(|(w, _)| w).partition(|w| self.lost[*w]);
        let Some(first) = lost.first() else { return Ok(Vec::new()) };
        if !self.rules.goes_on_without_lost || living.is_empty() {
            return Err(self.worker_lost(*first));
        }
        self.went_on = true;
        let labels: Vec<&str> = lost.iter().map(|w| self.layout.label(*w)).collect();
        let (are, their) = if labels.len() == 1 { ("is", "its part is") } else { ("are", "their parts are") };
        let text = format!(
            "on_worker_loss=continue: rd={rd} stands for {} of {} workers: {} {are} lost, and {their} not done by others",
            living.len(),
            living.len() + lost.len(),
            labels.join(", ")
        );
        self.notice(true, "workers-missing", text);
        let shares = deal.shares.iter_mut().flatten().enumerate();
        shares.filter(|(w, _)| lost.contains(w)).for_each(|(_, share)| *share = None);
        Ok(lost.into_iter().map(|w| w as u32).collect())
    }

    pub(super) fn running<'r>(
        &'r mut self,
        common: &'r Common<'r>,
        dealt: &Dealt<'_>,
        longest_idle: &'r mut LongestIdle,
    ) -> Run<'r, 's, L> {
        let intervals = dealt.intervals();
        let seconds = intervals.map(|n| Duration::from_secs(u64::from(n) * u64::from(dealt.plan.interval)));
        let drain = Drain::new(seconds.map(|s| s + self.rules.start_delay), self.rules.drain_limit);
        let rule = self.rules.idle.clone().filter(|_| !dealt.ends_with_data());
        Run {
            monitor: common.monitor,
            longest_idle,
            number: dealt.number,
            name: dealt.plan.name.clone(),
            sd_names: sd_names(common, dealt),
            hosts: dealt.hosts(),
            interval: dealt.plan.interval,
            warmup_intervals: dealt.warmup_intervals(),
            merger: Merger::new(shape(self, common, dealt), intervals),
            totals: Totals::default(),
            done: BTreeMap::new(),
            findings: Findings::new(dealt),
            errors: ErrorCount::new(common.resolved.plan.settings.data_errors.clone()),
            idle: rule.map(|rule| IdleWatch::new(rule, watched(common, dealt))),
            max_data: dealt.max_data(),
            workers: dealt.shares().map(worker_state).collect(),
            elapsed_ns: 0,
            drain,
            end: None,
            halt: None,
            error_command: None,
            workload_done: false,
            not_started: Vec::new(),
            lockstep: dealt.in_lockstep(),
            orders: Orders::default(),
            absent: dealt.absent.len() as u32,
            last_whole: 0,
            laggards: Laggards::new(),
            start_skew_ns: Vec::new(),
            taken_up: false,
            past: BTreeMap::new(),
            lacks_times: false,
            session: self,
        }
    }
}

/// What was to be opened on a host.
fn luns_of(dealt: &Dealt<'_>, host: usize) -> String {
    let targets = dealt.deal.shares.get(host).into_iter().flatten().flatten().flat_map(|share| &share.targets);
    let mut luns: Vec<String> = targets.map(|t| format!("sd={} (lun={})", t.name, t.lun)).collect();
    luns.sort_unstable();
    luns.dedup();
    let more = luns.len().saturating_sub(NAMED);
    luns.truncate(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("it was to open {}{more}", luns.join(", "))
}

fn shape<L>(session: &Session<'_, L>, common: &Common<'_>, dealt: &Dealt<'_>) -> Shape {
    let number = |sd: &usize| Some((*sd as u32, *common.numbers.sds.get(*sd)?.as_ref()?));
    Shape {
        hosts: session.layout.hosts(),
        worker_hosts: session.layout.workers().iter().map(|w| w.host).collect(),
        active: dealt.shares().map(Option::is_some).collect(),
        sds: dealt.deal.sds.iter().filter_map(number).collect(),
        workloads: dealt.plan.workloads.len(),
        host_detail: common.host_detail,
        worker_detail: common.worker_detail,
        watched: session.rules.idle.is_some(),
    }
}

fn sd_names(common: &Common<'_>, dealt: &Dealt<'_>) -> Vec<(u32, String)> {
    let name = |sd: &usize| {
        let number = common.numbers.sds.get(*sd).copied().flatten()?;
        Some((number, common.resolved.plan.sds.get(*sd)?.name.clone()))
    };
    dealt.deal.sds.iter().filter_map(name).collect()
}

/// The (worker, SD) pairs that should complete something, as numbered in the reports.
fn watched(common: &Common<'_>, dealt: &Dealt<'_>) -> Vec<(u32, u32)> {
    let mut pairs = Vec::new();
    for (w, share) in dealt.shares().enumerate() {
        let Some(share) = share else { continue };
        for generator in &share.generators {
            let sd = share.targets.get(generator.target as usize).map(|t| t.sd as usize);
            let number = sd.and_then(|sd| common.numbers.sds.get(sd).copied().flatten());
            pairs.extend(number.map(|sd| (w as u32, sd)));
        }
    }
    pairs
}

fn run_started(common: &Common<'_>, dealt: &Dealt<'_>, start_ms: i64) -> RunStarted {
    let Dealt { plan, deal, .. } = dealt;
    let mut planned = planned_run(dealt.plan, dealt.plan, false);
    planned.rate = match &plan.rate {
        Rate::Max | Rate::CurveMax => max_text(&plan.rate, deal.uncontrolled),
        Rate::Steps(_) => RateText::Variable,
        Rate::Fixed(_) | Rate::CurvePoint { .. } | Rate::PercentOfPrevious(_) => RateText::Fixed(dealt.rate),
    };
    let workloads = plan.workloads.iter().enumerate();
    let numbers = &common.numbers;
    RunStarted {
        run: dealt.number,
        plan: planned,
        requested_rate: deal.requested_rate,
        requested: requested(deal),
        workloads: workloads
            .map(|(n, w)| RunWorkload {
                wd: numbers.wds.get(w.wd).copied().flatten().filter(|_| plan.kind == RunKind::Normal),
                name: common.resolved.plan.wds.get(w.wd).cloned().unwrap_or_default(),
                skew: deal.skews.get(n).copied().flatten(),
            })
            .collect(),
        sds: deal.sds.iter().filter_map(|sd| numbers.sds.get(*sd).copied().flatten()).collect(),
        workers: workers_with_work(dealt),
        uncontrolled: deal.uncontrolled,
        warmup_intervals: dealt.warmup_intervals(),
        start_ms,
    }
}

/// Also those that are lost: rows say how many of them they lack.
fn workers_with_work(dealt: &Dealt<'_>) -> Vec<u32> {
    let with_work = dealt.shares().enumerate().filter(|(_, share)| share.is_some()).map(|(w, _)| w as u32);
    let mut workers: Vec<u32> = with_work.chain(dealt.absent.iter().copied()).collect();
    workers.sort_unstable();
    workers
}

fn requested(deal: &Deal) -> Requested {
    let r = &deal.requested;
    Requested {
        xfersize: r.xfersize,
        threads: r.threads,
        rdpct: r.rdpct,
        rhpct: r.rhpct,
        whpct: r.whpct,
        seekpct: r.seekpct,
        lun_bytes: r.lun_bytes,
        compratio: r.compratio,
    }
}
