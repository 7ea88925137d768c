//! Tells other executions on this host which luns this one writes to, and asks which of them others write to.
//!
//! A mark is a Unix socket that is bound to a name of the kernel's own name space (unix(7), abstract) and never used. It
//! goes with its process however that ends, and `/proc/net/unix` shows the marks of all users. Device and file are
//! neither held open nor locked: a command between two runs may take them away, and udev and partition tools, which lock
//! devices (flock(2)), never wait for us. Marks are seen within one network namespace.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use brunt_plan::work::{LunFacts, LunKind, LunQuery};
use brunt_proto::digest;
use nix::sys::resource::{Resource, getrlimit};

/// What all names begin with; behind it come lun, execution and process.
const PREFIX: &str = "brunt/lun/";

/// Hexadecimal digits of a digest in a name: 64 bits, so that a name has room (108 bytes) and no two luns share one.
const DIGITS: usize = 16;

/// Files that a process has open at most besides luns and marks.
const OTHER_FILES: u64 = 256;

/// How often to look again: the agent of an execution that is just over may be on its way out.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// The marks of an agent.
#[derive(Debug, Default)]
pub struct Marks {
    /// Digest of who began the session: the same for all agents of an execution.
    execution: OnceLock<String>,
    /// Whether the limit of open files has room for a mark of each lun.
    room: OnceLock<bool>,
    /// By name. They last as long as this.
    held: Mutex<BTreeMap<String, UnixDatagram>>,
}

impl Marks {
    /// Says whose session this is, once: as the first client calls itself.
    pub fn belong_to(&self, client: &str) {
        let _ = self.execution.set(short(client));
    }

    /// Marks all luns that are to be written, and refuses those to which another execution writes. `proc` is `/proc`.
    pub fn claim(&self, proc: &Path, queries: &[LunQuery], luns: &mut [LunFacts]) {
        let limit = getrlimit(Resource::RLIMIT_NOFILE).map_or(u64::MAX, |(soft, _)| soft);
        self.room.get_or_init(|| has_room(limit, queries.len()));
        let written = |(query, facts): &(&LunQuery, &mut LunFacts)| {
            query.will_write && matches!(facts.kind, LunKind::File | LunKind::Block) && facts.trouble.is_none()
        };
        let mut claimed: Vec<(&LunQuery, &mut LunFacts)> = queries.iter().zip(luns).filter(written).collect();
        // Ours come first: of two that look at the same time, one sees the other at least.
        for (_, facts) in &claimed {
            facts.identity.iter().for_each(|identity| self.mark(identity));
        }
        let identities: Vec<String> = claimed.iter().filter_map(|(_, facts)| facts.identity.clone()).collect();
        let others = self.others(&proc.join("net/unix"), &identities);
        for (query, facts) in &mut claimed {
            let Some(process) = facts.identity.as_ref().and_then(|identity| others.get(identity)) else { continue };
            let lun = facts.path.as_ref().unwrap_or(&query.lun);
            let text = format!(
                "{lun} is in use: another execution of Brunt writes to it, with process {process} as its agent"
            );
            match query.allow_in_use {
                true => facts.warnings.push(text),
                false => {
                    facts
                        .refusals
                        .push(format!("{text}; misc=(allow_in_use={}) writes to it all the same", query.name));
                }
            }
        }
    }

    /// Marks a lun that is to be written.
    pub fn mark(&self, identity: &str) {
        let name = format!("{PREFIX}{}/{}/{}", short(identity), self.own(), std::process::id());
        let mut held = self.held();
        if held.contains_key(&name) || self.room.get() == Some(&false) {
            return;
        }
        match bind(&name) {
            Ok(socket) => drop(held.insert(name, socket)),
            // Others will not know. That is no reason to do without the run.
            Err(error) => tracing::warn!(%error, identity, "a lun cannot be marked as in use"),
        }
    }

