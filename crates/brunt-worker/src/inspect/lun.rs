//! One lun: what it is, how large, and whether it can be opened.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{ErrorKind, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use brunt_engine::{probe, reserve};
use brunt_plan::work::{LunFacts, LunKind, LunQuery};
use nix::fcntl::OFlag;
use nix::unistd::{AccessFlags, access};

use super::device::{Device, Number};
use super::named;
use super::signature::{self, Part, Verdict};
use super::system::System;
use super::usage;

/// Reservation keys that are named.
const SHOWN_KEYS: usize = 3;

/// Answers one query. Symbolic links are followed.
pub fn facts(system: &System, query: &LunQuery) -> LunFacts {
    match named::path(system, &query.lun) {
        None => facts_of(system, query),
        Some(Ok(path)) => {
            // From here on it is called by its path, in sentences too.
            let path = path.display().to_string();
            let facts = facts_of(system, &LunQuery { lun: path.clone(), ..query.clone() });
            LunFacts { path: Some(path), ..facts }
        }
        Some(Err(trouble)) => LunFacts { trouble: Some(trouble), ..LunFacts::silent(query.sd, LunKind::Missing) },
    }
}

fn facts_of(system: &System, query: &LunQuery) -> LunFacts {
    let path = Path::new(&query.lun);
    let metadata = match fs::metadata(path) {
        Ok(metadata) => Some(metadata),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => None,
        Err(error) => {
            let trouble = format!("it cannot be looked at: {error}");
            return LunFacts { trouble: Some(trouble), ..LunFacts::silent(query.sd, LunKind::Missing) };
        }
    };
    let kind = metadata.as_ref().map_or(LunKind::Missing, kind);
    let mut facts = LunFacts {
        size: metadata.as_ref().map_or(0, Metadata::len),
        readable: readable(path, kind),
        writable: writable(path, kind, query.will_write),
        identity: metadata.as_ref().map(|file| format!("local:file:{}:{}", Number::of(file.dev()), file.ino())),
        timeout_s: metadata.as_ref().and_then(|file| system.timeout_s(Number::of(file.dev()))),
        ..LunFacts::silent(query.sd, kind)
    };
    if kind == LunKind::File {
        facts.nowait = probe::nowait(path);
        facts.allocated = probe::allocated(path);
    }
    match (&metadata, kind) {
        (Some(file), LunKind::File) if query.will_write => in_use(&mut facts, query, usage::of_file(system, file)),
        (Some(file), LunKind::Block) => block(&mut facts, system, query, Number::of(file.rdev())),
        (Some(file), LunKind::Character) => {
            facts.size = 0;
            facts.identity = Some(format!("local:character:{}", Number::of(file.rdev())));
        }
        _ => {}
    }
    facts
}

/// The answer about a lun that does not answer.
pub fn silent(query: &LunQuery) -> LunFacts {
    let trouble = format!(
        "it does not answer within {} s; look at the kernel log of that host, its path may be down",
        super::LUN_LIMIT.as_secs()
    );
    LunFacts { trouble: Some(trouble), ..LunFacts::silent(query.sd, LunKind::Other) }
}

/// Completes the answer about a block device.
fn block(facts: &mut LunFacts, system: &System, query: &LunQuery, number: Number) {
    let path = Path::new(&query.lun);
    let device = system.devices.get(&number);
    facts.size = device.map(|device| device.size).filter(|size| *size > 0).unwrap_or_else(|| seek_size(path));
    facts.block_size = device.and_then(Device::block_size);
    facts.timeout_s = system.timeout_s(number);
    facts.tags = system.tags(number);
    facts.io_poll = device.is_some_and(Device::io_poll);
    // Volumes and RAID of older kernels do not know the flag, and work on many I/Os at once all the same.
    let layered = device.is_some_and(|device| !device.parts().is_empty());
    facts.nowait = probe::nowait(path).filter(|nowait| *nowait || !layered);
    let identity = device.and_then(|device| named::identity_of(system, device));
    facts.identity = Some(identity.unwrap_or_else(|| format!("local:block:{number}")));
    if query.will_write {
        in_use(facts, query, usage::of_device(system, number, path));
        signatures(facts, system, query, device);
        reservations(facts, query);
    }
}

/// Looks whether somebody has registered to write to a device. A device that does not tell has none, as far as is
/// known: most have no reservations, and asking takes privileges.
fn reservations(facts: &mut LunFacts, query: &LunQuery) {
    let device = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(&query.lun);
    let keys = device.and_then(|device| reserve::read_keys(device.as_fd()));
    registered(facts, query, &keys.unwrap_or_default());
}

