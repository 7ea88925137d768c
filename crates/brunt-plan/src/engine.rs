//! Which back end serves the I/Os of an SD on a host, and why.
//!
//! One for the whole execution, formats included, so that a sweep over threads has no kink that is ours. Where an I/O
//! completes inside the system call anyway, or cannot be started without blocking, an asynchronous back end only adds
//! to each I/O what it costs itself; a device that works on many at once needs no thread for each. The rules and how to
//! override them are in `docs/engines.md`.

use std::fmt;
use std::str::FromStr;

use crate::work::{Backend, EngineSupport, LunFacts, LunKind};

#[cfg(test)]
mod tests;

/// What `misc=(engine=…)` and `--engine` ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Asked {
    /// The one that fits each SD.
    #[default]
    Auto,
    /// `sync` for all.
    Sync,
    /// `aio` for all.
    Aio,
    /// `uring` for all.
    Uring,
    /// No device at all.
    Null,
}

impl Asked {
    /// All that can be asked for, as written.
    pub const NAMES: [&str; 5] = ["auto", "sync", "aio", "uring", "null"];

    /// As written.
    pub fn name(self) -> &'static str {
        match self {
            Asked::Auto => "auto",
            Asked::Sync => "sync",
            Asked::Aio => "aio",
            Asked::Uring => "uring",
            Asked::Null => "null",
        }
    }
}

impl FromStr for Asked {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let all = [Asked::Auto, Asked::Sync, Asked::Aio, Asked::Uring, Asked::Null];
        all.into_iter().find(|asked| asked.name() == text).ok_or(())
    }
}

/// What the execution does with an SD on a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// Whether every measured run goes round the page cache.
    pub direct: bool,
    /// Most lanes of one worker, over all runs.
    pub lanes: u32,
    /// Whether some run issues by due times.
    pub paced: bool,
    /// Whether its file is made or extended first.
    pub made: bool,
}

/// A back end and the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Which.
    pub backend: Backend,
    /// Why.
    pub why: Why,
}

impl Choice {
    /// Whether the device is polled for completions.
    pub fn polled(&self) -> bool {
        matches!(self.why, Why::Many { polled: true, .. })
    }
}

/// Why a back end was chosen. `Display` gives it in words.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Why {
    /// `engine=` names it.
    Asked(&'static str),
    /// `engine=null`.
    NoDevice,
    /// The lun is `sim:NAME`.
    Simulated,
    /// The file is made first.
    Made,
    /// I/O goes through the page cache.
    Cached,
    /// The kernel cannot start an I/O without waiting for it.
    Inline,
    /// Not known whether the kernel can, of a file.
    Untold,
    /// The file has holes, or it is not known whether it has.
    Sparse {
        /// Whether that is known.
        known: bool,
    },
    /// A character device.
    Character,
    /// No run has more than one I/O outstanding in a worker, and none has due times.
    OneLane,
    /// Several I/Os outstanding, or due times, done by the best back end that the host has.
    Many {
        /// Whether only due times speak for it: a blocking lane would be woken by the thread that keeps them, and be late
        /// by that.
        lone: bool,
        /// Whether on a file.
        file: bool,
        /// Whether the device is polled for completions.
        polled: bool,
        /// Why not `uring`, when that is so.
        no_uring: Option<String>,
        /// Why not `aio`, when that is so.
        no_aio: Option<String>,
    },
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Asked(name) => write!(f, "engine={name}"),
            Why::NoDevice => f.write_str("engine=null: no device is touched"),
            Why::Simulated => f.write_str("a simulated device"),
            Why::Made => f.write_str("the file is made first, which blocks"),
            Why::Cached => f.write_str("page cache: an I/O completes in the system call"),
            Why::Inline => f.write_str("an I/O completes inside the system call, or blocks in it"),
            Why::Untold => f.write_str("a file, and the kernel does not tell whether an I/O to it blocks"),
            Why::Sparse { known: true } => f.write_str("the file has holes: a write to one blocks"),
            Why::Sparse { known: false } => f.write_str("a file of which it is not known whether it has holes"),
            Why::Character => f.write_str("a character device"),
            Why::OneLane => f.write_str("never more than one I/O outstanding in a worker"),
            Why::Many { lone, file, polled, no_uring, no_aio } => {
                f.write_str(if *file { "a whole file with direct I/O" } else { "a block device" })?;
                f.write_str(if *lone {
                    ", one I/O outstanding at its due time"
                } else {
                    ", several I/Os outstanding"
                })?;
                if *polled {
                    f.write_str("; polled for completions, which its driver has queues for (queue/io_poll)")?;
                }
                if let Some(why) = no_uring {
                    write!(f, "; not uring: {why}")?;
                }
                if let Some(why) = no_aio {
                    write!(f, "; not aio: {why}")?;
                }
                Ok(())
            }
        }
    }
}

