//! How and where the program was called.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The circumstances of a call.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// Whether the program's name is `vdbench`, which makes it the drop-in.
    pub as_vdbench: bool,
    /// The name that it was called by.
    pub name: PathBuf,
    /// The words behind the name; of executions only.
    pub words: Vec<OsString>,
    /// The program, absolute.
    pub program: PathBuf,
    /// The current directory.
    pub directory: PathBuf,
    /// The directory for temporary files: `TMPDIR`, else `/tmp`.
    pub temporary: PathBuf,
    /// IANA name of the local time zone; empty for UTC.
    pub zone: String,
}

impl Invocation {
    /// The circumstances of this call, under this name (`argv[0]`).
    pub fn of(name: &OsStr) -> Self {
        let base = Path::new(name).file_name().map(OsStr::to_string_lossy).unwrap_or_default();
        Self {
            as_vdbench: base.starts_with("vdbench"),
            name: name.into(),
            words: Vec::new(),
            program: env::current_exe().unwrap_or_else(|_| PathBuf::from(name)),
            directory: env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
            temporary: env::temp_dir(),
            zone: jiff::tz::TimeZone::system().iana_name().unwrap_or_default().to_owned(),
        }
    }
}
