//! `-r`: the runs before the named one are left out.

use brunt_parm::{Diag, Severity};

use super::log::Log;
use super::names::nearest;
use crate::plan::{Rate, Run};
use crate::rate::rate_of_percent;

/// The runs from the one with that name on; the plain name of an RD stands for its first run
/// (`docs/vdbench/raw.md` §2).
pub(crate) fn restart(mut runs: Vec<Run>, name: &str, log: &mut Log) -> Vec<Run> {
    let at = runs.iter().position(|r| r.name == name).or_else(|| runs.iter().position(|r| r.rd == name));
    let Some(at) = at else {
        let diag = Diag::new(Severity::Error, "unknown-rd", format!("-r {name}: no run has this name"), None);
        log.push(match nearest(name, runs.iter().map(|r| r.name.as_str())) {
            Some(near) => diag.help(format!("did you mean `{near}`?")),
            None => diag.help("it is compared exactly with the names that -s prints"),
        });
        return runs;
    };
    let mut rest = runs.split_off(at);
    let mut without_max = false;
    for run in &mut rest {
        if let Rate::CurvePoint { percent, of_run } = &mut run.rate {
            match of_run.checked_sub(at) {
                Some(left) => *of_run = left,
                None => {
                    without_max = true;
                    run.rate = Rate::Fixed(rate_of_percent(0.0, *percent));
                }
            }
        }
    }
    if without_max {
        let message = format!("-r {name} skips the maximum run of its curve: points are percentages of 10000");
        log.warning("curve-without-max", message, None);
    }
    rest
}