/// A back end that was asked for and that a host has not got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unavailable {
    /// As asked for.
    pub asked: Asked,
    /// What the host says.
    pub why: String,
}

impl fmt::Display for Unavailable {
    /// The end of a sentence about an SD and a host.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, why } = self;
        write!(f, "engine={} does not work there: {why}; use engine=auto, which takes what works", asked.name())
    }
}

/// Chooses for a real lun.
///
/// # Errors
/// The host has not got what was asked for.
pub fn choose(facts: &LunFacts, need: Need, support: &EngineSupport, asked: Asked) -> Result<Choice, Unavailable> {
    let missing = match asked {
        Asked::Auto => return Ok(fitting(facts, need, support)),
        Asked::Null => return Ok(Choice { backend: Backend::Null, why: Why::NoDevice }),
        Asked::Sync => None,
        Asked::Aio => support.no_aio.as_ref(),
        Asked::Uring => support.no_uring.as_ref(),
    };
    match missing {
        Some(why) => Err(Unavailable { asked, why: why.clone() }),
        None => {
            let backend = match asked {
                Asked::Aio => Backend::Aio,
                Asked::Uring => Backend::Uring,
                _ => Backend::Sync,
            };
            Ok(Choice { backend, why: Why::Asked(asked.name()) })
        }
    }
}

fn fitting(facts: &LunFacts, need: Need, support: &EngineSupport) -> Choice {
    if let Some(why) = blocking(facts, need) {
        return Choice { backend: Backend::Sync, why };
    }
    let EngineSupport { no_aio, no_uring } = support;
    let backend = match (no_uring, no_aio) {
        (None, _) => Backend::Uring,
        (Some(_), None) => Backend::Aio,
        (Some(_), Some(_)) => Backend::Sync,
    };
    let no_aio = no_aio.clone().filter(|_| backend == Backend::Sync);
    let lone = need.lanes <= 1;
    let file = facts.kind == LunKind::File;
    // A ring that polls can do nothing else: direct I/O of a device, which is what comes here when it is no file.
    let polled = backend == Backend::Uring && !file && facts.io_poll;
    let why = Why::Many { lone, file, polled, no_uring: no_uring.clone(), no_aio };
    Choice { backend, why }
}

/// Why a thread that blocks does best, if it does. What lies in the target comes before what the runs ask of it.
fn blocking(facts: &LunFacts, need: Need) -> Option<Why> {
    let file = match facts.kind {
        LunKind::Block => false,
        LunKind::File => true,
        LunKind::Character => return Some(Why::Character),
        LunKind::Missing | LunKind::Directory | LunKind::Other => return Some(Why::Made),
    };
    if need.made {
        return Some(Why::Made);
    }
    if !need.direct {
        return Some(Why::Cached);
    }
    match (facts.nowait, facts.allocated) {
        (Some(false), _) => return Some(Why::Inline),
        (None, _) if file => return Some(Why::Untold),
        (_, Some(false)) if file => return Some(Why::Sparse { known: true }),
        (_, None) if file => return Some(Why::Sparse { known: false }),
        _ => {}
    }
    (need.lanes <= 1 && !need.paced).then_some(Why::OneLane)
}
