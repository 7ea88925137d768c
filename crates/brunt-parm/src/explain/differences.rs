//! Where a keyword knowingly does something else than in Vdbench 5.04.07 (`docs/vdbench/decisions.md`).

use crate::keywords::Section::{self, Fsd, Fwd, General, Hd, Rd, Sd, Wd};

const ALL: &[(Section, &str, &str)] = &[
    (
        General,
        "include",
        "The folder of the including file is looked into first, then the current one, then the parent; Vdbench 5.04.07 \
         never looks into the first. An included file may include others.",
    ),
    (
        General,
        "startcmd",
        "A command that fails stops the execution and is named with its host and exit status; under the name vdbench, or \
         with misc=(hook_failure=warn), it is only a warning. Vdbench does not notice.",
    ),
    (
        General,
        "endcmd",
        "A command that fails is an error with an exit status of its own; under the name vdbench, or with \
         misc=(hook_failure=warn), a warning. Vdbench does not notice.",
    ),
    (
        General,
        "misc",
        "Its keys are settings of Brunt; an unknown key is a warning. Vdbench ignores what it does not know.",
    ),
    (
        General,
        "data_errors",
        "As brunt, an execution with I/O errors ends with a status of its own (5) and not with 157, which the name vdbench \
         keeps.",
    ),
    (
        General,
        "abort_failed_skew",
        "Skew is held over all workers of a run; Vdbench loses it when workers have few and unequal threads.",
    ),
    (
        General,
        "formatsds",
        "A size need not be a multiple of the transfer size: the last block is shortened. In Vdbench the second execution \
         then fails.",
    ),
    (General, "formatxfersize", "The last block of a file is shortened when the size is not a multiple of it."),
    (Hd, "hd", "Several hosts may be this machine, on 127.0.0.1 too; Vdbench refuses that."),
    (
        Hd,
        "system",
        "A name that is this machine means a local child, whatever shell= says. Names are resolved when a host is reached, \
         not while the file is read.",
    ),
    (
        Hd,
        "shell",
        "rsh, also as the default, becomes ssh, and vdbench an agent with mutual TLS in place of a daemon that runs \
         anybody's commands.",
    ),
    (
        Hd,
        "vdbench",
        "The folder of a program named brunt there, which is used as it is. Where there is none (the file may name an \
         installation of Vdbench) a copy of the master's goes to a cache folder.",
    ),
    (
        Hd,
        "jvms",
        "The default stays 1 whatever the rate: one worker uses as many threads as it needs. Vdbench starts up to 8 by rate \
         and number of SDs.",
    ),
    (
        Sd,
        "sd",
        "sd=(sd1-sd3) defines only the first name, as in Vdbench, but a warning names what was lost; count= defines several.",
    ),
    (
        Sd,
        "lun",
        "What is raw is asked of the system and not told by the prefix /dev/. A name without a directory is an ordinary \
         file; Vdbench formats it anew every time. A device that is mounted, held or carries somebody else's signature is \
         not written.",
    ),
    (Sd, "size", "Need not be a multiple of 1m: the last block is shortened."),
    (
        Sd,
        "openflags",
        "A block device without o_direct is opened with it, with a note; Vdbench gives up. A file without it is measured \
         through the page cache, with a warning.",
    ),
    (Sd, "threads", "Each is a lane: an I/O that may be outstanding."),
    (
        Wd,
        "seekpct",
        "Sequential work is done once over all workers and hosts: each stream is one worker's, and streams are dealt over \
         all hosts that see the SD.",
    ),
    (Wd, "skew", "Held over all workers with iorate=max too; the observed skew is reported."),
    (Wd, "priority", "As strict as in Vdbench; a workload that got nothing is named."),
    (Wd, "hotband", "The shape of the curve is Vdbench's, the random draws are not."),
    (Wd, "wd", "Using one twice in a run is said as such, and not as a wrong total of skew."),
    (Wd, "user", "Java classes cannot be loaded: a run with it is refused, -s accepts it."),
    (
        Rd,
        "iorate",
        "A single value behind an inherited list replaces the list, with a note; in Vdbench the list goes on. 1k is 1024, as \
         in Vdbench, with a note.",
    ),
    (Rd, "elapsed", "10s is understood; Vdbench refuses it."),
    (Rd, "warmup", "10s is understood. Totals are exactly the intervals behind the warmup, histograms too."),
    (Rd, "interval", "Rates use the measured length of an interval, not the nominal one."),
    (Rd, "pause", "The only pause between two runs: Brunt does not wait for a whole second to start."),
    (Rd, "stopcurve", "Ends this curve, and the next run definition goes on; Vdbench ends everything."),
    (Rd, "seekpct", "A list in parentheses is a loop, as forseekpct; Vdbench refuses it."),
    (Rd, "distribution", "Deterministic arrivals begin at the start of the run and not 100 ms later."),
    (Rd, "startcmd", "A command that fails stops the execution; see the general startcmd."),
    (Rd, "endcmd", "A command that fails is an error; see the general endcmd."),
    (Fsd, "shared", "Files are numbered before they are shared out, so that hosts do not meet on the same names."),
    (Fsd, "anchor", "Whether an anchor exists is asked of the system; one under /dev/shm is an ordinary directory."),
    (Fwd, "skew", "Held over all workers; the observed skew is reported."),
];

/// The difference of one keyword, by its full name.
pub(super) fn of(section: Section, name: &str) -> Option<&'static str> {
    ALL.iter().find(|(s, n, _)| *s == section && *n == name).map(|(.., text)| *text)
}

/// All of them.
#[cfg(test)]
pub(super) fn all() -> impl Iterator<Item = (Section, &'static str, &'static str)> {
    ALL.iter().copied()
}
