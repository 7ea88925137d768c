//! The share of each worker, from where its work was placed.

use std::collections::HashMap;

use super::area::{self, Claim, Space};
use super::place::{Instance, Placement};
use super::rates::Rates;
use super::workers::Workers;
use crate::engine::Choice;
use crate::plan::{Run, RunKind, Sd, Workload};
use crate::resolve::{Lun, Nature, Resolved, SetupProblem};
use crate::work::{Area, Backend, Control, Generator, OpenFlag, Target, WorkerShare};

/// Where the I/Os of a workload on an SD go.
pub(crate) struct Reach {
    pub(crate) miss: Area,
    pub(crate) hit: Option<Area>,
    pub(crate) hotband: Option<Area>,
    /// All parts of the SD, for `streams=`.
    pub(crate) streams: Vec<Area>,
}

/// Smallest hotband, bytes (`docs/vdbench/raw.md` §6).
const SMALLEST_HOTBAND: u64 = 1_000_000;

/// Finds the areas of a workload on an SD.
///
/// # Errors
/// Why there are none, as the end of a sentence about the SD.
pub(crate) fn reach(run: &Run, workload: &Workload, sd: &Sd, lun: &Lun) -> Result<Reach, String> {
    if run.kind == RunKind::Format {
        return Ok(Reach { miss: area::of_format(lun), hit: None, hotband: None, streams: Vec::new() });
    }
    let space = Space { size: lun.size, largest: lun.largest, raw: lun.is_raw(), offset: sd.offset };
    if let Some(streams) = workload.streams {
        let parts = area::of_streams(&space, streams)?;
        let whole =
            Area { low: parts.first().map_or(0, |p| p.low), high: parts.last().map_or(0, |p| p.high), wrap: None };
        return Ok(Reach { miss: whole, hit: None, hotband: None, streams: parts });
    }
    let areas = area::areas(&space, &Claim::of(workload, sd.hit_area, sd.range))?;
    let hotband = workload.hotband.map(|_| areas.miss);
    if let Some(band) = hotband.filter(|b| b.high.saturating_sub(b.low) < SMALLEST_HOTBAND) {
        return Err(format!(
            "its hotband has {} bytes and needs {SMALLEST_HOTBAND}",
            band.high.saturating_sub(band.low)
        ));
    }
    Ok(Reach { miss: areas.miss, hit: areas.hit, hotband, streams: Vec::new() })
}

/// The flags that an SD is opened with in a run: those of the run, else of the workload, else of the SD; direct I/O
/// for a block device without any (`docs/vdbench/decisions.md`).
pub(crate) fn flags(run: &Run, workload: &Workload, sd: &Sd, lun: &Lun) -> Vec<OpenFlag> {
    let said = run.openflags.as_ref().or(workload.openflags.as_ref()).unwrap_or(&sd.openflags);
    match lun.nature {
        Nature::Raw { block: true } if said.is_empty() => vec![OpenFlag::Direct],
        _ => said.clone(),
    }
}

/// Builds all shares.
///
/// # Errors
/// SDs on which a workload has no room.
pub(super) fn build(
    resolved: &Resolved,
    workers: &Workers,
    run: usize,
    run_id: u32,
    placement: &Placement,
    rates: &Rates,
) -> Result<Vec<Vec<Option<WorkerShare>>>, Vec<SetupProblem>> {
    let mut builder = Builder {
        resolved,
        workers,
        run: &resolved.plan.runs[run],
        shares: vec![None; workers.total()],
        targets: HashMap::new(),
        run_id,
        rates,
    };
    let mut counts = vec![0u32; builder.run.workloads.len()];
    for instance in &placement.instances {
        counts[instance.workload] += 1;
    }
    let first_stream = first_stream(resolved, run, run_id);
    let mut problems = Vec::new();
    for (n, instance) in placement.instances.iter().enumerate() {
        let rate = rates.by_workload[instance.workload] / f64::from(counts[instance.workload].max(1));
        let threads = placement.threads.get(&instance.sd).and_then(|t| t.get(&instance.worker)).copied().unwrap_or(0);
        if let Err(problem) = builder.add(instance, threads, rate, first_stream + n as u64) {
            problems.push(problem);
        }
    }
    if !problems.is_empty() {
        problems.dedup();
        return Err(problems);
    }
    let mut shares = builder.shares;
    let hosts =
        (0..resolved.plan.hosts.len()).map(|host| shares[workers.on(host)].iter_mut().map(Option::take).collect());
    Ok(hosts.collect())
}

/// Number of the first random stream of a run. It does not depend on whether the execution has a format run, so that
/// the same seed gives the same addresses the second time too.
fn first_stream(resolved: &Resolved, run: usize, run_id: u32) -> u64 {
    let runs = resolved.plan.runs.len().max(1);
    let formatted = resolved.plan.runs.first().is_some_and(|r| r.kind == RunKind::Format);
    let ordinal = if formatted { run } else { run + 1 };
    let pass = run_id as usize / runs;
    ((pass as u64) << 48) | ((ordinal as u64) << 24)
}

