//! Replay: groups and devices of SDs (`docs/vdbench/data.md` §5.1).

use brunt_parm::{Diag, ParmFile};

use super::hosts::listed;
use super::log::Log;

/// Every group that an SD names is defined; a number is a device.
pub(crate) fn check(file: &ParmFile, log: &mut Log) {
    let groups: Vec<String> = file.rgs.iter().filter_map(|g| g.name.as_ref()).map(|n| n.value.clone()).collect();
    for sd in &file.sds {
        let Some(list) = &sd.replay else { continue };
        log.unsupported(Some(list.span), "replay= on an SD is not run by this version");
        for word in list.value.iter().filter(|w| w.value.parse::<u64>().is_err()) {
            if !groups.contains(&word.value) {
                log.push(
                    Diag::error("unknown-group", format!("no replay group is called `{}`", word.value), word.span)
                        .label("neither a group nor the number of a device")
                        .help(format!("defined are {}", listed(&groups))),
                );
            }
        }
    }
}
