//! `--device`: a device of the kernel that completes after 39 µs, and what is reported of it.

use brunt_plan::work::Backend;
use brunt_report::calibration::{Page, Table};
use brunt_stats::Spread;
use brunt_worker::calibrate::REFERENCE_NS;
use brunt_worker::calibrate::host::Roots;
use brunt_worker::calibrate::lun::{self, Lun};
use brunt_worker::calibrate::null_blk::NullBlk;
use brunt_worker::calibrate::trial::Trial;

use super::own::rows;

/// Intervals of a second.
const SECONDS: u32 = 2;
/// I/Os per second of the paced runs.
const RATE: f64 = 1_000.0;

/// Makes the device, measures, and removes it.
///
/// # Errors
/// There is no such device here, with the reason and the cure.
pub fn text() -> Result<String, String> {
    let device = NullBlk::make(&Roots::default(), REFERENCE_NS).map_err(|error| error.to_string())?;
    let path = device.device().display().to_string();
    let lun = lun::look(&path, 8192).map_err(|error| format!("cannot read {path}: {error}"))?;
    let mut table = Table::new("Reported response less 39,000 ns");
    for backend in [Backend::Sync, Backend::Aio, Backend::Uring] {
        for rate in [None, Some(RATE)] {
            let pace = rate.map_or("as fast as it goes".to_owned(), |rate| format!("{rate} per s"));
            let name = format!("{backend}, threads=1, {pace}");
            match run(&lun, backend, rate) {
                Ok(spread) => table.add(name, Some(spread), ""),
                Err(error) => table.add(name, None, &error),
            }
        }
    }
    table.notes.push("The kernel's timer and its interrupt are in these numbers too; see the bare loop below.".into());
    let mut beside = Table::new("Engine beside a bare pread loop, threads=1");
    for backend in [Backend::Sync, Backend::Aio, Backend::Uring] {
        rows(&mut beside, backend, &lun);
    }
    let head = format!("{path}: null_blk, completion_nsec={REFERENCE_NS}, irqmode=2; all times are nanoseconds");
    Ok(Page { head: vec![head], tables: vec![table, beside], doubts: Vec::new() }.text())
}

/// How far each of the five numbers is from the known time.
fn run(lun: &Lun, backend: Backend, rate: Option<f64>) -> Result<Spread, String> {
    let trial = Trial { rate, interval_ns: 1_000_000_000, ..lun.trial(backend, SECONDS) };
    let outcome = trial.run().map_err(|error| error.to_string())?;
    let s = Spread::of_timing(&outcome.response).ok_or("nothing was read")?;
    let less = |ns: f64| ns - REFERENCE_NS as f64;
    let (min_ns, p50_ns, p99_ns, max_ns) = (less(s.min_ns), less(s.p50_ns), less(s.p99_ns), less(s.max_ns));
    Ok(Spread { n: s.n, min_ns, p50_ns, p99_ns, max_ns })
}
