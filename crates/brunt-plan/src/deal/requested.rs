//! What the flat file calls requested.

use brunt_parm::ast::LoopKind;

use super::threads::requested;
use crate::plan::{Run, Workload};
use crate::resolve::Resolved;
use crate::work::{Seek, Xfer};

/// Columns of the flat file that say what was asked for; `None` where workloads differ
/// (`docs/vdbench/reports.md` §7).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RequestedColumns {
    /// Bytes; the first size of a distribution.
    pub xfersize: Option<u64>,
    /// Threads per SD; −1 if SDs differ.
    pub threads: Option<f64>,
    /// Percent reads.
    pub rdpct: Option<f64>,
    /// Percent of reads that hit.
    pub rhpct: Option<f64>,
    /// Percent of writes that hit.
    pub whpct: Option<f64>,
    /// 100 random, 0 sequential; `None` for eof.
    pub seekpct: Option<f64>,
    /// Bytes of all SDs of the run.
    pub lun_bytes: u64,
    /// Compression ratio.
    pub compratio: Option<f64>,
}

/// The columns of a run on these SDs.
pub(super) fn columns(resolved: &Resolved, run: &Run, sds: &[usize]) -> RequestedColumns {
    let same = |value: &dyn Fn(&Workload) -> Option<f64>| {
        let mut values = run.workloads.iter().map(value);
        let first = values.next().flatten();
        if values.all(|v| v == first) { first } else { None }
    };
    let first_size = |w: &Workload| match &w.xfer {
        Xfer::Fixed(n) | Xfer::Range { min: n, .. } => Some(*n as f64),
        Xfer::Weighted(sizes) => sizes.first().map(|(n, _)| *n as f64),
    };
    let seek = |w: &Workload| match w.seek {
        Seek::Percent(p) => Some(p),
        Seek::Poisson { .. } => Some(100.0),
        Seek::Eof => None,
    };
    let mut threads = sds.iter().map(|sd| requested(&resolved.plan, run, *sd));
    let first = threads.next();
    let ratio = run.loops.iter().find(|l| l.kind == LoopKind::Compratio).map_or(1.0, |l| l.value);
    RequestedColumns {
        xfersize: same(&first_size).map(|n| n as u64),
        threads: first.map(|first| if threads.all(|t| t == first) { f64::from(first) } else { -1.0 }),
        rdpct: same(&|w| Some(w.read_pct)),
        rhpct: same(&|w| Some(w.read_hit_pct)),
        whpct: same(&|w| Some(w.write_hit_pct)),
        seekpct: same(&seek),
        lun_bytes: resolved.bytes_of(sds),
        compratio: Some(ratio),
    }
}
