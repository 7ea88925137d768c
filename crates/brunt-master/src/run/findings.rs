//! What is gathered in the course of a run to judge it at its end.

use std::collections::BTreeMap;

use brunt_event::{Event, Witnessed, WitnessedDevice};
use brunt_plan::plan::Rate;
use brunt_plan::work::{DeviceCounts, WorkerShare};
use brunt_stats::{CpuTicks, IntervalSample, Times};

use crate::fleet::Layout;
use crate::link::HostLink;
use crate::merge::Merged;
use crate::pace::{Asked, Pace};
use crate::run::Run;
use crate::run::start::Dealt;
use crate::verdict::{self, Evidence};
use crate::witness::{self, Done};

/// What is known so far.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// What the kernels counted, by host.
    devices: Vec<(usize, Vec<DeviceCounts>)>,
    /// By worker and SD of the plan: reads and writes that failed.
    failures: BTreeMap<(usize, u32), [u64; 2]>,
    /// By host: the cores that its I/O threads may use, in counted intervals.
    io_cpu: BTreeMap<usize, CpuTicks>,
    /// Of runs whose rate was asked for.
    pace: Option<Pace>,
    /// Nothing of the pace can be told: work ends with its data, or an SD or a worker is out.
    partial: bool,
    /// Time passes as the simulation says: no processor and no lateness is real.
    virtual_clock: bool,
}

impl Findings {
    pub(super) fn new(dealt: &Dealt<'_>) -> Self {
        let shares = dealt.shares().flatten();
        let lanes = |sd: &usize| {
            let targets = dealt.shares().flatten().flat_map(|share| &share.targets);
            targets.filter(|t| t.sd as usize == *sd).map(|t| u64::from(t.threads)).sum()
        };
        let is_rate = !matches!(dealt.plan.rate, Rate::Max | Rate::CurveMax);
        let pace = Asked::of(shares.clone()).filter(|_| is_rate).map(|asked| {
            let lanes = dealt.deal.sds.iter().map(lanes).collect();
            Pace::new(asked, dealt.plan.arrivals, lanes)
        });
        let is_virtual = |share: &WorkerShare| share.targets.iter().any(|t| t.sim.is_some_and(|sim| sim.virtual_clock));
        Self { pace, partial: dealt.ends_with_data(), virtual_clock: shares.clone().any(is_virtual), ..Self::default() }
    }

    /// The kernel of a host has counted.
    pub(super) fn devices(&mut self, host: usize, devices: Vec<DeviceCounts>) {
        self.devices.push((host, devices));
    }

    /// An SD was taken out of the run, or a worker was lost.
    pub(super) fn lacks_some(&mut self) {
        self.partial = true;
    }

    /// A worker has told of an interval.
    pub(super) fn sample(&mut self, layout: &Layout, worker: usize, sample: &IntervalSample, counted: bool) {
        for pair in &sample.pairs {
            let (read, write) = (&pair.cell.read, &pair.cell.write);
            if read.errors + write.errors > 0 {
                let failures = self.failures.entry((worker, pair.sd)).or_default();
                failures[0] += read.errors;
                failures[1] += write.errors;
            }
        }
        if let (true, Some(ticks), Some(place)) = (counted, &sample.io_cpu, layout.workers().get(worker)) {
            self.io_cpu.entry(place.host).or_default().merge(ticks);
        }
    }

    /// An interval is complete that began so long after the start.
    pub(super) fn interval(&mut self, from_ns: u64, interval: &Merged) {
        if let Some(pace) = &mut self.pace {
            let busy: Vec<u64> = interval.sds.iter().map(|sd| sd.busy_ns).collect();
            pace.interval(from_ns, interval.length_ns(), interval.total.both().ops, &busy);
        }
    }

    /// The devices of a host, whose workers have all told what they did.
    fn host(&self, host: usize, done: &Done, layout: &Layout) -> Vec<WitnessedDevice> {
        let failures = |sds: &[u32]| {
            let mut sum = [0, 0];
            for (_, [reads, writes]) in
                self.failures.iter().filter(|((w, sd), _)| layout.of_host(host).contains(w) && sds.contains(sd))
            {
                sum[0] += reads;
                sum[1] += writes;
            }
            sum
        };
        let counted = self.devices.iter().filter(|(h, _)| *h == host).flat_map(|(_, devices)| devices);
        counted.map(|device| witness::judge_device(host as u32, done, &failures, device)).collect()
    }
}

impl<L: HostLink> Run<'_, '_, L> {
    /// Says what the kernels saw, and what limited the run.
    pub(super) fn judge_run(&mut self, times: &Times) {
        let devices = self.witnessed();
        if !devices.is_empty() {
            self.session.emit(Event::Witnessed(Witnessed { run: self.number, devices }));
        }
        let findings = &self.findings;
        if self.totals.is_short() || findings.virtual_clock {
            return;
        }
        let hosts: Vec<_> = findings.io_cpu.iter().map(|(host, ticks)| (*host as u32, *ticks)).collect();
        let limits =
            verdict::limits(&Evidence { pace: findings.pace.as_ref(), whole: !findings.partial, times, hosts: &hosts });
        if !limits.is_empty() {
            self.session.emit(Event::Limited { run: self.number, limits });
        }
    }

    /// The devices of all hosts, against what their workers did.
    fn witnessed(&self) -> Vec<WitnessedDevice> {
        let mut all = Vec::new();
        for host in self.hosts.iter().copied() {
            all.extend(self.findings.host(host, &self.done_on(host), &self.session.layout));
        }
        let numbers = &self.session.numbers.sds;
        for device in &mut all {
            device.sds = device.sds.iter().filter_map(|sd| numbers.get(*sd as usize).copied().flatten()).collect();
        }
        all
    }

    /// What the workers of a host have told at their ends.
    fn done_on(&self, host: usize) -> Done {
        let mut done = Done::default();
        let told = self.session.layout.of_host(host).filter_map(|worker| self.done.get(&worker));
        told.flatten().for_each(|totals| done.add(totals));
        done
    }
}
