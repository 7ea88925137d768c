//! The run `SD_format`, which makes and extends files before everything else.

use std::sync::Arc;

use brunt_parm::ast::{Arrivals, LoopKind};

use super::{Resolved, Usage};
use crate::plan::{LoopValue, Rate, Run, RunKind, Settings, Workload};
use crate::work::{Seek, Xfer};

/// Transfer size of a format, bytes (`docs/vdbench/raw.md` §5.1).
const XFER: u64 = 128 << 10;
/// Transfer size of a format with a small SD in it, bytes.
const SMALL_XFER: u64 = 512;
/// Threads of a format, per SD.
const THREADS: u32 = 2;

/// Puts the format run in front when an SD needs it.
pub(crate) fn insert_run(resolved: &mut Resolved, usage: &Usage) {
    let needed: Vec<(usize, u64)> = resolved
        .luns
        .iter()
        .enumerate()
        .filter_map(|(at, lun)| lun.as_ref().filter(|l| l.format_from.is_some()).map(|l| (at, l.size)))
        .collect();
    if needed.is_empty() {
        return;
    }
    let used: Vec<Vec<bool>> = (0..resolved.plan.hosts.len()).map(|host| usage.on_host(host)).collect();
    let any_small = needed.iter().any(|(_, size)| *size < XFER);
    let mut workloads = Vec::with_capacity(needed.len());
    for (sd, size) in &needed {
        let Some(lun) = &mut resolved.luns[*sd] else { continue };
        let direct = resolved.plan.sds[*sd].openflags.iter().any(|f| f.is_direct());
        let smallest = if direct { lun.block.max(SMALL_XFER) } else { SMALL_XFER };
        let xfer = xfer_size(&resolved.plan.settings, any_small, *size, smallest);
        lun.largest = lun.largest.max(xfer);
        resolved.plan.wds.push(format!("SD_format_{}", resolved.plan.sds[*sd].name));
        let hosts = (0..used.len()).filter(|host| used[*host][*sd]).collect();
        let skew = 100.0 / needed.len() as f64;
        workloads.push(workload(resolved.plan.wds.len() - 1, *sd, hosts, xfer, skew));
    }
    for run in &mut resolved.plan.runs {
        if let Rate::CurvePoint { of_run, .. } = &mut run.rate {
            *of_run += 1;
        }
    }
    resolved.plan.runs.insert(0, run(workloads));
}

/// 512 bytes when any SD of the format is smaller than 128k, as in Vdbench; also for an SD that would have less than
/// two blocks of 128k, with which Vdbench refuses every later run. Direct I/O may need more than 512.
fn xfer_size(settings: &Settings, any_small: bool, size: u64, smallest: u64) -> u64 {
    match settings.format_xfersize {
        Some(asked) if asked > 0 => asked,
        _ if any_small || size < 2 * XFER => smallest,
        _ => XFER,
    }
}

/// One SD written to its end.
fn workload(wd: usize, sd: usize, hosts: Arc<[usize]>, xfer: u64, skew: f64) -> Workload {
    Workload {
        wd,
        sds: Arc::from([sd]),
        hosts,
        skew: Some(skew),
        skew_given: false,
        iorate: None,
        priority: None,
        read_pct: 0.0,
        read_hit_pct: 0.0,
        write_hit_pct: 0.0,
        xfer: Xfer::Fixed(xfer),
        seek: Seek::Eof,
        hit_area: None,
        range: None,
        hotband: None,
        stride: None,
        streams: None,
        openflags: None,
    }
}

fn run(workloads: Vec<Workload>) -> Run {
    Run {
        name: "SD_format".to_owned(),
        rd: "SD_format".to_owned(),
        kind: RunKind::Format,
        rate: Rate::Max,
        rate_is_loop: true,
        loops: vec![LoopValue { kind: LoopKind::Threads, value: f64::from(THREADS), percent: false, word: None }],
        elapsed: None,
        interval: 1,
        warmup: 0,
        pause: 0,
        stop_curve_ms: None,
        max_data: Vec::new(),
        arrivals: Arrivals::Exponential,
        spike: false,
        threads: Some(THREADS),
        openflags: None,
        workloads: workloads.into(),
        files: None,
        replay: None,
        startcmd: Vec::new(),
        endcmd: Vec::new(),
        span: None,
    }
}
