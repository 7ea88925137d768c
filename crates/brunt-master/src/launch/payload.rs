//! The programs at hand for hosts that have none.

mod elf;
mod trust;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use brunt_proto::digest;

use trust::{Doubt, Owners};

/// Machines that Brunt is built for, as `uname -m` calls them.
const MACHINES: [&str; 2] = ["x86_64", "aarch64"];

/// One program for each machine for which there is one.
#[derive(Debug, Default)]
pub struct Payload {
    offers: Vec<Offer>,
    /// Where others are looked for.
    folder: PathBuf,
    /// Files that have the right name and cannot be used, a sentence each.
    rejected: Vec<String>,
}

/// A program for hosts of one machine.
#[derive(Debug)]
pub struct Offer {
    /// As `uname -m` calls it.
    pub machine: &'static str,
    /// Where it is.
    pub path: PathBuf,
    /// Length, bytes.
    pub bytes: u64,
    /// SHA-256, hexadecimal.
    pub sha256: String,
    /// Whether it needs a libc on the host that is not older than that of the host that built it.
    pub linked: bool,
    /// Open from the hash on, so that a new build in its place does no harm.
    file: File,
}

/// The program cannot be copied.
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be read, so it cannot be copied to hosts: {source}", path.display())]
pub struct PayloadError {
    /// The program.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

/// SHA-256 of the executable of this process.
///
/// # Errors
/// It cannot be read.
pub fn own_sha256() -> io::Result<String> {
    digest::own()
}

impl Payload {
    /// What is at hand: for this machine `program` if it is linked statically, else `brunt-MACHINE-linux` beside it,
    /// else `program` all the same; for other machines their `brunt-MACHINE-linux`. One that another user may have put
    /// there is passed over with a note, rather than refused: what runs here is trusted anyway, and a file of a stranger
    /// must not keep a run from its hosts.
    ///
    /// # Errors
    /// `program` cannot be read.
    pub fn find(program: &Path) -> Result<Self, PayloadError> {
        let fail = |source| PayloadError { path: program.to_owned(), source };
        let folder = program.parent().unwrap_or(Path::new("/")).to_owned();
        let owners = Owners::of(program).map_err(fail)?;
        let mut payload = Self { offers: Vec::new(), folder, rejected: Vec::new() };
        for machine in MACHINES {
            let own = machine == std::env::consts::ARCH;
            let beside = payload.folder.join(format!("brunt-{machine}-linux"));
            let offer =
                match own.then(|| Offer::open(machine, program, File::open(program)?)).transpose().map_err(fail)? {
                    Some(offer) if !offer.linked => Some(offer),
                    linked => payload.beside(machine, &beside, &owners).or(linked),
                };
            if let Some(mut offer) = offer {
                offer.sha256 =
                    digest::sha256(&offer.file).map_err(|source| PayloadError { path: offer.path.clone(), source })?;
                payload.offers.push(offer);
            }
        }
        Ok(payload)
    }

    /// A build that lies beside the program, if it is one and nobody else can have put it there.
    fn beside(&mut self, machine: &'static str, path: &Path, owners: &Owners) -> Option<Offer> {
        let opened = owners.open(path).and_then(|file| Ok(Offer::open(machine, path, file)?));
        match opened {
            Ok(offer) => return Some(offer),
            Err(Doubt::Unreadable(error)) if error.kind() == io::ErrorKind::NotFound => {}
            Err(doubt) => self.rejected.push(format!("{} is not used: {doubt}", path.display())),
        }
        None
    }

    /// The program for a machine.
    pub fn offer(&self, machine: &str) -> Option<&Offer> {
        self.offers.iter().find(|offer| offer.machine == machine)
    }

    /// All programs.
    pub fn offers(&self) -> &[Offer] {
        &self.offers
    }

    /// What to do for a host of another machine, in half a sentence; `machine` as the host calls it.
    pub fn cure(&self, machine: &str) -> String {
        let have: Vec<&str> = self.offers.iter().map(|offer| offer.machine).collect();
        let have = if have.is_empty() { "no machine".to_owned() } else { have.join(" and ") };
        let rejected: String = self.rejected.iter().map(|text| format!(" ({text})")).collect();
        format!(
            "there are programs for {have} only{rejected}; put a build as {} beside this one, or install one on the host \
             and name its folder with vdbench=",
            self.folder.join(format!("brunt-{machine}-linux")).display()
        )
    }

    /// What is worth saying about these programs before they are copied, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        let linked = self.offers.iter().filter(|offer| offer.linked).map(|offer| {
            format!(
                "{} is linked to the C library of this machine: hosts to which it is copied must have one at least as new; \
                 a static build as {} avoids that",
                offer.path.display(),
                self.folder.join(format!("brunt-{}-linux", offer.machine)).display()
            )
        });
        self.rejected.iter().cloned().chain(linked).collect()
    }
}

impl Offer {
    /// Looks at an open program; it has no hash yet.
    fn open(machine: &'static str, path: &Path, file: File) -> io::Result<Self> {
        let facts = elf::look(&file)?;
        if facts.machine != Some(machine) {
            let what = facts.machine.unwrap_or("another machine");
            return Err(io::Error::other(format!("it is a program for {what}, not for {machine}")));
        }
        let bytes = file.metadata()?.len();
        Ok(Self { machine, path: path.to_owned(), bytes, sha256: String::new(), linked: facts.interpreted, file })
    }

