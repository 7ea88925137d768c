//! Runs of file systems: what will be done to which files (`docs/vdbench/filesystem.md` §1–§4).

use brunt_parm::Span;
use brunt_parm::ast::{FileIo, FileSelect, Num, Operation};

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
    /// The file systems of the run.
    pub trees: Vec<Tree>,
    /// Work, each with threads of its own (`docs/vdbench/filesystem.md` §4.1).
    pub entries: Vec<Entry>,
}

/// A file system in a run, after the loops of the run have changed its structure.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    /// Index in [`super::Plan::fsds`].
    pub fsd: usize,
    /// Directories and files.
    pub structure: Structure,
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

/// One piece of work: a workload on one file system from one worker, with one operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Index in [`super::Plan::fwds`]; `None` in a format.
    pub fwd: Option<usize>,
    /// Index in [`FsRun::trees`].
    pub tree: usize,
    /// Index in [`super::Plan::hosts`].
    pub host: usize,
    /// Worker on that host, from 0: all work on an anchor is done by one.
    pub worker: u32,
    /// What it does.
    pub action: Action,
    /// Threads.
    pub threads: u32,
    /// Percent of the worker's rate; `None` in a format, which is not paced.
    pub skew: Option<f64>,
    /// Order of the files.
    pub select: FileSelect,
    /// Order of the blocks.
    pub io: FileIo,
    /// Transfer sizes.
    pub xfer: Xfer,
    /// When a file is left: blocks, or percent of it.
    pub stop_after: Option<Num>,
    /// Flags of open, those of the run before those of the workload before those of the file system.
    pub openflags: Vec<OpenFlag>,
    /// Where `copy` and `move` go, as an index in [`super::Plan::fsds`].
    pub target: Option<usize>,
}

/// What an entry does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Action {
    /// An operation.
    One(Operation),
    /// Reads and writes of one file mixed, percent reads.
    Mix(f64),
}
