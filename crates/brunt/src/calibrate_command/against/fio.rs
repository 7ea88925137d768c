//! A round of fio, with its statistics as they are by default, and percentiles of `lat`, which is what the other tools
//! mean by a response time.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use brunt_report::calibration::Measure;
use serde_json::Value;

use super::Job;
use super::tree;

/// From the start to the first look at its CPU time: fio needs a third of a second to begin, and its ramp takes one.
const FIRST_LOOK: Duration = Duration::from_millis(1_500);
/// From the last look to the end that was asked for.
const BEFORE_THE_END: Duration = Duration::from_millis(200);

/// Runs it.
///
/// # Errors
/// A sentence: it is not there, it failed, or its output makes no sense.
pub fn run(engine: &str, job: &Job) -> Result<Measure, String> {
    let output = job.folder.join("fio.json");
    let errors = fs::File::create(job.folder.join("errors")).map_err(|error| error.to_string())?;
    let began = Instant::now();
    let mut child = Command::new("fio")
        .args(arguments(engine, job))
        .arg(format!("--output={}", output.display()))
        .current_dir(job.folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors)
        .spawn()
        .map_err(|error| format!("fio cannot be started ({error}); is it installed?"))?;
    // One that has failed at once is a zombie by then, and its looks are of no account.
    thread::sleep(FIRST_LOOK);
    let first = tree::look(child.id());
    let end = began + Duration::from_secs(u64::from(job.seconds) + 1);
    thread::sleep((end - BEFORE_THE_END).saturating_duration_since(Instant::now()));
    let last = tree::look(child.id());
    let status = child.wait().map_err(|error| format!("fio: {error}"))?;
    let said = || {
        let text = fs::read_to_string(job.folder.join("errors")).unwrap_or_default();
        text.lines().next().unwrap_or_default().to_owned()
    };
    if !status.success() {
        return Err(format!("fio failed ({status}): {}", said()));
    }
    let text = fs::read_to_string(&output).map_err(|error| format!("fio left no output: {error}"))?;
    let mut measure = measure(&text).ok_or("fio's output has no reads in it")?;
    measure.cpu_ns = tree::share(&first, &last).map(|share| share * 1e9 / measure.iops);
    Ok(measure)
}

fn arguments(engine: &str, job: &Job) -> Vec<String> {
    let direct = u32::from(job.lun.direct);
    // A colon parts file names.
    let lun = job.lun.path.replace(':', "\\:");
    let synchronous = ["sync", "psync", "vsync", "pvsync", "pvsync2"].contains(&engine);
    let outstanding = match synchronous {
        true => format!("--numjobs={}", job.threads),
        false => format!("--iodepth={}", job.threads),
    };
    let mut arguments: Vec<String> = [
        "--name=calibrate",
        "--rw=randread",
        "--readonly",
        "--thread",
        "--group_reporting",
        "--norandommap",
        "--time_based",
        "--ramp_time=1",
        "--lat_percentiles=1",
        "--clat_percentiles=0",
        "--output-format=json",
        "--eta=never",
        "--invalidate=0",
    ]
    .map(str::to_owned)
    .to_vec();
    arguments.extend([
        format!("--filename={lun}"),
        format!("--bs={}", job.lun.block),
        format!("--direct={direct}"),
        format!("--ioengine={engine}"),
        format!("--runtime={}", job.seconds),
        outstanding,
    ]);
    if engine == "io_uring" {
        arguments.extend(["--fixedbufs".to_owned(), "--registerfiles".to_owned()]);
    }
    arguments
}

/// Reads of the first job. Messages may stand before the object.
fn measure(text: &str) -> Option<Measure> {
    let value: Value = serde_json::from_str(text.get(text.find('{')?..)?).ok()?;
    let read = value.get("jobs")?.get(0)?.get("read")?;
    let latency = read.get("lat_ns")?;
    let p50 = latency.get("percentile").and_then(|all| all.get("50.000000")).and_then(Value::as_f64);
    let iops = read.get("iops")?.as_f64().filter(|iops| *iops > 0.0)?;
    Some(Measure { iops, mean_ns: latency.get("mean")?.as_f64(), p50_ns: p50, cpu_ns: None })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use brunt_worker::calibrate::lun::Lun;
    use std::path::Path;

    /// As fio's documentation describes it, with one message before.
    const JSON: &str = r#"fio: this platform does not support something
{
  "fio version" : "fio-3.33",
  "jobs" : [ {
    "jobname" : "calibrate", "error" : 0,
    "read" : {
      "io_bytes" : 8192000, "iops" : 245678.25, "total_ios" : 982713,
      "slat_ns" : { "min" : 0, "max" : 0, "mean" : 0.0, "stddev" : 0.0, "N" : 0 },
      "clat_ns" : { "min" : 1700, "max" : 90000, "mean" : 3900.5, "stddev" : 10.0, "N" : 982713 },
      "lat_ns" : { "min" : 1740, "max" : 90123, "mean" : 3931.25, "stddev" : 10.0, "N" : 982713,
        "percentile" : { "1.000000" : 1800, "50.000000" : 3824, "99.000000" : 6048 } }
    },
    "write" : { "iops" : 0.0 }
  } ]
}"#;

    #[test]
    fn its_json_is_read() {
        let found = measure(JSON).unwrap();
        let expected = Measure { iops: 245_678.25, mean_ns: Some(3_931.25), p50_ns: Some(3_824.0), cpu_ns: None };
        assert_eq!(found, expected);
        for wrong in ["", "{}", "fio: no such engine", r#"{"jobs":[{"read":{"iops":0.0,"lat_ns":{}}}]}"#] {
            assert_eq!(measure(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn it_never_writes_and_keeps_as_many_outstanding() {
        let lun = Lun { path: "/dev/a:b".into(), size: 1 << 30, raw: true, direct: true, block: 4096 };
        let job = Job { lun: &lun, threads: 32, seconds: 4, folder: Path::new("/tmp") };
        let (sync, ring) = (arguments("psync", &job), arguments("io_uring", &job));
        let has = |all: &[String], word: &str| all.iter().any(|argument| argument == word);
        for all in [&sync, &ring] {
            assert!(has(all, "--readonly") && has(all, "--rw=randread") && has(all, "--filename=/dev/a\\:b"));
        }
        assert!(has(&sync, "--numjobs=32") && has(&ring, "--iodepth=32") && has(&ring, "--registerfiles"));
    }
}
