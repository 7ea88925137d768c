//! A tool that prints a row for each interval: Vdbench, and Brunt like it (`docs/vdbench/reports.md` §4.2).

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use super::Job;
use super::tree::{self, Look};

/// Which row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    /// An interval, by its number.
    Interval(u32),
    /// The mean of the counted ones.
    Average,
}

/// A row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// Which.
    pub label: Label,
    /// I/Os per second.
    pub iops: f64,
    /// Mean response time, ms.
    pub response_ms: f64,
}

/// The parameter file of a job: uncontrolled random reads, the first second not counted.
///
/// # Errors
/// The path cannot be written in such a file.
pub fn parameters(job: &Job) -> Result<String, String> {
    let (lun, threads) = (&job.lun.path, job.threads);
    if lun.contains(|c: char| c.is_whitespace() || "(),=\"$#*".contains(c)) {
        return Err(format!("a parameter file cannot name {lun}: it has a blank or a sign that means something there"));
    }
    let flags = if job.lun.direct { ",openflags=o_direct" } else { "" };
    Ok(format!(
        "sd=sd1,lun={lun},threads={threads}{flags}\n\
         wd=wd1,sd=sd1,xfersize={},rdpct=100\n\
         rd=rd1,wd=wd1,iorate=max,elapsed={},interval=1\n",
        job.lun.block,
        job.seconds + 1
    ))
}

/// Runs `PROGRAM -f PARMFILE -o FOLDER/output` for a job: what was heard of it, and how it ended.
///
/// # Errors
/// It cannot be run, in a sentence.
pub fn run(program: &Path, job: &Job) -> Result<(Heard, ExitStatus), String> {
    let parameters = job.folder.join("parmfile");
    fs::write(&parameters, self::parameters(job)?).map_err(|error| format!("{}: {error}", parameters.display()))?;
    let failed = |error| format!("{}: {error}", program.display());
    let mut child = Command::new(program)
        .arg("-f")
        .arg(&parameters)
        .arg("-o")
        .arg(output(job))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    let heard = child.stdout.take().map(|output| listen(&child, output)).unwrap_or_default();
    let status = child.wait().map_err(failed)?;
    Ok((heard, status))
}

/// Where its reports are.
pub fn output(job: &Job) -> PathBuf {
    job.folder.join("output")
}

/// Reads a row; `None` for every other line.
pub fn parse(line: &str) -> Option<Row> {
    // The oldest layout leaves no blank between the time and a long label.
    let (time, rest) = (line.get(..12)?, line.get(12..)?);
    let digits = |at: usize| time.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    if !([0, 1, 3, 4, 6, 7, 9, 10, 11].into_iter().all(digits) && time.contains(':')) {
        return None;
    }
    let mut words = rest.split_whitespace();
    let label = match words.next()? {
        word if word.starts_with("avg_") => Label::Average,
        word => Label::Interval(word.parse().ok()?),
    };
    let numbers: Vec<f64> = words.map_while(|word| word.parse().ok()).collect();
    // Rate, MB/s, bytes, read share, response: twelve numbers and more in a row of storage definitions.
    match numbers[..] {
        [iops, _, _, _, response_ms, ..] if numbers.len() >= 9 => Some(Row { label, iops, response_ms }),
        _ => None,
    }
}

/// What a tool said and used.
#[derive(Debug, Default)]
pub struct Heard {
    /// Its mean row.
    pub average: Option<Row>,
    /// CPU time a second, as a share of one CPU, from the end of the first interval to the end of the last.
    pub cpu: Option<f64>,
    /// The last lines, for when there is no mean row.
    pub last: Vec<String>,
}

/// Listens to a tool until it is silent, and looks at its CPU time as its rows come.
pub fn listen(child: &Child, output: ChildStdout) -> Heard {
    let mut heard = Heard::default();
    let (mut first, mut latest): (Option<Look>, Option<Look>) = (None, None);
    for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
        match parse(&line) {
            Some(Row { label: Label::Interval(_), .. }) => {
                let look = tree::look(child.id());
                first.get_or_insert(look);
                latest = Some(look);
            }
            Some(row) => heard.average = Some(row),
            None => {}
        }
        if !line.is_empty() {
            heard.last.push(line);
        }
        let more = heard.last.len().saturating_sub(3);
        heard.last.drain(..more);
    }
    heard.cpu = first.zip(latest).and_then(|(from, to)| tree::share(&from, &to));
    heard
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use brunt_worker::calibrate::lun::Lun;
    use std::path::Path;

    #[test]
    fn rows_of_both_layouts_are_read() {
        // Widths as in `docs/vdbench/reports.md` §4.2 and §4.5.
        let now = "12:11:09.372           2   123456.7   964.51    8192 100.00    0.006    0.006    0.000     1.25     \
                   0.00    0.004    0.8  45.1  30.2";
        let row = |label, iops, response_ms| Some(Row { label, iops, response_ms });
        assert_eq!(parse(now), row(Label::Interval(2), 123_456.7, 0.006));
        let average = now.replace("           2 ", "     avg_2-5 ");
        assert_eq!(parse(&average), row(Label::Average, 123_456.7, 0.006));
        let old = "17:08:39.047avg_31-330    2136.74    16.69    8192 100.00    0.467    0.467    0.000   12.345    \
                   0.123    1.0   3.1   2.0";
        assert_eq!(parse(old), row(Label::Average, 2_136.74, 0.467));
    }

    #[test]
    fn other_lines_are_none() {
        for line in [
            "",
            "12:11:09.372 ",
            "12:11:09.372 All slaves are now connected",
            "12:11:09.372 Starting RD=rd1; I/O rate: Uncontrolled MAX; elapsed=5; For loops: None",
            "Nov 30, 2026    interval        i/o   MB/sec   bytes   read     resp",
            "12:11:09.372 2 3 4",
            "a line with ünïcödé in it, longer than twelve",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn a_job_is_a_parameter_file_that_only_reads() {
        let lun = Lun { path: "/dev/sdb".into(), size: 1 << 30, raw: true, direct: true, block: 8192 };
        let job = Job { lun: &lun, threads: 8, seconds: 4, folder: Path::new("/tmp") };
        assert_eq!(
            parameters(&job).unwrap(),
            "sd=sd1,lun=/dev/sdb,threads=8,openflags=o_direct\nwd=wd1,sd=sd1,xfersize=8192,rdpct=100\n\
             rd=rd1,wd=wd1,iorate=max,elapsed=5,interval=1\n"
        );
        let odd = Lun { path: "/tmp/a b".into(), direct: false, ..lun };
        assert!(parameters(&Job { lun: &odd, ..job }).unwrap_err().contains("cannot name /tmp/a b"));
    }
}
