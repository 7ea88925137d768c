//! What is known of the luns of a plan on this machine, and what is assumed of the others.

use brunt_plan::engine::Asked;
use brunt_plan::identity::is_asked_for;
use brunt_plan::plan::{Plan, Sd};
use brunt_plan::work::{HostTraits, LunFacts, LunKind, LunQuery};
use brunt_plan::{Resolved, SetupProblem};

/// Size that stands for one that nobody knows, so that the rest of the plan can be worked out; it is never shown.
const NOMINAL: u64 = 1 << 40;

/// A plan with what is known of its luns.
#[derive(Debug)]
pub struct Known {
    /// The plan with sizes and format run; `None` when not even assumptions make one.
    pub resolved: Option<Resolved>,
    /// By SD of the plan: whether its size is neither known nor given, so that no address of it is.
    pub unknown: Vec<bool>,
    /// What speaks against running it as the machine is now.
    pub problems: Vec<SetupProblem>,
}

impl Known {
    /// Works out a plan from the answers of the hosts and what they say of themselves; `None` for a host that was not
    /// asked.
    pub fn new(plan: &Plan, facts: Vec<Option<Vec<LunFacts>>>, hosts: &[HostTraits]) -> Self {
        let mut problems = Vec::new();
        if let Some(all) = facts.iter().cloned().collect::<Option<Vec<_>>>() {
            match plan.clone().resolve(&all, hosts) {
                Ok(resolved) => {
                    return Self { resolved: Some(resolved), unknown: vec![false; plan.sds.len()], problems };
                }
                Err(found) => problems = found,
            }
        }
        let sizes: Vec<Option<u64>> = plan.sds.iter().enumerate().map(|(n, sd)| size(n, sd, &facts)).collect();
        let assumed: Vec<Vec<LunFacts>> = (0..plan.hosts.len())
            .map(|host| {
                let answer = |query: &LunQuery| facts[host].iter().flatten().find(|f| f.sd == query.sd);
                plan.lun_queries(host).iter().map(|q| assume(q, answer(q), sizes[q.sd as usize])).collect()
            })
            .collect();
        // A back end that is asked for and that a host has not got is told by now.
        let hosts = if plan.settings.engine == Asked::Auto { hosts } else { &[] };
        let resolved = match plan.clone().resolve(&assumed, hosts) {
            Ok(resolved) => Some(resolved),
            Err(found) => {
                // What is wrong even with devices as they are meant is said once.
                problems.extend(found);
                problems.dedup();
                None
            }
        };
        Self { resolved, unknown: sizes.iter().map(Option::is_none).collect(), problems }
    }
}

/// The size of an SD: of what is there on some host, else as given.
fn size(at: usize, sd: &Sd, facts: &[Option<Vec<LunFacts>>]) -> Option<u64> {
    let there = |f: &&LunFacts| {
        f.sd as usize == at && f.size > 0 && matches!(f.kind, LunKind::File | LunKind::Block | LunKind::Character)
    };
    let simulated = sd.lun.iter().flatten().any(|lun| lun.starts_with("sim:"));
    let seen = facts.iter().flatten().flatten().find(there).map(|f| f.size);
    // A simulated device has its size from `misc=`, and it is never asked for.
    seen.max(sd.size).or(simulated.then_some(NOMINAL))
}

/// An answer that stands against nothing: there, of the right size, free and permitted.
fn assume(query: &LunQuery, answer: Option<&LunFacts>, size: Option<u64>) -> LunFacts {
    let path = query.lun.starts_with("/dev/") && !query.lun.starts_with("/dev/shm/");
    let device = path || is_asked_for(&query.lun);
    let kind = match answer.map(|a| a.kind) {
        Some(kind @ (LunKind::File | LunKind::Block | LunKind::Character)) => kind,
        // A file that is missing here would be made; elsewhere it is taken as there.
        Some(LunKind::Missing) if !device && size.is_some() => LunKind::Missing,
        _ if device => LunKind::Block,
        _ => LunKind::File,
    };
    let real = answer.filter(|a| a.kind == kind && kind == LunKind::File).map(|a| a.size);
    LunFacts {
        size: if kind == LunKind::Missing { 0 } else { real.or(size).unwrap_or(NOMINAL) },
        readable: true,
        writable: true,
        block_size: answer.and_then(|a| a.block_size),
        nowait: answer.and_then(|a| a.nowait),
        allocated: answer.and_then(|a| a.allocated),
        tags: answer.and_then(|a| a.tags),
        io_poll: answer.is_some_and(|a| a.io_poll),
        ..LunFacts::silent(query.sd, kind)
    }
}
