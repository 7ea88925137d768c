//! A temporary folder that goes with its owner.

use std::cell::Cell;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The folder.
pub struct Folder {
    path: PathBuf,
    /// How many were made within.
    made: Cell<u32>,
}

impl Folder {
    /// Makes one that only this user sees.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new(temporary: &Path) -> Result<Self, String> {
        let path = temporary.join(format!("brunt-calibrate-{}", std::process::id()));
        make(&path)?;
        Ok(Self { path, made: Cell::new(0) })
    }

    /// A new folder within.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn fresh(&self) -> Result<PathBuf, String> {
        self.made.set(self.made.get() + 1);
        let path = self.path.join(self.made.get().to_string());
        make(&path)?;
        Ok(path)
    }
}

fn make(path: &Path) -> Result<(), String> {
    DirBuilder::new().mode(0o700).create(path).map_err(|error| format!("cannot make {}: {error}", path.display()))
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left there hurts nobody.
        let _ = fs::remove_dir_all(&self.path);
    }
}
