//! From a plan and what the hosts say about their luns to a plan that can be run.

mod blocks;
mod engines;
mod format;
mod identity;
mod imagined;
mod lun;
mod machines;
mod notices;
mod permissions;
mod preflight;
mod sights;
mod usage;

#[cfg(test)]
mod fleet_tests;
#[cfg(test)]
mod tests;

use std::time::Duration;

use brunt_parm::Span;

pub(crate) use self::lun::{Lun, Nature};
use self::machines::Machines;
pub(crate) use self::usage::Usage;
use crate::engine::{Asked, Choice};
use crate::expand::names::matches;
use crate::plan::{Plan, Sd};
use crate::sim;
use crate::work::{HostTraits, LunFacts, LunQuery, Sight};

/// What kind of refusal a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupKind {
    /// Devices, sizes, permissions, hosts.
    Setup,
    /// A safety rule.
    Safety,
}

/// Why the plan cannot be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupProblem {
    /// What kind.
    pub kind: SetupKind,
    /// A sentence that names place, reason and cure.
    pub text: String,
    /// Vdbench's own words, where scripts look for them.
    pub vdbench: Option<String>,
    /// The definition it is about.
    pub span: Option<Span>,
}

impl SetupProblem {
    pub(crate) fn setup(text: impl Into<String>, span: Option<Span>) -> Self {
        Self { kind: SetupKind::Setup, text: text.into(), vdbench: None, span }
    }

    pub(crate) fn safety(text: impl Into<String>, span: Option<Span>) -> Self {
        Self { kind: SetupKind::Safety, ..Self::setup(text, span) }
    }
}

/// Something worth knowing that does not stop a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupNotice {
    /// Whether the numbers may mean something else than was thought.
    pub warning: bool,
    /// A stable code, such as `page-cache`.
    pub code: &'static str,
    /// A sentence.
    pub text: String,
}

/// A file that is missing or too small.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatNeed {
    /// Index in [`Plan::sds`].
    pub sd: usize,
    /// Its path.
    pub lun: String,
    /// Index in [`Plan::hosts`].
    pub host: usize,
}

/// A plan with everything known about its devices.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The plan, with the run `SD_format` first when one is needed.
    pub plan: Plan,
    /// Usable bytes of each SD that is used.
    pub sd_sizes: Vec<Option<u64>>,
    /// Files that the format run makes or extends.
    pub formats: Vec<FormatNeed>,
    /// By SD and host: what serves its I/Os; `None` where it is not used.
    pub engines: Vec<Vec<Option<Choice>>>,
    /// What is worth knowing.
    pub notices: Vec<SetupNotice>,
    pub(crate) luns: Vec<Option<Lun>>,
    /// By SD and host: what was found there.
    pub(crate) sights: Vec<Vec<Option<Sight>>>,
}

/// What a host says about the lun of an SD.
pub(crate) struct Sighting<'a> {
    /// Index of the host.
    pub(crate) host: usize,
    /// Path there.
    pub(crate) lun: &'a str,
    /// The answer.
    pub(crate) facts: &'a LunFacts,
}

impl Plan {
    /// What to ask a host: the SDs that it uses, without simulated ones, in order.
    pub fn lun_queries(&self, host: usize) -> Vec<LunQuery> {
        let usage = Usage::of(self);
        let used = usage.on_host(host);
        let mut queries = Vec::new();
        for (at, sd) in self.sds.iter().enumerate() {
            let Some(lun) = sd.lun.get(host).and_then(|l| l.as_deref()) else { continue };
            let Some(usage) = usage.by_sd[at].filter(|_| used[at] && self.must_ask(sd, lun)) else { continue };
            let format = self.may_format(sd, lun);
            queries.push(LunQuery {
                sd: at as u32,
                name: sd.name.clone(),
                lun: lun.to_owned(),
                will_write: (usage.written || format) && self.settings.engine != Asked::Null,
                allow_in_use: self.waives("allow_in_use", &sd.name),
                overwrite: self.waives("overwrite", &sd.name),
            });
        }
        queries
    }

    /// By host: how long it goes on alone, the same from its greeting to its farewell, so that both ends count alike. The
    /// shorter time where anything of the execution writes there, or a file may have to be made.
    pub fn leases(&self) -> Vec<Duration> {
        let usage = Usage::of(self);
        let lease = |host: usize| {
            let used = usage.on_host(host);
            let writes = self.sds.iter().enumerate().any(|(at, sd)| {
                let lun = sd.lun.get(host).and_then(|lun| lun.as_deref()).filter(|_| used[at]);
                lun.is_some_and(|lun| usage.by_sd[at].is_some_and(|usage| usage.written) || self.may_format(sd, lun))
            });
            Duration::from_secs(self.settings.fleet.lease_s(writes).into())
        };
        (0..self.hosts.len()).map(lease).collect()
    }

    /// Whether a lun may be formatted. Devices are made by nobody, so that read-only work leaves them alone.
    fn may_format(&self, sd: &Sd, lun: &str) -> bool {
        self.settings.format_sds.unwrap_or(sd.size.is_some() && !lun::is_device_path(lun))
    }

    /// Whether `misc=(KEY=PATTERN)` waives a rule for an SD.
    fn waives(&self, key: &str, sd: &str) -> bool {
        self.settings.misc.iter().any(|(k, pattern)| k == key && matches(pattern, sd))
    }

    /// Whether a host has something to tell of a lun. Without devices only a size that is not given.
    fn must_ask(&self, sd: &Sd, lun: &str) -> bool {
        sim::name_of(lun).is_none() && (self.settings.engine != Asked::Null || sd.size.is_none())
    }

