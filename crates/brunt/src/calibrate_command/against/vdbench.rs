//! A round of Vdbench, started by the `vdbench` of its directory.

use std::path::Path;

use brunt_report::calibration::Measure;

use super::{Job, rows};

/// Runs it.
///
/// # Errors
/// A sentence: it is not there, or it printed no mean.
pub fn run(dir: &Path, job: &Job) -> Result<Measure, String> {
    let program = dir.join("vdbench");
    if !program.is_file() {
        return Err(format!("there is no {}", program.display()));
    }
    let (heard, status) = rows::run(&program, job)?;
    let Some(average) = heard.average.filter(|row| status.success() && row.iops > 0.0) else {
        return Err(format!("no mean came of it ({status}): {}", heard.last.join(" | ")));
    };
    Ok(Measure {
        iops: average.iops,
        mean_ns: Some(average.response_ms * 1e6),
        p50_ns: None,
        cpu_ns: heard.cpu.map(|share| share * 1e9 / average.iops),
    })
}