    /// Bytes from `offset` on, as many as fit; fewer only at the end.
    ///
    /// # Errors
    /// Those of the file, or it has become shorter.
    pub fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }

    /// An offer of any file, for tests.
    #[cfg(test)]
    pub(crate) fn of_file(machine: &'static str, path: &Path) -> io::Result<Self> {
        let (file, hashed) = (File::open(path)?, File::open(path)?);
        let (bytes, sha256) = (file.metadata()?.len(), digest::sha256(hashed)?);
        Ok(Self { machine, path: path.to_owned(), bytes, sha256, linked: false, file })
    }
}

#[cfg(test)]
impl Payload {
    /// These offers, and others would lie in `folder`.
    pub(crate) fn of(offers: Vec<Offer>, folder: &Path) -> Self {
        Self { offers, folder: folder.to_owned(), rejected: Vec::new() }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const OWN: &str = std::env::consts::ARCH;

    fn code(machine: &str) -> u16 {
        if machine == "x86_64" { elf::X86_64 } else { elf::AARCH64 }
    }

    fn folder(files: &[(&str, Vec<u8>)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            std::fs::write(folder.path().join(name), bytes).unwrap();
            set(&folder.path().join(name), 0o755);
        }
        folder
    }

    fn set(path: &Path, mode: u32) {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }

    fn chosen(folder: &tempfile::TempDir, machine: &str) -> Option<(String, bool)> {
        let payload = Payload::find(&folder.path().join("brunt")).unwrap();
        let name = |offer: &Offer| offer.path.file_name().unwrap().to_string_lossy().into_owned();
        payload.offer(machine).map(|offer| (name(offer), offer.linked))
    }

    #[test]
    fn a_static_program_copies_itself() {
        let beside = format!("brunt-{OWN}-linux");
        let linked = elf::example(code(OWN), true);
        let fixed = elf::example(code(OWN), false);
        let folder = folder(&[("brunt", fixed.clone()), (&beside, linked)]);
        assert_eq!(chosen(&folder, OWN), Some(("brunt".to_owned(), false)));
        let payload = Payload::find(&folder.path().join("brunt")).unwrap();
        assert_eq!(payload.notes(), [""; 0]);
        let offer = payload.offer(OWN).unwrap();
        assert_eq!((offer.bytes, &offer.sha256), (fixed.len() as u64, &digest::sha256(&fixed[..]).unwrap()));
        let mut part = [0; 4];
        offer.read(&mut part, 0).unwrap();
        assert_eq!(&part, b"\x7fELF");
    }

    #[test]
    fn a_linked_program_prefers_the_static_one_beside_it() {
        let beside = format!("brunt-{OWN}-linux");
        let linked = || elf::example(code(OWN), true);
        let both = folder(&[("brunt", linked()), (&beside, elf::example(code(OWN), false))]);
        assert_eq!(chosen(&both, OWN), Some((beside.clone(), false)));
        let alone = folder(&[("brunt", linked())]);
        assert_eq!(chosen(&alone, OWN), Some(("brunt".to_owned(), true)));
        let notes = Payload::find(&alone.path().join("brunt")).unwrap().notes();
        assert!(
            notes[0].contains("is linked to the C library of this machine") && notes[0].contains(&beside),
            "{notes:?}"
        );
    }

    #[test]
    fn a_program_that_others_may_have_planted_is_passed_over() {
        let other = MACHINES.into_iter().find(|m| *m != OWN).unwrap();
        let names = [OWN, other].map(|machine| format!("brunt-{machine}-linux"));
        let program = |machine| elf::example(code(machine), false);
        let folder =
            folder(&[("brunt", elf::example(code(OWN), true)), (&names[0], program(OWN)), (&names[1], program(other))]);
        assert_eq!(chosen(&folder, OWN), Some((names[0].clone(), false)));
        set(folder.path(), 0o1777);
        assert_eq!(chosen(&folder, OWN), Some(("brunt".to_owned(), true)));
        assert_eq!(chosen(&folder, other), None);
        let payload = Payload::find(&folder.path().join("brunt")).unwrap();
        let reason = format!("{} is not used: others may write to", folder.path().join(&names[0]).display());
        assert!(payload.notes()[0].starts_with(&reason), "{:?}", payload.notes());
        assert!(
            payload.cure(other).contains("; look what is there, then run: chmod go-w /"),
            "{}",
            payload.cure(other)
        );
    }

    #[test]
    fn other_machines_need_a_build_of_their_own() {
        let other = MACHINES.into_iter().find(|m| *m != OWN).unwrap();
        let beside = format!("brunt-{other}-linux");
        let program = || elf::example(code(OWN), false);
        let right = folder(&[("brunt", program()), (&beside, elf::example(code(other), false))]);
        assert_eq!(chosen(&right, other), Some((beside.clone(), false)));
        let wrong = folder(&[("brunt", program()), (&beside, program())]);
        assert_eq!(chosen(&wrong, other), None);
        let payload = Payload::find(&wrong.path().join("brunt")).unwrap();
        let cure = payload.cure(other);
        assert!(cure.contains(&format!("there are programs for {OWN} only")), "{cure}");
        assert!(cure.contains(&format!("it is a program for {OWN}, not for {other}")), "{cure}");
        assert!(cure.contains(&format!("{beside} beside this one")), "{cure}");
    }

    #[test]
    fn what_is_no_program_is_not_copied() {
        let script = folder(&[("brunt", b"#!/bin/sh\nexit 0\n".to_vec())]);
        let error = Payload::find(&script.path().join("brunt")).unwrap_err().to_string();
        assert!(
            error.ends_with("brunt cannot be read, so it cannot be copied to hosts: it is no ELF program"),
            "{error}"
        );
        assert!(Payload::find(Path::new("/nowhere/brunt")).is_err());
    }
}
