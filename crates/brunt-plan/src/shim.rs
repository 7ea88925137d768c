//! Stand-in for resolve and deal, until they are there.
#![allow(missing_docs)]
use brunt_parm::Span;
use crate::plan::*;
use crate::work::*;

#[derive(Debug, Clone, PartialEq)]
pub enum SetupKind { Setup, Safety }
#[derive(Debug, Clone, PartialEq)]
pub struct SetupProblem { pub kind: SetupKind, pub text: String, pub vdbench: Option<String>, pub span: Option<Span> }
#[derive(Debug, Clone, PartialEq)]
pub struct SetupNotice { pub warning: bool, pub code: &'static str, pub text: String }
#[derive(Debug, Clone, PartialEq)]
pub struct FormatNeed { pub sd: usize, pub lun: String, pub host: usize }
#[derive(Debug, Clone)]
pub struct Resolved { pub plan: Plan, pub sd_sizes: Vec<Option<u64>>, pub formats: Vec<FormatNeed>, pub notices: Vec<SetupNotice> }
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RequestedColumns { pub xfersize: Option<u64>, pub threads: Option<f64>, pub rdpct: Option<f64>, pub rhpct: Option<f64>, pub whpct: Option<f64>, pub seekpct: Option<f64>, pub lun_bytes: u64, pub compratio: Option<f64> }
#[derive(Debug, Clone)]
pub struct Deal { pub shares: Vec<Vec<Option<WorkerShare>>>, pub uncontrolled: bool, pub requested_rate: f64, pub skews: Vec<Option<f64>>, pub sds: Vec<usize>, pub requested: RequestedColumns, pub notices: Vec<SetupNotice> }

impl Plan {
    pub fn lun_queries(&self, host: usize) -> Vec<LunQuery> {
        self.sds.iter().enumerate().filter_map(|(n, sd)| Some(LunQuery { sd: n as u32, name: sd.name.clone(), lun: sd.lun[host].clone()?, will_write: false, allow_in_use: false, overwrite: false })).collect()
    }
    pub fn resolve(self, facts: &[Vec<LunFacts>]) -> Result<Resolved, Vec<SetupProblem>> {
        let sd_sizes = (0..self.sds.len()).map(|n| facts.iter().flatten().find(|f| f.sd as usize == n).map(|f| f.size)).collect();
        Ok(Resolved { plan: self, sd_sizes, formats: vec![], notices: vec![] })
    }
}
impl Resolved {
    pub fn deal(&self, run: usize, run_id: u32, rate: f64, mix: Option<&[f64]>) -> Result<Deal, Vec<SetupProblem>> {
        let r = &self.plan.runs[run];
        let mut sds: Vec<usize> = r.workloads.iter().flat_map(|w| w.sds.clone()).collect();
        sds.sort_unstable(); sds.dedup();
        let target = |sd: usize, h: usize| Target { sd: sd as u32, name: self.plan.sds[sd].name.clone(), lun: self.plan.sds[sd].lun[h].clone().unwrap_or_default(), size: self.sd_sizes[sd].unwrap_or(0), threads: 1, flags: vec![], write: false, create: false, raw: false, sim: None };
        let shares = self.plan.hosts.iter().enumerate().map(|(h, host)| (0..host.workers).map(|n| {
            let mut generators = vec![];
            for (w, wl) in r.workloads.iter().enumerate() { for sd in &wl.sds {
                generators.push(Generator { workload: w as u32, target: sds.iter().position(|s| s == sd).unwrap_or(0) as u32, stream: 0, rate, priority: None, read_pct: wl.read_pct, read_hit_pct: 0.0, write_hit_pct: 0.0, xfer: wl.xfer.clone(), seek: wl.seek, miss: Area { low: 0, high: 1 << 20, wrap: None }, hit: None, align: None, stride: None, hotband: None, streams: vec![] });
            } }
            Some(WorkerShare { worker: host.worker_label(n), run: r.name.clone(), run_id, interval_ns: u64::from(r.interval) * 1_000_000_000, intervals: r.elapsed.map(|e| (e + r.warmup) / r.interval), seed: 0, control: Control::Paced, arrivals: Arrivals::Exponential, targets: sds.iter().map(|s| target(*s, h)).collect(), generators })
        }).collect()).collect();
        let uncontrolled = matches!(r.rate, Rate::Max | Rate::CurveMax) && !r.controlled();
        let requested_rate = match r.rate { Rate::Max => 9_999_988.0, Rate::CurveMax => 9_999_977.0, _ => rate };
        let skews = match mix { Some(m) => m.iter().map(|x| Some(*x)).collect(), None => r.workloads.iter().map(|w| w.skew).collect() };
        Ok(Deal { shares, uncontrolled, requested_rate, skews, sds, requested: RequestedColumns::default(), notices: vec![] })
    }
}
