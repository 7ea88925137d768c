//! Every parameter file that is shipped is good: all of `examples/` and `parmfiles/` expand without a complaint, and the
//! examples run.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn parmfiles(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            parmfiles(&path, out);
        } else if path.extension().is_some_and(|e| e == "parm") {
            out.push(path);
        }
    }
}

/// Runs a file and gives what was said on standard error; the run must succeed.
fn brunt(file: &Path, more: &[String]) -> String {
    let scratch = tempfile::tempdir().unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_brunt"))
        .current_dir(scratch.path())
        .arg("-f")
        .arg(file)
        .args(["-o", "out"])
        .args(more)
        .output()
        .unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{}: {said}", file.display());
    String::from_utf8_lossy(&done.stderr).into_owned()
}

/// Values for the variables a file uses, itself or by what it includes.
fn variables(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap();
    let luns = if text.contains("include=luns.parm") { "$host $lun" } else { "" };
    let known = [("$host", "host=localhost"), ("$lun", "lun=/dev/mapper/vsp")];
    let body: String = text.lines().filter(|l| !l.starts_with('*')).collect::<Vec<_>>().join("\n") + luns;
    known.iter().filter(|(name, _)| body.contains(name)).map(|(_, value)| (*value).to_owned()).collect()
}

#[test]
fn all_files_expand_without_a_complaint() {
    let mut files = Vec::new();
    parmfiles(&root().join("examples"), &mut files);
    parmfiles(&root().join("parmfiles"), &mut files);
    files.retain(|f| !f.ends_with("luns.parm"));
    assert!(files.len() >= 9);
    for file in files {
        let mut more = variables(&file);
        more.push("-s".to_owned());
        let complaints = brunt(&file, &more);
        assert_eq!(complaints, "", "{}", file.display());
    }
}

#[test]
fn examples_run() {
    let mut files = Vec::new();
    parmfiles(&root().join("examples"), &mut files);
    assert!(files.len() >= 4);
    for file in files {
        brunt(&file, &[]);
    }
}
