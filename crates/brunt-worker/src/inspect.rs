//! What this host knows about luns and about itself. Nothing here writes.

pub(crate) mod device;
mod inventory;
mod listing;
mod lun;
mod named;
mod partition_table;
mod patience;
mod signature;
pub(crate) mod system;
mod usage;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use brunt_engine::support;
use brunt_plan::work::{EngineSupport, LunFacts, LunQuery};

pub use brunt_engine::calibrate::host::Roots;
pub use listing::devices;
use system::System;

/// Time that luns have to answer: more than the command timeout of most disks, less than a master waits.
const LUN_LIMIT: Duration = Duration::from_secs(45);

/// What a host says before anything runs.
#[derive(Debug, Clone, PartialEq)]
pub struct HostAnswer {
    /// One per query, in order.
    pub luns: Vec<LunFacts>,
    /// Inventory as plain text.
    pub inventory: String,
    /// Its back ends.
    pub engines: EngineSupport,
    /// Names the running kernel: all agents of one machine say the same, also in containers and network namespaces.
    pub machine: Option<String>,
}

/// Answers all queries, in order, and tells about the host. A lun that does not answer is refused.
pub fn host(roots: &Roots, queries: &[LunQuery]) -> HostAnswer {
    let system = Arc::new(System::read(roots));
    let luns = luns(&system, queries);
    HostAnswer {
        inventory: inventory::text(roots, &system, queries, &luns),
        luns,
        engines: support::support(),
        machine: line(&roots.proc.join("sys/kernel/random/boot_id")),
    }
}

/// Looks at luns once more.
pub(crate) fn again(roots: &Roots, queries: &[LunQuery]) -> Vec<LunFacts> {
    luns(&Arc::new(System::read(roots)), queries)
}

fn luns(system: &Arc<System>, queries: &[LunQuery]) -> Vec<LunFacts> {
    let works = queries.iter().cloned().map(|query| {
        let system = Arc::clone(system);
        move || lun::facts(&system, &query)
    });
    let answers = patience::in_time(LUN_LIMIT, works);
    queries.iter().zip(answers).map(|(query, answer)| answer.unwrap_or_else(|| lun::silent(query))).collect()
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