    /// Adds sizes, identity, back ends and format runs from the hosts' answers: by host, in the order of
    /// [`Plan::lun_queries`], with what each says of itself; a host that is not among these has all back ends and is a
    /// machine of its own. A lun that was asked for by its identity is from then on where the host found it.
    ///
    /// # Errors
    /// Everything that stands against running it.
    pub fn resolve(mut self, facts: &[Vec<LunFacts>], hosts: &[HostTraits]) -> Result<Resolved, Vec<SetupProblem>> {
        self.settle_paths(facts);
        let usage = Usage::of(&self);
        let mut problems = Vec::new();
        let mut notices = Vec::new();
        let by_sd = self.sightings(&usage, facts, hosts, &mut problems);
        let machines = Machines::of_plan(&self, hosts);
        let real = self.settings.engine != Asked::Null;
        let mut luns: Vec<Option<Lun>> = Vec::with_capacity(self.sds.len());
        let mut formats = Vec::new();
        for (at, sightings) in by_sd.iter().enumerate() {
            let found = usage.by_sd[at].map(|used| match real {
                true => lun::of_sd(&self, at, used, sightings, &mut notices),
                false => lun::Found::whole(imagined::of_sd(&self, at, used, sightings)),
            });
            let found = found.unwrap_or_default();
            problems.extend(found.problems);
            formats.extend(found.needs);
            luns.push(found.lun);
        }
        if real {
            for (at, sightings) in by_sd.iter().enumerate() {
                if let Some(used) = usage.by_sd[at] {
                    let formatted = luns[at].as_ref().is_some_and(|lun| lun.format_from.is_some());
                    permissions::check(&self, at, used, formatted, sightings, &mut problems, &mut notices);
                }
            }
            identity::check(&self, &by_sd, &machines, &mut problems, &mut notices);
        }
        let sd_sizes = luns.iter().map(|l| l.as_ref().map(|l| l.size)).collect();
        let sights = sights::of_all(&self, &by_sd);
        let looked_at = engines::Known { plan: &self, luns: &luns, by_sd: &by_sd, hosts };
        let engines = engines::choose_all(&looked_at, &mut problems, &mut notices);
        let mut resolved = Resolved { plan: self, sd_sizes, formats, engines, notices, luns, sights };
        format::insert_run(&mut resolved, &usage);
        resolved.scale_max_data();
        // Of the SDs that are known as far as that.
        problems.extend(preflight::check(&resolved));
        problems.extend(blocks::check(&resolved));
        if !problems.is_empty() {
            return Err(problems);
        }
        notices::add(&mut resolved, &machines);
        Ok(resolved)
    }

    /// Puts the paths that hosts have found in the place of identities.
    fn settle_paths(&mut self, facts: &[Vec<LunFacts>]) {
        for (host, answers) in facts.iter().enumerate() {
            for answer in answers {
                let lun = self.sds.get_mut(answer.sd as usize).and_then(|sd| sd.lun.get_mut(host)?.as_mut());
                if let (Some(lun), Some(path)) = (lun, &answer.path) {
                    lun.clone_from(path);
                }
            }
        }
    }

    /// The answers by SD. A host that did not answer about one of its luns is a problem.
    fn sightings<'a>(
        &'a self,
        usage: &Usage,
        facts: &'a [Vec<LunFacts>],
        hosts: &[HostTraits],
        problems: &mut Vec<SetupProblem>,
    ) -> Vec<Vec<Sighting<'a>>> {
        let mut by_sd: Vec<Vec<Sighting>> = self.sds.iter().map(|_| Vec::new()).collect();
        for (host, answers) in facts.iter().enumerate() {
            for answer in answers {
                let at = answer.sd as usize;
                if let Some(lun) = self.sds.get(at).and_then(|sd| sd.lun.get(host)).and_then(|l| l.as_deref()) {
                    by_sd[at].push(Sighting { host, lun, facts: answer });
                }
            }
        }
        let silent = |host: &usize| hosts.get(*host).is_some_and(|traits| traits.silent);
        for host in (0..self.hosts.len()).filter(|host| !silent(host)) {
            let used = usage.on_host(host);
            for (at, sd) in self.sds.iter().enumerate() {
                let asked =
                    used[at] && sd.lun.get(host).and_then(|l| l.as_deref()).is_some_and(|lun| self.must_ask(sd, lun));
                if asked && !by_sd[at].iter().any(|s| s.host == host) {
                    let text = format!("sd={}: host={} did not say what its lun is", sd.name, self.hosts[host].label);
                    problems.push(SetupProblem::setup(text, sd.span));
                }
            }
        }
        by_sd
    }
}

impl Resolved {
    /// Usable bytes of these SDs together.
    pub(crate) fn bytes_of(&self, sds: &[usize]) -> u64 {
        sds.iter().filter_map(|sd| self.sd_sizes[*sd]).fold(0, u64::saturating_add)
    }

    /// `maxdata=` up to 100 is a multiple of the size of the run's SDs (`docs/vdbench/raw.md` §7).
    fn scale_max_data(&mut self) {
        const LARGEST_MULTIPLE: f64 = 100.0;
        for run in &mut self.plan.runs {
            if run.max_data.is_empty() {
                continue;
            }
            let mut sds: Vec<usize> = run.workloads.iter().flat_map(|w| w.sds.iter().copied()).collect();
            sds.sort_unstable();
            sds.dedup();
            let bytes = sds.iter().filter_map(|sd| self.sd_sizes[*sd]).fold(0, u64::saturating_add);
            for (_, limit) in &mut run.max_data {
                if *limit <= LARGEST_MULTIPLE {
                    *limit *= bytes as f64;
                }
            }
        }
    }
}
