//! `skew.html`: how the work was shared out (`docs/vdbench/reports.md` §9.1).

use crate::boxes::observed_skew;
use crate::context::Context;
use crate::figures::Figures;
use crate::layout::{skew_row, skew_title};
use crate::number::fixed;
use crate::run::Run;
use crate::tally::Scope;

/// Name of the file.
pub(crate) const FILE: &str = "skew.html";

/// The lines before the first run.
pub(crate) const INTRO: &[&str] = &[
    "Workload skew report",
    "",
    "How the counted work of each run was shared by slaves, hosts, SDs and WDs.",
    "A table is left out where there is only one to share it.",
    "",
];

/// The difference between requested and observed skew from which on it is shown, percentage points.
const SHOWN_DELTA: f64 = 0.10;

/// What a table needs.
struct Table<'a> {
    context: &'a Context,
    run: &'a Run,
    width: usize,
}

/// The tables of a run, without times; empty if nothing was shared.
pub(crate) fn tables(context: &Context, run: &Run) -> Vec<String> {
    let table = Table { context, run, width: name_width(context, run) };
    let mut lines = table.workers();
    lines.extend(table.hosts());
    lines.extend(table.sds());
    lines.extend(table.workloads());
    lines
}

/// Width of the name column: that of the longest name of anything.
fn name_width(context: &Context, run: &Run) -> usize {
    let planned = &context.planned;
    let names = planned.hosts.iter().chain(&planned.wds).chain(planned.sds.iter().map(|sd| &sd.name));
    let names =
        names.chain(planned.workers.iter().map(|w| &w.label)).chain(run.started.workloads.iter().map(|w| &w.name));
    names.map(|name| name.chars().count()).max().unwrap_or(0)
}

impl Table<'_> {
    fn workers(&self) -> Vec<String> {
        let planned = &self.context.planned;
        if planned.workers.len() < 2 {
            return Vec::new();
        }
        let mut lines = Vec::new();
        for host in 0..planned.hosts.len() {
            let rows = planned.workers.iter().enumerate().filter(|(_, w)| w.host as usize == host);
            let rows = rows.map(|(n, w)| (w.label.as_str(), Scope::Worker(n, host)));
            lines.extend(self.plain("Slave:", rows, Scope::Host(host)));
        }
        lines
    }

    fn hosts(&self) -> Vec<String> {
        let hosts = &self.context.planned.hosts;
        if hosts.len() < 2 {
            return Vec::new();
        }
        let mut lines = self.titles("Host:", [&format!("{:>6}", "cpu"), &format!("{:>6}", "sys+u")]);
        let rows = hosts.iter().enumerate().map(|(n, name)| (name.as_str(), Scope::Host(n)));
        for (name, scope) in rows.chain([("Total", Scope::Total)]) {
            if let Some(figures) = self.figures(scope) {
                let cpu = figures.cpu.map(|cpu| format!("{:>6}", fixed(cpu.used(), 1))).unwrap_or_default();
                lines.push(self.row(name, &figures) + &cpu);
            }
        }
        lines
    }

    fn sds(&self) -> Vec<String> {
        let planned = &self.context.planned;
        if self.context.layout.is_old() && (planned.sds.len() < 2 || planned.no_sd_detail) {
            return Vec::new();
        }
        let rows = planned.sds.iter().enumerate().map(|(n, sd)| (sd.name.as_str(), Scope::Sd(n)));
        self.plain("SD:", rows, Scope::Total)
    }

    fn workloads(&self) -> Vec<String> {
        if self.run.started.workloads.len() < 2 {
            return Vec::new();
        }
        let mut lines = ["", "Calculated versus requested workload skew. (Delta only shown if > 0.10% absolute)"]
            .map(str::to_owned)
            .to_vec();
        lines.push("Note that for an Uncontrolled MAX run workload skew is irrelevant.".to_owned());
        if self.run.started.uncontrolled {
            lines.push("This was an Uncontrolled MAX run.".to_owned());
        }
        lines.extend(self.titles("WD:", ["      skew     skew    skew ", " requested observed   delta "]));
        let mut sums = (Some(0.0), None);
        for (place, workload) in self.run.started.workloads.iter().enumerate() {
            let observed = observed_skew(self.run, place);
            sums = (add(sums.0, workload.skew), observed.map(|o| o + sums.1.unwrap_or(0.0)).or(sums.1));
            if let Some(figures) = self.figures(Scope::Wd(place)) {
                lines.push(self.row(&workload.name, &figures) + &skew_columns(workload.skew, observed, true));
            }
        }
        if let Some(figures) = self.figures(Scope::Total) {
            lines.push(self.row("Total", &figures) + &skew_columns(sums.0, sums.1, false));
        }
        lines
    }

    fn plain<'b>(&self, head: &str, rows: impl Iterator<Item = (&'b str, Scope)>, total: Scope) -> Vec<String> {
        let rows = rows.chain([("Total", total)]);
        let rows = rows.filter_map(|(name, scope)| Some(self.row(name, &self.figures(scope)?)));
        self.titles(head, ["", ""]).into_iter().chain(rows).collect()
    }

    fn titles(&self, head: &str, more: [&str; 2]) -> Vec<String> {
        let line = |name: &str, which: usize| {
            let title = skew_title(which, self.context.opened.decimal_mb);
            format!("{name:<width$} {title}{}", more[which], width = self.width)
        };
        vec![String::new(), line("", 0), line(head, 1)]
    }

    fn row(&self, name: &str, figures: &Figures) -> String {
        format!("{name:<width$} {}", skew_row(figures), width = self.width)
    }

    fn figures(&self, scope: Scope) -> Option<Figures> {
        self.run.average_figures(self.context, scope)
    }
}

fn add(sum: Option<f64>, value: Option<f64>) -> Option<f64> {
    Some(sum? + value?)
}

fn skew_columns(requested: Option<f64>, observed: Option<f64>, with_delta: bool) -> String {
    let percent = |value: Option<f64>, width: usize| match value {
        Some(value) => format!(" {:>width$}%", fixed(value, 2)),
        None => format!(" {:>width$} ", "n/a"),
    };
    let delta = requested.zip(observed).map(|(requested, observed)| requested - observed);
    let delta = delta.filter(|delta| with_delta && delta.abs() > SHOWN_DELTA);
    let delta = delta.map(|delta| percent(Some(delta), 6)).unwrap_or_default();
    format!("{}{}{delta}", percent(requested, 8), percent(observed, 7))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skew_columns_are_those_of_the_reference() {
        assert_eq!(skew_columns(Some(80.0), Some(78.15), true), "    80.00%   78.15%   1.85%");
        assert_eq!(skew_columns(Some(20.0), Some(21.85), true), "    20.00%   21.85%  -1.85%");
        assert_eq!(skew_columns(Some(100.0), Some(100.0), false), "   100.00%  100.00%");
        assert_eq!(skew_columns(Some(50.0), Some(50.05), true), "    50.00%   50.05%");
        assert_eq!(skew_columns(None, Some(50.0), true), "      n/a    50.00%");
    }
}
