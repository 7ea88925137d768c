//! Whether a program that nobody named may go to hosts, where it runs as whoever logs in there, often root.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

/// Why a program is not trusted.
#[derive(Debug, thiserror::Error)]
pub(super) enum Doubt {
    /// The system refuses.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    /// Something that is no file, such as a pipe, which would be waited for.
    #[error("it is no file; remove it")]
    NoFile,
    /// Somebody else may have made it.
    #[error("{0} belongs to user {owner}, who is neither root, nor you, nor the owner of brunt; remove it or chown it", path.display())]
    Owner {
        /// The program or its folder.
        path: PathBuf,
        /// Number of the user.
        owner: u32,
    },
    /// Somebody else may have written it.
    #[error("others may write to {0} (mode {mode:03o}); look what is there, then run: chmod go-w {0}", path.display())]
    Open {
        /// The program or its folder.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
}

/// Users whose programs are trusted.
#[derive(Debug)]
pub(super) struct Owners(Vec<u32>);

impl Owners {
    /// Root, whoever runs this, and the owner of the program that runs.
    pub(super) fn of(program: &Path) -> io::Result<Self> {
        Ok(Self(vec![0, geteuid().as_raw(), fs::metadata(program)?.uid()]))
    }

    /// Opens a program that only these users can have put there.
    ///
    /// # Errors
    /// It is not there, or it may be of somebody else.
    pub(super) fn open(&self, path: &Path) -> Result<File, Doubt> {
        // Where it is first: what is in an open folder may be a pipe a moment later. Behind a link there is another.
        let real = fs::canonicalize(path)?;
        for folder in [path, &real].iter().filter_map(|path| path.parent()) {
            self.check(folder, &fs::metadata(folder)?)?;
        }
        if !fs::metadata(&real)?.is_file() {
            return Err(Doubt::NoFile);
        }
        let file = File::open(&real)?;
        self.check(path, &file.metadata()?)?;
        Ok(file)
    }

    /// A sticky folder is no exception: somebody else's file in it could be a link to one of ours.
    fn check(&self, path: &Path, meta: &Metadata) -> Result<(), Doubt> {
        let (owner, mode) = (meta.uid(), meta.mode() & 0o7777);
        match (self.0.contains(&owner), mode & 0o022) {
            (false, _) => Err(Doubt::Owner { path: path.to_owned(), owner }),
            (_, 0) => Ok(()),
            _ => Err(Doubt::Open { path: path.to_owned(), mode }),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use nix::unistd::mkfifo;

    use super::*;

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }

    fn doubt(owners: &Owners, path: &Path) -> String {
        owners.open(path).unwrap_err().to_string()
    }

    #[test]
    fn neither_file_nor_folder_may_be_writable_for_others() {
        let base = tempfile::tempdir().unwrap();
        let (folder, file) = (base.path().join("bin"), base.path().join("bin/brunt-x"));
        fs::create_dir(&folder).unwrap();
        fs::write(&file, "").unwrap();
        set(&folder, 0o755);
        set(&file, 0o755);
        let owners = Owners::of(&file).unwrap();
        owners.open(&file).unwrap();
        for mode in [0o775, 0o757] {
            set(&file, mode);
            let expected = format!(
                "others may write to {0} (mode {mode:o}); look what is there, then run: chmod go-w {0}",
                file.display()
            );
            assert_eq!(doubt(&owners, &file), expected);
        }
        set(&file, 0o755);
        for mode in [0o775, 0o777, 0o1777] {
            set(&folder, mode);
            let expected = format!("others may write to {} (mode {mode:o}); ", folder.display());
            assert!(doubt(&owners, &file).starts_with(&expected), "{mode:o}");
        }
        // A link leads to a folder of its own.
        let link = base.path().join("brunt-y");
        symlink(&file, &link).unwrap();
        assert!(doubt(&owners, &link).starts_with(&format!("others may write to {} ", folder.display())));
        set(&folder, 0o755);
        owners.open(&link).unwrap();
    }

    #[test]
    fn the_owner_is_root_or_us_or_that_of_the_program() {
        let base = tempfile::tempdir().unwrap();
        let file = base.path().join("brunt-x");
        fs::write(&file, "").unwrap();
        set(&file, 0o755);
        let us = fs::metadata(&file).unwrap().uid();
        let Owners(users) = Owners::of(Path::new("/bin/sh")).unwrap();
        assert_eq!(users, [0, us, fs::metadata("/bin/sh").unwrap().uid()]);
        // To somebody else we are the strangers.
        let expected = format!("{} belongs to user {us}, who is neither root, nor you, ", base.path().display());
        assert!(doubt(&Owners(vec![4_000_000]), &file).starts_with(&expected));
    }

    #[test]
    fn what_is_no_file_is_not_opened() {
        let base = tempfile::tempdir().unwrap();
        let pipe = base.path().join("brunt-x");
        mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(doubt(&Owners::of(&pipe).unwrap(), &pipe), "it is no file; remove it");
    }
}
