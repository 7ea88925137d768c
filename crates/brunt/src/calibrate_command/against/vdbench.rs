//! A round of Vdbench, started by the `vdbench` of its directory.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

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
    let parameters = job.folder.join("parmfile");
    fs::write(&parameters, rows::parameters(job)?).map_err(|error| format!("{}: {error}", parameters.display()))?;
    let mut child = Command::new(&program)
        .arg("-f")
        .arg(&parameters)
        .arg("-o")
        .arg(job.folder.join("output"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let heard = child.stdout.take().map(|output| rows::listen(&child, output)).unwrap_or_default();
    let status = child.wait().map_err(|error| format!("{}: {error}", program.display()))?;
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