    /// Agents of other executions that write to these luns, by the luns' identities.
    fn others(&self, sockets: &Path, identities: &[String]) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                sleep(PAUSE);
            }
            let table = fs::read(sockets).unwrap_or_default();
            let table = String::from_utf8_lossy(&table);
            let marks: Vec<Mark<'_>> = table.lines().filter_map(Mark::parse).collect();
            let other = |identity: &String| {
                let lun = short(identity);
                let other = marks.iter().find(|mark| mark.lun == lun && mark.execution != self.own())?;
                Some((identity.clone(), other.process.to_owned()))
            };
            found = identities.iter().filter_map(other).collect();
            if found.is_empty() {
                break;
            }
        }
        found
    }

    /// The execution; one without a name is that of this process alone.
    fn own(&self) -> &str {
        self.execution.get_or_init(|| short(&format!("process {}", std::process::id())))
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<String, UnixDatagram>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether so many luns can be open and marked. A run is worth more than its marks.
fn has_room(limit: u64, luns: usize) -> bool {
    let needed = (luns as u64).saturating_mul(2).saturating_add(OTHER_FILES);
    if limit < needed {
        tracing::warn!(limit, needed, "luns are not marked as in use: too few files may be open");
    }
    limit >= needed
}

fn bind(name: &str) -> io::Result<UnixDatagram> {
    UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

/// The first digits of a digest.
fn short(text: &str) -> String {
    // Reading from memory does not fail.
    let mut digest = digest::sha256(text.as_bytes()).unwrap_or_default();
    digest.truncate(DIGITS);
    digest
}

/// A mark, as `/proc/net/unix` shows it.
#[derive(Debug, PartialEq, Eq)]
struct Mark<'a> {
    lun: &'a str,
    execution: &'a str,
    process: &'a str,
}

impl<'a> Mark<'a> {
    /// The last word of a line; an `@` stands for the byte 0 that names like these begin with.
    fn parse(line: &'a str) -> Option<Self> {
        let name = line.split_whitespace().nth(7)?.strip_prefix('@')?.strip_prefix(PREFIX)?;
        let mut parts = name.split('/');
        let mark = Self { lun: parts.next()?, execution: parts.next()?, process: parts.next()? };
        // Whoever else takes such a name says a number, or nothing.
        let is_number = !mark.process.is_empty() && mark.process.bytes().all(|byte| byte.is_ascii_digit());
        (is_number && parts.next().is_none()).then_some(mark)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn query(name: &str, will_write: bool, allow_in_use: bool) -> LunQuery {
        LunQuery { sd: 0, name: name.to_owned(), lun: "/dev/x".to_owned(), will_write, allow_in_use, overwrite: false }
    }

    fn device(identity: &str) -> LunFacts {
        LunFacts { identity: Some(identity.to_owned()), ..LunFacts::silent(0, LunKind::Block) }
    }

    /// Luns of this test alone: others run at the same time.
    fn identity(name: &str) -> String {
        format!("test:{}:{name}", std::process::id())
    }

    fn of(client: &str) -> Marks {
        let marks = Marks::default();
        marks.belong_to(client);
        marks
    }

    fn claimed(marks: &Marks, query: &LunQuery, identity: &str) -> LunFacts {
        let mut luns = [device(identity)];
        marks.claim(Path::new("/proc"), std::slice::from_ref(query), &mut luns);
        let [facts] = luns;
        facts
    }

    #[test]
    fn who_writes_second_is_refused_until_the_first_has_ended() {
        let lun = identity("second");
        let (first, second, same) = (of("one"), of("two"), of("one"));
        assert_eq!(claimed(&first, &query("sd1", true, false), &lun), device(&lun));
        // Another agent of the same execution, and one that reads, have nothing to fear; nor is another lun meant.
        assert_eq!(claimed(&same, &query("sd1", true, false), &lun), device(&lun));
        assert_eq!(claimed(&second, &query("sd1", false, false), &lun), device(&lun));
        let other = identity("other");
        assert_eq!(claimed(&second, &query("sd1", true, false), &other), device(&other));

        let text = format!(
            "/dev/x is in use: another execution of Brunt writes to it, with process {} as its agent",
            std::process::id()
        );
        let refused = claimed(&of("three"), &query("sd1", true, false), &lun);
        assert_eq!(refused.refusals, [format!("{text}; misc=(allow_in_use=sd1) writes to it all the same")]);
        let allowed = claimed(&of("four"), &query("sd1", true, true), &lun);
        assert_eq!((allowed.refusals, allowed.warnings), (vec![], vec![text]));
        drop((first, same));
        assert_eq!(claimed(&second, &query("sd1", true, false), &lun), device(&lun));
    }

    #[test]
    fn an_execution_that_is_about_to_end_is_waited_for() {
        let lun = identity("late");
        let (first, second) = (of("one"), of("two"));
        first.mark(&lun);
        let ending = std::thread::spawn(move || {
            // Less than the attempts of the other one last.
            sleep(4 * PAUSE);
            drop(first);
        });
        assert_eq!(claimed(&second, &query("sd1", true, false), &lun), device(&lun));
        ending.join().unwrap();
    }

    #[test]
    fn marks_take_no_file_from_a_run() {
        assert!(has_room(1024, 384) && !has_room(1024, 385) && !has_room(64, 1));
        let lun = identity("many");
        let (first, second) = (of("one"), of("two"));
        first.room.set(false).unwrap();
        first.mark(&lun);
        assert_eq!(claimed(&second, &query("sd1", true, false), &lun), device(&lun));
    }

    #[test]
    fn names_are_read_as_the_kernel_shows_them() {
        let line = "ffff88810a8b7c00: 00000002 00000000 00000000 0002 01 123456 @brunt/lun/0a1b/2c3d/4711";
        assert_eq!(Mark::parse(line), Some(Mark { lun: "0a1b", execution: "2c3d", process: "4711" }));
        for other in [
            "Num       RefCount Protocol Flags    Type St Inode Path",
            "ffff88810a8b7c00: 00000002 00000000 00000000 0002 01 123456",
            "ffff88810a8b7c00: 00000002 00000000 00000000 0002 01 123456 /run/brunt/lun/0a1b/2c3d/4711",
            "ffff88810a8b7c00: 00000002 00000000 00000000 0002 01 123456 @brunt/lun/0a1b/2c3d",
            "ffff88810a8b7c00: 00000002 00000000 00000000 0002 01 123456 @brunt/lun/0a1b/2c3d/47x",
        ] {
            assert_eq!(Mark::parse(other), None, "{other}");
        }
    }
}
