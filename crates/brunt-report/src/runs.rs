//! Runs in words, and the links to them that every report has (`docs/vdbench/reports.md` §2.2, §5).

use brunt_event::{FilesRate, PlannedRun, RateText};

use crate::number::{fixed, trimmed};
use crate::page::{anchor, label};

/// The text of the loops: `xfersize=4k rdpct=100`, `None` without loops.
pub(crate) fn loops(run: &PlannedRun) -> String {
    if run.loops.is_empty() { "None".to_owned() } else { run.loops.join(" ") }
}

/// `RD=rd1; I/O rate: 100; elapsed=4 warmup=2; For loops: None`.
pub(crate) fn description(run: &PlannedRun) -> String {
    let elapsed = run.elapsed.map_or_else(|| "(none)".to_owned(), |seconds| seconds.to_string());
    let warmup = if run.warmup > 0 { format!(" warmup={}", run.warmup) } else { String::new() };
    if let RateText::Files(rate) = run.rate {
        return description_of_files(run, rate, &elapsed, &warmup);
    }
    let rate = rate(run.rate);
    if let RateText::Replay(_) = run.rate {
        return format!("RD={}; {rate}; elapsed={elapsed}{warmup}; For loops: {}", run.name, loops(run));
    }
    format!("RD={}; I/O rate: {rate}; elapsed={elapsed}{warmup}; For loops: {}", run.name, loops(run))
}

/// `RD=rd1; elapsed=4; fwdrate=100; For loops: None`, or `RD=format_for_rd1` alone.
fn description_of_files(run: &PlannedRun, rate: FilesRate, elapsed: &str, warmup: &str) -> String {
    if run.format {
        return format!("RD={}", run.name);
    }
    let rate = match rate {
        FilesRate::Fixed(rate) => format!("{};", fixed(rate, 0)),
        FilesRate::Max => "max.".to_owned(),
        FilesRate::Curve => "curve.".to_owned(),
        FilesRate::PercentOfMax(percent) => format!("{} % of max;", trimmed(percent, 4)),
        FilesRate::PercentOfPrevious(percent) => format!("{} % of the run before;", trimmed(percent, 4)),
    };
    format!("RD={}; elapsed={elapsed}{warmup}; fwdrate={rate} For loops: {}", run.name, loops(run))
}

fn rate(rate: RateText) -> String {
    match rate {
        RateText::Fixed(rate) => fixed(rate, 0),
        RateText::UncontrolledMax => "Uncontrolled MAX".to_owned(),
        RateText::ControlledMax => "Controlled MAX".to_owned(),
        RateText::UncontrolledCurve => "Uncontrolled curve".to_owned(),
        RateText::ControlledCurve => "Controlled curve".to_owned(),
        RateText::Variable => "Variable".to_owned(),
        RateText::PercentOfMax(percent) => format!("{} % of max", trimmed(percent, 4)),
        RateText::PercentOfPrevious(percent) => format!("{} % of the run before", trimmed(percent, 4)),
        RateText::Replay(None) => "I/O rate (Replay): as recorded".to_owned(),
        RateText::Replay(Some(rate)) => format!("I/O rate (Replay): {:>6}", fixed(rate, 0)),
        RateText::Files(_) => String::new(),
    }
}

/// Gives every run a number that is unique in the stream, and knows which of the planned runs a started run is.
#[derive(Debug, Default)]
pub(crate) struct RunIds {
    /// Place in the list of planned runs behind the last one that was started in this pass.
    next: usize,
    /// Numbers given to runs that no link leads to.
    extra: usize,
}

impl RunIds {
    /// A new pass over all runs begins.
    pub(crate) fn restart(&mut self) {
        self.next = 0;
    }

    /// The number of a run that starts in the first pass (`linked`) or later. Runs that were planned have their place
    /// in the plan as number, so that links can be written before; others have greater ones.
    pub(crate) fn start(&mut self, run: &PlannedRun, planned: &[PlannedRun], linked: bool) -> usize {
        let same = |other: &PlannedRun| other.name == run.name && other.loops == run.loops;
        let place = planned.iter().skip(self.next).position(same).map(|n| n + self.next);
        if let Some(place) = place {
            self.next = place + 1;
        }
        match place {
            Some(place) if linked => place + 1,
            _ => {
                self.extra += 1;
                planned.len() + self.extra
            }
        }
    }
}

