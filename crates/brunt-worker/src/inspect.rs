//! What this host knows about luns and about itself. Nothing here writes.

mod device;
mod inventory;
mod lun;
mod partition_table;
mod signature;
mod system;
mod usage;

use std::fs;
use std::path::{Path, PathBuf};

use brunt_plan::work::{LunFacts, LunQuery};

use system::System;

/// Where the kernel's file systems are; elsewhere in tests.
#[derive(Debug, Clone)]
pub struct Roots {
    /// `/proc`
    pub proc: PathBuf,
    /// `/sys`
    pub sys: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self { proc: "/proc".into(), sys: "/sys".into() }
    }
}

/// Answers all queries, in order, and tells about the host.
pub fn host(roots: &Roots, queries: &[LunQuery]) -> (Vec<LunFacts>, String) {
    let system = System::read(roots);
    let luns = queries.iter().map(|query| lun::facts(&system, query)).collect();
    (luns, inventory::text(roots, &system, queries))
}

/// The name of this host.
pub fn host_name(proc: &Path) -> String {
    line(&proc.join("sys/kernel/hostname")).unwrap_or_else(|| "unknown".to_owned())
}

/// A one-line file of the kernel; `None` when it is not there or empty.
fn line(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
