//! The folder of certificates: what is in it, and how files come into it.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use brunt_proto::tls::{Facts, first_certificate};
use nix::unistd::geteuid;

/// Why certificates cannot be made: a sentence with its cure.
#[derive(Debug, thiserror::Error)]
pub enum CertsError {
    /// A file or folder refuses.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Others may look into the folder of keys.
    #[error("others may look into the folder of keys {0} (mode {mode:03o}); run: chmod 700 {0}", path.display())]
    OpenFolder {
        /// The folder.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// Somebody else may change what is in the folder of keys.
    #[error("the folder of keys {0} belongs to user {owner}, who may change what is in it; name another, or run: chown {us} {0}", path.display())]
    ForeignFolder {
        /// The folder.
        path: PathBuf,
        /// Number of its owner.
        owner: u32,
        /// Number of the user that this process runs as.
        us: u32,
    },
    /// A file is there that would be overwritten.
    #[error("{} is there already; {cure}", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
        /// What to do.
        cure: &'static str,
    },
    /// There is no CA.
    #[error("there is no CA in {0}; make one first: brunt certs init {0}", path.display())]
    NoCa {
        /// The folder.
        path: PathBuf,
    },
    /// A CA that cannot issue.
    #[error("the CA {} cannot be used: {reason}", path.display())]
    Ca {
        /// Its file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// No certificate can be for this.
    #[error("no certificate can be for `{0}`: a host name or an address is needed, without a port")]
    Name(String),
    /// The library refused.
    #[error("the certificate cannot be made: {0}")]
    Making(#[from] rcgen::Error),
}

/// A certificate of a folder.
#[derive(Debug)]
pub struct Listed {
    /// Its file.
    pub path: PathBuf,
    /// What it says; `None`: it cannot be read.
    pub facts: Option<Facts>,
}

/// All certificates of a folder, by name; none where there is no such folder.
///
/// # Errors
/// The folder cannot be read.
pub fn list(folder: &Path) -> Result<Vec<Listed>, CertsError> {
    let refused = |source| CertsError::File { path: folder.to_owned(), source };
    let mut paths = Vec::new();
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(refused)?,
    };
    for entry in entries {
        let path = entry.map_err(refused)?.path();
        if path.extension().is_some_and(|end| end == "pem") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths.into_iter().map(|path| Listed { facts: facts(&path), path }).collect())
}

/// What the first certificate of a file says.
pub(super) fn facts(path: &Path) -> Option<Facts> {
    let text = fs::read(path).ok()?;
    Facts::of(&first_certificate(&text)?)
}

/// Makes a folder for keys, or checks one that is there.
pub(super) fn private(folder: &Path) -> Result<(), CertsError> {
    let refused = |source| CertsError::File { path: folder.to_owned(), source };
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent).map_err(refused)?;
    }
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(refused(error)),
        _ => {}
    }
    let meta = fs::metadata(folder).map_err(refused)?;
    let (mode, owner, us) = (meta.mode() & 0o777, meta.uid(), geteuid().as_raw());
    if mode & 0o077 != 0 {
        return Err(CertsError::OpenFolder { path: folder.to_owned(), mode });
    }
    if owner != us && owner != 0 {
        return Err(CertsError::ForeignFolder { path: folder.to_owned(), owner, us });
    }
    Ok(())
}

/// Writes a new file with these permissions. With `cure` a file that is there is an error; without, it is replaced
/// whole.
pub(super) fn write(path: &Path, mode: u32, text: &str, cure: Option<&'static str>) -> Result<(), CertsError> {
    let refused = |source| CertsError::File { path: path.to_owned(), source };
    let exists = |source: io::Error| match (source.kind(), cure) {
        (io::ErrorKind::AlreadyExists, Some(cure)) => CertsError::Exists { path: path.to_owned(), cure },
        _ => refused(source),
    };
    let target = if cure.is_some() { path.to_owned() } else { path.with_extension("new") };
    if cure.is_none() {
        // What an earlier attempt left.
        let _ = fs::remove_file(&target);
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&target).map_err(exists)?;
    // The mask may have taken bits away from a certificate.
    file.set_permissions(Permissions::from_mode(mode)).map_err(refused)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(refused)?;
    if target != path {
        fs::rename(&target, path).map_err(refused)?;
    }
    Ok(())
}
