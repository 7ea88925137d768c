//! Dialing with a fake `ssh`: one that writes what OpenSSH writes, and one that gives a shell of this machine.

mod bootstrap;
mod messages;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use tokio::sync::mpsc;

use super::*;
use crate::launch::payload::Offer;

/// A host like any other.
pub(super) fn host() -> SshHost {
    SshHost {
        label: "hosta".to_owned(),
        system: "db7".to_owned(),
        user: Some("bench".to_owned()),
        install_dir: None,
        workers: 3,
        cores: Some("0-3,8".to_owned()),
        privileges: Vec::new(),
    }
}

/// A program that does what the script and the dial need of brunt. Says in `$HOME` how it was called.
const PROGRAM: &str = r#"#!/bin/sh
case $1 in
    build) set -- $(sha256sum "$0") "$3"; [ "$1" = "$3" ] || { echo "this is not $3"; exit 3; } ;;
    --version) echo "brunt 0.0.0 (fake)" ;;
    agent)
        printf '%s\n' "$0" "$@" >"$HOME/called"
        umask >"$HOME/mask"
        if [ "$2" = --attach ]; then read -r token; printf '%s\n' "$token" >"$HOME/token"; fi
        for marker; do :; done
        echo "BRUNT-STREAM $marker"
        exec sleep 1000
        ;;
esac
"#;

/// Files for one test: a fake ssh, a home, a program to be copied.
pub(super) struct Bench {
    folder: TempDir,
    /// What the master says.
    pub(super) dial: SshDial,
}

impl Bench {
    /// With a fake ssh that is this script of a shell.
    pub(super) fn new(ssh: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for made in ["home", "home/.cache", "top", "top/var", "top/var/tmp", "top/dev"] {
            std::fs::create_dir(path(made)).unwrap();
        }
        std::fs::write(path("program"), PROGRAM).unwrap();
        std::fs::write(path("ssh"), ssh.replace("@HOME@", path("home").to_str().unwrap())).unwrap();
        let offer = Offer::of_file(std::env::consts::ARCH, &path("program")).unwrap();
        let payload = Arc::new(Payload::of(vec![offer], folder.path()));
        // Run by a shell: a file that was just written cannot always be executed while others fork.
        let client = vec!["/bin/sh".to_owned(), path("ssh").to_str().unwrap().to_owned()];
        let top = path("top").to_str().unwrap().to_owned();
        Self { dial: SshDial { host: host(), payload, client, top }, folder }
    }

    /// With a fake ssh that gives `shell` in a home of its own, after `before`.
    pub(super) fn with_shell(shell: &str, before: &str) -> Self {
        Self::new(&format!("HOME=@HOME@; export HOME; unset XDG_CACHE_HOME; cd; {before}\nexec {shell}\n"))
    }

    /// Has another program to be copied.
    pub(super) fn offer(&mut self, program: &str) {
        std::fs::write(self.path("program"), program).unwrap();
        let offer = Offer::of_file(std::env::consts::ARCH, &self.path("program")).unwrap();
        self.dial.payload = Arc::new(Payload::of(vec![offer], &self.path("")));
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Name of the copy in a cache folder.
    pub(super) fn copy(&self) -> String {
        format!("brunt-{}", self.dial.payload.offers()[0].sha256)
    }

    /// Dials; gives the result and what was logged.
    pub(super) async fn dial(&self, purpose: Purpose) -> (Result<Dialed, DialError>, Vec<String>) {
        let (log, mut lines) = mpsc::channel(1000);
        let result = self.dial.dial(purpose, log).await;
        let result = result.map(|mut dialed| {
            // What carries it would keep the log open.
            let carrier = dialed.carrier.as_mut().unwrap();
            carrier.start_kill().unwrap();
            dialed
        });
        let mut logged = Vec::new();
        while let Some(line) = lines.recv().await {
            logged.push(line);
        }
        (result, logged)
    }

    /// Dials, which must fail.
    pub(super) async fn fails(&self, purpose: Purpose) -> DialError {
        self.dial(purpose).await.0.map(|_| "a connection").unwrap_err()
    }
}

/// Entries of a folder, sorted.
pub(super) fn entries(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .map(|entries| entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect())
        .unwrap_or_default();
    names.sort();
    names
}
