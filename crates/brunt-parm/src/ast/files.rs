//! File system workloads and replay as typed definitions (`docs/vdbench/filesystem.md` §1–§3, `data.md` §5).

use super::{List, NameItem, Num, Opt, XferSize};
use crate::source::Spanned;

/// A file system definition (`docs/vdbench/filesystem.md` §1.1).
#[derive(Debug, Clone, Default)]
pub struct Fsd {
    /// Name.
    pub name: Opt<String>,
    /// `anchor=`: the directory above all others.
    pub anchor: Opt<String>,
    /// `journal=`: directory or device.
    pub journal: Opt<String>,
    /// `width=`: directories in each directory.
    pub width: Opt<u64>,
    /// `depth=`: levels of directories.
    pub depth: Opt<u64>,
    /// `sizes=` of the files.
    pub sizes: Opt<FileSizes>,
    /// `shared=`: several hosts may use it.
    pub shared: Opt<bool>,
    /// `wss=`, bytes after division.
    pub wss: Opt<u64>,
    /// `totalsize=`, bytes after division.
    pub totalsize: Opt<u64>,
    /// `files=` in each directory that holds files.
    pub files: Opt<u64>,
    /// `distribution=`: which directories hold files.
    pub distribution: Opt<Spread>,
    /// `openflags=`.
    pub openflags: List<String>,
    /// `count=(start,n)`.
    pub count: Opt<(u64, u64)>,
    /// `mask=(filemask,dirmask)`.
    pub mask: Opt<(String, String)>,
    /// `log=`.
    pub log: Opt<bool>,
}

/// `sizes=` (`docs/vdbench/filesystem.md` §1.5).
#[derive(Debug, Clone, PartialEq)]
pub enum FileSizes {
    /// Every file has so many bytes.
    Fixed(u64),
    /// Sizes in bytes with their percentages.
    Weighted(Vec<(u64, f64)>),
    /// `(n,0)`: random sizes, n bytes on average.
    Average(u64),
}

/// Which directories hold files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Spread {
    /// Those of the last level.
    #[default]
    Bottom,
    /// All but the anchor.
    All,
}

/// A file system workload definition (`docs/vdbench/filesystem.md` §2.1).
#[derive(Debug, Clone, Default)]
pub struct Fwd {
    /// Name.
    pub name: Opt<String>,
    /// `fsd=`: names, ranges and wildcards.
    pub fsds: List<NameItem>,
    /// `rdpct=`: reads and writes mixed on one open file.
    pub rdpct: Opt<f64>,
    /// `stopafter=`: blocks, or percent of the file.
    pub stopafter: Opt<Num>,
    /// `operation=`.
    pub operation: Opt<Operation>,
    /// `fileselect=`.
    pub fileselect: Opt<FileSelect>,
    /// `fileio=`.
    pub fileio: Opt<FileIo>,
    /// `xfersizes=`; never [`XferSize::Range`].
    pub xfersize: Opt<XferSize>,
    /// `skew=`, percent.
    pub skew: Opt<f64>,
    /// `threads=`, of the whole workload.
    pub threads: Opt<u64>,
    /// `target=`: where `copy` and `move` go.
    pub target: Opt<String>,
    /// `host=`; wildcards are not allowed.
    pub hosts: List<String>,
    /// `openflags=`.
    pub openflags: List<String>,
}

/// What a file system workload does (`docs/vdbench/filesystem.md` §2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// A block of a file.
    Read,
    /// A block of a file.
    Write,
    /// A directory.
    Mkdir,
    /// A directory.
    Rmdir,
    /// A whole file to the target.
    Copy,
    /// A whole file to the target.
    Move,
    /// An empty file.
    Create,
    /// A file.
    Delete,
    /// What `stat` says of a file.
    Getattr,
    /// The time of a file.
    Setattr,
    /// Whether a file can be read.
    Access,
    /// Open and close of a file.
    Open,
    /// Open and close of a file.
    Close,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Read,
        Self::Write,
        Self::Mkdir,
        Self::Rmdir,
        Self::Copy,
        Self::Move,
        Self::Create,
        Self::Delete,
        Self::Getattr,
        Self::Setattr,
        Self::Access,
        Self::Open,
        Self::Close,
    ];

    /// The operation of a word, in any case.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|o| o.word().eq_ignore_ascii_case(word))
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Mkdir => "mkdir",
            Self::Rmdir => "rmdir",
            Self::Copy => "copy",
            Self::Move => "move",
            Self::Create => "create",
            Self::Delete => "delete",
            Self::Getattr => "getattr",
            Self::Setattr => "setattr",
            Self::Access => "access",
            Self::Open => "open",
            Self::Close => "close",
        }
    }
}

/// In which order files are taken, or blocks of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// One after the other.
    #[default]
    Sequential,
    /// One after the other from a random one on (`sequentialnz`).
    SequentialNz,
    /// Any.
    Random,
    /// Any, with a preference for the first (`poisson`).
    Poisson,
}

/// `fileselect=` (`docs/vdbench/filesystem.md` §2.2).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FileSelect {
    /// Order of the files.
    pub order: Order,
    /// Each file only once.
    pub once: bool,
    /// Midpoint of [`Order::Poisson`]; a bigger one prefers the first files more.
    pub midpoint: f64,
}

impl Default for FileSelect {
    fn default() -> Self {
        Self { order: Order::Sequential, once: false, midpoint: 3.0 }
    }
}

/// `fileio=` (`docs/vdbench/filesystem.md` §2.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileIo {
    /// Order of the blocks; never [`Order::Poisson`].
    pub order: Order,
    /// A file that is full is deleted before it is written.
    pub delete: bool,
    /// Several threads may use one file.
    pub shared: bool,
}

/// An element of `format=` (`docs/vdbench/filesystem.md` §3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormatWord {
    /// Existing files are used.
    No,
    /// Delete, then create and fill everything.
    Yes,
    /// Directories only.
    Directories,
    /// Create what is missing.
    Restart,
    /// The format and not the run.
    Only,
    /// One format for all values of the loops.
    Once,
    /// Delete only.
    Clean,
    /// Stop the format after `elapsed=`.
    Limited,
    /// With `no`: take everything as existing and full.
    Complete,
}

/// A replay group (`docs/vdbench/data.md` §5.1).
#[derive(Debug, Clone, Default)]
pub struct Rg {
    /// Name.
    pub name: Opt<String>,
    /// `devices=`: numbers of devices in the trace.
    pub devices: Option<Spanned<Vec<Spanned<u64>>>>,
}