/// The lines that link to the runs, each given with its number. Where only the last word differs from the line
/// before, the others are left out and the link moves to its place.
pub(crate) fn links<'a>(runs: impl Iterator<Item = (usize, &'a PlannedRun)>) -> Vec<String> {
    let mut lines = Vec::new();
    let mut before = String::new();
    for (id, run) in runs {
        let text = format!("{} For loops: {}", run.name, loops(run));
        let cut = repeated(&before, &text);
        let start = label(if lines.is_empty() { "Link to Run Definitions:" } else { "" });
        lines.push(format!("{start} {}{}", " ".repeat(cut), anchor(&format!("#_{id}"), &text[cut..])));
        before = text;
    }
    lines
}

/// Length of the head of `text` that repeats `before` when their last words alone differ, else 0.
fn repeated(before: &str, text: &str) -> usize {
    match (before.rfind(' '), text.rfind(' ')) {
        (Some(a), Some(b)) if before[..a] == text[..b] && before != text => b + 1,
        _ => 0,
    }
}

/// The line at the start of a run in a report.
pub(crate) fn start_line(id: usize, time: &str, run: &PlannedRun) -> String {
    format!("<a name=\"_{id}\"></a><i><b>{time} Starting {}</b></i>", description(run))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, loops: &[&str]) -> PlannedRun {
        PlannedRun {
            name: name.into(),
            loops: loops.iter().map(|l| (*l).to_owned()).collect(),
            rate: RateText::Fixed(100.0),
            elapsed: Some(2),
            warmup: 0,
            interval: 1,
            format: false,
        }
    }

    #[test]
    fn descriptions() {
        let mut r = run("sim", &["xfersize=4k", "iorate=max"]);
        assert_eq!(description(&r), "RD=sim; I/O rate: 100; elapsed=2; For loops: xfersize=4k iorate=max");
        r.warmup = 5;
        r.rate = RateText::UncontrolledMax;
        r.loops.clear();
        assert_eq!(description(&r), "RD=sim; I/O rate: Uncontrolled MAX; elapsed=2 warmup=5; For loops: None");
        r.elapsed = None;
        r.rate = RateText::PercentOfMax(12.5);
        assert_eq!(description(&r), "RD=sim; I/O rate: 12.5 % of max; elapsed=(none) warmup=5; For loops: None");
    }

    #[test]
    fn descriptions_of_files() {
        let mut r = run("rd1", &["fwdrate=50", "threads=2"]);
        r.rate = RateText::Files(FilesRate::Fixed(50.0));
        assert_eq!(description(&r), "RD=rd1; elapsed=2; fwdrate=50; For loops: fwdrate=50 threads=2");
        r.warmup = 4;
        r.loops.clear();
        r.rate = RateText::Files(FilesRate::Max);
        assert_eq!(description(&r), "RD=rd1; elapsed=2 warmup=4; fwdrate=max. For loops: None");
        r.rate = RateText::Files(FilesRate::PercentOfMax(10.0));
        assert_eq!(description(&r), "RD=rd1; elapsed=2 warmup=4; fwdrate=10 % of max; For loops: None");
        r.format = true;
        assert_eq!(description(&r), "RD=rd1");
    }

    #[test]
    fn repeated_words_are_left_out() {
        let runs = [
            run("grid", &["xfersize=512", "rdpct=0"]),
            run("grid", &["xfersize=512", "rdpct=100"]),
            run("grid", &["xfersize=4k", "rdpct=0"]),
        ];
        insta::assert_snapshot!(links(runs.iter().enumerate()).join("\n"), @r##"
        Link to Run Definitions:         <A HREF="#_0">grid For loops: xfersize=512 rdpct=0</A>
                                                                      <A HREF="#_1">rdpct=100</A>
                                         <A HREF="#_2">grid For loops: xfersize=4k rdpct=0</A>
        "##);
        let runs = [run("a", &["iorate=50"]), run("a", &["iorate=100"]), run("b", &[])];
        insta::assert_snapshot!(links(runs.iter().enumerate()).join("\n"), @r##"
        Link to Run Definitions:         <A HREF="#_0">a For loops: iorate=50</A>
                                                      <A HREF="#_1">iorate=100</A>
                                         <A HREF="#_2">b For loops: None</A>
        "##);
    }

    #[test]
    fn numbers_follow_the_plan_and_are_unique() {
        let planned = [run("a", &[]), run("b", &[]), run("c", &[])];
        let mut ids = RunIds::default();
        assert_eq!(ids.start(&run("SD_format", &[]), &planned, true), 4);
        assert_eq!(ids.start(&planned[0], &planned, true), 1);
        assert_eq!(ids.start(&planned[2], &planned, true), 3, "b was left out");
        ids.restart();
        assert_eq!(ids.start(&planned[0], &planned, false), 5);
    }
}
