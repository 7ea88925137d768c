//! `brunt fmt` changes no plan. With `BRUNT_CORPUS` naming a folder of real files, on all of them.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use brunt_parm::source::{ReadError, Reader};
use brunt_parm::{Input, Severity, fmt};

/// Files of one folder, with `@DIR@` made a path; one of them with another text.
struct Folder {
    path: PathBuf,
    instead: Option<(String, String)>,
}

impl Reader for Folder {
    fn read(&self, path: &str) -> Result<String, ReadError> {
        if let Some((_, text)) = self.instead.as_ref().filter(|(name, _)| name == path) {
            return Ok(text.clone());
        }
        let bytes = fs::read(self.path.join(path)).map_err(|_| ReadError::NotFound)?;
        Ok(String::from_utf8_lossy(&bytes).replace("@DIR@", "/tmp/dir"))
    }

    fn absolute(&self, path: &str) -> String {
        self.path.join(path).display().to_string()
    }
}

/// The plan as text without places, and the codes of the errors.
fn plan(folder: &Folder, name: &str) -> (String, Vec<&'static str>) {
    let input = Input { files: vec![name.to_owned()], lax_substitution: true, ..Input::default() };
    let parsed = brunt_parm::parse(&input, folder);
    let mut diags = parsed.diags;
    let plan = brunt_plan::expand(&parsed.file, &brunt_plan::Options::default(), &mut diags);
    let mut text = format!("{plan:?}");
    while let Some(at) = text.find("Span {") {
        let end = text[at..].find('}').map_or(text.len(), |n| at + n + 1);
        text.replace_range(at..end, "");
    }
    let mut errors: Vec<&str> = diags.iter().filter(|d| d.severity == Severity::Error).map(|d| d.code).collect();
    errors.sort_unstable();
    (text, errors)
}

/// Why the canonical form of a file is wrong; `Ok(false)`: it has none.
fn check(folder: &Path, name: &str) -> Result<bool, String> {
    let original = Folder { path: folder.to_owned(), instead: None };
    let text = original.read(name).unwrap();
    let formatted = match fmt::checked(name, &text, &original) {
        Ok(formatted) => formatted.text,
        Err(error) if error.diags.iter().any(|d| d.code == "not-formatted") => {
            return Err("would mean something else".to_owned());
        }
        Err(_) => return Ok(false),
    };
    let twice = fmt::checked(name, &formatted, &original).map(|f| f.text);
    if twice.as_ref().ok() != Some(&formatted) {
        return Err(format!("twice is something else:\n{formatted}\n{twice:?}"));
    }
    let new = Folder { path: folder.to_owned(), instead: Some((name.to_owned(), formatted)) };
    if plan(&original, name) != plan(&new, name) {
        return Err("has another plan".to_owned());
    }
    Ok(true)
}

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|e| e == "parm") || path.file_name().is_some_and(|n| n == "parmfile") {
            out.push(path);
        }
    }
}

/// Checks all files of a folder; gives how many there are and how many have a canonical form.
fn check_all(folder: &Path) -> (usize, usize) {
    let mut paths = Vec::new();
    files(folder, &mut paths);
    paths.sort();
    let (mut formatted, mut wrong) = (0, Vec::new());
    for path in &paths {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match check(path.parent().unwrap(), &name) {
            Ok(done) => formatted += usize::from(done),
            Err(why) => wrong.push(format!("{}: {why}", path.display())),
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), paths.len(), wrong.join("\n"));
    (paths.len(), formatted)
}

#[test]
fn the_plans_of_our_own_files_stay() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for folder in ["parmfiles", "tests/golden"] {
        let (all, formatted) = check_all(&root.join(folder));
        assert!(all > 2 && formatted == all, "{folder}: {formatted} of {all}");
    }
}

#[test]
fn the_plans_of_real_files_stay() {
    let Ok(folder) = std::env::var("BRUNT_CORPUS") else {
        eprintln!("skipped: BRUNT_CORPUS does not name the corpus");
        return;
    };
    let (all, formatted) = check_all(&Path::new(&folder).join("parm"));
    assert!(all > 100, "{all}");
    // The others are those that Vdbench refuses too.
    assert!(formatted * 10 > all * 9, "{formatted} of {all}");
}

fn brunt(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_brunt")).args(arguments).current_dir(folder).output().unwrap()
}

#[test]
fn a_file_is_printed_checked_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p");
    let (old, new) = ("sd=sd1\nlun=/x\nrd=r,sd=sd1\nio=5\n", "sd=sd1,lun=/x\nrd=r,sd=sd1,iorate=5\n");
    fs::write(&path, old).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();

    let done = brunt(folder.path(), &["fmt", "p"]);
    assert_eq!((done.status.code(), String::from_utf8(done.stdout).unwrap().as_str()), (Some(0), new));
    assert!(String::from_utf8(done.stderr).unwrap().starts_with("note: p:3: a run of several lines became one"));

    let done = brunt(folder.path(), &["fmt", "--check", "p"]);
    assert_eq!((done.status.code(), done.stdout.as_slice()), (Some(1), b"p\n".as_slice()));
    assert_eq!(fs::read_to_string(&path).unwrap(), old);

    assert_eq!(brunt(folder.path(), &["fmt", "p", "--write"]).status.code(), Some(0));
    assert_eq!(fs::read_to_string(&path).unwrap(), new);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    assert_eq!(brunt(folder.path(), &["fmt", "--check", "p"]).status.code(), Some(0));
}

#[test]
fn what_cannot_be_formatted_stays_and_is_said() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("p"), "sd=sd1,lun=/x\nrd=r,iorate =5\n").unwrap();
    fs::write(folder.path().join("q"), b"sd=sd1,lun=/\xff\n").unwrap();
    let done = brunt(folder.path(), &["fmt", "p", "q", "nothing", "--write"]);
    let stderr = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(3));
    assert!(stderr.contains(" --> p:2:6"), "{stderr}");
    assert!(stderr.contains("cannot format `q`: byte 12 is not UTF-8"), "{stderr}");
    assert!(stderr.contains("cannot format `nothing`"), "{stderr}");
}
