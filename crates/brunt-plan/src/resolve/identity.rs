//! Which LUN is it: one SD is one device on all hosts, and no other SD is the same one.

use std::collections::{BTreeMap, HashMap};

use super::machines::Machines;
use super::{SetupNotice, SetupProblem, Sighting};
use crate::identity::is_global;
use crate::plan::Plan;
use crate::work::LunKind;

/// An identity with the machine on which it holds; `None`: on all.
type Key<'a> = (Option<usize>, &'a str);

/// Compares the identities of devices over hosts and SDs (`docs/vdbench/decisions.md`); `misc=(identity=warn)` makes it a
/// warning. Two SDs may name the same file, and one SD may have a file of its own on each host.
pub(crate) fn check(
    plan: &Plan,
    by_sd: &[Vec<Sighting>],
    machines: &Machines,
    problems: &mut Vec<SetupProblem>,
    notices: &mut Vec<SetupNotice>,
) {
    let lenient = plan.settings.misc.iter().rev().find(|(k, _)| k == "identity").is_some_and(|(_, v)| v == "warn");
    let mut check = Check { plan, machines, lenient, problems, notices, owners: HashMap::new() };
    for (at, sightings) in by_sd.iter().enumerate() {
        let devices = sightings.iter().filter(|s| matches!(s.facts.kind, LunKind::Block | LunKind::Character));
        let devices: Vec<Known> = devices.filter_map(|s| check.known(s)).collect();
        check.one_device(at, &devices);
        check.no_other(at, &devices, false);
        let files: Vec<Known> =
            sightings.iter().filter(|s| s.facts.kind == LunKind::File).filter_map(|s| check.known(s)).collect();
        check.no_other(at, &files, true);
    }
}

/// A lun whose identity is known.
#[derive(Clone, Copy)]
struct Known<'a> {
    seen: &'a Sighting<'a>,
    machine: usize,
    identity: &'a str,
}

impl<'a> Known<'a> {
    fn key(&self) -> Key<'a> {
        ((!is_global(self.identity)).then_some(self.machine), self.identity)
    }
}

struct Check<'a, 'b> {
    plan: &'a Plan,
    machines: &'a Machines,
    lenient: bool,
    problems: &'b mut Vec<SetupProblem>,
    notices: &'b mut Vec<SetupNotice>,
    /// The SD that was the first with an identity, and where.
    owners: HashMap<Key<'a>, (usize, &'a Sighting<'a>)>,
}

impl<'a> Check<'a, '_> {
    fn known(&self, seen: &'a Sighting<'a>) -> Option<Known<'a>> {
        let identity = seen.facts.identity.as_deref()?;
        Some(Known { seen, machine: self.machines.of(seen.host), identity })
    }

    /// All hosts see the same device. Where an identity holds on one machine only, nothing can be said of the others.
    fn one_device(&mut self, at: usize, devices: &[Known<'a>]) {
        let usual = usual(devices);
        let mut on_machine: BTreeMap<usize, Known> = BTreeMap::new();
        for device in devices {
            let before = *on_machine.entry(device.machine).or_insert(*device);
            let other = match usual {
                _ if before.identity != device.identity => Some(before),
                Some(usual) if is_global(device.identity) && usual.identity != device.identity => Some(usual),
                _ => None,
            };
            if let Some(other) = other {
                let text = format!(
                    "sd={} is two devices: {} is {}, {} is {}",
                    self.plan.sds[at].name,
                    self.place(other.seen),
                    other.identity,
                    self.place(device.seen),
                    device.identity
                );
                self.tell(text, at);
            }
        }
        if on_machine.len() > 1
            && let Some(unsure) = on_machine.values().find(|device| !is_global(device.identity))
        {
            let text = format!(
                "sd={}: {} has no identity that holds on other machines; that all hosts see one device is taken for granted",
                self.plan.sds[at].name,
                self.place(unsure.seen)
            );
            self.notices.push(SetupNotice { warning: false, code: "identity-unknown", text });
        }
    }

    /// No SD before this one is the same device; of two with the same file it is only told.
    fn no_other(&mut self, at: usize, seen: &[Known<'a>], files: bool) {
        let mut told = Vec::new();
        for one in seen {
            let (owner, first) = *self.owners.entry(one.key()).or_insert((at, one.seen));
            if owner == at || told.contains(&owner) {
                continue;
            }
            told.push(owner);
            let (a, b) = (&self.plan.sds[owner].name, &self.plan.sds[at].name);
            let places = format!("sd={a} ({}) and sd={b} ({})", self.place(first), self.place(one.seen));
            if files {
                let text = format!("{places} are the same file");
                self.notices.push(SetupNotice { warning: false, code: "same-file", text });
            } else {
                self.tell(format!("{places} are one device, {}, perhaps two paths to it", one.identity), at);
            }
        }
    }

    fn place(&self, seen: &Sighting) -> String {
        format!("lun={} on host={}", seen.lun, self.plan.hosts[seen.host].label)
    }

    fn tell(&mut self, text: String, sd: usize) {
        if self.lenient {
            self.notices.push(SetupNotice { warning: true, code: "identity", text });
        } else {
            let text = format!("{text}; misc=(identity=warn) allows it");
            self.problems.push(SetupProblem::safety(text, self.plan.sds[sd].span));
        }
    }
}

/// The device that most hosts see, the first of those: the others are the odd ones.
fn usual<'a>(devices: &[Known<'a>]) -> Option<Known<'a>> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let global = || devices.iter().filter(|device| is_global(device.identity));
    global().for_each(|device| *counts.entry(device.identity).or_default() += 1);
    // The first of the largest.
    global().rev().max_by_key(|device| counts.get(device.identity)).copied()
}
