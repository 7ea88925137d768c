//! Whether the luns of a run still are what they were when the hosts were asked, and may still be written.
//!
//! A path can come to mean something else between two runs: disks are numbered anew, a link is turned, a command of the
//! user's makes a file system. So each Prepare looks again: before the workers open anything, at all that inspection
//! looks at; they open nothing but what was found then ([`Sight::node`]); and once more behind that, as a number is
//! only sure to stay with its device while it is open.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

use brunt_engine::device::open::node_of;
use brunt_plan::work::{LunFacts, LunKind, LunQuery, Node, Sight};
use brunt_proto::v1;

use super::thread::off_thread;
use crate::inspect::{self, Roots};

/// What is known of luns from earlier runs.
#[derive(Debug, Default)]
pub struct Sights {
    /// By SD: identity of the file that a run has made where nothing was.
    made: Mutex<HashMap<u32, String>>,
}

/// A lun that is to be opened.
#[derive(Debug, Clone)]
struct Claim {
    query: LunQuery,
    sight: Sight,
    /// What is under its path.
    node: Option<Node>,
}

/// Luns that were compared before they were opened.
#[must_use]
#[derive(Debug)]
pub struct Compared(Vec<Claim>);

impl Sights {
    /// Compares all luns, and tells the workers what to open.
    ///
    /// # Errors
    /// A lun is something else now, or something speaks against writing to it.
    pub async fn compare(&self, slots: &mut [v1::WorkerSlot]) -> Result<Compared, String> {
        let claims = look(claims(slots)?).await?;
        self.judge(&claims)?;
        let nodes: BTreeMap<u32, Node> = claims.iter().filter_map(|(c, _)| Some((c.query.sd, c.node?))).collect();
        for target in slots.iter_mut().filter_map(|slot| slot.share.as_mut()).flat_map(|share| &mut share.targets) {
            if let (Some(sight), Some(node)) = (&mut target.sight, nodes.get(&target.sd)) {
                sight.node = Some((*node).into());
            }
        }
        Ok(Compared(claims.into_iter().map(|(claim, _)| claim).collect()))
    }

    /// Compares what the workers have opened. Gives the identities of the files that they have made.
    ///
    /// # Errors
    /// A lun has become something else meanwhile.
    pub async fn confirm(&self, Compared(claims): Compared) -> Result<Vec<String>, String> {
        let unsure = claims.into_iter().filter(|claim| !matches!(claim.node, Some(Node::File(..))));
        // Who else uses it was looked at; opening for writing makes udev look too.
        let unsure = unsure.map(|claim| Claim { query: LunQuery { will_write: false, ..claim.query }, ..claim });
        let before: Vec<Claim> = unsure.collect();
        let claims = look(before.clone()).await?;
        self.judge(&claims)?;
        let moved = before.iter().zip(&claims).find(|(was, (is, _))| was.node.is_some() && was.node != is.node);
        if let Some((claim, _)) = moved {
            let LunQuery { name, lun, .. } = &claim.query;
            return Err(format!("sd={name}: {lun} has become another device while it was opened; what replaces it?"));
        }
        let made = claims.into_iter().filter(|(_, facts)| facts.kind == LunKind::File);
        let made: Vec<(u32, String)> =
            made.filter_map(|(claim, facts)| Some((claim.query.sd, facts.identity?))).collect();
        let identities = made.iter().map(|(_, identity)| identity.clone()).collect();
        self.made().extend(made);
        Ok(identities)
    }

    /// Everything that stands against opening them.
    fn judge(&self, claims: &[(Claim, LunFacts)]) -> Result<(), String> {
        let made = self.made();
        let problems: Vec<String> = claims
            .iter()
            .flat_map(|(claim, facts)| problems(claim, facts, made.get(&claim.query.sd).map(String::as_str)))
            .collect();
        if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
    }

    fn made(&self) -> MutexGuard<'_, HashMap<u32, String>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The luns of all shares, each once; without those that the agent of this worker has compared.
fn claims(slots: &[v1::WorkerSlot]) -> Result<Vec<Claim>, String> {
    let mut claims = BTreeMap::new();
    for target in slots.iter().filter_map(|slot| slot.share.as_ref()).flat_map(|share| &share.targets) {
        let Some(sight) = target.sight.clone().filter(|sight| sight.node.is_none() && target.sim.is_none()) else {
            continue;
        };
        let sight = Sight::try_from(sight).map_err(|error| error.to_string())?;
        let query = LunQuery {
            sd: target.sd,
            name: target.name.clone(),
            lun: target.lun.clone(),
            will_write: target.write,
            allow_in_use: sight.allow_in_use,
            overwrite: sight.overwrite,
        };
        claims.entry(target.sd).or_insert(Claim { query, sight, node: None });
    }
    Ok(claims.into_values().collect())
}

/// Looks at luns, and at what is under their paths.
async fn look(mut claims: Vec<Claim>) -> Result<Vec<(Claim, LunFacts)>, String> {
    if claims.is_empty() {
        return Ok(Vec::new());
    }
    let looked = off_thread("look", move || {
        let queries: Vec<LunQuery> = claims.iter().map(|claim| claim.query.clone()).collect();
        // Before the facts: what takes its place afterwards is not opened.
        for claim in &mut claims {
            claim.node = fs::metadata(&claim.query.lun).ok().and_then(|metadata| node_of(&metadata));
        }
        let facts = inspect::again(&Roots::default(), &queries);
        claims.into_iter().zip(facts).collect()
    });
    looked.await.map_err(|error| format!("the luns cannot be looked at: {error}"))
}

/// What stands against opening a lun, a sentence each. `made` is the file that an earlier run has made.
fn problems(claim: &Claim, facts: &LunFacts, made: Option<&str>) -> Vec<String> {
    let (LunQuery { name, lun, .. }, sight) = (&claim.query, &claim.sight);
    if let Some(trouble) = &facts.trouble {
        return vec![format!("sd={name}: {lun}: {trouble}")];
    }
    let known = made.or(sight.identity.as_deref());
    let same = match (sight.kind, facts.kind) {
        (LunKind::Missing, LunKind::Missing) => true,
        (LunKind::Missing, LunKind::File) => made.is_none_or(|made| facts.identity.as_deref() == Some(made)),
        // Files grow as they are written.
        (LunKind::Block, LunKind::Block) => facts.identity.as_deref() == known && facts.size == sight.size,
        (was, is) => was == is && facts.identity.as_deref() == known,
    };
    if !same {
        let was = match made {
            Some(made) => words(LunKind::File, Some(made), None),
            None => words(sight.kind, known, Some(sight.size)),
        };
        let is = words(facts.kind, facts.identity.as_deref(), Some(facts.size));
        return vec![format!(
            "sd={name}: {lun} was {was}, and now is {is}; it was left alone. Find out what replaces it, or name a \
             device by its identity (lun=wwn:…)"
        )];
    }
    facts.refusals.iter().map(|text| format!("sd={name}: {text}")).collect()
}

fn words(kind: LunKind, identity: Option<&str>, size: Option<u64>) -> String {
    let identity = identity.map(|identity| format!(" {identity}")).unwrap_or_default();
    match (kind, size) {
        (LunKind::Missing, _) => "nothing".to_owned(),
        (LunKind::File, _) => format!("the file{identity}"),
        (LunKind::Block, Some(size)) => format!("the device{identity} of {size} bytes"),
        (LunKind::Block | LunKind::Character, _) => format!("the device{identity}"),
        (LunKind::Directory, _) => "a folder".to_owned(),
        (LunKind::Other, _) => "neither file nor device".to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
