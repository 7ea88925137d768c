//! One lun: what it is, how large, and whether it can be opened.

use std::fs::{self, Metadata, OpenOptions};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use brunt_plan::work::{LunFacts, LunKind, LunQuery};
use nix::fcntl::OFlag;
use nix::unistd::{AccessFlags, access};

use super::Roots;

/// Answers one query. Symbolic links are followed.
pub fn facts(roots: &Roots, query: &LunQuery) -> LunFacts {
    let path = Path::new(&query.lun);
    let _ = roots;
    let metadata = fs::metadata(path).ok();
    let kind = metadata.as_ref().map_or(LunKind::Missing, kind);
    LunFacts {
        sd: query.sd,
        kind,
        size: metadata.as_ref().map_or(0, Metadata::len),
        readable: readable(path, kind),
        writable: writable(path, kind, query.will_write),
        identity: metadata.as_ref().map(|m| format!("file:{}:{}", m.dev(), m.ino())),
        block_size: None,
        refusals: Vec::new(),
        warnings: Vec::new(),
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

fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => ".".into(),
    }
}