struct Builder<'a> {
    resolved: &'a Resolved,
    workers: &'a Workers,
    run: &'a Run,
    run_id: u32,
    rates: &'a Rates,
    shares: Vec<Option<WorkerShare>>,
    /// Index of the target of (worker, SD).
    targets: HashMap<(usize, usize), u32>,
}

impl Builder<'_> {
    fn add(&mut self, instance: &Instance, threads: u32, rate: f64, stream: u64) -> Result<(), SetupProblem> {
        if self.rates.control != Control::Uncontrolled && rate <= 0.0 {
            return Ok(());
        }
        let workload = &self.run.workloads[instance.workload];
        let sd = &self.resolved.plan.sds[instance.sd];
        let Some(lun) = &self.resolved.luns[instance.sd] else {
            return Err(SetupProblem::setup(format!("sd={}: nothing is known about its lun", sd.name), sd.span));
        };
        let reach = reach(self.run, workload, sd, lun).map_err(|why| no_room(&self.run.name, sd, &why))?;
        let target = self.target(instance, threads, workload, sd, lun);
        let streams = instance.streams.iter().filter_map(|n| reach.streams.get(*n as usize).copied()).collect();
        let generator = Generator {
            workload: instance.workload as u32,
            target,
            stream,
            rate,
            priority: workload.priority,
            read_pct: workload.read_pct,
            read_hit_pct: workload.read_hit_pct,
            write_hit_pct: workload.write_hit_pct,
            xfer: workload.xfer.clone(),
            seek: workload.seek,
            miss: reach.miss,
            hit: reach.hit,
            align: sd.align,
            stride: workload.stride,
            hotband: reach.hotband,
            streams,
        };
        if let Some(share) = &mut self.shares[instance.worker] {
            share.generators.push(generator);
        }
        Ok(())
    }

    /// The index of the target of an instance, made when it is the first on its worker.
    fn target(&mut self, instance: &Instance, threads: u32, workload: &Workload, sd: &Sd, lun: &Lun) -> u32 {
        let host = self.workers.host_of(instance.worker);
        let share = self.shares[instance.worker].get_or_insert_with(|| {
            let n = instance.worker - self.workers.on(host).start;
            empty_share(self.resolved, self.run, self.run_id, self.rates, host, n as u32)
        });
        let targets = &mut share.targets;
        let chosen = self.resolved.engines.get(instance.sd).and_then(|hosts| hosts.get(host)?.as_ref());
        let backend = chosen.map(|choice| choice.backend).unwrap_or_default();
        let polled = chosen.is_some_and(Choice::polled);
        let opened = !matches!(backend, Backend::Null | Backend::Sim);
        let sight = self.resolved.sights.get(instance.sd).and_then(|hosts| hosts.get(host)?.clone());
        let writes = lun.written || self.run.kind == RunKind::Format;
        *self.targets.entry((instance.worker, instance.sd)).or_insert_with(|| {
            targets.push(Target {
                sd: instance.sd as u32,
                name: sd.name.clone(),
                lun: sd.lun[host].clone().unwrap_or_default(),
                size: lun.size,
                threads,
                flags: flags(self.run, workload, sd, lun),
                write: writes,
                create: writes && lun.nature == Nature::File && backend != Backend::Null,
                raw: lun.is_raw(),
                sim: match &lun.nature {
                    Nature::Sim(specs) if backend == Backend::Sim => specs[host],
                    _ => None,
                },
                backend,
                polled,
                sight: sight.filter(|_| opened),
            });
            targets.len() as u32 - 1
        })
    }
}

/// The sentence about an SD that has no room for a workload.
pub(crate) fn no_room(run: &str, sd: &Sd, why: &str) -> SetupProblem {
    SetupProblem::setup(format!("rd={run}: sd={}: {why}", sd.name), sd.span)
}

fn empty_share(resolved: &Resolved, run: &Run, run_id: u32, rates: &Rates, host: usize, n: u32) -> WorkerShare {
    WorkerShare {
        worker: resolved.plan.hosts[host].worker_label(n),
        run: run.name.clone(),
        run_id,
        interval_ns: u64::from(run.interval) * 1_000_000_000,
        intervals: run.elapsed.map(|elapsed| elapsed.saturating_add(run.warmup) / run.interval.max(1)),
        warmup_intervals: run.warmup_intervals(),
        lockstep: false,
        seed: resolved.plan.settings.seed,
        control: rates.control.clone(),
        arrivals: run.arrivals,
        conduct: resolved.plan.settings.conduct,
        targets: Vec::new(),
        generators: Vec::new(),
    }
}
