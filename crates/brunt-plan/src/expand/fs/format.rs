//! What `format=` means (`docs/vdbench/filesystem.md` §3.3).

use brunt_parm::Diag;
use brunt_parm::ast::{FormatWord, Rd};

use super::super::log::Log;
use crate::options::{ForcedFormat, Options};
use crate::plan::fs::{Format, Make};

/// The format of an RD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Formatting {
    /// What is done; without it nothing is.
    format: Option<Format>,
    /// Whether the run itself is left out.
    pub(crate) only: bool,
    /// Whether all files are taken as there.
    pub(crate) complete: bool,
    /// Whether only the first combination of the loops has a format.
    once: bool,
    /// Whether it stops after `elapsed=`.
    limited: bool,
}

impl Formatting {
    /// Whether the n-th combination of the loops has a format.
    pub(crate) fn is_due(&self, n: usize) -> bool {
        n == 0 || !self.once
    }

    /// The format of a run of so many seconds.
    pub(crate) fn format(&self, elapsed: Option<u32>) -> Option<Format> {
        self.format.map(|f| Format { limit: elapsed.filter(|_| self.limited), ..f })
    }
}

/// Reads `format=`; `-cy`, `-cn` and `-co` overrule it. `None` after an error.
pub(crate) fn of_rd(rd: &Rd, options: &Options, log: &mut Log) -> Option<Formatting> {
    let words: Vec<FormatWord> = match options.format {
        Some(ForcedFormat::Yes) => vec![FormatWord::Yes],
        Some(ForcedFormat::No) => vec![FormatWord::No],
        Some(ForcedFormat::Only) => vec![FormatWord::Only],
        None => rd.format.as_ref().map_or_else(Vec::new, |f| f.value.iter().map(|w| w.value).collect()),
    };
    let has = |word| words.contains(&word);
    let none = words.is_empty() || has(FormatWord::No);
    if none {
        let complete = has(FormatWord::Complete);
        return Some(Formatting { format: None, only: false, complete, once: false, limited: false });
    }
    let once = has(FormatWord::Once);
    if once
        && rd.loops.is_empty()
        && let Some(format) = &rd.format
    {
        log.push(
            Diag::error("format-once", "`format=once` is for runs with loops", format.span)
                .label("there is only one run")
                .help("leave `once` out"),
        );
        return None;
    }
    let clean = has(FormatWord::Clean);
    let make = if clean {
        Make::Nothing
    } else if has(FormatWord::Directories) {
        Make::Directories
    } else {
        Make::Files
    };
    let format = Format { delete: clean || !has(FormatWord::Restart), make, limit: None };
    Some(Formatting {
        format: Some(format),
        only: clean || has(FormatWord::Only),
        complete: false,
        once,
        limited: has(FormatWord::Limited),
    })
}