/// This program registers no keys, so they are all somebody else's.
fn registered(facts: &mut LunFacts, query: &LunQuery, keys: &[u64]) {
    let mut keys = keys.to_vec();
    keys.sort_unstable();
    // A host registers the same key on each of its paths.
    keys.dedup();
    if keys.is_empty() {
        return;
    }
    let shown: Vec<String> = keys.iter().take(SHOWN_KEYS).map(|key| format!("{key:#x}")).collect();
    let more = if keys.len() > SHOWN_KEYS { format!(" and {} more", keys.len() - SHOWN_KEYS) } else { String::new() };
    let text = format!("{} has reservation keys of other hosts: {}{more}", query.lun, shown.join(", "));
    if query.overwrite {
        facts.warnings.push(text);
    } else {
        facts.refusals.push(format!("{text}; misc=(overwrite={}) writes to it all the same", query.name));
    }
}

/// Puts uses among the refusals, or the warnings when they are waived.
fn in_use(facts: &mut LunFacts, query: &LunQuery, uses: Vec<String>) {
    for phrase in uses {
        let text = format!("{} is in use: {phrase}", query.lun);
        if query.allow_in_use {
            facts.warnings.push(text);
        } else {
            facts.refusals.push(format!("{text}; misc=(allow_in_use={}) writes to it all the same", query.name));
        }
    }
}

/// Looks for what somebody else may have left on a device and its partitions.
fn signatures(facts: &mut LunFacts, system: &System, query: &LunQuery, device: Option<&Device>) {
    let parts = device.into_iter().flat_map(|disk| system.partitions(disk));
    let parts = parts.map(|part| Part { name: part.name.clone(), start: part.start, size: part.size });
    let parts: Vec<Part> = parts.collect();
    let found = File::open(&query.lun).and_then(|file| signature::search(&file, facts.size, facts.block_size, &parts));
    let found = match found {
        Ok(found) => found,
        Err(error) => {
            facts.warnings.push(format!("{} cannot be searched for signatures: {error}", query.lun));
            return;
        }
    };
    for one in found {
        let text = format!("{} {}", query.lun, one.text);
        if one.verdict == Verdict::Refuse && !query.overwrite {
            facts.refusals.push(format!("{text}; misc=(overwrite={}) writes over it", query.name));
        } else {
            facts.warnings.push(text);
        }
    }
}

fn kind(metadata: &Metadata) -> LunKind {
    let kind = metadata.file_type();
    if kind.is_file() {
        LunKind::File
    } else if kind.is_block_device() {
        LunKind::Block
    } else if kind.is_char_device() {
        LunKind::Character
    } else if kind.is_dir() {
        LunKind::Directory
    } else {
        LunKind::Other
    }
}

/// Only files and block devices are opened to see: opening a tape may rewind it.
fn readable(path: &Path, kind: LunKind) -> bool {
    match kind {
        LunKind::File | LunKind::Block => open(OpenOptions::new().read(true), path),
        LunKind::Missing => false,
        _ => access(path, AccessFlags::R_OK).is_ok(),
    }
}

/// Opening a device for writing, and closing it, makes udev look at it again; so only where it will be written.
fn writable(path: &Path, kind: LunKind, will_write: bool) -> bool {
    match kind {
        LunKind::File | LunKind::Block if will_write => open(OpenOptions::new().write(true), path),
        LunKind::Missing => access(&folder(path), AccessFlags::W_OK | AccessFlags::X_OK).is_ok(),
        _ => access(path, AccessFlags::W_OK).is_ok(),
    }
}

fn open(options: &mut OpenOptions, path: &Path) -> bool {
    options.custom_flags(OFlag::O_NONBLOCK.bits()).open(path).is_ok()
}

/// Where a missing file would be made.
fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => ".".into(),
    }
}

/// The size as the device itself tells it.
fn seek_size(path: &Path) -> u64 {
    File::open(path).and_then(|mut file| file.seek(SeekFrom::End(0))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(overwrite: bool, keys: &[u64]) -> (Vec<String>, Vec<String>) {
        let (name, lun) = ("sd1".to_owned(), "/dev/sdx".to_owned());
        let query = LunQuery { sd: 0, name, lun, will_write: true, allow_in_use: false, overwrite };
        let mut facts = LunFacts::silent(query.sd, LunKind::Block);
        registered(&mut facts, &query, keys);
        (facts.refusals, facts.warnings)
    }

    #[test]
    fn keys_of_others_stand_against_writing() {
        assert_eq!(told(false, &[]), (vec![], vec![]));
        let text = "/dev/sdx has reservation keys of other hosts: 0x1, 0xab, 0xac and 1 more";
        let refusal = format!("{text}; misc=(overwrite=sd1) writes to it all the same");
        assert_eq!(told(false, &[0xab, 1, 0xab, 0xad, 0xac]), (vec![refusal], vec![]));
        assert_eq!(told(true, &[0xab, 1, 0xab, 0xad, 0xac]), (vec![], vec![text.to_owned()]));
    }
}
