//! Runs of file systems: what will be done to which files (`docs/vdbench/filesystem.md` §1–§4).

use std::sync::Arc;

use brunt_parm::Span;
use brunt_parm::ast::{FileIo, FileSelect, FileSizes, Num, Operation};

use crate::tree::Structure;
use crate::work::{OpenFlag, Xfer};

/// A file system definition, `count=` expanded.
#[derive(Debug, Clone, PartialEq)]
pub struct Fsd {
    /// Name.
    pub name: String,
    /// Directory above all others.
    pub anchor: String,
    /// Directories and files.
    pub structure: Structure,
    /// Whether several hosts may use it.
    pub shared: bool,
    /// `openflags=`.
    pub openflags: Vec<OpenFlag>,
    /// Name of a file, with one number for printf.
    pub file_mask: String,
    /// Name of a directory, with two numbers for printf: level and number within its parent.
    pub dir_mask: String,
    /// `journal=`.
    pub journal: Option<String>,
    /// Where it is defined.
    pub span: Option<Span>,
}

/// What a run of file systems does.
#[derive(Debug, Clone, PartialEq)]
pub struct FsRun {
    /// What is formatted; `None`: an ordinary run.
    pub format: Option<Format>,
    /// Whether all files are taken as existing and full (`format=(no,complete)`).
    pub assume_complete: bool,
    /// The file systems of the run, as indices in [`super::Plan::fsds`]. Shared by all runs that use the same ones.
    pub fsds: Arc<[usize]>,
    /// What the loops of the run change in their structures.
    pub changes: Changes,
    /// What is done. Shared likewise.
    pub workloads: Arc<[FsWorkload]>,
}

/// What loops change in the structure of every file system of a run; `None` leaves what was defined.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Changes {
    /// `depth=`.
    pub depth: Option<u32>,
    /// `width=`.
    pub width: Option<u32>,
    /// `files=`.
    pub files: Option<u32>,
    /// `sizes=`, bytes of every file.
    pub size: Option<u64>,
    /// `totalsize=`.
    pub total_size: Option<TotalSize>,
    /// `wss=`, bytes; 0 for all.
    pub working_set: Option<u64>,
}

/// A value of `totalsize=` in a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TotalSize {
    /// Bytes.
    Bytes(u64),
    /// Percent of what the file system was defined with.
    Percent(f64),
}

impl Changes {
    /// The structure in the run.
    pub fn apply(&self, defined: &Structure) -> Structure {
        let total_size = match self.total_size {
            None => defined.total_size,
            Some(TotalSize::Bytes(bytes)) => Some(bytes),
            Some(TotalSize::Percent(percent)) => defined.total_size.map(|b| (b as f64 * percent / 100.0) as u64),
        };
        Structure {
            depth: self.depth.unwrap_or(defined.depth),
            width: self.width.unwrap_or(defined.width),
            files: self.files.unwrap_or(defined.files),
            sizes: self.size.map_or_else(|| defined.sizes.clone(), FileSizes::Fixed),
            spread: defined.spread,
            total_size: total_size.filter(|bytes| *bytes > 0),
            working_set: self.working_set.or(defined.working_set).filter(|bytes| *bytes > 0),
        }
    }
}

/// What a format run does (`docs/vdbench/filesystem.md` §3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// Whether the old structure is deleted first.
    pub delete: bool,
    /// What is made then.
    pub make: Make,
    /// Seconds after which it stops (`limited`).
    pub limit: Option<u32>,
}

/// What a format makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Make {
    /// Nothing (`clean`).
    Nothing,
    /// Directories (`directories`).
    Directories,
    /// Directories and full files.
    Files,
}

/// One workload in a run, after the loops of the run have overridden it.
#[derive(Debug, Clone, PartialEq)]
pub struct FsWorkload {
    /// Index in [`super::Plan::fwds`]; `None` in a format.
    pub fwd: Option<usize>,
    /// Its file systems, as indices in [`super::Plan::fsds`], in order.
    pub fsds: Arc<[usize]>,
    /// Its hosts, as indices in [`super::Plan::hosts`], in order.
    pub hosts: Arc<[usize]>,
    /// What it does, all at the same time.
    pub actions: Vec<Action>,
    /// Threads of each piece of work (`docs/vdbench/filesystem.md` §4.5).
    pub threads: u32,
    /// `skew=`, percent of the run's rate.
    pub skew: Option<f64>,
    /// Order of the files.
    pub select: FileSelect,
    /// Order of the blocks.
    pub io: FileIo,
    /// Transfer sizes.
    pub xfer: Xfer,
    /// When a file is left: blocks, or percent of it.
    pub stop_after: Option<Num>,
    /// Flags of open, those of the run before its own; `None`: those of the file system.
    pub openflags: Option<Vec<OpenFlag>>,
    /// Where `copy` and `move` go, as an index in [`super::Plan::fsds`].
    pub target: Option<usize>,
}

/// One piece of work: a workload on one file system from one worker, with one of its actions
/// (`docs/vdbench/filesystem.md` §4.1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entry {
    /// Index in [`FsRun::workloads`].
    pub workload: usize,
    /// Index in [`super::Plan::fsds`].
    pub fsd: usize,
    /// Index in [`super::Plan::hosts`].
    pub host: usize,
    /// Worker on that host, from 0: all work on an anchor is done by one.
    pub worker: u32,
    /// What it does.
    pub action: Action,
    /// Percent of the worker's rate.
    pub skew: f64,
}

/// What an entry does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Action {
    /// An operation.
    One(Operation),
    /// Reads and writes of one file mixed, percent reads.
    Mix(f64),
}
